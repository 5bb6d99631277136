"""The shell around the screens: who is let in, what is chosen, how it is reached."""

import re

import pytest
from playwright.sync_api import expect

from tests.inspector.browser import PHONE, asked_for
from tests.inspector.memories import ENDLESS, TROUBLED, USER
from tests.inspector.service import serving

pytestmark = pytest.mark.xdist_group("browser")  # one worker has the browser, and makes each memory once

SCREENS = {
    "timeline": "Timeline",
    "you": "You",
    "context": "Context",
    "facts": "Facts",
    "search": "Search",
    "health": "Health",
    "try": "Chat",
}


def come_in(page, key):
    page.get_by_role("textbox", name="Key").fill(key)
    page.get_by_role("button", name="Use this key").click()


def test_every_screen_is_reached_from_every_other(page_of):
    page = page_of("timeline")
    for name in (*list(SCREENS.values())[1:], "Timeline"):
        page.get_by_role("navigation").get_by_role("link", name=name).click()
        expect(page.get_by_role("navigation").get_by_role("link", name=name)).to_have_attribute("aria-current", "page")
        expect(page).to_have_title(f"{name} · Lamina")


def test_another_user_and_session_are_chosen_and_stay_in_the_address(page_of):
    """The fragment has them, so a link leads back; the server never sees a fragment."""
    page = page_of("timeline")
    page.get_by_role("combobox", name="User").select_option(ENDLESS)
    session = page.get_by_role("combobox", name="Session")
    expect(session).to_have_attribute("data-value", ENDLESS)
    page.get_by_role("combobox", name="User").select_option(USER)
    expect(session).not_to_have_attribute("data-value", ENDLESS)
    session.click()
    page.get_by_role("option", name="Launch week").click()
    expect(page).to_have_url(re.compile("#/timeline/mara/2025-09-30-launch-week$"))
    page.reload()
    expect(session).to_have_attribute("data-value", "2025-09-30-launch-week")


def test_by_keyboard_alone(page_of):
    """The first stop leads past the navigation; links are followed with Enter."""
    page = page_of("timeline")
    expect(page.get_by_role("combobox", name="User")).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Skip to the screen")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("combobox", name="User")).to_be_focused()
    page.get_by_role("navigation").get_by_role("link", name="Health").focus()
    page.keyboard.press("Enter")
    expect(page).to_have_title("Health · Lamina")


def test_light_dark_or_as_the_machine_has_it(page_of):
    page = page_of("health", scheme="dark")
    dark = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    page.get_by_role("button", name="Theme: auto").click()
    expect(page.get_by_role("button", name="Theme: light")).to_be_visible()
    page.wait_for_function("dark => getComputedStyle(document.documentElement).backgroundColor !== dark", arg=dark)
    page.reload()
    expect(page.get_by_role("button", name="Theme: light")).to_be_visible()


@pytest.mark.parametrize("screen", ["health", "try"])
def test_a_screen_that_is_of_use_without_users_says_what_to_do(page_at, nothing, screen):
    page = page_at(nothing, screen, width=PHONE)
    expect(page.locator("main .empty").first).to_be_visible()
    expect(page.locator("main [role=alert]")).to_have_count(0)


def test_what_is_not_there_is_told(page_at, demo):
    page = page_at(demo, "timeline", USER, "no such session", expected=["404"])
    expect(page.get_by_role("alert").first).to_contain_text("no such session")


def test_without_a_key_nothing_is_shown_and_a_wrong_one_is_told(page_at, read_only):
    """A key is kept in this tab only: not in the address, not in what stays."""
    address, key = read_only
    page = page_at(address, "timeline", TROUBLED, expected=["401"])
    come_in(page, "lam_wrong")
    expect(page.locator("main")).to_contain_text("unknown, revoked or expired")
    assert not page.get_by_text("Ines").count()
    come_in(page, key)
    expect(page.get_by_role("combobox", name="User")).to_have_value(TROUBLED)
    expect(page.get_by_test_id("messages")).to_contain_text("My name is Ines.")
    assert key not in page.url
    assert key not in page.evaluate("JSON.stringify(localStorage) + document.cookie")
    page.get_by_role("button", name="default · read").click()
    page.get_by_role("button", name="Forget the key").click()
    expect(page.get_by_role("button", name="Use this key")).to_be_visible()


def test_a_read_key_may_look_and_not_touch(page_at, read_only):
    """What it may not do is switched off; every screen can be looked at."""
    address, key = read_only
    page = page_at(address, "try", expected=["401"])
    come_in(page, key)
    expect(page.get_by_label("Your message")).to_be_disabled()
    for screen in SCREENS.values():
        page.get_by_role("navigation").get_by_role("link", name=screen).click()
        expect(page).to_have_title(f"{screen} · Lamina")
        expect(page.locator("main [aria-busy=true]")).to_have_count(0)
        expect(page.locator("main [role=alert]")).to_have_count(0)


def test_a_service_that_went_away_is_told(page_at, tmp_path):
    with serving(tmp_path / "gone.db") as address:
        page = page_at(address, "health", expected=["Failed to load", "ERR_", "status of"])
        expect(page.get_by_test_id("listening")).to_contain_text("listens")
        expect(page.locator("main [aria-busy=true]")).to_have_count(0)
    page.get_by_role("navigation").get_by_role("link", name="Facts", exact=True).click()
    expect(page.get_by_role("alert").first).to_contain_text("does not answer")


def test_words_are_in_no_address_and_in_no_log(page_at, tmp_path):
    """What is asked goes in bodies; the log has who did what, never with what."""
    with serving(tmp_path / "quiet.db") as address:
        page = page_at(address, "try")
        page.get_by_label("Your message").fill("The kingfisher sleeps at noon.")
        page.get_by_role("button", name="Say it").click()
        expect(page.get_by_test_id("said")).to_contain_text("Echo")
        page.get_by_role("navigation").get_by_role("link", name="Search").click()
        page.get_by_role("searchbox").or_(page.get_by_label("Query")).first.fill("kingfisher")
        page.keyboard.press("Enter")
        expect(page.locator("main")).to_contain_text("kingfisher sleeps")
        assert not [address for address in asked_for(page) if "kingfisher" in address]
        assert "kingfisher" not in page.url
        assert "kingfisher" not in page.evaluate("JSON.stringify([localStorage, sessionStorage])")
        page.context.close()
    assert "kingfisher" not in (tmp_path / "quiet.db.log").read_text("utf-8")


def test_all_screens_are_in_one_line_on_a_phone(page_at, nothing):
    """Whichever is shown, nothing moves."""
    page = page_at(nothing, "health", width=PHONE)
    lines = page.get_by_role("navigation").locator("a").evaluate_all("all => all.map(one => one.offsetTop)")
    assert len(lines) == len(SCREENS)
    assert len(set(lines)) == 1


def test_without_a_key_the_page_says_so(page_at, nothing):
    page = page_at(nothing, "health")
    page.get_by_role("button", name="No key").click()
    expect(page.get_by_role("dialog")).to_contain_text("No key is needed")
