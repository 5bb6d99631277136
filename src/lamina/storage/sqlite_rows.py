"""Rows of the SQLite tables as values, and back."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from lamina.ports import MessageRow, SummaryRow
from lamina.types import Counters, Fact, Session

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

SESSION = (
    "id, user_id, agent_id, status, started_us, last_us, touched_us, ended_us, archived_us, messages, turns, tokens, "
    "closed, cursor, cursor_turn, cursor_tokens, version, attempts"
)
MESSAGE = "session_id, seq, turn, id, role, body, created_at, metadata, model, tokens, salt, leaf, digest"
SUMMARY = "id, user_id, session_id, kind, layer, version, first, last, status, folded_into, record, digest"
FACT = 'id, user_id, session_id, message_id, category, quote, start, "end", confidence, importance, created_at'


def to_us(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND


def from_us(microseconds: int) -> datetime:
    return _EPOCH + timedelta(microseconds=microseconds)


def session_value(row: Sequence[Any]) -> Session:
    times = [None if value is None else from_us(value) for value in row[4:9]]
    return Session(
        id=row[0],
        user_id=row[1],
        agent_id=row[2],
        status=row[3],
        started_at=times[0],  # type: ignore[arg-type]  # not null in the table
        last_at=times[1],  # type: ignore[arg-type]
        touched_at=times[2],  # type: ignore[arg-type]
        ended_at=times[3],
        archived_at=times[4],
        counters=Counters(
            messages=row[9],
            turns=row[10],
            tokens=row[11],
            closed=bool(row[12]),
            cursor=row[13],
            cursor_turn=row[14],
            cursor_tokens=row[15],
            version=row[16],
        ),
        attempts=row[17],
    )


def message_row(row: Sequence[Any]) -> MessageRow:
    return MessageRow._make(row)


def summary_row(row: Sequence[Any]) -> SummaryRow:
    return SummaryRow(
        id=row[0],
        user_id=row[1],
        session_id=row[2],
        kind=row[3],
        layer=row[4],
        version=row[5],
        first=row[6],
        last=row[7],
        status=row[8],
        folded_into=row[9],
        record=row[10],
        digest=row[11],
    )


def fact_row(fact: Fact) -> tuple[Any, ...]:
    return (
        fact.id,
        fact.user_id,
        fact.session_id,
        fact.message_id,
        fact.category,
        fact.quote,
        fact.start,
        fact.end,
        fact.confidence,
        fact.importance,
        fact.created_at.isoformat(),
    )


def audited_fact(row: Sequence[Any]) -> Fact:
    """The fact in a row; without a quote, which no fact may be, if it cannot be read."""
    try:
        return fact_value(row)
    except (ValueError, TypeError):
        return fact_value((*row[:4], "", "", 0, 0, 0.0, 0.0, _EPOCH.isoformat()))


def fact_value(row: Sequence[Any]) -> Fact:
    if not all(isinstance(value, str) for value in row[:6]) or not all(isinstance(v, int | float) for v in row[6:10]):
        raise TypeError(f"fact {row[0]} has values of the wrong type")
    return Fact(
        id=row[0],
        user_id=row[1],
        session_id=row[2],
        message_id=row[3],
        category=row[4],
        quote=row[5],
        start=row[6],
        end=row[7],
        confidence=row[8],
        importance=row[9],
        created_at=datetime.fromisoformat(row[10]),
    )
