"""What fails, what is set aside, the backlog, notes of workers, and stores of other tenants over the same data."""

# ruff: noqa: PLR2004 - the numbers of a test speak for themselves

from collections.abc import Awaitable, Callable

import pytest

from lamina.protocols.store import FoldCommit, Store
from lamina.testing.samples import (
    RULE,
    a_fold,
    a_note,
    a_rewrite,
    a_summary,
    a_swap,
    a_turn,
    an_append,
    an_erasure,
    at,
)
from lamina.testing.suites.checks_suite import Suite, claimed, embedded, row_of, session_of
from lamina.values.message import Span
from lamina.values.report import Failing


async def _forgotten(store: Store) -> None:
    await store.erase(an_erasure(a_rewrite(await row_of(store, "s1", 1))))


NEWS = [
    pytest.param(lambda s: s.append(an_append("s1", *a_turn(3))), id="append"),
    pytest.param(lambda s: s.update_session("s1", at(5), status="ended"), id="status"),
    pytest.param(lambda s: s.age_sessions("ended", at(999), at(999)), id="idle"),
    pytest.param(lambda s: s.rebuild("s1"), id="recount"),
    pytest.param(lambda s: s.unfold("s1", RULE), id="unfold"),
    pytest.param(lambda s: s.commit(a_swap("s1", expect=0, cursor=0)), id="swap"),
    pytest.param(_forgotten, id="forget"),
    pytest.param(lambda s: s.requeue(), id="rules"),
]
FREEING = [
    *NEWS,
    pytest.param(lambda s: s.commit(_fold()), id="fold"),
    pytest.param(lambda s: s.requeue("s1", set_aside=True), id="retry"),
    pytest.param(lambda s: s.requeue(set_aside=True), id="retry-all"),
]


def _fold() -> FoldCommit:
    return a_fold("s1", a_summary("x", "s1", Span(first=1, last=2)), expect=0, cursor=2)


