"""Whatever was said is shown as text."""

import pytest
from playwright.sync_api import expect

from tests.inspector.memories import TRICKS, TRICKSTER, TRICKY
from tests.inspector.test_shell import SCREENS

pytestmark = pytest.mark.xdist_group("browser")  # one worker has the browser, and makes each memory once


@pytest.mark.parametrize("screen", SCREENS)
def test_tricks_do_nothing_on_any_screen(page_at, hostile, screen):
    """No script runs, no element comes from a message, nothing is asked of anybody; direction signs are seen."""
    page = page_at(hostile, screen, TRICKSTER, TRICKY)
    expect(page.get_by_role("navigation").get_by_role("link", name=SCREENS[screen])).to_have_attribute(
        "aria-current", "page"
    )
    expect(page.locator("main .panel, main .you").first).to_be_visible()
    expect(page.locator("main [aria-busy=true], main .waiting")).to_have_count(0)
    assert page.title() == f"{SCREENS[screen]} · Lamina"
    assert page.locator("#injected, main img, main iframe, main script, main link, main style").count() == 0
    assert not page.evaluate("/[\\u202a-\\u202e\\u2066-\\u2069\\u200b]/.test(document.querySelector('main').innerText)")


def test_the_words_themselves_are_there(page_at, hostile):
    page = page_at(hostile, "timeline", TRICKSTER, TRICKY)
    log = page.get_by_test_id("messages").first
    expect(log).to_contain_text(TRICKS[0])
    expect(log).to_contain_text(TRICKS[2])
    log.evaluate("box => { box.scrollTop = 8 * 76 }")
    expect(log.locator(".unseen").first).to_contain_text("U+202E")
