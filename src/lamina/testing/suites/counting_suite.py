"""Outlines and sums."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from lamina.errors import NotFound
from lamina.log.pages import single
from lamina.protocols.store import Store
from lamina.testing.samples import (
    START,
    a_digest,
    a_draft,
    a_fact,
    a_fold,
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
from lamina.testing.suites.checks_suite import Suite, row_of
from lamina.values.message import Span
from lamina.values.statistics import Block, FactCount, Growth, Stats, Stretch, SummaryCount
from lamina.values.summary import Recipe, Summary

DAYS = 366


def due_at(summary: Summary, due: int) -> Summary:
    recipe = Recipe(profile="test", kind="chunk", model="fake", details={"temperature": 0.5, "due": due})
    return replace(summary, recipe=recipe)


class Counting(Suite):
    """What there is, counted without its words."""

    async def layered(self, store: Store) -> None:
        """Four turns of 3 and 4 tokens; `a` covers the first and is in `b` now, which covers two."""
        await store.append(an_append("s1", *(draft for n in range(1, 5) for draft in a_turn(n, minutes=n))))
        a = a_summary("a", "s1", Span(first=1, last=2))
        b = replace(
            due_at(a_summary("b", "s1", Span(first=1, last=4), 'Said: "x","due":9,', inputs=("a",)), 7), layer=2
        )
        assert await store.commit(a_fold("s1", a, expect=0, cursor=2))
        assert await store.commit(a_fold("s1", b, expect=1, cursor=4, retire=("a",)))

    async def test_an_outline_has_the_log_in_parts(self, store: Store) -> None:
        """Of about equal length, with the tokens of each, its times, and the turn it ends in."""
        await self.layered(store)
        assert (await store.outline("s1", 3)).parts == (
            Stretch(first=1, last=2, turn=1, tokens=7, began_at=at(1), ended_at=at(1)),
            Stretch(first=3, last=5, turn=3, tokens=10, began_at=at(2), ended_at=at(3)),
            Stretch(first=6, last=8, turn=4, tokens=11, began_at=at(3), ended_at=at(4)),
        )
        assert [(one.first, one.last) for one in (await store.outline("s1", 1)).parts] == [(1, 8)]
        assert [one.tokens for one in (await store.outline("s1", 1000)).parts] == [3, 4] * 4

    async def test_an_outline_has_every_summary(self, store: Store) -> None:
        """By layer: what it covers, what that came to, when it was due if that is known, and what became of it."""
        await self.layered(store)
        a = Block(
            id="a",
            kind="chunk",
            layer=1,
            version=1,
            covers=Span(first=1, last=2),
            tokens=3,
            covered_tokens=7,
            due=None,
            status="folded",
            folded_into="b",
            created_at=at(6),
        )
        b = replace(a, id="b", layer=2, covers=Span(first=1, last=4), tokens=2, covered_tokens=14, due=7)
        assert (await store.outline("s1", 2)).blocks == (a, replace(b, status="live", folded_into=None))

    async def test_an_outline_says_where_something_was_forgotten(self, store: Store) -> None:
        """As spans, with the tokens that are left."""
        await self.layered(store)
        assert (await store.outline("s1", 1)).forgotten == ()
        rows = [await row_of(store, "s1", seq) for seq in (2, 3, 7)]
        await store.erase(an_erasure(*map(a_rewrite, rows)))
        outline = await store.outline("s1", 1)
        assert outline.forgotten == (Span(first=2, last=3), Span(first=7, last=7))
        session = single(await store.sessions(ids=["s1"]))
        assert session is not None
        assert [part.tokens for part in outline.parts] == [session.counters.tokens]

    async def test_an_outline_is_of_a_session_of_this_tenant(self, store: Store, neighbour: Store) -> None:
        """What is not there has none."""
        await self.layered(store)
        for one, session_id in ((store, "s2"), (neighbour, "s1")):
            with pytest.raises(NotFound, match=session_id):
                await one.outline(session_id, 10)

    async def test_stats_count_everything(self, store: Store, neighbour: Store) -> None:
        """Of all users or of one; what is in a summary counts by the summary, what is in none by itself."""
        await self.layered(store)
        await store.append(an_append("b1", a_draft("b1", "Green tea"), user_id="bob"))
        assert await store.commit_facts(some_facts(a_fact("f1"), episodes=(an_episode("e1"),)))
        assert await store.commit_facts(some_facts(a_told_fact("f2", "milk", user_id="bob"), user_id="bob"))
        assert await store.commit(a_digest("ann", 1))
        ann = Stats(
            sessions=1,
            messages=8,
            tokens=28,
            at_hand_tokens=14 + 2,
            summaries=(
                SummaryCount(kind="chunk", layer=1, status="folded", count=1, tokens=3),
                SummaryCount(kind="chunk", layer=2, status="live", count=1, tokens=2),
                SummaryCount(kind="digest", layer=0, status="live", count=1, tokens=4),
            ),
            facts=(FactCount(status="active", count=1),),
            episodes=1,
            growth=(Growth(day=START.date(), messages=8, message_tokens=28, summaries=3, summary_tokens=9, facts=1),),
        )
        assert await store.stats("ann", days=DAYS) == ann
        assert await store.stats(days=DAYS) == replace(
            ann,
            sessions=2,
            messages=9,
            tokens=30,
            at_hand_tokens=18,
            facts=(FactCount(status="active", count=2),),
            growth=(replace(ann.growth[0], messages=9, message_tokens=30, facts=2),),
        )
        nothing = Stats(
            sessions=0, messages=0, tokens=0, at_hand_tokens=0, summaries=(), facts=(), episodes=0, growth=()
        )
        assert await neighbour.stats(days=DAYS) == await store.stats("eve", days=DAYS) == nothing

    async def test_a_day_is_one_of_utc(self, store: Store) -> None:
        """Whatever the zone that a time was told in; beyond so many days, the oldest are left out."""
        times = (
            datetime(2025, 3, 1, 23, 30, tzinfo=timezone(timedelta(hours=-8))),  # the 2nd in UTC
            datetime(2025, 3, 3, 1, 30, tzinfo=timezone(timedelta(hours=5, minutes=30))),  # the 2nd in UTC
            datetime(2025, 3, 4, 0, 0, 0, 123456, tzinfo=UTC),
        )
        drafts = [a_draft(f"m{n}")._replace(created_at=time) for n, time in enumerate(times)]
        await store.append(an_append("s1", *drafts))
        growth = (await store.stats(days=DAYS)).growth
        assert [(one.day, one.messages) for one in growth] == [(date(2025, 3, 2), 2), (date(2025, 3, 4), 1)]
        assert [one.day for one in (await store.stats(days=1)).growth] == [date(2025, 3, 4)]
