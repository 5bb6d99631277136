"""Days and times are those that were said, in the zone they were said in, wherever the page is looked at."""

from datetime import date

import pytest
from playwright.sync_api import expect

from tests.inspector.memories import TRAVELLER
from tests.inspector.test_facts import set_day

pytestmark = pytest.mark.xdist_group("browser")  # one worker has the browser, and makes each memory once

PLACES = ["America/Los_Angeles", pytest.param("UTC", marks=pytest.mark.full), "Asia/Tokyo"]


def bar(page, value):
    return page.get_by_test_id("bar").filter(has_text=value)


@pytest.mark.parametrize("timezone", PLACES)
def test_a_fact_has_the_day_on_which_it_was_said(page_at, zones, timezone):
    """Said at half past midnight or shortly before: neither UTC nor the zone of the browser moves the day."""
    page = page_at(zones, "facts", TRAVELLER, timezone=timezone)
    expect(bar(page, "Ghent")).to_contain_text("from 2025-07-26 until 2025-08-19")
    expect(bar(page, "Porto")).to_contain_text("from 2025-08-19 until now")  # yesterday, on tour
    expect(bar(page, "Acme")).to_contain_text("from 2023-03-01 until now")
    bar(page, "Ghent").click()
    window = page.get_by_test_id("fact")
    expect(window).to_contain_text("2025-07-26 \u2013 2025-08-19")
    expect(window).to_contain_text("2025-07-26 00:30 UTC+2, said in a conversation")
    expect(window.get_by_test_id("why").locator("time")).to_have_text("2025-07-26 00:30 UTC+2")


@pytest.mark.parametrize("timezone", PLACES)
def test_the_profile_of_a_day_ends_when_that_day_ended_there(page_at, zones, timezone):
    """What was said at midnight is not known the day before, and what was said late that day is; the zone is told."""
    page = page_at(zones, "facts", TRAVELLER, timezone=timezone)
    page.get_by_label("from the first day of any fact").check()
    profile = page.get_by_test_id("profile")
    known = profile.get_by_test_id("known")
    set_day(page, date(2025, 7, 25))
    expect(known).to_have_text(["identityemployer Acme"])
    set_day(page, date(2025, 7, 26))
    expect(profile.get_by_role("heading", name="The profile on 2025-07-26 (UTC+2)")).to_be_visible()
    expect(known).to_contain_text("location Ghent")
    set_day(page, date(2025, 8, 19))
    expect(known).to_contain_text("location Porto")
    expect(profile.get_by_test_id("later")).to_contain_text("green tea")
    set_day(page, date(2025, 8, 20))
    expect(profile.get_by_role("heading", name="The profile on 2025-08-20 (UTC-7)")).to_be_visible()
    expect(known.filter(has_text="green tea")).to_be_visible()


@pytest.mark.parametrize("timezone", PLACES)
def test_messages_and_hits_have_the_time_and_its_zone(page_at, zones, timezone):
    """On the timeline, its axis and in a search."""
    page = page_at(zones, "timeline", TRAVELLER, "on tour", timezone=timezone)
    expect(page.get_by_test_id("messages").locator("time").first).to_have_text("2025-08-20 23:40 UTC-7")
    expect(page.locator(".axis")).to_contain_text("23:40 UTC-7")
    page = page_at(zones, "search", TRAVELLER, timezone=timezone)
    page.get_by_test_id("query").fill("Where do I work?")
    page.get_by_test_id("search").click()
    expect(page.get_by_test_id("hit").filter(has_text="Acme").first).to_contain_text("2025-09-03")


def test_the_machine_s_own_clock_is_told_with_its_zone(page_at, zones):
    """When the figures were read is a time of the machine that shows them."""
    page = page_at(zones, "health", timezone="Asia/Kolkata")
    expect(page.get_by_test_id("as-read")).to_contain_text("UTC+5:30")


@pytest.mark.parametrize("timezone", PLACES)
def test_a_session_has_the_days_on_which_it_was_held(page_at, zones, timezone):
    """In the list, on the timeline, and where it is told what a person is known from."""
    page = page_at(zones, "timeline", TRAVELLER, "on tour", timezone=timezone)
    expect(page.locator("main")).to_contain_text("last 2025-08-20 23:45 UTC-7")
    page.get_by_role("combobox", name="Session").click()
    found = page.get_by_role("listbox").get_by_role("option")
    for number, days in enumerate(("at work2025-09-03", "on tour2025-08-20", "at home2025-07-26")):
        expect(found.nth(number)).to_contain_text(days)
    page = page_at(zones, "you", TRAVELLER, timezone=timezone)
    expect(page.get_by_test_id("person")).to_contain_text("26 July 2025 to 3 September 2025")


def test_when_the_service_did_something_is_told_in_the_zone_of_who_looks(page_at, zones):
    """Nobody said it; so it is the time on the clock at the wall."""
    page = page_at(zones, "health", timezone="Asia/Kolkata")
    expect(page.get_by_test_id("audit").locator("tbody td").first).to_contain_text("UTC+5:30")
