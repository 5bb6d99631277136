"""Objects of SDKs as the dicts that they stand for; known by their fields, so that no SDK is imported."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from typing import Any

from lamina.errors import InputError

WORKS = (
    "give text, a dict such as {'role': 'user', 'content': 'hi'}, or a message of the OpenAI or Anthropic SDK "
    "(an object with role and content)"
)
_JSON = (Mapping, str, int, float, list, tuple, type(None))
_LISTS = ("content", "tool_calls", "output", "choices")  # where a dict may have objects
_ATTRIBUTES = ("role", "content", "name", "tool_calls", "tool_call_id")


def as_mapping(item: Any, place: str) -> Mapping[str, Any]:
    """A message as a dict; of an object, without the fields that are None."""
    if isinstance(item, Mapping):
        lists = [name for name in _LISTS if isinstance(item.get(name), list | tuple)]
        changed = {name: plain for name in lists if (plain := as_plain_list(item[name])) != item[name]}
        return {**item, **changed} if changed else item
    fields = None if isinstance(item, _JSON) else _fields(item)
    if fields is None:
        raise InputError(f"{place} is of type {type(item).__name__}; {WORKS}")
    return fields


def as_plain_list(values: Sequence[Any]) -> Sequence[Any]:
    """A list without objects in it; the same list, if it has none."""
    if all(isinstance(one, _JSON) for one in values):
        return values
    return [one if isinstance(one, _JSON) or (fields := _fields(one)) is None else fields for one in values]


def _fields(item: Any) -> Mapping[str, Any] | None:
    """The fields of an object that have something in them; None if it has none that could be a message's."""
    if isinstance(item, type):
        return None
    fields: Any = None
    if callable(dump := getattr(item, "model_dump", None)):
        fields = dump(mode="json", exclude_none=True)
    elif is_dataclass(item) and not isinstance(item, type):
        fields = asdict(item)
    if isinstance(fields, Mapping) and (fields.keys() & {"content", "tool_calls", "refusal"} or "role" not in fields):
        return {name: value for name, value in fields.items() if value is not None and not _is_empty(name, value)}
    if hasattr(item, "role") and hasattr(item, "content"):
        return {name: _value(value) for name in _ATTRIBUTES if (value := getattr(item, name, None)) is not None}
    return None


def _is_empty(name: str, value: Any) -> bool:
    return value == [] and name not in {"content", "output", "choices"}


def _value(value: Any) -> Any:
    """What an attribute stands for: objects in a list as dicts, a member of an enumeration as its value."""
    if isinstance(value, list | tuple):
        return as_plain_list(value)
    return value.value if isinstance(getattr(value, "value", None), str) else value
