"""The context screen: a context against its budget, piece by piece, and over the turns."""

import re
from itertools import accumulate

import pytest
from playwright.sync_api import expect

from tests.inspector.access import assert_accessible
from tests.inspector.browser import PHONE, assert_laid_out
from tests.inspector.memories import ENDLESS, TRICKSTER, TRICKY
from tests.inspector.service import post, read

pytestmark = pytest.mark.xdist_group("browser")  # one worker has the browser, and makes each memory once

QUERY = "When is my dentist appointment?"


def context(address, **asked):
    return post(address, "context", user_id=ENDLESS, session_id=ENDLESS, **asked)


def build(page, query=QUERY, budget=None):
    page.get_by_test_id("query").fill(query)
    if budget is not None:
        page.get_by_role("spinbutton", name="Budget in tokens").fill(str(budget))
    page.get_by_test_id("build").click()


def numbers(locator):
    return [int(re.sub(r"\D", "", text)) for text in locator.all_inner_texts()]


@pytest.fixture
def page(page_of):
    return page_of("context", user=ENDLESS, session=ENDLESS)


def test_a_context_fills_its_budget_section_by_section(page, demo):
    """The legend tells what the manifest tells; sections, frame and free space make the budget."""
    build(page, budget=3000)
    told = context(demo, query=QUERY, budget=3000)
    expect(page.get_by_test_id("tokens")).to_have_text(f"{told['tokens']:,}")
    shown = numbers(page.get_by_test_id("legend").locator("b"))
    assert sum(shown) == 3000
    assert set(told["manifest"]["sections"].values()) <= set(shown)
    widths = page.get_by_test_id("bar").evaluate(
        "bar => [...bar.children].map((one) => one.offsetWidth / bar.clientWidth)"
    )
    assert sum(widths) == pytest.approx(told["tokens"] / 3000, abs=0.02)
    more = page.get_by_test_id("pieces").get_by_role("button", name=re.compile("Show all"))
    for left in reversed(range(more.count())):
        more.first.click()
        expect(more).to_have_count(left)
    assert page.get_by_test_id("pieces").locator("li").count() == len(told["manifest"]["items"])
    assert sum(numbers(page.get_by_test_id("pieces").locator(".cost"))) == sum(
        piece["tokens"] for piece in told["manifest"]["items"]
    )


def test_the_exact_messages_are_shown_as_the_model_gets_them(page, demo):
    build(page)
    told = context(demo, query=QUERY)
    expect(page.get_by_test_id("tokens")).to_have_text(f"{told['tokens']:,}")
    page.get_by_text(re.compile("As the model gets it")).click()
    shown = page.get_by_test_id("exact").locator("pre").all_text_contents()
    assert shown == [message["content"] for message in told["messages"]]


def test_each_piece_opens_its_source(page, demo):
    """A fact its quote in its message, a summary its text and its messages, messages themselves."""
    build(page)
    pieces, source = page.get_by_test_id("pieces"), page.get_by_test_id("source")
    pieces.get_by_label("facts").get_by_role("button", name="location: Utrecht").click()
    expect(source.locator("mark")).to_contain_text("Utrecht")
    page.keyboard.press("Escape")
    expect(source).to_have_count(0)
    first = next(one for one in context(demo, query=QUERY)["manifest"]["items"] if one["section"] == "summaries")
    everything = read(demo, f"sessions/{ENDLESS}/summaries", live=False)["items"]
    pieces.get_by_label("summaries").locator("button.link").first.click()
    expect(source.locator(".told")).to_have_text(next(one["text"] for one in everything if one["id"] == first["id"]))
    expect(source.get_by_role("link", name="timeline")).to_have_attribute("href", f"#/timeline/{ENDLESS}/{ENDLESS}")
    page.get_by_label("Close").click()
    pieces.get_by_label("recalled").locator("button.link").first.click()
    expect(source.locator(".meant .message")).to_have_count(1)
    page.get_by_label("Close").click()
    pieces.get_by_label("recent").locator("button.link").first.click()
    expect(source.locator("[data-seq='758']")).to_be_visible()


def test_what_was_left_out_is_told_by_reason(page, demo):
    build(page, budget=2000)
    told = context(demo, query=QUERY, budget=2000)["manifest"]
    expect(page.get_by_test_id("tokens")).not_to_have_text("")
    over = sum(one["reason"] == "over budget" for one in told["omitted"])
    group = page.get_by_test_id("omitted").locator("details", has_text=f"over budget: {over}")
    group.locator("summary").click()
    expect(group.locator("li").first).to_be_visible()
    for warning in told["warnings"]:
        expect(page.get_by_test_id("built")).to_contain_text(warning)


def test_blind_messages_are_told_in_red_with_their_numbers(page, demo):
    """The default closes gaps; a profile that does not leaves the model blind, and the page says to what."""
    expect(page.get_by_test_id("coverage")).to_contain_text("0 not visible")
    expect(page.get_by_test_id("blind")).to_have_count(0)
    page.get_by_label("Profile").select_option("chunked")
    (span,) = context(demo, profile="chunked", budget=4000)["manifest"]["coverage"]["blind"]
    alert = page.get_by_test_id("built").get_by_role("alert")
    expect(alert).to_contain_text(f"messages {span['first']}\u2013{span['last']}")
    expect(page.locator(".covered .blind b")).to_have_text(str(span["last"] - span["first"] + 1))
    assert page.locator(".track .blind").count() == 1


