"""What the endpoint is sent after something was forgotten, retracted or changed, and by another user."""

import subprocess
from typing import Any

import pytest

from lamina import Memory
from lamina.server.proxy.dialect import AddedMemory
from lamina.server.proxy.exchange import CACHE_S, CachedContext, ContextCache
from lamina.testing.llm_server import Said
from tests.command_line import LAMINA, plain_environ
from tests.http_proxy import IDS, USER

QUESTION = {"role": "user", "content": "What is the weather where I live?"}
CALL = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
STEP = [
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "Rain."},
]
TOOL = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}


def ask(proxy, *messages, **headers):
    """Ask, and give what the endpoint was sent, as one text."""
    proxy.upstream.then(Said(text="Well.", plain=True))
    answer = proxy.service.post(
        "/openai/v1/chat/completions",
        json={"model": "m", "messages": list(messages), "tools": [TOOL]},
        headers={**IDS, **headers},
    )
    assert answer.status_code == 200, answer.text
    return str(proxy.sent()["messages"])


def told(proxy):
    """Tell where somebody lives, and begin a turn in which the model sees it; gives the fact."""
    proxy.service.post("/v1/sessions/before/messages", json={"messages": "I live in Porto.", "user_id": USER})
    proxy.settle()
    (fact,) = proxy.service.get(f"/v1/users/{USER}/facts").json()["items"]
    assert "Porto" in ask(proxy, QUESTION)
    return fact


def library(proxy, verb, *given, **named):
    with Memory(proxy.service.settings.database, worker=False) as memory:
        getattr(memory, verb)(*given, **named)


def command(proxy, *words):
    """In another process."""
    database = str(proxy.service.settings.database)
    done = subprocess.run(
        [LAMINA, *words], env=plain_environ(LAMINA_DATABASE=database), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def rest(proxy, **body):
    assert proxy.service.post("/v1/forget", json=body).status_code == 200


FORGETS: dict[str, Any] = {
    "text": lambda proxy, _: rest(proxy, user_id=USER, text="Porto"),
    "fact": lambda proxy, fact: rest(proxy, fact_id=fact["id"]),
    "message": lambda proxy, fact: rest(proxy, message_ids=[fact["message_id"]]),
    "session": lambda proxy, _: rest(proxy, session_id="before"),
    "user": lambda proxy, _: rest(proxy, user_id=USER),
    "library": lambda proxy, fact: library(proxy, "forget", fact_id=fact["id"]),
    "mem0": lambda proxy, fact: proxy.service.delete(f"/v1/memories/{fact['id']}/"),
    "retract": lambda proxy, fact: proxy.service.delete(f"/v1/facts/{fact['id']}"),
    "retract by library": lambda proxy, fact: library(proxy, "retract", fact["id"]),
    "update": lambda proxy, fact: proxy.service.patch(f"/v1/facts/{fact['id']}", json={"value": "Oslo"}),
    "update by library": lambda proxy, fact: library(proxy, "update", fact["id"], "Oslo"),
    "demote": lambda proxy, fact: proxy.service.patch(f"/v1/facts/{fact['id']}", json={"standing": "demoted"}),
}


def shown(fact):
    """How a fact stands in a context."""
    return f"{fact['key']}: {fact['value']}"


@pytest.mark.parametrize("how", FORGETS)
def test_what_was_forgotten_is_not_sent_in_the_next_step_of_a_turn(quick, how):
    fact = told(quick)
    FORGETS[how](quick, fact)
    sent = ask(quick, QUESTION, *STEP)
    word = shown(fact) if how.startswith(("retract", "update", "demote")) else "Porto"  # the message itself stays
    assert word not in sent


@pytest.mark.also_postgres
def test_what_another_process_forgot_is_not_sent(proxy):
    fact = told(proxy)
    command(proxy, "forget", "--fact", fact["id"], "--yes")
    assert "Porto" not in ask(proxy, QUESTION, *STEP)


def test_what_stands_is_sent_word_for_word_in_every_step(quick):
    """Also if more is learnt meanwhile."""
    fact = told(quick)
    first = str([one for one in quick.sent()["messages"] if "<memory" in str(one["content"])])
    quick.service.post(f"/v1/users/{USER}/facts", json={"text": "Likes rain."})
    assert shown(fact) in ask(quick, QUESTION, *STEP)
    assert str([one for one in quick.sent()["messages"] if "<memory" in str(one["content"])]) == first


@pytest.mark.also_postgres
def test_nobody_is_sent_what_another_user_was(proxy):
    """Though session and question are the same."""
    told(proxy)
    rest(proxy, session_id=IDS["X-Lamina-Session"])
    assert "Porto" not in ask(proxy, QUESTION, *STEP, **{"X-Lamina-User": "bob"})


def test_another_tenant_is_sent_nothing_of_it(quick):
    told(quick)
    ask(quick, QUESTION, *STEP, **{"X-API-Key": quick.service.key(tenant="acme")})
    assert "Porto" not in str(quick.sent()["messages"])


@pytest.mark.parametrize(
    "other",
    [{"X-Lamina-Budget": "2000"}, {"X-Lamina-Session": "s9"}, {"X-Lamina-Agent": "guide"}],
    ids=lambda other: next(iter(other)),
)
def test_what_was_asked_otherwise_is_looked_up_again(quick, other):
    """A step that has another budget, session or agent than the one before is no step of the same turn."""
    quick.service.post(f"/v1/users/{USER}/facts", json={"text": "Lives in Porto.", "key": "home"})
    ask(quick, QUESTION)
    quick.service.post(f"/v1/users/{USER}/facts", json={"text": "Owns an umbrella.", "key": "umbrella"})
    assert "umbrella" not in ask(quick, QUESTION, *STEP)
    assert "umbrella" in ask(quick, QUESTION, *STEP, **other)


def test_what_was_shown_is_kept_for_some_minutes_and_so_many_turns():
    clock = [0.0]
    kept = ContextCache(max_items=2, now=lambda: clock[0])
    memory = CachedContext(AddedMemory(block="Lives in Porto.", tokens=4), frozenset(), 0)
    for turn in "abc":
        clock[0] += 1
        kept.put(turn, memory)
    assert [kept.get(turn) for turn in "abc"] == [None, memory, memory]
    clock[0] = CACHE_S + 2.5
    assert [kept.get(turn) for turn in "abc"] == [None, None, memory]
    assert len(kept) == 1


def test_a_client_that_sends_its_history_again_does_not_bring_back_what_was_forgotten(quick):
    """Neither a message that is gone nor one that lost a part."""
    history = [
        {"role": "user", "content": "My code is 4242."},
        {"role": "assistant", "content": "Well."},
        {"role": "user", "content": "I live in Porto. I like the sea."},
        {"role": "assistant", "content": "Well."},
    ]
    ask(quick, history[0])
    ask(quick, *history[:3])
    quick.settle()
    (fact,) = [one for one in quick.service.get(f"/v1/users/{USER}/facts").json()["items"] if one["value"] == "Porto"]
    rest(quick, user_id=USER, text="4242")
    rest(quick, fact_id=fact["id"])
    ask(quick, *history, {"role": "user", "content": "And now?"})
    quick.settle()
    said = [text for _, text in quick.said()]
    assert len(said) == 6
    assert not [text for text in said if "4242" in text or "Porto" in text]
