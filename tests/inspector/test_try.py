"""Try it: talking, with memory forming live."""

import pytest
from playwright.sync_api import expect

from lamina.testing.llm_server import Fault, LlmServer
from tests.inspector.memories import USER
from tests.inspector.service import read, serving

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
    """Without a model: what is said is kept, facts appear by events, and the echo tells what a model would see."""
    page = page_at(empty, "try")
    expect(page.get_by_test_id("live").get_by_text("listening", exact=True)).to_be_visible()
    say(page, "I'm Alex. I live in Porto and my favourite drink is green tea.")
    expect(page.get_by_test_id("said")).to_contain_text("A model would have seen nothing yet")
    expect(page.get_by_test_id("heard")).to_contain_text("added to try-")
    expect(page.get_by_test_id("known")).to_contain_text("Porto")
    page.get_by_label("Your message").fill("Where do I live?")
    page.get_by_label("Your message").press("Enter")
    expect(page.get_by_test_id("said")).to_contain_text("2 recent messages")
    assert messages_of(empty, "visitor") == [4]


def test_a_configured_model_answers_piece_by_piece_with_memory(page_at, model):
    """Through the proxy, streamed; what was said in another session is in what the model is asked."""
    _, address = model
    page = page_at(address, "try", "alex")
    page.get_by_label("Model").fill("any")
    say(page, "I'm Alex. I live in Porto.")
    expect(page.get_by_test_id("said").locator("p.assistant:not(.coming)")).to_have_text("You live in Porto.")
    expect(page.get_by_test_id("known")).to_contain_text("Porto")
    page.get_by_role("button", name="New session").click()
    say(page, "Where do I live?")
    expect(page.get_by_test_id("said").locator("p.assistant:not(.coming)")).to_have_text("You live in Porto.")
    assert len(messages_of(address, "alex")) == 2


def test_words_that_were_not_answered_are_not_lost(page_at, model, monkeypatch):
    """An endpoint that hangs up: the reason is shown, and the words are still in the box."""
    endpoint, address = model
    monkeypatch.setattr(endpoint, "brain", lambda _: Fault(ends="hung up"))
    page = page_at(address, "try", "bea", expected=["status of 50"])
    page.get_by_label("Model").fill("any")
    say(page, "I live in Porto.")
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.get_by_label("Your message")).to_have_value("I live in Porto.")


def test_the_demo_is_loaded_with_a_button_and_folds_live(page_at, empty):
    page = page_at(empty, "try")
    expect(page.get_by_test_id("live").get_by_text("listening", exact=True)).to_be_visible()
    page.get_by_role("button", name="Load the demo").click()
    expect(page.get_by_label("Talk as")).to_have_value("mara")
    expect(page.get_by_test_id("load-demo")).to_contain_text("mara has")
    page.get_by_role("button", name="Fold what is due now").click()
    expect(page.get_by_test_id("heard")).to_contain_text("folded into a summary")
    assert sum(messages_of(empty, USER)) == 758
    page.get_by_role("button", name="Load the demo").click()
    expect(page.get_by_role("button", name="Load the demo")).to_be_enabled()
    assert sum(messages_of(empty, USER)) == 758
