"""Views, summaries, digests and words."""

# ruff: noqa: PLR2004 - the numbers of a test speak for themselves

from dataclasses import replace

import pytest

from lamina.language.words import terms
from lamina.log.pages import single
from lamina.protocols.store import Reach, Store
from lamina.testing.samples import a_digest, a_draft, a_fact, a_fold, a_summary, a_turn, an_append, some_facts
from lamina.testing.suites.checks_suite import Suite, found_ids
from lamina.values.message import Span
from lamina.values.summary import Source


class Reading(Suite):
    async def folded(self, store: Store) -> None:
        """A session of four turns whose first two are in a summary, with a fact and a digest."""
        await store.append(an_append("s1", *a_turn(1), *a_turn(2), *a_turn(3), *a_turn(4)))
        summary = a_summary("sum1", "s1", Span(first=1, last=4))
        assert await store.commit(a_fold("s1", summary, expect=0, cursor=4))
        assert await store.commit_facts(some_facts(a_fact("f1")))
        assert await store.commit(a_digest("ann", 1))

    async def test_a_view_is_all_that_a_context_needs(self, store: Store) -> None:
        """The session, its live summaries, its newest messages, the user's digest and facts."""
        await self.folded(store)
        view = await store.view("ann", "s1", Reach(turns=1, tokens=1_000))
        assert view.session == single(await store.sessions(ids=["s1"]))
        assert [s.id for s in view.summaries] == ["sum1"]
        assert [m.id for m in view.tail] == ["m4", "m4-reply"]
        assert view.digest == a_digest("ann", 1)
        assert [f.id for f in view.facts] == ["f1"]

    async def test_facts_that_are_known_are_not_read_again(self, store: Store) -> None:
        """As long as nothing of the user's memory has changed since."""
        await self.folded(store)
        view = await store.view("ann", "s1", Reach(turns=1, tokens=1_000))
        known = Reach(turns=1, tokens=1_000, facts_at=view.derived)
        again = await store.view("ann", "s1", known)
        assert (again.derived, again.facts) == (view.derived, ())
        await store.append(an_append("s1", *a_turn(9)))
        spoken = await store.view("ann", "s1", known)
        assert (spoken.derived, spoken.facts) == (view.derived, ())
        assert await store.commit_facts(some_facts(a_fact("f2", key="city", value="Ghent")))
        later = await store.view("ann", "s1", known)
        assert later.derived > view.derived
        assert [f.id for f in later.facts] == ["f1", "f2"]

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
        assert single(await store.summaries(ids=["sum1"], live=False)) == a_summary("sum1", "s1", Span(first=1, last=4))
        assert single(await store.summaries(ids=["nothing"], live=False)) is None
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
        assert await store.commit(a_digest("ann", 2, "Ann spoke of coffee."))
        assert [(d.version, d.status) for d in await store.summaries(user_id="ann", digests=True, live=False)] == [
            (2, "live"),
            (1, "folded"),
        ]
        assert await store.summaries(user_id="bob", digests=True, live=False) == []

    async def test_a_late_digest_is_discarded(self, store: Store) -> None:
        """One that knows less than the newest changes nothing."""
        await self.folded(store)
        assert not await store.commit(replace(a_digest("ann", 1), id="late"))
        assert single(await store.summaries(ids=["late"], live=False)) is None

    @pytest.mark.parametrize(
        "source",
        [
            pytest.param(Source(session_id="s1", messages=8, version=0), id="folded-since"),
            pytest.param(Source(session_id="s9", messages=8, version=1), id="session-gone"),
        ],
    )
    async def test_a_digest_of_what_has_changed_is_discarded(self, store: Store, source: Source) -> None:
        """It may tell what was forgotten since; the one before stays the newest, live and found."""
        await self.folded(store)
        before, words = (
            await store.summaries(user_id="ann", digests=True, live=False),
            await store.find_words("ann", ["tea"], 10),
        )
        assert not await store.commit(a_digest("ann", 2, sources=(source,)))
        assert await store.summaries(user_id="ann", digests=True, live=False) == before
        assert await store.find_words("ann", ["tea"], 10) == words
        known = Source(session_id="s1", messages=8, version=1)
        assert await store.commit(a_digest("ann", 2, sources=(known,)))

    async def test_a_view_shows_the_facts_that_stand(self, store: Store) -> None:
        """Those that hold and those in conflict; not what was superseded, only bears something out, or waits."""
        await self.folded(store)
        facts = (
            a_fact("f2", "tea", message_id="m2", minutes=1),
            a_fact("f3", "milk", message_id="m3", minutes=2),
            a_fact("f4", "rum", message_id="m4", minutes=3, confidence=0.4),
        )
        assert await store.commit_facts(some_facts(*facts))
        view = await store.view("ann", "s1", Reach(turns=1, tokens=1_000))
        assert [(f.id, f.status) for f in view.facts] == [("f3", "active"), ("f4", "conflicted")]

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
        await store.commit(a_digest("ann", 2, "Of rain"))
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

    async def test_the_rarest_words_decide_what_is_found(self, store: Store) -> None:
        """Beyond the limit: those whose words are rarest, of equals the newest; in the order they came."""
        texts = ["tea", "green tea", "rum", "tea", "green rum", "tea rum tea", "tea"]
        await store.append(an_append("s1", *(a_draft(f"m{n}", text) for n, text in enumerate(texts))))
        found = [await store.find_words("ann", ["green", "rum", "tea"], limit) for limit in (1, 3, 5, 99)]
        ids = [[item.id for item in one.matches] for one in found]
        assert ids == [["m4"], ["m1", "m4", "m5"], ["m1", "m2", "m4", "m5", "m6"], [f"m{n}" for n in range(7)]]
        assert found[0].frequency == {"green": 2, "rum": 3, "tea": 5}
