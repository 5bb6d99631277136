"""What every store must do, as tests: subclass `StoreSuite`, give it a store, and run it with pytest and anyio.

class TestMyStore(StoreSuite):
    @pytest.fixture
    async def store(self): ...       # an open store of tenant "default", closed afterwards

    @pytest.fixture
    async def neighbour(self): ...   # a store of another tenant over the same data
"""

# ruff: noqa: PLR2004 - the numbers of a test speak for themselves

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta, timezone
from typing import Any

import pytest

from lamina.errors import Conflict, NotFound
from lamina.policy import integrity, log
from lamina.policy.words import terms
from lamina.ports import Claim, Reach, Store, WordMatches
from lamina.testing.samples import (
    a_digest,
    a_draft,
    a_fact,
    a_fold,
    a_milestone,
    a_summary,
    a_turn,
    an_append,
    at,
)
from lamina.types import Counters, Session, Span, Status

ALL = Span(first=1, last=1_000)


def found_ids(matches: WordMatches) -> set[str]:
    return {item.id for item in matches.matches}


async def session_of(store: Store, session_id: str) -> Session:
    found = await store.session(session_id)
    assert found is not None
    return found


async def claimed(store: Store, owner: str = "w1", minutes: float = 60, **options: Any) -> Claim:
    claim = await store.claim(owner, at(minutes), at(minutes + 1), **options)
    assert claim is not None
    return claim


async def is_whole(store: Store, session_id: str) -> bool:
    return not list(integrity.problems(await store.audit(session_id))) and not await store.check()


@pytest.mark.anyio
class _Suite:
    @pytest.fixture
    def anyio_backend(self) -> str:
        return "asyncio"


class _Log(_Suite):
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
        assert appended.session == await store.session("s1")
        assert appended.session.counters == Counters(messages=3, turns=2, tokens=10, closed=False)
        assert appended.session.touched_at == at(3)

    async def test_digests_are_chained(self, store: Store) -> None:
        """Each message's digest is made from its content and the digest before it."""
        await store.append(an_append("s1", *a_turn(1)))
        await store.append(an_append("s1", *a_turn(2)))
        audit = await store.audit("s1")
        digest = log.first_digest("s1")
        for row in audit.rows:
            digest = log.chained(digest, row.leaf)
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
        message = await store.message("m1")
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
        assert await store.session("s2") is None
        assert await is_whole(store, "s1")

    async def test_an_id_is_taken_in_all_sessions(self, store: Store) -> None:
        """The same message in another session is a conflict, and that session does not begin."""
        await store.append(an_append("s1", a_draft("m1")))
        with pytest.raises(Conflict):
            await store.append(an_append("s2", a_draft("m1")))
        assert await store.session("s2") is None

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
        assert await store.message("m2") is None

    @pytest.mark.parametrize("status", ["paused", "ended", "archived"])
    async def test_an_append_reopens_a_session(self, store: Store, status: Status) -> None:
        """Whatever its status was, a session that goes on is active; a duplicate does not reopen it."""
        await store.append(an_append("s1", a_draft("m1")))
        closed = await store.set_status("s1", status, at(1))
        await store.append(an_append("s1", a_draft("m1")))
        assert await store.session("s1") == closed
        appended = await store.append(an_append("s1", a_draft("m2"), minutes=2))
        session = appended.session
        assert (session.status, session.ended_at, session.archived_at) == ("active", None, None)
        assert session == await store.session("s1")

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
        assert await store.message("nothing") is None


