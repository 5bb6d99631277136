"""The invariants of DESIGN 1 that issue 2 promises, as properties over random logs, profiles and crashes."""

import asyncio
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina import PROFILES, AsyncMemory, BudgetTooSmall, Profile
from lamina.models.token_counters import ExactCounter
from lamina.protocols.models import SummaryDraft, SummaryTask
from lamina.values.codec import encode
from lamina.values.fact import FACT_STATUSES
from lamina.values.manifest import Context, Omission, Piece
from lamina.values.message import Message, Span
from tests.invariants.strategies import (
    SESSION,
    START,
    USER,
    CheapCounter,
    Crash,
    Log,
    World,
    logs,
    profiles,
    put,
    scripted,
)
from tests.sizes import examples, share
from tests.waiting import CEILING

EXACT = ExactCounter()
QUERIES = (None, "What is the plan for the harbour lighthouse?", "tea?")


def seqs(spans: Iterable[Span | None]) -> list[int]:
    return [seq for span in spans if span is not None for seq in range(span.first, span.last + 1)]


async def context(engine: AsyncMemory, query: str | None = None, **options: Any) -> Context:
    return await engine.context(query, user_id=USER, session_id=SESSION, **options)


async def roomy(engine: AsyncMemory, query: str | None = None) -> Context:
    return await context(engine, query, budget=1_000_000)


def pieces(log: Log, cuts: Sequence[int]) -> list[Log]:
    """The log in parts, cut at some of its places."""
    edges = sorted({0, len(log), *(cut % (len(log) + 1) for cut in cuts)})
    return [log[first:last] for first, last in pairwise(edges)]


class Flaky:
    """A summariser that fails in every way a model can, in an order that is given."""

    name = "flaky"

    def __init__(self, moods: Sequence[str]) -> None:
        self._moods = list(moods)

    async def summarise(self, task: SummaryTask) -> SummaryDraft:
        mood = self._moods.pop(0) if self._moods else "echo"
        if mood == "raise":
            raise RuntimeError("the provider is down")
        if mood == "timeout":
            raise TimeoutError
        words = " ".join(message.text for message in task.messages) or " ".join((task.previous or "", *task.summaries))
        told = {"echo": words[:200], "empty": "", "refusal": "I'm sorry, I can't do that.", "long": words * 50}[mood]
        return SummaryDraft(text=told, topics=("one", "One", "two"))


MOVES = ("settle", "end", "end and settle", "pause", "resume", "crash before", "crash after", "nothing")
MOODS = st.lists(st.sampled_from(["echo", "raise", "timeout", "empty", "refusal", "long"]), max_size=12)


# 1. Coverage


async def assert_covered(engine: AsyncMemory, count: int) -> None:
    """Live summaries partition 1..cursor; the manifest's lists partition 1..count."""
    session = await engine.session(SESSION)
    live = await engine.summaries(SESSION)
    assert seqs(summary.covers for summary in live) == list(range(1, session.counters.cursor + 1))
    for found in (await roomy(engine), await roomy(engine, QUERIES[1])):
        places = found.manifest.coverage
        held = [places.verbatim, places.summarised, places.left_out, places.blind]
        assert sorted(seq for spans in held for seq in seqs(spans)) == list(range(1, count + 1))
        if engine.profile.close_gaps:
            assert not places.blind


