"""What is counted as a change of a user's memory, and what as words taken away."""

# ruff: noqa: PLR2004 - the numbers of a test speak for themselves

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from lamina.log.pages import single
from lamina.protocols.store import Access, ChangedSession, Changes, Store
from lamina.testing.samples import (
    RULE,
    a_digest,
    a_draft,
    a_fact,
    a_fold,
    a_link,
    a_milestone,
    a_proposal,
    a_reading,
    a_rewrite,
    a_summary,
    a_swap,
    a_told_fact,
    a_turn,
    an_append,
    an_episode,
    an_erasure,
    at,
    some_facts,
)
from lamina.testing.suites.checks_suite import Suite, claimed, counted, embedded, row_of, session_of
from lamina.testing.suites.erasing_suite import remembered
from lamina.values.message import Span

Verb = Callable[[Store], Awaitable[object]]
D = a_summary("d", "s1", Span(first=7, last=8))


async def _judged(store: Store) -> None:
    fact = single(await store.facts(ids=["f4"]))
    assert fact is not None
    judged = replace(fact, verdict="demoted", verdict_at=at(9), decay=0.5)
    await store.commit_facts(some_facts(change=(judged,)))


async def _renamed(store: Store) -> None:
    fact = single(await store.facts(ids=["told"]))
    assert fact is not None
    await store.commit_facts(some_facts(change=(replace(fact, tags=("name",)),)))


async def _joined(store: Store) -> None:
    joined = replace(an_episode("e1"), title="Joined", merged=("e2",))
    await store.commit_facts(some_facts(change_episodes=(joined,), drop_episodes=("e2",)))


async def _faded(store: Store) -> None:
    (fact, *_), (episode, *_) = await store.facts("ann"), await store.episodes("ann")
    faded = some_facts(change=(replace(fact, decay=0.5),), change_episodes=(replace(episode, decay=0.5),))
    await store.commit_facts(faded)


async def _archived(store: Store) -> None:
    await store.commit(a_fold("s1", D, expect=4, cursor=8))
    await store.update_session("s1", at(9), status="ended")
    before, _ = await counted(store)
    assert await store.age_sessions("archived", at(99), at(99)) == ["s1"]
    assert (await counted(store))[0] == before + 1


async def _forgotten(store: Store) -> None:
    await store.erase(an_erasure(a_rewrite(await row_of(store, "s1", 3))))


async def _dropped(store: Store) -> None:
    await store.erase(an_erasure(a_rewrite(await row_of(store, "s1", 3)), derived=False))


async def _dry_run(store: Store) -> None:
    for erasure in (
        an_erasure(a_rewrite(await row_of(store, "s1", 3)), facts=("told",)),
        an_erasure(sessions=("s1",)),
        an_erasure(user=True),
    ):
        await store.erase(replace(erasure, dry_run=True))


async def _worked(store: Store) -> None:
    await store.release(await claimed(store))
    await store.requeue()
    await store.release(await claimed(store), failed="broken", retry_at=at(9))
    await store.release(await claimed(store, minutes=98), failed="broken")
    await store.requeue(set_aside=True)
    await store.renew(await claimed(store, minutes=99), at(200))
    await store.drop_worker("w1")


async def _read(store: Store) -> None:
    assert await store.commit_facts(some_facts(reading=a_reading(await session_of(store, "s1"), 8)))