class _Sessions(_Suite):
    async def test_sessions_come_in_pages_by_id(self, store: Store) -> None:
        """`after` goes on behind the last id; filters hold on every page."""
        for number in range(5):
            user = "ann" if number % 2 == 0 else "bob"
            await store.append(an_append(f"s{number}", a_draft(f"m{number}"), user_id=user))
        await store.set_status("s2", "ended", at(1))
        first = await store.sessions(limit=2)
        assert [s.id for s in first] == ["s0", "s1"]
        assert [s.id for s in await store.sessions(limit=2, after="s1")] == ["s2", "s3"]
        assert [s.id for s in await store.sessions(user_id="ann")] == ["s0", "s2", "s4"]
        assert [s.id for s in await store.sessions(status="ended")] == ["s2"]
        assert [s.id for s in await store.sessions(user_id="ann", status="active", after="s0")] == ["s4"]
        assert await store.sessions(after="s4") == []
        assert await store.session("s9") is None

    async def test_newest_sessions_began_last(self, store: Store) -> None:
        """By the time of their first message, whatever came later; of one user."""
        for number, minutes in enumerate((5, 1, 9)):
            await store.append(an_append(f"s{number}", a_draft(f"m{number}", minutes=minutes)))
        await store.append(an_append("s1", a_draft("late", minutes=99)))
        await store.append(an_append("other", a_draft("o", minutes=50), user_id="bob"))
        assert [s.id for s in await store.newest_sessions("ann", 2)] == ["s2", "s0"]
        assert [s.id for s in await store.newest_sessions("ann", 9)] == ["s2", "s0", "s1"]

    async def test_status_keeps_its_times(self, store: Store) -> None:
        """Ending twice keeps the first time; archiving keeps the end; resuming forgets both."""
        await store.append(an_append("s1", a_draft("m1")))
        ended = await store.set_status("s1", "ended", at(1))
        assert (ended.status, ended.ended_at, ended.touched_at) == ("ended", at(1), at(1))
        assert (await store.set_status("s1", "ended", at(2))).ended_at == at(1)
        archived = await store.set_status("s1", "archived", at(3))
        assert (archived.ended_at, archived.archived_at) == (at(1), at(3))
        resumed = await store.set_status("s1", "active", at(4))
        assert (resumed.ended_at, resumed.archived_at) == (None, None)
        assert resumed == await store.session("s1")

    async def test_milestones_are_kept_by_turn(self, store: Store) -> None:
        """In order of turn, each id once."""
        await store.append(an_append("s1", a_draft("m1")))
        for milestone in (a_milestone("b", "s1", 4), a_milestone("a", "s1", 2), a_milestone("b", "s1", 4)):
            await store.add_milestone(milestone)
        assert await store.milestones("s1") == [a_milestone("a", "s1", 2), a_milestone("b", "s1", 4)]
        assert await store.milestones("s2") == []

    @pytest.mark.parametrize(
        "verb",
        [
            pytest.param(lambda store: store.set_status("s9", "ended", at(1)), id="set_status"),
            pytest.param(lambda store: store.add_milestone(a_milestone("a", "s9")), id="add_milestone"),
            pytest.param(lambda store: store.audit("s9"), id="audit"),
            pytest.param(lambda store: store.recount("s9"), id="recount"),
            pytest.param(lambda store: store.unfold("s9"), id="unfold"),
        ],
    )
    async def test_an_unknown_session_is_not_found(
        self, store: Store, verb: Callable[[Store], Awaitable[object]]
    ) -> None:
        """Verbs that change or examine a session say that there is none."""
        with pytest.raises(NotFound, match="s9"):
            await verb(store)

    async def test_settings_are_kept(self, store: Store) -> None:
        """The newest value wins; what was never set is None."""
        assert await store.setting("profile") is None
        await store.put_setting("profile", "a")
        await store.put_setting("profile", "b")
        assert await store.setting("profile") == "b"