@examples(70)
@given(
    profile=profiles(),
    log=logs(),
    cuts=st.lists(st.integers(0, 200), max_size=6),
    moves=st.lists(st.sampled_from(MOVES)),
    step=st.integers(0, 40),
    moods=MOODS,
)
def test_every_message_is_covered_exactly_once(
    profile: Profile, log: Log, cuts: Sequence[int], moves: list[str], step: int, moods: list[str]
) -> None:
    """Invariant 1: after any adds, ends, settles, failures and crashes, every message has exactly one place."""

    async def scenario() -> None:
        world = World(profile, summariser=Flaky(moods))
        count = 0
        for number, piece in enumerate(pieces(log, cuts)):
            engine = world.engine()
            await put(engine, piece)
            count += len(piece)
            move = moves[number % len(moves)] if moves else "settle"
            if move in {"end", "end and settle"}:
                await engine.end(SESSION)
            if move in {"settle", "end and settle"}:
                await engine.settle()
            if move in {"pause", "resume"}:
                await getattr(engine, move)(SESSION)
            if move.startswith("crash"):
                with suppress(Crash):
                    await world.engine(crash_after=step, effect=move == "crash after").settle()
            await assert_covered(world.engine(), count)
        engine = world.engine()
        assert not (await engine.settle()).failed
        await assert_covered(engine, count)
        await engine.end(SESSION)
        await engine.settle()
        await assert_covered(engine, count)
        assert (await engine.session(SESSION)).counters.unfolded == 0
        report = await engine.verify()
        assert report.ok, report.problems

    asyncio.run(scenario())


# 2. Budget


def recounted(found: Context) -> int:
    """What the chat messages cost, counted here and not by the engine: words, names, calls, and their form."""
    total = 3
    for message in found.messages:
        total += 3 + EXACT.count(message["role"]) + _content(message.get("content"))
        total += EXACT.count(message["name"]) + 1 if message.get("name") else 0
        for call in message.get("tool_calls") or ():
            total += EXACT.count(call["function"]["name"]) + EXACT.count(call["function"]["arguments"])
    return total


def _content(content: Any) -> int:
    if content is None or isinstance(content, str):
        return EXACT.count(content or "")
    return sum(EXACT.count(part["text"]) if "text" in part else 765 for part in content)


@examples(60)
@given(
    profile=profiles(),
    log=logs(most=20),
    budget=st.one_of(st.integers(1, 300), st.integers(300, 4_000)),
    query=st.sampled_from([*QUERIES, "", "x" * 500]),
    system=st.sampled_from([None, "You are terse."]),
    sources=st.lists(st.sampled_from(["A source.", "Another source of some length. " * 5]), max_size=2),
)
def test_a_context_never_exceeds_its_budget(
    profile: Profile, log: Log, budget: int, query: str | None, system: str | None, sources: list[str]
) -> None:
    """Invariant 2: text and chat form fit; what is left out is listed; the smallest budget is told, and is smallest."""

    async def scenario() -> None:
        engine = World(profile, counter=EXACT).engine()
        await put(engine, log)
        await engine.settle()
        ask = {"system": system, "sources": sources}
        smallest = await refused(engine, query, budget, ask)
        if smallest is not None:
            assert smallest > budget
            assert await refused(engine, query, smallest - 1, ask) == smallest
            assert (await context(engine, query, budget=smallest, **ask)).tokens <= smallest
            return
        found = await context(engine, query, budget=budget, **ask)
        assert found.tokens <= budget
        assert EXACT.count(found.text) <= found.tokens
        assert recounted(found) <= found.tokens
        assert found.budget.used + found.budget.available == budget
        await assert_listed(engine, found, query, ask)

    asyncio.run(scenario())


def _awkward_logs() -> list[Any]:
    """Logs in which a result's call lies behind the window or before the newest turn."""
    words = {"type": "text", "text": "I prefer tea to coffee."}
    picture = [words, {"type": "image_url", "image_url": {"url": "data:,"}}]

    def calls(*names: str) -> dict[str, Any]:
        made = [{"id": name, "type": "function", "function": {"name": "look", "arguments": "{}"}} for name in names]
        return {"role": "assistant", "content": None, "tool_calls": made}

    def answers(name: str) -> dict[str, Any]:
        return {"role": "tool", "tool_call_id": name, "content": "tea"}

    shown, asked = {"role": "system", "content": picture}, {"role": "user", "content": picture}
    pair = [calls("a"), shown, answers("a")]
    reused = [shown, *pair, answers("a"), asked, answers("a"), *pair, shown, *pair, answers("a"), shown]
    across = [shown, *pair, shown, *pair, shown, calls("a", "b", "c"), asked, *map(answers, "abca")]
    return [pytest.param(reused, id="id-used-again"), pytest.param(across, id="call-before-the-newest-turn")]


