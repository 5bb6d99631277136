"""Values as encode JSON data and back: whole on the way out, strict about every field on the way in."""

import math
import types
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from datetime import date, datetime
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from lamina.errors import InputError

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """How data is written: with our names of fields, or in camelCase without nulls as the readable folder has it."""

    camel: bool = False
    derived: bool = False  # with what follows from the fields, such as the text of a fact
    ignored: Counter[str] | None = None  # unknown fields are counted here; without it they are errors


SNAKE_CASE = Form()
READABLE = Form(derived=True)  # for who reads; what is stored or exported does without
_Reader = Callable[[Any, str, Form], Any]
_JSON_NAMES = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}


def encode(value: Any, form: Form = SNAKE_CASE) -> Any:
    """A value as what JSON can hold: dataclasses as objects, times as ISO 8601."""
    if isinstance(value, date):  # or a datetime
        return value.isoformat()
    if isinstance(value, list | tuple):
        return [encode(item, form) for item in value]
    if isinstance(value, Mapping):
        return {key: encode(item, form) for key, item in value.items()}
    if is_dataclass(value):
        names = [field.name for field in fields(value)] + (list(_derived(type(value))) if form.derived else [])
        items = {_name(name, form): getattr(value, name) for name in names}
        return {name: encode(item, form) for name, item in items.items() if not form.camel or item is not None}
    return value


def _derived(kind: Any) -> tuple[str, ...]:
    """The properties of a value that are written for readers; on the way in they are left out."""
    return getattr(kind, "_derived", ())


def with_derived(schema: Any, names: tuple[str, ...]) -> Any:
    """A dataclass as pydantic sees it, with properties that it writes as texts."""
    holder = schema if schema["type"] == "dataclass" else schema["schema"]
    holder["schema"]["computed_fields"] = [
        {"type": "computed-field", "property_name": name, "return_schema": {"type": "str"}} for name in names
    ]
    return schema


def decode(kind: type[T], data: Any, place: str, form: Form = SNAKE_CASE) -> T:
    """The value that data describes; an error says which field of which item is wrong. `place` names the item."""
    if not isinstance(data, Mapping):
        raise InputError(f"{place} must be an object, not {json_kind(data)}")
    shape = _shape(kind, form.camel)  # type: ignore[arg-type]  # a class is hashable
    unknown = [name for name in data if name not in shape and name not in _derived(kind)]
    if unknown and form.ignored is None:
        raise InputError(f"{place} has the unknown field {unknown[0]!r}; its fields are {list(shape)}")
    if unknown and form.ignored is not None:
        form.ignored.update(f"field {name!r} is not known" for name in unknown)
    if missing := [name for name, entry in shape.items() if entry.required and name not in data]:
        raise InputError(f"{place} lacks {', '.join(repr(name) for name in missing)}")
    return kind(
        **{
            shape[name].field: shape[name].read(value, f"{place}: {name}", form)
            for name, value in data.items()
            if name in shape
        }
    )


def json_kind(data: Any) -> str:
    """What a piece of JSON is, in words."""
    return _JSON_NAMES.get(type(data), "a number" if isinstance(data, int | float) else f"a {type(data).__name__}")


@dataclass(frozen=True, slots=True)
class _Entry:
    field: str
    read: _Reader
    required: bool


@cache
def _shape(kind: Any, camel: bool) -> Mapping[str, _Entry]:
    hints = get_type_hints(kind)
    form = Form(camel=camel)
    return {
        _name(field.name, form): _Entry(field.name, _reader(hints[field.name]), _is_required(field))
        for field in fields(kind)
    }


def _is_required(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _name(field: str, form: Form) -> str:
    if not form.camel:
        return field
    first, *rest = field.split("_")
    return first + "".join(word.capitalize() for word in rest)


@cache
def _reader(hint: Any) -> _Reader:
    """What reads a field of this type."""
    if hint in _READERS:
        return _READERS[hint]
    if is_dataclass(hint):
        return lambda data, place, form: decode(hint, data, place, form)  # type: ignore[arg-type]  # a class, not a value
    return _GENERIC[get_origin(hint)](get_args(hint))


def _optional(inner: tuple[Any, ...]) -> _Reader:
    (one,) = (hint for hint in inner if hint is not type(None))
    read = _reader(one)
    return lambda data, place, form: None if data is None else read(data, place, form)


def _choice(known: tuple[Any, ...]) -> _Reader:
    def read(data: Any, place: str, _: Form) -> Any:
        if not isinstance(data, str) or data not in known:
            raise InputError(f"{place} is {data!r:.80}; it is one of {list(known)}")
        return data

    return read


def _list(inner: tuple[Any, ...]) -> _Reader:
    one = _reader(inner[0])

    def read(data: Any, place: str, form: Form) -> Any:
        if not isinstance(data, list | tuple):
            raise InputError(f"{place} must be a list, not {json_kind(data)}")
        return tuple(one(item, f"{place} {number}", form) for number, item in enumerate(data, 1))

    return read


def _object(data: Any, place: str, _: Form) -> Any:
    if not isinstance(data, Mapping):
        raise InputError(f"{place} must be an object, not {json_kind(data)}")
    return dict(data)


def _text(data: Any, place: str, _: Form) -> str:
    if not isinstance(data, str):
        raise InputError(f"{place} must be text, not {json_kind(data)}")
    if not data.isascii() or "\0" in data:
        _check_characters(data, place)
    return data


def _check_characters(text: str, place: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(f"{place} has a lone surrogate, which is no valid Unicode; remove it") from None
    if "\0" in text:
        raise InputError(f"{place} has a NUL character; remove it")


def _flag(data: Any, place: str, _: Form) -> bool:
    if not isinstance(data, bool):
        raise InputError(f"{place} must be true or false, not {json_kind(data)}")
    return data


def _integer(data: Any, place: str, _: Form) -> int:
    if isinstance(data, bool) or not isinstance(data, int):
        raise InputError(f"{place} must be a whole number, not {data!r:.80}")
    return data


def _number(data: Any, place: str, _: Form) -> float:
    if isinstance(data, bool) or not isinstance(data, int | float) or not math.isfinite(data):
        raise InputError(f"{place} must be a number, not {data!r:.80}")
    return float(data)


def _time(data: Any, place: str, _: Form) -> datetime:
    try:
        moment = data if isinstance(data, datetime) else datetime.fromisoformat(data)
    except (TypeError, ValueError):
        raise InputError(f"{place} is {data!r:.80}; a time is ISO 8601, e.g. 2025-03-14T09:30:00+01:00") from None
    if moment.utcoffset() is None:
        raise InputError(f"{place} is {data!r:.80}, which has no time zone; e.g. {moment.isoformat()}+00:00")
    return moment


_READERS: Mapping[Any, _Reader] = {
    str: _text,
    bool: _flag,
    int: _integer,
    float: _number,
    datetime: _time,
    Any: lambda data, _place, _form: data,
}
_GENERIC: Mapping[Any, Callable[[tuple[Any, ...]], _Reader]] = {
    Union: _optional,
    types.UnionType: _optional,
    Literal: _choice,
    tuple: _list,
    Mapping: lambda _: _object,
}
