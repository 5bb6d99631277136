"""Summaries as rows and back: everything but their standing is one JSON record with a digest."""

import hashlib
import json
from dataclasses import asdict
from datetime import datetime
from typing import Any

from lamina.policy.log import Damaged
from lamina.ports import SummaryRow
from lamina.types import Recipe, Source, Span, Summary

_COLUMNS = ("id", "user_id", "session_id", "kind", "layer", "version", "status", "folded_into")


def encoded(summary: Summary) -> SummaryRow:
    values = asdict(summary)
    for name in _COLUMNS:
        del values[name]
    values["updated_at"] = summary.updated_at.isoformat()
    values["created_at"] = summary.created_at.isoformat()
    record = json.dumps(values, ensure_ascii=False, separators=(",", ":"))
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
        digest=record_digest(summary.id, record),
    )


def record_digest(summary_id: str, record: str) -> bytes:
    return hashlib.sha256(f"{summary_id}\0{record}".encode("utf-8", "surrogateescape")).digest()


def decoded(row: SummaryRow) -> Summary:
    """The summary in a row; Damaged if a bit of it has changed."""
    if record_digest(row.id, row.record) != row.digest:
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
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Damaged(f"summary {row.id} cannot be read: {error}") from error


def _span(value: Any) -> Span | None:
    return None if value is None else Span(first=value["first"], last=value["last"])


def head_hash(text: str) -> str:
    """A hash of the first 120 characters: summaries that begin alike are the same summary (document 004)."""
    return hashlib.sha256(" ".join(text.split())[:120].casefold().encode()).hexdigest()
