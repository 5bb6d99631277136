"""Whatever breaks, on either side: what was acknowledged is kept, what was said so far too, and nobody is delayed."""

import asyncio
import json
import signal
import sqlite3
import threading
from contextlib import suppress
from typing import Any

import httpx2
import openai
import pytest

from lamina import Memory
from lamina.profiles import profile_named
from lamina.server.app import create_app
from lamina.server.proxy import exchange
from lamina.server.proxy.reply_stream import EventParser
from lamina.settings import Settings
from lamina.testing.llm_server import LlmServer, Said
from tests.command_line import service_process
from tests.http_proxy import IDS, SESSION, proxied
from tests.waiting import CEILING, wait_until

SLOWLY = 0.05
LONG = " ".join(f"word{n}" for n in range(4_000))  # said slowly, it lasts longer than anybody waits


def question(text="Tell me."):
    return {"model": "m", "messages": [{"role": "user", "content": text}], "stream": True}


@pytest.mark.parametrize("kind", ["chat/completions", "responses"])
def test_a_client_that_hangs_up(proxy, kind):
    """The endpoint is told, what was generated is kept and marked, and the chat goes on."""
    proxy.says(LONG, gap_seconds=SLOWLY)
    asked = question() if kind != "responses" else {"model": "m", "input": "Tell me.", "stream": True}
    with proxy.service.client.stream("POST", f"{proxy.url}/{kind}", json=asked, headers=IDS) as answer:
        heard = ""
        for piece in answer.iter_text():
            heard += piece
            if "word5" in heard:
                break
    wait_until(lambda: len(proxy.log()) == 2)
    reply = proxy.log()[1]
    assert reply["text"].startswith("word0 word1 word2 word3 word4 word5")
    assert len(reply["text"]) < len(LONG)
    assert reply["metadata"]["interrupted"] == "client"
    wait_until(lambda: proxy.upstream.hung_up)
    proxy.says("Go on.")
    history = [
        {"role": "user", "content": "Tell me."},
        {"role": "assistant", "content": "word0 word1"},
        {"role": "user", "content": "And?"},
    ]
    proxy.client.chat.completions.create(model="m", messages=history)
    assert [role for role, _ in proxy.said()] == ["user", "assistant", "user", "assistant"]


def test_an_endpoint_that_breaks_off(proxy):
    """The caller's stream breaks off, too, instead of looking whole."""
    proxy.says(LONG, hang_up_after=7)
    heard: list[bytes] = []
    with (
        proxy.service.client.stream("POST", f"{proxy.url}/chat/completions", json=question(), headers=IDS) as answer,
        pytest.raises(httpx2.RemoteProtocolError),
    ):
        heard.extend(answer.iter_bytes())
    assert b"word6" in b"".join(heard)
    reply = proxy.log()[1]
    assert reply["text"].strip() == "word0 word1 word2 word3 word4 word5 word6"
    assert reply["metadata"]["interrupted"] == "upstream"


def test_a_stream_without_its_last_line_is_whole_if_the_model_had_finished(quick):
    """Some servers do not say [DONE]."""
    events = EventParser()
    whole = b'data: {"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}\r\n\r\n: ping\n\ndata: half'
    heard = [data for place in range(len(whole)) for data in events.feed(whole[place : place + 1])]
    assert [json.loads(data)["choices"][0]["finish_reason"] for data in heard] == ["stop"]


def test_nonsense_in_a_stream_is_passed_on(quick):
    """It is the caller's to judge; the rest of the reply is kept."""
    noise = 'data: {"choices": [{"delta": \n\ndata: [1, 2]\n\ndata: {"choices": "?"}\n\n: comment\n\nevent: x\n\n'
    quick.says("One two three.", noise=noise)
    with quick.service.client.stream("POST", f"{quick.url}/chat/completions", json=question(), headers=IDS) as answer:
        assert noise in answer.read().decode()
    assert quick.said()[1] == ("assistant", "One two three.")


