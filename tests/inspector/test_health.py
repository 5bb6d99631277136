"""Health: what is due, saved, spent, fading, and who did what."""

import re
from collections import Counter

import pytest
from playwright.sync_api import expect

from tests.inspector.access import assert_accessible
from tests.inspector.browser import DESK, PHONE, asked_for, assert_laid_out
from tests.inspector.memories import FAILING, GIVEN_UP, RETRIED, TROUBLED, USER, WAITING
from tests.inspector.service import post, read
from tests.waiting import wait_until

pytestmark = pytest.mark.xdist_group("browser")  # one worker has the browser, and makes each memory once


def test_the_figures_are_those_of_the_service(page_of, demo):
    """Of everybody, or of the chosen user only."""
    page = page_of("health")
    for whose in ({}, {"user_id": USER}):
        stats = read(demo, "stats", **whose)
        saved = round((1 - stats["at_hand_tokens"] / stats["tokens"]) * 100)
        expect(page.get_by_test_id("saved")).to_contain_text(f"{stats['tokens']:,} tokens")
        expect(page.get_by_test_id("saved")).to_contain_text(f"{saved} % saved")
        layers = page.get_by_test_id("layers")
        expect(layers).to_contain_text(f"{stats['messages']:,}")
        kinds = {(one["kind"], one["layer"]) for one in stats["summaries"]}
        expect(layers.locator("tbody tr")).to_have_count(len(kinds))
        page.get_by_label("of the chosen user only").check()
    expect(page.get_by_test_id("backlog")).to_contain_text("nothing is due")
    expect(page.get_by_test_id("costs")).to_contain_text("no model is configured")
    expect(page.get_by_test_id("workers")).to_contain_text("alive")


def test_growth_says_in_words_where_it_has_come_to(page_of, demo):
    """The lines are pictures for the eye; their names have the last figures."""
    stats = read(demo, "stats")
    said = sum(one["message_tokens"] for one in stats["growth"])
    page = page_of("health")
    expect(page.get_by_role("img", name=re.compile(f"messages {said:,}, summaries"))).to_be_visible()
    expect(page.get_by_test_id("growth").locator("svg path").first).to_be_attached()


def test_what_fades_is_gone_through_by_keyboard_and_read_as_a_table(page_of, demo):
    items = read(demo, f"users/{USER}/fading", limit=1000)["items"]
    going = [one for one in items if not one["kept"] and one["archive_below"] and one["decay"] < one["archive_below"]]
    page = page_of("health")
    panel = page.get_by_test_id("fading")
    expect(panel.get_by_role("option")).to_have_count(len(items))
    expect(panel.locator(".point .archived")).to_have_count(len(going))
    expect(panel.locator(".axes .archive")).to_have_count(1)
    panel.get_by_role("option").first.focus()
    expect(panel.get_by_test_id("readout")).to_contain_text(items[0]["label"])
    page.keyboard.press("ArrowRight")
    expect(panel.get_by_role("option").nth(1)).to_be_focused()
    expect(panel.get_by_test_id("readout")).to_contain_text(items[1]["label"])
    panel.get_by_text("As a table").click()
    expect(panel.locator("tbody tr")).to_have_count(100)
    panel.get_by_role("button", name="Show more").click()
    expect(panel.locator("tbody tr")).to_have_count(len(items))
    expect(panel.get_by_role("cell", name="would be archived")).to_have_count(len(going))


def test_what_is_fresh_is_drawn_whole(page_of):
    """Points that would lie on each other at the right edge are set beside it, inside of the picture."""
    panel = page_of("health").get_by_test_id("fading")
    expect(panel.locator(".point .sign").first).to_be_visible()
    wide = panel.locator("svg.points").bounding_box()
    ends = panel.locator(".point .sign").evaluate_all("all => all.map(one => one.getBoundingClientRect().right)")
    assert max(ends) <= wide["x"] + wide["width"]