class Workers(Suite):
    async def queued(self, store: Store, *sessions: str) -> None:
        for minutes, session_id in enumerate(sessions):
            turns = [*a_turn(1, f"{session_id}-"), *a_turn(2, f"{session_id}-")]
            await store.append(an_append(session_id, *turns, minutes=minutes))

    async def set_aside(self, store: Store, reason: str = "broken") -> None:
        await store.release(await claimed(store), failed=reason)

    async def test_what_is_in_work_is_still_pending(self, store: Store) -> None:
        """Until it is released; who waits for all to be done may leave some out."""
        await self.queued(store, "s1", "s2")
        assert await store.pending(["s2", "unknown"]) == 1
        claim = await claimed(store)
        assert await store.pending() == 2
        await store.release(claim)
        assert await store.pending() == 1
        assert await store.pending(["s1", "s2"]) == 0

    async def test_some_sessions_are_claimed_and_counted_alone(self, store: Store) -> None:
        """With `only`, however long others have been waiting; with none to choose from, nothing."""
        await self.queued(store, "s1", "s2", "s3")
        assert await store.claim("w1", at(60), at(61), only=[]) is None
        assert await store.claim("w1", at(60), at(61), only=["s2"], skip=["s2"]) is None
        assert (await claimed(store, only=["unknown", "s2"])).session.id == "s2"
        assert [lease.session_id for lease in await store.leases()] == ["s2"]
        assert (await store.pending(only=[]), await store.pending(only=["s1", "s2"])) == (0, 2)
        assert await store.pending(["s1"], only=["s1", "s2"]) == 1

    # what fails

    async def test_a_session_that_is_set_aside_is_left_alone(self, store: Store) -> None:
        """By the impatient, too, and for ever; it is not counted as due, but nothing of it is lost."""
        await self.queued(store, "s1")
        await self.set_aside(store)
        assert await store.claim("w2", at(99_999), at(99_999), impatient=True) is None
        assert await store.pending() == 0
        assert await store.leases() == []
        assert (await session_of(store, "s1")).attempts == 1
        assert (await store.backlog(at(60))).aside == 1

    @pytest.mark.parametrize("verb", FREEING)
    async def test_what_is_set_aside_is_freed(self, store: Store, verb: Callable[[Store], Awaitable[object]]) -> None:
        """By whatever may make a difference to its work, or by being asked for."""
        await self.queued(store, "s1")
        await self.set_aside(store)
        await verb(store)
        assert await store.pending() == 1
        assert (await claimed(store)).session.id == "s1"

    @pytest.mark.parametrize("verb", NEWS)
    async def test_what_came_during_the_work_keeps_it_from_being_set_aside(
        self, store: Store, verb: Callable[[Store], Awaitable[object]]
    ) -> None:
        """The failure is counted all the same; the work is due at once."""
        await self.queued(store, "s1")
        claim = await claimed(store)
        await verb(store)
        before = (await session_of(store, "s1")).attempts
        await store.release(claim, failed="broken")
        assert (await session_of(store, "s1")).attempts == before + 1
        assert (await store.backlog(at(60))).aside == 0
        assert (await claimed(store, "w2")).session.id == "s1"

    async def test_new_messages_do_not_shorten_a_wait(self, store: Store) -> None:
        """What waits for its time keeps it; only what is set aside is freed."""
        await self.queued(store, "s1")
        await store.release(await claimed(store), failed="busy", retry_at=at(70))
        await store.append(an_append("s1", *a_turn(3), due=True))
        assert await store.requeue(set_aside=True) == 0
        assert await store.claim("w1", at(69), at(70)) is None
        assert await store.claim("w1", at(70), at(71)) is not None

    async def test_asking_for_one_session_frees_that_one(self, store: Store) -> None:
        """It is told how many were freed; they start over, without failures."""
        await self.queued(store, "s1", "s2", "s3")
        for _ in range(3):
            await self.set_aside(store)
        assert await store.requeue("s2", set_aside=True) == 1
        assert await store.requeue("s2", set_aside=True) == await store.requeue("s9", set_aside=True) == 0
        claim = await claimed(store)
        assert (claim.session.id, claim.session.attempts) == ("s2", 0)
        assert await store.requeue(set_aside=True) == 2
        assert (await store.backlog(at(60))).failing == ()

    async def test_a_reason_is_kept_until_the_work_is_done(self, store: Store) -> None:
        """Up to 500 characters of the last one; a good fold, or a release, forgets it."""
        await self.queued(store, "s1", "s2")
        for _ in range(2):
            await store.release(await claimed(store), failed="é" * 501, retry_at=at(70))
        failing = (await store.backlog(at(60))).failing
        assert [one.reason for one in failing] == ["é" * 500] * 2
        assert await store.commit(_fold())
        await store.release(await claimed(store, minutes=80, skip=["s1"]))
        assert (await store.backlog(at(80))).failing == ()

    # the backlog

    async def test_an_empty_store_has_no_backlog(self, store: Store) -> None:
        """Nothing waits, and nobody."""
        backlog = await store.backlog(at(60), "e")
        assert (backlog.pending, backlog.leased, backlog.waiting, backlog.aside) == (0, 0, 0, 0)
        assert (backlog.oldest, backlog.unembedded, backlog.failing) == (None, 0, ())

    async def test_each_session_that_may_be_due_is_counted_once(self, store: Store) -> None:
        """Free, in someone's hands, waiting, or set aside; and when the first of the free ones was touched."""
        await self.queued(store, "s1", "s2", "s3", "s4", "s5", "s6")
        await store.release(await claimed(store))
        await self.set_aside(store)
        await store.release(await claimed(store), failed="busy", retry_at=at(70))
        await claimed(store, minutes=60)
        backlog = await store.backlog(at(60))
        assert (backlog.pending, backlog.leased, backlog.waiting, backlog.aside) == (2, 1, 1, 1)
        assert backlog.oldest == (await session_of(store, "s5")).touched_at
        later = await store.backlog(at(70))
        assert (later.pending, later.leased, later.waiting, later.aside) == (4, 0, 0, 1)
        assert later.oldest == (await session_of(store, "s3")).touched_at

    async def test_the_worst_are_named_first(self, store: Store) -> None:
        """What is set aside, then by failures; each with its reason and its time."""
        await self.queued(store, "s1", "s2", "s3")
        await store.release(await claimed(store), failed="busy", retry_at=at(70))
        await store.release(await claimed(store), failed="slow", retry_at=at(61))
        await store.release(await claimed(store, skip=["s1", "s3"], minutes=61), failed="slower", retry_at=at(80))
        await store.release(await claimed(store, skip=["s1", "s2"]), failed="broken")
        assert (await store.backlog(at(60))).failing == (
            Failing(session_id="s3", user_id="ann", attempts=1, reason="broken", retry_at=None),
            Failing(session_id="s2", user_id="ann", attempts=2, reason="slower", retry_at=at(80)),
            Failing(session_id="s1", user_id="ann", attempts=1, reason="busy", retry_at=at(70)),
        )

    async def test_users_without_vectors_are_counted(self, store: Store) -> None:
        """By embedder; without one, nobody needs any."""
        await store.append(an_append("s1", *a_turn(1)))
        await store.append(an_append("s2", *a_turn(1, "b-"), user_id="bob"))
        assert [(await store.backlog(at(60), name)).unembedded for name in (None, "e")] == [0, 2]
        await embedded(store)
        assert [(await store.backlog(at(60), name)).unembedded for name in ("e", "other")] == [1, 2]

    # workers

    async def test_a_worker_tells_of_itself(self, store: Store) -> None:
        """The last note counts; it stays until it is dropped."""
        assert await store.workers() == []
        await store.note_worker(a_note("b/2/x"))
        await store.note_worker(a_note("a/1/x"))
        busy = a_note("b/2/x", seen_at=at(2), session_id="s1", since=at(1), done=3, failed=1)
        await store.note_worker(busy)
        assert await store.workers() == [a_note("a/1/x"), busy]
        await store.note_worker(a_note("b/2/x", done=4))
        await store.drop_worker("a/1/x")
        await store.drop_worker("nobody")
        assert await store.workers() == [a_note("b/2/x", done=4)]

    async def test_waiting_for_work_ends(self, store: Store) -> None:
        """After so many seconds, if nobody tells of any."""
        assert await store.wait_for_work(0.05) is False

    # tenants

    async def test_tenants_are_those_who_wrote(self, store: Store) -> None:
        """A session or a setting makes one; looking does not, and every tenant sees all names."""
        assert await store.tenants() == []
        await store.append(an_append("s1", *a_turn(1)))
        b, c = store.for_tenant("b"), store.for_tenant("c")
        await b.put_setting("profile", "x")
        await c.sessions()
        assert await store.tenants() == await c.tenants() == ["b", store.tenant]

    async def test_a_store_of_another_tenant_is_over_the_same_data(self, store: Store) -> None:
        """It sees what that tenant wrote, and nothing of this one; closing it leaves this one open."""
        await self.queued(store, "s1")
        other = store.for_tenant("other")
        await other.open()
        assert (other.tenant, await other.sessions(), await other.pending()) == ("other", [], 0)
        await self.queued(other, "s2")
        await other.close()
        assert [session.id for session in await store.sessions()] == ["s1"]
        again = store.for_tenant("other")
        assert [session.id for session in await again.sessions()] == ["s2"]
        assert [s.id for s in await again.for_tenant(store.tenant).sessions()] == ["s1"]
