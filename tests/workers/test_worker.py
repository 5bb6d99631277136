"""The worker: leases, compare-and-set, models that fail, and callers who never notice."""

import asyncio
import logging
import random
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from lamina import PROFILES, AsyncMemory, LaminaError, Memory, ModelError, NotFound
from lamina.folding.fold import NO_WORDS
from lamina.parts import Patience
from lamina.testing import FakeClock, FakeSummariser, WordCounter
from lamina.testing.samples import at
from tests.ship_talk import PROFILE, talk, turn
from tests.waiting import CEILING

pytestmark = pytest.mark.anyio

TURN = 2  # messages


async def begun(summariser):
    assert await asyncio.to_thread(summariser.started.wait, CEILING)


# leases


async def test_a_second_worker_leaves_a_leased_session_alone(opened):
    """It waits; when the first is done there is nothing left to do, and the model was asked once."""
    slow, idle = FakeSummariser("is slow"), FakeSummariser()
    first, second = await opened(slow), await opened(idle)
    await talk(first)
    working = asyncio.create_task(first.settle())
    await begun(slow)
    waiting = asyncio.create_task(second.settle())
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.shield(waiting), 0.1)
    slow.let_go()
    assert ((await working).folds, (await waiting).folds) == (1, 0)
    assert (len(slow.tasks), len(idle.tasks)) == (1, 0)


async def test_two_workers_ask_once_for_a_session_at_a_time(opened):
    """However many sessions and workers there are."""
    model = FakeSummariser("answers")
    workers = [await opened(model) for _ in range(3)]
    for number in range(4):
        await talk(workers[0], turns=12, session_id=f"s{number}")
    done = await asyncio.gather(*(worker.settle() for worker in workers))
    assert model.most_at_once == 1
    folds = sum(settled.folds for settled in done)
    assert folds == len(model.tasks) == 4 * len(await workers[0].summaries("s0"))


async def test_settle_tells_how_many_sessions_are_done_and_of_how_many(opened):
    """From the start on; where only one is pending, it tells the folds, of which the total is not known."""
    memory = await opened(FakeSummariser())
    for number in range(4):
        await talk(memory, session_id=f"s{number}")
    told = []
    await memory.settle(progress=lambda *far: told.append(far))
    assert told[0] == (0, 4)
    assert told[-1] == (4, 4)
    assert told == sorted(told)
    await talk(memory, session_id="another")
    told.clear()
    await memory.settle(progress=lambda *far: told.append(far))
    assert told == [(1, 0)]


async def test_the_lease_of_a_dead_process_is_revoked_at_once(opened, store):
    """Its owner's name says where it ran; there is no waiting for the lease to run out."""
    memory = await opened(FakeSummariser())
    await talk(memory)
    dead = f"{socket.gethostname()}/999999999/abcd"
    assert await store.claim(dead, at(0), at(100_000)) is not None
    assert (await memory.settle(timeout=CEILING)).folds == 1
    assert await store.leases() == []


async def test_the_lease_of_another_machine_is_respected(opened, store, clock):
    """Nobody here can know whether its owner lives, until the lease runs out."""
    memory = await opened(FakeSummariser())
    await talk(memory)
    assert await store.claim("elsewhere/1/abcd", clock(), clock() + (at(1) - at(0))) is not None
    with pytest.raises(TimeoutError):
        await memory.settle(timeout=0.1)
    clock.advance(seconds=61)
    assert (await memory.settle(timeout=CEILING)).folds == 1


async def test_a_fold_that_comes_late_is_discarded(opened, clock, caplog):
    """A worker that outlived its lease loses by compare-and-set; the memory is that of the winner."""
    caplog.set_level(logging.INFO)
    slow, quick = FakeSummariser("is slow", "answers", name="slow"), FakeSummariser(name="quick")
    first, second = await opened(slow), await opened(quick)
    await talk(first)
    working = asyncio.create_task(first.settle())
    await begun(slow)
    clock.advance(seconds=61)
    assert (await second.settle()).folds == 1
    slow.let_go()
    assert (await working).folds == 0
    assert "fold_overtaken" in caplog.messages
    assert [s.recipe.model for s in await first.summaries("s1", live=False)] == ["quick"]
    assert (await first.verify()).ok


