"""You, as Lamina knows you: one person over time, with the sources one click away."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.inspector.browser import PHONE, assert_laid_out
from tests.inspector.memories import USER
from tests.inspector.service import post, read

pytestmark = pytest.mark.xdist_group("browser")  # one worker has the browser, and makes each memory once


def group(page, name):
    return page.get_by_role("region", name=name)


def test_a_person_is_told_by_what_is_known_of_them(page_of):
    """By name, with what it is known from; each line in the words in which it was said."""
    page = page_of("you")
    head = page.get_by_test_id("person")
    expect(head.get_by_role("heading", name="Mara")).to_be_visible()
    expect(head).to_contain_text("From 758 messages in 14 conversations, 3 March 2025 to 27 October 2025.")
    expect(group(page, "Who you are")).to_contain_text("Utrecht")
    expect(group(page, "Who you are")).to_contain_text("We've lived in Utrecht since 26 July")
    expect(group(page, "What to respect")).to_contain_text("Allergic to penicillin")
    expect(group(page, "Moments")).to_contain_text("First paying customer is in")


def test_a_change_is_told_with_its_days_and_leads_to_its_source(page_of):
    """Before and after; a value opens the message that says it, and its session is one click away."""
    page = page_of("you")
    moved = page.get_by_test_id("change").filter(has_text="Location")
    expect(moved.locator("ol > li")).to_have_text(
        [re.compile("Lisbon.*3 Mar 2025"), re.compile("Utrecht.*26 Jul 2025")]
    )
    moved.get_by_role("button", name="Lisbon").click()
    window = page.get_by_test_id("fact")
    expect(window.get_by_test_id("why").locator("mark")).to_contain_text("we live in Lisbon")
    page.keyboard.press("Escape")
    expect(window).to_have_count(0)
    moved.get_by_role("link").click()
    expect(page).to_have_url(re.compile("#/timeline/mara/2025-08-14-utrecht$"))


def test_a_quote_opens_its_message_between_its_neighbours(page_at, empty):
    """A short answer is understood by what was asked before; the first and the last message have one neighbour."""
    said = [
        {"role": "user", "content": "My name is Dara."},
        {"role": "assistant", "content": "Hello Dara. " + "Tell me more. " * 60 + "Where do you live?"},
        {"role": "user", "content": "I live in Ghent."},
    ]
    post(empty, "sessions/s1/messages", user_id="dara", messages=said)
    post(empty, "settle")
    page = page_at(empty, "you", "dara")
    page.get_by_test_id("known-line").filter(has_text="Ghent").locator("button.quote").click()
    shown = page.get_by_test_id("source").get_by_test_id("nearby").locator(".message")
    expect(shown).to_have_count(2)
    expect(shown.nth(0)).to_contain_text("Hello Dara.")
    expect(shown.nth(0)).to_contain_text("…")
    expect(shown.nth(1).locator("mark")).to_contain_text("live in Ghent")
    page.keyboard.press("Escape")
    page.get_by_test_id("known-line").filter(has_text="Dara").locator("button.quote").first.click()
    expect(shown).to_have_count(2)
    expect(shown.nth(0).locator("mark")).to_contain_text("Dara")


def test_a_moment_opens_the_messages_it_was_read_from(page_of):
    page = page_of("you")
    page.get_by_role("button", name="First paying customer is in").click()
    expect(page.get_by_test_id("source")).to_contain_text("task_completed")


def test_an_earlier_day_shows_what_was_true_then(page_of):
    """By the slider, with the keyboard alone: what came later is not on the page."""
    page = page_of("you", width=PHONE)
    expect(group(page, "Who you are")).to_contain_text("Utrecht")
    slider = page.get_by_test_id("you-as-of")
    slider.focus()
    page.keyboard.press("Home")
    expect(page.get_by_test_id("you-day")).to_have_text("on 3 March 2025")
    expect(group(page, "Who you are")).to_contain_text("Lisbon")
    expect(group(page, "Who you are")).not_to_contain_text("Utrecht")
    expect(page.get_by_test_id("changes")).to_have_count(0)
    page.keyboard.press("End")
    expect(page.get_by_test_id("you-day")).to_have_text("today")
    expect(group(page, "Who you are")).to_contain_text("Utrecht")


def test_words_and_kinds_narrow_the_page(page_of):
    page = page_of("you")
    page.get_by_role("searchbox", name="Find on this page").fill("penicillin")
    expect(page.get_by_test_id("known-line")).to_have_count(1)
    expect(page.get_by_test_id("moments")).to_have_count(0)
    page.get_by_role("searchbox", name="Find on this page").fill("no such words")
    expect(page.get_by_text("Nothing here has these words.")).to_be_visible()
    page.get_by_role("searchbox", name="Find on this page").fill("")
    page.get_by_role("button", name="How it changed").click()
    expect(page.get_by_test_id("changes")).to_be_visible()
    expect(page.get_by_test_id("group")).to_have_count(0)
    page.get_by_role("button", name="Everything").click()
    expect(page.get_by_test_id("group").first).to_be_visible()


def test_a_kind_shows_little_among_all_and_everything_by_itself(page_of):
    """Who looks at all kinds sees the surest of each, keyed facts first; one kind is shown whole."""
    page = page_of("you")
    own = group(page, "Who you are")
    expect(own.get_by_test_id("known-line").first).to_contain_text("Name")
    expect(own.get_by_test_id("known-line")).to_have_count(5)
    chosen = page.get_by_role("button", name="Who you are")
    number = int(chosen.locator("small").inner_text())
    assert number > 5
    chosen.click()
    expect(own.get_by_test_id("known-line")).to_have_count(number)


def test_what_is_wrong_is_corrected_and_what_should_go_is_forgotten(page_at, empty):
    """From the line itself; the page then tells it anew."""
    post(empty, "sessions/s1/messages", user_id="dara", messages="I live in Ghent. I am allergic to penicillin.")
    post(empty, "settle")
    page = page_at(empty, "you", "dara")
    group(page, "Who you are").get_by_role("button", name="Location Ghent").click()
    window = page.get_by_test_id("fact")
    window.get_by_role("button", name="Correct").click()
    window.get_by_label("The right value").fill("Porto")
    window.get_by_role("button", name="Save as a new version").click()
    expect(window.get_by_test_id("history")).to_contain_text("2 values")
    page.keyboard.press("Escape")
    expect(group(page, "Who you are")).to_contain_text("Porto")
    group(page, "What to respect").get_by_role("button", name="Allergic to penicillin", exact=True).click()
    page.get_by_test_id("fact").get_by_role("button", name="Forget", exact=True).click()
    page.get_by_role("button", name="Forget for good").click()
    page.get_by_role("button", name="Done").click()
    expect(group(page, "What to respect")).to_have_count(0)
    assert "penicillin" not in json.dumps(read(empty, "users/dara/facts", statuses=["active", "superseded"]))


def test_everything_of_a_person_is_exported_as_a_file(page_of):
    page = page_of("you")
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    assert download.value.suggested_filename == f"lamina-{USER}.jsonl"
    lines = [json.loads(line) for line in Path(download.value.path()).read_text("utf-8").splitlines()]
    assert sum(line.get("type") == "message" for line in lines) == 758


def test_what_is_said_meanwhile_appears(page_at, empty):
    """A person of whom nothing is known is told so, with what to do; the page fills by itself."""
    post(empty, "sessions/s1/messages", user_id="dara", messages="Hello.")
    page = page_at(empty, "you", "dara")
    expect(page.locator("main .empty")).to_contain_text("Nothing is known yet")
    post(empty, "sessions/s1/messages", user_id="dara", messages="My name is Dara. I live in Ghent.")
    expect(page.get_by_test_id("person").get_by_role("heading", name="Dara")).to_be_visible()
    expect(group(page, "Who you are")).to_contain_text("Ghent")


def test_people_have_groups_of_their_own(page_at, empty):
    """What is known of others stands under their name, not among what is known of the user."""
    said = "I live in Ghent. My sister Lena is allergic to peanuts. My brother is a nurse."
    post(empty, "sessions/s2/messages", user_id="eda", messages=said)
    page = page_at(empty, "you", "eda")
    expect(group(page, "Lena")).to_contain_text("allergic to peanuts")
    expect(group(page, "Brother")).to_contain_text("nurse")
    expect(group(page, "Who you are")).not_to_contain_text("nurse")
    page = page_at(empty, "facts", "eda")
    page.get_by_test_id("about").select_option("Lena")
    expect(page.locator("main")).to_contain_text("1 of 4 facts")


@pytest.mark.parametrize("screen", ["you", "facts"])
def test_what_belongs_to_a_project_is_shown_too(page_at, empty, screen):
    """A page of a person has everything that is known of them, whichever project it belongs to."""
    messages = [{"role": "user", "content": "We decided to use PostgreSQL for the backend. I live in Ghent."}]
    post(empty, f"sessions/{screen}-atlas/messages", user_id=f"dina-{screen}", project_id="atlas", messages=messages)
    post(empty, "settle")
    page = page_at(empty, screen, f"dina-{screen}")
    expect(page.locator("main")).to_contain_text("PostgreSQL")
    expect(page.locator("main")).to_contain_text("Ghent")


def test_what_is_true_now_comes_last_among_the_values_of_a_change(page_at, empty):
    """Also where it began before the older value was told: then no day of the older one is known."""
    for words in ("I live in Ghent.", "I moved to Porto last week."):
        post(empty, "sessions/s1/messages", user_id="dara", messages=words)
    post(empty, "settle")
    page = page_at(empty, "you", "dara")
    values = page.get_by_test_id("change").locator("ol > li")
    expect(values).to_have_text([re.compile("^Ghent.*before$"), re.compile("^Porto.*20")])
    expect(values.nth(1)).to_have_class("now")
    expect(page.get_by_test_id("person")).to_contain_text("location Porto")


def test_a_relative_is_told_under_a_name_as_other_values_are(page_at, empty):
    """In the list and at the top; what has no day of its own was said on a day."""
    post(empty, "sessions/s1/messages", user_id="dara", messages="My sister Mia is getting married on 12 June.")
    post(empty, "settle")
    page = page_at(empty, "you", "dara")
    expect(group(page, "Who you are").get_by_role("button", name="Sister Mia", exact=True)).to_be_visible()
    expect(group(page, "Who you are").locator(".origin")).to_have_text(re.compile("said \\d+ "))
    expect(page.get_by_test_id("person").locator(".brief")).to_have_text("sister Mia")


def test_a_name_that_is_longer_than_a_line_keeps_the_page_in_shape(page_at, empty):
    name = "Featherstonehaugh" * 12
    for key, value in (("name", name), ("location", name)):
        post(empty, "users/dara/facts", key=key, text=value, category="identity")
    page = page_at(empty, "you", "dara", width=PHONE)
    expect(page.get_by_test_id("person").get_by_role("heading")).to_contain_text("Featherstonehaugh")
    expect(page.get_by_test_id("person")).not_to_contain_text(name)
    expect(group(page, "Who you are").get_by_role("button", name=f"Name {name}"[:60])).to_be_visible()
    assert_laid_out(page)
