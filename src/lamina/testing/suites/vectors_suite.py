"""Vectors: what needs one, what has one, and that each goes with the words it was made of."""

# ruff: noqa: PLR2004 - the numbers of a test speak for themselves

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from lamina.log.pages import single
from lamina.protocols.store import Store
from lamina.testing.samples import (
    RULE,
    a_digest,
    a_draft,
    a_fact,
    a_fold,
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
from lamina.testing.suites.checks_suite import (
    Suite,
    counted,
    embedded,
    four_turns,
    is_whole,
    meaning,
    row_of,
    session_of,
    with_vectors,
)
from lamina.testing.suites.erasing_suite import remembered
from lamina.values.message import Span

MESSAGES = [draft.id for number in (1, 2, 3, 4) for draft in a_turn(number)]
DERIVED = ["ab", "c", "digest-ann-2", "f1", "f2", "f3", "f4", "told", "e1", "e2", "e3", "e4"]


def a_vector(*numbers: int) -> bytes:
    """A vector as it is kept: a scale that no angle depends on, then a signed byte for each number."""
    return b"\0\0\x80?" + bytes(number % 256 for number in numbers)


async def _rewritten(store: Store) -> None:
    await store.erase(an_erasure(a_rewrite(await row_of(store, "s1", 6))))


async def _redacted(store: Store) -> None:
    rewrite = a_rewrite(await row_of(store, "s1", 8), "Noted: I like it.", whole=False)
    await store.erase(an_erasure(rewrite, derived=False))


async def _judged(store: Store) -> None:
    fact = single(await store.facts(ids=["f4"]))
    assert fact is not None
    await store.commit_facts(some_facts(change=(replace(fact, verdict="promoted", verdict_at=at(9)),)))


GOING: list[object] = [
    pytest.param(_rewritten, {"m3-reply", "c", "digest-ann-2"}, id="message"),
    pytest.param(_redacted, {"m4-reply"}, id="part-of-a-message"),
    pytest.param(
        lambda s: s.commit(
            a_fold("s1", a_summary("abc", "s1", Span(first=1, last=6)), expect=4, cursor=6, retire=("ab", "c"))
        ),
        {"ab", "c"},
        id="folded",
    ),
    pytest.param(
        lambda s: s.commit(
            a_swap("s1", a_summary("x", "s1", Span(first=5, last=6)), expect=4, cursor=6, retire=("c",))
        ),
        {"c"},
        id="replaced",
    ),
    pytest.param(lambda s: s.commit(a_digest("ann", 3)), {"digest-ann-2"}, id="new-digest"),
    pytest.param(lambda s: s.drop_digests("ann"), {"digest-ann-2"}, id="drop-digests"),
    pytest.param(lambda s: s.commit_facts(some_facts(drop=("f1",))), {"f1"}, id="fact-dropped"),
    pytest.param(_judged, {"f4"}, id="fact-judged"),
    pytest.param(lambda s: s.commit_facts(some_facts(drop_episodes=("e4",))), {"e4"}, id="episode-dropped"),
    pytest.param(
        lambda s: s.commit_facts(some_facts(change_episodes=(replace(an_episode("e1"), title="Else"),))),
        {"e1"},
        id="episode-changed",
    ),
    pytest.param(
        lambda s: s.erase(an_erasure(facts=("told",), episodes=("e2",))), {"told", "e2", "digest-ann-2"}, id="by-id"
    ),
    pytest.param(lambda s: s.erase(an_erasure(unfold={"s1": 5})), {"c", "digest-ann-2"}, id="unfold-from"),
    pytest.param(lambda s: s.unfold("s1", RULE), {"ab", "c", "f1", "f2", "f3", "f4", "e1", "e2", "e3"}, id="unfold"),
    pytest.param(lambda s: s.erase(an_erasure(sessions=("s1",))), {*MESSAGES, *DERIVED} - {"told"}, id="session"),
    pytest.param(lambda s: s.erase(an_erasure(user=True)), {*MESSAGES, *DERIVED}, id="user"),
]


class Vectors(Suite):
    """What is kept for a search by meaning."""

    async def test_messages_and_summaries_are_read_by_id(self, store: Store) -> None:
        """As many messages as there are, each once; a summary whatever its status."""
        await remembered(store)
        found = await store.messages(ids=["m2", "nothing", "m1-reply", "m2", "ab"])
        assert sorted(message.id for message in found) == ["m1-reply", "m2"]
        assert single(await store.messages(ids=["m2"])) in found
        found_summaries = [
            single(await store.summaries(ids=[one], live=False)) for one in ("a", "ab", "nothing", "digest-ann-1", "m1")
        ]
        assert [one and one.id for one in found_summaries] == ["a", "ab", None, "digest-ann-1", None]
        assert not await store.messages(ids=[])

    async def test_live_summaries_are_those_of_all_sessions(self, store: Store) -> None:
        """With the newest digest, of this user only."""
        await remembered(store)
        await store.append(an_append("s2", *a_turn(1, "x")))
        await store.commit(a_fold("s2", a_summary("y", "s2", Span(first=1, last=2)), expect=0, cursor=2))
        await store.commit(a_digest("bob", 1))
        assert [summary.id for summary in await store.summaries(user_id="ann")] == ["ab", "c", "digest-ann-2", "y"]
        assert [summary.id for summary in await store.summaries(user_id="bob")] == ["digest-bob-1"]

    async def test_what_an_index_reads_is_what_the_single_verbs_give(self, store: Store) -> None:
        """All of it when something has changed, else vectors alone; none without an embedder."""
        await remembered(store)
        await embedded(store)
        await store.update_session("s1", at(90), status="archived")
        found = await store.changes("ann", 0, items=True, embedder="e")
        assert replace(found, vectors=(), items=None, archived=frozenset()) == await store.changes("ann", 0)
        assert list(found.vectors) == await store.vectors("ann", "e", 0)
        summaries, facts = await store.summaries(user_id="ann"), await store.facts("ann")
        searchable = [*(one.id for one in summaries), *(one.id for one in facts)]
        searchable += [one.id for one in await store.episodes("ann")]
        assert sorted(item.id for item in found.items or ()) == sorted(searchable)
        assert found.archived == {"s1"}
        last = found.vectors[-1].place
        again = await store.changes("ann", found.count, items=True, embedder="e", after=last)
        assert (again.items, again.vectors, again.archived) == (None, (), frozenset())
        assert (await store.changes("ann", 0, items=True)).vectors == ()

    async def test_everything_searchable_needs_a_vector(self, store: Store) -> None:
        """What is derived first, then messages in their order; with the counts that it was read at."""
        await remembered(store)
        found = await store.to_embed("ann", "e", 99)
        assert [item.id for item in found.items] == [
            *sorted(DERIVED[:3]),
            *sorted(DERIVED[3:8]),
            *DERIVED[8:],
            *MESSAGES,
        ]
        assert (found.count, found.cuts) == await counted(store)
        assert found.done
        assert found.items[0] == single(await store.summaries(ids=["ab"], live=False))
        assert found.items[3] == single(await store.facts(ids=["f1"]))
        assert found.items[8] == single(await store.episodes(ids=["e1"]))
        assert found.items[-1] == single(await store.messages(ids=["m4-reply"]))
        assert (await store.to_embed("bob", "e", 99)).items == ()

    async def test_what_tells_nothing_needs_no_vector(self, store: Store) -> None:
        """Messages and summaries without words, forgotten messages, and facts that only bear another out."""
        drafts = [a_draft("m1"), a_draft("m2", ""), a_draft("m3", " \n"), a_draft("m4", "Rain?"), a_draft("m5", "")]
        await store.append(an_append("s1", *drafts))
        await store.commit(a_fold("s1", a_summary("x", "s1", Span(first=1, last=2), " "), expect=0, cursor=2))
        again = a_fact("f2", "tea", message_id="m4", minutes=1)
        await store.commit_facts(some_facts(a_fact("f1"), again))
        assert [item.id for item in (await store.to_embed("ann", "e", 9)).items] == ["f1", "m1", "m4"]
        await store.erase(an_erasure(a_rewrite(await row_of(store, "s1", 4))))
        assert [item.id for item in (await embedded(store)).items] == ["f1", "m1"]
        assert (await store.to_embed("ann", "e", 9)).items == ()
        assert await store.users(unembedded="e", limit=9) == []

    @pytest.mark.parametrize("limit", [1, 3, 7, 20])
    async def test_they_are_given_in_parts(self, store: Store, limit: int) -> None:
        """Each part goes on where the last ended; the last says that it is."""
        await remembered(store)
        await store.append(an_append("s2", *a_turn(1, "x"), a_draft("y", "")))
        wanted = [item.id for item in (await store.to_embed("ann", "e", 99)).items]
        given: list[str] = []
        for _ in range(-(-len(wanted) // limit)):
            assert await store.users(unembedded="e", limit=9) == ["ann"]
            part = await embedded(store, limit=limit)
            given += [item.id for item in part.items]
            assert part.done == (len(given) == len(wanted))
        assert given == wanted
        assert await with_vectors(store) == set(wanted)
        assert await store.users(unembedded="e", limit=9) == []

    async def test_what_is_new_needs_a_vector(self, store: Store) -> None:
        """And nothing else, in a session of many messages too; the user is due until it has one."""
        await remembered(store)
        await embedded(store)
        await store.append(an_append("s2", *a_turn(1, "x")))
        await store.append(an_append("s1", *a_turn(5)))
        await store.commit_facts(some_facts(a_told_fact("f9", key="town")))
        assert await store.users(unembedded="e", limit=9) == ["ann"]
        found = await embedded(store, limit=2)
        assert ([item.id for item in found.items], found.done) == (["f9", "x1"], False)
        assert [item.id for item in (await embedded(store)).items] == ["x1-reply", "m5", "m5-reply"]
        assert await store.users(unembedded="e", limit=9) == []

    async def test_a_change_without_words_is_noted(self, store: Store) -> None:
        """The user is due, but there is nothing to do."""
        await remembered(store)
        await embedded(store)
        await store.update_session("s1", at(9), status="archived")
        assert await store.users(unembedded="e", limit=9) == ["ann"]
        assert (await embedded(store)).items == ()
        assert await store.users(unembedded="e", limit=9) == []

    async def test_users_are_due_until_they_are_done(self, store: Store) -> None:
        """By id; what changed while vectors were made is still due."""
        for user_id in ("carl", "ann", "bob"):
            await store.append(an_append(f"s-{user_id}", *a_turn(1, user_id), user_id=user_id))
        assert await store.users(unembedded="e", limit=2) == ["ann", "bob"]
        found = await store.to_embed("bob", "e", 9)
        await store.append(an_append("s-bob", *a_turn(2, "bob"), user_id="bob"))
        vectors = {item.id: f"e {item.id}".encode() for item in found.items}
        assert await store.put_vectors("bob", "e", found.cuts, vectors, found.count)
        await embedded(store, "ann")
        assert await store.users(unembedded="e", limit=9) == ["bob", "carl"]
        assert [item.id for item in (await embedded(store, "bob")).items] == ["bob2", "bob2-reply"]
        assert await store.users(unembedded="e", limit=9) == ["carl"]
        assert await store.users(unembedded="other", limit=9) == ["ann", "bob", "carl"]

    async def test_a_late_note_takes_nothing_back(self, store: Store) -> None:
        """Of two at work, the slower one does not make what is done due again, nor beyond what there is."""
        await four_turns(store)
        old = await store.to_embed("ann", "e", 9)
        await store.append(an_append("s1", *a_turn(5)))
        await embedded(store)
        assert await store.put_vectors("ann", "e", old.cuts, {}, old.count)
        assert await store.users(unembedded="e", limit=9) == []
        assert await store.put_vectors("ann", "e", old.cuts, {}, old.count + 99)
        await store.append(an_append("s1", *a_turn(6)))
        assert await store.users(unembedded="e", limit=9) == ["ann"]

    async def test_vectors_are_read_from_a_place_on(self, store: Store) -> None:
        """Whoever has seen all up to a place sees what came later, and no place comes twice, whatever went."""
        await four_turns(store)
        await embedded(store, limit=2)
        seen = await store.vectors("ann", "e", 0)
        assert [row.item_id for row in seen] == ["m1", "m1-reply"]
        await embedded(store)
        later = await store.vectors("ann", "e", seen[-1].place)
        assert [row.item_id for row in later] == MESSAGES[2:]
        rewrites = [a_rewrite(await row_of(store, "s1", seq), "Else", whole=False) for seq in (7, 8)]
        await store.erase(an_erasure(*rewrites))
        await embedded(store)
        newest = await store.vectors("ann", "e", later[-1].place)
        assert [row.item_id for row in newest] == MESSAGES[6:]
        assert await store.vectors("ann", "e", newest[-1].place) == await store.vectors("bob", "e", 0) == []

    async def test_a_vector_is_replaced_at_a_new_place(self, store: Store) -> None:
        """There is one of each embedder."""
        await four_turns(store)
        await embedded(store)
        (*_, last) = await store.vectors("ann", "e", 0)
        assert await store.put_vectors("ann", "e", 0, {"m1": b"other"}, None)
        (new,) = await store.vectors("ann", "e", last.place)
        assert (new.item_id, new.vector) == ("m1", b"other")
        assert len(await store.vectors("ann", "e", 0)) == 8

    async def test_embedders_are_kept_apart(self, store: Store) -> None:
        """Each has its own vectors and its own notes."""
        await four_turns(store)
        await embedded(store)
        await embedded(store, embedder="other", limit=3)
        assert await with_vectors(store, embedder="other") == {"m1", "m1-reply", "m2"}
        assert await with_vectors(store) == set(MESSAGES)
        assert await store.users(unembedded="e", limit=9) == []
        assert await store.users(unembedded="other", limit=9) == ["ann"]

    async def test_vectors_made_of_words_that_were_cut_are_refused(self, store: Store) -> None:
        """Nothing of them is stored, also if the user was forgotten and is back with the same ids."""
        await remembered(store)
        found = await store.to_embed("ann", "e", 99)
        vectors = {item.id: f"e {item.id}".encode() for item in found.items}
        for erasure in (an_erasure(facts=("f1",)), an_erasure(user=True, receipt_id="r2")):
            await store.erase(erasure)
            before = await meaning(store)
            assert not await store.put_vectors("ann", "e", found.cuts, vectors, found.count)
            assert await meaning(store) == before
        await four_turns(store)
        assert not await store.put_vectors("ann", "e", found.cuts, vectors, found.count)
        assert await with_vectors(store) == set()
        assert await store.users(unembedded="e", limit=9) == ["ann"]

    async def test_what_is_gone_meanwhile_is_passed_over(self, store: Store) -> None:
        """So is what is someone else's, and a summary that is no longer live; the rest is stored."""
        await remembered(store)
        await store.append(an_append("b1", *a_turn(1, "b"), user_id="bob"))
        found = await store.to_embed("ann", "e", 99)
        await store.commit_facts(some_facts(drop=("f1",), drop_episodes=("e4",)))
        await store.commit(a_digest("ann", 3))
        vectors = {item.id: f"e {item.id}".encode() for item in found.items}
        others = {"b1": b"x", "nothing": b"x", "a": b"x"}
        assert await store.put_vectors("ann", "e", found.cuts, {**others, **vectors}, None)
        assert await with_vectors(store) == {*MESSAGES, *DERIVED} - {"f1", "e4", "digest-ann-2"}
        assert await with_vectors(store, "bob") == set()
        assert await store.put_vectors("carl", "e", 0, {"m1": b"x"}, 9)
        assert await with_vectors(store, "carl") == set()
        assert await is_whole(store, "s1")

    @pytest.mark.parametrize(("verb", "gone"), GOING)
    async def test_a_vector_goes_with_its_words(
        self, store: Store, verb: Callable[[Store], Awaitable[object]], gone: set[str]
    ) -> None:
        """Of every embedder, at once; all others stay, and what is left or new gets one afterwards."""
        await remembered(store)
        await store.append(an_append("b1", *a_turn(1, "b"), user_id="bob"))
        for embedder in ("e", "other"):
            await embedded(store, embedder=embedder)
            await embedded(store, "bob", embedder)
        old = await store.vectors("ann", "e", 0)
        await verb(store)
        for embedder in ("e", "other"):
            assert await with_vectors(store, embedder=embedder) == {*MESSAGES, *DERIVED} - gone
            assert await with_vectors(store, "bob", embedder) == {"b1", "b1-reply"}
        left = await store.vectors("ann", "e", 0)
        assert [row for row in old if row.item_id not in gone] == left
        due = {item.id for item in (await store.to_embed("ann", "e", 99)).items}
        assert due.isdisjoint(row.item_id for row in left)
        if single(await store.sessions(ids=["s1"])):
            await embedded(store)
            assert await with_vectors(store) == {row.item_id for row in left} | due
            assert await is_whole(store, "s1")

    async def test_a_message_rewritten_in_the_middle_gets_a_new_vector(self, store: Store) -> None:
        """Though later ones of its session have theirs; so does one that was appended meanwhile, in parts too."""
        await remembered(store)
        await embedded(store)
        rewrite = a_rewrite(await row_of(store, "s1", 3), "I like it.", whole=False)
        await store.erase(an_erasure(rewrite))
        await store.append(an_append("s1", *a_turn(5)))
        found = [item.id for _ in range(4) for item in (await embedded(store, limit=1)).items]
        assert found == ["a", "m2", "m5", "m5-reply"]
        assert await store.users(unembedded="e", limit=9) == []

    async def test_words_cut_while_vectors_are_made_do_not_hide_others(self, store: Store) -> None:
        """Before the first time that all had vectors, too."""
        await four_turns(store)
        await embedded(store, limit=5)
        rewrite = a_rewrite(await row_of(store, "s1", 2), "I like it.", whole=False)
        await store.erase(an_erasure(rewrite))
        assert [item.id for item in (await embedded(store)).items] == ["m1-reply", *MESSAGES[5:]]
        assert await with_vectors(store) == set(MESSAGES)

    async def test_a_summary_that_comes_back_gets_a_new_vector(self, store: Store) -> None:
        """As does one that is live again because what it was folded into is gone."""
        await remembered(store)
        await embedded(store)
        version = (await session_of(store, "s1")).counters.version
        old = single(await store.summaries(ids=["c"], live=False))
        assert old is not None
        new = a_summary("x", "s1", Span(first=5, last=6))
        assert await store.commit(a_swap("s1", new, expect=version, cursor=6, retire=("c",)))
        assert await store.commit(a_swap("s1", old, expect=version + 1, cursor=6, retire=("x",)))
        assert [item.id for item in (await embedded(store)).items] == ["c"]
        await store.erase(an_erasure(a_rewrite(await row_of(store, "s1", 3))))
        assert [item.id for item in (await embedded(store)).items] == ["a"]

    async def test_a_dry_run_keeps_the_vectors(self, store: Store) -> None:
        """And all that is noted of them."""
        await remembered(store)
        await embedded(store)
        before = await meaning(store)
        for erasure in (
            an_erasure(a_rewrite(await row_of(store, "s1", 3)), facts=("told",)),
            an_erasure(sessions=("s1",)),
            an_erasure(user=True),
        ):
            await store.erase(replace(erasure, dry_run=True))
            assert await meaning(store) == before

    async def test_building_the_index_anew_keeps_the_vectors(self, store: Store) -> None:
        """But they are to be read again."""
        await remembered(store)
        await embedded(store)
        before = await store.vectors("ann", "e", 0)
        await store.rebuild()
        assert await store.vectors("ann", "e", 0) == before
        assert (await embedded(store)).items == ()

    async def test_the_nearest_are_those_of_the_smallest_angle(self, store: Store) -> None:
        """However long; of equals the first by id; what has another size, or nothing in it, is near to nothing."""
        await four_turns(store)
        made = {
            "m1": a_vector(10, 0, 0),
            "m1-reply": a_vector(0, 100, 0),
            "m2": a_vector(127, 1, 0),
            "m2-reply": a_vector(-90, 0, 0),
            "m3": a_vector(5, 0, 0),
            "m3-reply": a_vector(0, 0, 0),
            "m4": a_vector(1, 2),
            "m4-reply": b"?",
        }
        assert await store.put_vectors("ann", "e", 0, made, None)
        assert await store.put_vectors("ann", "other", 0, {"m4": a_vector(1, 0, 0)}, None)
        asked = a_vector(100, 0, 0)
        assert await store.nearest("ann", "e", asked, 9) == ["m1", "m3", "m2", "m1-reply", "m2-reply"]
        assert await store.nearest("ann", "e", asked, 2) == ["m1", "m3"]
        assert await store.nearest("ann", "e", a_vector(1, 2), 9) == ["m4"]
        for nothing in (a_vector(0, 0, 0), a_vector(1, 2, 3, 4), a_vector(), b""):
            assert await store.nearest("ann", "e", nothing, 9) == []
        assert await store.nearest("bob", "e", asked, 9) == await store.nearest("ann", "none", asked, 9) == []
        assert await store.nearest("ann", "e", asked, 0) == []
        some = await store.vectors("ann", "e", ids=["m3", "m1", "none"])
        assert some == [row for row in await store.vectors("ann", "e", 0) if row.item_id in {"m1", "m3"}]
        assert await store.vectors("bob", "e", ids=["m1"]) == await store.vectors("ann", "none", ids=["m1"]) == []
        assert await store.vectors("ann", "e", ids=[]) == []
