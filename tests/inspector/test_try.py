"""The chat: talking, with memory forming live, and what the model saw under each answer."""

import re

import pytest
from playwright.sync_api import expect

from lamina.testing.llm_server import Fault, LlmServer
from tests.inspector.browser import PHONE, assert_laid_out
from tests.inspector.memories import USER
from tests.inspector.service import post, read, serving
from tests.waiting import wait_until

pytestmark = pytest.mark.xdist_group("browser")  # one worker has the browser, and makes each memory once


@pytest.fixture(scope="module")
def model(chromium, tmp_path_factory):
    """A model, and a server that lets it answer."""
    with (
        LlmServer(lambda asked: "You live in Porto." if "Porto" in asked.text else "I do not know.") as endpoint,
        serving(tmp_path_factory.mktemp("model") / "model.db", LAMINA_PROXY_BASE_URL=endpoint.url) as address,
    ):
        yield endpoint, address


def messages_of(address, user):
    """How many there are in each session."""
    return [one["counters"]["messages"] for one in read(address, "sessions", user_id=user)["items"]]


def say(page, words):
    page.get_by_label("Your message").fill(words)
    page.get_by_role("button", name="Say it").click()


def test_an_echo_answers_and_memory_forms_live(page_at, empty):
    """Without a model: what is said is kept, facts appear by events; the echo is marked, and not remembered."""
    page = page_at(empty, "try")
    expect(page.get_by_test_id("live").get_by_text("listening", exact=True)).to_be_visible()
    page.get_by_text("Have a model answer").click()
    expect(page.get_by_test_id("no-model")).to_contain_text("LAMINA_PROXY_BASE_URL")
    say(page, "I'm Alex. I live in Porto and my favourite drink is green tea.")
    expect(page.get_by_test_id("said")).to_contain_text("A model would have seen nothing yet")
    expect(page.get_by_test_id("said").locator(".echo .badge")).to_have_text("echo, no model")
    expect(page.get_by_test_id("known")).to_contain_text("Porto")
    page.get_by_label("Your message").fill("Where do I live?")
    page.get_by_label("Your message").press("Enter")
    expect(page.get_by_test_id("said")).to_contain_text("1 recent message")
    assert messages_of(empty, "visitor") == [2]


def test_a_configured_model_answers_piece_by_piece_with_memory(page_at, model):
    """Through the proxy, streamed; what was said in another session is in what the model is asked."""
    _, address = model
    page = page_at(address, "try", "alex")
    expect(page.get_by_test_id("no-model")).to_have_count(0)
    page.get_by_label("Model").fill("any")
    say(page, "I'm Alex. I live in Porto.")
    answer = page.get_by_test_id("said").locator("p.assistant:not(.coming)")
    expect(answer).to_have_text("You live in Porto.")
    expect(page.get_by_test_id("known")).to_contain_text("Porto")
    page.get_by_role("button", name="New session").click()
    say(page, "Where do I live?")
    expect(answer).to_have_text("You live in Porto.")
    assert len(messages_of(address, "alex")) == 2


def test_under_an_answer_is_what_the_model_saw(page_at, model):
    """Folded; open, each piece with its tokens and why, the very words, and the source one click away."""
    endpoint, address = model
    page = page_at(address, "try", "cleo")
    page.get_by_label("Model").fill("any")
    say(page, "I'm Cleo. I live in Porto.")
    expect(page.get_by_test_id("known")).to_contain_text("Porto")
    page.get_by_role("button", name="New session").click()
    say(page, "Where do I live?")
    seen = page.get_by_test_id("seen")
    expect(seen.locator("summary")).to_contain_text(re.compile(r"What the model saw: \d+ fact"))
    expect(seen.get_by_test_id("pieces")).to_have_count(0)
    seen.locator("summary").first.click()
    expect(seen.get_by_test_id("pieces")).to_contain_text("Porto")
    expect(seen).not_to_contain_text("memory changed in between")
    seen.get_by_text("Word for word").click()
    shown = seen.locator(".sent pre").all_inner_texts()
    (fact,) = (line for text in shown for line in text.splitlines() if "Porto" in line and "location" in line)
    assert fact.strip() in endpoint.journal[-1].text
    seen.get_by_test_id("pieces").get_by_role("button", name="Porto").first.click()
    expect(page.get_by_test_id("source")).to_contain_text("I live in Porto.")


