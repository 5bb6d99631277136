"""The same over PostgreSQL: every screen shows what is in it."""

import re

import pytest
from playwright.sync_api import expect

from lamina.story import sessions
from tests.inspector.memories import USER
from tests.inspector.service import post, read
from tests.inspector.test_shell import SCREENS
from tests.waiting import wait_until

pytestmark = pytest.mark.xdist_group("browser")  # one worker has the browser, and makes each memory once

MOVING = "2025-08-14-utrecht"


@pytest.fixture
def address(chromium, database, served, tmp_path):
    return served(database.url, folder=tmp_path)


def look(page):
    """Every screen shows what there is."""
    for name in SCREENS.values():
        page.get_by_role("navigation").get_by_role("link", name=name).click()
        expect(page).to_have_title(f"{name} · Lamina")
        expect(page.locator("main .panel, main .you").first).to_be_visible()
        expect(page.locator("main [aria-busy=true]")).to_have_count(0)
        expect(page.locator("main [role=alert]")).to_have_count(0)
    page.get_by_role("navigation").get_by_role("link", name="Timeline").click()
    expect(page.locator("g.block.live").first).to_be_visible()
    page.get_by_role("navigation").get_by_role("link", name="Facts", exact=True).click()
    expect(page.get_by_test_id("bar").filter(has_text=re.compile("Utrecht")).first).to_be_visible()


def test_every_screen_shows_what_is_in_postgresql(page_at, address):
    """One session of the demo."""
    post(address, f"sessions/{MOVING}/messages", user_id=USER, messages=sessions()[MOVING])
    post(address, "settle")
    look(page_at(address, "timeline", USER))


@pytest.mark.full
def test_the_demo_is_loaded_into_postgresql(page_at, address):
    """With the button, all of it."""
    page_at(address, "start").get_by_role("button", name="Load the demo").click()
    wait_until(lambda: [one["status"] for one in read(address, "jobs")["items"]] == ["done"], "the demo is loaded")
    look(page_at(address, "timeline", USER))