class _Reading(_Suite):
    async def folded(self, store: Store) -> None:
        """A session of four turns whose first two are in a summary, with a fact and a digest."""
        await store.append(an_append("s1", *a_turn(1), *a_turn(2), *a_turn(3), *a_turn(4)))
        summary = a_summary("sum1", "s1", Span(first=1, last=4))
        fold = a_fold("s1", summary, expect=0, cursor=4, facts=(a_fact("f1", "I like tea."),))
        assert await store.commit(fold)
        assert await store.commit_digest(a_digest("ann", 1))

    async def test_a_view_is_all_that_a_context_needs(self, store: Store) -> None:
        """The session, its live summaries, its newest messages, the user's digest and facts."""
        await self.folded(store)
        view = await store.view("ann", "s1", Reach(turns=1, tokens=1_000))
        assert view.session == await store.session("s1")
        assert [s.id for s in view.summaries] == ["sum1"]
        assert [m.id for m in view.tail] == ["m4", "m4-reply"]
        assert view.digest == a_digest("ann", 1)
        assert [f.id for f in view.facts] == ["f1"]

    async def test_a_view_without_a_session_knows_the_user(self, store: Store) -> None:
        """A new session hears of the digest and the facts."""
        await self.folded(store)
        for session_id in (None, "new"):
            view = await store.view("ann", session_id, Reach(turns=1, tokens=1_000))
            assert (view.session, view.summaries, view.tail) == (None, (), ())
            assert view.digest is not None
            assert len(view.facts) == 1
        nobody = await store.view("bob", None, Reach(turns=1, tokens=1_000))
        assert (nobody.digest, nobody.facts) == (None, ())

    @pytest.mark.parametrize(
        ("reach", "seqs"),
        [
            pytest.param(Reach(messages=1, tokens=1_000), [7, 8], id="whole-turns"),
            pytest.param(Reach(messages=3, tokens=1_000), [5, 6, 7, 8], id="messages"),
            pytest.param(Reach(turns=3, tokens=1_000), [3, 4, 5, 6, 7, 8], id="turns"),
            pytest.param(Reach(turns=1, back_to_cursor=True, tokens=1_000), [5, 6, 7, 8], id="cursor"),
            pytest.param(Reach(fill=True, tokens=8), [5, 6, 7, 8], id="fill"),
            pytest.param(Reach(fill=True, tokens=1_000), [1, 2, 3, 4, 5, 6, 7, 8], id="fill-all"),
            pytest.param(Reach(turns=9, back_to_cursor=True, tokens=5), [7, 8], id="tokens-stop-it"),
        ],
    )
    async def test_a_view_reaches_as_far_as_asked(self, store: Store, reach: Reach, seqs: list[int]) -> None:
        """The tail begins with a whole turn and goes little further than the tokens."""
        await self.folded(store)
        view = await store.view("ann", "s1", reach)
        assert [m.seq for m in view.tail] == seqs

    async def test_a_summary_comes_back_whole(self, store: Store) -> None:
        """With its recipe, provenance and times."""
        await self.folded(store)
        assert await store.summary("sum1") == a_summary("sum1", "s1", Span(first=1, last=4))
        assert await store.summary("nothing") is None
        assert await store.summaries("nowhere") == []

    async def test_folded_summaries_are_kept_but_not_live(self, store: Store) -> None:
        """A retired summary says what it was folded into."""
        await self.folded(store)
        upper = a_summary("sum2", "s1", Span(first=1, last=6), inputs=("sum1",))
        assert await store.commit(a_fold("s1", upper, expect=1, cursor=6, retire=("sum1",)))
        assert await store.summaries("s1") == [upper]
        everything = await store.summaries("s1", live=False)
        assert [(s.id, s.status, s.folded_into) for s in everything] == [
            ("sum1", "folded", "sum2"),
            ("sum2", "live", None),
        ]

    async def test_live_summaries_come_in_the_order_of_the_log(self, store: Store) -> None:
        """By what they cover, not by when they were made."""
        await self.folded(store)
        await store.commit(a_fold("s1", a_summary("a", "s1", Span(first=5, last=6)), expect=1, cursor=6))
        assert [s.id for s in await store.summaries("s1")] == ["sum1", "a"]

    async def test_digests_come_newest_first(self, store: Store) -> None:
        """Each replaces the one before it, which is kept."""
        await self.folded(store)
        assert await store.commit_digest(a_digest("ann", 2, "Ann spoke of coffee."))
        assert [(d.version, d.status) for d in await store.digests("ann")] == [(2, "live"), (1, "folded")]
        assert await store.digests("bob") == []

    async def test_a_late_digest_is_discarded(self, store: Store) -> None:
        """One that knows less than the newest changes nothing."""
        await self.folded(store)
        assert not await store.commit_digest(replace(a_digest("ann", 1), id="late"))
        assert await store.summary("late") is None

    async def test_facts_are_kept_once(self, store: Store) -> None:
        """The same words, whatever their case, accents and spaces, are one fact of a user; the first is kept."""
        await self.folded(store)
        await store.append(an_append("b1", a_draft("b"), user_id="bob"))
        again = (a_fact("f2", "i LIKE  téa."), a_fact("f3", "I hate rain.", importance=0.9))
        fold = a_fold("s1", a_summary("sum2", "s1", Span(first=5, last=6)), expect=1, cursor=6, facts=again)
        assert await store.commit(fold)
        other = a_fact("f4", "I like tea.", user_id="bob", session_id="b1", message_id="b")
        summary = a_summary("bsum", "b1", Span(first=1, last=1), user_id="bob")
        assert await store.commit(a_fold("b1", summary, expect=0, cursor=1, facts=(other,)))
        assert [f.id for f in await store.facts("ann")] == ["f3", "f1"]
        assert await store.facts("bob") == [other]
        assert await store.facts("ann", "b1") == []

    async def test_words_are_found_with_the_users_own_statistics(self, store: Store) -> None:
        """Messages and live summaries of that user; frequencies count no one else's."""
        await store.append(an_append("s1", a_draft("m1", "Green tea"), a_draft("m2", "Black milk")))
        await store.append(an_append("b1", a_draft("b1", "Green tea, green tea"), user_id="bob"))
        await store.commit(
            a_fold("s1", a_summary("sum1", "s1", Span(first=1, last=1), "Likes tea"), expect=0, cursor=1)
        )
        found = await store.find_words("ann", ["tea", "milk", "rum"], 10)
        assert found.documents == 3
        assert found.frequency == {"tea": 2, "milk": 1, "rum": 0}
        assert found_ids(found) == {"m1", "m2", "sum1"}
        assert found_ids(await store.find_words("bob", ["tea"], 10)) == {"b1"}
        assert found_ids(await store.find_words("ann", [], 10)) == set()

    async def test_folded_summaries_are_not_found(self, store: Store) -> None:
        """Only live summaries and the newest digest answer."""
        await self.folded(store)
        upper = a_summary("sum2", "s1", Span(first=1, last=6), "Of rain", inputs=("sum1",))
        await store.commit(a_fold("s1", upper, expect=1, cursor=6, retire=("sum1",)))
        await store.commit_digest(a_digest("ann", 2, "Of rain"))
        assert found_ids(await store.find_words("ann", ["rain"], 10)) == {"sum2", "digest-ann-2"}
        assert not {"sum1", "digest-ann-1"} & found_ids(await store.find_words("ann", ["tea"], 10))

    @pytest.mark.parametrize(
        "text",
        [
            "O'Brien's café",
            "don\u2019t naïve",
            "日本語のお茶",
            'say "AND" OR NOT',
            "a-b_c*d:e",
            "İstanbul ǅ ß",
            "𐴀𐴁 ᱠᱟ",
            "NEAR(x y)",
        ],
    )
    async def test_any_word_can_be_found(self, store: Store, text: str) -> None:
        """Whatever the script or the sign, each term of a text finds it, and nothing else."""
        await store.append(an_append("s1", a_draft("m1", text), a_draft("m2", "o brien cav zz")))
        for term in set(terms(text)):
            found = await store.find_words("ann", [term], 10)
            assert (found_ids(found), found.frequency) == ({"m1"}, {term: 1})

    async def test_no_more_than_the_limit_is_found(self, store: Store) -> None:
        """At most so many messages, though the frequency counts all."""
        await store.append(an_append("s1", *(a_draft(f"m{n}", "tea") for n in range(9))))
        found = await store.find_words("ann", ["tea"], 4)
        assert (len(found.matches), found.frequency) == (4, {"tea": 9})


