"""What may be chosen for a PostgreSQL store; also as parameters of its URL that begin with `lamina_`."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from lamina.errors import InputError

_NAME = re.compile(r"[a-z_][a-z0-9_]{0,40}")
_PLACES = re.compile(r"[^:,]+(:\d+)?(,[^:,]+(:\d+)?)*")
_PARAMETER = "lamina_"


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresOptions:
    """Where the tables lie, and how the server is used. What libpq knows (hosts, TLS, …) stays in the URL."""

    schema: str = "lamina"  # made when it is missing
    prefix: str = ""  # of every table, so that several stores may lie in one schema
    pool_min: int = 1  # connections kept open
    pool_max: int = 10
    prepare_threshold: int | Literal["auto"] | None = "auto"  # auto: 5, never through a pool; None ("none"): never
    statement_timeout_s: float = 60.0  # the longest that one statement may take
    lock_timeout_s: float = 30.0  # the longest wait for other writers
    connect_timeout_s: float = 30.0  # the longest wait for a connection, also after a restart of the server
    scrub: str = "vacuum"  # or "full": rewrite the tables after forgetting, which holds all other work up meanwhile
    role: str | None = None  # taken in each transaction; None: the one that connects
    direct: str | None = None  # host:port of the server itself, where the URL is that of a pool like pgbouncer

    def __post_init__(self) -> None:
        for name in ("schema", "prefix"):
            given = getattr(self, name)
            if (given or name == "schema") and not (isinstance(given, str) and _NAME.fullmatch(given)):
                raise InputError(f"{name} must be lower-case letters, digits and _, e.g. 'memory', not {given!r}")
        if self.role is not None and not (isinstance(self.role, str) and self.role):
            raise InputError(f"role must be the name of a role, not {self.role!r}")
        if self.direct is not None and not _PLACES.fullmatch(self.direct):
            raise InputError(f"direct must be host:port of the server itself, e.g. 'db:5432', not {self.direct!r}")
        if self.scrub not in {"vacuum", "full"}:
            raise InputError(f"scrub must be 'vacuum' or 'full', not {self.scrub!r}")
        if not 0 <= self.pool_min <= self.pool_max or self.pool_max < 1:
            raise InputError(f"pool_min {self.pool_min} and pool_max {self.pool_max} must be 0 <= min <= max, max >= 1")
        for name in ("statement_timeout_s", "lock_timeout_s", "connect_timeout_s"):
            if not getattr(self, name) > 0:
                raise InputError(f"{name} must be a number of seconds above 0, not {getattr(self, name)!r}")


def _threshold(text: str) -> int | str | None:
    return text if text == "auto" else None if text == "none" else int(text)


_READ: Mapping[str, Callable[[str], Any]] = {
    "schema": str,
    "prefix": str,
    "pool_min": int,
    "pool_max": int,
    "prepare_threshold": _threshold,
    "statement_timeout_s": float,
    "lock_timeout_s": float,
    "connect_timeout_s": float,
    "scrub": str,
    "role": str,
    "direct": str,
}


def split_url(url: str) -> tuple[str, dict[str, Any]]:
    """The URL for libpq, and the options that were in it."""
    parts = urlsplit(url)
    kept, options = [], {}
    for key, value in parse_qsl(parts.query, keep_blank_values=True):
        if not key.startswith(_PARAMETER):
            kept.append((key, value))
            continue
        name = key.removeprefix(_PARAMETER)
        if name not in _READ:
            raise InputError(f"unknown parameter {key!r} in the URL; there are {sorted(_PARAMETER + n for n in _READ)}")
        try:
            options[name] = _READ[name](value)
        except ValueError:
            raise InputError(f"{key} in the URL cannot be {value!r}; give a number") from None
    return urlunsplit(parts._replace(query=urlencode(kept))), options
