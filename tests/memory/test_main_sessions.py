"""Each user has a main session, by an id that nobody else can take; of sessions of others nothing is told."""

import json
import sqlite3
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina import Conflict, Memory
from lamina.integrations.langgraph import LaminaStore
from lamina.log.messages import main_owner, main_session, own_session_id

IDS = st.text("ab:@/%main", min_size=1, max_size=12)


@given(IDS, IDS | st.none(), IDS, IDS | st.none())
def test_no_two_have_the_same_main_session(user, agent, other, another):
    """Whatever signs are in their ids: whose it is can be read from the id, and so can the agent."""
    assert main_owner(main_session(user, agent)) == user
    assert (main_session(user, agent) == main_session(other, another)) == ((user, agent) == (other, another))
    assert main_owner(own_session_id(main_session(user, agent), other)) == other


def taken(session_id):
    return rf"session '{session_id}' is taken; choose another session_id$"


@pytest.mark.also_postgres
def test_nobody_takes_the_main_session_of_another(place):
    """Neither before they come nor after; the answer is the same, and they write on. Their own id is theirs to name."""
    with Memory(place(), worker=False) as memory:
        for session_id in ("bob:main", "bob:main@guide"):
            with pytest.raises(Conflict, match=taken(session_id)):
                memory.add("mine", user_id="eve", session_id=session_id)
        memory.add("hello", user_id="bob")
        memory.add("again", user_id="bob", session_id="bob:main")
        with pytest.raises(Conflict, match=taken("bob:main")):
            memory.add("mine", user_id="eve", session_id="bob:main")
        memory.add("secret plans", user_id="bob", session_id="plans")
        with pytest.raises(Conflict, match=taken("plans")):
            memory.add("mine", user_id="eve", session_id="plans")
        assert memory.context("plans", user_id="eve", session_id="plans").messages == (
            memory.context("plans", user_id="eve", session_id="nowhere").messages
        )
        assert [(one.id, one.user_id) for one in memory.sessions()] == [("bob:main", "bob"), ("plans", "bob")]


def test_what_somebody_had_from_earlier_stays_theirs(tmp_path):
    """A session in an older file that is named like another's main one is written on by whoever has it."""
    path = tmp_path / "chat.db"
    with Memory(path, worker=False) as memory:
        memory.add("hello", user_id="eve", session_id="s")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("pragma foreign_keys = off")
        for table, column in (("sessions", "id"), ("messages", "session_id")):
            connection.execute(f"update {table} set {column} = 'bob:main' where {column} = 's'")
        connection.commit()
    with Memory(path, worker=False) as memory:
        memory.add("again", user_id="eve", session_id="bob:main")
        with pytest.raises(Conflict, match=taken("bob:main")):
            memory.add("hello", user_id="bob")


def test_a_file_gives_nobody_the_main_session_of_another(tmp_path):
    """What it says of such a session is refused; with `user_id` it becomes another session of that user."""
    said = {"type": "message", "session_id": "bob:main", "role": "user", "content": "hello"}
    squatting, plain = tmp_path / "eve.jsonl", tmp_path / "plain.jsonl"
    squatting.write_text(json.dumps({**said, "user_id": "eve"}))
    plain.write_text(json.dumps(said))
    with Memory(tmp_path / "a.db", worker=False) as memory:
        with pytest.raises(Conflict, match="session 'bob:main' is taken by another user"):
            memory.import_(squatting)
        assert memory.sessions() == []
        memory.import_(plain)
        assert [one.user_id for one in memory.sessions()] == ["bob"]
    with Memory(tmp_path / "b.db", worker=False) as memory:
        for _ in range(2):
            memory.import_(plain, user_id="carol")
        assert [(one.id, one.user_id) for one in memory.sessions()] == [("carol:main@bob%3Amain", "carol")]
        assert memory.add("mine", user_id="carol").session_id == "carol:main"


def test_a_memory_is_given_to_another_user_with_all_that_was_made_of_it(tmp_path):
    """Its main session has another id there, and so has all that tells of it."""
    said = [f"I have {number} lamps and I live in Porto since March {number}." for number in range(1, 30)]
    with Memory(tmp_path / "a.db", profile="project", worker=False) as memory:
        memory.add(said, user_id="bob")
        memory.milestone("bob:main", "begun")
        memory.end("bob:main")
        memory.settle()
        memory.export(tmp_path / "a.jsonl")
        before = {fact.value for fact in memory.facts("bob")}
    with Memory(tmp_path / "b.db", profile="project", worker=False) as memory:
        taken = memory.import_(tmp_path / "a.jsonl", user_id="carol")
        assert (taken.summaries > 0, taken.milestones, taken.skipped) == (True, 1, {})
        assert {fact.value for fact in memory.facts("carol")} == before
        assert memory.verify().problems == ()


def test_the_command_line_says_the_same(cli, tmp_path):
    done = cli("--db", str(tmp_path / "chat.db"), "add", "hello", "--user", "eve", "--session", "bob:main")
    assert done.code != 0
    assert "session 'bob:main' is taken; choose another --session" in done.stderr


def test_a_document_may_be_called_like_a_main_session():
    """Its session ends otherwise, so that it is nobody's main one."""
    keys = ["x:main", "x:main.", "x:main..", "x"]
    with Memory(":memory:", worker=False) as memory:
        store = LaminaStore(memory)
        for key in keys:
            store.put(("docs",), key, {"text": key})
        assert [getattr(store.get(("docs",), key), "value", None) for key in keys] == [{"text": key} for key in keys]
        assert sorted(item.key for item in store.search(("docs",))) == sorted(keys)