def test_who_did_what_the_newest_first_and_more_on_request(page_of, demo):
    for _ in range(30):
        read(demo, "sessions")
    page = page_of("health")
    rows = page.get_by_test_id("audit").locator("tbody tr")
    expect(rows).to_have_count(25)
    page.get_by_role("button", name="Load more").click()
    expect(rows.nth(30)).to_be_visible()
    times = page.get_by_test_id("audit").locator("tbody td:first-child").all_inner_texts()
    assert times == sorted(times, reverse=True)
    assert rows.filter(has_text="list_sessions").count() >= 30


def test_verify_reads_everything(page_of, demo):
    stats = read(demo, "stats")
    page = page_of("health")
    page.get_by_role("button", name="Verify").click()
    expect(page.get_by_test_id("report")).to_contain_text("Everything is whole")
    expect(page.get_by_test_id("report")).to_contain_text(f"{stats['messages']:,} messages")


def test_it_asks_nothing_while_nothing_changes(page_at, nothing):
    """No polling: what the page asks is in the audit log. An hour passes on its clock, and it has planned nothing."""
    page = page_at(nothing, "health")
    page.clock.install()
    page.reload()
    expect(page.get_by_test_id("listening")).to_contain_text("listens")
    expect(page.get_by_test_id("saved")).to_contain_text("No messages yet")
    expect(page.get_by_test_id("audit").locator("tbody tr").first).to_be_visible()
    expect(page.locator("main [aria-busy=true]")).to_have_count(0)
    expect(page.get_by_test_id("as-read")).not_to_contain_text("…")
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.clock.run_for("01:00:00")
    assert page.title()  # whatever was asked before is known by now
    assert not asked


def test_it_shows_changes(page_at, troubled):
    page = page_at(troubled, "health", "newcomer")
    expect(page.get_by_test_id("listening")).to_contain_text("listens")
    page.get_by_label("of the chosen user only").check()
    expect(page.get_by_test_id("saved")).to_contain_text("No messages yet")
    post(troubled, "sessions/first/messages", user_id="newcomer", messages="I live in Porto.")
    expect(page.get_by_test_id("layers")).to_contain_text(re.compile(r"Messages\s*1"))
    expect(page.get_by_test_id("saved")).to_contain_text("saved")


def test_a_retry_has_a_session_folded_that_was_given_up(page_at, troubled):
    """Why it failed is told; once a worker could work on it, it is folded, and only it."""
    page = page_at(troubled, "health", FAILING)
    rows = page.get_by_test_id("failing").locator("tbody tr")
    retried = rows.filter(has_text=RETRIED)
    expect(retried).to_contain_text("ZeroDivisionError")
    expect(retried).to_contain_text("set aside")
    assert read(troubled, f"sessions/{RETRIED}/summaries")["items"] == []
    aside = read(troubled, "backlog")["aside"]
    retried.get_by_role("button", name="Retry").click()
    expect(retried).to_have_count(0)
    expect(rows.filter(has_text=GIVEN_UP)).to_be_visible()
    wait_until(lambda: read(troubled, f"sessions/{RETRIED}/summaries")["items"])
    backlog = read(troubled, "backlog")
    assert RETRIED not in {one["session_id"] for one in backlog["failing"]}
    assert backlog["aside"] == aside - 1