CHANGES = [
    pytest.param(lambda s: s.append(an_append("s1", *a_turn(5))), id="append"),
    pytest.param(lambda s: s.append(an_append("s2", *a_turn(5))), id="new-session"),
    pytest.param(lambda s: s.commit(a_fold("s1", D, expect=4, cursor=8)), id="fold"),
    pytest.param(lambda s: s.commit(a_digest("ann", 3)), id="digest"),
    pytest.param(lambda s: s.commit(a_swap("s1", expect=4, cursor=4, retire=("c",))), id="swap"),
    pytest.param(lambda s: s.commit_facts(some_facts(a_told_fact("f9", key="x"))), id="fact"),
    pytest.param(lambda s: s.commit_facts(some_facts(drop=("f1",))), id="fact-dropped"),
    pytest.param(lambda s: s.commit_facts(some_facts(episodes=(an_episode("e9", "m4"),))), id="episode"),
    pytest.param(lambda s: s.commit_facts(some_facts(drop_episodes=("e1",))), id="episode-dropped"),
    pytest.param(_judged, id="verdict"),
    pytest.param(_faded, id="decay"),
    pytest.param(lambda s: s.drop_digests("ann"), id="drop-digests"),
    pytest.param(lambda s: s.update_session("s1", at(9), status="archived"), id="archived"),
    pytest.param(_archived, id="archived-by-age"),
]
CUTS = [
    pytest.param(_forgotten, id="message"),
    pytest.param(_dropped, id="retention"),
    pytest.param(lambda s: s.erase(an_erasure(facts=("f1",))), id="fact"),
    pytest.param(lambda s: s.erase(an_erasure(sessions=("s1",))), id="session"),
    pytest.param(lambda s: s.erase(an_erasure(unfold={"s1": 1})), id="summaries"),
    pytest.param(lambda s: s.erase(an_erasure(user=True)), id="user"),
    pytest.param(_renamed, id="fact-reworded"),
    pytest.param(_joined, id="episode-reworded"),
    pytest.param(lambda s: s.unfold("s1", RULE), id="unfold"),
    pytest.param(lambda s: s.rebuild("s1"), id="recount"),
    pytest.param(lambda s: s.rebuild(), id="reindex"),
]
NEITHER = [
    pytest.param(lambda s: s.append(an_append("s1", *a_turn(4, text="I like cocoa.", minutes=4))), id="known-messages"),
    pytest.param(lambda s: s.commit(a_fold("s1", D, expect=3, cursor=8)), id="late-fold"),
    pytest.param(lambda s: s.commit(a_digest("ann", 1)), id="late-digest"),
    pytest.param(lambda s: s.commit(a_swap("s1", expect=3, cursor=0, retire=("ab", "c"))), id="late-swap"),
    pytest.param(lambda s: s.commit_facts(some_facts(links=(a_link("f1", "f4"),))), id="link"),
    pytest.param(_read, id="reading"),
    pytest.param(lambda s: s.note_accesses([Access(id=x, times=1, at=at(9)) for x in ("f1", "e1")]), id="use"),
    pytest.param(_worked, id="leases"),
    pytest.param(lambda s: s.update_session("s1", at(9), status="paused"), id="paused"),
    pytest.param(lambda s: s.age_sessions("ended", at(99), at(99)), id="ended"),
    pytest.param(lambda s: s.add_milestone(a_milestone("mile9", "s1")), id="milestone"),
    pytest.param(lambda s: s.put_proposal(a_proposal("p9", "s1")), id="proposal"),
    pytest.param(lambda s: s.put_setting("profile", "x"), id="setting"),
    pytest.param(_dry_run, id="dry_run"),
    pytest.param(lambda s: s.scrub(), id="scrub"),
    pytest.param(embedded, id="vectors"),
    pytest.param(lambda s: s.erase(an_erasure(user=True, user_id="carl")), id="someone-else"),
    pytest.param(lambda s: s.append(an_append("s9", a_draft("x"), user_id="carl")), id="of-someone-else"),
]