@pytest.mark.parametrize("log", _awkward_logs())
@pytest.mark.parametrize("name", sorted(PROFILES))
def test_the_smallest_budget_does_not_depend_on_how_much_was_read(name: str, log: Log) -> None:
    """Invariant 2: the smallest budget is the same from whichever smaller budget one asks, and it works."""

    async def scenario() -> None:
        engine = World(PROFILES[name], counter=EXACT).engine()
        await put(engine, log)
        smallest = await refused(engine, None, 1, {})
        assert smallest is not None
        for budget in (2, smallest // 8, smallest // 2, smallest - 1):
            assert await refused(engine, None, budget, {}) == smallest
        assert (await context(engine, None, budget=smallest)).tokens <= smallest

    asyncio.run(scenario())


async def refused(engine: AsyncMemory, query: str | None, budget: int, ask: dict[str, Any]) -> int | None:
    """What the error says is the smallest budget, if there is an error."""
    try:
        await context(engine, query, budget=budget, **ask)
    except BudgetTooSmall as error:
        return error.smallest
    return None


async def assert_listed(engine: AsyncMemory, found: Context, query: str | None, ask: dict[str, Any]) -> None:
    """Whatever a larger budget holds and this one does not is listed as left out; so is all of the window."""
    whole = await context(engine, query, budget=1_000_000, **ask)
    listed: list[Piece | Omission] = [*found.manifest.items, *found.manifest.omitted]
    known = {item.id for item in listed}
    assert {item.id for item in whole.manifest.items if item.section in {"summaries", "facts", "digest"}} <= known
    if any(item.reason == "over budget, not read" for item in listed):
        return
    messages, window = await engine.messages(SESSION), engine.profile.window
    newest = messages[-window.size :]
    if window.unit == "turns":
        newest = [message for message in messages if message.turn > messages[-1].turn - window.size]
    told = set(seqs(item.span for item in listed if item.section == "recent"))
    assert {message.seq for message in newest} <= told


# 5. Nothing lost


@examples(50)
@given(
    profile=profiles(),
    log=logs(),
    cuts=st.lists(st.integers(0, 200), max_size=4),
    steps=st.lists(st.tuples(st.integers(0, 30), st.booleans()), min_size=1, max_size=8),
)
def test_a_crash_between_any_two_steps_loses_nothing(
    profile: Profile, log: Log, cuts: Sequence[int], steps: list[tuple[int, bool]]
) -> None:
    """Invariant 5: killed at any verb of the store, the log is as acknowledged, and folding ends as if never killed."""
    log = [message | {"id": f"m{index}"} for index, message in enumerate(log)]

    async def crashed() -> tuple[Any, ...]:
        world = World(profile)
        crashes = iter(steps * 10)
        for piece in pieces(log, cuts):
            with suppress(Crash):
                await put(world.engine(crash_after=next(crashes, (0, False))[0] % 2, effect=True), piece)
            await put(world.engine(), piece)  # not acknowledged: given again, with the same ids
            before = {summary.id: summary for summary in await world.engine().summaries(SESSION, live=False)}
            after, effect = next(crashes, (0, False))
            with suppress(Crash):
                await world.engine(crash_after=after, effect=effect).settle()
            kept = {summary.id: summary for summary in await world.engine().summaries(SESSION, live=False)}
            assert all(kept[key].text == summary.text for key, summary in before.items())
            assert (await world.engine().verify()).ok
        engine = world.engine()
        assert [message.id for message in await engine.messages(SESSION)] == [message["id"] for message in log]
        await engine.settle()
        return await picture(engine)

    async def undisturbed() -> tuple[Any, ...]:
        engine = World(profile).engine()
        await put(engine, log)
        await engine.settle()
        return await picture(engine)

    assert asyncio.run(crashed()) == asyncio.run(undisturbed())


class Fatal:
    """A summariser in whose n-th call the process dies."""

    name = "fatal"

    def __init__(self, calls: int) -> None:
        self._left = calls

    async def summarise(self, task: SummaryTask) -> SummaryDraft:
        self._left -= 1
        if self._left < 0:
            raise Crash
        return SummaryDraft(text=" ".join(message.text for message in task.messages)[:300] or "nothing said")


@examples(12)
@given(name=st.sampled_from(sorted(PROFILES)), seed=st.integers(0, 999), calls=st.integers(0, 4))
def test_an_abandoned_memory_is_taken_up_again(name: str, seed: int, calls: int) -> None:
    """Invariant 5: a memory that is never closed, dead in a fold, is opened again: all is there, the fold is made."""
    log = scripted(seed, 45)

    async def scenario(path: Path) -> None:
        abandoned = AsyncMemory(
            path, profile=name, worker=False, summariser=Fatal(calls), now=lambda: START, counter=CheapCounter()
        )
        await abandoned.open()
        await abandoned.add(log, user_id=USER, session_id=SESSION)
        with suppress(Crash):
            await abandoned.settle()
        reached = (await abandoned.session(SESSION)).counters.cursor
        later = START + timedelta(minutes=5)  # the lease of the dead has run out
        async with AsyncMemory(path, worker=False, now=lambda: later, counter=CheapCounter()) as memory:
            stored = [message.to_openai() for message in await memory.messages(SESSION)]
            assert stored == [{key: value for key, value in one.items() if key != "created_at"} for one in log]
            assert (await memory.session(SESSION)).counters.cursor == reached
            assert (await memory.verify()).ok
            await memory.settle()
            assert (await memory.settle()).folds == 0
            await assert_covered(memory, len(log))
            assert (await memory.verify()).ok
        await abandoned.close()

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(scenario(Path(folder) / "chat.db"))


# 8. Tool safety


def pairs(messages: Sequence[Message], *, doubled: bool = True) -> list[tuple[Message, Message]]:
    """Each call with its results, where both are in one turn; an id that is used again means the newest call.

    Without `doubled`, with the first of them: another that comes later may find the call folded already.
    """
    made: dict[str, Message] = {}
    found = []
    for message in messages:
        made |= dict.fromkeys(message.calls, message)
        call = made.get(message.answers or "")
        if call is not None and call.turn == message.turn:
            found.append((call, message))
        if not doubled:
            made.pop(message.answers or "", None)
    return found


def assert_valid_chat(messages: Sequence[dict[str, Any]]) -> None:
    """What chat APIs ask: results right behind the message that calls, each call answered once, nothing else."""
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] in waiting
            waiting.remove(message["tool_call_id"])
            continue
        assert not waiting, "a call without its result"
        waiting = [call["id"] for call in message.get("tool_calls") or ()]
        assert len(set(waiting)) == len(waiting)
    assert not waiting