def test_an_answer_that_is_no_json_is_passed_on(quick):
    quick.upstream.then(Said(text="hi", extra={"choices": None}))
    answer = quick.service.client.post(
        f"{quick.url}/chat/completions", json={**question(), "stream": False}, headers=IDS
    )
    assert answer.json()["choices"] is None
    assert quick.said() == [("user", "Tell me.")]


@pytest.fixture
def served(tmp_path):
    """`lamina serve` as a process of its own, before an endpoint."""
    with (
        LlmServer(lambda _: Said(text=LONG, gap_seconds=SLOWLY)) as upstream,
        service_process(tmp_path, LAMINA_PROXY_BASE_URL=upstream.url) as (process, address),
    ):
        yield process, f"{address}/openai/v1", upstream


def test_a_server_that_is_killed_in_the_middle_of_streams(served, tmp_path):
    """Every message whose answer had begun is there, and the file is whole."""
    process, url, _ = served
    begun: set[str] = set()

    def talk(name):
        with (
            suppress(httpx2.HTTPError),
            httpx2.stream(
                "POST",
                f"{url}/chat/completions",
                json=question(f"I am {name}."),
                headers={"X-Lamina-User": name, "X-Lamina-Session": f"s-{name}"},
                timeout=CEILING,
            ) as answer,
        ):
            for piece in answer.iter_text():
                begun.update({name} if "word1" in piece else ())

    threads = [threading.Thread(target=talk, args=(f"user{n}",)) for n in range(12)]
    for thread in threads:
        thread.start()
    wait_until(lambda: len(begun) == 12)
    process.send_signal(signal.SIGKILL)
    for thread in threads:
        thread.join(CEILING)
    with Memory(tmp_path / "lamina.db") as memory:
        for name in begun:
            assert [one.text for one in memory.messages(f"s-{name}")] == [f"I am {name}."]
        assert memory.verify().ok


def test_a_server_that_is_told_to_end_lets_streams_end(served, tmp_path):
    process, url, upstream = served
    upstream.then(Said(text=LONG[:200], gap_seconds=0.05))
    heard = b""
    with httpx2.stream("POST", f"{url}/chat/completions", json=question(), headers=IDS, timeout=CEILING) as answer:
        for piece in answer.iter_bytes():
            if not heard:
                process.send_signal(signal.SIGTERM)
            heard += piece
    assert heard.endswith(b"data: [DONE]\n\n")
    assert process.wait(CEILING) == 0
    with Memory(tmp_path / "lamina.db") as memory:
        assert [one.text for one in memory.messages(SESSION)] == ["Tell me.", LONG[:200]]


def test_a_fold_that_hangs_changes_nothing_for_the_caller(tmp_path):
    """003.8 through the proxy: while the summariser does not answer, replies come as before."""
    chosen = profile_named("chunked").but(chunk_summarize_threshold=300)
    answering = threading.Event()

    def hang(_):
        answering.wait(CEILING)
        return Said(text="at last")

    with LlmServer(hang) as hanging:
        settings = {"profile": chosen, "llm_base_url": hanging.url, "llm_model": "slow", "llm_retries": 0}
        with proxied(tmp_path / "chat.db", worker=True, **settings) as proxy:
            for turn in range(14):
                if turn == 10:
                    wait_until(lambda: hanging.journal)  # by now a fold is due
                proxy.says("One two three four five six seven eight nine ten. " * 4)
                asked = question(f"Turn {turn}: {LONG[:300]}")
                with proxy.service.client.stream(
                    "POST", f"{proxy.url}/chat/completions", json=asked, headers=IDS
                ) as answer:
                    answer.read()
            assert [one["role"] for one in proxy.log()] == ["user", "assistant"] * 14
            assert not answering.is_set()
            answering.set()  # so that ending does not wait for it


