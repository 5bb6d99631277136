"""Two tenants over the same data."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from lamina.errors import Conflict, NotFound
from lamina.log.pages import single
from lamina.protocols.store import Access, Claim, Reach, Store
from lamina.testing.samples import (
    RULE,
    a_digest,
    a_draft,
    a_fact,
    a_fold,
    a_link,
    a_milestone,
    a_note,
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
from lamina.testing.suites.checks_suite import ALL, Suite, claimed, embedded, everything, is_whole, meaning, row_of
from lamina.values.message import Span
from lamina.values.session import Counters, Session


class Tenants(Suite):
    """Two tenants with the same users, sessions and ids over the same data."""

    async def filled(self, store: Store, text: str) -> None:
        await store.append(an_append("s1", *a_turn(1, text=text), key="k"))
        summary = a_summary("sum1", "s1", Span(first=1, last=2), f"Said {text}")
        assert await store.commit(a_fold("s1", summary, expect=0, cursor=2))
        fact, told = a_fact("f1", text, quote=text), a_told_fact("f2", text, key="name")
        links = (a_link("f1", "f2"),)
        assert await store.commit_facts(some_facts(fact, told, episodes=(an_episode("e1"),), links=links))
        await store.put_proposal(a_proposal("p1", "s1"))
        await store.put_setting("secret", text, keep=True)
        await store.erase(an_erasure(facts=("f9",), derived=False))
        assert await store.commit(a_digest("ann", 1, f"Spoke: {text}"))
        await store.add_milestone(replace(a_milestone("mile", "s1"), title=text))
        await store.put_setting("profile", text)
        await store.note_worker(a_note("w1", session_id="s1"))

    async def seen(self, store: Store) -> list[object]:
        """Everything that the reading verbs give."""
        return [
            *await everything(store),
            await store.messages("s1", ALL),
            single(await store.messages(ids=["m1"])),
            single(await store.sessions(ids=["s1"])),
            await store.milestones("s1"),
            await store.messages("s1", unread=True, limit=9),
            await store.view("ann", "s1", Reach(turns=9, fill=True, tokens=999)),
            await store.summaries("s1", live=False),
            single(await store.summaries(ids=["sum1"], live=False)),
            single(await store.facts(ids=["f1"])),
            single(await store.episodes(ids=["e1"])),
            await store.proposals("s1"),
            await store.backlog(at(60), "e"),
            await store.workers(),
        ]

    async def test_an_empty_tenant_sees_nothing_of_another(self, store: Store, neighbour: Store) -> None:
        """No reading verb crosses tenants."""
        empty = [*await self.seen(neighbour), *await meaning(neighbour)]
        await self.filled(store, "I like tea")
        await embedded(store)
        assert [*await self.seen(neighbour), *await meaning(neighbour)] == empty
        assert not await neighbour.messages(ids=["m1"])
        assert single(await neighbour.summaries(ids=["sum1"], live=False)) is None
        with pytest.raises(NotFound):
            await neighbour.audit("s1")
        assert await neighbour.check() == []

    async def test_the_same_ids_live_side_by_side(self, store: Store, neighbour: Store) -> None:
        """Messages, keys, summaries, facts and settings of two tenants never meet."""
        await self.filled(store, "I like tea")
        await self.filled(neighbour, "I like rain")
        for own, text, word in ((store, "I like tea", "tea"), (neighbour, "I like rain", "rain")):
            stored = await own.messages("s1", ALL)
            assert [m.text for m in stored] == [text, f"Noted: {text}"]
            found = await own.find_words("ann", ["tea", "rain"], 9)
            assert {term for term, count in found.frequency.items() if count} == {word}
            assert [(f.id, f.value, f.status) for f in await own.facts("ann")] == [
                ("f1", text, "active"),
                ("f2", text, "active"),
            ]
            assert len(await own.links("ann")) == len(await own.receipts()) == 1
            assert await own.put_setting("secret", "late", keep=True) == text
            assert await is_whole(own, "s1")

    @pytest.mark.parametrize(
        "verb",
        [
            pytest.param(
                lambda n: n.append(an_append("s1", a_draft("m1", "Else"), user_id="bob", key="k")), id="append"
            ),
            pytest.param(lambda n: n.claim("w2", at(60), at(61), impatient=True), id="claim"),
            pytest.param(lambda n: n.renew(_stolen(), at(99)), id="renew"),
            pytest.param(lambda n: n.release(_stolen()), id="release"),
            pytest.param(lambda n: n.release(_stolen(), failed="broken", retry_at=at(99)), id="fail"),
            pytest.param(lambda n: n.release(_stolen(), failed="broken"), id="set-aside"),
            pytest.param(lambda n: n.requeue(set_aside=True), id="retry"),
            pytest.param(lambda n: n.note_worker(a_note("w1", done=9)), id="note_worker"),
            pytest.param(lambda n: n.drop_worker("w1"), id="drop_worker"),
            pytest.param(
                lambda n: n.commit(a_fold("s1", a_summary("z", "s1", Span(first=1, last=2)), expect=1, cursor=2)),
                id="commit",
            ),
            pytest.param(lambda n: n.commit(a_digest("ann", 2)), id="commit-digest"),
            pytest.param(lambda n: n.requeue(), id="mark_pending"),
            pytest.param(lambda n: n.age_sessions("ended", at(99), at(99)), id="end_idle"),
            pytest.param(lambda n: n.age_sessions("archived", at(99), at(99)), id="archive_ended"),
            pytest.param(lambda n: n.put_setting("profile", "x"), id="put_setting"),
            pytest.param(lambda n: n.drop_digests("ann"), id="drop_digests"),
            pytest.param(
                lambda n: n.commit_facts(
                    some_facts(
                        a_told_fact("f2", "rum", key="name", minutes=9),
                        change=(a_fact("f1", "rum"),),
                        drop=("f1",),
                        drop_episodes=("e1",),
                        links=(a_link("f1", "f2", strength=1.0),),
                    )
                ),
                id="commit_facts",
            ),
            pytest.param(
                lambda n: n.commit_facts(some_facts(reading=a_reading(_session(), 2))),
                id="reading",
            ),
            pytest.param(lambda n: n.note_accesses([Access(id=x, times=1, at=at(9)) for x in ("f1", "e1")]), id="use"),
            pytest.param(lambda n: n.put_setting("secret", "other", keep=True), id="secret"),
            pytest.param(lambda n: n.commit(a_swap("s1", expect=1, cursor=0, retire=("sum1",))), id="swap"),
            pytest.param(
                lambda n: n.erase(an_erasure(facts=("f1",), episodes=("e1",), milestones=("mile",), unfold={"s1": 1})),
                id="erase",
            ),
            pytest.param(lambda n: n.erase(an_erasure(user=True)), id="erase-user"),
            pytest.param(lambda n: n.scrub(), id="scrub"),
            pytest.param(lambda n: n.rebuild(), id="reindex"),
            pytest.param(lambda n: n.put_vectors("ann", "e", 0, {"m1": b"x", "f1": b"x"}, 99), id="put_vectors"),
        ],
    )
    async def test_no_writing_verb_crosses_tenants(
        self, store: Store, neighbour: Store, verb: Callable[[Store], Awaitable[object]]
    ) -> None:
        """Whatever a neighbour does under the same ids, nothing changes here."""
        await self.filled(store, "I like tea")
        await claimed(store, "w1")
        await embedded(store)
        before, audit = [*await self.seen(store), *await meaning(store)], await store.audit("s1")
        await verb(neighbour)
        assert [*await self.seen(store), *await meaning(store)] == before
        assert await store.audit("s1") == audit

    async def test_a_neighbour_forgets_only_its_own(self, store: Store, neighbour: Store) -> None:
        """With the same ids on both sides, one side's user, marks and words go, the other's stay."""
        await self.filled(store, "I like tea")
        await self.filled(neighbour, "I like tea")
        before = await self.seen(store)
        rewrite = a_rewrite(await row_of(neighbour, "s1", 1))
        await neighbour.erase(an_erasure(rewrite, facts=("f2",), receipt_id="r2"))
        assert await self.seen(store) == before
        again = some_facts(a_fact("f3", "I like tea", key="name", category="identity", quote="I like"))
        assert not await neighbour.facts("ann")
        assert await store.commit_facts(again)
        await store.commit_facts(some_facts(drop=("f3",)))
        assert await neighbour.commit_facts(again)
        assert not await neighbour.facts("ann")
        await neighbour.erase(an_erasure(user=True, receipt_id="r3"))
        assert await self.seen(store) == before
        assert await neighbour.sessions() == []

    async def test_a_neighbours_message_cannot_be_rewritten(self, store: Store, neighbour: Store) -> None:
        """For the neighbour there is no such message."""
        await self.filled(store, "I like tea")
        rewrite = a_rewrite(await row_of(store, "s1", 1))
        before = await self.seen(store)
        with pytest.raises(Conflict):
            await neighbour.erase(an_erasure(rewrite))
        assert await self.seen(store) == before

    @pytest.mark.parametrize(
        "verb",
        [
            pytest.param(lambda n: n.update_session("s1", at(9), status="ended"), id="update_session"),
            pytest.param(lambda n: n.add_milestone(a_milestone("x", "s1")), id="add_milestone"),
            pytest.param(lambda n: n.rebuild("s1"), id="recount"),
            pytest.param(lambda n: n.unfold("s1", RULE), id="unfold"),
            pytest.param(lambda n: n.put_proposal(a_proposal("p1", "s1")), id="put_proposal"),
            pytest.param(lambda n: n.erase(an_erasure(sessions=("s1",))), id="erase-session"),
            pytest.param(lambda n: n.commit_facts(some_facts(a_fact("f3"))), id="commit_facts"),
        ],
    )
    async def test_a_neighbours_session_is_not_found(
        self, store: Store, neighbour: Store, verb: Callable[[Store], Awaitable[object]]
    ) -> None:
        """As if it did not exist; and it stays as it was."""
        await self.filled(store, "I like tea")
        before = await self.seen(store)
        with pytest.raises(NotFound):
            await verb(neighbour)
        assert await self.seen(store) == before


def _session() -> Session:
    return Session(
        id="s1", user_id="ann", status="active", started_at=at(), last_at=at(), touched_at=at(), counters=Counters()
    )


def _stolen() -> Claim:
    """A claim on another tenant's session."""
    return Claim(session=_session(), owner="w1", touch=1)
