"""`Memory`: the verbs of `AsyncMemory`, blocking.

The background worker lives on a private event loop. A verb that does nothing but ask an embedded store is driven in the
caller's own thread, which saves two changes of thread; every other verb is handed to the loop.
"""

import asyncio
import functools
import os
import threading
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError
from types import FunctionType, TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, cast

from lamina.coroutines import NEVER_WAITS
from lamina.documents.documents import Documents as AsyncDocuments
from lamina.errors import FORKED, PICKLED, LaminaError
from lamina.memory import AsyncMemory
from lamina.parts import on_loop
from lamina.profiles import Profile

P = ParamSpec("P")
T = TypeVar("T")
_CLOSED = "this memory is closed; open it again with Memory(path)"


class _Loop:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._lock = threading.Lock()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="lamina", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        with self._lock:
            if self._stopped:
                work.close()
                raise LaminaError(_CLOSED)
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except CancelledError:
            raise LaminaError("this memory was closed before the call had ended; its work stays due") from None

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self) -> None:
        """Run until `stop`. The calls that other threads then wait for are cancelled."""
        self._loop.run_forever()
        self._loop.run_until_complete(asyncio.sleep(0))  # starts what was handed over last
        while tasks := asyncio.all_tasks(self._loop):
            for task in tasks:
                task.cancel()
            self._loop.run_until_complete(asyncio.wait(tasks))
        self._loop.close()


def _blocking(
    verb: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]], *, here: bool = False
) -> Callable[Concatenate[Any, P], T]:
    """An awaited verb as a blocking one of the same signature; `here` for one that waits for nothing but the store."""
    named = _rename(verb)

    @functools.wraps(named)
    def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        work = named(self._memory, *args, **kwargs)
        loop = self._loop_for(work, here=here)
        if loop is not None:
            return cast("T", loop.run(work))
        try:
            work.send(None)  # in this frame: every call of a verb passes here
        except StopIteration as stop:
            return cast("T", stop.value)
        work.close()
        raise RuntimeError(NEVER_WAITS)

    return call


def _rename(verb: Callable[P, T]) -> Callable[P, T]:
    """A verb under the name of the blocking class, which Python gives when an argument is wrong."""
    assert isinstance(verb, FunctionType)
    named = FunctionType(verb.__code__, verb.__globals__, verb.__name__, verb.__defaults__, verb.__closure__)
    named.__dict__.update(verb.__dict__)
    named.__doc__, named.__module__ = verb.__doc__, verb.__module__
    named.__annotations__, named.__kwdefaults__ = verb.__annotations__, verb.__kwdefaults__
    named.__qualname__ = verb.__qualname__.removeprefix("Async")
    return named


def _arguments_of(
    awaited: Callable[Concatenate[Any, P], None],
) -> Callable[[Callable[..., None]], Callable[Concatenate[Any, P], None]]:
    """Give a constructor the arguments of another."""

    def give(init: Callable[..., None]) -> Callable[Concatenate[Any, P], None]:
        return functools.update_wrapper(init, awaited)

    return give


class Documents:
    """Documents under names, blocking."""

    def __init__(self, documents: AsyncDocuments, loop_for: Callable[..., "_Loop | None"]) -> None:
        self._memory = documents
        self._loop_for = loop_for

    put = _blocking(AsyncDocuments.put, here=True)
    get = _blocking(AsyncDocuments.get, here=True)
    under = _blocking(AsyncDocuments.under, here=True)
    nearest = _blocking(AsyncDocuments.nearest, here=True)
    folders = _blocking(AsyncDocuments.folders, here=True)
    renew = _blocking(AsyncDocuments.renew, here=True)
    drop = _blocking(AsyncDocuments.drop)
    move = _blocking(AsyncDocuments.move)
    sweep = _blocking(AsyncDocuments.sweep)