async def test_a_lease_is_given_back_when_work_is_broken_off(opened, store):
    """By a time-out or by closing; the fold is still due, for anyone, at once."""
    hanging = FakeSummariser("hangs")
    memory = await opened(hanging)
    await talk(memory)
    with pytest.raises(TimeoutError):
        await memory.settle(timeout=0.1)
    assert (await store.leases(), await store.pending()) == ([], 1)
    background = await opened(FakeSummariser("hangs"), worker=True)
    await begun(background._parts.summariser)
    assert len(await store.leases()) == 1
    await background.close()
    assert (await store.leases(), await store.pending()) == ([], 1)


# models that fail


async def test_a_failing_model_is_tried_again_and_then_replaced(opened, caplog):
    """After three failures the offline summariser writes, and the recipe says why."""
    model = FakeSummariser("fails")
    memory = await opened(model)
    await talk(memory)
    assert (await memory.settle()).failed == ()
    (summary,) = await memory.summaries("s1")
    assert len(model.tasks) == 3
    assert summary.recipe.model == "offline-1"
    assert summary.recipe.fallback == "fake: the model is down"
    assert summary.recipe.attempts == 3
    assert [record.attempt for record in caplog.records if record.message == "fold_failed"] == [1, 2]
    assert (await memory.session("s1")).attempts == 0


async def test_a_model_that_recovers_is_used(opened):
    """The failures before are in the recipe, and forgotten afterwards."""
    memory = await opened(FakeSummariser("fails", "answers"))
    await talk(memory)
    await memory.settle()
    (summary,) = await memory.summaries("s1")
    assert (summary.recipe.model, summary.recipe.fallback, summary.recipe.attempts) == ("fake", None, 2)


async def test_failures_back_off(opened, clock):
    """The background worker waits 2 s, then 4 s; what is due stays due meanwhile."""
    model = FakeSummariser("fails")
    memory = await opened(model)
    await talk(memory)
    asked = []
    for seconds in (0, 1.9, 0.2, 3.8, 0.3):
        clock.advance(seconds=seconds)
        await memory._worker._round()
        asked.append(len(model.tasks))
    assert asked == [1, 1, 2, 2, 3]
    assert len(await memory.summaries("s1")) == 1


@pytest.mark.parametrize(
    ("mood", "reason"),
    [
        pytest.param("refuses", "refusal or a greeting", id="refusal"),
        pytest.param("greets", "refusal or a greeting", id="greeting"),
        pytest.param("says nothing", "it is empty", id="empty"),
        pytest.param("makes things up", "shares too little", id="ungrounded"),
        pytest.param("hangs", "no answer within 0.05 s", id="hanging"),
        pytest.param("breaks", "ZeroDivisionError", id="exception"),
    ],
)
async def test_a_useless_answer_is_refused(opened, mood, reason):
    """It never becomes memory; in the end the offline summariser writes, and the recipe names the reason."""
    model = FakeSummariser(mood)
    memory = await opened(model, patience=Patience(model_seconds=0.05 if mood == "hangs" else CEILING))
    await talk(memory)
    assert (await memory.settle()).failed == ()
    (summary,) = await memory.summaries("s1")
    assert summary.recipe.fallback is not None
    assert reason in summary.recipe.fallback
    assert "tea" in summary.text
    assert len(model.tasks) == 3


async def test_an_answer_that_is_too_long_is_compressed_then_cut(opened):
    """The model gets one chance to shorten it; within the cap it is in any case."""
    model = FakeSummariser("talks too long")
    memory = await opened(model)
    await talk(memory)
    await memory.settle()
    (summary,) = await memory.summaries("s1")
    assert [task.kind for task in model.tasks] == ["chunk", "compress"]
    assert 0 < summary.tokens <= PROFILE.cap
    assert summary.recipe.fallback is None


