"""JSON schemas that strict clients take, and arguments read by them: nothing unknown, errors in plain words."""

from collections.abc import Mapping, Sequence
from typing import Any

from lamina.errors import InputError
from lamina.search.filters import FILTERS, MAX_SHARE, MIN_SHARE

Schema = dict[str, Any]

_KINDS: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}
_NAMES: Mapping[str, str] = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}


_SIZES = {"maxItems": "items", "maxLength": "characters"}
_MOST_ITEMS = 1000
_LONGEST = 100_000
_MOST = 1_000_000


def text(about: str, *, choices: Sequence[str] = ()) -> Schema:
    return {"type": "string", "description": about, **({"enum": list(choices)} if choices else {})}


def whole(about: str, *, least: int = 0, most: int | None = None, default: int | None = None) -> Schema:
    bounds = {"minimum": least, "maximum": most, "default": default}
    return {
        "type": "integer",
        "description": about,
        **{key: bound for key, bound in bounds.items() if bound is not None},
    }


def number(about: str) -> Schema:
    return {"type": "number", "description": about}


def share(about: str) -> Schema:
    return {"type": "number", "description": about, "minimum": MIN_SHARE, "maximum": MAX_SHARE}


def truth(about: str, *, default: bool | None = None) -> Schema:
    return {"type": "boolean", "description": about, **({} if default is None else {"default": default})}


def several(about: str, item: Schema) -> Schema:
    return {"type": "array", "description": about, "items": item}


def search_filter(name: str, more: str = "") -> Schema:
    """The schema of a filter of searches."""
    field = FILTERS[name]
    about = f"{field.about} {more}".rstrip()
    item = text("One of them.", choices=field.choices)
    if field.kind in {"choices", "words"}:
        return several(about, item)
    return share(about) if field.kind == "share" else text(about, choices=field.choices)


def bounded(schema: Schema) -> Schema:
    """The same with a bound for every text, number and list in it."""
    kind = schema["type"]
    if kind == "object":
        return {**schema, "properties": {name: bounded(inner) for name, inner in schema["properties"].items()}}
    if kind == "array":
        return {"maxItems": _MOST_ITEMS, **schema, "items": bounded(schema["items"])}
    if kind == "string" and "enum" not in schema:
        return {"maxLength": _LONGEST, **schema}
    return {"maximum": _MOST, **schema} if kind == "integer" else schema


def thing(properties: Mapping[str, Schema], *, required: Sequence[str] = (), about: str | None = None) -> Schema:
    return {
        "type": "object",
        **({} if about is None else {"description": about}),
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


def read(schema: Schema, given: Any, place: str = "") -> Any:
    """What was given, checked, with defaults; null is what was not given. An error names the place and what fits."""
    kind = schema["type"]
    fits = isinstance(given, _KINDS[kind]) and (kind == "boolean" or not isinstance(given, bool))
    if not fits:
        raise InputError(f"{place or 'arguments'} must be {_NAMES[kind]}, not {_kind_of(given)}")
    if kind == "object":
        return _read_object(schema, given, place)
    for bound, what in _SIZES.items():
        if bound in schema and len(given) > schema[bound]:
            raise InputError(f"{place} has up to {schema[bound]} {what}, not {len(given)}")
    if kind == "array":
        return [read(schema["items"], item, f"{place}[{index}]") for index, item in enumerate(given)]
    if "enum" in schema and given not in schema["enum"]:
        raise InputError(f"{place} is one of {', '.join(schema['enum'])}, not {given!r:.80}")
    least, most = schema.get("minimum"), schema.get("maximum")
    if (least is not None and given < least) or (most is not None and given > most):
        upto = "" if most is None else f" and at most {most}"
        raise InputError(f"{place} is at least {least}{upto}, not {given}")
    return given


def _read_object(schema: Schema, given: Mapping[str, Any], place: str) -> dict[str, Any]:
    properties: Mapping[str, Schema] = schema["properties"]
    inside = f"{place}." if place else ""
    if unknown := sorted(set(given) - set(properties)):
        raise InputError(f"there is no {inside}{unknown[0]!s:.80}; there are {', '.join(properties)}")
    told = {name: value for name, value in given.items() if value is not None}
    if missing := [name for name in schema["required"] if name not in told]:
        raise InputError(f"{inside}{missing[0]} is missing")
    defaults = {name: inner["default"] for name, inner in properties.items() if "default" in inner}
    return defaults | {name: read(properties[name], value, f"{inside}{name}") for name, value in told.items()}


def _kind_of(given: Any) -> str:
    found = [name for kind, name in _NAMES.items() if isinstance(given, _KINDS[kind]) and kind != "integer"]
    return "true or false" if isinstance(given, bool) else (found[0] if found else "null")