class Memory:
    """Layered memory for conversations, blocking.

    >>> with Memory("chat.db") as memory:
    ...     memory.add("I'm Alex. I prefer Python.", user_id="alex")
    ...     memory.context("which language do I like?", user_id="alex").text
    """

    @_arguments_of(AsyncMemory.__init__)
    def __init__(self, *args: Any, **options: Any) -> None:
        self._memory = AsyncMemory(*args, **options)
        self._loop: _Loop | None = _Loop()
        self._process = os.getpid()
        try:
            self._loop.run(self._memory.open())
        except BaseException:
            self._loop.stop()
            raise
        self._end = weakref.finalize(self, _close, self._loop, self._memory, self._process)

    def __repr__(self) -> str:
        return repr(self._memory).removeprefix("Async")

    def __reduce__(self) -> str:
        raise LaminaError(PICKLED)

    @property
    def profile(self) -> Profile:
        return self._memory.profile

    @property
    def documents(self) -> Documents:
        """Documents under names, each put in the place of what was there."""
        return Documents(self._memory.documents, self._loop_for)

    def _loop_for(self, work: Coroutine[Any, Any, Any], *, here: bool) -> _Loop | None:
        """The loop that is to run a verb; None: it is run in the caller's thread."""
        if self._loop is None:
            work.close()
            raise LaminaError(_CLOSED)
        if os.getpid() != self._process:
            work.close()
            raise LaminaError(FORKED.format("this memory"))
        return None if here and self._memory.inline and not on_loop() else self._loop

    resolve_user = _blocking(AsyncMemory.resolve_user, here=True)
    add = _blocking(AsyncMemory.add, here=True)
    context = _blocking(AsyncMemory.context, here=True)
    search = _blocking(AsyncMemory.search, here=True)
    search_explained = _blocking(AsyncMemory.search_explained, here=True)
    session = _blocking(AsyncMemory.session, here=True)
    sessions = _blocking(AsyncMemory.sessions, here=True)
    users = _blocking(AsyncMemory.users, here=True)
    conversation = _blocking(AsyncMemory.conversation, here=True)
    brief = _blocking(AsyncMemory.brief, here=True)
    messages = _blocking(AsyncMemory.messages, here=True)
    message = _blocking(AsyncMemory.message, here=True)
    end = _blocking(AsyncMemory.end, here=True)
    pause = _blocking(AsyncMemory.pause, here=True)
    resume = _blocking(AsyncMemory.resume, here=True)
    archive = _blocking(AsyncMemory.archive, here=True)
    rename = _blocking(AsyncMemory.rename, here=True)
    milestone = _blocking(AsyncMemory.milestone, here=True)
    summaries = _blocking(AsyncMemory.summaries, here=True)
    outline = _blocking(AsyncMemory.outline, here=True)
    zoom = _blocking(AsyncMemory.zoom, here=True)
    digest = _blocking(AsyncMemory.digest, here=True)
    facts = _blocking(AsyncMemory.facts, here=True)
    fact = _blocking(AsyncMemory.fact, here=True)
    history = _blocking(AsyncMemory.history, here=True)
    why = _blocking(AsyncMemory.why, here=True)
    user_profile = _blocking(AsyncMemory.user_profile, here=True)
    remember = _blocking(AsyncMemory.remember, here=True)
    remember_all = _blocking(AsyncMemory.remember_all, here=True)
    is_statement = _blocking(AsyncMemory.is_statement, here=True)
    update = _blocking(AsyncMemory.update, here=True)
    promote = _blocking(AsyncMemory.promote, here=True)
    demote = _blocking(AsyncMemory.demote, here=True)
    retract = _blocking(AsyncMemory.retract, here=True)
    link = _blocking(AsyncMemory.link, here=True)
    graph = _blocking(AsyncMemory.graph, here=True)
    episodes = _blocking(AsyncMemory.episodes, here=True)
    add_episode = _blocking(AsyncMemory.add_episode, here=True)
    arc = _blocking(AsyncMemory.arc, here=True)
    consolidate = _blocking(AsyncMemory.consolidate)
    fading = _blocking(AsyncMemory.fading, here=True)
    consistency = _blocking(AsyncMemory.consistency, here=True)
    regenerate = _blocking(AsyncMemory.regenerate)
    proposals = _blocking(AsyncMemory.proposals, here=True)
    accept = _blocking(AsyncMemory.accept, here=True)
    roll_back = _blocking(AsyncMemory.roll_back, here=True)
    forget = _blocking(AsyncMemory.forget)
    opt_out = _blocking(AsyncMemory.opt_out)
    opt_in = _blocking(AsyncMemory.opt_in)
    opt_outs = _blocking(AsyncMemory.opt_outs, here=True)
    receipts = _blocking(AsyncMemory.receipts, here=True)
    settle = _blocking(AsyncMemory.settle)
    costs = _blocking(AsyncMemory.costs, here=True)
    stats = _blocking(AsyncMemory.stats, here=True)
    backlog = _blocking(AsyncMemory.backlog, here=True)
    workers = _blocking(AsyncMemory.workers, here=True)
    retry = _blocking(AsyncMemory.retry, here=True)
    verify = _blocking(AsyncMemory.verify)
    repair = _blocking(AsyncMemory.repair)
    export = _blocking(AsyncMemory.export)
    import_ = _blocking(AsyncMemory.import_)
    backup = _blocking(AsyncMemory.backup)
    copy_to = _blocking(AsyncMemory.copy_to)

    def close(self) -> None:
        """Stop the worker and close the file; what is due stays due. Closing twice is fine.

        In a forked process it only lets go: worker and file are the other process's.
        """
        if self._loop is not None:
            self._loop = None
            self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _close(loop: _Loop, memory: AsyncMemory, process: int) -> None:
    if os.getpid() == process:
        loop.run(memory.close())
        loop.stop()
