"""Values out of what a model writes in JSON: everything may be missing, of another type, or out of bounds."""

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from lamina.folding.acceptance import is_refusal
from lamina.models.llm.answers import Reply, json_in
from lamina.models.llm.ask import Unfit

_PER_CENT = 100.0


def items_in(reply: Reply, name: str) -> list[Mapping[str, Any]]:
    """The objects of the list `name` in a reply; a bare list will do too."""
    found = None if reply.refused else json_in(reply.text)
    if found is None and (reply.refused or is_refusal(reply.text)):
        raise Unfit[Any]("it is a refusal or a greeting")
    if isinstance(found, dict):
        found = found.get(name, [found] if "category" in found or "kind" in found else None)
    if not isinstance(found, list):
        end = "it was cut off before its end" if reply.cut else f'it is no JSON object with the list "{name}"'
        raise Unfit[Any](end)
    if reply.cut:
        raise Unfit[Any]("it was cut off before its end")
    return [item for item in found if isinstance(item, dict)]


def text_in(item: Mapping[str, Any], name: str) -> str:
    value = item.get(name)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return " ".join(str(value).split())


def words_or_none(item: Mapping[str, Any], name: str) -> str | None:
    found = text_in(item, name)
    return None if found.casefold() in {"", "null", "none", "n/a", "unknown"} else found


def number_in(item: Mapping[str, Any], name: str, default: float, least: float = 0.0) -> float:
    """A number between `least` and 1; per cent are understood."""
    try:
        number = float(item.get(name, default))
    except (TypeError, ValueError):
        return default
    if not math.isfinite(number):
        return default
    if 1.0 < number <= _PER_CENT:
        number /= _PER_CENT
    return round(min(max(number, least), 1.0), 3)


def moment_in(item: Mapping[str, Any], name: str) -> datetime | None:
    found = words_or_none(item, name)
    try:
        moment = datetime.fromisoformat(found) if found else None
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC) if moment and moment.tzinfo is None else moment


def place_in(item: Mapping[str, Any], places: Sequence[int]) -> int | None:
    """The number of the message that an item names; where there is only one, that one."""
    value = item.get("message")
    if isinstance(value, str) and value.strip().lstrip("#").isdigit():
        value = int(value.strip().lstrip("#"))
    if isinstance(value, int) and not isinstance(value, bool) and value in places:
        return value
    return places[0] if len(places) == 1 else None
