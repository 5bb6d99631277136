"""The facts screen: values over time, why, and how a fact is changed or forgotten."""

import re
from datetime import date
from functools import partial

import pytest
from playwright.sync_api import expect

from lamina.values.fact import FACT_STATUSES
from tests.inspector.access import assert_accessible
from tests.inspector.browser import DESK, PHONE, asked_for, assert_laid_out, place
from tests.inspector.memories import ENDLESS, FORGETFUL, MANY, MOVED, OF_MANY, TROUBLED, USER, fill_moved
from tests.inspector.service import ask, post, read
from tests.waiting import wait_until

pytestmark = pytest.mark.xdist_group("browser")  # one worker has the browser, and makes each memory once

CHANGED = "nora"
LINE = 150  # characters of a fact that a line shows at least


def facts_of(address, user=USER, **asked):
    """All facts of a user, whatever their standing."""
    return read(address, f"users/{user}/facts", limit=1000, statuses=FACT_STATUSES, **asked)["items"]


def opened(page, fact):
    """The window of a fact, by its bar."""
    page.locator(f'[data-fact="{fact["id"]}"]').click()
    window = page.get_by_test_id("fact")
    expect(window.get_by_test_id("why")).to_be_visible()
    return window


def one(facts, value, status=None):
    return next(fact for fact in facts if fact["value"] == value and status in {None, fact["status"]})


def set_day(page, day):
    """Move the slider to a day."""
    slider = page.get_by_test_id("as-of")
    slider.press("Home")
    expect(page.get_by_test_id("as-of-day")).not_to_have_text("today")
    first = date.fromisoformat(page.get_by_test_id("as-of-day").inner_text())
    slider.fill(str((day - first).days))
    expect(page.get_by_test_id("as-of-day")).to_have_text(day.isoformat())


def test_every_fact_has_a_bar_in_the_row_of_what_it_is_about(page_of, demo):
    """Bars say value, standing, validity and confidence in words; an arrow leads from each old value to the next."""
    everything = facts_of(demo)
    facts = [fact for fact in everything if fact["category"] == "identity"]
    page = page_of("facts")
    expect(page.get_by_test_id("shown")).to_contain_text(f"{len(everything)} facts in ")
    page.get_by_label("Category").select_option("identity")
    expect(page.get_by_test_id("bar")).to_have_count(len(facts))
    rows = {(fact["category"], fact["slot"]) for fact in facts}
    expect(page.get_by_test_id("gantt-row")).to_have_count(len(rows))
    replaced = [fact for fact in facts if fact["status"] == "superseded"]
    assert replaced
    expect(page.locator(".ties .superseded")).to_have_count(len(replaced))
    utrecht = page.get_by_role(
        "button", name=re.compile("^Utrecht.*active, from 2025-07-26 until now, confidence 90 %")
    )
    expect(utrecht).to_be_visible()


def test_keys_come_before_statements(page_of, demo):
    """What is known by a key is seen first; what was said without one comes below, by category."""
    facts = [fact for fact in facts_of(demo) if fact["category"] == "identity"]
    keys = {fact["id"] for fact in facts if fact["key"] is not None}
    page = page_of("facts")
    page.get_by_label("Category").select_option("identity")
    expect(page.get_by_test_id("gantt-row")).to_have_count(len({fact["slot"] for fact in facts}))
    rows = [
        row.get_by_test_id("bar").first.get_attribute("data-fact") in keys
        for row in page.get_by_test_id("gantt-row").all()
    ]
    assert rows == sorted(rows, reverse=True)
    assert set(rows) == {True, False}


def test_filters_by_standing_category_and_words(page_of, demo):
    facts = facts_of(demo)
    page = page_of("facts")
    shown = page.get_by_test_id("shown")
    expect(shown).to_contain_text(f"{len(facts)} facts in ")
    page.get_by_label("superseded").uncheck()
    left = [fact for fact in facts if fact["status"] != "superseded"]
    expect(shown).to_contain_text(f"{len(left)} of {len(facts)} facts in ")
    page.get_by_label("Category").select_option("identity")
    left = [fact for fact in left if fact["category"] == "identity"]
    expect(page.get_by_test_id("bar")).to_have_count(len(left))
    page.get_by_label("With the words").fill("UTRECHT")
    expect(page.get_by_test_id("bar")).to_have_count(1)
    page.get_by_label("With the words").fill("nothing of the kind")
    expect(page.locator("main")).to_contain_text("No fact matches")
    assert not [address for address in asked_for(page) if "UTRECHT" in address]


