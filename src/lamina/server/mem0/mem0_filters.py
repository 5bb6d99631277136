"""The filter language of mem0's clients: AND, OR, NOT over fields of memories."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from lamina.errors import InputError
from lamina.language.times import moment

ENTITIES = ("user_id", "agent_id", "run_id")
TIMES = ("created_at", "updated_at")
FIELDS = (*ENTITIES, *TIMES, "categories", "metadata", "keywords", "memory_ids")
NO_APPS = "Lamina has no apps: use agent_id, or give each app a tenant with keys of its own"
_JOINS = ("AND", "OR", "NOT")
_ANY = "*"
_MAX_DEPTH = 20
_MAX_VALUES = 2000  # fields and values of a filter, on all levels together
_MAX_TEXT = 10_000  # characters of a text in it

_ORDERED: Mapping[str, Callable[[Any, Any], bool]] = {
    "gt": lambda one, other: one > other,
    "gte": lambda one, other: one >= other,
    "lt": lambda one, other: one < other,
    "lte": lambda one, other: one <= other,
}
_OPERATORS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(ENTITIES, ("eq", "ne", "in")),
    **dict.fromkeys(TIMES, ("eq", "ne", *_ORDERED)),
    "categories": ("eq", "ne", "in", "contains"),
    "metadata": ("eq", "ne", "in", "contains", "icontains", *_ORDERED),
    "keywords": ("contains", "icontains"),
    "memory_ids": ("in",),
}


@dataclass(frozen=True, slots=True)
class Test:
    """One condition on a field; `key` is that of the metadata."""

    field: str
    operator: str
    value: Any
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Join:
    """Several conditions together; NOT: none of them holds."""

    how: Literal["AND", "OR", "NOT"]
    of: tuple["Test | Join", ...]


Filter = Test | Join
EVERYTHING = Join("AND", ())


def parse_filter(given: Any) -> Filter:
    """A filter as it was sent; InputError says what is not understood and what would be."""
    _check_size(given)
    return _read(given, 1)


def flatten(given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a filter, also of those that it joins by AND, as far as they are few."""
    found = {name: value for name, value in given.items() if name != "AND"}
    several = given.get("AND")
    for one in several[: len(FIELDS)] if isinstance(several, list) else ():
        found |= one if isinstance(one, dict) else {}
    return found


def _check_size(given: Any) -> None:
    """Refuse what would take long to read; looks at no more than it allows."""
    waiting, seen = [given], 0
    while waiting:
        one = waiting.pop()
        if isinstance(one, str) and len(one) > _MAX_TEXT:
            raise InputError(f"a text in a filter has up to {_MAX_TEXT} characters")
        if isinstance(one, dict | list):
            seen += len(one)
            if seen > _MAX_VALUES:
                raise InputError(f"a filter has up to {_MAX_VALUES} fields and values; ask in parts")
            waiting += [*one, *one.values()] if isinstance(one, dict) else one


def _read(given: Any, depth: int) -> Filter:
    if not isinstance(given, dict):
        raise InputError('filters are an object, e.g. {"AND": [{"user_id": "alex"}]}')
    if depth > _MAX_DEPTH:
        raise InputError(f"filters go {_MAX_DEPTH} levels deep at the most")
    return all_of(*(part for name, value in given.items() for part in _parts(name, value, depth)))


def all_of(*filters: Filter) -> Filter:
    return filters[0] if len(filters) == 1 else Join("AND", filters)


def _parts(name: str, value: Any, depth: int) -> list[Filter]:
    if name in _JOINS:
        several = value if isinstance(value, list) else [value]
        return [Join(name, tuple(_read(one, depth + 1) for one in several))]  # type: ignore[arg-type]
    if name == "app_id":
        if value is None:
            return []
        raise InputError(NO_APPS)
    if name not in FIELDS:
        raise InputError(f"no filter {name!r:.80}; there are {[*_JOINS, *FIELDS]}, and your own keys under 'metadata'")
    if name == "metadata":
        if not isinstance(value, dict):
            raise InputError('the filter metadata is an object, e.g. {"metadata": {"topic": "travel"}}')
        return [test for key, wanted in value.items() for test in _tests(name, wanted, key)]
    return list(_tests(name, value))


def _tests(field: str, value: Any, key: str | None = None) -> list[Test]:
    if value is None and field in ENTITIES:
        return []
    if not isinstance(value, dict):
        operator = {"keywords": "icontains"}.get(field, "in" if isinstance(value, list) else "eq")
        value = {operator: value}
    allowed = _OPERATORS[field]
    if unknown := [operator for operator in value if operator not in allowed]:
        raise InputError(f"no operator {unknown[0]!r:.80} for {field}; there are {list(allowed)}")
    return [Test(field, operator, _operand(field, operator, wanted), key) for operator, wanted in value.items()]


