"""What a run will come to in tokens, before anything is asked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lamina import Price
from lamina.bench.gold import UNKNOWN
from lamina.bench.qa.models import judging_prompt, reading_prompt
from lamina.bench.qa.prepare import asked_at
from lamina.bench.qa.ways import HISTORY, LAMINA, MEM0, NONE, line
from lamina.bench.readers import Conversation, DataSet
from lamina.bench.scoring import align
from lamina.protocols.models import TokenCounter

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The most that may be asked."""

    ways: Sequence[str]
    budget: int
    window: int
    answer_tokens: int
    seeds: int
    checks: int
    prices: Mapping[str, Price | None]  # by role


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Calls and tokens of one role for one way of one set; at most, but for answers that are asked for again."""

    name: str
    role: str
    way: str
    calls: int
    tokens_in: int
    tokens_out: int
    cost: float


def estimate(data: DataSet, bounds: Bounds, counter: TokenCounter) -> list[Estimate]:
    """The calls of the reader for each way, then those of the judge."""
    found = []
    questions = data.questions()
    asked = questions * bounds.seeds
    plain = sum(_plain_tokens(one, counter) for one in data.conversations) * bounds.seeds
    for way in bounds.ways:
        given = plain + sum(_material_tokens(one, way, bounds, counter) for one in data.conversations) * bounds.seeds
        found.append(_row(data.name, "reader", way, (asked, given, asked * bounds.answer_tokens), bounds))
    judged = sum(_judging_tokens(one, bounds.answer_tokens, counter) for one in data.conversations)
    checks = 2 * min(bounds.checks, questions)
    calls = asked * len(bounds.ways) + checks
    tokens = judged * bounds.seeds * len(bounds.ways) + checks * judged // max(1, questions)
    found.append(_row(data.name, "judge", "all", (calls, tokens, calls * bounds.answer_tokens), bounds))
    return found


def _row(name: str, role: str, way: str, sums: tuple[int, int, int], bounds: Bounds) -> Estimate:
    calls, given, written = sums
    price = bounds.prices.get(role) or Price(input=0.0)
    cost = (given * price.input + written * price.output) / _MILLION
    return Estimate(name=name, role=role, way=way, calls=calls, tokens_in=given, tokens_out=written, cost=cost)


def _plain_tokens(conversation: Conversation, counter: TokenCounter) -> int:
    """Tokens of the questions with their prompt."""
    texts = [reading_prompt(one.text, "x", asked_at(conversation, one)) for one in conversation.questions]
    return sum(counter.count_many(texts))


def _material_tokens(conversation: Conversation, way: str, bounds: Bounds, counter: TokenCounter) -> int:
    """Tokens of what the reader is given for all questions of a conversation, at most."""
    if way == NONE:
        return 0
    if way in {LAMINA, MEM0}:  # they have more than messages
        return bounds.budget * len(conversation.questions)
    messages = [message for session in conversation.sessions for message in session.messages]
    sizes = [size + 1 for size in counter.count_many([line(message) for message in messages])]
    most = bounds.window if way == HISTORY else bounds.budget
    return sum(min(most, sum(sizes[: question.after])) for question in conversation.questions)


def _judging_tokens(conversation: Conversation, answer_tokens: int, counter: TokenCounter) -> int:
    texts = [judging_prompt(one.text, one.answer, UNKNOWN) for one in conversation.questions if one.answer]
    return sum(counter.count_many(texts)) + answer_tokens * len(texts)


def text(rows: Sequence[Estimate], ways: Sequence[str]) -> str:
    """The estimate for a terminal."""
    head = ["set", "model", "way", "calls", "tokens in", "tokens out", "cost"]
    cells = [
        [one.name, one.role, one.way, f"{one.calls:,}", f"{one.tokens_in:,}", f"{one.tokens_out:,}", f"{one.cost:,.2f}"]
        for one in rows
    ]
    total = ["all", "", "", *(f"{sum(values):,}" for values in _sums(rows)), f"{sum(one.cost for one in rows):,.2f}"]
    lines = [align([head, *cells, total]), "at most; a call that fails is tried again and counts again"]
    if MEM0 in ways:
        lines.append("mem0 asks the reader's model itself, at least once for each session: that is not in the table")
    return "\n".join(lines)


def _sums(rows: Sequence[Estimate]) -> list[list[int]]:
    return [[one.calls for one in rows], [one.tokens_in for one in rows], [one.tokens_out for one in rows]]
