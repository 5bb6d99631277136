"""Data classes that are quickly made: `import lamina` makes a hundred, and they took two thirds of its time.

Before Python 3.13 the standard decorator compiles each method of each class. Here comparing, hashing and showing are
written once for all of them; everything else is the standard decorator's work, so `fields` and `replace` know them.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass as _dataclass
from dataclasses import fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(**options: bool) -> Callable[[type], type]:
        """As `dataclasses.dataclass`, for immutable values: equal if all fields are, and hashed by them."""

        def made(cls: type) -> type:
            record = _dataclass(**options, repr=False, eq=False)(cls)
            compared = [one.name for one in fields(record) if one.compare]
            shown = [one.name for one in fields(record) if one.repr]
            content: Callable[[Any], Any] = attrgetter(*compared) if compared else lambda _: ()

            def equals(self: Any, other: object) -> bool:
                return content(self) == content(other) if other.__class__ is self.__class__ else NotImplemented

            def hashed(self: Any) -> int:
                return hash(content(self))

            def represented(self: Any) -> str:
                return f"{record.__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"

            for name, method in {"__eq__": equals, "__hash__": hashed, "__repr__": represented}.items():
                if name not in cls.__dict__:
                    setattr(record, name, method)
            return record

        return made


def short_hash(value: Any, without: frozenset[str]) -> str:
    """A short hash of a value's fields, but for some."""
    shown = [(name, getattr(value, name)) for name in value.__dataclass_fields__ if name not in without]
    return hashlib.sha256(repr(shown).encode("utf-8", "backslashreplace")).hexdigest()[:32]
