"""What the engine is built from: handed in by the wiring, never imported."""

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from lamina.fork_gate import no_fork
from lamina.profiles import Profile
from lamina.protocols.models import (
    Embedder,
    EpisodeExtractor,
    Extractor,
    Lexicon,
    Prompt,
    StatementReader,
    Summariser,
    TokenCounter,
)
from lamina.protocols.store import Store
from lamina.values.message import Limits
from lamina.values.report import FoldDone

T = TypeVar("T")

Settling = Callable[..., Awaitable[object]]  # works until nothing is due; see `Worker.settle`
SettlingSessions = Callable[..., Awaitable[list[str]]]  # see `Worker.settle_sessions`
Progress = Callable[[int, int], None]  # how far long work is: done, of how many (0: that is not known)


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long to wait for models and other workers."""

    lease_seconds: float = 60.0
    model_seconds: float = 900.0  # for a fold or a reading with all corrections: three answers of a slow local model
    attempts: int = 3  # with the configured model, before the offline one writes
    backoff_seconds: float = 2.0  # doubles with each failure
    poll_seconds: float = 5.0
    aside_after: int = 8  # failures in a row: then the session is left alone until something new comes


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Store, models and rules of one memory."""

    store: Store
    counter: TokenCounter
    summariser: Summariser
    offline: Summariser  # writes when the configured summariser cannot
    extractor: Extractor | None
    episode_extractor: EpisodeExtractor | None
    embedder: Embedder | None  # None: words answer alone
    lexicon: Lexicon
    static: Embedder | None  # searches until all has vectors of a newly chosen embedder, if there are static ones
    prompts: Mapping[str, Prompt]
    profile: Profile
    now: Callable[[], datetime]
    new_id: Callable[[str], str]  # prefix -> sortable unique id
    random_bytes: Callable[[int], bytes]
    owner: str  # names this worker in leases
    alive: Callable[[str], bool]  # whether the worker of that name may still be at work
    limits: Limits = field(default_factory=Limits)
    patience: Patience = field(default_factory=Patience)
    slots: int = 1  # sessions that its worker may have in work at once
    turns: AbstractAsyncContextManager[object] = field(default_factory=nullcontext)  # each piece of work takes one
    offline_extractor: Extractor | None = None  # reads when the configured extractor cannot
    offline_episode_extractor: EpisodeExtractor | None = None
    statement_reader: StatementReader | None = None  # reads what is told of the user by hand
    interim: Embedder | None = None  # gives vectors first, which answer until the embedder's are there
    cache_bytes: int = 256 * 2**20  # for what is kept at hand to search
    on_fold: Callable[[FoldDone], None] | None = None  # is told of each fold that was made here


def on_loop() -> bool:
    """Whether an event loop runs in this thread, which long work would block."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


async def load_beside_loop(*models: object) -> None:
    """Have models that are not `loaded` yet read their tables in another thread, if an event loop is to be kept free.

    Elsewhere, and those that do not say whether they are loaded, read them when they are first used.
    """
    waiting = [model for model in models if not getattr(model, "loaded", True)]
    if waiting and on_loop():
        for model in waiting:
            await beside_loop(model.load)  # type: ignore[attr-defined]  # has `loaded`


async def beside_loop(work: Callable[[], T]) -> T:
    """Long work in another thread if an event loop is to be kept free, else right here."""
    if not on_loop():
        return work()

    def run() -> T:
        with no_fork():  # it may import modules, and hold their locks
            return work()

    try:
        started = asyncio.get_running_loop().run_in_executor(None, contextvars.copy_context().run, run)
    except RuntimeError:  # the program is about to end: no thread can be started any more
        return work()
    return await started