def test_a_fold_that_is_opened_comes_into_sight(page_at, model):
    """Its line stands at the top of what was said, where before it was the last one at the bottom."""
    _, address = model
    page = page_at(address, "try", "edith", width=PHONE)
    page.get_by_label("Model").fill("any")
    say(
        page, "I'm Edith. I work at Tagus Freight. I'm allergic to peanuts. My dog is called Rex. I prefer tea. I'm 44."
    )
    say(
        page,
        "My sister Ann lives in Ghent. I speak Dutch. I'm vegetarian. My goal is to run a marathon. I live in Porto.",
    )
    expect(page.get_by_test_id("known")).to_contain_text("Porto")
    page.get_by_role("button", name="New session").click()
    for number in range(1, 4):
        say(page, f"Where do I live, and {number} more things that you know?")
        expect(page.get_by_test_id("seen")).to_have_count(number)
    fold = page.get_by_test_id("seen").last
    fold.locator("summary").first.click()
    expect(fold.get_by_test_id("pieces")).to_be_visible()
    expect(fold.get_by_test_id("pieces").locator("li").first).to_be_in_viewport()
    top = "element => element.getBoundingClientRect().top"
    wait_until(
        lambda: 0 <= fold.evaluate(top) - page.get_by_test_id("said").evaluate(top) < 40,
        "the fold is at the top of what was said",
    )


@pytest.mark.parametrize("screen", ["try", "start"])
@pytest.mark.parametrize(
    ("settings", "says"),
    [
        pytest.param({}, "goes into the memory of default.", id="default"),
        pytest.param({"LAMINA_PROXY_DEFAULT_USER": "alex"}, "goes into the memory of alex.", id="named"),
        pytest.param({"LAMINA_PROXY_DEFAULT_USER": "off"}, "is not remembered: name its user.", id="off"),
    ],
)
def test_the_page_says_whose_memory_is_meant_where_nobody_is_named(page_at, served, tmp_path, screen, settings, says):
    """With the base_url of OpenAI clients, to copy."""
    address = served(tmp_path / "proxied.db", **settings)
    page = page_at(address, screen)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    told = page.get_by_test_id("proxy")
    expect(told).to_contain_text(f"A request that names nobody {says}")
    told.get_by_role("button", name="Copy").click()
    expect(told).to_contain_text("copied")
    assert page.evaluate("navigator.clipboard.readText()") == f"{address}/openai/v1"


def test_words_that_were_not_answered_are_not_lost(page_at, model, monkeypatch):
    """An endpoint that hangs up: the reason is shown, and the words are still in the box."""
    endpoint, address = model
    monkeypatch.setattr(endpoint, "brain", lambda _: Fault(ends="hung up"))
    page = page_at(address, "try", "bea", expected=["status of 50"])
    page.get_by_label("Model").fill("any")
    say(page, "I live in Porto.")
    expect(page.get_by_test_id("said").get_by_role("alert")).to_contain_text("No answer")
    expect(page.get_by_label("Your message")).to_have_value("I live in Porto.")


def test_an_answer_that_does_not_come_is_waited_for_and_can_be_stopped(page_at, model, monkeypatch):
    endpoint, address = model
    monkeypatch.setattr(endpoint, "brain", lambda _: Fault(seconds=3600))
    page = page_at(address, "try", "dan")
    page.get_by_label("Model").fill("any")
    say(page, "Are you there?")
    expect(page.get_by_test_id("said")).to_contain_text("Waiting for the answer")
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_test_id("said").get_by_role("alert")).to_contain_text("You stopped it.")
    expect(page.get_by_label("Your message")).to_have_value("Are you there?")


