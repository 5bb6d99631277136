"""Values out of what a model writes in JSON: everything may be missing, of another type, or out of bounds."""

import math
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from lamina.folding.acceptance import is_refusal
from lamina.models.llm.ask import InvalidAnswer
from lamina.models.llm.openai_api import Reply, find_json

_PER_CENT = 100.0
_ALIKE = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032`\u00b4", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"),
    }
)
_ITEM = frozenset(("category", "kind", "quote"))  # an object with one of these is an item itself
_EDGES = " \t\r\n.,;:!?…\"'"
_MIN_QUOTE = 2  # characters of a quote that was found by likeness only
_MIN_LETTERS = 6  # letters and figures of one whose marks differ


def items_in(reply: Reply, name: str) -> list[Mapping[str, Any]]:
    """The objects of the list `name` in a reply; a bare list, or a single object, will do too."""
    found = None if reply.refused else find_json(reply.text)
    if found is None and (reply.refused or is_refusal(reply.text)):
        raise InvalidAnswer[Any]("it is a refusal or a greeting")
    if isinstance(found, dict):
        found = found.get(name, [found] if _ITEM & found.keys() else None)
        found = [found] if isinstance(found, dict) else found
    if not isinstance(found, list):
        end = "it was cut off before its end" if reply.cut else f'it is no JSON object with the list "{name}"'
        raise InvalidAnswer[Any](end)
    if reply.cut:
        raise InvalidAnswer[Any]("it was cut off before its end")
    return [item for item in found if isinstance(item, dict)]


def text_in(item: Mapping[str, Any], name: str) -> str:
    value = item.get(name)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return " ".join(str(value).split())


def words_or_none(item: Mapping[str, Any], name: str) -> str | None:
    found = text_in(item, name)
    return None if found.casefold() in {"", "null", "none", "n/a", "unknown"} else found


def number_in(item: Mapping[str, Any], name: str, default: float, min_value: float = 0.0) -> float:
    """A number between `min_value` and 1; per cent are understood."""
    try:
        number = float(item.get(name, default))
    except (TypeError, ValueError):
        return default
    if not math.isfinite(number):
        return default
    if 1.0 < number <= _PER_CENT:
        number /= _PER_CENT
    return round(min(max(number, min_value), 1.0), 3)


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


def find_quote(quote: str, text: str) -> tuple[int, int] | None:
    """Start and end of a quote in a text, also if spaces, case or marks differ; None if it is not there."""
    if not quote.strip():
        return None
    start = text.find(quote)
    if start >= 0:
        return start, start + len(quote)
    plain, places = _plain(text)
    for wanted in (_plain(quote)[0].strip(), _plain(quote)[0].strip(_EDGES)):
        at = plain.find(wanted) if len(wanted) >= _MIN_QUOTE else -1
        if at >= 0:
            return places[at], places[at + len(wanted) - 1] + 1
    return _find_letters(quote, text)


def _find_letters(quote: str, text: str) -> tuple[int, int] | None:
    """Start and end of whole words of a text that have the letters and figures of a quote, whatever marks they have."""
    wanted = "".join(letter for letter in _plain(quote)[0] if letter.isalnum())
    letters, places = _plain(text)
    kept = [(letter, place) for letter, place in zip(letters, places, strict=True) if letter.isalnum()]
    bare, at = "".join(letter for letter, _ in kept), -1
    while len(wanted) >= _MIN_LETTERS and (at := bare.find(wanted, at + 1)) >= 0:
        start, end = kept[at][1], kept[at + len(wanted) - 1][1] + 1
        if not text[start - 1 : start].isalnum() and not text[end : end + 1].isalnum():
            return start, end
    return None


def _plain(text: str) -> tuple[str, list[int]]:
    """A text made comparable, and where each of its characters stands in the original."""
    letters: list[str] = []
    places: list[int] = []
    for place, letter in enumerate(text):
        for one in unicodedata.normalize("NFKC", letter.translate(_ALIKE)).casefold():
            blank = one.isspace()
            if blank and letters and letters[-1] == " ":
                continue
            letters.append(" " if blank else one)
            places.append(place)
    return "".join(letters), places
