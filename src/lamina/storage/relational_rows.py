"""Rows of the SQLite tables as values, and back."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from lamina.knowledge.fact_words import normalise_value
from lamina.log import records
from lamina.protocols.store import MessageRow, SummaryRow
from lamina.values.fact import Episode, Fact
from lamina.values.session import Counters, Session

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

SESSION = (
    "id, user_id, agent_id, status, started_us, last_us, touched_us, ended_us, archived_us, messages, turns, tokens, "
    "closed, cursor, cursor_turn, cursor_tokens, version, attempts, extracted, erasures, title, "
    "project_id"
)
MESSAGE = "session_id, seq, turn, id, role, body, created_at, metadata, model, tokens, salt, leaf, digest, erased"
SUMMARY = "id, user_id, session_id, kind, layer, version, first, last, status, folded_into, record, digest"
FACT = (
    "id, user_id, category, slot, session_id, message_id, status, valid_until, of_fact, version, accesses, "
    "accessed_at, decay, record, digest"
)
EPISODE = "id, user_id, session_id, accesses, accessed_at, decay, record, digest"


def to_us(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND


def from_us(microseconds: int) -> datetime:
    return _EPOCH + timedelta(microseconds=microseconds)


def maybe_us(moment: datetime | None) -> int | None:
    return None if moment is None else to_us(moment)


def maybe_from_us(microseconds: int | None) -> datetime | None:
    return None if microseconds is None else from_us(microseconds)


def session_value(row: Sequence[Any]) -> Session:
    times = [maybe_from_us(value) for value in row[4:9]]
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
            extracted=row[18],
        ),
        attempts=row[17],
        erasures=row[19],
        title=row[20],
        project_id=row[21],
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


def fact_columns(fact: Fact) -> dict[str, Any]:
    """A fact as the columns of its row; its standing is set when its slot is settled."""
    row = records.fact_row(fact)
    return {
        **row._asdict(),
        "start": fact.start,
        "end": fact.end,
        "claim": ("+" if fact.holds else "-") + normalise_value(fact.value),
        "learnt": to_us(fact.learnt_at),
    }


def episode_columns(episode: Episode) -> dict[str, Any]:
    row = records.episode_row(episode)
    anchor = episode.message_ids[0] if episode.origin == "said" and episode.message_ids else None
    return {
        **row._asdict(),
        "anchor": anchor,
        "kind": episode.kind,
        "significance": episode.significance,
        "happened": to_us(episode.happened_at),
    }
