"""How much there is of everything, put together from counts by day."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import date
from typing import NamedTuple

from lamina.values.statistics import FactCount, Growth, Stats, SummaryCount


class Totals(NamedTuple):
    """Sums over sessions."""

    sessions: int
    messages: int
    tokens: int
    unfolded_tokens: int


class DayMessages(NamedTuple):
    """Messages of one day."""

    day: date
    number: int
    tokens: int


class DaySummaries(NamedTuple):
    """Summaries of one kind, layer and status that know messages up to one day; the day is None if it is not known."""

    kind: str
    layer: int
    status: str
    day: date | None
    number: int
    tokens: int


class DayFacts(NamedTuple):
    """Facts of one status that were learnt on one day."""

    status: str
    day: date
    number: int


def build_stats(
    sums: Totals,
    said: Iterable[DayMessages],
    written: Iterable[DaySummaries],
    learnt: Iterable[DayFacts],
    *,
    episodes: int,
    days: int,
) -> Stats:
    """Counts of every store in one shape; growth for at most so many days, the newest that have something."""
    written, learnt = list(written), list(learnt)
    summaries = _summaries(written)
    live = sum(one.tokens for one in summaries if one.status == "live" and one.kind != "digest")
    return Stats(
        sessions=sums.sessions,
        messages=sums.messages,
        tokens=sums.tokens,
        at_hand_tokens=sums.unfolded_tokens + live,
        summaries=summaries,
        facts=_facts(learnt),
        episodes=episodes,
        growth=_growth(said, written, learnt, days),
    )


def _summaries(written: Iterable[DaySummaries]) -> tuple[SummaryCount, ...]:
    found: dict[tuple[str, int, str], SummaryCount] = {}
    for one in written:
        key = (one.kind, one.layer, one.status)
        before = found.get(key)
        found[key] = SummaryCount(
            kind=one.kind,  # type: ignore[arg-type]  # written by us, and only from the literals
            layer=one.layer,
            status=one.status,  # type: ignore[arg-type]
            count=one.number + (before.count if before else 0),
            tokens=one.tokens + (before.tokens if before else 0),
        )
    return tuple(found[key] for key in sorted(found))


def _facts(learnt: Iterable[DayFacts]) -> tuple[FactCount, ...]:
    found: dict[str, int] = {}
    for one in learnt:
        found[one.status] = found.get(one.status, 0) + one.number
    return tuple(
        FactCount(status=status, count=found[status])  # type: ignore[arg-type]  # one of the literals
        for status in sorted(found)
    )


def _growth(
    said: Iterable[DayMessages], written: Iterable[DaySummaries], learnt: Iterable[DayFacts], days: int
) -> tuple[Growth, ...]:
    found: dict[date, Growth] = {}

    def of(day: date) -> Growth:
        return found.get(day) or Growth(day=day)

    for one in said:
        day = of(one.day)
        found[one.day] = replace(
            day, messages=day.messages + one.number, message_tokens=day.message_tokens + one.tokens
        )
    for summary in written:
        if summary.day is not None:
            day = of(summary.day)
            found[summary.day] = replace(
                day, summaries=day.summaries + summary.number, summary_tokens=day.summary_tokens + summary.tokens
            )
    for fact in learnt:
        day = of(fact.day)
        found[fact.day] = replace(day, facts=day.facts + fact.number)
    return tuple(found[day] for day in sorted(found)[-days:])
