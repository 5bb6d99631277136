"""The search screen: the score of each candidate, and what leaves it out."""

import re

import pytest
from playwright.sync_api import expect

from tests.inspector.access import assert_accessible
from tests.inspector.browser import PHONE, assert_laid_out
from tests.inspector.memories import ENDLESS, TRICKSTER, TRICKY
from tests.inspector.service import post, read
from tests.waiting import wait_until

pytestmark = pytest.mark.xdist_group("browser")  # one worker has the browser, and makes each memory once

LIKELY = {0.6: "very likely", 0.3: "likely", 0.1: "possible", 0: "unlikely"}

QUERY = "Where does my sister live?"


def explained(address, **asked):
    return post(address, "search/explained", **{"query": QUERY, "user_id": ENDLESS, "top_k": 20, **asked})


def search(page, query=QUERY):
    page.get_by_test_id("query").fill(query)
    page.get_by_test_id("search").click()
    expect(page.get_by_test_id("hit").first).to_be_visible()


def order(page):
    return page.get_by_test_id("hit").evaluate_all("hits => hits.map((hit) => hit.dataset.id)")


def expect_order(page, ids):
    """These candidates, once what was changed last has been searched for."""
    wait_until(lambda: order(page) == ids, f"the order is {ids}")


def expect_answer(page):
    """Nothing is being searched for, and what is in the context is known."""
    expect(page.get_by_test_id("candidates").locator("[aria-live]")).to_contain_text("in a context of")


@pytest.fixture
def page(page_of):
    return page_of("search", user=ENDLESS, session=ENDLESS)


def test_candidates_come_with_the_parts_of_their_scores(page, demo):
    """In the service's order; every part is in the bar, those against to the left of zero."""
    search(page)
    told = explained(demo)
    assert order(page) == [hit["id"] for hit in told["hits"]]
    for place in (0, 7):
        hit = page.get_by_test_id("hit").nth(place)
        parts = {name: value for name, value in told["hits"][place]["parts"].items() if name != "cosine" and value}
        score = told["hits"][place]["score"]
        word = next(word for least, word in LIKELY.items() if score >= least)
        expect(hit.locator(".score")).to_contain_text(word)
        expect(hit.locator(".score small")).to_have_text(f"{round(100 * score)} %" if score >= 0.01 else "under 1 %")
        drawn = hit.locator(".score-bar").evaluate(
            """bar => {
              const zero = bar.querySelector(".zero").getBoundingClientRect().left;
              return Object.fromEntries([...bar.querySelectorAll(".part")].map((part) => {
                const { left, right, width } = part.getBoundingClientRect();
                return [part.title.split(":")[0], { width, right: (left + right) / 2 > zero }];
              }));
            }"""
        )
        assert {name: one["right"] for name, one in drawn.items() if one["width"] > 2} == {
            name: parts[name] > 0 for name, one in drawn.items() if one["width"] > 2
        }
        assert drawn.keys() == parts.keys()


def test_what_threshold_and_budget_cut_is_told(page, demo):
    """A hit is in the context if its id or a message of it is in the manifest."""
    search(page)
    page.get_by_test_id("budget").fill("1200")
    told = explained(demo)
    asked = {"query": QUERY, "user_id": ENDLESS, "session_id": ENDLESS, "budget": 1200}
    manifest = post(demo, "context", **asked)["manifest"]
    taken = {piece["id"] for piece in manifest["items"]} | {
        one for piece in manifest["items"] for one in piece["message_ids"]
    }
    left = {one["id"]: one["reason"] for one in manifest["omitted"]}
    expected = []
    for hit in told["hits"]:
        if hit["id"] in taken or taken & set(hit["message_ids"]):
            expected.append("in the context")
        elif hit["score"] < told["least"]:
            expected.append("below the threshold")
        else:
            expected.append("cut by the budget" if "over budget" in left.get(hit["id"], "") else "not in the context")
    assert {"in the context", "cut by the budget"} <= set(expected)
    expect(page.get_by_test_id("fate")).to_have_text(expected)
    below = sum(hit["score"] < told["least"] for hit in told["hits"])
    assert page.get_by_test_id("threshold").count() == bool(below)


def test_a_line_where_the_threshold_cuts(page_at, demo_copy, served):
    """A profile with weights shows nothing below its threshold in a search; the lab shows what that hides."""
    address = served(demo_copy, LAMINA_PROFILE="project")
    told = explained(address)
    above = sum(hit["score"] >= told["least"] for hit in told["hits"])
    assert 0 <= above < len(told["hits"])
    page = page_at(address, "search", ENDLESS, ENDLESS)
    search(page)
    expect(page.get_by_test_id("threshold")).to_contain_text(f"{told['least']}: a context takes nothing below")
    expect(page.get_by_test_id("hit").nth(above).get_by_test_id("threshold")).to_be_visible()
    expect_answer(page)
    assert "below the threshold" in page.get_by_test_id("fate").all_inner_texts()


