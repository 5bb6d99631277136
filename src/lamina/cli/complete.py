"""Words for the shell to complete: users and sessions of the memory; without errors, and within seconds."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import typer

from lamina import Memory
from lamina.errors import LaminaError
from lamina.settings import load_settings

_SECONDS = 5.0  # for reading the memory; then there is nothing to complete
_MAX_WORDS = 200


def user_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Users that have sessions."""
    return _words(ctx, incomplete, lambda memory: [one.user_id for one in memory.sessions()])


def session_ids(ctx: typer.Context, incomplete: str) -> list[str]:
    """Sessions, of one user if --user is given before."""
    user = _option(ctx, "user")
    return _words(ctx, incomplete, lambda memory: [one.id for one in memory.sessions(user)])


def _words(ctx: typer.Context, incomplete: str, read: Callable[[Memory], list[str]]) -> list[str]:
    """The words that begin so, from a file that exists; none if anything is wrong or it takes long."""
    try:
        config = _option(ctx, "config")
        settings = load_settings(os.environ, Path(config) if config else None)
        path = (_option(ctx, "db") or settings.database).removeprefix("sqlite:///")
        if "://" in path or not Path(path).is_file():
            return []
        tenant = _option(ctx, "tenant") or settings.tenant
        with _time_limit(), Memory(path, tenant=tenant, worker=False, embedder="none") as memory:
            found = read(memory)
    except (LaminaError, OSError, TimeoutError):
        return []
    return sorted({word for word in found if word.startswith(incomplete)})[:_MAX_WORDS]


def _option(ctx: typer.Context, name: str) -> str | None:
    """An option's value, given before or after the command."""
    at: typer.Context | None = ctx
    while at is not None:
        given = at.params.get(name)
        if given:
            return str(given[0] if isinstance(given, list | tuple) else given)
        at = at.parent  # type: ignore[assignment]
    return None


@contextmanager
def _time_limit() -> Iterator[None]:
    """Raise TimeoutError when the time is over, where the system has such a clock."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, _SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
