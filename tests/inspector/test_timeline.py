"""The timeline: a session as layers, where a summary comes from, and regenerating it."""

import re

import pytest
from playwright.sync_api import expect

from tests.inspector.browser import PHONE, assert_laid_out
from tests.inspector.memories import ACCEPTED, CROWD, CROWDED, ENDLESS, PROPOSED, SAID, TRICKSTER, TROUBLED
from tests.inspector.service import read

pytestmark = pytest.mark.xdist_group("browser")  # one worker has the browser, and makes each memory once


@pytest.fixture
def timeline(page_of):
    """The long session, wholly drawn."""
    page = page_of("timeline", ENDLESS, ENDLESS)
    expect(page.get_by_test_id("pin").first).to_be_visible()
    expect(page.get_by_test_id("verbatim").first).to_be_attached()
    return page


def block(page, summary):
    return page.locator(f'[data-testid="block"][data-id="{summary["id"]}"]')


@pytest.fixture
def lists(demo):
    """Asks the service itself what a session has."""
    return lambda session, live=False: read(demo, f"sessions/{session}/summaries", live=live)["items"]


def test_every_summary_is_a_block_in_its_layer(timeline, lists):
    """Live and folded summaries lie below the log, with the cursor, the window and what is redacted."""
    summaries = lists(ENDLESS)
    shown = timeline.get_by_test_id("block").evaluate_all("all => all.map(one => one.dataset.id)")
    assert sorted(shown) == sorted(summary["id"] for summary in summaries)
    layers = {
        layer: {timeline.evaluate("id => document.querySelector(`[data-id=${id}] rect`).getAttribute('y')", one["id"])}
        for one in summaries
        for layer in [one["layer"]]
    }
    assert len(set.union(*layers.values())) == len(layers) > 1
    folded = next(one for one in summaries if one["status"] == "folded")
    expect(block(timeline, folded)).to_have_class(re.compile("folded"))
    expect(timeline.get_by_test_id("cursor")).to_contain_text(re.compile(r"folded up to \d+"))
    expect(timeline.get_by_test_id("redacted")).to_have_count(1)


def test_first_drawing_waits_for_nothing_but_what_is_live(timeline, lists):
    """While the outline is on its way, the live summaries are drawn already."""
    timeline.route(re.compile(r"/outline|/v1/context"), lambda _: None)
    timeline.reload()
    expect(timeline.get_by_test_id("block")).to_have_count(len(lists(ENDLESS, live=True)))
    expect(timeline.get_by_test_id("strata")).to_have_attribute("data-drawn", "yes")
    assert timeline.evaluate("performance.getEntriesByName('strata-drawn').length") == 1


def test_a_card_tells_what_a_block_is(timeline, lists):
    """Over a folded block, whose words are fetched only now, a card has its beginning and its numbers."""
    folded = next(one for one in lists(ENDLESS) if one["status"] == "folded")
    block(timeline, folded).hover()
    card = timeline.get_by_test_id("card")
    expect(card).to_contain_text(folded["text"].split("\n")[0][:60])
    expect(card).to_contain_text(f"{folded['tokens']} tokens for")


def test_lineage_leads_from_a_summary_to_what_it_was_made_from_and_back(timeline, lists):
    """By keys alone: a block opens, its inputs are buttons, Escape gives the focus back."""
    parent = next(one for one in lists(ENDLESS) if one["inputs"])
    inputs = parent["inputs"]
    block(timeline, parent).focus()
    timeline.keyboard.press("Enter")
    lineage = timeline.get_by_test_id("lineage")
    expect(lineage).to_contain_text(parent["text"].split("\n")[0])
    expect(lineage).to_contain_text(parent["recipe"]["model"])
    expect(lineage.get_by_test_id("kin")).to_have_count(len(inputs))
    lineage.get_by_test_id("kin").first.click()
    expect(lineage).to_contain_text(inputs[0])
    lineage.get_by_text(re.compile(r"The \d+ messages? it covers")).click()
    expect(lineage.locator("[data-seq='1']")).to_be_visible()
    lineage.get_by_test_id("kin").click()
    expect(lineage).to_contain_text(parent["id"])
    timeline.keyboard.press("Escape")
    expect(lineage).to_have_count(0)
    expect(block(timeline, parent)).to_be_focused()