def test_two_budgets_side_by_side(page, demo):
    """Differences by section, and the pieces that only one has."""
    build(page)
    page.get_by_test_id("compare").click()
    left, right = (context(demo, query=QUERY, budget=budget)["manifest"] for budget in (4000, 2000))
    expect(page.get_by_test_id("built")).to_have_count(2)
    table = page.get_by_test_id("differences").locator("tbody tr")
    row = table.filter(has_text="summaries").locator("td.right")
    expect(row.nth(1)).to_have_text(f"{right['sections']['summaries']:,}")
    assert numbers(row)[:2] == [left["sections"]["summaries"], right["sections"]["summaries"]]
    facts = [{one["id"] for one in told["items"] if one["kind"] == "fact"} for told in (left, right)]
    expect(page.get_by_test_id("only-A").locator("li", has_text="fact")).to_have_count(len(facts[0] - facts[1]))
    expect(page.get_by_test_id("only-B").locator("li", has_text="fact")).to_have_count(len(facts[1] - facts[0]))
    page.get_by_label("Profile B").select_option("assistant")
    expect(page.get_by_test_id("built").nth(1)).to_contain_text("profile assistant")
    page.get_by_test_id("compare").click()
    expect(page.get_by_test_id("built")).to_have_count(1)


def test_a_budget_that_is_too_small_says_what_would_do(page_of):
    page = page_of("context", user=ENDLESS, session=ENDLESS, expected=["status of 4"])
    build(page, budget=5)
    expect(page.get_by_role("alert")).to_contain_text("budget")
    build(page, budget=2000)
    expect(page.get_by_test_id("built")).to_be_visible()


def test_the_saw_tooth_shows_each_fold(page, demo):
    """Tokens before and after each fold are those that can be counted from the log itself."""
    outline = read(demo, f"sessions/{ENDLESS}/outline", parts=1000)
    assert all(part["first"] == part["last"] for part in outline["parts"])
    sums = [0, *accumulate(part["tokens"] for part in outline["parts"])]
    blocks = {block["id"]: block for block in outline["blocks"] if block["status"] != "replaced"}

    def height(at):
        there = [block for block in blocks.values() if block["due"] <= at]
        cursor = max((block["covers"]["last"] for block in there if block["layer"] == 1), default=0)
        held = [one for one in there if not one["folded_into"] or blocks[one["folded_into"]]["due"] > at]
        return sums[at] - sums[cursor] + sum(block["tokens"] for block in held)

    dues = sorted({block["due"] for block in blocks.values()})
    turns = page.get_by_test_id("turns")
    turns.get_by_text("The folds in numbers").click()
    expect(turns.locator("tbody tr")).to_have_count(len(dues))
    rows = [numbers(row.locator("td")) for row in turns.locator("tbody tr").all()]
    assert [row[0] for row in rows] == dues
    for at, before, after in rows:
        assert before == pytest.approx(height(at - 1), abs=60)  # tokens of a part are spread evenly over it
        assert after == pytest.approx(height(at), abs=60)
        assert after < before
    expect(turns.get_by_role("img")).to_have_attribute("aria-label", re.compile(f"{len(dues)} folds"))
    assert turns.locator("[aria-label=area] path").count() == 3
    assert turns.locator("[aria-label=dot] path").count() == len(dues)
    ticks = turns.locator("[aria-label='y-axis tick label']")
    close = ticks.text_content()
    turns.get_by_label("scale to the full history").check()
    expect(ticks).not_to_have_text(close)


def test_nothing_to_see_yet(page_at, nothing):
    page = page_at(nothing, "context", "nobody")
    expect(page.get_by_text("No session yet")).to_be_visible()


def test_words_stay_words_and_out_of_addresses(page_at, hostile):
    page = page_at(hostile, "context", TRICKSTER, TRICKY)
    build(page, "<img src=x onerror=1> colour")
    expect(page.get_by_test_id("legend")).to_contain_text("query")
    page.get_by_text(re.compile("As the model gets it")).click()
    expect(page.get_by_test_id("exact")).to_contain_text("<script>document.title = 'owned'</script>")
    assert page.locator("main img, main script").count() == 0
    assert "colour" not in page.url
    assert page.evaluate("Object.values(localStorage).concat(Object.values(sessionStorage)).join()").find("colour") < 0


def test_a_comparison_fits_a_phone(page_of):
    page = page_of("context", user=ENDLESS, session=ENDLESS, width=PHONE, scheme="dark")
    build(page)
    page.get_by_test_id("compare").click()
    expect(page.get_by_test_id("differences")).to_be_visible()
    expect(page.get_by_test_id("turns").locator("svg").first).to_be_visible()
    assert_laid_out(page)
    assert_accessible(page)