def test_the_profile_of_any_day_beside_that_of_today(page_of, demo):
    """The slider works by keyboard; what has changed since, is gone, or came later is told in words."""
    page = page_of("facts")
    profile = page.get_by_test_id("profile")
    expect(profile).to_contain_text("Utrecht")
    expect(page.get_by_test_id("then")).to_have_count(0)
    set_day(page, date(2025, 6, 15))
    expect(profile).to_contain_text("location Lisbon→ today Utrecht")
    expect(profile.get_by_test_id("later")).to_contain_text("Nordvind")
    expect(page.get_by_test_id("then")).to_be_visible()
    asked = read(demo, f"users/{USER}/profile", as_of="2025-06-15T23:59:59Z")
    shown = {
        fact["value"] if fact["text"] == f"{fact['key']}: {fact['value']}" else fact["text"] for fact in asked["facts"]
    }
    for more in reversed(profile.get_by_role("button", name=re.compile("^[0-9]+ more$")).all()):
        more.click()
    lines = profile.locator("[data-testid=known] li button").all_inner_texts()
    assert {text[:LINE] for text in shown} == {line[:LINE] for line in lines}
    page.get_by_test_id("as-of").press("ArrowRight")
    expect(page.get_by_test_id("as-of-day")).to_have_text("2025-06-16")
    page.get_by_role("button", name="back to today").click()
    expect(page.get_by_test_id("as-of-day")).to_have_text("today")
    expect(profile).not_to_contain_text("location Lisbon")
    expect(profile).to_contain_text("location Utrecht")


def line_is_at(page, x):
    return abs(page.get_by_test_id("then").bounding_box()["x"] + 1 - x) < 4


def test_the_slider_lies_along_the_axis(page_of):
    """Its thumb is where the line is: at both ends and between."""
    page = page_of("facts")
    slider = page.get_by_test_id("as-of")
    for share in (0, 0.5):
        box = slider.bounding_box()
        slider.fill(str(round(int(slider.get_attribute("max")) * share)))
        at = box["x"] + 8 + (box["width"] - 16) * share
        wait_until(partial(line_is_at, page, at), f"a line at {at}")


def test_a_value_of_long_ago_does_not_squeeze_the_rest(page_of):
    """One fact valid since 2011: the chart begins later, and shows all of it when asked to."""
    page = page_of("facts")
    page.get_by_test_id("as-of").press("Home")
    expect(page.get_by_test_id("as-of-day")).to_contain_text("2025-")
    page.get_by_label("from the first day of any fact").check()
    page.get_by_test_id("as-of").press("Home")
    expect(page.get_by_test_id("as-of-day")).to_have_text("2011-01-01")
    expect(page.get_by_test_id("profile")).to_contain_text("vegetarian")


def test_a_fact_tells_why_with_its_words_marked_and_leads_to_the_others(page_of, demo):
    """By keyboard alone: open it, go to the value that took its place and back, close it; the focus is where it was."""
    lisbon = one(facts_of(demo), "Lisbon", "superseded")
    page = page_of("facts")
    bar = page.locator(f'[data-fact="{lisbon["id"]}"]')
    bar.focus()
    page.keyboard.press("Enter")
    window = page.get_by_test_id("fact")
    expect(window.locator("mark")).to_have_text(lisbon["quote"])
    why = read(demo, f"facts/{lisbon['id']}/why")
    for reason in why["reasons"]:
        expect(window.get_by_test_id("why")).to_contain_text(reason)
    expect(window.get_by_test_id("history").locator("li")).to_have_count(2)
    window.get_by_test_id("why").get_by_role("button", name="Utrecht").press("Enter")
    expect(window.locator(".value")).to_have_text("Utrecht")
    window.get_by_role("button", name="Back").press("Enter")
    expect(window.locator(".value")).to_have_text("Lisbon")
    page.keyboard.press("Escape")
    expect(window).to_have_count(0)
    expect(bar).to_be_focused()