async def test_a_long_answer_may_be_shortened_by_its_model(opened):
    """Then its shorter one is taken whole."""
    model = FakeSummariser("talks too long", "answers")
    memory = await opened(model)
    await talk(memory)
    await memory.settle()
    (summary,) = await memory.summaries("s1")
    assert summary.tokens == PROFILE.cap // 2


async def test_what_nobody_can_shorten_is_cut(opened):
    """An answer that stays too long ends where the room does."""
    model = FakeSummariser("talks too long")
    memory = await opened(model)
    memory._worker._compactor._parts = replace(memory._parts, offline=FakeSummariser("talks too long"))
    await talk(memory)
    await memory.settle()
    (summary,) = await memory.summaries("s1")
    assert [task.kind for task in model.tasks] == ["chunk", "compress"]
    assert 0 < summary.tokens <= PROFILE.cap
    assert summary.recipe.fallback is None


class DearCounter(WordCounter):
    """Of any text more than there is room for."""

    def count(self, text):
        return super().count(text) + PROFILE.cap if text else 0


async def test_where_nothing_fits_the_summary_says_so(opened):
    """Not even the beginning of a word: the messages are covered, and can still be read."""
    memory = await opened(FakeSummariser(), counter=DearCounter())
    await talk(memory)
    assert (await memory.settle()).failed == ()
    (summary,) = await memory.summaries("s1")
    assert f"does not fit {PROFILE.cap} tokens" in summary.recipe.fallback
    assert summary.text == NO_WORDS


class BrokenExtractor:
    name = "broken"

    async def extract(self, messages):
        raise ZeroDivisionError("a bug in a plug-in")


async def test_a_broken_extractor_costs_facts_and_no_summaries(opened, caplog):
    """It is tried as often as a model; then the offline one reads, and the log and the facts say so."""
    memory = await opened(extractor=BrokenExtractor(), profile=PROFILE.but(facts=True))
    await talk(memory)
    await memory.add("My name is Ann.", user_id="ann", session_id="s1")
    assert (await memory.settle()).failed == ()
    assert caplog.messages == ["fold_failed", "fold_failed", "facts_fallback"]
    assert "ZeroDivisionError" in caplog.records[-1].reason
    assert len(await memory.summaries("s1")) == 1
    (fact,) = await memory.facts("ann", categories=["identity"])
    assert (fact.value, fact.model) == ("Ann", "offline-2")


class HangingExtractor:
    name = "hanging"

    async def extract(self, messages):
        await asyncio.Event().wait()


async def test_an_extractor_that_hangs_is_given_up(opened, caplog):
    """After the time that models have; then the offline one reads."""
    patience = Patience(model_seconds=0.01, attempts=1)
    memory = await opened(extractor=HangingExtractor(), profile=PROFILE.but(facts=True), patience=patience)
    await memory.add("My name is Ann.", user_id="ann", session_id="s1")
    assert (await memory.settle()).failed == ()
    assert caplog.messages == ["facts_fallback"]
    assert caplog.records[0].reason == "hanging: no answer within 0.01 s; if the model is slow, raise model_seconds"
    assert [fact.value for fact in await memory.facts("ann")] == ["Ann"]


async def test_without_an_offline_extractor_messages_are_passed_over(opened, caplog):
    """A model that never works holds up nobody, even where nothing can take its place."""
    memory = await opened(extractor=BrokenExtractor(), profile=PROFILE.but(facts=True))
    memory._worker.reader._parts = replace(memory._parts, offline_extractor=BrokenExtractor())
    await talk(memory)
    assert (await memory.settle()).failed == ()
    assert caplog.messages == ["fold_failed", "fold_failed", "facts_fallback", "facts_skipped"]
    assert len(await memory.summaries("s1")) == 1


class Penniless:
    name = "penniless"

    async def extract(self, messages):
        raise ModelError("the budget is spent", lasting=True)

    async def summarise(self, task):
        raise ModelError("the budget is spent", lasting=True)


async def test_what_lasts_is_not_waited_for(opened, caplog):
    """A model that says that asking again will not help is replaced at once."""
    memory = await opened(Penniless(), extractor=Penniless(), profile=PROFILE.but(facts=True))
    await talk(memory)
    assert (await memory.settle()).failed == ()
    assert caplog.messages == ["facts_fallback", "summary_fallback"]
    (summary,) = await memory.summaries("s1")
    assert summary.recipe.fallback == "penniless: the budget is spent"
    assert summary.recipe.attempts == 1


