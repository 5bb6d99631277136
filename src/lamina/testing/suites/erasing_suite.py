"""Forgetting messages, or parts of them, with all that was derived from them."""

# ruff: noqa: PLR2004 - the numbers of a test speak for themselves

from dataclasses import replace
from typing import Any

import pytest

from lamina.errors import Conflict, NotFound
from lamina.log import chain
from lamina.log.erased import FORGOTTEN
from lamina.log.pages import single
from lamina.protocols.store import Access, Erased, Rewrite, Store, TitleCut
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
    a_swap,
    a_told_episode,
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
    claimed,
    everything,
    found_ids,
    is_whole,
    row_of,
    session_of,
    standing,
)
from lamina.values.message import Span
from lamina.values.summary import Source

DRINKS = ("tea", "milk", "rum", "cocoa")


async def remembered(store: Store) -> None:
    """Four turns of one session, read and folded: two chunks under one summary, a third chunk, one turn to go.

    `a` (1-2) and `b` (3-4) are in `ab` (1-4); `c` covers 5-6. Facts, episodes, links and all else are beside them.
    """
    turns = [a_turn(number, text=f"I like {drink}.", minutes=number) for number, drink in enumerate(DRINKS, 1)]
    for number, turn in enumerate(turns, 1):
        await store.append(an_append("s1", *turn, minutes=number, key=f"k{number}"))
    a, b, c = (
        a_summary(name, "s1", Span(first=first, last=first + 1), f"Ann likes {drink}.")
        for name, first, drink in zip("abc", (1, 3, 5), DRINKS, strict=False)
    )
    ab = a_summary("ab", "s1", Span(first=1, last=4), "Ann likes tea and milk.", inputs=("a", "b"))
    assert await store.commit(a_fold("s1", a, expect=0, cursor=2))
    assert await store.commit(a_fold("s1", b, expect=1, cursor=4))
    assert await store.commit(a_fold("s1", ab, expect=2, cursor=4, retire=("a", "b")))
    assert await store.commit(a_fold("s1", c, expect=3, cursor=6))
    facts = [a_fact(f"f{n}", drink, message_id=f"m{n}", minutes=n) for n, drink in enumerate(DRINKS, 1)]
    episodes = [an_episode(f"e{n}", f"m{n}", minutes=n) for n in (1, 2, 3)]
    both = replace(episodes[1], message_ids=("m2", "m1-reply"))
    links = (a_link("f1", "f2"), a_link("f2", "f3"), a_link("e1", "told"))
    commit = some_facts(
        *facts,
        a_told_fact("told", "Ann", key="name"),
        episodes=(episodes[0], both, episodes[2], a_told_episode("e4", minutes=4)),
        links=links,
        reading=a_reading(await session_of(store, "s1"), 6),
    )
    assert await store.commit_facts(commit)
    assert await store.commit(a_digest("ann", 1, sources=(Source(session_id="s1", messages=8, version=4),)))
    assert await store.commit(a_digest("ann", 2, sources=(Source(session_id="s1", messages=8, version=4),)))
    await store.add_milestone(a_milestone("mile1", "s1"))
    await store.add_milestone(a_milestone("mile2", "s1", 2))
    await store.put_proposal(a_proposal("p1", "s1"))


