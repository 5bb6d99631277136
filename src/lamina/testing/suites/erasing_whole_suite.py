"""Forgetting facts, episodes, summaries, whole sessions and whole users; and the receipts of it."""

# ruff: noqa: PLR2004 - the numbers of a test speak for themselves

import json
from dataclasses import replace
from itertools import pairwise

import pytest

from lamina.errors import Conflict
from lamina.forgetting.receipts import FIRST_RECEIPT, broken_receipts
from lamina.log.pages import single
from lamina.log.records import encode_summary
from lamina.protocols.store import Erased, Store, SummaryCut
from lamina.testing.samples import (
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
    a_told_fact,
    a_turn,
    an_append,
    an_episode,
    an_erasure,
    at,
    some_facts,
)
from lamina.testing.suites.checks_suite import (
    ALL,
    Suite,
    everything,
    found_ids,
    is_whole,
    row_of,
    session_of,
    standing,
)
from lamina.testing.suites.erasing_suite import remembered
from lamina.values.message import Span
from lamina.values.summary import Source


async def beside(store: Store) -> None:
    """Another session of the same user, and another user with the same words."""
    await store.append(an_append("s2", *a_turn(1, "x", "I like rain."), key="kx"))
    await store.commit_facts(
        some_facts(
            a_fact("g1", "rain", key="weather", session_id="s2", message_id="x1"),
            episodes=(an_episode("g2", "x1", session_id="s2"),),
        )
    )
    await store.append(an_append("b1", *a_turn(1, "b", "I like tea."), user_id="bob", key="kb"))
    await store.commit(a_fold("b1", a_summary("bsum", "b1", Span(first=1, last=2), user_id="bob"), expect=0, cursor=2))
    fact = a_fact("h1", user_id="bob", session_id="b1", message_id="b1")
    episode = an_episode("h2", "b1", user_id="bob", session_id="b1")
    links = (a_link("h1", "h2"),)
    await store.commit_facts(some_facts(fact, episodes=(episode,), links=links, user_id="bob"))
    await store.commit(a_digest("bob", 1))
    await store.add_milestone(a_milestone("bmile", "b1"))
    await store.put_proposal(a_proposal("bp", "b1", user_id="bob"))


async def of_bob(store: Store) -> list[object]:
    """What bob's readers see."""
    return [*(await everything(store, "bob"))[7:14], await store.audit("b1"), await store.proposals("b1")]


