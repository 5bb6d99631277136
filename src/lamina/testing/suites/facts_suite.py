"""Facts: put once, settled with their slot, changed, dropped, and kept out once they are forgotten."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest

from lamina.errors import Stale
from lamina.knowledge.conflicts import resolve
from lamina.knowledge.fact_words import mark
from lamina.log.pages import single
from lamina.protocols.store import Access, Store
from lamina.testing.samples import (
    RULE,
    SECRET,
    a_draft,
    a_fact,
    a_link,
    a_told_fact,
    an_append,
    an_episode,
    an_erasure,
    at,
    some_facts,
)
from lamina.testing.suites.checks_suite import Suite, everything, four_turns, session_of, standing

SAID = (
    a_fact("f1", "tea", message_id="m1", minutes=1),
    a_fact("f2", "Tea!", message_id="m2", minutes=2),
    a_fact("f3", "milk", message_id="m3", minutes=3),
    a_fact("f4", "rum", message_id="m4", minutes=4, confidence=0.4),
)


class Facts(Suite):
    """All about facts but how far was read."""

    async def test_a_fact_comes_back_whole(self, store: Store) -> None:
        """With everything that was said, its times in their zones, and where it was said."""
        await four_turns(store)
        fact = replace(
            a_fact("f1", "thé vert 🍵", quote="j'aime le thé vert 🍵", about="Léna", scope="le soir"),
            question="Et qu'est-ce qu'elle boit ?",
            question_id="m0-reply",
            until=at(90),
            reason="it's calm",
            tags=("a", "b"),
            replaces="f0",
            importance=0.125,
        )
        assert await store.commit_facts(some_facts(fact))
        stored = single(await store.facts(ids=["f1"]))
        assert stored == replace(fact, status="active", valid_until=at(90))
        assert await store.facts("ann") == await store.facts("ann", "s1") == [stored]
        assert single(await store.facts(ids=["nothing"])) is None

    async def test_facts_are_committed_only_beside_the_fact_that_was_read(self, store: Store) -> None:
        """Its tag is another one once it stands otherwise, not when it is used; with an old one nothing changes."""
        await store.commit_facts(some_facts(a_told_fact("f1", "tea", key="drink", minutes=1)))
        first = single(await store.facts(ids=["f1"]))
        assert first is not None
        await store.note_accesses([Access(id="f1", times=3, at=at(4))])
        await store.commit_facts(
            some_facts(a_told_fact("f2", "milk", key="drink", minutes=2), expect=("f1", first.tag))
        )
        before = await store.facts("ann")
        for fact_id in ("f1", "gone"):
            with pytest.raises(Stale, match="read it again"):
                await store.commit_facts(
                    some_facts(a_told_fact("f3", "rum", key="drink", minutes=3), expect=(fact_id, first.tag))
                )
        assert await store.facts("ann") == before
        assert [fact.id for fact in before] == ["f1", "f2"]

    async def test_facts_come_in_the_order_they_were_learnt(self, store: Store) -> None:
        """Of one user, or of one session, whatever their status and in whatever order they were put."""
        await four_turns(store)
        await store.append(an_append("b1", a_draft("b"), user_id="bob"))
        await store.commit_facts(some_facts(*reversed(SAID), a_told_fact("told", key="name", minutes=2.5)))
        other = a_fact("f9", user_id="bob", session_id="b1", message_id="b")
        await store.commit_facts(some_facts(other, user_id="bob"))
        assert [f.id for f in await store.facts("ann")] == ["f1", "f2", "told", "f3", "f4"]
        assert [f.id for f in await store.facts("ann", "s1")] == ["f1", "f2", "f3", "f4"]
        assert [f.id for f in await store.facts("bob")] == ["f9"]
        assert await store.facts("ann", "b1") == await store.facts("carl") == []

    async def test_facts_that_are_current_can_be_asked_for(self, store: Store) -> None:
        """What took the place of another is, what is replaced or only bears on it is not."""
        await four_turns(store)
        await store.commit_facts(some_facts(*SAID))
        found = {fact.id: fact.status for fact in await store.facts("ann")}
        assert {"superseded", "evidence"} <= set(found.values())
        current = [one for one, status in found.items() if status in {"active", "conflicted"}]
        assert [fact.id for fact in await store.facts("ann", current=True)] == current

    async def test_the_same_fact_said_at_the_same_place_is_put_once(self, store: Store) -> None:
        """The first is kept as it is, in this commit and in any later; so is a fact whose id is known."""
        await four_turns(store)
        twin = replace(a_fact("twin", " TEA"), importance=0.75, start=0, end=len("I like tea."))
        await store.commit_facts(some_facts(a_fact("f1", "tea"), replace(twin, id="f2")))
        await store.commit_facts(some_facts(twin))
        await store.commit_facts(some_facts(a_fact("f1", "milk", message_id="m2")))
        (kept,) = await store.facts("ann")
        assert kept == replace(a_fact("f1", "tea"), status="active")

    @pytest.mark.parametrize(
        "changes",
        [
            pytest.param({"message_id": "m2"}, id="message"),
            pytest.param({"start": 1}, id="start"),
            pytest.param({"end": 3}, id="end"),
            pytest.param({"category": "goal"}, id="category"),
            pytest.param({"slot": "meal"}, id="slot"),
            pytest.param({"value": "milk"}, id="value"),
            pytest.param({"holds": False}, id="claim"),
            pytest.param({"message_id": None, "session_id": None, "origin": "told"}, id="told"),
        ],
    )
    async def test_a_fact_said_elsewhere_or_of_something_else_is_another(self, store: Store, changes: Any) -> None:
        """A place is the message, the words in it, the category, the slot, and what is claimed."""
        await four_turns(store)
        await store.commit_facts(some_facts(a_fact("f1")))
        await store.commit_facts(some_facts(replace(a_fact("f2"), **changes)))
        assert sorted(fact.id for fact in await store.facts("ann")) == ["f1", "f2"]

    async def test_facts_told_by_hand_are_not_tied_to_a_place(self, store: Store) -> None:
        """Telling the same twice gives two, of which one bears the other out; no session is needed."""
        await store.commit_facts(some_facts(a_told_fact("f1", minutes=1)))
        await store.commit_facts(some_facts(a_told_fact("f2", minutes=2)))
        assert await standing(store) == {"f1": "active", "f2": "evidence"}

    async def test_what_a_put_fact_says_of_its_own_standing_does_not_count(self, store: Store) -> None:
        """It follows from its slot."""
        await four_turns(store)
        boast = replace(SAID[1], status="active", version=9, of="f9", valid_until=at(5))
        await store.commit_facts(some_facts(SAID[0], boast))
        stored = single(await store.facts(ids=["f2"]))
        assert stored is not None
        assert (stored.status, stored.version, stored.of, stored.valid_until) == ("evidence", 1, "f1", None)

    @pytest.mark.parametrize(
        "order", [pytest.param(order, id="-".join(map(str, order))) for order in permutations(range(4))]
    )
    async def test_the_standing_does_not_depend_on_the_order_of_commits(
        self, store: Store, order: Sequence[int]
    ) -> None:
        """Each commit settles its slot anew: in the end it stands as if all had come at once, with one active."""
        await four_turns(store)
        for index in order:
            assert await store.commit_facts(some_facts(SAID[index]))
            assert list((await standing(store)).values()).count("active") == 1
        assert await store.facts("ann") == resolve(SAID, RULE)
        assert await standing(store) == {"f1": "superseded", "f2": "evidence", "f3": "active", "f4": "conflicted"}

    async def test_slots_are_settled_apart(self, store: Store) -> None:
        """By user, category, person, scope and slot: each has its own active fact."""
        await four_turns(store)
        await store.append(an_append("b1", a_draft("b"), user_id="bob"))
        await store.commit_facts(
            some_facts(
                a_fact("f1", "tea"),
                a_fact("f2", "milk", category="goal", minutes=1),
                a_fact("f3", "bread", key="meal", minutes=1),
                a_fact("f4", "rice", key="Meal.", message_id="m2", minutes=2),
                a_fact("f6", "water", about="Lena", message_id="m3", minutes=3),
                a_fact("f7", "cider", about="Lena", scope="feasts", message_id="m3", minutes=3),
                a_fact("f8", "juice", about="lena", message_id="m4", minutes=4),
            )
        )
        other = a_fact("f5", "rum", user_id="bob", session_id="b1", message_id="b", minutes=9)
        await store.commit_facts(some_facts(other, user_id="bob"))
        kept = {"f1": "active", "f2": "active", "f3": "superseded", "f4": "active"}
        assert await standing(store) == kept | {"f6": "superseded", "f7": "active", "f8": "active"}
        assert await standing(store, "bob") == {"f5": "active"}

    async def test_a_fact_can_be_judged(self, store: Store) -> None:
        """A change of what is known settles its slot; its uses and its place stay."""
        await four_turns(store)
        await store.commit_facts(some_facts(*SAID[:3]))
        await store.note_accesses([Access(id="f3", times=2, at=at(9))])
        (judged,) = [fact for fact in await store.facts("ann") if fact.id == "f3"]
        judged = replace(judged, verdict="retracted", verdict_at=at(10), accesses=0, decay=0.5, status="active")
        assert await store.commit_facts(some_facts(change=(judged,)))
        assert await standing(store) == {"f1": "active", "f2": "evidence", "f3": "retracted"}
        stored = single(await store.facts(ids=["f3"]))
        assert stored is not None
        assert (stored.verdict, stored.accesses, stored.accessed_at, stored.decay) == ("retracted", 2, at(9), 0.5)

    async def test_what_is_gone_is_not_changed(self, store: Store) -> None:
        """A verdict that comes after a fact was dropped does not bring it back."""
        await four_turns(store)
        await store.commit_facts(some_facts(*SAID))
        late = replace(SAID[2], verdict="promoted", verdict_at=at(9))
        await store.commit_facts(some_facts(drop=("f3",)))
        assert await store.commit_facts(some_facts(change=(late,)))
        assert single(await store.facts(ids=["f3"])) is None
        assert await standing(store) == {"f1": "active", "f2": "evidence", "f4": "conflicted"}

    async def test_a_dropped_fact_leaves_no_trace(self, store: Store) -> None:
        """Its slot stands as if it had never been said; the same place can be taken again."""
        await four_turns(store)
        await store.commit_facts(some_facts(*SAID))
        await store.commit_facts(some_facts(drop=("f3", "f1", "nothing")))
        assert await store.facts("ann") == resolve((SAID[1], SAID[3]), RULE)
        again = replace(SAID[2], id="f5")
        await store.commit_facts(some_facts(again, drop=("f2",)))
        assert await store.facts("ann") == resolve((again, SAID[3]), RULE)

    async def test_a_commit_reaches_no_other_user(self, store: Store) -> None:
        """Whatever ids it names."""
        await four_turns(store)
        await store.commit_facts(some_facts(*SAID, episodes=(an_episode("e1"),)))
        before = await everything(store)
        changed = replace(SAID[0], importance=1.0)
        moved = replace(an_episode("e1"), title="Else")
        assert await store.commit_facts(
            some_facts(user_id="bob", change=(changed,), drop=("f3",), change_episodes=(moved,), drop_episodes=("e1",))
        )
        assert await everything(store) == before

    async def test_a_forgotten_value_is_kept_out(self, store: Store) -> None:
        """However often it is found again, until someone wants it known; other values of the slot are welcome."""
        await four_turns(store)
        await store.commit_facts(some_facts(SAID[0], SAID[2]))
        await store.erase(an_erasure(facts=("f1",)))
        again = replace(SAID[1], id="f5")
        assert await store.commit_facts(some_facts(again, a_fact("f6", "rum", message_id="m4", minutes=5)))
        assert await standing(store) == {"f3": "superseded", "f6": "active"}
        assert await store.commit_facts(some_facts(again, unblock=(mark(SECRET, again),)))
        assert await standing(store) == {"f5": "superseded", "f3": "superseded", "f6": "active"}
        assert await store.commit_facts(some_facts(replace(SAID[0], id="f7")))
        assert single(await store.facts(ids=["f7"])) is not None

    async def test_a_forgotten_value_is_kept_out_of_one_user_only(self, store: Store) -> None:
        """Marks belong to the user whose memory it was."""
        await store.commit_facts(some_facts(a_told_fact("f1")))
        await store.erase(an_erasure(facts=("f1",)))
        other = a_told_fact("f2", user_id="bob")
        known = replace(some_facts(other, user_id="bob"), marks={"f2": mark(SECRET, a_told_fact("f1"))})
        assert await store.commit_facts(known)
        assert await standing(store, "bob") == {"f2": "active"}
        assert await store.commit_facts(some_facts(a_told_fact("f3"), user_id="ann"))
        assert await standing(store) == {}

    async def test_links_are_kept_once(self, store: Store) -> None:
        """The same link again has the new strength and the first time; the other way round is another."""
        await store.commit_facts(some_facts(links=(a_link("f2", "f1", minutes=2), a_link("f1", "f2", minutes=1))))
        await store.commit_facts(some_facts(links=(a_link("f1", "f2", strength=0.75, minutes=9),)))
        other = replace(a_link("f1", "f2", minutes=3), type="supports")
        await store.commit_facts(some_facts(links=(other,)))
        await store.commit_facts(some_facts(links=(a_link("x", "y"),), user_id="bob"))
        assert await store.links("ann") == [
            a_link("f1", "f2", strength=0.75, minutes=1),
            a_link("f2", "f1", minutes=2),
            other,
        ]
        assert await store.links("bob") == [a_link("x", "y")]

    async def test_users_are_known_by_sessions_and_facts(self, store: Store) -> None:
        """In pages by id, each once."""
        await four_turns(store)
        await store.append(an_append("s2", a_draft("x"), user_id="ann"))
        await store.append(an_append("s3", a_draft("y"), user_id="carl"))
        for user_id in ("bob", "ann"):
            told = a_told_fact(f"f-{user_id}", user_id=user_id)
            await store.commit_facts(some_facts(told, user_id=user_id))
        assert await store.users() == ["ann", "bob", "carl"]
        assert await store.users(limit=2) == ["ann", "bob"]
        assert await store.users(limit=2, after="bob") == ["carl"]

    async def test_uses_are_counted(self, store: Store) -> None:
        """Of facts and episodes; what was used is as fresh as new, and what is gone is passed over."""
        await four_turns(store)
        stale = replace(a_fact("f1"), decay=0.25)
        await store.commit_facts(some_facts(stale, episodes=(replace(an_episode("e1"), decay=0.5),)))
        found = single(await store.facts(ids=["f1"]))
        assert found is not None
        assert (found.decay, found.accesses, found.accessed_at) == (0.25, 0, None)
        await store.note_accesses([Access(id=item, times=2, at=at(5)) for item in ("f1", "e1", "nothing")])
        await store.note_accesses([Access(id="f1", times=1, at=at(6)), Access(id="e1", times=3, at=at(6))])
        used: Sequence[Any] = [single(await store.facts(ids=["f1"])), single(await store.episodes(ids=["e1"]))]
        assert [(x.accesses, x.accessed_at, x.decay) for x in used] == [(3, at(6), 1.0), (5, at(6), 1.0)]
        assert (await standing(store)) == {"f1": "active"}

    async def test_the_secret_is_made_once(self, store: Store) -> None:
        """The first one stays."""
        assert await store.put_setting("secret", "first", keep=True) == "first"
        assert await store.put_setting("secret", "second", keep=True) == "first"

    async def test_a_session_with_facts_takes_no_harm(self, store: Store) -> None:
        """Facts do not move counters, versions or the queue of work."""
        await four_turns(store)
        before = await session_of(store, "s1")
        await store.commit_facts(some_facts(*SAID))
        assert await session_of(store, "s1") == before
