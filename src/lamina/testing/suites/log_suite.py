"""Appending and reading messages."""

# ruff: noqa: PLR2004 - the numbers of a test speak for themselves

from datetime import timedelta, timezone
from typing import Any

import pytest

from lamina.errors import Conflict
from lamina.log import chain
from lamina.log.pages import single
from lamina.protocols.store import Store
from lamina.testing.samples import a_draft, a_turn, an_append, at
from lamina.testing.suites.checks_suite import ALL, Suite, is_whole, session_of
from lamina.values.message import Span
from lamina.values.session import Counters, Status


class Log(Suite):
    async def test_messages_get_places_and_turns(self, store: Store) -> None:
        """A session's messages are numbered from 1; a turn begins with each user message."""
        drafts = [a_draft("m0", "Be kind.", role="system"), *a_turn(1), *a_turn(2)]
        appended = await store.append(an_append("s1", *drafts))
        assert appended.span == Span(first=1, last=5)
        assert appended.ids == ("m0", "m1", "m1-reply", "m2", "m2-reply")
        stored = await store.messages("s1", ALL)
        assert [(m.id, m.seq, m.turn) for m in stored] == [
            ("m0", 1, 0), ("m1", 2, 1), ("m1-reply", 3, 1), ("m2", 4, 2), ("m2-reply", 5, 2),
        ]  # fmt: skip

    async def test_appends_go_on_where_the_last_ended(self, store: Store) -> None:
        """Places, turns and counters run through all appends of a session."""
        await store.append(an_append("s1", *a_turn(1)))
        appended = await store.append(an_append("s1", a_draft("m2", "And coffee too"), minutes=3))
        assert appended.span == Span(first=3, last=3)
        assert appended.session == single(await store.sessions(ids=["s1"]))
        assert appended.session.counters == Counters(messages=3, turns=2, tokens=10, closed=False)
        assert appended.session.touched_at == at(3)

    async def test_digests_are_chained(self, store: Store) -> None:
        """Each message's digest is made from its content and the digest before it."""
        await store.append(an_append("s1", *a_turn(1)))
        await store.append(an_append("s1", *a_turn(2)))
        audit = await store.audit("s1")
        digest = chain.first_hash("s1")
        for row in audit.rows:
            digest = chain.extend_chain(digest, row.leaf)
            assert row.digest == digest
        assert audit.last_digest == digest

    async def test_everything_comes_back_as_given(self, store: Store) -> None:
        """Unknown keys, metadata, model, zone and any Unicode survive."""
        draft = a_draft("m1", "naïve 日本語 🎈 O'Brien")._replace(
            body='{"role":"user","content":"naïve 日本語 🎈 O\'Brien","mood":["x",{"y":null}]}',
            metadata='{"a":1.5}',
            model="gpt-x",
            created_at=at(1).astimezone(timezone(timedelta(hours=5, minutes=30))),
        )
        await store.append(an_append("s1", draft, agent_id="helper"))
        message = single(await store.messages(ids=["m1"]))
        assert message is not None
        assert message.to_openai() == {
            "role": "user",
            "content": "naïve 日本語 🎈 O'Brien",
            "mood": ["x", {"y": None}],
        }
        assert (message.metadata, message.model, message.tokens) == ({"a": 1.5}, "gpt-x", 4)
        assert message.created_at.isoformat() == "2025-01-06T14:31:00+05:30"
        assert (await session_of(store, "s1")).agent_id == "helper"

    async def test_tool_calls_and_answers_come_back(self, store: Store) -> None:
        """A message knows the calls it makes and the call it answers; an open call leaves its turn open."""
        call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        body = f'{{"role":"assistant","content":null,"tool_calls":[{str(call).replace(chr(39), chr(34))}]}}'
        calling = a_draft("m1", "", role="assistant")._replace(body=body, calls=("c1",))
        answer = a_draft("m2", "tea", role="tool")._replace(
            body='{"role":"tool","content":"tea","tool_call_id":"c1"}',
            answers="c1",
        )
        opened = await store.append(an_append("s1", a_draft("m0"), calling))
        assert not opened.session.counters.closed
        await store.append(an_append("s1", answer))
        stored = await store.messages("s1", ALL)
        assert [(m.calls, m.answers) for m in stored] == [((), None), (("c1",), None), ((), "c1")]

    async def test_a_message_given_twice_is_stored_once(self, store: Store) -> None:
        """An id with the same content is a duplicate, and what is new beside it is stored."""
        await store.append(an_append("s1", *a_turn(1)))
        again = await store.append(an_append("s1", *a_turn(1), *a_turn(2)))
        assert again.duplicates == ("m1", "m1-reply")
        assert again.ids == ("m1", "m1-reply", "m2", "m2-reply")
        assert again.span == Span(first=3, last=4)
        only_old = await store.append(an_append("s1", *a_turn(2), minutes=9))
        assert only_old.span is None
        assert only_old.session.touched_at == at(0)
        assert len(await store.messages("s1", ALL)) == 4

    async def test_a_message_given_twice_at_once_is_stored_once(self, store: Store) -> None:
        """Within one append, too."""
        appended = await store.append(an_append("s1", a_draft("m1"), a_draft("m1")))
        assert (appended.ids, appended.duplicates) == (("m1", "m1"), ("m1",))
        assert appended.session.counters.messages == 1

    @pytest.mark.parametrize(
        "other",
        [
            pytest.param(a_draft("m1", "I like coffee."), id="other-words"),
            pytest.param(a_draft("m1", role="assistant"), id="other-role"),
            pytest.param(a_draft("m1", minutes=1), id="other-time"),
            pytest.param(a_draft("m1")._replace(metadata='{"a":1}'), id="other-metadata"),
            pytest.param(a_draft("m1")._replace(model="other"), id="other-model"),
        ],
    )
    async def test_an_id_with_other_content_is_a_conflict(self, store: Store, other: Any) -> None:
        """Stored before or in the same append: nothing of the append is kept."""
        await store.append(an_append("s1", a_draft("m1")))
        with pytest.raises(Conflict, match="'m1'"):
            await store.append(an_append("s1", a_draft("m2"), other))
        with pytest.raises(Conflict, match="'m1'"):
            await store.append(an_append("s2", a_draft("m1"), other))
        assert [m.id for m in await store.messages("s1", ALL)] == ["m1"]
        assert single(await store.sessions(ids=["s2"])) is None
        assert await is_whole(store, "s1")

    async def test_an_id_is_taken_in_all_sessions(self, store: Store) -> None:
        """The same message in another session is a conflict, and that session does not begin."""
        await store.append(an_append("s1", a_draft("m1")))
        with pytest.raises(Conflict):
            await store.append(an_append("s2", a_draft("m1")))
        assert single(await store.sessions(ids=["s2"])) is None

    async def test_a_time_taken_from_the_clock_may_differ(self, store: Store) -> None:
        """A message without its own time is the same message later."""
        untimed = a_draft("m1")._replace(timed=False)
        await store.append(an_append("s1", untimed))
        again = await store.append(an_append("s1", untimed._replace(created_at=at(9))))
        assert again.duplicates == ("m1",)

    async def test_an_idempotency_key_stores_once(self, store: Store) -> None:
        """The same append under the same key gives the first result; the ids may have been made anew."""
        first = await store.append(an_append("s1", a_draft("a")._replace(named=False), key="k"))
        again = await store.append(an_append("s1", a_draft("b")._replace(named=False), key="k", minutes=9))
        assert (again.ids, again.span, again.duplicates) == (("a",), first.span, ("a",))
        assert (await session_of(store, "s1")).counters.messages == 1

    async def test_an_idempotency_key_is_for_one_append(self, store: Store) -> None:
        """A key used for something else is a conflict, and nothing is stored."""
        await store.append(an_append("s1", a_draft("m1"), key="k"))
        for other in (an_append("s1", a_draft("m2", "Else"), key="k"), an_append("s2", a_draft("m1"), key="k")):
            with pytest.raises(Conflict, match="'k'"):
                await store.append(other)
        assert (await session_of(store, "s1")).counters.messages == 1

    async def test_a_session_belongs_to_one_user(self, store: Store) -> None:
        """Another user's append is a conflict that names the owner's session, and stores nothing."""
        await store.append(an_append("s1", a_draft("m1")))
        with pytest.raises(Conflict, match="'s1'"):
            await store.append(an_append("s1", a_draft("m2"), user_id="bob"))
        assert single(await store.messages(ids=["m2"])) is None

    @pytest.mark.parametrize("status", ["paused", "ended", "archived"])
    async def test_an_append_reopens_a_session(self, store: Store, status: Status) -> None:
        """Whatever its status was, a session that goes on is active; a duplicate does not reopen it."""
        await store.append(an_append("s1", a_draft("m1")))
        closed = await store.update_session("s1", at(1), status=status)
        await store.append(an_append("s1", a_draft("m1")))
        assert single(await store.sessions(ids=["s1"])) == closed
        appended = await store.append(an_append("s1", a_draft("m2"), minutes=2))
        session = appended.session
        assert (session.status, session.ended_at, session.archived_at) == ("active", None, None)
        assert session == single(await store.sessions(ids=["s1"]))

    async def test_times_of_a_session_are_those_of_its_messages(self, store: Store) -> None:
        """It started with its first message and was last spoken in with its newest."""
        await store.append(an_append("s1", a_draft("m1", minutes=1), a_draft("m2", minutes=2), minutes=50))
        session = (await store.append(an_append("s1", a_draft("m3", minutes=3), minutes=51))).session
        assert (session.started_at, session.last_at, session.touched_at) == (at(1), at(3), at(51))

    async def test_messages_are_read_by_span(self, store: Store) -> None:
        """First and last included; beyond the end, and of unknown sessions, there is nothing."""
        await store.append(an_append("s1", *a_turn(1), *a_turn(2)))
        assert [m.seq for m in await store.messages("s1", Span(first=2, last=3))] == [2, 3]
        assert await store.messages("s1", Span(first=5, last=9)) == []
        assert await store.messages("nowhere", ALL) == []
        assert single(await store.messages(ids=["nothing"])) is None