class Changing(Suite):
    """Counts of changes and of cuts."""

    @pytest.mark.parametrize("verb", CHANGES)
    async def test_changes_are_counted(self, store: Store, verb: Verb) -> None:
        """Whatever may change what a search finds; what was read before still tells what is there."""
        await remembered(store)
        count, cuts = await counted(store)
        await verb(store)
        assert await counted(store) > (count, cuts)
        assert (await counted(store))[1] == cuts

    @pytest.mark.parametrize("verb", CUTS)
    async def test_cuts_are_counted(self, store: Store, verb: Verb) -> None:
        """Words that someone may have read are gone, or are others now."""
        await remembered(store)
        count, cuts = await counted(store)
        await verb(store)
        after = await counted(store)
        assert after[0] > count
        assert after[1] > cuts

    @pytest.mark.parametrize("verb", NEITHER)
    async def test_what_cannot_be_searched_is_not_counted(self, store: Store, verb: Verb) -> None:
        """Nor what came too late, was only a dry run, or is someone else's."""
        await remembered(store)
        before = await store.changes("ann", 0)
        await verb(store)
        assert await store.changes("ann", 0) == before

    async def test_coming_back_from_the_archive_is_a_change(self, store: Store) -> None:
        """It is one way in and one way out; from one status to another outside of it is none."""
        await remembered(store)
        await store.update_session("s1", at(9), status="archived")
        count, _ = await counted(store)
        await store.update_session("s1", at(10), status="archived")
        assert (await counted(store))[0] == count
        await store.update_session("s1", at(11), status="active")
        assert (await counted(store))[0] == count + 1
        await store.update_session("s1", at(12), status="ended")
        assert (await counted(store))[0] == count + 1

    async def test_messages_alone_leave_what_was_made_of_them(self, store: Store) -> None:
        """So whoever has read facts, episodes and summaries need not read them again after each message."""
        await remembered(store)
        read = await store.changes("ann", -1, items=True)
        assert read.items
        await store.append(an_append("s1", *a_turn(5)))
        await store.append(an_append("s8", *a_turn(1, "s8")))
        later = await store.changes("ann", read.count, items=True)
        assert (later.items, later.derived) == (None, read.derived)
        assert [session.id for session in later.sessions] == ["s1", "s8"]
        assert (await store.changes("ann", -1, items=True)).items == read.items

    @pytest.mark.parametrize("verb", [one for one in (*CHANGES, *CUTS) if one.id not in {"append", "new-session"}])
    async def test_all_else_is_more_than_messages(self, store: Store, verb: Verb) -> None:
        """Facts, episodes and summaries, and which sessions are archived."""
        await remembered(store)
        count, _ = await counted(store)
        await verb(store)
        changed = await store.changes("ann", count, items=True)
        assert changed.derived > count
        assert changed.items is not None

    async def test_sessions_in_projects_or_back_from_the_archive_are_more_than_messages(self, store: Store) -> None:
        """Both decide what is seen."""
        await remembered(store)
        await store.update_session("s1", at(9), status="archived")
        for append in (
            an_append("s1", *a_turn(5)),
            replace(an_append("p1", *a_turn(1, "p1")), project_id="boat"),
        ):
            count, _ = await counted(store)
            await store.append(append)
            assert (await store.changes("ann", count, items=True)).items is not None
        count, _ = await counted(store)
        await store.append(replace(an_append("p1", *a_turn(2, "p1")), project_id="boat"))
        assert (await store.changes("ann", count, items=True)).items is None

    async def test_how_far_each_user_has_changed_is_known_at_once(self, store: Store, neighbour: Store) -> None:
        """Of this tenant; who is forgotten is not there."""
        assert await store.change_counts() == {}
        for user in ("ann", "bob"):
            await store.append(an_append(f"s-{user}", *a_turn(1, user), user_id=user))
        await neighbour.append(an_append("n1", *a_turn(1, "n"), user_id="cy"))
        counts = await store.change_counts()
        assert counts == {user: (await store.changes(user, 0)).count for user in ("ann", "bob")}
        await store.erase(an_erasure(sessions=("s-ann",), user=True))
        assert [*await store.change_counts()] == ["bob"]

    async def test_sessions_that_changed_are_named(self, store: Store) -> None:
        """With how many messages they have: those with messages added or rewritten since, by id, and no others."""
        for session_id in ("s2", "s1", "s3"):
            await store.append(an_append(session_id, *a_turn(1, session_id)))
        first = await store.changes("ann", 0)
        assert first == Changes(count=3, cuts=0, sessions=tuple(ChangedSession(f"s{n}", 2) for n in (1, 2, 3)))
        assert await store.changes("ann", 3) == Changes(count=3, cuts=0, sessions=())
        await store.append(an_append("s2", *a_turn(2, "s2")))
        await store.commit(a_fold("s3", a_summary("x", "s3", Span(first=1, last=2)), expect=0, cursor=2))
        await store.append(an_append("b1", *a_turn(1, "b"), user_id="bob"))
        assert await store.changes("ann", 3) == Changes(count=5, cuts=0, sessions=(ChangedSession("s2", 4),))
        await store.erase(an_erasure(a_rewrite(await row_of(store, "s1", 2)), unfold={"s3": 1}))
        assert await store.changes("ann", 5) == Changes(count=6, cuts=1, sessions=(ChangedSession("s1", 2),))
        await store.rebuild("s3")
        assert (await store.changes("ann", 6)).sessions == (ChangedSession("s3", 2),)
        assert await store.changes("ann", 7) == Changes(count=7, cuts=2, sessions=())

    async def test_a_user_who_was_never_here_has_no_changes(self, store: Store) -> None:
        """Looking, dropping and forgetting do not make one of them."""
        nothing = Changes(count=0, cuts=0, sessions=())
        await store.drop_digests("ann")
        await store.erase(an_erasure(facts=("f1",)))
        await store.erase(an_erasure(user=True, receipt_id="r2"))
        assert await store.changes("ann", 0) == nothing
        assert await store.users(unembedded="e", limit=9) == []

    async def test_counts_never_go_back(self, store: Store) -> None:
        """Not when a user is forgotten, nor when they come back: whoever has read before sees that all is other."""
        await remembered(store)
        await store.commit_facts(some_facts(a_fact("f9", user_id="bob", session_id=None), user_id="bob"))
        seen = [await counted(store)]
        for number in range(3):
            await store.erase(an_erasure(user=True, receipt_id=f"r{number}"))
            seen.append(await counted(store))
            assert (await store.changes("ann", 0)).sessions == ()
            assert await store.users(unembedded="e", limit=9) == ["bob"]
            appended = await store.append(an_append("s1", *a_turn(1)))
            seen.append(await counted(store))
            assert (await store.changes("ann", seen[-2][0])).sessions == (ChangedSession(appended.session.id, 2),)
        counts, cuts = [count for count, _ in seen], [cut for _, cut in seen]
        assert counts == sorted(set(counts))
        assert cuts == sorted(cuts)
        assert len(set(cuts)) == 4
        assert await counted(store, "bob") == (1, 0)
