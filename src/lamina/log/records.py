"""Summaries, facts and episodes as rows and back: all but their standing is one JSON record with a digest."""

import hashlib
import json
from dataclasses import asdict, fields, replace
from datetime import datetime
from typing import Any

from lamina.log.chain import Damaged
from lamina.protocols.store import EpisodeRow, FactRow, SummaryRow
from lamina.values.fact import Episode, Fact
from lamina.values.message import Span
from lamina.values.summary import Recipe, Source, Summary

_COLUMNS = ("id", "user_id", "session_id", "kind", "layer", "version", "status", "folded_into")


def encode_summary(summary: Summary) -> SummaryRow:
    values = asdict(summary)
    for name in _COLUMNS:
        del values[name]
    values["updated_at"] = summary.updated_at.isoformat()
    values["created_at"] = summary.created_at.isoformat()
    record = _json(values)
    return SummaryRow(
        id=summary.id,
        user_id=summary.user_id,
        session_id=summary.session_id,
        kind=summary.kind,
        layer=summary.layer,
        version=summary.version,
        first=summary.covers.first if summary.covers else None,
        last=summary.covers.last if summary.covers else None,
        status=summary.status,
        folded_into=summary.folded_into,
        record=record,
        digest=record_hash(summary.id, record),
    )


def _json(values: dict[str, Any]) -> str:
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"))


def record_hash(item_id: str, record: str) -> bytes:
    return hashlib.sha256(f"{item_id}\0{record}".encode("utf-8", "surrogateescape")).digest()


def decode_summary(row: SummaryRow) -> Summary:
    """The summary in a row; Damaged if a bit of it has changed."""
    if record_hash(row.id, row.record) != row.digest:
        raise Damaged(f"summary {row.id} does not match its digest")
    try:
        values = json.loads(row.record)
        return Summary(
            id=row.id,
            user_id=row.user_id,
            session_id=row.session_id,
            kind=row.kind,  # type: ignore[arg-type]  # written by us, and only from the literals
            layer=row.layer,
            version=row.version,
            status=row.status,  # type: ignore[arg-type]
            folded_into=row.folded_into,
            covers=_span(values["covers"]),
            turns=_span(values["turns"]),
            reads=_span(values["reads"]),
            inputs=tuple(values["inputs"]),
            text=values["text"],
            topics=tuple(values["topics"]),
            tokens=values["tokens"],
            recipe=Recipe(**values["recipe"]),
            updated_at=datetime.fromisoformat(values["updated_at"]),
            created_at=datetime.fromisoformat(values["created_at"]),
            sources=tuple(Source(**source) for source in values["sources"]),
            project_id=values.get("project_id"),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Damaged(f"summary {row.id} cannot be read: {error}") from error


# facts and episodes

_FACT_COLUMNS = ("id", "user_id", "category", "slot", "session_id", "message_id", "status", "valid_until", "of",
                 "version", "accesses", "accessed_at", "decay")  # fmt: skip
_FACT_TIMES = ("learnt_at", "valid_from", "created_at", "until", "verdict_at")
_FACT_FIELDS = tuple(f.name for f in fields(Fact) if f.name not in _FACT_COLUMNS)
_EPISODE_COLUMNS = ("id", "user_id", "session_id", "accesses", "accessed_at", "decay")
_EPISODE_FIELDS = tuple(f.name for f in fields(Episode) if f.name not in _EPISODE_COLUMNS)


def fact_row(fact: Fact) -> FactRow:
    values = {name: getattr(fact, name) for name in _FACT_FIELDS}
    record = _json({name: _iso(value) if name in _FACT_TIMES else value for name, value in values.items()})
    return FactRow(
        fact.id, fact.user_id, fact.category, fact.slot, fact.session_id, fact.message_id, fact.status,
        _iso(fact.valid_until), fact.of, fact.version, fact.accesses, _iso(fact.accessed_at), fact.decay,
        record, record_hash(fact.id, record),
    )  # fmt: skip


def fact_of(row: FactRow) -> Fact:
    """The fact in a row; Damaged if a bit of what was said has changed."""
    try:
        if record_hash(row.id, row.record) != row.digest:
            raise Damaged(f"fact {row.id} does not match its digest")
        values = json.loads(row.record)
        for name in _FACT_TIMES:
            values[name] = _time(values[name])
        values["tags"] = tuple(values["tags"])
        return Fact(
            id=row.id,
            user_id=row.user_id,
            category=row.category,
            slot=row.slot,
            session_id=row.session_id,
            message_id=row.message_id,
            status=row.status,  # type: ignore[arg-type]  # one of the literals, as the table demands
            valid_until=_time(row.valid_until),
            of=row.of,
            version=row.version,
            accesses=row.accesses,
            accessed_at=_time(row.accessed_at),
            decay=row.decay,
            **values,
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Damaged(f"fact {row.id} cannot be read: {error}") from error


def episode_row(episode: Episode) -> EpisodeRow:
    values = {name: getattr(episode, name) for name in _EPISODE_FIELDS}
    values["turns"] = [episode.turns.first, episode.turns.last]
    values["happened_at"], values["created_at"] = episode.happened_at.isoformat(), episode.created_at.isoformat()
    record = _json(values)
    return EpisodeRow(
        episode.id, episode.user_id, episode.session_id, episode.accesses, _iso(episode.accessed_at), episode.decay,
        record, record_hash(episode.id, record),
    )  # fmt: skip


def episode_of(row: EpisodeRow) -> Episode:
    try:
        if record_hash(row.id, row.record) != row.digest:
            raise Damaged(f"episode {row.id} does not match its digest")
        values = json.loads(row.record)
        values["turns"] = Span(first=values["turns"][0], last=values["turns"][1])
        for name in ("happened_at", "created_at"):
            values[name] = datetime.fromisoformat(values[name])
        for name in ("participants", "message_ids", "linked", "merged"):
            values[name] = tuple(values[name])
        episode = Episode(id=row.id, user_id=row.user_id, session_id=row.session_id, **values)
        return replace(episode, accesses=row.accesses, accessed_at=_time(row.accessed_at), decay=row.decay)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Damaged(f"episode {row.id} cannot be read: {error}") from error


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _span(value: Any) -> Span | None:
    return None if value is None else Span(first=value["first"], last=value["last"])


HEAD = 120  # characters


def head_hash(text: str) -> str:
    """A hash of the first 120 characters: summaries that begin alike are the same summary (`layered`)."""
    return hashlib.sha256(" ".join(text.split())[:HEAD].casefold().encode()).hexdigest()
