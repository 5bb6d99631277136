"""The same over PostgreSQL: the demo is loaded, and every screen shows it."""

import re

import pytest
from playwright.sync_api import expect

from tests.inspector.conftest import serving
from tests.inspector.memories import USER
from tests.inspector.test_shell import SCREENS

pytestmark = pytest.mark.xdist_group("browser")  # one worker has the browser, and makes each memory once


@pytest.fixture
def address(database, tmp_path):
    with serving(database.url, folder=tmp_path) as served:
        yield served


def test_every_screen_shows_what_is_in_postgresql(page_at, address):
    page = page_at(address, "try")
    page.get_by_role("button", name="Load the demo").click()
    expect(page.get_by_label("Talk as")).to_have_value(USER, timeout=60_000)
    page.get_by_role("button", name="Fold what is due now").click()
    expect(page.get_by_role("button", name="Fold what is due now")).to_be_enabled(timeout=120_000)
    for name in SCREENS.values():
        page.get_by_role("navigation").get_by_role("link", name=name).click()
        expect(page).to_have_title(f"{name} · Lamina")
        expect(page.locator("main .panel").first).to_be_visible()
        expect(page.locator("main [aria-busy=true]")).to_have_count(0)
        expect(page.locator("main [role=alert]")).to_have_count(0)
    page.get_by_role("navigation").get_by_role("link", name="Core sample").click()
    expect(page.locator("g.block.live").first).to_be_visible()
    page.get_by_role("navigation").get_by_role("link", name="Fact ledger").click()
    expect(page.get_by_test_id("bar").filter(has_text=re.compile("Utrecht")).first).to_be_visible()