def test_weights_by_hand_search_anew_and_show_what_moved(page, demo):
    """Each change is searched for; what moved is told against the answer before it."""
    search(page)
    weights = read(demo, "about")["weights"]
    page.get_by_test_id("calibrated").uncheck()
    expect(page.get_by_test_id("candidates")).to_contain_text("Parts add up to the score.")
    before = order(page)
    for name in ("keyword", "semantic"):
        page.get_by_test_id(f"weight-{name}").fill("0")
        weights |= {name: 0}
        after = [hit["id"] for hit in explained(demo, weights=weights)["hits"]]
        assert after != before
        expect_order(page, after)
        for place, hit in enumerate(after):
            by = before.index(hit) - place if hit in before else None
            told = "new" if by is None else f"\u25b2up {by}" if by > 0 else f"\u25bcdown {-by}" if by else ""
            expect(page.get_by_test_id("hit").nth(place).locator(".rank")).to_have_text(f"{place + 1}{told}")
        before = after
    for name in ("recency", "importance", "access"):
        page.get_by_test_id(f"weight-{name}").fill("0")
    expect(page.get_by_text("at least one weight above 0")).to_be_visible()
    page.get_by_test_id("calibrated").check()
    expect(page.get_by_test_id("hit").first).to_be_visible()


def test_parts_are_hidden_and_shown_from_the_legend(page):
    search(page)
    toggle = page.get_by_role("group", name="Parts of the scores").get_by_role("button", name="meaning")
    meaning = page.get_by_test_id("candidates").locator(".score-bar [title^='meaning']")
    assert meaning.count() > 0
    toggle.click()
    expect(toggle).to_have_attribute("aria-pressed", "false")
    expect(meaning).to_have_count(0)
    toggle.press("Enter")
    expect(meaning).not_to_have_count(0)


def test_kinds_number_and_time_filter(page, demo):
    where = "Where do I live?"
    search(page, where)
    for kind in ("messages", "summaries", "episodes"):
        page.get_by_label(kind, exact=True).uncheck()
    page.get_by_role("spinbutton", name="Candidates").fill("2")
    (now, *more) = (hit["id"] for hit in explained(demo, query=where, kinds=["fact"], top_k=2)["hits"])
    expect_order(page, [now, *more])
    page.get_by_label("As of").fill("2025-04-01T00:00")
    then = explained(demo, query=where, kinds=["fact"], top_k=2, as_of="2025-04-01T00:00:00Z")["hits"][0]["id"]
    assert then != now
    expect(page.get_by_test_id("hit").first).to_have_attribute("data-id", then)
    page.get_by_label("facts", exact=True).uncheck()
    expect(page.get_by_text("choose at least one kind")).to_be_visible()


def test_stages_tell_what_took_how_long(page, demo):
    search(page)
    told = explained(demo)
    stages = page.get_by_test_id("stages")
    for name in ("considered", "related"):
        expect(stages.locator(".figure", has_text=name)).to_contain_text(f"{told[name]:,}")
    assert stages.locator(".stage-bar i").count() == len(told["stages"])
    assert re.findall(r"^\w+", "\n".join(stages.locator(".legend li").all_inner_texts()), re.MULTILINE) == [
        stage["name"] for stage in told["stages"]
    ]


def test_a_candidate_opens_its_source(page, demo):
    search(page)
    hits = explained(demo)["hits"]
    place = next(place for place, hit in enumerate(hits) if hit["kind"] == "message")
    page.get_by_test_id("hit").nth(place).get_by_role("button").press("Enter")
    source = page.get_by_test_id("source")
    expect(source.locator(".meant .message p")).to_have_text(hits[place]["text"])
    source.get_by_text("part by part").click()
    expect(source.locator(".parts")).to_contain_text(f"{hits[place]['parts']['cosine']:.3f}")
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("hit").nth(place).get_by_role("button")).to_be_focused()


def test_words_stay_words_and_out_of_addresses(page_at, hostile):
    page = page_at(hostile, "search", TRICKSTER, TRICKY)
    search(page, "<img src=x onerror=1> favourite colour")
    found = page.get_by_test_id("hit").filter(has_text="<link rel=stylesheet").first
    found.get_by_role("button").click()
    expect(page.get_by_test_id("source")).to_contain_text("colour")
    assert page.locator("#injected, main img, main link, main script, dialog img, dialog link").count() == 0
    assert "colour" not in page.url
    assert page.evaluate("Object.values(localStorage).concat(Object.values(sessionStorage)).join()").find("colour") < 0


def test_weights_by_hand_fit_a_phone(page_of):
    page = page_of("search", user=ENDLESS, session=ENDLESS, width=PHONE, scheme="dark")
    search(page)
    page.get_by_test_id("calibrated").uncheck()
    expect(page.get_by_test_id("candidates")).to_contain_text("Parts add up to the score.")
    expect_answer(page)
    assert_laid_out(page)
    assert_accessible(page)