def test_demote_promote_correct_and_retract(page_at, troubled):
    """Each is seen at once in the window and in the chart, and is what the service has.

    What somebody else has changed meanwhile is not overwritten: it is told, and read again on request.
    """
    for key, value in (("location", "Utrecht"), ("editor", "Zed")):
        post(troubled, f"users/{CHANGED}/facts", text=value, key=key)
    page = page_at(troubled, "facts", CHANGED, expected=["412"])
    utrecht = one(facts_of(troubled, CHANGED), "Utrecht")
    window = opened(page, utrecht)
    standing = window.locator(".standing").first
    window.get_by_role("button", name="Demote").click()
    expect(standing).to_contain_text("candidate")
    window.get_by_role("button", name="Promote").click()
    expect(standing).to_contain_text("active")
    window.get_by_role("button", name="Correct").click()
    window.get_by_label("The right value").fill("Delft")
    window.get_by_role("button", name="Save as a new version").click()
    expect(window.locator(".value")).to_have_text("Delft")
    delft = one(facts_of(troubled, CHANGED), "Delft", "active")
    expect(page.locator(f'[data-fact="{delft["id"]}"]')).to_have_count(1)
    window.get_by_role("button", name="Retract").click()
    page.get_by_role("dialog", name="Retract this fact?").get_by_role("button", name="Retract").click()
    expect(standing).to_contain_text("retracted")
    assert one(facts_of(troubled, CHANGED), "Delft")["status"] == "retracted"
    page.keyboard.press("Escape")

    zed = one(facts_of(troubled, CHANGED), "Zed")
    window = opened(page, zed)
    ask("PATCH", troubled, f"facts/{zed['id']}", body={"standing": "demoted"})
    window.get_by_role("button", name="Promote").click()
    expect(window.get_by_test_id("stale")).to_contain_text("Somebody changed it meanwhile")
    assert one(facts_of(troubled, CHANGED), "Zed")["status"] == "candidate"
    window.get_by_role("button", name="Read it again").click()
    expect(window.get_by_test_id("stale")).to_have_count(0)
    expect(window.locator(".standing").first).to_contain_text("candidate")
    window.get_by_role("button", name="Promote").click()
    expect(window.locator(".standing").first).to_contain_text("active")


def test_forgetting_is_tried_confirmed_and_certified(page_at, troubled):
    """The dry run erases nothing; then the fact is gone, and its receipt is the one that the service has.

    By words it is the same: what nobody said is nothing; other words go, and are in no address.
    """
    before = len(read(troubled, "receipts")["items"])
    page = page_at(troubled, "facts", FORGETFUL)
    allergy = one(facts_of(troubled, FORGETFUL), "penicillin")
    window = opened(page, allergy)
    window.get_by_role("button", name="Forget", exact=True).click()
    expect(page.get_by_test_id("going").get_by_test_id("goes")).to_contain_text(
        ["I am allergic to penicillin.", "allergic to penicillin"]
    )
    expect(page.get_by_test_id("goes").locator("mark")).to_have_text("I am allergic to penicillin")
    page.get_by_text("As a receipt, by ids").click()
    expect(page.get_by_test_id("dry-run")).to_contain_text("Facts erased")
    page.get_by_role("button", name="Keep it").click()
    assert one(facts_of(troubled, FORGETFUL), "penicillin") == allergy
    window.get_by_role("button", name="Forget", exact=True).click()
    page.get_by_role("button", name="Forget for good").click()
    receipt = page.get_by_test_id("receipt")
    expect(receipt).to_contain_text("no old bytes are left")
    kept = read(troubled, "receipts")["items"][-1]
    expect(receipt.get_by_test_id("digest")).to_have_text(kept["digest"])
    page.get_by_role("button", name="Done").click()
    expect(page.locator(f'[data-fact="{allergy["id"]}"]')).to_have_count(0)
    expect(page.get_by_test_id("receipt-row").first).to_contain_text(kept["digest"][:10])

    words = page.get_by_test_id("forget-words")
    words.fill("words that nobody said")
    page.get_by_role("button", name="Show what would go").click()
    expect(page.get_by_test_id("nothing-to-forget")).to_be_visible()
    expect(page.get_by_role("button", name="Forget for good")).to_be_disabled()
    page.get_by_role("button", name="Keep it").click()
    words.fill("4242")
    words.press("Enter")
    expect(page.get_by_test_id("goes").first).to_contain_text("The code of the door is 4242.")
    expect(page.get_by_test_id("goes").locator("mark").first).to_have_text("4242")
    expect(page.get_by_test_id("going")).not_to_contain_text("raining")
    page.get_by_role("button", name="Forget for good").click()
    expect(page.get_by_test_id("receipt")).to_be_visible()
    page.get_by_role("button", name="Done").click()
    expect(page.get_by_test_id("receipt-row")).to_have_count(before + 2)
    assert not [address for address in asked_for(page) if "4242" in address]


