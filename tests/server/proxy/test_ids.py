"""Whose memory a proxied request is for, and in which session, by what it names and by its history."""

import json
from typing import Any

import pytest

from lamina.errors import ConfigError
from lamina.settings import Settings, load_settings
from lamina.testing.llm_server import Fault
from tests.http_proxy import IDS, SESSION, USER, proxied
from tests.http_service import made_key


def user(text):
    return {"role": "user", "content": text}


def assistant(text):
    return {"role": "assistant", "content": text}


def post(proxy, *messages, headers=None, **body):
    """A request that names nobody but as it is told to."""
    asked = {"model": "m", "messages": list(messages), **body}
    answer = proxy.service.client.post(f"{proxy.url}/chat/completions", json=asked, headers=headers or {})
    assert answer.status_code == 200, answer.text
    return answer


def session_of(answer):
    return answer.headers["x-lamina-session"]


NEW = None  # a session of its own
NAMED: dict[str, tuple[dict[str, Any], str, str, str | None, str]] = {
    "header": ({"headers": IDS}, USER, "header", SESSION, "header"),
    "encoded header": ({"headers": {"X-Lamina-User": "J%C3%B6rg"}}, "Jörg", "header", NEW, "new"),
    "metadata": ({"metadata": {"lamina_user": "ann", "lamina_session": "s7"}}, "ann", "metadata", "s7", "metadata"),
    "usual metadata": ({"metadata": {"user_id": "ann", "session_id": "s8"}}, "ann", "metadata", "s8", "metadata"),
    "metadata among others": ({"metadata": {"lamina_user": "ann", "purpose": "test"}}, "ann", "metadata", NEW, "new"),
    "safety identifier": ({"safety_identifier": "ann"}, "ann", "safety_identifier", NEW, "new"),
    "user": ({"user": "ann"}, "ann", "user", NEW, "new"),
    "both": ({"user": "old", "safety_identifier": "ann"}, "ann", "safety_identifier", NEW, "new"),
    "blank": ({"user": " ", "safety_identifier": ""}, "default", "default", NEW, "new"),
    "header before fields": ({"headers": {"X-Lamina-User": "ann"}, "user": "bob"}, "ann", "header", NEW, "new"),
    "cache key": ({"prompt_cache_key": "k1"}, "default", "default", NEW, "new"),
    "session alone": ({"headers": {"X-Lamina-Session": "s9"}}, "default", "default", "s9", "header"),
    "nothing": ({}, "default", "default", NEW, "new"),
}


@pytest.mark.parametrize("way", NAMED)
def test_the_user_and_the_session_are_named_in_several_ways(quick, way):
    """The answer says who it is for and by what; fields of the API reach the endpoint as they were."""
    given, who, who_from, where, where_from = NAMED[way]
    answer = post(quick, user("Hello there."), **given)
    (session,) = quick.service.client.get("/v1/sessions").json()["items"]
    assert session["user_id"] == who
    assert session["id"] == (where or session_of(answer))
    headers = answer.headers
    assert (headers["x-lamina-user-from"], headers["x-lamina-session-from"]) == (who_from, where_from)
    sent = quick.sent()
    for name in ("user", "safety_identifier", "prompt_cache_key"):
        assert sent.get(name) == given.get(name)
    assert not any("lamina" in name for name in sent.get("metadata", {}))
    assert ("purpose" in str(sent)) == ("purpose" in str(given))
    assert not any(name.startswith("x-lamina") for name in quick.upstream.asked()[-1].headers)


def test_the_default_user_can_have_another_name_or_be_off(tmp_path, caplog):
    """Switched off, the request goes on byte for byte, nothing is stored, and the answer says why."""
    caplog.set_level("INFO", "lamina.proxy")
    with proxied(tmp_path / "a.db", proxy_default_user="mara") as proxy:
        answer = post(proxy, user("I live in Porto."))
        assert answer.headers["x-lamina-user"] == "mara"
        (line,) = [one for one in caplog.records if one.getMessage() == "default_user"]
        assert (line.user, line.session) == ("mara", session_of(answer))
        assert "Porto" not in str(line.__dict__)
        assert proxy.service.client.get("/v1/about").json()["proxy_default_user"] == "mara"
    raw = b'{"model": "m",  "messages": [{"role": "user", "content": "I live in Porto."}]}'
    with proxied(tmp_path / "b.db", proxy_default_user="off") as proxy:
        headers = {"Content-Type": "application/json"}
        answer = proxy.service.client.post(f"{proxy.url}/chat/completions", content=raw, headers=headers)
        assert answer.headers["x-lamina-fault"] == "no_user"
        assert "x-lamina-session" not in answer.headers
        assert proxy.sent() == json.loads(raw)
        streamed = {**json.loads(raw), "stream": True}
        with proxy.service.client.stream("POST", f"{proxy.url}/chat/completions", json=streamed) as answer:
            assert answer.headers["x-lamina-fault"] == "no_user"
            assert answer.read().endswith(b"data: [DONE]\n\n")
        assert proxy.service.client.get("/v1/sessions").json()["items"] == []
        assert proxy.service.client.get("/v1/about").json()["proxy_default_user"] is None


