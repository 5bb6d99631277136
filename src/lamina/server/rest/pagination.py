"""Pages of lists, and the cursors that lead from one to the next: which list, and where in it."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar
from urllib.parse import quote, unquote

from pydantic import BaseModel, Field

from lamina.errors import InputError, NotFound
from lamina.server.inputs import ListQuery

T = TypeVar("T")

_MAX_DIGITS = 18  # of a number that a store can count to
_BY_NUMBER = ("messages", "audit")
_NAME = r"(?:[A-Za-z0-9_.~-]|%0[1-9A-F]|%[1-9A-F][0-9A-F])+"


class Page(BaseModel, Generic[T]):
    """Some of a list; `next` is the cursor of the rest, null at its end."""

    items: list[T]
    next: str | None = Field(description="Give it as `cursor` for the next page; null: there is no more.")


def cursor_pattern(kind: str) -> str:
    """What the cursors of a list look like, for the schema."""
    return f"^{kind}:{f'[1-9][0-9]{{0,{_MAX_DIGITS - 1}}}' if kind in _BY_NUMBER else _NAME}$"


def make_cursor(kind: str, place: object) -> str:
    return f"{kind}:{quote(str(place), safe='')}"


def read_cursor(kind: str, cursor: str | None) -> str | None:
    """Where a cursor of that list leads to; None for the beginning."""
    if cursor is None:
        return None
    list_of, _, quoted = cursor.partition(":")
    place = unquote(quoted)
    if list_of != kind or not place or "\0" in place:
        raise InputError("this cursor is not of this list; take `next` of the page before, or none for the beginning")
    return place


def read_number(kind: str, cursor: str | None) -> int | None:
    """Where a cursor leads to in a list that goes by numbers."""
    place = read_cursor(kind, cursor)
    if place is not None and not (place.isdecimal() and len(place) <= _MAX_DIGITS):
        raise InputError("this cursor is not of this list; take `next` of the page before")
    return None if place is None else int(place)


def paginate(
    items: Sequence[T], kind: str, query: ListQuery, name: Callable[[Any], str] = lambda one: one.id
) -> Page[T]:
    """A page of a list that is all there; its order is kept, also when something was added or removed meanwhile."""
    after, first = read_cursor(kind, query.cursor), 0
    if after is not None:
        found = [number for number, item in enumerate(items) if name(item) == after]
        if not found:
            raise NotFound("what this cursor goes on from is not in the list any more; begin again without it")
        first = found[0] + 1
    some = list(items[first : first + query.limit])
    more = first + query.limit < len(items)
    return Page(items=some, next=make_cursor(kind, name(some[-1])) if more else None)


def whole_list(items: Sequence[T]) -> Page[T]:
    """A list that always fits one page."""
    return Page(items=list(items), next=None)