def test_where_summaries_disagree_is_told(page_at, served, tmp_path):
    """Each summary that goes on past a change and does not have it is listed; a click leads to the old value."""
    fill_moved(tmp_path / "moved.db")
    address = served(tmp_path / "moved.db")
    post(address, "settle")  # the worker of the service renews the digest
    divergences = read(address, f"users/{MOVED}/consistency")["items"]
    assert {divergence["text"] for divergence in divergences} == {
        "it has 'location: Ghent'; now 'location: Porto' is current"
    }
    page = page_at(address, "facts", MOVED)
    listed = page.get_by_test_id("divergences").get_by_role("listitem")
    expect(listed).to_have_count(len(divergences))
    divergence = divergences[0]
    expect(listed.first).to_contain_text(divergence["text"])
    listed.first.get_by_role("button", name="the fact").click()
    expect(page.get_by_test_id("fact")).to_contain_text(divergence["fact_id"])


@pytest.mark.parametrize("width", [DESK, pytest.param(PHONE, marks=pytest.mark.full)])
def test_values_that_disagree_are_marked(page_at, troubled, width):
    """A zig-zag to the value that holds, a sign, and words; the window names both sides."""
    facts = [fact for fact in facts_of(troubled, TROUBLED) if fact["category"] == "identity"]
    rivals = [fact for fact in facts if fact["status"] == "conflicted"]
    assert len(rivals) > 1
    page = page_at(troubled, "facts", TROUBLED, width=width, scheme="dark" if width == DESK else "light")
    page.get_by_label("Category").select_option("identity")
    expect(page.locator(".ties .conflicted")).to_have_count(len(rivals))
    expect(page.locator(".bar.conflicted")).to_have_count(len(rivals))
    ghent = page.get_by_role("button", name=re.compile(r"^≠?\s*Ghent\s*, conflicted, from"))
    expect(ghent).to_be_visible()
    assert_laid_out(page)
    assert_accessible(page)
    window = opened(page, one(facts, "Ghent", "conflicted"))
    expect(window.get_by_test_id("why")).to_contain_text("It disagrees with")
    expect(window.get_by_test_id("why")).to_contain_text("in conflict with")
    assert_laid_out(page)
    assert_accessible(page)
    window.get_by_test_id("why").get_by_role("button", name="Porto").click()
    expect(window.locator(".value")).to_have_text("Porto")
    for rival in rivals:
        expect(window.get_by_test_id("why").get_by_role("button", name=rival["value"])).to_be_visible()


def test_what_faded_or_was_taken_back_is_told_and_filtered(page_at, troubled):
    """It looks different, says so in words, and goes when its standing is not wanted; of the profile it is no part."""
    facts = facts_of(troubled, TROUBLED)
    page = page_at(troubled, "facts", TROUBLED)
    expect(page.get_by_test_id("profile")).to_contain_text("Porto")
    left = len(facts)
    for status, value, looks in (
        ("archived", "likes mild cheese", ("border-top-style", "dotted")),
        ("retracted", "vegan", ("border-top-style", "solid")),
    ):
        fact = one(facts, value, status)
        bar = page.locator(f'[data-fact="{fact["id"]}"]')
        expect(bar).to_contain_text(f"{status}, from {fact['valid_from'][:10]}")
        expect(bar).to_have_css(*looks)
        expect(page.get_by_test_id("profile")).not_to_contain_text(value)
        window = opened(page, fact)
        expect(window.locator(".standing").first).to_contain_text(status)
        expect(window.get_by_test_id("why")).to_contain_text(f"{status} on")
        page.keyboard.press("Escape")
        page.get_by_label(f"{status} ").uncheck()
        left -= len([fact for fact in facts if fact["status"] == status])
        expect(bar).to_have_count(0)
        expect(page.get_by_test_id("shown")).to_contain_text(f"{left} of {len(facts)} facts")
    expect(page.locator(".bar.retracted .words")).to_have_count(0)
    page.get_by_label("retracted ").check()
    expect(page.locator(".bar.retracted .words")).to_have_css("text-decoration-line", "line-through")


