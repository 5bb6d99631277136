"""Pages of lists, and the cursors that lead from one to the next: which list, and where in it."""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar
from urllib.parse import quote, unquote

from pydantic import BaseModel, Field

from lamina.errors import InputError, NotFound

T = TypeVar("T")

_DIGITS = 18  # of a number that a store can count to
_NUMBERED = ("messages", "audit")
_NAME = r"(?:[A-Za-z0-9_.~-]|%0[1-9A-F]|%[1-9A-F][0-9A-F])+"


class Page(BaseModel, Generic[T]):
    """Some of a list; `next` is the cursor of the rest, null at its end."""

    items: list[T]
    next: str | None = Field(description="Give it as `cursor` for the next page; null: there is no more.")


def pattern_of(kind: str) -> str:
    """What the cursors of a list look like, for the schema."""
    return f"^{kind}:{f'[1-9][0-9]{{0,{_DIGITS - 1}}}' if kind in _NUMBERED else _NAME}$"


def cursor_to(kind: str, place: str) -> str:
    return f"{kind}:{quote(place, safe='')}"


def place_of(kind: str, cursor: str | None) -> str | None:
    """Where a cursor of that list leads to; None for the beginning."""
    if cursor is None:
        return None
    known, _, named = cursor.partition(":")
    place = unquote(named)
    if known != kind or not place or "\0" in place:
        raise InputError("this cursor is not of this list; take `next` of the page before, or none for the beginning")
    return place


def number_of(kind: str, cursor: str | None) -> int | None:
    """Where a cursor leads to in a list that goes by numbers."""
    place = place_of(kind, cursor)
    if place is not None and not (place.isdecimal() and len(place) <= _DIGITS):
        raise InputError("this cursor is not of this list; take `next` of the page before")
    return None if place is None else int(place)


def page_of(items: Sequence[T], *, kind: str, cursor: str | None, limit: int, name: Callable[[T], str]) -> Page[T]:
    """A page of a list that is all there; its order is kept, also when something was added or is gone meanwhile."""
    after, first = place_of(kind, cursor), 0
    if after is not None:
        found = [number for number, item in enumerate(items) if name(item) == after]
        if not found:
            raise NotFound("what this cursor goes on from is not in the list any more; begin again without it")
        first = found[0] + 1
    some = list(items[first : first + limit])
    more = first + limit < len(items)
    return Page(items=some, next=cursor_to(kind, name(some[-1])) if more else None)