class _Folding(_Suite):
    async def begun(self, store: Store, *sessions: str) -> None:
        for minutes, session_id in enumerate(sessions):
            turns = [*a_turn(1, f"{session_id}-"), *a_turn(2, f"{session_id}-")]
            await store.append(an_append(session_id, *turns, minutes=minutes))

    async def test_a_new_session_is_pending(self, store: Store) -> None:
        """It is worth a look until a worker has looked and nothing has changed."""
        await self.begun(store, "s1")
        assert await store.pending() == 1
        await store.release(await claimed(store))
        assert await store.pending() == 0
        assert await store.claim("w1", at(60), at(61)) is None

    async def test_an_append_that_is_due_is_pending(self, store: Store) -> None:
        """The caller says from counters and status; what is not due leaves no work."""
        await self.begun(store, "s1")
        await store.release(await claimed(store))
        await store.append(an_append("s1", *a_turn(3)))
        assert await store.pending() == 0
        seen: list[tuple[int, str]] = []

        def due(counters: Counters, status: Status) -> bool:
            seen.append((counters.messages, status))
            return True

        await store.append(an_append("s1", *a_turn(4), due=due))
        assert seen == [(8, "active")]
        assert await store.pending() == 1

    async def test_the_longest_untouched_is_claimed_first(self, store: Store) -> None:
        """Each session by one worker; skipped ones by none."""
        await self.begun(store, "s2", "s1", "s3")
        assert (await claimed(store, skip=["s2"])).session.id == "s1"
        assert (await claimed(store, "w2")).session.id == "s2"
        assert (await claimed(store, "w3")).session.id == "s3"
        assert await store.claim("w4", at(60), at(61)) is None
        leases = await store.leases()
        assert [(x.session_id, x.owner, x.until) for x in leases] == [
            ("s1", "w1", at(61)),
            ("s2", "w2", at(61)),
            ("s3", "w3", at(61)),
        ]

    async def test_a_lease_holds_until_its_time(self, store: Store) -> None:
        """Then another worker may have the session, and the first can do nothing more with it."""
        await self.begun(store, "s1")
        first = await claimed(store)
        assert await store.claim("w2", at(61), at(62)) is None
        assert await store.renew(first, at(63))
        assert await store.claim("w2", at(62), at(64)) is None
        second = await store.claim("w2", at(64), at(65))
        assert second is not None
        assert not await store.renew(first, at(99))
        await store.release(first)
        await store.fail(first, at(99))
        assert [(x.owner, x.until) for x in await store.leases()] == [("w2", at(65))]
        assert (await session_of(store, "s1")).attempts == 0

    async def test_the_lease_of_a_dead_worker_can_be_revoked(self, store: Store) -> None:
        """All of that worker's, and no other's; the work is still due."""
        await self.begun(store, "s1", "s2")
        await claimed(store, "dead")
        await claimed(store, "alive")
        await store.revoke("dead")
        assert [x.owner for x in await store.leases()] == ["alive"]
        assert (await claimed(store, "w3")).session.id == "s1"

    async def test_what_changed_since_the_claim_stays_pending(self, store: Store) -> None:
        """A worker that releases a session takes away only what it has seen."""
        await self.begun(store, "s1")
        claim = await claimed(store)
        await store.append(an_append("s1", *a_turn(3)))
        await store.release(claim)
        assert await store.pending() == 1

    async def test_a_failure_waits(self, store: Store) -> None:
        """The session is claimed again after the wait, or at once by the impatient; failures are counted."""
        await self.begun(store, "s1")
        await store.fail(await claimed(store), at(70))
        assert (await session_of(store, "s1")).attempts == 1
        assert await store.claim("w1", at(69), at(70)) is None
        await store.fail(await claimed(store, minutes=69, impatient=True), at(80))
        assert (await session_of(store, "s1")).attempts == 2
        claim = await claimed(store, minutes=80)
        assert claim.session.attempts == 2
        await store.release(claim)
        assert (await session_of(store, "s1")).attempts == 0

    async def test_a_fold_moves_the_cursor(self, store: Store) -> None:
        """The counters say how much is covered; a good fold forgets the failures."""
        await self.begun(store, "s1")
        await store.fail(await claimed(store), at(70))
        assert await store.commit(a_fold("s1", a_summary("x", "s1", Span(first=1, last=2)), expect=0, cursor=2))
        session = await session_of(store, "s1")
        assert session.counters == Counters(
            messages=4, turns=2, tokens=14, closed=True, cursor=2, cursor_turn=1, cursor_tokens=7, version=1
        )
        assert session.attempts == 0
        assert (await claimed(store, minutes=1)).session.id == "s1"
        assert await is_whole(store, "s1")

    async def test_the_second_of_two_folds_is_discarded(self, store: Store) -> None:
        """Compare-and-set on the version: all of the late one is dropped, summary, facts and retirements."""
        await self.begun(store, "s1")
        assert await store.commit(a_fold("s1", a_summary("x", "s1", Span(first=1, last=2)), expect=0, cursor=2))
        before = await store.audit("s1")
        late = a_summary("y", "s1", Span(first=1, last=4))
        facts = (a_fact("f", "I like tea."),)
        assert not await store.commit(a_fold("s1", late, expect=0, cursor=4, retire=("x",), facts=facts))
        assert await store.audit("s1") == before
        assert await store.summary("y") is None
        assert not await store.commit(a_fold("s9", late, expect=0, cursor=4))

    async def test_changed_rules_make_everything_pending(self, store: Store) -> None:
        """Also what a worker holds at that moment."""
        await self.begun(store, "s1", "s2")
        await store.release(await claimed(store))
        held = await claimed(store)
        await store.mark_pending()
        await store.release(held)
        assert await store.pending() == 2

    async def test_a_new_status_is_pending(self, store: Store) -> None:
        """An ended session has its final summary to come."""
        await self.begun(store, "s1")
        await store.release(await claimed(store))
        await store.set_status("s1", "ended", at(5))
        assert await store.pending() == 1


