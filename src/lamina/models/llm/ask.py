"""Answers that are fit for use: checked, sent back once with what was wrong, asked for afresh, then given up."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import replace
from typing import Any, Generic, TypeVar

from lamina.errors import ModelError
from lamina.folding.layouts import fill
from lamina.models.llm.answers import Reply
from lamina.models.llm.endpoint import Endpoint
from lamina.models.llm.prompts import prompts
from lamina.models.llm.questions import Ask

T = TypeVar("T")
_SHOWN = 8_000  # characters of an unfit answer that are sent back


class Unfit(Exception, Generic[T]):
    """An answer that will not do; `enough` is what can be made of it if a correction brings nothing better."""

    def __init__(self, problem: str, enough: T | None = None) -> None:
        super().__init__(problem)
        self.enough = enough


async def fit(endpoint: Endpoint, ask: Ask, check: Callable[[Reply], T]) -> T:
    """What `check` makes of an answer; raises ModelError if it refuses three in a row."""
    problem = ""
    asked = ask
    for attempt in range(3):
        reply = await endpoint.answer(asked)
        try:
            return check(reply)
        except Unfit as unfit:
            problem = str(unfit)
            if attempt and unfit.enough is not None:
                enough: T = unfit.enough
                return enough
        asked = ask if attempt else _corrected(ask, reply, problem)
    raise ModelError(f"{endpoint.model} gave no fit answer: {problem}")


def _corrected(ask: Ask, reply: Reply, problem: str) -> Ask:
    """The question with the unfit answer and what was wrong with it behind."""
    said = reply.text[:_SHOWN] or "(nothing)"
    repair = fill(prompts()["repair"].text, {"PROBLEM": problem})
    return replace(ask, messages=(*ask.messages, ("assistant", said), ("user", repair)))


def system(name: str, **values: str) -> str:
    """A prompt file for the system's part, filled."""
    return fill(prompts()[name].text, values)


async def together(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """All results in order; the first failure ends the rest."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one) for one in work]
    except* ModelError as errors:
        raise errors.exceptions[0] from None
    return [task.result() for task in tasks]
