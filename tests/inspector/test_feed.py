"""The live feed: what happens to a memory, in words."""

import pytest
from playwright.sync_api import expect

from tests.inspector.service import post, read

pytestmark = pytest.mark.xdist_group("browser")  # one worker has the browser, and makes each memory once


def say(address, *texts, session="s1"):
    """Said by ada, and worked up."""
    for text in texts:
        post(address, f"sessions/{session}/messages", user_id="ada", messages={"role": "user", "content": text})
    post(address, "settle", timeout=60)


@pytest.fixture
def feed(page_at, empty):
    """What the page of a user hears."""
    page = page_at(empty, "try", "ada")
    expect(page.get_by_test_id("live").get_by_text("listening", exact=True)).to_be_visible()
    return page.get_by_test_id("live")


def test_a_new_value_is_told_with_the_one_before_and_the_quote(feed, empty):
    say(empty, "I live in Ghent.")
    learnt = feed.get_by_test_id("happened").filter(has_text="learnt")
    expect(learnt).to_contain_text("location: Ghent")
    expect(learnt.locator("blockquote")).to_contain_text("I live in Ghent")
    say(empty, "I moved to Porto.")
    changed = feed.get_by_test_id("happened").filter(has_text="changed")
    expect(changed).to_contain_text("location: Porto, before: Ghent")
    expect(changed.locator("blockquote")).to_contain_text("I moved to Porto")
    expect(feed.get_by_test_id("happened").filter(has_text="location: Porto")).to_have_count(1)


def test_equal_things_are_told_once_with_their_number(feed, empty):
    """The same sentence twice more, each looked at by itself: one entry that counts."""
    say(empty, "I live in Porto.")
    expect(feed.get_by_test_id("happened").filter(has_text="learnt")).to_have_count(1)
    for number in (1, 2):
        say(empty, "I live in Porto.")
        again = feed.get_by_test_id("happened").filter(has_text="said again")
        expect(again).to_have_count(1)
        expect(again.locator(".times")).to_have_text([] if number == 1 else [f" \u00d7{number}"])
    expect(feed.get_by_test_id("happened").filter(has_text="to s1").locator(".times")).to_have_text(" \u00d73")


def test_many_things_at_once_are_counted(feed, empty):
    """Sessions that are imported together do not flood it."""
    for number in range(12):
        post(
            empty,
            f"sessions/talk{number}/messages",
            user_id="ada",
            messages=[{"role": "user", "content": f"My favourite dish number {number} is dish{number}."}] * 2,
        )
    expect(feed.get_by_test_id("happened").filter(has_text="added").first).to_be_visible()
    post(empty, "settle", timeout=60)
    assert feed.get_by_test_id("happened").count() < 50
    added = sum(one["counters"]["messages"] for one in read(empty, "sessions", user_id="ada")["items"])
    assert added == 24


def test_forgetting_tells_how_much_and_clears_the_words(feed, empty):
    """What was told before may have the words; afterwards only the number of what went is there."""
    say(empty, "I live in Porto.", "It is raining.")
    expect(feed).to_contain_text("location: Porto")
    post(empty, "forget", text="Porto", user_id="ada")
    expect(feed.get_by_test_id("happened").first).to_contain_text("forgotten")
    expect(feed.get_by_test_id("happened").filter(has_text="forgotten")).to_contain_text("1 message, 1 fact")
    expect(feed).not_to_contain_text("Porto")
