"""The first hour of somebody who changes nothing but the `base_url` of their OpenAI client.

A real `lamina serve`, the official client, and an endpoint on this machine that says what it was told.
"""

import json
import signal

import httpx2
import openai
import pytest

from lamina.testing.llm_server import LlmServer, Said
from tests.command_line import service_process
from tests.waiting import CEILING, wait_until

pytestmark = pytest.mark.xdist_group("base-url")  # one process for all of them


def answer(asked):
    """What a model would say that reads what it is sent."""
    question = str(asked.body.get("messages", asked.body.get("input")))
    return Said(text="You live in Porto, Alex." if "Porto" in question else "I do not know you.", plain=True)


@pytest.fixture(scope="module")
def upstream():
    with LlmServer(answer) as server:
        yield server


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("first")


@pytest.fixture(scope="module")
def address(upstream, folder):
    """`LAMINA_PROXY_BASE_URL=... lamina serve`, and no other setting."""
    with service_process(folder, LAMINA_PROXY_BASE_URL=upstream.url) as (process, url):
        yield url
        process.send_signal(signal.SIGTERM)
        assert process.wait(CEILING) == 0


@pytest.fixture
def client(address):
    with openai.OpenAI(base_url=f"{address}/openai/v1", api_key="sk-of-the-endpoint", timeout=CEILING) as found:
        yield found


def sessions(address):
    return {one["id"]: one for one in httpx2.get(f"{address}/v1/sessions").json()["items"]}


def chat(client, history):
    whole = client.chat.completions.create(model="test-model", messages=history)
    return whole.choices[0].message.content


def streamed_chat(client, history):
    chunks = client.chat.completions.create(model="test-model", messages=history, stream=True)
    return "".join(one.choices[0].delta.content or "" for one in chunks if one.choices)


def respond(client, history):
    return client.responses.create(model="test-model", input=history, store=False).output_text


def streamed_respond(client, history):
    with client.responses.create(model="test-model", input=history, stream=True, store=False) as events:
        return "".join(one.delta for one in events if one.type == "response.output_text.delta")


@pytest.mark.parametrize("ask", [chat, streamed_chat, respond, streamed_respond])
def test_the_second_conversation_is_told_what_the_first_one_said(address, client, ask):
    """Each has a session of its own, and everything is in it once."""
    httpx2.post(f"{address}/v1/forget", json={"user_id": "default"}, timeout=CEILING)
    history = [{"role": "user", "content": "Who am I?"}]
    assert ask(client, history) == "I do not know you."
    history += [{"role": "assistant", "content": "I do not know you."}]
    history += [{"role": "user", "content": "I'm Alex. I live in Porto."}]
    assert ask(client, history) == "You live in Porto, Alex."
    assert ask(client, [{"role": "user", "content": "Where do I live?"}]) == "You live in Porto, Alex."
    found = sessions(address)
    assert sorted(one["counters"]["messages"] for one in found.values()) == [2, 4]
    assert {one["user_id"] for one in found.values()} == {"default"}
    first = next(one["id"] for one in found.values() if one["counters"]["messages"] == 4)
    kept = httpx2.get(f"{address}/v1/sessions/{first}/messages").json()["items"]
    assert [one["text"] for one in kept][:3] == [one["content"] for one in history]


def test_facts_are_known_without_a_word_more(address, client):
    """The worker of the service reads them; the default user has them."""
    chat(client, [{"role": "user", "content": "I am allergic to peanuts."}])
    facts = f"{address}/v1/users/default/facts"
    wait_until(lambda: "peanuts" in httpx2.get(facts, timeout=CEILING).text)


def test_the_answer_the_log_and_the_service_say_whose_memory_it_is(address, client, folder):
    raw = client.chat.completions.with_raw_response.create(
        model="test-model", messages=[{"role": "user", "content": "I like herons."}]
    )
    assert (raw.headers["x-lamina-user"], raw.headers["x-lamina-user-from"]) == ("default", "default")
    assert raw.headers["x-lamina-session-from"] == "new"
    lines = [json.loads(line) for line in (folder / "log").read_text("utf-8").splitlines() if line.startswith("{")]
    told = [one for one in lines if one["action"] == "default_user"]
    assert raw.headers["x-lamina-session"] in {one["session"] for one in told}
    assert "herons" not in (folder / "log").read_text("utf-8")
    assert httpx2.get(f"{address}/v1/about").json()["proxy_default_user"] == "default"


def test_the_key_of_the_client_reaches_the_endpoint(upstream, client):
    assert [model.id for model in client.models.list()] == ["test-model"]
    chat(client, [{"role": "user", "content": "Hello again."}])
    assert upstream.asked()[-1].headers["authorization"] == "Bearer sk-of-the-endpoint"


def test_an_application_with_users_keeps_them_apart(client):
    """By the field that the API has for it."""
    for name, city in (("ann", "Porto"), ("bob", "Ghent")):
        told = [{"role": "user", "content": f"I live in {city}."}]
        client.chat.completions.create(model="test-model", messages=told, safety_identifier=name)
    question = [{"role": "user", "content": "Where do I live?"}]
    said = {
        name: client.chat.completions.create(model="test-model", messages=question, safety_identifier=name)
        for name in ("ann", "bob")
    }
    assert "Porto" in str(said["ann"].choices[0].message.content)
    assert "Porto" not in str(said["bob"].choices[0].message.content)


def test_a_wrong_base_url_says_the_right_one(address):
    with (
        openai.OpenAI(base_url=f"{address}/v1", api_key="any", max_retries=0) as client,
        pytest.raises(openai.NotFoundError, match=f"base_url to {address}/openai/v1"),
    ):
        chat(client, [{"role": "user", "content": "Hello."}])


def test_a_restart_forgets_nothing(upstream, tmp_path):
    """Stopped and started again, the conversation goes on in its session."""
    history = [{"role": "user", "content": "I'm Alex. I live in Porto."}]
    for _ in range(2):
        with service_process(tmp_path, LAMINA_PROXY_BASE_URL=upstream.url) as (process, url):
            with openai.OpenAI(base_url=f"{url}/openai/v1", api_key="any", timeout=CEILING) as client:
                history.append({"role": "assistant", "content": chat(client, history)})
            history.append({"role": "user", "content": "And where do I work?"})
            found = sessions(url)
            process.send_signal(signal.SIGTERM)
            process.wait(CEILING)
    assert [one["counters"]["messages"] for one in found.values()] == [4]
