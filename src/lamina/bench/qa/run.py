"""A run from files to a report: what `lamina bench qa` does."""

import asyncio
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from lamina import Memory, __version__
from lamina.bench.gold import Gold
from lamina.bench.qa import estimate, official
from lamina.bench.qa.journal import Answered, Checked, QaJournal
from lamina.bench.qa.judge_check import Probe, probes
from lamina.bench.qa.mem0_way import check_installed
from lamina.bench.qa.models import (
    CallLog,
    Judge,
    ModelChoice,
    Reader,
    Role,
    check_answers,
    prompt_texts,
    reading_prompt,
)
from lamina.bench.qa.prepare import Prepared, asked_at, history_texts, prepare
from lamina.bench.qa.report import QaReport, calls_report, judge_report, notes_of, way_reports
from lamina.bench.qa.ways import HISTORY, MEM0, Setting, check_ways
from lamina.bench.readers import Conversation, DataSet, Question, read_all
from lamina.bench.recall_run import Plan
from lamina.errors import InputError, LaminaError, ModelError

Tell = Callable[[int, int], None]  # answers finished, of how many
_MAX_FAILURES = 10  # in a row, after which a run ends
_UNJUDGED = "judge: the run ended before it was asked"
_WAITING = 2  # answers begun for each that a model may work at