def _operand(field: str, operator: str, wanted: Any) -> Any:
    if operator == "in":
        if not isinstance(wanted, list):
            raise InputError(f"{field}: 'in' needs a list")
        return wanted
    if field in TIMES:
        return _time(wanted, field)
    if (field in ENTITIES or operator in {"contains", "icontains"}) and not isinstance(wanted, str):
        raise InputError(f"{field}: {operator!r} needs a text, not {type(wanted).__name__}")
    return wanted


def _time(given: Any, name: str) -> datetime:
    if isinstance(given, int | float) and not isinstance(given, bool):
        return time_of(given, name)
    if isinstance(given, str) and "T" in given:
        try:
            zoneless = datetime.fromisoformat(given)
        except ValueError:
            zoneless = None
        if zoneless is not None and zoneless.tzinfo is None:
            return zoneless.replace(tzinfo=UTC)
    return moment(given, name)


def time_of(given: float, name: str) -> datetime:
    """A time that was given in seconds since 1970, as mem0 has its timestamps."""
    try:
        return datetime.fromtimestamp(given, UTC)
    except (ValueError, OverflowError, OSError):
        raise InputError(f"{name} {given!r:.80} is no time; it is seconds since 1970, e.g. 1741944600") from None


# asking


def matches(wanted: Filter, memory: Mapping[str, Any]) -> bool:
    """Whether a memory, as it would be sent, is wanted."""
    if isinstance(wanted, Join):
        found = (matches(one, memory) for one in wanted.of)
        return all(found) if wanted.how == "AND" else any(found) if wanted.how == "OR" else not any(found)
    return _is_met(wanted, _value_of(wanted, memory))


def _value_of(test: Test, memory: Mapping[str, Any]) -> Any:
    if test.key is not None:
        return memory["metadata"].get(test.key)
    if test.field in TIMES:
        return datetime.fromisoformat(memory[test.field])
    return memory[{"keywords": "memory", "memory_ids": "id"}.get(test.field, test.field)]


def _is_met(test: Test, value: Any) -> bool:
    wanted, several = test.value, value if isinstance(value, list) else [value]
    if wanted == _ANY or (test.operator == "in" and _ANY in wanted):
        return (value not in (None, [])) != (test.operator == "ne")
    match test.operator:
        case "eq" | "ne":
            return (value == wanted or wanted in several) != (test.operator == "ne")
        case "in":
            return any(one in wanted for one in several)
        case "contains":
            return isinstance(value, str | list) and wanted in value
        case "icontains":
            return isinstance(value, str) and wanted.casefold() in value.casefold()
    return _are_comparable(value, wanted) and _ORDERED[test.operator](value, wanted)


def _are_comparable(one: Any, other: Any) -> bool:
    kinds: Sequence[Any] = (int | float, str, datetime)
    return any(isinstance(one, kind) and isinstance(other, kind) for kind in kinds)


def users_in(wanted: Filter) -> frozenset[str] | None:
    """The only users whose memories can be wanted; None: anybody's."""
    if isinstance(wanted, Test):
        return _users_of(wanted) if wanted.field == "user_id" else None
    if wanted.how == "NOT":
        return None
    several = [users_in(one) for one in wanted.of]
    known = [users for users in several if users is not None]
    if wanted.how == "OR":
        return frozenset().union(*known) if len(known) == len(several) else None
    return frozenset.intersection(*known) if known else None


def _users_of(test: Test) -> frozenset[str] | None:
    if test.operator == "in":
        return None if _ANY in test.value else frozenset(one for one in test.value if isinstance(one, str))
    return frozenset([test.value]) if test.operator == "eq" and test.value != _ANY else None


def fields_in(wanted: Filter) -> frozenset[str]:
    """The fields that a filter asks about."""
    if isinstance(wanted, Test):
        return frozenset([wanted.field])
    return frozenset().union(*(fields_in(one) for one in wanted.of))


def only_entities(wanted: Filter) -> dict[str, str] | None:
    """The ids that a filter names, if it does nothing else than name one of each kind."""
    if isinstance(wanted, Test):
        plain = wanted.field in ENTITIES and wanted.operator == "eq" and wanted.value != _ANY
        return {wanted.field: wanted.value} if plain else None
    found: dict[str, str] = {}
    for one in wanted.of if wanted.how == "AND" else (None,):
        inner = None if one is None else only_entities(one)
        if inner is None or found.keys() & inner.keys():
            return None
        found |= inner
    return found
