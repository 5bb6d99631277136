"""Data classes that are quickly made: `import lamina` makes a hundred, and they took two thirds of its time.

Before Python 3.13 the standard decorator compiles each method of each class. Here comparing, hashing and showing are
written once for all of them; everything else is the standard decorator's work, so `fields` and `replace` know them.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass as _dataclass
from dataclasses import fields
from datetime import datetime
from operator import attrgetter
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass", "short_hash"]

_MAX_TEXT = 60  # characters of one text in a repr

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(**options: bool) -> Callable[[type], type]:
        """As `dataclasses.dataclass`, for immutable values: equal if all fields are, and hashed by them.

        A repr has the fields that the class names in `_shown`, else all; long texts are cut, lists have their length.
        """

        def build(cls: type) -> type:
            record = _dataclass(**options, repr=False, eq=False)(cls)
            compared = [one.name for one in fields(record) if one.compare]
            shown = getattr(record, "_shown", [one.name for one in fields(record) if one.repr])
            content: Callable[[Any], Any] = attrgetter(*compared) if compared else lambda _: ()

            def equals(self: Any, other: object) -> bool:
                return content(self) == content(other) if other.__class__ is self.__class__ else NotImplemented

            def compute_hash(self: Any) -> int:
                return hash(content(self))

            def represent(self: Any) -> str:
                values = ((name, getattr(self, name)) for name in shown)
                listed = ", ".join(f"{name}={_brief(value)}" for name, value in values if value is not None)
                return f"{record.__qualname__}({listed})"

            for name, method in {"__eq__": equals, "__hash__": compute_hash, "__repr__": represent}.items():
                if name not in cls.__dict__:
                    setattr(record, name, method)
            return record

        return build


def _brief(value: Any) -> str:
    """A value in few characters: texts are cut, times have minutes, lists their length."""
    if isinstance(value, str):
        return repr(value if len(value) <= _MAX_TEXT else value[: _MAX_TEXT - 1] + "…")
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M}"
    if isinstance(value, tuple | list | dict) and value:
        return f"({len(value)} items)" if len(value) > 1 else "(1 item)"
    return repr(value)


def short_hash(value: Any, without: frozenset[str]) -> str:
    """A short hash of a value's fields, but for some."""
    shown = [(one.name, getattr(value, one.name)) for one in fields(value) if one.name not in without]
    return hashlib.sha256(repr(shown).encode("utf-8", "backslashreplace")).hexdigest()[:32]
