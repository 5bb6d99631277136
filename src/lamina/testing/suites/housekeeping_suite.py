"""Ending, archiving, auditing and mending."""

# ruff: noqa: PLR2004 - the numbers of a test speak for themselves

from lamina.log import records
from lamina.log.pages import single
from lamina.protocols.store import Store
from lamina.testing.samples import (
    RULE,
    a_digest,
    a_draft,
    a_fact,
    a_fold,
    a_proposal,
    a_reading,
    a_summary,
    a_told_episode,
    a_told_fact,
    a_turn,
    an_append,
    an_episode,
    at,
    some_facts,
)
from lamina.testing.suites.checks_suite import Suite, claimed, found_ids, is_whole, session_of, standing
from lamina.values.message import Span


class Housekeeping(Suite):
    async def test_idle_sessions_end(self, store: Store) -> None:
        """Only active ones that were not touched since; they are due for their final summary."""
        for number in range(3):
            await store.append(an_append(f"s{number}", a_draft(f"m{number}"), minutes=number))
        await store.update_session("s1", at(1), status="paused")
        for _ in range(3):
            await store.release(await claimed(store))
        assert await store.age_sessions("ended", at(2), at(30)) == ["s0"]
        session = await session_of(store, "s0")
        assert (session.status, session.ended_at, session.touched_at) == ("ended", at(30), at(0))
        assert await store.pending() == 1
        assert await store.age_sessions("ended", at(2), at(31)) == []

    async def test_ended_sessions_are_archived_once_folded(self, store: Store) -> None:
        """Those that ended before; one with unfolded messages waits for its summary."""
        for session_id in ("s1", "s2", "s3"):
            await store.append(an_append(session_id, a_draft(session_id)))
            if session_id != "s2":
                summary = a_summary(f"sum-{session_id}", session_id, Span(first=1, last=1))
                await store.commit(a_fold(session_id, summary, expect=0, cursor=1))
        await store.update_session("s1", at(1), status="ended")
        await store.update_session("s2", at(1), status="ended")
        await store.update_session("s3", at(9), status="ended")
        assert await store.age_sessions("archived", at(5), at(30)) == ["s1"]
        session = await session_of(store, "s1")
        assert (session.status, session.archived_at, session.ended_at) == ("archived", at(30), at(1))

    async def test_an_audit_has_everything_undecoded(self, store: Store) -> None:
        """Rows, summaries of any status, facts and episodes of that session, and what the word index lacks."""
        await store.append(an_append("s1", *a_turn(1), *a_turn(2)))
        await store.commit(a_fold("s1", a_summary("x", "s1", Span(first=1, last=2)), expect=0, cursor=2))
        told, seen = a_told_fact("f2", key="name"), an_episode("e1")
        await store.commit_facts(some_facts(a_fact("f1"), told, episodes=(seen,)))
        upper = a_summary("y", "s1", Span(first=1, last=4), inputs=("x",))
        await store.commit(a_fold("s1", upper, expect=1, cursor=4, retire=("x",)))
        audit = await store.audit("s1")
        assert [row.id for row in audit.rows] == ["m1", "m1-reply", "m2", "m2-reply"]
        assert {row.id: row.status for row in audit.summaries} == {"x": "folded", "y": "live"}
        (fact,) = await store.facts("ann", "s1")
        assert (audit.facts, audit.episodes) == ((records.fact_row(fact),), (records.episode_row(seen),))
        assert audit.unindexed == ()
        assert audit.session == single(await store.sessions(ids=["s1"]))
        assert await is_whole(store, "s1")

    async def test_reindexing_and_counting_again_change_nothing_that_is_right(self, store: Store) -> None:
        """But have the session looked at again."""
        await store.append(an_append("s1", *a_turn(1), *a_turn(2)))
        await store.commit(a_fold("s1", a_summary("x", "s1", Span(first=1, last=2)), expect=0, cursor=2))
        before, words = await store.audit("s1"), await store.find_words("ann", ["tea"], 10)
        await store.release(await claimed(store))
        await store.rebuild()
        await store.rebuild("s1")
        assert await store.audit("s1") == before
        assert await store.find_words("ann", ["tea"], 10) == words
        assert await store.pending() == 1

    async def test_unfolding_drops_what_is_derived(self, store: Store) -> None:
        """Of that session only; the log stays, and a fold or a reading under way comes too late."""
        for session_id in ("s1", "s2"):
            said = a_turn(1, session_id, f"I like tea of {session_id}.")
            await store.append(an_append(session_id, *said))
            summary = a_summary(f"sum-{session_id}", session_id, Span(first=1, last=2))
            await store.commit(a_fold(session_id, summary, expect=0, cursor=2))
            await store.put_proposal(a_proposal(f"p-{session_id}", session_id))
            fact = a_fact(f"f-{session_id}", f"tea of {session_id}", session_id=session_id, message_id=said[0].id)
            episode = an_episode(f"e-{session_id}", said[0].id, session_id=session_id)
            reading = a_reading(await session_of(store, session_id), 2)
            assert await store.commit_facts(some_facts(fact, episodes=(episode,), reading=reading))
        reading = a_reading(await session_of(store, "s1"), 2)
        await store.unfold("s1", RULE)
        counters = (await session_of(store, "s1")).counters
        assert (counters.messages, counters.cursor, counters.cursor_turn, counters.cursor_tokens) == (2, 0, 0, 0)
        assert await store.summaries("s1", live=False) == []
        assert [f.id for f in await store.facts("ann")] == ["f-s2"]
        assert [e.id for e in await store.episodes("ann")] == ["e-s2"]
        assert [p.id for p in await store.proposals()] == ["p-s2"]
        assert "sum-s1" not in found_ids(await store.find_words("ann", ["tea"], 10))
        late = a_fold("s1", a_summary("late", "s1", Span(first=1, last=2)), expect=1, cursor=2)
        assert not await store.commit(late)
        assert not await store.commit_facts(some_facts(reading=reading))
        assert [m.seq for m in await store.messages("s1", unread=True, limit=9)] == [1, 2]
        assert await is_whole(store, "s1")
        assert await is_whole(store, "s2")

    async def test_unfolding_keeps_what_was_told_by_hand(self, store: Store) -> None:
        """It is not derived, so nothing could bring it back; it takes its standing from what is left."""
        await store.append(an_append("s1", *a_turn(1)))
        told = a_told_fact("told", "milk", minutes=0)
        said = a_fact("said", "tea", minutes=1)
        await store.commit_facts(some_facts(told, said, episodes=(a_told_episode("e1"), an_episode("e2"))))
        assert await standing(store) == {"told": "superseded", "said": "active"}
        await store.unfold("s1", RULE)
        assert await standing(store) == {"told": "active"}
        assert [e.id for e in await store.episodes("ann")] == ["e1"]

    async def test_digests_can_be_dropped(self, store: Store) -> None:
        """Of one user; the next begins at version 1."""
        for user_id in ("ann", "bob"):
            await store.append(an_append(f"s-{user_id}", a_draft(user_id), user_id=user_id))
            await store.commit(a_digest(user_id, 1))
            await store.commit(a_digest(user_id, 2))
        await store.drop_digests("ann")
        assert await store.summaries(user_id="ann", digests=True, live=False) == []
        assert len(await store.summaries(user_id="bob", digests=True, live=False)) == 2
        assert "digest-ann-2" not in found_ids(await store.find_words("ann", ["tea"], 10))
        assert await store.commit(a_digest("ann", 1))