def test_of_many_rows_only_those_in_sight_are_drawn(page_at, troubled):
    page = page_at(troubled, "facts", OF_MANY)
    gantt = page.get_by_test_id("gantt")
    expect(page.get_by_test_id("shown")).to_contain_text(f"{MANY:,} facts in {MANY:,} rows.")
    assert 0 < page.get_by_test_id("bar").count() < 50
    expect(gantt.get_by_role("button", name="value 0 ")).to_be_visible()
    gantt.evaluate("box => box.scrollTo(0, box.scrollHeight)")
    expect(gantt.get_by_role("button", name=f"value {MANY - 1} ")).to_be_visible()
    assert page.get_by_test_id("bar").count() < 50


def test_the_first_of_many_facts_are_shown_while_the_others_come(page_at, troubled):
    """Two requests bring all of them: the second is held up here."""
    page = page_at(troubled, "facts", "nobody")
    held = []
    page.route(re.compile("/facts[?].*cursor="), lambda route: held.append(route))  # noqa: PLW0108 - it is marked
    page.goto(place(troubled, "facts", OF_MANY))
    expect(page.get_by_test_id("shown")).to_contain_text("1,000 facts in 1,000 rows so far")
    expect(page.get_by_test_id("bar").first).to_be_visible()
    wait_until(lambda: page.title() and held, "the second request")
    held[0].continue_()
    expect(page.get_by_test_id("shown")).to_contain_text(f"{MANY:,} facts in {MANY:,} rows.")
    assert len(held) == 1


def test_something_is_remembered_by_hand(page_at, troubled):
    """With a key, it replaces the current value of that key."""
    post(troubled, "users/bea/facts", text="Porto", key="office", type="decision")
    page = page_at(troubled, "facts", "bea")
    page.get_by_role("button", name="Remember something").click()
    page.get_by_role("textbox", name="What").fill("Braga")
    page.get_by_label("Key, if it has one").fill("office")
    page.get_by_test_id("remember").get_by_role("combobox").select_option("decision")
    page.get_by_role("button", name="Remember", exact=True).click()
    expect(page.get_by_test_id("fact").locator(".value")).to_have_text("Braga")
    facts = facts_of(troubled, "bea")
    assert one(facts, "Braga")["type"] == "decision"
    assert one(facts, "Porto")["status"] == "superseded"


def test_a_read_key_looks_only(page_at, read_only):
    """What it may not do is switched off, and says what it needs."""
    address, key = read_only
    page = page_at(address, "facts", TROUBLED, expected=["401"])
    page.get_by_role("textbox", name="Key").fill(key)
    page.get_by_role("button", name="Use this key").click()
    expect(page.get_by_role("button", name="Remember something")).to_be_disabled()
    expect(page.get_by_test_id("forget-words")).to_be_disabled()
    page.get_by_test_id("bar").first.click()
    window = page.get_by_test_id("fact")
    expect(window).to_contain_text("needs a key with the role write")
    for name in ("Promote", "Demote", "Correct", "Retract", "Forget"):
        expect(window.get_by_role("button", name=name, exact=True)).to_be_disabled()


@pytest.mark.parametrize("width", [pytest.param(DESK, marks=pytest.mark.full), PHONE])
def test_nothing_overlaps_or_sticks_out(page_of, demo, width):
    page = page_of("facts", user=ENDLESS, width=width, scheme="dark" if width == PHONE else "light")
    expect(page.get_by_test_id("bar").first).to_be_visible()
    set_day(page, date(2025, 6, 15))
    expect(page.get_by_test_id("profile")).to_contain_text("Lisbon")
    assert_laid_out(page)
    opened(page, one(facts_of(demo, ENDLESS), "Lisbon"))
    assert_laid_out(page)


def test_a_bar_without_room_has_its_words_beside_it(page_at, empty):
    """In the first hour everything is of today: still one can read what is known."""
    post(empty, "sessions/s1/messages", user_id="noor", messages="I live in Porto. I am allergic to peanuts.")
    post(empty, "settle")
    for width in (DESK, PHONE):
        page = page_at(empty, "facts", "noor", width=width)
        expect(page.get_by_test_id("gantt").locator(".bar-words")).to_have_count(2)
        expect(page.get_by_test_id("gantt").locator(".bar-words").filter(has_text="Porto")).to_be_visible()
        assert_laid_out(page)