class _Housekeeping(_Suite):
    async def test_idle_sessions_end(self, store: Store) -> None:
        """Only active ones that were not touched since; they are due for their final summary."""
        for number in range(3):
            await store.append(an_append(f"s{number}", a_draft(f"m{number}"), minutes=number))
        await store.set_status("s1", "paused", at(1))
        for _ in range(3):
            await store.release(await claimed(store))
        assert await store.end_idle(at(2), at(30)) == ["s0"]
        session = await session_of(store, "s0")
        assert (session.status, session.ended_at, session.touched_at) == ("ended", at(30), at(0))
        assert await store.pending() == 1
        assert await store.end_idle(at(2), at(31)) == []

    async def test_ended_sessions_are_archived_once_folded(self, store: Store) -> None:
        """Those that ended before; one with unfolded messages waits for its summary."""
        for session_id in ("s1", "s2", "s3"):
            await store.append(an_append(session_id, a_draft(session_id)))
            if session_id != "s2":
                summary = a_summary(f"sum-{session_id}", session_id, Span(first=1, last=1))
                await store.commit(a_fold(session_id, summary, expect=0, cursor=1))
        await store.set_status("s1", "ended", at(1))
        await store.set_status("s2", "ended", at(1))
        await store.set_status("s3", "ended", at(9))
        assert await store.archive_ended(at(5), at(30)) == ["s1"]
        session = await session_of(store, "s1")
        assert (session.status, session.archived_at, session.ended_at) == ("archived", at(30), at(1))

    async def test_an_audit_has_everything_undecoded(self, store: Store) -> None:
        """Rows, summaries of any status, facts, and what the word index lacks."""
        await store.append(an_append("s1", *a_turn(1), *a_turn(2)))
        fact = a_fact("f1", "I like tea.")
        await store.commit(a_fold("s1", a_summary("x", "s1", Span(first=1, last=2)), expect=0, cursor=2, facts=(fact,)))
        upper = a_summary("y", "s1", Span(first=1, last=4), inputs=("x",))
        await store.commit(a_fold("s1", upper, expect=1, cursor=4, retire=("x",)))
        audit = await store.audit("s1")
        assert [row.id for row in audit.rows] == ["m1", "m1-reply", "m2", "m2-reply"]
        assert {row.id: row.status for row in audit.summaries} == {"x": "folded", "y": "live"}
        assert (audit.facts, audit.unindexed) == ((fact,), ())
        assert audit.session == await store.session("s1")
        assert await is_whole(store, "s1")

    async def test_reindexing_and_counting_again_change_nothing_that_is_right(self, store: Store) -> None:
        """But have the session looked at again."""
        await store.append(an_append("s1", *a_turn(1), *a_turn(2)))
        await store.commit(a_fold("s1", a_summary("x", "s1", Span(first=1, last=2)), expect=0, cursor=2))
        before, words = await store.audit("s1"), await store.find_words("ann", ["tea"], 10)
        await store.release(await claimed(store))
        await store.reindex()
        await store.recount("s1")
        assert await store.audit("s1") == before
        assert await store.find_words("ann", ["tea"], 10) == words
        assert await store.pending() == 1

    async def test_unfolding_drops_what_is_derived(self, store: Store) -> None:
        """Summaries and facts of that session only; the log stays, and a fold under way comes too late."""
        for session_id in ("s1", "s2"):
            said = a_turn(1, session_id, f"I like tea of {session_id}")
            await store.append(an_append(session_id, *said))
            fact = a_fact(f"f-{session_id}", said[0].text, session_id=session_id, message_id=said[0].id)
            summary = a_summary(f"sum-{session_id}", session_id, Span(first=1, last=2))
            await store.commit(a_fold(session_id, summary, expect=0, cursor=2, facts=(fact,)))
        await store.unfold("s1")
        counters = (await session_of(store, "s1")).counters
        assert (counters.messages, counters.cursor, counters.cursor_turn, counters.cursor_tokens) == (2, 0, 0, 0)
        assert await store.summaries("s1", live=False) == []
        assert [f.id for f in await store.facts("ann")] == ["f-s2"]
        assert "sum-s1" not in found_ids(await store.find_words("ann", ["tea"], 10))
        late = a_fold("s1", a_summary("late", "s1", Span(first=1, last=2)), expect=1, cursor=2)
        assert not await store.commit(late)
        assert await is_whole(store, "s1")
        assert await is_whole(store, "s2")

    async def test_digests_can_be_dropped(self, store: Store) -> None:
        """Of one user; the next begins at version 1."""
        for user_id in ("ann", "bob"):
            await store.append(an_append(f"s-{user_id}", a_draft(user_id), user_id=user_id))
            await store.commit_digest(a_digest(user_id, 1))
            await store.commit_digest(a_digest(user_id, 2))
        await store.drop_digests("ann")
        assert await store.digests("ann") == []
        assert len(await store.digests("bob")) == 2
        assert "digest-ann-2" not in found_ids(await store.find_words("ann", ["tea"], 10))
        assert await store.commit_digest(a_digest("ann", 1))