@dataclass(frozen=True, slots=True, kw_only=True)
class QaPlan:
    """What is asked, of which models, and beside which baselines."""

    reader: ModelChoice
    judge: ModelChoice
    plan: Plan
    baselines: tuple[str, ...] = ("history", "rag", "none")
    budget: int = 2000
    window: int = 128_000
    answer_tokens: int = 300
    seeds: int = 1
    check_judge: int = 50
    limit: int | None = None
    seed: int = 0
    resume: bool = False

    @property
    def ways(self) -> tuple[str, ...]:
        return check_ways(self.baselines)

    def settings(self, data: DataSet) -> dict[str, Any]:
        """What must be the same for a run to be resumed."""
        return {
            "lamina": __version__,
            "format": data.format,
            "questions": data.questions(),
            "reader": self.reader.shown(),
            "judge": self.judge.shown(),
            "temperature": self.reader.temperature,
            "ways": list(self.ways),
            "budget": self.budget,
            "window": self.window,
            "answer_tokens": self.answer_tokens,
            "seeds": self.seeds,
            "profile": self.plan.profile,
            "embedder": self.plan.embedder,
            "check_judge": self.check_judge,
            "limit": self.limit,
            "seed": self.seed,
            "prompts": sorted(prompt_texts()),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A data set with what is asked of it, and how many questions say not what is right."""

    data: DataSet
    without_answer: int


def load(files: Sequence[str], plan: QaPlan) -> list[Loaded]:
    """The questions with answers in each of the files; raises InputError if a file has none, or the plan is wrong."""
    _check(plan)
    loaded = []
    for name in files:
        everything = read_all(name)
        data = everything.with_answers()
        if not data.conversations:
            raise InputError(
                f"{everything.name} has no question with an answer; each needs one in `answer` (or `a`),"
                " `adversarial_answer` or `rubric`"
            )
        missing = everything.questions() - data.questions()
        loaded.append(Loaded(data=data.sample(plan.limit, plan.seed), without_answer=missing))
    names = [one.data.name for one in loaded]
    if len(set(names)) < len(names):
        raise InputError(f"two files have one name, and results are kept by name: {', '.join(sorted(names))}")
    return loaded


def _check(plan: QaPlan) -> None:
    for name, least in (("budget", 1), ("window", 1), ("answer_tokens", 1), ("seeds", 1), ("check_judge", 0)):
        if getattr(plan, name) < least:
            raise InputError(f"{name} must be at least {least}, not {getattr(plan, name)}")
    if plan.limit is not None and plan.limit < 1:
        raise InputError(f"limit must be at least 1, not {plan.limit}")
    if MEM0 in plan.ways:
        check_installed()
    Memory(":memory:", worker=False, **plan.plan.options()).close()  # says now what is wrong with the options


def estimates(loaded: Sequence[Loaded], plan: QaPlan) -> list[estimate.Estimate]:
    """What the run will come to at most."""
    counter = replace(plan.reader, key="none").endpoint(CallLog(Path(), "reader")).counter
    bounds = estimate.Bounds(
        ways=plan.ways,
        budget=plan.budget,
        window=plan.window,
        answer_tokens=plan.answer_tokens,
        seeds=plan.seeds,
        checks=plan.check_judge,
        prices={"reader": plan.reader.price, "judge": plan.judge.price},
    )
    return [row for one in loaded for row in estimate.estimate(one.data, bounds, counter)]


def run(loaded: Sequence[Loaded], folder: Path, plan: QaPlan, tell: Tell) -> tuple[QaReport, ...]:
    """Every answer of every set, judged; raises InputError or ModelError where the models cannot be asked."""
    return asyncio.run(_run(loaded, folder, plan, tell))


async def _run(loaded: Sequence[Loaded], folder: Path, plan: QaPlan, tell: Tell) -> tuple[QaReport, ...]:
    total = sum(one.data.questions() for one in loaded) * len(plan.ways) * plan.seeds
    reports: list[QaReport] = []
    finished = 0

    def tell_all(done: int) -> None:
        tell(finished + done, total)

    for one in loaded:
        work = _SetRun(one, folder / one.data.name, plan, tell_all)
        try:
            await work.check_models(is_first=not reports)
            reports.append(await work.run())
        finally:
            await work.close()
        finished += one.data.questions() * len(plan.ways) * plan.seeds
    return tuple(reports)


class _SetRun:
    """The run of one data set."""

    def __init__(self, loaded: Loaded, folder: Path, plan: QaPlan, tell: Callable[[int], None]) -> None:
        self._loaded, self._data, self._folder, self._plan, self._tell = loaded, loaded.data, folder, plan, tell
        self._journal = QaJournal(folder)
        self._reader = Reader(plan.reader.endpoint(CallLog(self._journal.calls, "reader")), plan.answer_tokens)
        self._judge = Judge(plan.judge.endpoint(CallLog(self._journal.calls, "judge")))
        self._failures: dict[Role, list[str]] = {"reader": [], "judge": []}  # in a row
        self._done = 0
        self._setting = Setting(
            plan=plan.plan,
            budget=plan.budget,
            window=plan.window - plan.answer_tokens - _prompt_tokens(self._data, self._reader),
            counter=self._reader.endpoint.counter,
            mem0_llm={
                "model": plan.reader.model,
                "api_key": plan.reader.key or "none",
                "openai_base_url": plan.reader.url,
                "temperature": 0.0,
            },
        )
        if self._setting.window < 1:
            raise InputError(f"a window of {plan.window} tokens has no room for a question, its prompt and its answer")

    async def check_models(self, *, is_first: bool) -> None:
        """Begin the journal, and say at once what is wrong with a model."""
        self._journal.begin(self._plan.settings(self._data), prompt_texts(), resume=self._plan.resume)
        if is_first:
            await check_answers(self._plan.reader, self._reader.endpoint)
            await check_answers(self._plan.judge, self._judge.endpoint)

    async def close(self) -> None:
        await self._reader.endpoint.close()
        await self._judge.endpoint.close()

    async def run(self) -> QaReport:
        self._done = sum(one.error is None for one in self._journal.answers.values())
        self._tell(self._done)
        slots = asyncio.Semaphore(_WAITING * max(self._plan.reader.concurrency, self._plan.judge.concurrency))
        try:
            async with asyncio.TaskGroup() as group:
                for conversation in self._data.conversations:
                    for question, prepared, seed in await self._jobs(conversation):
                        await slots.acquire()
                        task = group.create_task(self._answer(conversation, question, prepared, seed))
                        task.add_done_callback(lambda _: slots.release())
                for probe in self._probes():
                    await slots.acquire()
                    task = group.create_task(self._try_judge(probe))
                    task.add_done_callback(lambda _: slots.release())
        except BaseExceptionGroup as errors:
            raise _first(errors) from None
        return self._report()

    # answers

    async def _jobs(self, conversation: Conversation) -> list[tuple[Question, Prepared, int]]:
        """The answers that a conversation still needs, each with what the reader is given."""
        open_ones = [
            (question, way, seed)
            for question in conversation.questions
            for way in self._plan.ways
            for seed in range(self._plan.seeds)
            if not self._is_finished(question.id, way, seed)
        ]
        ways = {way for question, way, _ in open_ones if not self._is_prepared(question.id, way)}
        if ways:
            chosen = [way for way in self._plan.ways if way in ways]
            self._journal.add_contexts(await self._prepare(conversation, chosen))
        texts: Mapping[str, str] = {}
        if any(way == HISTORY for _, way, _ in open_ones):
            texts = await asyncio.to_thread(history_texts, conversation, self._setting)
        jobs = []
        for question, way, seed in open_ones:
            prepared = self._journal.contexts[question.id, way]
            text = texts[question.id] if way == HISTORY else prepared.text
            jobs.append((question, replace(prepared, text=text), seed))
        return jobs

    async def _prepare(self, conversation: Conversation, ways: Sequence[str]) -> list[Prepared]:
        """Prepare in another thread, which ends soon where the run is stopped."""
        stopped = threading.Event()
        try:
            return await asyncio.to_thread(prepare, conversation, ways, self._setting, stopped.is_set)
        finally:
            stopped.set()

    def _is_finished(self, question_id: str, way: str, seed: int) -> bool:
        known = self._journal.answers.get((question_id, way, seed))
        return known is not None and known.error is None

    def _is_prepared(self, question_id: str, way: str) -> bool:
        known = self._journal.contexts.get((question_id, way))
        return known is not None and known.error is None

    async def _answer(self, conversation: Conversation, question: Question, prepared: Prepared, seed: int) -> None:
        known = self._journal.answers.get((question.id, prepared.way, seed))
        one = Answered(question_id=question.id, way=prepared.way, seed=seed)
        if known is not None and known.answer is not None:  # it was answered, and not judged
            one = replace(known, error=None)
        try:
            if one.answer is None:
                one = await self._read(one, conversation, question, prepared)
                self._journal.add_answer(replace(one, error=_UNJUDGED))  # it is paid for: a crash must not lose it
            one = await self._grade(one, question)
        except ModelError as error:
            role: Role = "reader" if one.answer is None else "judge"
            self._journal.add_answer(replace(one, error=prepared.error or f"{role}: {error}"))
            if prepared.error is None:
                self._fail(role, error)
            return
        self._journal.add_answer(one)
        self._done += 1
        self._tell(self._done)

    async def _read(
        self, one: Answered, conversation: Conversation, question: Question, prepared: Prepared
    ) -> Answered:
        if prepared.error is not None or prepared.text is None:
            raise ModelError(prepared.error or "it has no context")
        at = asked_at(conversation, question)
        reading = await self._reader.answer(question.text, prepared.text, at, seed=one.seed)
        self._failures["reader"].clear()
        return replace(one, answer=reading.text, is_cut=reading.is_cut, reader_s=reading.seconds)

    async def _grade(self, one: Answered, question: Question) -> Answered:
        gold, answer = _gold(question), one.answer or ""
        verdict = await self._judge.grade(question.text, gold, answer)
        self._failures["judge"].clear()
        return replace(one, score=verdict.score, reason=verdict.reason, judge_s=verdict.seconds)

    def _fail(self, role: Role, error: ModelError) -> None:
        """Note a failure; end the run where a model does not answer any more."""
        failures = self._failures[role]
        failures.append(str(error))
        if len(failures) >= _MAX_FAILURES:
            raise ModelError(
                f"the {role} failed {_MAX_FAILURES} times in a row, first with: {failures[0]}; what was answered is"
                " kept, and --resume goes on from there"
            )

    # the judge itself

    def _probes(self) -> list[Probe]:
        """What the judge has not been tried on yet."""
        questions = [question for one in self._data.conversations for question in one.questions]
        wanted = probes(questions, self._plan.check_judge, self._plan.seed)
        return [one for one in wanted if (one.question.id, one.is_right) not in self._journal.checks]

    async def _try_judge(self, probe: Probe) -> None:
        try:
            verdict = await self._judge.grade(probe.question.text, probe.gold, probe.answer)
        except ModelError as error:
            self._fail("judge", error)
            return
        self._failures["judge"].clear()
        self._journal.add_check(
            Checked(
                question_id=probe.question.id,
                is_right=probe.is_right,
                answer=probe.answer,
                score=verdict.score,
                reason=verdict.reason,
            )
        )

    # the end

    def _report(self) -> QaReport:
        journal, data = self._journal, self._data
        journal.tidy()
        categories = {question.id: question.category for one in data.conversations for question in one.questions}
        ways = way_reports(self._plan.ways, categories, journal.answers.values(), journal.contexts)
        files, notes = official.write_official(data, journal.answers.values(), self._folder / "official")
        report = QaReport(
            name=data.name,
            format=data.format,
            conversations=len(data.conversations),
            messages=sum(len(session.messages) for one in data.conversations for session in one.sessions),
            questions=data.questions(),
            without_answer=self._loaded.without_answer,
            settings=self._plan.settings(data),
            ways=ways,
            judge=judge_report(journal.checks.values()),
            calls=calls_report(journal.call_rows()),
            files={"answers": str(self._folder / "answers.jsonl"), **files},
        )
        report = replace(report, notes=(*notes_of(report), *notes))
        (self._folder / "scores.json").write_text(
            json.dumps(asdict(report), indent=2, ensure_ascii=False) + "\n", "utf-8"
        )
        return report


def _gold(question: Question) -> Gold:
    if question.answer is None:
        raise InputError(f"question {question.id} has no answer")
    return question.answer


def _prompt_tokens(data: DataSet, reader: Reader) -> int:
    """The most tokens that a question and its prompt have."""
    texts = [
        reading_prompt(question.text, "x", asked_at(one, question))
        for one in data.conversations
        for question in one.questions
    ]
    return max(reader.endpoint.counter.count_many(texts))


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first error of ours in a group, else the first of all."""
    found: BaseException = errors.subgroup(LaminaError) or errors
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    return found