def test_arrows_go_along_a_layer(timeline, lists):
    """A layer is one stop of the tab key; left and right go from block to block."""
    first, second = [one for one in lists(ENDLESS) if one["layer"] == 1][:2]
    block(timeline, first).focus()
    timeline.keyboard.press("ArrowRight")
    expect(block(timeline, second)).to_be_focused()
    expect(block(timeline, first)).to_have_attribute("tabindex", "-1")


def test_a_click_on_the_log_shows_that_message(timeline):
    """The log below scrolls to the message that was clicked on, and arrows go on from there."""
    raw = timeline.get_by_test_id("raw")
    box = timeline.get_by_test_id("raw").locator(".bed").bounding_box()
    timeline.mouse.click(box["x"] + box["width"] / 2, box["y"] + 20)
    expect(raw).to_have_attribute("aria-valuenow", re.compile(r"^3(7[1-9]|8\d)$"))
    seq = int(raw.get_attribute("aria-valuenow"))
    expect(timeline.get_by_test_id("messages").locator(f"[data-seq='{seq}']")).to_be_in_viewport()
    raw.focus()
    timeline.keyboard.press("ArrowRight")
    expect(raw).to_have_attribute("aria-valuenow", str(seq + 1))


def test_of_a_long_log_only_what_is_in_sight_is_drawn(timeline):
    """From its first message to its last."""
    log = timeline.get_by_test_id("messages")
    log.scroll_into_view_if_needed()
    for share, seq in ((0, 1), (0.5, 380), (1, 758)):
        log.evaluate("(box, share) => box.scrollTo(0, box.scrollHeight * share)", share)
        expect(log.locator(f"[data-seq='{seq}']")).to_be_in_viewport()
        assert log.locator(".row").count() <= 60


def test_a_drag_looks_closer_and_a_double_click_shows_all(timeline):
    """Half of the log dragged over is half of the log in sight; keys do the same."""
    strata = timeline.get_by_test_id("strata")
    whole = re.compile(r"messages 1.758 in sight")
    expect(strata).to_have_attribute("aria-label", whole)
    box = timeline.get_by_test_id("raw").locator(".bed").bounding_box()
    timeline.mouse.move(box["x"] + box["width"] / 2, box["y"] + 20)
    timeline.mouse.down()
    timeline.mouse.move(box["x"] + box["width"] - 2, box["y"] + 20, steps=3)
    timeline.mouse.up()
    expect(strata).to_have_attribute("aria-label", re.compile(r"messages 3[78]\d.75\d in sight"))
    strata.dblclick(position={"x": 20, "y": 5})
    expect(strata).to_have_attribute("aria-label", whole)
    timeline.get_by_test_id("raw").focus()
    timeline.keyboard.press("+")
    expect(strata).to_have_attribute("aria-label", re.compile(r"messages 1[89]\d.5[67]\d in sight"))
    timeline.keyboard.press("0")
    expect(strata).to_have_attribute("aria-label", whole)


def test_a_pin_shows_the_message_it_comes_from(timeline, demo):
    """An episode leads to the very message it was found in."""
    told = read(demo, f"users/{ENDLESS}/episodes", session_id=ENDLESS)["items"][0]
    message = read(demo, f"messages/{told['message_ids'][0]}")
    pin = timeline.locator(".lane.episode [data-testid=pin]").first
    pin.hover()
    expect(timeline.get_by_test_id("card")).to_contain_text(told["title"])
    pin.click()
    expect(timeline.get_by_test_id("raw")).to_have_attribute("aria-valuenow", str(message["seq"]))


