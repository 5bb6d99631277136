"""Calls to models: how long to wait for an answer, and what the offline model does after too many failures."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from lamina.errors import ModelError

T = TypeVar("T")


class Named(Protocol):
    """A model; its name is stored with what it made."""

    name: str


Model = TypeVar("Model", bound=Named)


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """What a model answered; None if the offline one failed too."""

    value: T | None
    model: str
    failure: str | None = None
    """Why the configured model did not answer."""


async def call(answer: Awaitable[T], seconds: float | None) -> T:
    """The answer of a model. ModelError if it takes longer, or whatever it raises; None waits without a clock."""
    try:
        async with nullcontext() if seconds is None else asyncio.timeout(seconds):
            return await answer
    except TimeoutError as error:
        raise ModelError(f"no answer within {seconds or 0:g} s; if the model is slow, raise model_seconds") from error
    except ModelError:
        raise
    except Exception as error:
        # a plug-in may raise anything; the work stays due, and the error must not reach a caller
        raise ModelError(f"{type(error).__name__}: {error}") from error


async def call_with_fallback(
    model: Model, offline: Model | None, ask: Callable[[Model], Awaitable[T]], *, retry: bool
) -> Answer[T]:
    """The answer of a model; else that of the offline one. Raises ModelError if the model is to be tried again.

    It is tried again with `retry`, unless its error is lasting or it is the offline model itself.
    """
    try:
        return Answer(await ask(model), model.name)
    except ModelError as error:
        failure = f"{model.name}: {error}"
        if retry and not error.lasting and model is not offline:
            raise ModelError(failure) from error
    if offline is None or offline is model:
        return Answer(None, model.name, failure)
    try:
        return Answer(await ask(offline), offline.name, failure)
    except ModelError as error:
        return Answer(None, offline.name, f"{failure}; {offline.name}: {error}")
