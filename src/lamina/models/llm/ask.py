"""Ask a model until its answer is valid: an invalid one is sent back once with the problem, then it is asked afresh."""

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import replace
from typing import Any, Generic, TypeVar

from lamina.errors import ModelError
from lamina.folding.layouts import enclose, fill
from lamina.models.llm.endpoint import Endpoint
from lamina.models.llm.openai_api import Ask, Reply, Schema
from lamina.models.llm.prompts import prompts
from lamina.values.cost import Purpose

T = TypeVar("T")
_MAX_SHOWN = 8_000  # characters of an invalid answer that are sent back


class InvalidAnswer(Exception, Generic[T]):
    """An invalid answer; `enough` is what can be made of it if a correction is no better.

    `hint` helps the model to correct it. It may have words of the conversation, so it is in no error and no log.
    """

    def __init__(self, problem: str, enough: T | None = None, *, hint: str = "") -> None:
        super().__init__(problem)
        self.enough = enough
        self.hint = hint


async def ask_until_valid(endpoint: Endpoint, ask: Ask, check: Callable[[Reply], T]) -> T:
    """What `check` makes of an answer; raises ModelError if it refuses three in a row."""
    problem = ""
    request = ask
    for attempt in range(3):
        reply = await endpoint.answer(request)
        try:
            return check(reply)
        except InvalidAnswer as invalid:
            problem = str(invalid)
            if attempt and invalid.enough is not None:
                enough: T = invalid.enough
                return enough
            request = ask if attempt else _correction(ask, reply, invalid)
    raise ModelError(f"{endpoint.model} gave no fit answer: {problem}")


def _correction(ask: Ask, reply: Reply, invalid: InvalidAnswer[Any]) -> Ask:
    """The question, followed by the invalid answer and its problem."""
    answer = reply.text[:_MAX_SHOWN] or "(nothing)"
    repair = fill(prompts()["repair"].text, {"PROBLEM": str(invalid)}) + invalid.hint
    return replace(ask, messages=(*ask.messages, ("assistant", answer), ("user", repair)))


async def ask_for_list(
    endpoint: Endpoint,
    purpose: Purpose,
    schema: Schema,
    room: int,
    lines: Iterable[Any],
    check: Callable[[Reply], T],
    **values: str,
) -> T:
    """Ask about messages, one JSON object a line, with the prompt and schema of a purpose."""
    data = enclose("\n".join(json.dumps(line, ensure_ascii=False) for line in lines))
    prompt = render_prompt(purpose, DATA=data, **values)
    ask = Ask(
        purpose=purpose, messages=(("system", render_prompt("guard")), ("user", prompt)), room=room, schema=schema
    )
    return await ask_until_valid(endpoint, ask, check)


def render_prompt(name: str, **values: str) -> str:
    """A prompt file with its placeholders filled."""
    return fill(prompts()[name].text, values)


async def gather(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """All results in order; the first failure ends the rest."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one) for one in work]
    except BaseExceptionGroup as errors:  # `except*` puts what is raised into a group again, before Python 3.11.4
        failed, others = errors.split(ModelError)
        if failed is None or others is not None:
            raise
        raise failed.exceptions[0] from None
    return [task.result() for task in tasks]