def test_a_key_may_have_a_user_of_its_own(tmp_path):
    """For requests that name nobody; one that names somebody is theirs."""
    with proxied(tmp_path / "a.db") as proxy:
        key = proxy.service.key(user="ann")
        answer = post(proxy, user("Hello."), headers={"X-API-Key": key})
        assert (answer.headers["x-lamina-user"], answer.headers["x-lamina-user-from"]) == ("ann", "key")
        answer = post(proxy, user("Hello."), headers={"X-API-Key": key}, safety_identifier="bob")
        assert answer.headers["x-lamina-user"] == "bob"
        answer = post(proxy, user("Hello."), headers={"X-API-Key": key, "X-Lamina-Session": "s1"})
        assert answer.headers["x-lamina-user"] == "ann"
        assert proxy.service.with_key(key).get("/v1/about").json()["proxy_default_user"] == "ann"


def test_with_keys_nobody_is_a_default_user(tmp_path, caplog):
    """Many may have the key: a request that names nobody is passed on; the answer, log and metrics say why."""
    caplog.set_level("INFO", "lamina.proxy")
    with proxied(tmp_path / "a.db") as proxy:
        _, key = made_key(proxy.service.settings)
        admin = proxy.service.with_key(proxy.service.key("admin"))
        answer = post(proxy, user("Hello."), headers={"X-API-Key": key})
        assert answer.headers["x-lamina-fault"] == "no_user"
        (line,) = [one for one in caplog.records if one.name == "lamina.proxy"]
        assert (line.getMessage(), line.levelname, line.fault) == ("memory_failed", "WARNING", "no_user")
        assert "X-Lamina-User" in line.reason
        assert "Hello" not in str(line.__dict__)
        assert proxy.service.with_key(key).get("/v1/sessions").json()["items"] == []
        assert 'lamina_proxy_faults_total{fault="no_user"} 1.0' in admin.get("/metrics").text


@pytest.mark.parametrize(
    ("given", "user_id"),
    [({}, "default"), ({"LAMINA_USER": "ann"}, "ann"), ({"LAMINA_PROXY_DEFAULT_USER": "bob"}, "bob"),
     ({"LAMINA_PROXY_DEFAULT_USER": "off"}, None), ({"LAMINA_PROXY_DEFAULT_USER": "False"}, None)],
)  # fmt: skip
def test_the_setting_of_the_default_user(given, user_id):
    assert load_settings(given).default_user() == user_id


def test_an_address_without_a_scheme_is_a_mistake_in_the_settings():
    with pytest.raises(ConfigError, match="takes an address such as http://localhost:11434/v1"):
        load_settings({"LAMINA_PROXY_BASE_URL": "localhost:11434"})
    assert Settings(proxy_base_url="http://localhost:11434/v1").has_proxy()


# sessions by history


@pytest.mark.also_postgres
def test_conversations_are_told_apart_by_their_history(proxy):
    """Two by turns, each with its whole history: each has a session of its own, with everything once."""
    begun = {topic: [user(f"Tell me about {topic}.")] for topic in ("tea", "ships")}
    found: dict[str, set[str]] = {topic: set() for topic in begun}
    for turn in range(3):
        for topic, history in begun.items():
            proxy.says(f"{topic} {turn}.")
            found[topic].add(session_of(post(proxy, *history)))
            history += [assistant(f"{topic} {turn}."), user(f"More of {topic}, {turn}?")]
    assert [len(ids) for ids in found.values()] == [1, 1]
    assert found["tea"] != found["ships"]
    for topic, history in begun.items():
        assert proxy.said(*found[topic]) == [(one["role"], one["content"]) for one in history[:-1]]


HISTORY = [user("Hi."), assistant("Hello!"), user("I live in Porto."), assistant("Nice."), user("And now?")]
SAME: dict[str, list[dict[str, Any]]] = {
    "whole": HISTORY,
    "end only": HISTORY[2:],
    "again": HISTORY[:3],
    "spaces": [*HISTORY[:3], assistant(" Nice. "), HISTORY[4]],
    "a shortened reply": [*HISTORY[:3], assistant("Ni"), HISTORY[4]],
    "a summary of the beginning": [user("Summary: we met."), assistant("Yes."), *HISTORY[2:]],
    "a changed message": [*HISTORY[:2], user("I live in Faro.")],
}
OTHER: dict[str, list[dict[str, Any]]] = {
    "the same beginning": [user("Hi.")],
    "another beginning": [user("Where do I live?")],
    "another question": [user("Hi."), assistant("Hello!"), user("I live in Rome."), assistant("Nice."), user("And?")],
    "a history from elsewhere": [user("One?"), assistant("Two."), user("Three?")],
}


