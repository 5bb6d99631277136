"""Summaries made anew: exchanged, brought back, proposed."""

from dataclasses import replace

import pytest

from lamina.errors import OptedOut
from lamina.log.pages import single
from lamina.protocols.store import Store
from lamina.testing.samples import RULE, a_draft, a_fold, a_proposal, a_summary, a_swap, a_turn, an_append, at
from lamina.testing.suites.checks_suite import Suite, claimed, everything, found_ids, is_whole, session_of
from lamina.values.message import Span
from lamina.values.opt_out import PREFIX, OptOut, setting_of

OLD = a_summary("old", "s1", Span(first=1, last=4), "Ann likes tea.")
NEW = a_summary("new", "s1", Span(first=1, last=2), "Ann likes rain.", version=2)


class Swapping(Suite):
    """Swaps and proposals."""

    async def summarised(self, store: Store) -> None:
        await store.append(an_append("s1", *a_turn(1), *a_turn(2), *a_turn(3)))
        assert await store.commit(a_fold("s1", OLD, expect=0, cursor=4))

    async def test_a_swap_replaces_what_is_live(self, store: Store) -> None:
        """The old summaries are kept as replaced, and only the new ones are live and found."""
        await self.summarised(store)
        assert await store.commit(a_swap("s1", NEW, expect=1, cursor=2, retire=("old",)))
        assert await store.summaries("s1") == [NEW]
        assert {s.id: s.status for s in await store.summaries("s1", live=False)} == {"old": "replaced", "new": "live"}
        assert "old" not in found_ids(await store.find_words("ann", ["tea"], 9))
        assert found_ids(await store.find_words("ann", ["rain"], 9)) == {"new"}
        assert await is_whole(store, "s1")

    async def test_a_swap_moves_the_cursor(self, store: Store) -> None:
        """With what is counted up to it; the session is worth a look."""
        await self.summarised(store)
        await store.release(await claimed(store))
        assert await store.commit(a_swap("s1", NEW, expect=1, cursor=2, retire=("old",)))
        counters = (await session_of(store, "s1")).counters
        assert (counters.cursor, counters.cursor_turn, counters.cursor_tokens, counters.version) == (2, 1, 7, 2)
        assert await store.pending() == 1

    async def test_what_was_replaced_can_come_back(self, store: Store) -> None:
        """With the status it brings, live or folded."""
        await self.summarised(store)
        upper = a_summary("upper", "s1", Span(first=1, last=6), inputs=("old",))
        await store.commit(a_fold("s1", upper, expect=1, cursor=6, retire=("old",)))
        before = await store.summaries("s1", live=False)
        assert await store.commit(a_swap("s1", NEW, expect=2, cursor=2, retire=("old", "upper")))
        assert await is_whole(store, "s1")
        assert await store.commit(a_swap("s1", *before, expect=3, cursor=6, retire=("new",)))
        after = {summary.id: summary for summary in await store.summaries("s1", live=False)}
        assert [after[summary.id] for summary in before] == before
        assert after["new"].status == "replaced"
        assert found_ids(await store.find_words("ann", ["rain"], 9)) == set()
        assert (await session_of(store, "s1")).counters.cursor == upper.covers.last if upper.covers else False
        assert await is_whole(store, "s1")

    async def test_a_swap_after_a_fold_is_refused(self, store: Store) -> None:
        """Compare-and-set on the version: nothing of it is kept; nor for a session that is not there."""
        await self.summarised(store)
        await store.commit(a_fold("s1", a_summary("x", "s1", Span(first=5, last=6)), expect=1, cursor=6))
        before = await everything(store)
        assert not await store.commit(a_swap("s1", NEW, expect=1, cursor=2, retire=("old",)))
        assert not await store.commit(a_swap("s9", NEW, expect=0, cursor=2))
        assert await everything(store) == before

    async def test_a_fold_after_a_swap_is_refused(self, store: Store) -> None:
        """It was made from summaries that were replaced meanwhile."""
        await self.summarised(store)
        await store.commit(a_swap("s1", NEW, expect=1, cursor=2, retire=("old",)))
        late = a_fold("s1", a_summary("x", "s1", Span(first=5, last=6)), expect=1, cursor=6)
        assert not await store.commit(late)

    async def test_proposals_are_kept(self, store: Store) -> None:
        """By time; one put again has its new status and record."""
        await self.summarised(store)
        await store.append(an_append("s2", a_draft("x")))
        first, second = a_proposal("b", "s1", minutes=1), a_proposal("a", "s1", minutes=2)
        other = a_proposal("c", "s2", minutes=3)
        for proposal in (other, second, first):
            await store.put_proposal(proposal)
        assert await store.proposals() == [first, second, other]
        assert await store.proposals("s2") == [other]
        done = replace(second, status="accepted", record='{"a":"é"}')
        await store.put_proposal(done)
        assert await store.proposals("s1") == [first, done]
        assert done.created_at == at(2)

    async def test_a_proposal_from_words_forgotten_meanwhile_is_refused(self, store: Store) -> None:
        """It is stored only if its session has no more erasures than when it was begun."""
        await self.summarised(store)
        session = single(await store.sessions(ids=["s1"]))
        assert session is not None
        assert await store.put_proposal(a_proposal("a", "s1"), erasures=session.erasures)
        await store.unfold("s1", RULE)
        assert not await store.put_proposal(a_proposal("b", "s1"), erasures=session.erasures)
        assert await store.proposals() == []

    async def test_a_proposal_for_a_user_who_has_opted_out_is_refused(self, store: Store) -> None:
        """Also if it was begun before; after opting in it is stored."""
        await self.summarised(store)
        choice = setting_of(OptOut(user_id="ann", since=at(1), keep_log=True))
        await store.put_setting(PREFIX + "ann", choice)
        with pytest.raises(OptedOut, match="'ann' has opted out"):
            await store.put_proposal(a_proposal("a", "s1"))
        assert await store.proposals() == []
        await store.put_setting(PREFIX + "ann", "")
        assert await store.put_proposal(a_proposal("a", "s1"))