@examples(80)
@given(
    profile=profiles(),
    log=logs(),
    cuts=st.lists(st.integers(0, 200), max_size=4),
    budgets=st.lists(st.integers(20, 1_500), min_size=1, max_size=4),
)
def test_a_tool_call_and_its_results_stay_together(
    profile: Profile, log: Log, cuts: Sequence[int], budgets: Sequence[int]
) -> None:
    """Invariant 8: no fold, window or trim comes between a call and its result; every chat rendering is valid."""

    async def scenario() -> None:
        engine = World(profile).engine()
        for piece in pieces(log, cuts):
            await put(engine, piece)
            await engine.settle()
            messages = await engine.messages(SESSION)
            for query in QUERIES:
                for budget in (*budgets, 1_000_000):
                    with suppress(BudgetTooSmall):
                        found = await context(engine, query, budget=budget)
                        assert_valid_chat(found.messages)
                        shown = set(seqs(item.span for item in found.manifest.items if item.section == "recent"))
                        for call, result in pairs(messages):
                            assert (call.seq in shown) == (result.seq in shown)
        for summary in await engine.summaries(SESSION, live=False):
            if summary.covers is None:
                continue
            last = summary.covers.last
            for call, result in pairs(messages, doubled=False):
                assert (call.seq <= last) == (result.seq <= last)

    asyncio.run(scenario())