def test_costs_are_those_of_the_service(page_at, troubled):
    """In figures, as bars by day and purpose whatever the model, and row by row."""
    costs = read(troubled, "costs")["items"]
    spent: Counter[tuple[str, str]] = Counter()
    for one in costs:
        spent[one["day"], one["purpose"]] += one["cost"]
    assert len({day for day, _ in spent}) == 5
    assert len({purpose for _, purpose in spent}) > 1
    assert len(spent) < len(costs)
    page = page_at(troubled, "health", TROUBLED)
    panel = page.get_by_test_id("costs")
    total = sum(spent.values())
    expect(panel.locator(".figure").filter(has_text="Total")).to_contain_text(f"{total:.3g}")
    for name, of in (("Calls", "calls"), ("Tokens in", "tokens_in"), ("Tokens out", "tokens_out")):
        figure = panel.locator(".figure").filter(has_text=name)
        expect(figure).to_contain_text(f"{sum(one[of] for one in costs):,}")
    bars = panel.locator("svg rect")
    expect(bars).to_have_count(len(spent))
    heights = sorted(bars.evaluate_all("all => all.map(one => one.height.baseVal.value)"))
    scale = sum(heights) / total
    assert heights == pytest.approx([cost * scale for cost in sorted(spent.values())], abs=1.5)
    panel.get_by_text("As a table").click()
    rows = panel.locator("tbody tr")
    expect(rows).to_have_count(len(costs))
    told = [row.split("\t") for row in rows.all_inner_texts()]
    assert [(day, purpose, model, int(calls)) for day, purpose, model, calls, *_ in told] == [
        (one["day"], one["purpose"], one["model"], one["calls"]) for one in costs
    ]
    assert [float(row[-1]) for row in told] == pytest.approx([one["cost"] for one in costs], rel=0.01)


def test_layers_tell_of_what_was_folded_on_and_replaced(page_at, troubled):
    stats = read(troubled, "stats")
    counts = {(one["kind"], one["status"]): one["count"] for one in stats["summaries"]}
    assert {("medium", "live"), ("medium", "folded"), ("medium", "replaced"), ("long", "live")} <= set(counts)
    page = page_at(troubled, "health", TROUBLED)
    row = page.get_by_test_id("layers").locator("tbody tr").filter(has_text="medium")
    expect(row.locator("td").nth(3)).to_have_text(str(counts["medium", "folded"]))
    expect(row.locator("td").nth(4)).to_have_text(str(counts["medium", "replaced"]))


def test_a_read_key_sees_figures_and_is_told_what_needs_more(page_at, read_only):
    address, key = read_only
    page = page_at(address, "health", expected=["401"])
    page.get_by_role("textbox", name="Key").fill(key)
    page.get_by_role("button", name="Use this key").click()
    expect(page.get_by_test_id("saved")).to_contain_text("saved")
    expect(page.get_by_test_id("audit")).to_contain_text("needs a key with the role admin")
    expect(page.get_by_role("button", name="Verify")).to_be_disabled()
    rows = page.get_by_test_id("failing").locator("tbody tr")
    expect(rows.filter(has_text=GIVEN_UP)).to_contain_text("set aside")
    expect(rows.filter(has_text=WAITING)).to_contain_text(re.compile(r"\d\d:\d\d"))
    buttons = page.get_by_role("button", name="Retry").all()
    assert len(buttons) == 4
    for button in buttons:
        expect(button).to_be_disabled()
    assert not [one for one in asked_for(page) if "/v1/audit" in one]


@pytest.mark.parametrize("width", [pytest.param(DESK, marks=pytest.mark.full), PHONE])
def test_trouble_is_laid_out_for_everybody(page_at, troubled, width):
    """With failures, bills and long tables open."""
    page = page_at(troubled, "health", TROUBLED, width=width, scheme="dark" if width == PHONE else "light")
    expect(page.get_by_test_id("failing")).to_contain_text(GIVEN_UP)
    expect(page.get_by_test_id("costs").locator("svg rect").first).to_be_visible()
    for panel in ("costs", "fading"):
        page.get_by_test_id(panel).get_by_text("As a table").click()
    assert_laid_out(page)
    assert_accessible(page)


@pytest.mark.full
@pytest.mark.parametrize("width", [DESK, PHONE])
def test_nothing_overlaps_or_sticks_out(page_of, width):
    page = page_of("health", width=width, scheme="dark" if width == DESK else "light")
    expect(page.get_by_test_id("fading").get_by_role("option").first).to_be_visible()
    expect(page.get_by_test_id("growth").locator("svg").first).to_be_visible()
    expect(page.get_by_test_id("audit").locator("tbody tr").first).to_be_visible()
    assert_laid_out(page)
