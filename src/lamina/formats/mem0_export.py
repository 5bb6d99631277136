"""Memories of mem0, as `get_all` and its exports give them, as facts told by hand."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from lamina.errors import InputError
from lamina.formats.foreign_values import clean_text, content_hash, identifier, objects, require_object, timestamp
from lamina.formats.json_lines import Conversion, Record, fact_record
from lamina.values.codec import json_kind
from lamina.values.fact import FACT_TYPES, FactType

LISTS = ("results", "memories")
_TEXT_KEYS = ("memory", "text", "data")
_SCOPES = ("agent_id", "app_id", "run_id", "actor_id")
_MAX_TAG = 80


def convert(data: Any, name: str) -> Conversion:
    """Each memory as a fact of its user; categories and plain metadata become tags."""
    skipped: Counter[str] = Counter()
    found: dict[str, Record] = {}
    for place, memory in objects(_memories(data, name), name, "memory"):
        if memory.get("event") == "DELETE":
            skipped["deleted"] += 1
            continue
        record = _fact(memory, place, skipped)
        before = found.get(record["id"])
        if before is not None:
            skipped["the same memory again" if before == record else "older version of a memory"] += 1
        if before is None or record.get("learnt_at", "") >= before.get("learnt_at", ""):
            found[record["id"]] = record
    if isinstance(data, dict) and isinstance(relations := data.get("relations"), list):
        skipped["relation of mem0's graph"] += len(relations)
    return Conversion(records=list(found.values()), skipped=+skipped)


def _memories(data: Any, name: str) -> list[Any]:
    if isinstance(data, list):
        return data
    found = next((data[key] for key in LISTS if key in data), [data])
    if not isinstance(found, list):
        raise InputError(f"{name} has {json_kind(found)} where mem0 has a list of memories")
    return found


def _fact(memory: dict[str, Any], place: str, skipped: Counter[str]) -> Record:
    text = next((memory[key] for key in _TEXT_KEYS if isinstance(memory.get(key), str)), "")
    if not text.strip():
        raise InputError(f"{place} has no text; mem0 has it as 'memory'")
    metadata = require_object(memory.get("metadata") or {}, f"{place}: metadata")
    categories = _categories(memory.get("categories"), place)
    kind = _type([*categories, str(metadata.get("type")), str(metadata.get("memory_type"))])
    user = identifier(memory.get("user_id")) or identifier(metadata.get("user_id"))
    created, updated, expires = (
        timestamp(memory.get(key), f"{place}: {key}") for key in ("created_at", "updated_at", "expiration_date")
    )
    return fact_record(
        fact_id=identifier(memory.get("id")) or f"mem0-{content_hash(user, text)}",
        user_id=user,
        fact_type=kind,
        category=categories[0] if categories else kind,
        text=clean_text(text.strip(), skipped),
        tags=list(dict.fromkeys([*categories, *_tags(memory, metadata, skipped)])),
        learnt_at=updated or created,
        created_at=created or updated,
        until=expires,
        unread=True,
    )


def _categories(given: Any, place: str) -> list[str]:
    if not isinstance(given, list | None) or not all(isinstance(one, str) for one in given or ()):
        raise InputError(f"{place}: categories must be a list of texts, not {given!r:.80}")
    return [one for one in given or () if one.strip()]


def _type(labels: list[str]) -> FactType:
    """The type that a label names, as `preferences`, `user_preferences` or `procedural_memory` do; else a fact."""
    words = {word for label in labels for word in label.casefold().replace("-", "_").split("_")}
    for kind in FACT_TYPES:
        if words & {kind, f"{kind}s", f"{kind.removesuffix('y')}ies", f"{kind.removesuffix('e')}al"}:
            return kind
    return "fact"


def _tags(memory: dict[str, Any], metadata: dict[str, Any], skipped: Counter[str]) -> Iterator[str]:
    for key, value in [*((scope, memory.get(scope)) for scope in _SCOPES), *metadata.items()]:
        if value is None or key == "user_id":
            continue
        tag = clean_text(f"{key}:{value}", skipped)
        if isinstance(value, str | int | float) and len(tag) <= _MAX_TAG and "\n" not in tag:
            yield tag
        else:
            skipped[f"metadata {key!r}, which cannot be a tag"] += 1