class Erasing(Suite):
    """Rewritten messages."""

    async def forgotten(self, store: Store, *seqs: int) -> Erased:
        """Forget these messages whole."""
        await remembered(store)
        return await store.erase(an_erasure(*[await self.rewrite(store, seq) for seq in seqs]))

    async def rewrite(self, store: Store, seq: int) -> Rewrite:
        return a_rewrite(await row_of(store, "s1", seq))

    async def test_a_forgotten_message_keeps_its_place(self, store: Store) -> None:
        """Its words are gone for every reader and the chain of digests is whole; its neighbours are as they were."""
        await remembered(store)
        before, digests = await store.messages("s1", ALL), (await store.audit("s1")).last_digest
        assert (await store.erase(an_erasure(await self.rewrite(store, 3)))).messages == ("m2",)
        after = await store.messages("s1", ALL)
        assert (after[2].text, after[2].forgotten, after[2].tokens) == (FORGOTTEN, True, 1)
        assert (after[2].id, after[2].turn, after[2].created_at) == (before[2].id, before[2].turn, before[2].created_at)
        assert after[:2] + after[3:] == before[:2] + before[3:]
        assert single(await store.messages(ids=["m2"])) == after[2]
        assert (await store.audit("s1")).last_digest == digests
        assert await is_whole(store, "s1")

    async def test_its_words_are_no_longer_found(self, store: Store) -> None:
        """Nor do they count; what else has them is found."""
        await self.forgotten(store, 3)
        found = await store.find_words("ann", ["milk"], 9)
        assert (found_ids(found), found.frequency) == ({"m2-reply"}, {"milk": 1})
        assert "m2" in found_ids(await store.find_words("ann", ["forgotten"], 9))

    async def test_the_counters_follow(self, store: Store) -> None:
        """Tokens are those of what is left, in all and up to the cursor; messages and turns are as many as before."""
        await remembered(store)
        before = (await session_of(store, "s1")).counters
        await store.erase(an_erasure(await self.rewrite(store, 6)))
        counters = (await session_of(store, "s1")).counters
        assert (counters.messages, counters.turns, counters.closed) == (8, 4, True)
        assert counters.tokens == before.tokens - 3
        assert (counters.cursor, counters.cursor_turn, counters.cursor_tokens) == (4, 2, 14)
        assert counters.version > before.version
        assert counters.extracted == before.extracted

    async def test_summaries_before_the_message_stay(self, store: Store) -> None:
        """Those that cover it or a later one go, whatever their status; what they were folded from is live again."""
        erased = await self.forgotten(store, 3)
        assert sorted(erased.summaries) == ["ab", "b", "c"]
        left = await store.summaries("s1", live=False)
        assert [(s.id, s.status, s.folded_into) for s in left] == [("a", "live", None)]
        counters = (await session_of(store, "s1")).counters
        assert (counters.cursor, counters.cursor_turn, counters.cursor_tokens) == (2, 1, 7)
        assert "a" in found_ids(await store.find_words("ann", ["tea"], 9))
        assert found_ids(await store.find_words("ann", ["rum"], 9)) == {"m3", "m3-reply"}
        assert await is_whole(store, "s1")

    @pytest.mark.parametrize(
        ("seq", "gone", "live", "cursor"),
        [
            pytest.param(1, ["a", "ab", "b", "c"], [], 0, id="first"),
            pytest.param(2, ["a", "ab", "b", "c"], [], 0, id="end-of-the-first"),
            pytest.param(4, ["ab", "b", "c"], ["a"], 2, id="second"),
            pytest.param(5, ["c"], ["ab"], 4, id="third"),
            pytest.param(8, [], ["ab", "c"], 6, id="not-folded-yet"),
        ],
    )
    async def test_what_is_left_covers_the_log_without_gaps(
        self, store: Store, seq: int, gone: list[str], live: list[str], cursor: int
    ) -> None:
        """Up to the last summary before the message; the rest is to be folded again."""
        erased = await self.forgotten(store, seq)
        assert sorted(erased.summaries) == gone
        assert [summary.id for summary in await store.summaries("s1")] == live
        assert (await session_of(store, "s1")).counters.cursor == cursor
        assert await is_whole(store, "s1")

    async def test_a_replaced_summary_goes_too(self, store: Store) -> None:
        """With the message it covers; what was folded into it does not come back beside its successor's."""
        await remembered(store)
        anew = (
            replace(a_summary("a2", "s1", Span(first=1, last=2)), status="folded", folded_into="ab2"),
            a_summary("ab2", "s1", Span(first=1, last=4), inputs=("a2",)),
            a_summary("c2", "s1", Span(first=5, last=6)),
        )
        assert await store.commit(a_swap("s1", *anew, expect=4, cursor=6, retire=("ab", "c")))
        erased = await store.erase(an_erasure(await self.rewrite(store, 4)))
        assert sorted(erased.summaries) == ["ab", "ab2", "b", "c", "c2"]
        assert [summary.id for summary in await store.summaries("s1")] == ["a2"]
        assert await is_whole(store, "s1")

    async def test_summaries_that_cannot_stand_alone_all_go(self, store: Store) -> None:
        """If what is left would leave a gap, folding starts over."""
        await remembered(store)
        lone = replace(a_summary("x", "s1", Span(first=3, last=4)), status="folded", folded_into="c")
        assert await store.commit(a_swap("s1", lone, expect=4, cursor=6))
        erased = await store.erase(an_erasure(await self.rewrite(store, 5)))
        assert sorted(erased.summaries) == ["a", "ab", "b", "c", "x"]
        assert (await session_of(store, "s1")).counters.cursor == 0
        assert await is_whole(store, "s1")

    async def test_facts_and_episodes_of_the_message_go(self, store: Store) -> None:
        """With their links; the slot stands as if it had never been said."""
        erased = await self.forgotten(store, 7, 5)
        assert (erased.facts, erased.episodes) == (("f4", "f3"), ("e3",))
        assert (await standing(store))["f2"] == "active"
        assert [e.id for e in await store.episodes("ann")] == ["e1", "e2", "e4"]
        assert await store.links("ann") == [a_link("e1", "told"), a_link("f1", "f2")]
        await store.erase(an_erasure(await self.rewrite(store, 3), receipt_id="r2"))
        assert await store.links("ann") == [a_link("e1", "told")]
        assert await standing(store) == {"f1": "active", "told": "active"}

    async def test_a_question_goes_with_the_message_that_asked_it(self, store: Store) -> None:
        """The answer stays, if it was said in words of its own; else it goes, for it tells what was asked."""
        await remembered(store)
        asked: dict[str, Any] = {"message_id": "m3", "key": None, "question": "Is it cake on Sundays?"}
        asked["question_id"] = "m2-reply"
        own = a_fact("a1", "With cream.", quote="I like", **asked)
        echo = a_fact("a2", "Cake with cream.", quote="I like r", **asked)
        other = a_fact("a3", "Always.", quote="I like ru", **(asked | {"question_id": "m1-reply"}))
        await store.commit_facts(some_facts(own, echo, other))
        erased = await store.erase(an_erasure(await self.rewrite(store, 4)))
        assert erased.facts == ("a2",)
        kept = {fact.id: (fact.value, fact.question, fact.question_id) for fact in await store.facts("ann")}
        assert kept["a1"] == ("With cream.", None, None)
        assert kept["a3"] == ("Always.", "Is it cake on Sundays?", "m1-reply")

    async def test_a_question_stays_while_its_words_do(self, store: Store) -> None:
        """If other words are cut out of the message that asked it, it is as it was."""
        await remembered(store)
        for number, word in ((1, "Sundays"), (2, "Fine")):
            asked: dict[str, Any] = {"message_id": "m3", "key": None, "question": "Cake on Sundays?"}
            asked["question_id"] = "m2-reply"
            await store.commit_facts(some_facts(a_fact(f"a{number}", "Yes.", quote="I like"[:-number], **asked)))
            row = await row_of(store, "s1", 4)
            cut = a_rewrite(row, f"Fine [forgotten] {number}", whole=False, words=(word,))
            await store.erase(an_erasure(cut, receipt_id=f"r{number}"))
        kept = {fact.id: fact.question for fact in await store.facts("ann")}
        assert (kept["a1"], kept["a2"]) == (None, "Cake on Sundays?")

    async def test_an_episode_that_came_out_of_the_message_is_read_again(self, store: Store) -> None:
        """It keeps its id, its kind and its links, but none of its words; then the message that it stands at is due."""
        await remembered(store)
        await store.commit_facts(some_facts(links=(a_link("e2", "told"),)))
        erased = await store.erase(an_erasure(await self.rewrite(store, 2)))
        assert erased.episodes == ()
        (left,) = [one for one in await store.episodes("ann") if one.id == "e2"]
        assert (left.title, left.summary, left.context) == (FORGOTTEN, FORGOTTEN, "")
        assert (left.kind, left.message_ids) == ("decision_made", ("m2",))
        assert [m.seq for m in await store.messages("s1", unread=True, limit=1)] == [3]
        assert a_link("e2", "told") in await store.links("ann")
        reading = a_reading(await session_of(store, "s1"), 3, (3,))
        assert await store.commit_facts(some_facts(drop_episodes=("e2",), reading=reading))
        assert a_link("e2", "told") not in await store.links("ann")

    async def test_digests_and_proposals_go(self, store: Store) -> None:
        """Every version, for each may have been written from it; one under way comes too late."""
        await remembered(store)
        late = a_digest("ann", 3, sources=(Source(session_id="s1", messages=8, version=4),))
        erased = await store.erase(an_erasure(await self.rewrite(store, 8)))
        assert sorted(erased.digests) == ["digest-ann-1", "digest-ann-2"]
        assert not await store.summaries(user_id="ann", digests=True, live=False)
        assert not await store.proposals()
        assert not await store.commit(late)
        assert "digest-ann-2" not in found_ids(await store.find_words("ann", ["tea"], 9))

    async def test_forgotten_values_are_blocked(self, store: Store) -> None:
        """Those of facts that were named: they are counted, and not put again when the message is read again."""
        await remembered(store)
        assert (await store.erase(an_erasure(await self.rewrite(store, 3)))).values_blocked == 0
        rewrite = await self.rewrite(store, 1)
        erased = await store.erase(an_erasure(rewrite, facts=("f1",), receipt_id="r2"))
        assert erased.values_blocked == 1
        await store.commit_facts(some_facts(a_fact("f9", "Tea", message_id="m3", minutes=9)))
        assert single(await store.facts(ids=["f9"])) is None

    async def test_a_fold_under_way_comes_too_late(self, store: Store) -> None:
        """It may tell what was forgotten meanwhile; so may a swap, and the session is looked at again."""
        await remembered(store)
        await store.release(await claimed(store), failed="broken", retry_at=(await session_of(store, "s1")).touched_at)
        claim = await claimed(store)
        session = claim.session
        fold = a_fold("s1", a_summary("d", "s1", Span(first=7, last=8)), expect=session.counters.version, cursor=8)
        await store.erase(an_erasure(await self.rewrite(store, 8)))
        assert not await store.commit(fold)
        assert not await store.commit(a_swap("s1", expect=session.counters.version, cursor=0, retire=("ab", "c")))
        await store.release(claim)
        assert await store.pending() == 1
        assert (await session_of(store, "s1")).attempts == 0

    async def test_a_part_of_a_message_is_forgotten(self, store: Store) -> None:
        """What is left is found; facts that tell of the rest go, and its episodes are read again."""
        await remembered(store)
        rewrite = a_rewrite(await row_of(store, "s1", 3), "I like [forgotten] biscuits.", whole=False, words=("milk",))
        erased = await store.erase(an_erasure(rewrite))
        assert (erased.messages, erased.redacted) == ((), ("m2",))
        assert (erased.facts, erased.episodes) == (("f2",), ())
        assert found_ids(await store.find_words("ann", ["biscuit"], 9)) == {"m2"}
        message = single(await store.messages(ids=["m2"]))
        assert message is not None
        assert (message.forgotten, message.text) == (True, "I like [forgotten] biscuits.")
        assert [m.seq for m in await store.messages("s1", unread=True, limit=2)] == [2, 3]
        assert await is_whole(store, "s1")

    async def test_other_facts_of_the_message_stay_as_they_are(self, store: Store) -> None:
        """With id, standing, verdict, links and use; only their quotes move with what is left of the message."""
        await remembered(store)
        row = await row_of(store, "s1", 3)
        text = "I like milk."
        other = replace(a_fact("other", "like", key="verb", message_id="m2", quote="like", minutes=2), start=2, end=6)
        kept = replace(a_fact("kept", "end", key="sign", message_id="m2", quote=".", minutes=2), start=11, end=12)
        judged = replace(kept, verdict="demoted", verdict_at=kept.learnt_at)
        await store.commit_facts(some_facts(other, judged, links=(a_link("kept", "told"),)))
        await store.note_accesses([Access(id="kept", times=3, at=kept.learnt_at)])
        before = {fact.id: fact for fact in await store.facts("ann")}
        assert (await store.messages("s1", Span(first=3, last=3)))[0].text == text
        cut = a_rewrite(row, "I like [forgotten].", whole=False, words=("milk",))
        assert (await store.erase(an_erasure(cut))).facts == ("f2",)
        after = {fact.id: fact for fact in await store.facts("ann")}
        assert after["other"] == before["other"]
        assert after["kept"] == replace(before["kept"], start=18, end=19)
        assert (after["kept"].status, after["kept"].accesses) == ("candidate", 3)
        assert a_link("kept", "told") in await store.links("ann")
        assert await is_whole(store, "s1")

    async def test_what_is_left_can_be_forgotten_too(self, store: Store) -> None:
        """The chain goes by what the message said first."""
        await remembered(store)
        first = (await row_of(store, "s1", 3)).leaf
        rewrite = a_rewrite(await row_of(store, "s1", 3), "I like it.", whole=False)
        await store.erase(an_erasure(rewrite))
        await store.erase(an_erasure(await self.rewrite(store, 3), receipt_id="r2"))
        row = await row_of(store, "s1", 3)
        assert chain.link_of(row) == row.erased == first
        assert await is_whole(store, "s1")

    async def test_a_key_that_is_a_digest_goes_with_the_message(self, store: Store) -> None:
        """It could be guessed back from the key; keys that callers chose stay, so that nothing is brought back."""
        for key in ("proxy:digest", "theirs"):
            await store.append(an_append("s1", a_draft(f"m-{key}"), key=key))
        rewrites = [a_rewrite(await row_of(store, "s1", seq)) for seq in (1, 2)]
        await store.erase(an_erasure(*rewrites))
        again = await store.append(an_append("s1", a_draft("other"), key="proxy:digest"))
        assert (again.ids, again.duplicates) == (("other",), ())
        assert (await store.append(an_append("s1", a_draft("m-theirs"), key="theirs"))).duplicates == ("m-theirs",)

    async def test_a_message_that_has_changed_is_a_conflict(self, store: Store) -> None:
        """Nothing of the erasure is kept, not even of the messages that had not changed."""
        await remembered(store)
        other, rewrite = await self.rewrite(store, 1), await self.rewrite(store, 3)
        await store.erase(an_erasure(rewrite))
        before = await everything(store)
        with pytest.raises(Conflict, match="m2"):
            await store.erase(an_erasure(other, rewrite, facts=("told",), receipt_id="r2"))
        for stray in (replace(other, seq=99), replace(other, session_id="s9")):
            with pytest.raises(Conflict, match="m1"):
                await store.erase(an_erasure(stray, receipt_id="r2"))
        assert await everything(store) == before

    async def test_an_erasure_reaches_no_other_user(self, store: Store) -> None:
        """Another user's sessions are not found; facts, episodes and milestones of theirs are passed over."""
        await remembered(store)
        rewrite = await self.rewrite(store, 1)
        before = await everything(store)
        for erasure in (
            an_erasure(rewrite, user_id="bob"),
            an_erasure(user_id="bob", sessions=("s1",)),
            an_erasure(user_id="bob", unfold={"s1": 1}),
        ):
            with pytest.raises(NotFound, match="s1"):
                await store.erase(erasure)
        assert await everything(store) == before
        erased = await store.erase(
            an_erasure(user_id="bob", facts=("f1", "told"), episodes=("e1",), milestones=("mile1",))
        )
        assert erased == Erased()
        assert (await everything(store))[7:] == before[7:]

    async def test_words_of_a_title_go(self, store: Store) -> None:
        """If it is still the title that was read, and of that user; a dry run says how many."""
        await remembered(store)
        await store.update_session("s1", at(20), title="Milk for Ann")
        cut = TitleCut("s1", "Milk for Ann", "[forgotten] for Ann")
        assert (await store.erase(an_erasure(titles=(cut,), receipt_id="r1", dry_run=True))).titles == 1
        assert (await session_of(store, "s1")).title == "Milk for Ann"
        assert (await store.erase(an_erasure(user_id="bob", titles=(cut,), receipt_id="r2"))).titles == 0
        cuts = (await store.changes("ann", 0)).cuts
        erased = await store.erase(an_erasure(titles=(cut,), receipt_id="r3"))
        assert erased.titles == 1
        assert (await session_of(store, "s1")).title == "[forgotten] for Ann"
        assert (await store.changes("ann", 0)).cuts > cuts
        assert (await store.erase(an_erasure(titles=(cut,), receipt_id="r4"))).titles == 0
        await store.erase(an_erasure(sessions=("s1",), receipt_id="r5"))
        await store.append(an_append("s1", a_draft("new")))
        assert (await session_of(store, "s1")).title is None

    async def test_derived_things_can_be_kept(self, store: Store) -> None:
        """Under a retention rule words go but summaries, facts and digests stay; the counters are right."""
        await remembered(store)
        before = await everything(store)
        version = (await session_of(store, "s1")).counters.version
        erased = await store.erase(an_erasure(await self.rewrite(store, 1), derived=False))
        assert erased == Erased(messages=("m1",))
        session = await session_of(store, "s1")
        assert (session.counters.cursor, session.counters.version) == (6, version)
        assert (session.counters.tokens, session.counters.cursor_tokens) == (26, 19)
        assert len(await store.summaries("s1", live=False)) == 4
        assert len(await store.facts("ann")) == 5
        assert len(await store.summaries(user_id="ann", digests=True, live=False)) == 2
        assert len(await store.proposals()) == 1
        assert await store.links("ann") == [a_link("e1", "told"), a_link("f1", "f2"), a_link("f2", "f3")]
        assert await everything(store) != before
        assert found_ids(await store.find_words("ann", ["tea"], 9)) == {"m1-reply", "ab", "digest-ann-2"}

    async def test_a_dry_run_changes_nothing(self, store: Store) -> None:
        """It says what would go, to the last id, and everything is as it was."""
        await remembered(store)
        await claimed(store)
        before = await everything(store)
        rewrites = [await self.rewrite(store, 3), a_rewrite(await row_of(store, "s1", 5), "I like.", whole=False)]
        erasure = an_erasure(*rewrites, facts=("told",), episodes=("e4",), milestones=("mile1",))
        planned = await store.erase(replace(erasure, dry_run=True))
        assert await everything(store) == before
        assert await store.erase(erasure) == planned
        assert planned.messages == ("m2",)
        assert planned.redacted == ("m3",)
        assert set(planned.facts) == {"f2", "f3", "told"}
        assert set(planned.episodes) == {"e2", "e3", "e4"}
        assert planned.milestones == 1

    async def test_an_append_tried_again_stays_known(self, store: Store) -> None:
        """Its key gives the first result, though what it brought is forgotten; it brings nothing back."""
        await self.forgotten(store, 3)
        turn = a_turn(2, text="I like milk.", minutes=2)
        again = await store.append(an_append("s1", *turn, key="k2", minutes=9))
        assert (again.duplicates, again.span) == (("m2", "m2-reply"), Span(first=3, last=4))
        other = a_draft("m2", "Something else")
        assert (await store.append(an_append("s1", other, key="k2"))).duplicates == ("m2", "m2-reply")
        with pytest.raises(Conflict, match="'k2'"):
            await store.append(an_append("s2", a_draft("x"), key="k2"))
        with pytest.raises(Conflict, match="'k3'"):
            await store.append(an_append("s1", other, key="k3"))
        stored = single(await store.messages(ids=["m2"]))
        assert stored is not None
        assert stored.text == FORGOTTEN

    async def test_a_message_given_again_stays_forgotten(self, store: Store) -> None:
        """Under its id, with the same words or others; in another session the id is still taken."""
        await self.forgotten(store, 3)
        for text in ("I like milk.", "Else"):
            again = await store.append(an_append("s1", a_draft("m2", text, minutes=2), minutes=9))
            assert (again.duplicates, again.span) == (("m2",), None)
        with pytest.raises(Conflict, match="'m2'"):
            await store.append(an_append("s2", a_draft("m2", "I like milk.", minutes=2)))
        assert found_ids(await store.find_words("ann", ["milk"], 9)) == {"m2-reply"}

    async def test_a_session_goes_on_after_forgetting(self, store: Store) -> None:
        """It takes messages, folds them, and forgets again."""
        await self.forgotten(store, 8)
        appended = await store.append(an_append("s1", *a_turn(5), minutes=9))
        assert appended.span == Span(first=9, last=10)
        version = appended.session.counters.version
        fold = a_fold("s1", a_summary("d", "s1", Span(first=7, last=10)), expect=version, cursor=10)
        assert await store.commit(fold)
        assert await is_whole(store, "s1")
        erased = await store.erase(an_erasure(await self.rewrite(store, 9), receipt_id="r2"))
        assert erased.summaries == ("d",)
        assert await is_whole(store, "s1")
