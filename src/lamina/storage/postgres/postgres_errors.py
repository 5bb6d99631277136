"""PostgreSQL's errors in our words: what is wrong, and what would help."""

import re
from collections.abc import Mapping

import psycopg

from lamina.errors import InputError, LaminaError, StoreBusy, StoreError, StoreFull, StoreReadOnly

_UNREACHABLE = "the server cannot be reached: check host, port and network, and that it runs"
_PREPARED = "a pool between does not keep prepared statements: add lamina_prepare_threshold=none to the URL"
_BUSY = (StoreBusy, "other writers were in the way for too long, try again")
_NAMED: Mapping[str, tuple[type[LaminaError], str]] = {  # by SQLSTATE, or its first two or three characters
    "08": (StoreError, _UNREACHABLE),
    "22021": (InputError, "text for PostgreSQL cannot have NUL characters: remove them"),
    "23505": _BUSY,
    "25006": (StoreReadOnly, "this server only reads, e.g. a standby: add target_session_attrs=read-write to the URL"),
    "26000": (StoreError, _PREPARED),
    "28": (StoreError, "user or password are wrong, or pg_hba.conf does not let this user in"),
    "3D000": (StoreError, "there is no such database: create it first, e.g. with `createdb`"),
    "3F000": (StoreError, "there is no such schema, and no right to make it: grant create on the database"),
    "40001": _BUSY,
    "40P01": _BUSY,
    "42501": (StoreError, "a right is missing: see the grants in lamina/storage/postgres/grants.sql"),
    "42P05": (StoreError, _PREPARED),
    "42P01": (StoreError, "a table is missing: open the store once as a role that may make tables"),
    "53100": (StoreFull, "free some space on the server, nothing was changed"),
    "53300": (StoreBusy, "the server has no connection left: raise max_connections, or lower lamina_pool_max"),
    "55P03": _BUSY,
    "57014": (StoreBusy, "a statement took longer than allowed: try again, or raise lamina_statement_timeout_s"),
    "57P": (StoreError, _UNREACHABLE),
}
_TOLD = (
    (re.compile(r"NUL \(0x00\)"), "22021"),
    (re.compile(r'database ".*" does not exist'), "3D000"),
    (re.compile(r'role ".*" does not exist|authentication failed|no password|pg_hba\.conf'), "28000"),
    (re.compile(r"too many clients|remaining connection slots|too many connections"), "53300"),
    (re.compile(r"session is read-only|in hot standby mode"), "25006"),
)
AGAIN = frozenset({"40001", "40P01", "23505"})  # another transaction came first, so this one is tried again


class Pooled(StoreError):
    """A pool is between us and the server, which hands connections on after each transaction."""

    def __init__(self, where: str) -> None:
        super().__init__(
            f"{where}: this needs a connection that stays, and a pool is in between: name the server itself in the URL,"
            " e.g. lamina_direct=db:5432"
        )


def translate(error: psycopg.Error, where: str) -> LaminaError:
    """A driver's error as one of ours."""
    state = error.sqlstate or _state_of(str(error)) or ("08" if _is_lost(error) else "")
    for length in (5, 3, 2):
        if state[:length] in _NAMED:
            kind, advice = _NAMED[state[:length]]
            if kind is InputError:  # which callers of a service are shown
                return kind(advice)
            return kind(f"{where}: {_line(error)}; {advice}")
    return StoreError(f"{where}: {_line(error)}")


def without_extension(error: psycopg.Error, where: str) -> StoreError:
    return StoreError(
        f"{where}: {_line(error)}; the extension pgvector is needed: install it on the server (package"
        " postgresql-NN-pgvector), then run `create extension vector` in the database as a role that may"
    )


def _state_of(text: str) -> str:
    """The state that words of libpq or the driver stand for: they come without one where no connection was made."""
    return next((state for pattern, state in _TOLD if pattern.search(text)), "")


def _is_lost(error: psycopg.Error) -> bool:
    return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)


def is_lost(error: psycopg.Error) -> bool:
    """Whether the connection is gone, so that nobody knows what the server has done."""
    state = error.sqlstate
    return _is_lost(error) if state is None else state.startswith(("08", "57P"))


def _line(error: psycopg.Error) -> str:
    """The line that says what failed, without libpq's questions below it; details may quote what users said."""
    lines = (error.diag.message_primary or str(error)).strip().splitlines()
    failures = [line for line in lines if not line.startswith("\t")]
    return re.sub("^.*?(?=connection to server )", "", (failures or lines)[-1].strip())
