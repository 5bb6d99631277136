"""Document 003 from end to end: clients stream through the proxy, and the memory forms behind it."""

import json
import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from lamina.profiles import profile_named
from lamina.testing.llm_server import LlmServer, Said
from tests.http_proxy import IDS, SESSION, Proxied, proxied
from tests.places import Place
from tests.waiting import CEILING, wait_until

CHUNKED = profile_named("chunked")
FILLER = " ".join(f"harbour{n}" for n in range(60))  # about 120 tokens
LONG = " ".join([FILLER] * 6)


@pytest.fixture
def chat(place: Place) -> Iterator[Proxied]:
    with proxied(place(), worker=True, profile=CHUNKED) as running:
        yield running


def turn(chat: Proxied, number: int, *, model: str = "arco", words: str = FILLER) -> None:
    """One turn, streamed."""
    chat.says(f"Reply {number}. {words}")
    body = {"model": model, "stream": True, "messages": [{"role": "user", "content": f"Message {number}. {words}"}]}
    with httpx2.stream("POST", f"{chat.url}/chat/completions", json=body, headers=IDS) as answer:
        assert answer.read().endswith(b"data: [DONE]\n\n")


def summaries(chat: Proxied) -> list[dict[str, Any]]:
    return list(chat.service.client.get(f"/v1/sessions/{SESSION}/summaries").json()["items"])


def tokens(chat: Proxied) -> int:
    return int(chat.service.client.get(f"/v1/sessions/{SESSION}").json()["counters"]["tokens"])


def context_sent(chat: Proxied) -> list[str]:
    return [str(one["content"]) for one in chat.sent()["messages"]]


@pytest.mark.also_postgres
def test_the_variant_of_each_reply_is_stored_and_memory_does_not_branch_on_it(chat: Proxied) -> None:
    """003.1, 003.12: switching models in mid-chat; all turns are in one memory, under one budget."""
    variants = ["arco", "arco-pro", "deep-dive"]
    for number in range(12):
        turn(chat, number, model=variants[number % 3], words=FILLER * (6 if number % 3 == 2 else 2))
        assert int(chat.service.client.post("/v1/context", json=CONTEXT).json()["tokens"]) <= 3_000
    chat.settle()
    stored = [one["model"] for one in chat.log() if one["role"] == "assistant"]
    assert stored == [variants[number % 3] for number in range(12)]
    (summary,) = summaries(chat)
    assert summary["covers"]["first"] == 1
    turn(chat, 99, model="another")
    sent = context_sent(chat)
    assert "BACKGROUND" in sent[0]
    assert sent[-1].startswith("Message 99.")


CONTEXT = {"query": "and now?", "user_id": IDS["X-Lamina-User"], "session_id": SESSION}


def test_short_chats_have_no_summary(chat: Proxied) -> None:
    """003.12: a plain sliding window of the last three turns and what is not folded yet."""
    for number in range(4):
        turn(chat, number, words="short")
    chat.settle()
    assert summaries(chat) == []
    turn(chat, 4, words="short")
    sent = context_sent(chat)
    assert sent[-3:] == ["Message 3. short", "Reply 3. short", "Message 4. short"]
    assert not any("BACKGROUND" in text for text in sent)


def test_the_fold_begins_after_the_reply(tmp_path: Path) -> None:
    """003.8: while a reply is streamed, the summariser is not asked anything; then it is, by itself."""
    rest = threading.Event()

    def held() -> Iterator[str]:
        yield "one "
        yield "two "
        rest.wait(CEILING)
        yield LONG

    with LlmServer() as nano:
        model = {"llm_base_url": nano.url, "llm_model": "nano", "llm_use": "summaries"}
        with proxied(tmp_path / "chat.db", worker=True, profile=CHUNKED, **model) as chat:
            for number in range(4):
                turn(chat, number, words=LONG)
                chat.settle()
            assert 5_500 < tokens(chat) < 6_000
            chat.says(f"one two {LONG}", pieces=held())
            said = [{"role": "user", "content": f"Message 5. {LONG}"}]
            body = {"model": "arco", "stream": True, "messages": said}
            with httpx2.stream("POST", f"{chat.url}/chat/completions", json=body, headers=IDS) as answer:
                pieces = answer.iter_text()
                while "two" not in next(pieces):
                    pass
                assert tokens(chat) > 6_000
                chat.settle()  # makes every fold that is due
                assert not nano.journal, "a fold began in the middle of a reply"
                rest.set()
                assert "[DONE]" in "".join(pieces)
            wait_until(lambda: nano.journal)


def test_folds_are_one_at_a_time_and_logged(chat: Proxied, caplog: pytest.LogCaptureFixture) -> None:
    """003.9, 003.10: folds of a chat never overlap, and are logged with what they did, never with what was said."""
    with caplog.at_level(logging.INFO, "lamina"):
        for number in range(12):
            turn(chat, number, words=LONG)
        chat.settle()
    folds = [record for record in caplog.records if record.message == "folded"]
    assert len(folds) >= 2
    for fold in folds:
        told = fold.__dict__
        assert told["session"] == SESSION
        assert told["tokens_before"] > told["tokens_after"]
        assert told["turns_folded"] > 0
        assert told["seconds"] >= 0
        assert "harbour1" not in json.dumps(told, default=str)
    (summary,) = summaries(chat)
    assert summary["covers"]["last"] % 2 == 0
    versions = chat.service.client.get(f"/v1/sessions/{SESSION}/summaries", params={"live": "false"}).json()["items"]
    covered = sorted((one["covers"]["first"], one["covers"]["last"]) for one in versions)
    assert len(set(covered)) == len(covered) == len(folds), "each fold once, none doubled"
    assert chat.service.client.post("/v1/verify", json={}).json()["problems"] == []
    built = [record for record in caplog.records if record.message == "context_built"]
    assert built
    assert {"tail_dropped", "summary_cut", "tokens"} <= built[-1].__dict__.keys()


def test_the_summary_goes_on_when_the_client_leaves(chat: Proxied) -> None:
    """003.8: a client that leaves in the middle of a reply keeps nothing from being folded."""
    for number in range(6):
        turn(chat, number, words=LONG)
    chat.upstream.then(Said(text=FILLER * 5, gap_seconds=0.02))
    body = {"model": "arco", "stream": True, "messages": [{"role": "user", "content": "One more."}]}
    with httpx2.stream("POST", f"{chat.url}/chat/completions", json=body, headers=IDS) as answer:
        next(answer.iter_bytes())
    chat.settle()
    assert [first for first, _ in spans_of(chat)] == [1]


def spans_of(chat: Proxied) -> list[tuple[int, int]]:
    return [(one["covers"]["first"], one["covers"]["last"]) for one in summaries(chat)]