# 9. Determinism


async def picture(engine: AsyncMemory) -> tuple[Any, ...]:
    """Everything derived from a session, without ids and clocks: summaries, facts, contexts, rankings."""
    summaries = [
        (
            s.kind,
            s.layer,
            s.version,
            s.status,
            s.covers,
            s.turns,
            s.reads,
            s.text,
            s.topics,
            s.tokens,
            s.updated_at,
            s.due,
        )
        for s in await engine.summaries(SESSION, live=False)
    ]
    facts = [
        (f.category, f.key, f.value, f.quote, f.start, f.end, f.confidence, f.importance, f.status, f.version, f.holds,
         f.learnt_at, f.valid_from, f.valid_until)
        for f in await engine.facts(USER, statuses=FACT_STATUSES)
    ]  # fmt: skip
    episodes = [
        (e.kind, e.title, e.summary, e.context, e.turns, e.significance, e.valence, e.outcome)
        for e in await engine.episodes(USER)
    ]
    contexts: list[Any] = []
    for query in QUERIES:
        for budget in (150, 600, 100_000):
            try:
                found = await context(engine, query, budget=budget)
            except BudgetTooSmall as error:
                contexts.append(error.smallest)
            else:
                contexts.append((found.text, json.dumps(found.messages), found.tokens, found.manifest.coverage))
    hits = [(hit.kind, hit.span, hit.text, hit.score) for hit in await engine.search("tea Porto plan", user_id=USER)]
    return sorted(summaries, key=repr), facts, sorted(episodes, key=repr), contexts, hits


@examples(40)
@given(profile=profiles(), log=logs(most=18), cuts=st.lists(st.integers(0, 200), min_size=1, max_size=6))
def test_the_same_log_gives_the_same_memory_however_late_the_worker(
    profile: Profile, log: Log, cuts: Sequence[int]
) -> None:
    """Invariant 9: settled after each message, at some points, or once at the end: byte-identical."""

    async def told(parts: Sequence[Log]) -> tuple[Any, ...]:
        engine = World(profile).engine()
        for part in parts:
            await put(engine, part)
            await engine.settle()
        return await picture(engine)

    once, often, always = (
        asyncio.run(told(parts)) for parts in ([log], pieces(log, cuts), [[message] for message in log])
    )
    assert once == often
    assert once == always


_CHILD = """
from tests.invariants.test_properties import fingerprint
print(fingerprint())
"""


def fingerprint() -> str:
    """A digest of everything that is derived from some logs under each profile."""

    async def all_pictures() -> list[Any]:
        found = []
        for name in sorted(PROFILES):
            for seed in range(share(3)):
                engine = World(PROFILES[name]).engine()
                await put(engine, scripted(seed, 60))
                await engine.settle()
                found.append(await picture(engine))
        return found

    return hashlib.sha256(repr(encode(asyncio.run(all_pictures()))).encode()).hexdigest()


def test_two_processes_with_other_hash_seeds_agree() -> None:
    """Invariant 9: nothing depends on the order of sets or on the process."""
    children = [
        subprocess.Popen(
            [sys.executable, "-c", _CHILD],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=Path(__file__).parents[2],
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in ("0", "4242")
    ]
    one, other = (child.communicate(timeout=CEILING)[0].strip() for child in children)
    assert len(one) == 64
    assert one == other