def tell(proxy, **more):
    """A conversation of two turns; gives its session."""
    proxy.says("Hello!", "Nice.")
    post(proxy, *HISTORY[:1], **more)
    return session_of(post(proxy, *HISTORY[:3], **more))


@pytest.mark.parametrize("way", SAME)
def test_a_history_goes_on_with_its_session(quick, way):
    """Whole or only its end, sent again, shortened, or changed on the way."""
    session = tell(quick)
    answer = post(quick, *SAME[way])
    assert (session_of(answer), answer.headers["x-lamina-session-from"]) == (session, "history")


@pytest.mark.parametrize("way", OTHER)
def test_another_history_begins_a_session(quick, way):
    session = tell(quick)
    answer = post(quick, *OTHER[way])
    assert session_of(answer) != session
    assert answer.headers["x-lamina-session-from"] == "new"


def test_of_two_with_the_same_beginning_the_one_that_ends_so_is_meant(quick):
    tell(quick)
    quick.says("Hello!")
    second = session_of(post(quick, user("Hi.")))
    assert session_of(post(quick, user("Hi."), assistant("Hello!"), user("What is new?"))) == second


@pytest.mark.parametrize("more", [{"user": "ann"}, {"prompt_cache_key": "k2"}, {"headers": {"X-Lamina-Agent": "a2"}}])
def test_users_agents_and_cache_keys_keep_conversations_apart(quick, more):
    """The same words of another user, through another agent, or under another key are another conversation."""
    session = tell(quick)
    assert session_of(post(quick, *HISTORY, **more)) != session
    other = tell(quick, **more)
    assert session_of(post(quick, *HISTORY, **more)) == other


def test_one_cache_key_for_all_requests_mixes_nothing(quick):
    """Many applications have one key for each prompt: the history tells conversations apart all the same."""
    first = session_of(post(quick, user("One."), user="ann", prompt_cache_key="app"))
    assert session_of(post(quick, user("Two."), user="ann", prompt_cache_key="app")) != first
    assert session_of(post(quick, user("One."), user="bob", prompt_cache_key="app")) != first


def test_a_first_message_that_failed_is_tried_again_in_its_session(quick):
    """Whether the client says that it retries or its user asks again; once answered, it begins a new one."""
    quick.upstream.then(Fault(status=500))
    asked = {"model": "m", "messages": [user("Hello?")]}
    failed = quick.service.client.post(f"{quick.url}/chat/completions", json=asked)
    assert failed.status_code == 500
    assert failed.headers["x-lamina-user"] == "default"
    answer = post(quick, user("Hello?"))
    assert session_of(answer) == session_of(failed)
    assert session_of(post(quick, user("Hello?"), headers={"X-Stainless-Retry-Count": "1"})) == session_of(failed)
    assert session_of(post(quick, user("Hello?"))) != session_of(failed)
    assert [role for role, _ in quick.said(session_of(failed))] == ["user", "assistant", "assistant"]


def test_what_was_forgotten_does_not_come_back_with_the_history(quick):
    """The session is known again by the rest; the place of the forgotten words stays empty."""
    session = tell(quick)
    quick.service.client.post("/v1/forget", json={"user_id": "default", "text": "Porto"})
    assert session_of(post(quick, *HISTORY)) == session
    assert "Porto" not in str(quick.log(session))


def test_steps_of_a_turn_with_tools_are_in_one_session(quick):
    first = [user("Weather?")]
    tool = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}
    quick.says("{}")
    begun = post(quick, *first, tools=[tool])
    made = begun.json()["choices"][0]["message"]
    second = [*first, made, {"role": "tool", "tool_call_id": made["tool_calls"][0]["id"], "content": "Rain."}]
    assert session_of(post(quick, *second, tools=[tool])) == session_of(begun)


def test_a_response_goes_on_from_the_one_that_it_names(quick):
    """`previous_response_id` finds the session, also of an earlier reply."""

    def respond(text, **more):
        return quick.service.client.post(f"{quick.url}/responses", json={"model": "m", "input": text, **more})

    first = respond("I live in Porto.")
    second = respond("And you?", previous_response_id=first.json()["id"])
    again = respond("Or else?", previous_response_id=first.json()["id"])
    assert [one.status_code for one in (first, second, again)] == [200, 200, 200]
    assert session_of(first) == session_of(second) == session_of(again)
    assert second.headers["x-lamina-session-from"] == "previous_response_id"
    assert session_of(respond("I live in Faro.")) != session_of(first)


def test_an_address_with_a_slash_at_its_end_remembers_too(quick):
    asked = {"model": "m", "messages": [user("Hello.")]}
    answer = quick.service.client.post(f"{quick.url}/chat/completions/", json=asked)
    assert len(quick.said(session_of(answer))) == 2
