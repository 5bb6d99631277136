"""Random values of every kind that Lamina keeps, for round trips."""

import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

from lamina.log.messages import text_of
from lamina.values.fact import Episode, Fact, Link
from lamina.values.message import ROLES, Message, Span
from lamina.values.receipt import Receipt
from lamina.values.session import Milestone, Session
from lamina.values.summary import Summary

characters = st.characters(codec="utf-8", exclude_characters="\0")
texts = st.text(characters, max_size=12)
ids = st.text(characters, min_size=1, max_size=6)
moments = st.datetimes(
    datetime(1971, 1, 1),
    datetime(2100, 1, 1),
    timezones=st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30)), timezone(timedelta(hours=-8))]),
)
units = st.floats(0, 1)
scalars = st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-9, 9) | texts
objects = st.dictionaries(texts, scalars | st.lists(scalars, max_size=2), max_size=3)


@st.composite
def spans(draw: st.DrawFn) -> Span:
    first = draw(st.integers(0, 30))
    return Span(first=first, last=first + draw(st.integers(0, 30)))


_SIMPLE: Mapping[Any, st.SearchStrategy[Any]] = {
    str: texts,
    int: st.integers(0, 99),
    float: units,
    bool: st.booleans(),
    datetime: moments,
    Span: spans(),
    type(None): st.none(),
}


def of_type(hint: Any) -> st.SearchStrategy[Any]:
    """Values of a field's type."""
    if hint in _SIMPLE:
        return _SIMPLE[hint]
    if is_dataclass(hint):
        return values(hint)
    origin, inner = get_origin(hint), get_args(hint)
    if origin in {Union, types.UnionType}:
        return st.one_of([of_type(one) for one in inner])
    if origin is Literal:
        return st.sampled_from(inner)
    if origin is tuple:
        return st.lists(of_type(inner[0]), max_size=3).map(tuple)
    return objects


def values(kind: Any, **known: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    hints = get_type_hints(kind)
    drawn = {field.name: known.get(field.name, of_type(hints[field.name])) for field in fields(kind)}
    return st.builds(kind, **drawn)


sessions = values(Session, id=ids)
summaries = values(Summary)
facts = values(Fact)
episodes = values(Episode, valence=st.floats(-1, 1))
links = values(Link)
milestones = values(Milestone)
receipts = values(Receipt)
everything = st.one_of(sessions, summaries, facts, episodes, links, milestones, receipts)


@st.composite
def messages(draw: st.DrawFn, session_id: str = "s1", seq: int = 1) -> Message:
    """A message whose body may have any keys but those that are taken off it when it is stored."""
    role: Any = draw(st.sampled_from(ROLES))
    keys = texts | st.sampled_from(["type", "session_id", "user_id", "body", "lamina", "createdAt", "name"])
    taken = {"id", "created_at", "metadata", "model", "role", "content"}
    more = {key: item for key, item in draw(st.dictionaries(keys, scalars, max_size=2)).items() if key not in taken}
    body = {"role": role, "content": draw(texts), **more}
    return Message(
        id=f"{session_id}-{seq}",
        session_id=session_id,
        seq=seq,
        turn=1,
        role=role,
        body=body,
        created_at=draw(moments),
        metadata=draw(objects),
        model=draw(st.none() | ids),
        tokens=1,
        text=text_of(body),
        digest="",
    )


_json = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 2**70) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def _places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [path, *(place for key, value in inner for place in _places(value, (*path, key)))]


def disturbed(data: Any, chance: st.DataObject) -> Any:
    """The same JSON with something else in one place of it; it is changed."""
    *path, last = chance.draw(st.sampled_from(_places(data)[1:]))
    held = data
    for key in path:
        held = held[key]
    held[last] = chance.draw(_json)
    return data
