"""The queue of work, leases and folds."""

# ruff: noqa: PLR2004 - the numbers of a test speak for themselves

from lamina.log.pages import single
from lamina.protocols.store import Store
from lamina.testing.samples import a_fold, a_summary, a_turn, an_append, at
from lamina.testing.suites.checks_suite import Suite, claimed, is_whole, session_of
from lamina.values.message import Span
from lamina.values.session import Counters


class Folding(Suite):
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
        """The profile says so from counters and status; what is not due leaves no work."""
        await self.begun(store, "s1")
        await store.release(await claimed(store))
        assert not (await store.append(an_append("s1", *a_turn(3)))).due
        assert await store.pending() == 0
        assert (await store.append(an_append("s1", *a_turn(4), due=True))).due
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
        await store.release(first, failed="late", retry_at=at(99))
        assert [(x.owner, x.until) for x in await store.leases()] == [("w2", at(65))]
        assert (await session_of(store, "s1")).attempts == 0

    async def test_the_leases_of_a_dead_worker_are_freed(self, store: Store) -> None:
        """All of that worker's, and no other's; the work is still due."""
        await self.begun(store, "s1", "s2")
        await claimed(store, "dead")
        await claimed(store, "alive")
        await store.drop_worker("dead")
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
        await store.release(await claimed(store), failed="broken", retry_at=at(70))
        assert (await session_of(store, "s1")).attempts == 1
        assert await store.claim("w1", at(69), at(70)) is None
        await store.release(await claimed(store, minutes=69, impatient=True), failed="broken", retry_at=at(80))
        assert (await session_of(store, "s1")).attempts == 2
        claim = await claimed(store, minutes=80)
        assert claim.session.attempts == 2
        await store.release(claim)
        assert (await session_of(store, "s1")).attempts == 0

    async def test_a_fold_moves_the_cursor(self, store: Store) -> None:
        """The counters say how much is covered; a good fold forgets the failures."""
        await self.begun(store, "s1")
        await store.release(await claimed(store), failed="broken", retry_at=at(70))
        assert await store.commit(a_fold("s1", a_summary("x", "s1", Span(first=1, last=2)), expect=0, cursor=2))
        session = await session_of(store, "s1")
        assert session.counters == Counters(
            messages=4, turns=2, tokens=14, closed=True, cursor=2, cursor_turn=1, cursor_tokens=7, version=1
        )
        assert session.attempts == 0
        assert (await claimed(store, minutes=1)).session.id == "s1"
        assert await is_whole(store, "s1")

    async def test_the_second_of_two_folds_is_discarded(self, store: Store) -> None:
        """Compare-and-set on the version: all of the late one is dropped, summary and retirements."""
        await self.begun(store, "s1")
        assert await store.commit(a_fold("s1", a_summary("x", "s1", Span(first=1, last=2)), expect=0, cursor=2))
        before = await store.audit("s1")
        late = a_summary("y", "s1", Span(first=1, last=4))
        assert not await store.commit(a_fold("s1", late, expect=0, cursor=4, retire=("x",)))
        assert await store.audit("s1") == before
        assert single(await store.summaries(ids=["y"], live=False)) is None
        assert not await store.commit(a_fold("s9", late, expect=0, cursor=4))

    async def test_folds_of_a_session_are_committed_together(self, store: Store) -> None:
        """Each stands on the one before; if another came first, none of them is kept."""
        await self.begun(store, "s1")
        first = a_fold("s1", a_summary("x", "s1", Span(first=1, last=2)), expect=0, cursor=2)
        second = a_fold("s1", a_summary("y", "s1", Span(first=1, last=4)), expect=1, cursor=4, retire=("x",))
        assert await store.commit(first, second)
        assert (await session_of(store, "s1")).counters.version == 2
        assert [summary.id for summary in await store.summaries("s1")] == ["y"]
        before = await store.audit("s1")
        assert not await store.commit(first, second)
        assert await store.audit("s1") == before
        assert await is_whole(store, "s1")

    async def test_a_workload_has_all_that_a_worker_needs(self, store: Store) -> None:
        """Messages around the cursor, live summaries, and what is to be read; None if there is no session."""
        await self.begun(store, "s1")
        await store.commit(a_fold("s1", a_summary("x", "s1", Span(first=1, last=2)), expect=0, cursor=2))
        load = await store.workload("s1", before=1, limit=1, unread=3)
        assert load is not None
        assert load.session == await session_of(store, "s1")
        assert [summary.id for summary in load.summaries] == ["x"]
        assert [message.seq for message in load.messages] == [2, 3]
        assert list(load.unread) == await store.messages("s1", unread=True, limit=3)
        assert len(load.unread) == 3
        assert await store.workload("s9", before=1, limit=1, unread=1) is None

    async def test_changed_rules_make_everything_pending(self, store: Store) -> None:
        """Also what a worker holds at that moment."""
        await self.begun(store, "s1", "s2")
        await store.release(await claimed(store))
        held = await claimed(store)
        await store.requeue()
        await store.release(held)
        assert await store.pending() == 2

    async def test_a_new_status_is_pending(self, store: Store) -> None:
        """An ended session has its final summary to come."""
        await self.begun(store, "s1")
        await store.release(await claimed(store))
        await store.update_session("s1", at(5), status="ended")
        assert await store.pending() == 1

    async def test_waiting_for_work_ends_by_itself(self, store: Store) -> None:
        """After that time; nobody else said that there is any."""
        assert not await store.wait_for_work(0.01)