def test_a_store_that_is_locked_makes_no_chat_fail(tmp_path):
    """Memory that is slow makes an answer poorer and says so; what was said is stored when it can be."""
    with proxied(tmp_path / "chat.db", patience=0.3) as proxy:
        proxy.client.chat.completions.create(model="m", messages=[{"role": "user", "content": "First."}])
        wait_until(lambda: len(proxy.said()) == 2)
        other = sqlite3.connect(tmp_path / "chat.db", isolation_level=None)
        try:
            other.execute("begin immediate")
            answer = proxy.client.chat.completions.with_raw_response.create(
                model="m", messages=[{"role": "user", "content": "Second."}]
            )
        finally:
            other.close()
        assert answer.parse().choices[0].message.content == "I see."
        assert "not_stored_yet" in answer.headers["x-lamina-fault"]
        wait_until(lambda: [text for _, text in proxy.said()] == ["First.", "I see.", "Second.", "I see."])
        shown = proxy.service.client.get("/metrics").text
        assert 'lamina_proxy_faults_total{fault="not_stored_yet"}' in shown


def test_memory_that_comes_too_late_is_left_out(tmp_path):
    with proxied(tmp_path / "chat.db", patience=0) as proxy:
        answer = proxy.client.chat.completions.with_raw_response.create(
            model="m", messages=[{"role": "user", "content": "First."}]
        )
        assert answer.parse().choices[0].message.content == "I see."
        assert "not_recalled" in answer.headers.get_list("x-lamina-fault")
        assert answer.headers["x-lamina-memory-tokens"] == "0"
        wait_until(lambda: len(proxy.said()) == 2)


def test_what_is_still_to_be_stored_is_stored_before_the_end(tmp_path, monkeypatch):
    """The store is free again only once the service is told to end."""
    monkeypatch.setattr(exchange, "PATIENCE_S", 0)
    file = tmp_path / "chat.db"

    async def run(url):
        app = create_app(Settings(database=str(file), proxy_base_url=url), worker=False)
        other = sqlite3.connect(file, isolation_level=None)
        async with app.router.lifespan_context(app):
            other.execute("begin immediate")
            client = httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://localhost")
            async with client:
                asked = {**question(), "stream": False}
                answer = await client.post("/openai/v1/chat/completions", json=asked, headers=IDS)
            assert "not_stored_yet" in answer.headers["x-lamina-fault"]
            asyncio.get_running_loop().call_soon(other.close)

    with LlmServer(lambda _: Said(text="I see.")) as upstream:
        asyncio.run(run(upstream.url))
    with Memory(file, worker=False) as memory:
        assert [one.text for one in memory.messages(SESSION)] == ["Tell me.", "I see."]


def test_the_same_message_twice_at_once_is_kept_once(proxy):
    """A client that loses patience and asks again while the first is under way."""
    both = threading.Barrier(2)

    def answer(_):
        both.wait(CEILING)
        return Said(text="I see.", plain=True)

    proxy.upstream.brain = answer

    async def twice():
        async with openai.AsyncOpenAI(base_url=proxy.url, api_key="x", default_headers=IDS) as client:
            said: Any = [{"role": "user", "content": "Hello?"}]
            await asyncio.gather(*(client.chat.completions.create(model="m", messages=said) for _ in range(2)))

    asyncio.run(twice())
    assert [text for role, text in proxy.said() if role == "user"] == ["Hello?"]


def test_many_chats_at_once_are_kept_apart(proxy):
    async def talk(client, name):
        for turn in range(4):
            stream = await client.chat.completions.create(
                model="m",
                stream=True,
                messages=[{"role": "user", "content": f"{name} {turn}"}],
                extra_headers={"X-Lamina-User": name, "X-Lamina-Session": name},
            )
            async for _ in stream:
                pass

    async def all_of_them():
        async with openai.AsyncOpenAI(base_url=proxy.url, api_key="x") as client:
            await asyncio.gather(*(talk(client, f"user-{n}") for n in range(16)))

    asyncio.run(all_of_them())
    for n in range(16):
        said = [text for role, text in proxy.said(f"user-{n}") if role == "user"]
        assert said == [f"user-{n} {turn}" for turn in range(4)]
    assert proxy.service.client.post("/v1/verify", json={}).json()["problems"] == []