class _Tenants(_Suite):
    """Two tenants with the same users, sessions and ids over the same data."""

    async def filled(self, store: Store, text: str) -> None:
        await store.append(an_append("s1", *a_turn(1, text=text), key="k"))
        summary = a_summary("sum1", "s1", Span(first=1, last=2), f"Said {text}")
        fact = a_fact("f1", text, message_id="m1")
        assert await store.commit(a_fold("s1", summary, expect=0, cursor=2, facts=(fact,)))
        assert await store.commit_digest(a_digest("ann", 1, f"Spoke: {text}"))
        await store.add_milestone(replace(a_milestone("mile", "s1"), title=text))
        await store.put_setting("profile", text)

    async def seen(self, store: Store) -> list[object]:
        """Everything that the reading verbs give."""
        return [
            await store.messages("s1", ALL),
            await store.message("m1"),
            await store.session("s1"),
            await store.sessions(),
            await store.newest_sessions("ann", 9),
            await store.milestones("s1"),
            await store.view("ann", "s1", Reach(turns=9, fill=True, tokens=999)),
            await store.summaries("s1", live=False),
            await store.summary("sum1"),
            await store.digests("ann"),
            await store.facts("ann"),
            await store.find_words("ann", ["tea", "rain"], 9),
            await store.pending(),
            await store.leases(),
            await store.setting("profile"),
        ]

    async def test_an_empty_tenant_sees_nothing_of_another(self, store: Store, neighbour: Store) -> None:
        """No reading verb crosses tenants."""
        empty = await self.seen(neighbour)
        await self.filled(store, "I like tea")
        assert await self.seen(neighbour) == empty
        with pytest.raises(NotFound):
            await neighbour.audit("s1")
        assert await neighbour.check() == []

    async def test_the_same_ids_live_side_by_side(self, store: Store, neighbour: Store) -> None:
        """Messages, keys, summaries, facts and settings of two tenants never meet."""
        await self.filled(store, "I like tea")
        await self.filled(neighbour, "I like rain")
        for own, text, word in ((store, "I like tea", "tea"), (neighbour, "I like rain", "rain")):
            stored = await own.messages("s1", ALL)
            assert [m.text for m in stored] == [text, f"Noted: {text}"]
            found = await own.find_words("ann", ["tea", "rain"], 9)
            assert {term for term, count in found.frequency.items() if count} == {word}
            assert (await own.audit("s1")).facts[0].quote == text
            assert await is_whole(own, "s1")

    @pytest.mark.parametrize(
        "verb",
        [
            pytest.param(
                lambda n: n.append(an_append("s1", a_draft("m1", "Else"), user_id="bob", key="k")), id="append"
            ),
            pytest.param(lambda n: n.claim("w2", at(60), at(61), impatient=True), id="claim"),
            pytest.param(lambda n: n.renew(_stolen(), at(99)), id="renew"),
            pytest.param(lambda n: n.release(_stolen()), id="release"),
            pytest.param(lambda n: n.fail(_stolen(), at(99)), id="fail"),
            pytest.param(lambda n: n.revoke("w1"), id="revoke"),
            pytest.param(
                lambda n: n.commit(a_fold("s1", a_summary("z", "s1", Span(first=1, last=2)), expect=1, cursor=2)),
                id="commit",
            ),
            pytest.param(lambda n: n.commit_digest(a_digest("ann", 2)), id="commit_digest"),
            pytest.param(lambda n: n.mark_pending(), id="mark_pending"),
            pytest.param(lambda n: n.end_idle(at(99), at(99)), id="end_idle"),
            pytest.param(lambda n: n.archive_ended(at(99), at(99)), id="archive_ended"),
            pytest.param(lambda n: n.put_setting("profile", "x"), id="put_setting"),
            pytest.param(lambda n: n.drop_digests("ann"), id="drop_digests"),
        ],
    )
    async def test_no_writing_verb_crosses_tenants(
        self, store: Store, neighbour: Store, verb: Callable[[Store], Awaitable[object]]
    ) -> None:
        """Whatever a neighbour does under the same ids, nothing changes here."""
        await self.filled(store, "I like tea")
        await claimed(store, "w1")
        before, audit = await self.seen(store), await store.audit("s1")
        await verb(neighbour)
        assert await self.seen(store) == before
        assert await store.audit("s1") == audit

    @pytest.mark.parametrize(
        "verb",
        [
            pytest.param(lambda n: n.set_status("s1", "ended", at(9)), id="set_status"),
            pytest.param(lambda n: n.add_milestone(a_milestone("x", "s1")), id="add_milestone"),
            pytest.param(lambda n: n.recount("s1"), id="recount"),
            pytest.param(lambda n: n.unfold("s1"), id="unfold"),
        ],
    )
    async def test_a_neighbours_session_is_not_found(
        self, store: Store, neighbour: Store, verb: Callable[[Store], Awaitable[object]]
    ) -> None:
        """As if it did not exist; and it stays as it was."""
        await self.filled(store, "I like tea")
        before = await self.seen(store)
        with pytest.raises(NotFound):
            await verb(neighbour)
        assert await self.seen(store) == before


def _stolen() -> Claim:
    """A claim on another tenant's session."""
    session = Session(
        id="s1", user_id="ann", status="active", started_at=at(), last_at=at(), touched_at=at(), counters=Counters()
    )
    return Claim(session=session, owner="w1", touch=1)


class StoreSuite(_Log, _Sessions, _Reading, _Folding, _Housekeeping, _Tenants):
    """Every promise of `lamina.ports.Store`; subclasses give the fixtures `store` and `neighbour`."""


__all__ = ["StoreSuite"]