def test_what_was_written_anew_is_accepted_and_rolled_back(troubled, page_at):
    """A proposal shows what differs; accepted, the old version lies behind the new one."""
    page = page_at(troubled, "timeline", TROUBLED, PROPOSED)
    proposal = page.get_by_test_id("proposals").get_by_test_id("proposal")
    proposal.get_by_text("What would change").click()
    expect(proposal.locator("ins").first).to_be_visible()
    expect(proposal.locator("del").first).to_be_visible()
    proposal.get_by_role("button", name="Accept").click()
    expect(proposal).to_contain_text("accepted")
    expect(page.locator("rect.earlier")).not_to_have_count(0)

    page.locator("g.block.live").first.click()
    lineage = page.get_by_test_id("lineage")
    expect(lineage).to_contain_text("first-sentences")
    lineage.get_by_text("what changed since").first.click()
    expect(lineage.get_by_test_id("differences")).to_be_visible()
    lineage.get_by_role("button", name="Regenerate from here").click()
    expect(lineage.get_by_test_id("proposal")).to_contain_text("waits")
    lineage.get_by_test_id("proposal").get_by_role("button", name="Roll back").click()
    expect(lineage.get_by_test_id("proposal")).to_contain_text("rolled back")
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("proposals").get_by_test_id("proposal")).to_have_count(2)


@pytest.mark.parametrize(
    ("session", "standing", "action"), [(ACCEPTED, "accepted", "Roll back"), (PROPOSED, "waits", "Accept")]
)
def test_a_read_key_may_only_look_at_what_was_written_anew(read_only, page_at, session, standing, action):
    address, key = read_only
    page = page_at(address, "timeline", TROUBLED, session, expected=["401"])
    page.get_by_role("textbox", name="Key").fill(key)
    page.get_by_role("button", name="Use this key").click()
    proposal = page.get_by_test_id("proposal").filter(has_text=standing)
    expect(proposal.get_by_role("button", name=action)).to_be_disabled()
    expect(proposal.locator("[title]").first).to_have_attribute("title", re.compile("role write"))


def test_blocks_too_narrow_to_be_seen_are_one_shape_and_still_found(hostile, page_at):
    """Where a pixel has more than a block, they are drawn together; the place that is touched tells which one."""
    page = page_at(hostile, "timeline", CROWD, CROWDED, width=PHONE)
    expect(page.get_by_test_id("verbatim").first).to_be_attached()  # nothing moves any more
    strata = page.get_by_test_id("strata")
    middle = strata.evaluate(
        """svg => {
            const from = svg.getBoundingClientRect();
            const box = svg.querySelector(".layer path.block.folded").getBoundingClientRect();
            return { x: box.x + box.width / 2 - from.x, y: box.y + 20 - from.y };
        }"""
    )
    strata.click(position=middle)
    title = page.locator("dialog h2").inner_text()
    (span,) = re.findall(r"messages (\d+)\D(\d+)", title)
    first, last = map(int, span)
    assert 0.45 * SAID < first <= last < 0.55 * SAID


def test_a_user_without_sessions_is_told_how_to_begin(nothing, page_at):
    """Where nothing is stored, the screen leads to where something comes from."""
    page = page_at(nothing, "timeline", "nobody")
    expect(page.get_by_text("Nothing is stored yet")).to_be_visible()
    page.get_by_role("main").get_by_role("link", name="import your history").click()
    expect(page).to_have_url(re.compile("#/start"))


def test_what_was_said_is_text_and_nothing_else(hostile, page_at):
    """Tricks in messages, names and ids are shown, never run, in strata, cards and lineage."""
    page = page_at(hostile, "timeline", TRICKSTER)
    page.get_by_test_id("block").first.click()
    expect(page.get_by_test_id("lineage")).to_be_visible()
    assert page.locator("#injected, iframe, main img, main script, dialog img, dialog script").count() == 0
    assert "owned" not in page.title()
    assert_laid_out(page)


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.full)])
def test_on_a_phone_nothing_overlaps_however_close_one_looks(page_of, scheme):
    """At 390 pixels the strata have their names above, and nothing sticks out."""
    page = page_of("timeline", ENDLESS, ENDLESS, width=PHONE, scheme=scheme)
    expect(page.get_by_test_id("pin").first).to_be_visible()
    assert_laid_out(page)
    for _ in range(4):
        page.get_by_role("button", name="Closer").click()
        assert_laid_out(page)