class FickleCounter(WordCounter):
    broken = False

    def count(self, text):
        if self.broken:
            raise ZeroDivisionError("a bug in a plug-in")
        return super().count(text)


async def test_an_unforeseen_error_fails_its_session_and_leaves_it_due(opened, caplog):
    """The error is in the log with its trace; the worker lives on, and mended code finishes the fold."""
    counter = FickleCounter()
    memory = await opened(FakeSummariser(), counter=counter)
    await talk(memory)
    counter.broken = True
    assert (await memory.settle()).failed == ("s1",)
    (record,) = caplog.records
    assert (record.message, record.levelname) == ("fold_failed", "WARNING")
    assert record.exc_info is not None
    assert (await memory.session("s1")).counters.cursor == 0
    counter.broken = False
    assert (await memory.settle()).folds == 1


async def test_a_session_that_failed_very_often_waits_an_hour(opened, store, clock):
    """However often that was."""
    memory = await opened(FakeSummariser("fails"), patience=Patience(attempts=10_000, aside_after=10_000))
    await talk(memory)
    for _ in range(1_100):
        await store.release(await store.claim("w", clock(), clock(), impatient=True), failed="broken", retry_at=clock())
    clock.advance(seconds=1)
    await memory._worker._round()
    assert (await memory.session("s1")).attempts == 1_101
    clock.advance(seconds=3_599)
    assert await store.claim("w", clock(), clock()) is None
    clock.advance(seconds=2)
    assert await store.claim("w", clock(), clock()) is not None


# callers


class Heard(logging.Handler):
    """Says when a message was logged."""

    def __init__(self, message):
        super().__init__()
        self.event = threading.Event()
        self._message = message

    def emit(self, record):
        if record.getMessage() == self._message:
            self.event.set()


@pytest.fixture
def heard():
    handler = Heard("fold_failed")
    logger = logging.getLogger("lamina.fold")
    logger.addHandler(handler)
    yield handler.event
    logger.removeHandler(handler)


@pytest.mark.parametrize("mood", ["fails", "breaks", "refuses"])
def test_failures_are_logged_and_never_visible_to_the_caller(tmp_path, heard, mood):
    """Appends, contexts and closing work as ever beside a model that is down."""
    with Memory(
        tmp_path / "lamina.db", profile=PROFILE, counter=WordCounter(), summariser=FakeSummariser(mood)
    ) as memory:
        for number in range(6):
            memory.add(turn(number), user_id="ann", session_id="s1")
        assert heard.wait(CEILING)
        memory.add(turn(6), user_id="ann", session_id="s1")
        assert "day 6" in memory.context("and now?", user_id="ann", session_id="s1").text
        assert memory.session("s1").counters.messages == 7 * TURN


@pytest.mark.parametrize("location", ["lamina.db", ":memory:"])
def test_nobody_waits_for_a_model_that_hangs(tmp_path, location):
    """`add` and `context` return while a summary is being written; so does `close`."""
    hanging = FakeSummariser("hangs")
    place = tmp_path / location if location != ":memory:" else location
    with Memory(place, profile=PROFILE, counter=WordCounter(), summariser=hanging) as memory:
        for number in range(4):
            memory.add(turn(number), user_id="ann", session_id="s1")
        assert hanging.started.wait(CEILING)
        for number in range(4, 30):
            memory.add(turn(number), user_id="ann", session_id="s1")
            assert f"day {number}" in memory.context("and now?", user_id="ann", session_id="s1").text
        assert memory.summaries("s1") == []
        assert len(hanging.tasks) == 1
    if location != ":memory:":
        with Memory(place, profile=PROFILE, counter=WordCounter(), worker=False) as memory:
            assert memory.settle(timeout=CEILING).folds > 0


