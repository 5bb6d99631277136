"""Words of users from right to left and longer than a line, and words of ours that are explained."""

import pytest
from playwright.sync_api import expect

from tests.inspector.access import assert_accessible
from tests.inspector.browser import DESK, PHONE, assert_laid_out
from tests.inspector.memories import READER, SAID_IN_ARABIC, SAID_IN_HEBREW

pytestmark = pytest.mark.xdist_group("browser")  # one worker has the browser, and makes each memory once

SIDE = "one => [getComputedStyle(one).direction, getComputedStyle(one).textAlign, getComputedStyle(one).display]"


def is_set_from_the_right(words):
    return words.evaluate(SIDE) == ["rtl", "start", "block"]


@pytest.mark.parametrize("width", [DESK, PHONE])
def test_messages_and_facts_are_set_from_right_to_left(page_at, zones, width):
    """A block of words stands at the side from which it is read; a word longer than the line breaks."""
    page = page_at(zones, "timeline", READER, width=width)
    rows = page.get_by_test_id("messages").locator("article p .words")
    expect(rows.nth(0)).to_have_text(SAID_IN_HEBREW)
    assert is_set_from_the_right(rows.nth(0))
    assert is_set_from_the_right(rows.nth(1))
    assert rows.nth(2).evaluate(SIDE)[0] == "ltr"
    assert_laid_out(page)
    page = page_at(zones, "facts", READER, width=width)
    page.get_by_test_id("bar").filter(has_text=SAID_IN_ARABIC).click()
    assert is_set_from_the_right(page.locator(".value .words"))
    assert_laid_out(page)


@pytest.mark.parametrize("screen", ["context", "search"])
def test_what_is_typed_and_found_is_set_from_right_to_left(page_at, zones, screen):
    page = page_at(zones, screen, READER, width=PHONE)
    field = page.get_by_test_id("query")
    field.fill(SAID_IN_HEBREW.split(".")[0])
    assert field.evaluate("one => getComputedStyle(one).direction") == "rtl"
    field.press("Enter")
    if screen == "search":
        expect(page.get_by_test_id("hit").first).to_be_visible()
    else:
        expect(page.get_by_test_id("pieces")).to_be_visible()
        page.get_by_text("As the model gets it").click()
        expect(page.get_by_test_id("exact")).to_be_visible()
    expect(page.locator("main [aria-busy=true]")).to_have_count(0)
    assert_laid_out(page)


def test_a_word_of_ours_is_explained_by_pointing_and_by_keyboard(page_of):
    """It is read out with its word, stays while it is pointed at, and goes with Escape."""
    page = page_of("health")
    word = page.locator(".term").filter(has_text="In work")
    note = word.get_by_role("tooltip")
    expect(note).to_be_hidden()
    word.hover()
    expect(note).to_have_text("Sessions that a worker works on now. For a limited time, no other worker takes them.")
    expect(note).to_be_visible()
    note.hover()
    expect(note).to_be_visible()
    page.mouse.move(0, 0)
    expect(note).to_be_hidden()
    word.focus()
    expect(note).to_be_visible()
    assert word.get_attribute("aria-describedby") == note.get_attribute("id")
    assert_accessible(page)
    page.keyboard.press("Escape")
    expect(note).to_be_hidden()


def test_on_a_phone_a_touch_explains_it_within_the_page(page_of):
    """At the right edge, too; a touch elsewhere hides it."""
    page = page_of("health", width=PHONE)
    for word in page.locator(".figure .term").all():
        word.tap()
        note = word.get_by_role("tooltip")
        expect(note).to_be_visible()
        box = note.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= PHONE
    page.get_by_role("heading", name="Workers").tap()
    expect(page.locator(".explanation:popover-open")).to_have_count(0)


def test_in_a_window_escape_first_hides_the_explanation(page_of):
    page = page_of("facts")
    page.get_by_test_id("bar").first.click()
    word = page.get_by_test_id("fact").locator(".term").filter(has_text="Confidence")
    word.focus()
    expect(word.get_by_role("tooltip")).to_be_visible()
    page.keyboard.press("Escape")
    expect(word.get_by_role("tooltip")).to_be_hidden()
    expect(page.get_by_test_id("fact")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("fact")).to_have_count(0)


def test_a_field_whose_name_is_explained_is_still_found_by_its_name(page_of):
    """The explanation is no part of a field's name, and a click on the name's word does not change the field."""
    page = page_of("facts")
    box = page.get_by_role("checkbox", name="superseded", exact=False)
    expect(box).to_be_checked()
    page.locator(".statuses .term").filter(has_text="superseded").click()
    expect(box).to_be_checked()
    expect(page.get_by_role("tooltip")).to_have_text("Another value took its place.")
