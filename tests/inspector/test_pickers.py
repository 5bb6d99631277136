"""Choosing a session among many: by title, date and length, with a search, by keyboard."""

import re
from datetime import date, timedelta

import pytest
from playwright.sync_api import expect

from tests.inspector.access import assert_accessible
from tests.inspector.browser import DESK, PHONE, assert_laid_out
from tests.inspector.memories import BUSY, READER, SAID_IN_ARABIC, TALKS

pytestmark = pytest.mark.xdist_group("browser")  # one worker has the browser, and makes each memory once


def options(page):
    return page.get_by_role("listbox", name="Words of its title, or a date").get_by_role("option")


@pytest.fixture
def picker(page_at, zones):
    """The field of somebody with many sessions."""
    page = page_at(zones, "timeline", BUSY)
    field = page.get_by_role("combobox", name="Session")
    expect(field).to_have_value(f"Notes on harbour {TALKS - 1}")  # the newest
    return page, field


def test_a_session_has_its_title_its_day_and_its_length(picker):
    """The newest first; only some of many are drawn, and all are reached."""
    page, field = picker
    field.click()
    found = options(page)
    newest = date(2024, 1, 1) + timedelta(days=TALKS - 1)
    expect(found.first).to_have_text(f"Notes on harbour {TALKS - 1}{newest} · 1 message")
    assert found.count() <= 100
    field.press("End")
    expect(found.last).to_contain_text("Notes on harbour 0")
    expect(found.last).to_have_attribute("aria-selected", "true")


@pytest.mark.parametrize("typed", ["BOAT", "buy which", "2024-05-17", "talk 137"])
def test_words_of_the_title_a_date_or_the_id_find_it(picker, typed):
    page, field = picker
    field.fill(typed)
    expect(options(page)).to_have_count(1)
    field.press("Enter")
    expect(field).to_have_value("Which boat to buy")
    expect(field).to_have_attribute("aria-expanded", "false")
    expect(page).to_have_url(re.compile(r"#/timeline/bea/talk%20137$"))


def test_by_keyboard_alone(picker):
    """Arrows open and move, the field says which one is meant, Escape leaves all as it was."""
    page, field = picker
    field.focus()
    field.press("ArrowDown")
    expect(field).to_have_attribute("aria-expanded", "true")
    field.press("ArrowDown")
    meant = page.locator(f'[id="{field.get_attribute("aria-activedescendant")}"]')
    expect(meant).to_contain_text(f"Notes on harbour {TALKS - 2}")
    field.press("Escape")
    expect(options(page)).to_have_count(0)
    expect(field).to_have_value(f"Notes on harbour {TALKS - 1}")
    field.fill("nothing of the kind")
    expect(options(page)).to_have_text("Nothing matches.")
    field.press("Enter")
    expect(field).to_have_value(f"Notes on harbour {TALKS - 1}")
    field.press("ArrowDown")
    field.press("ArrowDown")
    field.press("Enter")
    expect(field).to_have_value(f"Notes on harbour {TALKS - 2}")


@pytest.mark.parametrize("width", [DESK, PHONE])
def test_the_open_list_can_be_used_by_everybody(page_at, zones, width):
    """No serious finding of axe, nothing sticks out, and titles stand at the side from which they are read."""
    page = page_at(zones, "timeline", READER, width=width)
    field = page.get_by_role("combobox", name="Session")
    expect(field).to_have_value(SAID_IN_ARABIC)
    assert field.evaluate("field => getComputedStyle(field).direction") == "rtl"
    field.click()
    expect(options(page)).to_be_visible()
    assert options(page).locator("bdi").evaluate("one => getComputedStyle(one).direction") == "rtl"
    assert_accessible(page)
    assert_laid_out(page)


def test_a_title_that_has_the_words_as_they_were_typed_comes_first(picker):
    """Before sessions that have them somewhere, as in a date."""
    page, field = picker
    field.fill("harbour 12")
    expect(options(page).first).to_contain_text("Notes on harbour 12")
    expect(options(page).first).not_to_contain_text("harbour 120")
    assert options(page).count() > 20