def test_a_call_in_another_thread_ends_when_the_memory_is_closed(tmp_path):
    """It is told so; what it waited for stays due."""
    hanging = FakeSummariser("hangs")
    with ThreadPoolExecutor() as pool:
        with Memory(
            tmp_path / "a.db", profile=PROFILE, counter=WordCounter(), summariser=hanging, worker=False
        ) as memory:
            for number in range(4):
                memory.add(turn(number), user_id="ann", session_id="s1")
            waiting = [pool.submit(memory.settle), pool.submit(memory.settle)]
            assert hanging.started.wait(CEILING)
        for one in waiting:
            with pytest.raises(LaminaError, match="closed"):
                one.result(CEILING)
        with pytest.raises(LaminaError, match="closed"):
            memory.settle()


# the same log, the same layers


async def layers(profile, moments, turns):
    """Every summary ever made of a conversation, folded at these moments and at the end."""
    async with AsyncMemory(":memory:", profile=profile, counter=WordCounter(), worker=False, now=FakeClock()) as memory:
        for number, messages in enumerate(turns):
            await memory.add(messages, user_id="ann", session_id="s1")
            if number in moments:
                await memory.settle()
        await memory.settle()
        kept = await memory.summaries("s1", live=False)
        facts = [(fact.message_id, fact.quote) for fact in await memory.facts("ann")]
        return [(s.kind, s.layer, s.version, s.covers, s.reads, s.text, s.topics, s.status) for s in kept], facts


def conversation(seed, turns):
    """A long talk about many things, with tool calls and some questions that never got a reply."""
    chance = random.Random(seed)
    things = ["tea", "ships", "Lisbon", "the budget", "Eva", "databases", "the garden", "walnuts", "trains", "maps"]
    for number in range(turns):
        one, other = chance.sample(things, 2)
        stamp = {"created_at": at(number).isoformat()}
        padding = " ".join(chance.choices(things, k=chance.randint(10, 80)))
        said = (
            f"On day {number} I prefer {one} over {other}, for {chance.randint(2, 900)} euros. We spoke of {padding}."
        )
        messages: list[dict[str, Any]] = [{"role": "user", "content": said, "id": f"m{number}", **stamp}]
        if chance.random() < 0.2:
            call = {"id": f"c{number}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
            messages += [
                {"role": "assistant", "content": None, "tool_calls": [call], "id": f"c{number}", **stamp},
                {
                    "role": "tool",
                    "content": f"{one} is at {number}",
                    "tool_call_id": f"c{number}",
                    "id": f"t{number}",
                    **stamp,
                },
            ]
        if chance.random() < 0.9:
            messages.append({"role": "assistant", "content": f"{one} it is.", "id": f"r{number}", **stamp})
        yield messages


@pytest.mark.parametrize("name", sorted(PROFILES))
async def test_a_late_worker_writes_what_an_eager_one_wrote(name):
    """To the byte: whether it folds after each message, now and then, or only at the end."""
    turns = list(conversation(name, 150))
    chance = random.Random(name)
    late = await layers(PROFILES[name], set(), turns)
    assert late[0]
    assert await layers(PROFILES[name], set(range(len(turns))), turns) == late
    assert await layers(PROFILES[name], set(chance.sample(range(len(turns)), 9)), turns) == late


async def test_one_session_can_be_waited_for(opened):
    """Its facts are there; another one's folds and digests are left to whoever settles everything."""
    memory = await opened(profile="default")
    await memory.add("I live in Porto.", user_id="ana", session_id="s1")
    assert (await memory.settle(CEILING, session_id="s1")).facts == 1
    assert [fact.value for fact in await memory.facts("ana")] == ["Porto"]
    assert (await memory.settle(CEILING, session_id="s1")).facts == 0
    with pytest.raises(NotFound):
        await memory.settle(CEILING, session_id="none")


class Mute:
    """An extractor that finds no words."""

    name = "mute"

    async def extract(self, *_: Any) -> Any:
        raise ModelError("no words")


async def test_a_session_that_cannot_be_read_is_not_waited_for(opened):
    memory = await opened(profile="default", extractor=Mute())
    await memory.add("I live in Porto.", user_id="ana", session_id="s1")
    assert (await memory.settle(CEILING, session_id="s1")).failed == ("s1",)
