"""The models that answer and that judge: how they are reached, what they are asked, what their calls come to."""

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, cast
from urllib.parse import urlsplit

from lamina import LedgerEntry, Llm, Price
from lamina.bench.gold import Gold
from lamina.bench.journal import append
from lamina.errors import InputError, ModelError
from lamina.folding.layouts import enclose
from lamina.models.llm.ask import InvalidAnswer, ask_until_valid, render_prompt
from lamina.models.llm.endpoint import Endpoint, Refused
from lamina.models.llm.llm_options import OPENAI
from lamina.models.llm.openai_api import BOOLEAN, INTEGER, TEXT, Ask, Reply, Schema, find_json, list_schema
from lamina.models.llm.prompts import prompts
from lamina.values.cost import Purpose

Role = Literal["reader", "judge"]
JUDGE_PROMPTS = ("judge", "judge_unknown", "judge_rubric")
_PROMPT_OF = {"answer": "judge", "unknown": "judge_unknown", "rubric": "judge_rubric"}
_VERDICT = Schema(
    name="verdict",
    form={
        "type": "object",
        "properties": {"reason": TEXT, "correct": BOOLEAN},
        "required": ["reason", "correct"],
        "additionalProperties": False,
    },
)
_POINTS = list_schema("points", {"number": INTEGER, "met": BOOLEAN})
_JUDGE_ROOM = 200  # tokens of a verdict
_POINT_ROOM = 20  # and of each point of a rubric
_NOTHING = "(nothing is known)"
_TRUTH = {"true": True, "yes": True, "false": False, "no": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """A model and how it may be used."""

    role: Role
    model: str
    url: str
    key: str | None
    temperature: float | None = 0.0
    thinking_tokens: int = 0
    concurrency: int = 4
    seconds: float = 600.0
    retries: int = 3
    price: Price | None = None

    @classmethod
    def of(cls, role: Role, model: str, url: str | None, environ: Mapping[str, str], **more: Any) -> "ModelChoice":
        """The address and key that options and the environment name; a key goes to no server that it is not for."""
        base = environ.get("OPENAI_BASE_URL") or OPENAI
        chosen = url or base
        own = environ.get(f"{role.upper()}_API_KEY")
        shared = environ.get("OPENAI_API_KEY") if _host(chosen) in {_host(base), _host(OPENAI)} else None
        return cls(role=role, model=model, url=chosen, key=own or shared, **more)

    def endpoint(self, ledger: "CallLog") -> Endpoint:
        """How the model is asked; raises InputError where its key is missing."""
        if self.key is None and _host(self.url) == _host(OPENAI):
            raise InputError(
                f"there is no key for the {self.role} at {self.url}; set OPENAI_API_KEY or "
                f"{self.role.upper()}_API_KEY, or name another server with --{self.role}-url"
            )
        if self.retries < 0:
            raise InputError(f"retries must be at least 0, not {self.retries}")
        llm = Llm(
            base_url=self.url,
            model=self.model,
            api_key=self.key or "none",
            temperature=self.temperature,
            thinking_tokens=self.thinking_tokens,
            concurrency=self.concurrency,
            total_seconds=self.seconds,
            retries=self.retries,
            prices={} if self.price is None else {"*": self.price},
            ledger=ledger,
        )
        return Endpoint(llm)

    def shown(self) -> str:
        return f"{self.model} at {Llm(base_url=self.url).hidden(self.url)}"


def _host(url: str) -> str | None:
    return urlsplit(url).hostname


class CallLog:
    """Every call of a model, a row each, so that a resumed run knows what all of it came to."""

    def __init__(self, path: Path, role: Role) -> None:
        self._path, self._role = path, role

    async def add(self, entry: LedgerEntry) -> None:
        row = {"role": self._role, **asdict(entry), "at": entry.at.isoformat()}
        await asyncio.to_thread(append, self._path, [json.dumps(row)])

    async def cost_since(self, tenant: str, since: datetime) -> float:  # noqa: ARG002 - there is no budget to keep
        """Nothing: a run has no budget by the day."""
        return 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What the reader answered."""

    text: str
    is_cut: bool
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the judge made of an answer: from 0 to 1."""

    score: float
    reason: str
    seconds: float = 0.0


class Reader:
    """Answers questions from what it is given."""

    def __init__(self, endpoint: Endpoint, room: int) -> None:
        self.endpoint, self._room = endpoint, room

    async def answer(self, question: str, material: str, asked_at: datetime, seed: int) -> Reading:
        prompt = reading_prompt(question, material, asked_at)
        ask = Ask(purpose=_purpose("answer"), messages=(("user", prompt),), room=self._room, seed=seed)
        started = time.perf_counter()
        reply = await self.endpoint.answer(ask)
        return Reading(text=reply.text.strip(), is_cut=reply.cut, seconds=time.perf_counter() - started)


class Judge:
    """Grades answers; the prompt depends on the form of the right one."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint

    async def grade(self, question: str, gold: Gold, answer: str) -> Verdict:
        if not answer:
            return Verdict(score=0.0, reason="the answer is empty")
        numbers = len(gold.points)
        points = gold.form == "rubric"
        ask = Ask(
            purpose=_purpose("judgement"),
            messages=(("user", judging_prompt(question, gold, answer)),),
            room=_JUDGE_ROOM + _POINT_ROOM * numbers,
            schema=_POINTS if points else _VERDICT,
        )
        started = time.perf_counter()
        read = (lambda reply: _points_met(reply, numbers)) if points else _verdict
        score, reason = await ask_until_valid(self.endpoint, ask, read)
        return Verdict(score=score, reason=reason, seconds=time.perf_counter() - started)


def reading_prompt(question: str, material: str, asked_at: datetime) -> str:
    """What the reader is asked."""
    known = enclose(material) if material else _NOTHING
    return render_prompt("read", DATE=f"{asked_at:%A, %d %B %Y}", CONTEXT=known, QUESTION=question)


def judging_prompt(question: str, gold: Gold, answer: str) -> str:
    """What the judge is asked."""
    points = "\n".join(f"{number}. {point}" for number, point in enumerate(gold.points, 1))
    return render_prompt(
        _PROMPT_OF[gold.form],
        QUESTION=enclose(question),
        GOLD=enclose(gold.text),
        TRAP=enclose(gold.trap or "(anything that answers it)"),
        POINTS=enclose(points),
        ANSWER=enclose(answer),
    )


def prompt_texts() -> dict[str, str]:
    """The prompts of a run by name and version, so that they can be kept with its numbers."""
    return {prompts()[name].label: prompts()[name].text for name in ("read", *JUDGE_PROMPTS)}


def _purpose(name: str) -> Purpose:
    return cast("Purpose", name)  # of the bench alone: it is in no store


def _verdict(reply: Reply) -> tuple[float, str]:
    found = find_json(reply.text)
    correct = _truth(found.get("correct")) if isinstance(found, dict) else None
    if correct is None:
        raise InvalidAnswer[Any]('it is no JSON object with "correct": true or false')
    return float(correct), str(found.get("reason") or "")


def _points_met(reply: Reply, numbers: int) -> tuple[float, str]:
    found = find_json(reply.text)
    listed = found.get("points") if isinstance(found, dict) else found
    met = {}
    for one in listed if isinstance(listed, list) else ():
        decided = _truth(one.get("met")) if isinstance(one, dict) else None
        if decided is not None and isinstance(one.get("number"), int):
            met[one["number"]] = decided
    if missing := [number for number in range(1, numbers + 1) if number not in met]:
        raise InvalidAnswer[Any](f'it has no "met": true or false for point {missing[0]}')
    kept = [number for number in range(1, numbers + 1) if met[number]]
    return len(kept) / numbers, f"points met: {', '.join(map(str, kept)) or 'none'} of {numbers}"


def _truth(value: Any) -> bool | None:
    return value if isinstance(value, bool) else _TRUTH.get(str(value).strip().lower())


async def check_answers(choice: ModelChoice, endpoint: Endpoint) -> None:
    """Ask the model one word; raises InputError that says what is wrong with its address, its key or its name."""
    ask = Ask(purpose=_purpose("check"), messages=(("user", "Answer with the word: ready"),), room=16)
    try:
        await endpoint.answer(ask)
    except ModelError as error:
        status = error.status if isinstance(error, Refused) else None
        raise InputError(
            f"the {choice.role}, {choice.shown()}, does not answer: {error}; {_advice(choice, status)}"
        ) from (None)


def _advice(choice: ModelChoice, status: int | None) -> str:
    if status in {401, 403}:
        return f"set its key in {choice.role.upper()}_API_KEY"
    if status == 404:  # noqa: PLR2004 - as HTTP has it
        return f"check the model's name and that --{choice.role}-url ends as the server wants it, mostly in /v1"
    return f"--{choice.role}-url and --{choice.role} say where and what it is"
