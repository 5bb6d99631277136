"""Functions over a transaction as verbs of a store, each of which is one transaction."""

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, TypeVar

from lamina.storage.transaction import NOBODY, About, Database, Transaction

P = ParamSpec("P")
T = TypeVar("T")

Work = Callable[Concatenate[Transaction, P], Awaitable[T]]
Verb = Callable[Concatenate["Tenant", P], Coroutine[Any, Any, T]]


class Tenant:
    """One tenant's tables in one database."""

    def __init__(self, database: Database, *, tenant: str, all_tenants: Database | None = None) -> None:
        self.tenant = tenant
        self._database = database
        self._all_tenants = all_tenants or database  # may read the names of all tenants


def read(work: Work[P, T]) -> Verb[P, T]:
    def verb(self: Tenant, /, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, T]:
        return self._database.read(lambda tx: work(tx, *args, **kwargs))

    return verb


def read_all_tenants(work: Work[P, T]) -> Verb[P, T]:
    def verb(self: Tenant, /, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, T]:
        return self._all_tenants.read(lambda tx: work(tx, *args, **kwargs))

    return verb


def write(work: Work[P, T], about: Callable[P, About] = lambda *_, **__: NOBODY) -> Verb[P, T]:
    def verb(self: Tenant, /, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, T]:
        return self._database.write(lambda tx: work(tx, *args, **kwargs), about(*args, **kwargs))

    return verb


def write_again(work: Work[P, T]) -> Verb[P, T]:
    """For work that does no harm if it is done twice, and is about no one user."""
    return write(work, lambda *_, **__: About(again=True))