class ErasingWhole(Suite):
    """Everything that is forgotten without rewriting a message."""

    async def test_contents_are_all_that_is_stored_of_a_user(self, store: Store) -> None:
        """Of one user, or of one session; messages in order, page by page, the rest with the first page."""
        await remembered(store)
        await beside(store)
        whole = await store.contents("ann")
        assert [session.id for session in whole.sessions] == ["s1", "s2"]
        said = [*await store.messages("s1", ALL), *await store.messages("s2", ALL)]
        assert (list(whole.messages), whole.next) == (said, None)
        assert list(whole.facts) == await store.facts("ann")
        assert list(whole.episodes) == await store.episodes("ann")
        assert list(whole.digests) == await store.summaries(user_id="ann", digests=True, live=False)
        assert list(whole.summaries) == await store.summaries("s1", live=False)
        assert list(whole.milestones) == await store.milestones("s1")
        assert list(whole.proposals) == await store.proposals("s1")
        one = await store.contents("ann", "s2")
        assert (list(one.messages), list(one.facts)) == (said[-2:], await store.facts("ann", "s2"))
        pages = [await store.contents("ann", limit=3)]
        while (after := pages[-1].next) is not None:
            pages.append(await store.contents("ann", after=after, limit=3))
        assert [message for page in pages for message in page.messages] == said
        assert all(not page.sessions and not page.facts and not page.summaries for page in pages[1:])
        assert (await store.contents("nobody")).messages == (await store.contents("bob", "s1")).messages == ()

    async def test_facts_are_forgotten_by_id(self, store: Store) -> None:
        """Their slots are settled, their links go and their values are blocked; unknown ids are passed over."""
        await remembered(store)
        erased = await store.erase(an_erasure(facts=("f4", "told", "nothing")))
        assert (set(erased.facts), erased.messages, erased.values_blocked) == ({"f4", "told"}, (), 2)
        assert await standing(store) == {"f1": "superseded", "f2": "superseded", "f3": "active"}
        assert await store.links("ann") == [a_link("f1", "f2"), a_link("f2", "f3")]
        await store.commit_facts(some_facts(a_told_fact("f9", "ann", key="Name")))
        assert single(await store.facts(ids=["f9"])) is None
        assert len(await store.summaries("s1", live=False)) == 4
        assert not await store.summaries(user_id="ann", digests=True, live=False)
        assert not await store.proposals()
        assert await is_whole(store, "s1")

    async def test_episodes_and_milestones_are_forgotten_by_id(self, store: Store) -> None:
        """Only what was there counts as erased."""
        await remembered(store)
        erased = await store.erase(an_erasure(episodes=("e1", "nothing"), milestones=("mile2", "nothing")))
        assert (erased.episodes, erased.milestones, erased.facts) == (("e1",), 1, ())
        assert [e.id for e in await store.episodes("ann")] == ["e2", "e3", "e4"]
        assert [m.id for m in await store.milestones("s1")] == ["mile1"]
        assert await store.links("ann") == [a_link("f1", "f2"), a_link("f2", "f3")]

    async def test_summaries_are_unfolded_from_a_message(self, store: Store) -> None:
        """Without a message rewritten: a model had put the words into a summary on its own."""
        await remembered(store)
        before = await store.messages("s1", ALL)
        session = await session_of(store, "s1")
        erased = await store.erase(an_erasure(unfold={"s1": 5, "gone": 1}))
        assert erased == Erased(summaries=("c",), digests=erased.digests)
        assert await store.messages("s1", ALL) == before
        assert [s.id for s in await store.summaries("s1")] == ["ab"]
        assert not await store.commit(
            a_fold("s1", a_summary("d", "s1", Span(first=7, last=8)), expect=session.counters.version, cursor=8)
        )
        assert not await store.commit_facts(some_facts(reading=a_reading(session, 8)))
        assert await is_whole(store, "s1")

    async def test_words_are_cut_out_of_summaries_that_stay(self, store: Store) -> None:
        """Those that end at a message or before it stand, though a message of theirs is rewritten; the rest goes."""
        await remembered(store)
        kept = {summary.id: summary for summary in await store.summaries("s1", live=False)}
        cuts = [
            SummaryCut(replace(kept[name], text="Ann likes it."), encode_summary(kept[name]).digest)
            for name in ("a", "ab")
        ]
        change = a_rewrite(await row_of(store, "s1", 1))
        erased = await store.erase(an_erasure(change, stands={"s1": 4}, cuts=tuple(cuts)))
        assert sorted(erased.summaries) == ["a", "ab", "c"]
        found = {one.id: (one.text, one.status) for one in await store.summaries("s1", live=False)}
        assert found["ab"] == ("Ann likes it.", "live")
        assert found["a"] == ("Ann likes it.", "folded")
        assert found["b"] == (kept["b"].text, "folded")
        assert await is_whole(store, "s1")
        with pytest.raises(Conflict, match="changed meanwhile"):
            await store.erase(an_erasure(cuts=tuple(cuts), stands={"s1": 4}))

    async def test_a_session_is_forgotten_whole(self, store: Store) -> None:
        """With everything of it; other sessions, other users and what was told by hand stay."""
        await remembered(store)
        await beside(store)
        others = await of_bob(store)
        ids = [message.id for message in await store.messages("s1", ALL)]
        erased = await store.erase(an_erasure(sessions=("s1",)))
        assert list(erased.messages) == ids
        assert (erased.sessions, erased.redacted, erased.milestones) == (("s1",), (), 2)
        assert sorted(erased.summaries) == ["a", "ab", "b", "c"]
        assert len(erased.digests) == 2
        assert set(erased.facts) == {"f1", "f2", "f3", "f4"}
        assert set(erased.episodes) == {"e1", "e2", "e3", "e4"}
        assert single(await store.sessions(ids=["s1"])) is None
        assert await store.messages("s1", ALL) == await store.messages("s1", unread=True, limit=9) == []
        assert await store.milestones("s1") == []
        assert single(await store.messages(ids=["m1"])) is None
        assert await store.summaries("s1", live=False) == []
        assert await store.proposals("s1") == []
        assert await store.links("ann") == []
        assert await standing(store) == {"told": "active", "g1": "active"}
        assert [e.id for e in await store.episodes("ann")] == ["g2"]
        found = await store.find_words("ann", ["tea", "rain"], 9)
        assert (found.documents, found_ids(found)) == (2, {"x1", "x1-reply"})
        assert await of_bob(store) == others
        assert await is_whole(store, "s2")

    async def test_a_forgotten_sessions_id_may_begin_anew(self, store: Store) -> None:
        """So may the ids of its messages and its keys; nothing of the old one shows."""
        await remembered(store)
        await store.erase(an_erasure(sessions=("s1",)))
        appended = await store.append(an_append("s1", *a_turn(1, text="Else"), key="k1", user_id="bob"))
        assert (appended.span, appended.duplicates) == (Span(first=1, last=2), ())
        assert [m.text for m in await store.messages("s1", ALL)] == ["Else", "Noted: Else"]
        assert [m.seq for m in await store.messages("s1", unread=True, limit=9)] == [1, 2]
        assert await is_whole(store, "s1")

    async def test_work_on_a_forgotten_session_is_too_late_for_its_namesake(self, store: Store) -> None:
        """A fold, a reading, a swap or a digest of the old one never gets into a new one of the same id."""
        await store.append(an_append("s1", *a_turn(1), *a_turn(2)))
        old = await session_of(store, "s1")
        await store.erase(an_erasure(sessions=("s1",)))
        await store.append(an_append("s1", *a_turn(1, text="Else"), *a_turn(2, text="Else")))
        before = await everything(store)
        version = old.counters.version
        fold = a_fold("s1", a_summary("x", "s1", Span(first=1, last=2)), expect=version, cursor=2)
        assert not await store.commit(fold)
        assert not await store.commit_facts(some_facts(a_fact("f1"), reading=a_reading(old, 4)))
        source = Source(session_id="s1", messages=4, version=version)
        assert not await store.commit(a_digest("ann", 1, sources=(source,)))
        assert await everything(store) == before
        new = await session_of(store, "s1")
        assert await store.commit(replace(fold, expect=new.counters.version))

    async def test_a_user_is_forgotten_whole(self, store: Store) -> None:
        """Nothing of them is left but the receipt; everyone else has all that they had."""
        await remembered(store)
        await beside(store)
        await store.erase(an_erasure(facts=("f1",)))
        others = await of_bob(store)
        erased = await store.erase(an_erasure(user=True, receipt_id="r2"))
        assert set(erased.sessions) == {"s1", "s2"}
        assert set(erased.facts) == {"f2", "f3", "f4", "told", "g1"}
        assert set(erased.episodes) == {"e1", "e2", "e3", "e4", "g2"}
        assert (len(erased.messages), erased.milestones, erased.values_blocked) == (10, 2, 0)
        assert await store.users() == ["bob"]
        left = [
            store.facts("ann"),
            store.episodes("ann"),
            store.links("ann"),
            store.summaries(user_id="ann", digests=True, live=False),
        ]
        assert [await one for one in (store.sessions(user_id="ann"), *left)] == [[]] * 5
        assert [p.id for p in await store.proposals()] == ["bp"]
        assert (await store.find_words("ann", ["tea"], 9)).documents == 0
        assert await of_bob(store) == others

    async def test_a_user_may_come_back(self, store: Store) -> None:
        """As if they had never been here: no mark of a forgotten value is kept."""
        await remembered(store)
        await store.erase(an_erasure(facts=("told",)))
        await store.erase(an_erasure(user=True, receipt_id="r2"))
        await store.commit_facts(some_facts(a_told_fact("f9", "Ann", key="name")))
        assert await standing(store) == {"f9": "active"}
        await store.append(an_append("s1", *a_turn(1), key="k1"))
        assert await is_whole(store, "s1")

    async def test_a_user_without_anything_can_be_forgotten(self, store: Store) -> None:
        """There is a receipt of it, too."""
        assert await store.erase(an_erasure(user=True)) == Erased()
        assert len(await store.receipts()) == 1

    async def test_a_dry_run_of_a_user_changes_nothing(self, store: Store) -> None:
        """Nor of a session; a lease, a mark or a failure is as it was."""
        await remembered(store)
        await beside(store)
        await store.erase(an_erasure(facts=("f1",)))
        before = await everything(store)
        erasures = (an_erasure(user=True), an_erasure(sessions=("s1", "s2")), an_erasure(unfold={"s1": 1}))
        for erasure in erasures:
            planned = await store.erase(replace(erasure, receipt_id="r2", dry_run=True))
            assert planned != Erased()
            assert await everything(store) == before
        await store.commit_facts(some_facts(a_fact("f9", "tea", message_id="m4", minutes=9)))
        assert single(await store.facts(ids=["f9"])) is None

    async def test_receipts_are_chained(self, store: Store) -> None:
        """Each from the one before, oldest first; a dry run or a failure leaves none."""
        await remembered(store)
        for erasure in (
            an_erasure(facts=("f1",), receipt_id="r9"),
            an_erasure(sessions=("s1",), receipt_id="r8", minutes=1),
            an_erasure(user=True, receipt_id="r7", minutes=2),
        ):
            await store.erase(replace(erasure, dry_run=True))
            await store.erase(erasure)
        receipts = await store.receipts()
        assert [(row.id, row.created_at) for row in receipts] == [("r9", at(0)), ("r8", at(1)), ("r7", at(2))]
        assert receipts[0].previous == FIRST_RECEIPT
        assert all(later.previous == earlier.digest for earlier, later in pairwise(receipts))
        assert not list(broken_receipts(receipts))
        assert json.loads(receipts[0].record)["facts"] == ["f1"]

    async def test_scrubbing_loses_nothing(self, store: Store) -> None:
        """What is left is found, read and whole afterwards."""
        await remembered(store)
        await beside(store)
        await store.erase(an_erasure(sessions=("s1",)))
        before = await everything(store)
        assert await store.scrub() == store.clean
        assert await everything(store) == before
        await store.append(an_append("s2", a_draft("more", "And tea."), minutes=9))
        assert found_ids(await store.find_words("ann", ["tea"], 9)) == {"more"}
        assert await is_whole(store, "s2")