def test_what_is_suggested_overwrites_nobodys_facts(page_at, demo, empty):
    """Somebody who has a memory is only asked; who talks without a name is a user of their own."""
    page = page_at(demo, "try", USER)
    expect(page.get_by_test_id("as-whom")).to_contain_text("added to the memory of mara")
    suggested = page.get_by_test_id("suggestions").get_by_role("button")
    expect(suggested).to_have_count(3)
    assert all(text.endswith("?") for text in suggested.all_inner_texts())
    page.get_by_role("button", name="Talk as somebody new").click()
    expect(page.get_by_label("Talk as")).to_have_value("visitor")
    expect(suggested.first).to_contain_text("I'm Alex")
    other = page_at(empty, "try")
    other.get_by_test_id("suggestions").get_by_role("button").first.click()
    expect(other.get_by_label("Your message")).to_have_value(re.compile("^I'm Alex"))


LONG = "We drove from Lisbon to Utrecht in three days, with the cat on the back seat and no heating."


@pytest.mark.parametrize(
    ("words", "title"),
    [(" Hi,  I'm Noor. ", "Hi, I'm Noor."), (LONG, "We drove from Lisbon to Utrecht in three days, with the cat…")],
)
def test_a_chat_is_named_by_how_it_began_and_has_the_time_of_who_talks(page_at, empty, words, title):
    """The whole beginning, or as many words as fit; the zone is the one of the browser."""
    page = page_at(empty, "try", "noor", timezone="Asia/Tokyo")
    say(page, words)
    expect(page.get_by_test_id("seen")).to_have_count(1)
    say(page, "And one thing more.")
    expect(page.get_by_test_id("seen")).to_have_count(2)
    (session,) = read(empty, "sessions", user_id="noor")["items"]
    assert session["title"] == title
    assert session["started_at"].endswith("+09:00")
    said = read(empty, f"sessions/{session['id']}/messages")["items"]
    assert [one["created_at"][-6:] for one in said] == ["+09:00", "+09:00"]


def test_a_piece_that_the_model_saw_is_told_by_its_words(page_at, empty):
    """Recent messages and passages by what they say, with their place beside it."""
    page = page_at(empty, "try", "noor")
    say(page, "The ferry leaves at noon.")
    expect(page.get_by_test_id("seen")).to_have_count(1)
    say(page, "When does it leave?")
    expect(page.get_by_test_id("seen")).to_have_count(2)
    page.get_by_test_id("seen").last.locator("summary").first.click()
    recent = page.get_by_test_id("pieces").get_by_label("recent")
    expect(recent.get_by_role("button", name="user: The ferry leaves at noon.")).to_be_visible()
    expect(recent.locator(".reason")).to_contain_text("message 1, ")


def test_what_is_asked_is_asked_as_people_ask(page_at, empty):
    post(empty, "sessions/s1/messages", user_id="noor", messages="I live in Porto. I work at Acme.")
    post(empty, "settle")
    page = page_at(empty, "try", "noor")
    asked = page.get_by_test_id("suggestions")
    expect(asked).to_contain_text("Where do I live?")
    expect(asked).to_contain_text("Where do I work?")


def test_a_chat_stays_where_it_is_while_the_service_is_away(page_at, tmp_path):
    """What was said and what is in the box are not lost; it is told what is wrong."""
    with serving(tmp_path / "away.db") as address:
        page = page_at(address, "try", expected=["Failed to load", "ERR_", "status of"])
        say(page, "The ferry leaves at noon.")
        expect(page.get_by_test_id("seen")).to_have_count(1)
    say(page, "When does it leave?")
    expect(page.get_by_test_id("said").get_by_role("alert")).to_contain_text("does not answer")
    expect(page.get_by_test_id("said")).to_contain_text("The ferry leaves at noon.")
    expect(page.get_by_label("Your message")).to_have_value("When does it leave?")
    assert_laid_out(page)
