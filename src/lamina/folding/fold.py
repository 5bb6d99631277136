"""One fold: read messages, have them summarised, accept or refuse the text, prepare the commit."""

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from typing import NamedTuple

from lamina.errors import ModelError
from lamina.folding import layouts
from lamina.folding.acceptance import ESSENTIAL_TOKENS, essential_sentences, inputs_of, objection
from lamina.folding.drift import adds_nothing
from lamina.folding.due import Fold, next_fold
from lamina.knowledge import conflicts
from lamina.language.trim import trim
from lamina.language.words import terms
from lamina.log.erased import is_emptied
from lamina.log.records import HEAD, head_hash
from lamina.model_calls import call, call_with_fallback
from lamina.parts import Parts
from lamina.profiles import Profile
from lamina.protocols.models import Prompt, Summariser, SummaryDraft, SummaryTask
from lamina.protocols.store import FoldCommit
from lamina.values.fact import Fact
from lamina.values.message import Message, Span
from lamina.values.session import Counters, Session
from lamina.values.summary import Recipe, Summary

logger = logging.getLogger("lamina.fold")

NO_WORDS = "(messages without words)"
GONE = "(messages that were forgotten)"
_MAX_LOST = 0.2  # of what a summary says beyond its beginning, where one that begins alike takes its place
_LONGEST_STAMP = datetime(2025, 12, 31, 23, 59, 59, tzinfo=timezone(timedelta(hours=5, minutes=30)))


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedText:
    """An accepted text and how it came about."""

    text: str
    topics: tuple[str, ...]
    model: str
    prompt: str | None
    fallback: str | None


class Compactor:
    """Writes summaries that may stand for what they cover."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    @property
    def profile(self) -> Profile:
        return self._parts.profile

    async def prepare(
        self, session: Session, live: Sequence[Summary], fold: Fold, messages: Sequence[Message], facts: Sequence[Fact]
    ) -> FoldCommit:
        """One fold of these messages, ready to commit; `facts` are those that were said in them.

        Raises ModelError when the configured model should be tried again later.
        """
        if fold.task == "merge":
            written = await self._merge(fold, session.attempts)
        elif messages and not fold.retire and all(is_emptied(message) for message in messages):
            written = AcceptedText(text=GONE, topics=(), model="none", prompt=None, fallback=None)
        else:
            keep = self._values(fold, facts)
            written = await self.write(self._task(fold, messages, keep), session.attempts)
        summary = self._summary(session, fold, messages, written)
        summary, retire = self._without_twin(summary, live, fold)
        summary, retire = self._unless_idle(summary, retire, fold)
        return FoldCommit(
            session_id=session.id,
            expect=session.counters.version,
            summary=summary,
            retire=retire,
            cursor=max(session.counters.cursor, fold.covers.last),
        )

    # the task

    def _values(self, fold: Fold, facts: Sequence[Fact]) -> tuple[str, ...]:
        """The values of facts that the summary must keep: those that held at its end, by its own messages alone.

        What was said later, or elsewhere, does not count: the same log must give the same summary at any time.
        """
        if not self._parts.profile.facts:
            return ()
        known = [fact for fact in facts if fact.verdict is None]
        families = conflicts.by_family(known).values()
        resolved = [fact for one in families for fact in conflicts.resolve(one, conflicts.rule_of(self._parts.profile))]
        return conflicts.worth_keeping(resolved, fold.cap)

    def _task(self, fold: Fold, messages: Sequence[Message], keep: tuple[str, ...]) -> SummaryTask:
        profile = self._parts.profile
        previous = "\n\n".join(layouts.unframe(profile.title, summary.text) for summary in fold.previous) or None
        task = SummaryTask(
            kind=fold.task,
            profile=profile.name,
            messages=tuple(message for message in messages if not is_emptied(message)),
            previous=previous,
            summaries=tuple(summary.text for summary in fold.folds),
            sections=profile.sections if fold.kind == "rolling" else (),
            cap=max(1, fold.cap - self._frame_tokens(fold)),
            least=fold.least,
            target=profile.cap if fold.kind == "rolling" and profile.least else 0,
            asked_sections=_asked_sections(profile, fold),
            model=profile.summarizer_model,
            user_share=profile.user_share,
            hosted=profile.hosted,
            domains=profile.domains,
            keep=keep,
        )
        return self.fill_prompt(task)

    def _frame_tokens(self, fold: Fold) -> int:
        if fold.kind != "rolling" or self._parts.profile.title is None:
            return 0
        frame = layouts.frame(self._parts.profile.title, "x", _LONGEST_STAMP, 10_000)
        return self._parts.counter.count(frame) + 2

    def fill_prompt(self, task: SummaryTask) -> SummaryTask:
        """The task with its prompt filled in."""
        name = self._parts.profile.prompts.get(task.kind)
        prompt = self._parts.prompts.get(name) if name else None
        if prompt is None:
            return task
        return replace(
            task,
            instructions=layouts.fill(prompt.text, layouts.prompt_values(task)),
            input=_input(task, prompt),
            prompt=prompt.label,
            template=prompt.text,
        )

    # writing

    async def write(self, task: SummaryTask, attempts: int) -> AcceptedText:
        """A text that was accepted: by the configured model; after too many failures, by the offline one."""
        parts = self._parts
        if getattr(parts.summariser, "must_cover", False):
            task = replace(task, essentials=await self._essentials(task))
        answer = await call_with_fallback(
            parts.summariser,
            parts.offline,
            lambda summariser: self._accept(summariser, task),
            retry=attempts + 1 < parts.patience.attempts,
        )
        draft = answer.value
        if draft is None:
            opening = trim(inputs_of(task).strip(), task.cap, parts.counter.count)
            draft = SummaryDraft(text=opening or NO_WORDS)
        if answer.failure is not None:
            logger.warning("summary_fallback", extra={"task": task.kind, "reason": answer.failure})
        prompt = draft.prompt or task.prompt if answer.failure is None else None
        return AcceptedText(
            text=draft.text, topics=draft.topics, model=answer.model, prompt=prompt, fallback=answer.failure
        )

    async def _essentials(self, task: SummaryTask) -> tuple[str, ...]:
        """What the offline summariser would keep if there was little room: another's text is measured by it."""
        brief = replace(task, sections=(), least=0, cap=min(task.cap, ESSENTIAL_TOKENS))
        try:
            draft = await self._ask(self._parts.offline, brief)
        except ModelError:
            return ()
        return essential_sentences(draft.text)

    async def _accept(self, summariser: Summariser, task: SummaryTask) -> SummaryDraft:
        draft = await self._ask(summariser, task)
        draft = replace(draft, text=layouts.rename_sections(draft.text, task.asked_sections, task.sections))
        if summariser is self._parts.offline:  # it chooses what matters most: nothing else would do better
            task = replace(task, essentials=(), keep=())
        if reason := objection(task, draft.text):
            raise ModelError(f"the summary was refused: {reason}")
        if self._parts.counter.count(draft.text) <= task.cap:
            return draft
        compress = self.fill_prompt(replace(task, kind="compress", previous=draft.text, messages=(), summaries=()))
        offline = self._parts.offline
        for writer in (summariser, offline) if summariser is not offline else (offline,):
            shorter = await self._ask(writer, compress)
            if self._parts.counter.count(shorter.text) <= task.cap and objection(task, shorter.text) is None:
                return replace(draft, text=shorter.text)
        text = trim(draft.text, task.cap, self._parts.counter.count)
        if not text:
            raise ModelError(f"the summary does not fit {task.cap} tokens")
        return replace(draft, text=text)

    async def _ask(self, summariser: Summariser, task: SummaryTask) -> SummaryDraft:
        return await call(summariser.summarise(task), self._parts.patience.model_seconds)

    async def _merge(self, fold: Fold, attempts: int) -> AcceptedText:
        """Two chunks joined as in `project`; the earlier part is shortened once the whole passes the cap."""
        first, second = fold.folds
        topics = layouts.merge_topics(first.topics, second.topics)
        text = layouts.merge_chunks(first.text, second.text)
        written = AcceptedText(text=text, topics=topics, model="join", prompt=None, fallback=None)
        count = self._parts.counter.count
        if count(text) <= fold.cap:
            return written
        frame = count(layouts.merge_chunks("", ""))
        newer = trim(layouts.unmerge(second.text), max(1, (fold.cap - frame) * 2 // 3), count)
        task = SummaryTask(
            kind="compress",
            profile=self._parts.profile.name,
            messages=(),
            previous=layouts.unmerge(first.text),
            summaries=(),
            sections=(),
            cap=max(1, fold.cap - count(layouts.merge_chunks("", newer)) - 2),
            least=0,
            user_share=self._parts.profile.user_share,
        )
        shortened = await self.write(self.fill_prompt(task), attempts)
        text = trim(layouts.merge_chunks(shortened.text, newer), fold.cap, count)
        return replace(shortened, text=text or NO_WORDS, topics=topics)

    # the result

    def _summary(self, session: Session, fold: Fold, messages: Sequence[Message], written: AcceptedText) -> Summary:
        parts, profile = self._parts, self._parts.profile
        taken = (*fold.previous, *fold.folds)
        version = max((summary.version for summary in fold.previous), default=0) + 1
        updated_at = (
            messages[-1].created_at if messages else max((s.updated_at for s in taken), default=session.last_at)
        )
        title = profile.title if fold.kind == "rolling" else None
        text = layouts.frame(title, written.text, updated_at, version)
        return Summary(
            id=parts.new_id("sum"),
            user_id=session.user_id,
            session_id=session.id,
            kind=fold.kind,
            layer=fold.layer,
            version=version,
            covers=fold.covers,
            turns=_turns(messages, taken),
            reads=fold.reads,
            inputs=fold.retire,
            text=text,
            topics=written.topics or layouts.merge_topics(*(summary.topics for summary in taken)),
            tokens=parts.counter.count(text),
            recipe=Recipe(
                profile=profile.name,
                kind=fold.task,
                model=written.model,
                prompt=written.prompt,
                cap=fold.cap,
                fallback=written.fallback,
                attempts=session.attempts + 1,
                details={} if fold.due is None else {"due": fold.due},
            ),
            updated_at=updated_at,
            created_at=parts.now(),
        )

    def _unless_idle(self, summary: Summary, retire: tuple[str, ...], fold: Fold) -> tuple[Summary, tuple[str, ...]]:
        """A long summary that adds nothing to the last is no new version; the last one covers more (`layered`)."""
        if fold.kind != "long" or len(fold.previous) != 1 or not adds_nothing(fold.previous[0].text, summary.text):
            return summary, retire
        (last,) = fold.previous
        logger.info("summary_unchanged", extra={"session": summary.session_id, "version": last.version})
        inputs = tuple(dict.fromkeys((*last.inputs, *(one.id for one in fold.folds))))
        recipe = replace(last.recipe, details={**last.recipe.details, **summary.recipe.details})
        wider = replace(
            last,
            covers=summary.covers,
            turns=summary.turns,
            inputs=inputs,
            recipe=recipe,
            updated_at=summary.updated_at,
        )
        return wider, tuple(one for one in retire if one != last.id)

    def _without_twin(self, summary: Summary, live: Sequence[Summary], fold: Fold) -> tuple[Summary, tuple[str, ...]]:
        """A medium or long summary that begins like the one before, and has its words, takes its place (`layered`)."""
        before = [(s, s.covers.first) for s in live if s.covers and s.covers.last == fold.covers.first - 1]
        alike = [pair for pair in before if pair[0].kind == summary.kind in {"medium", "long"}]
        if fold.retire or not alike or not _repeats(summary.text, alike[0][0].text):
            return summary, fold.retire
        twin, first = alike[0]
        covers = Span(first=first, last=fold.covers.last)
        turns = Span(first=twin.turns.first, last=summary.turns.last) if twin.turns and summary.turns else None
        joined = replace(summary, covers=covers, turns=turns, inputs=(twin.id,), version=twin.version + 1)
        return joined, (twin.id,)


def _repeats(text: str, older: str) -> bool:
    """Whether a text begins like an older one, and has nearly all words that the older one has beyond that."""
    beyond = set(terms(" ".join(older.split())[HEAD:].partition(" ")[2]))
    is_alike = head_hash(older) == head_hash(text)
    return is_alike and len(beyond - set(terms(text))) <= max(1, _MAX_LOST * len(beyond))


class Step(NamedTuple):
    """One fold that was made, with the session and its live summaries as they were before."""

    session: Session
    live: tuple[Summary, ...]
    fold: Fold
    commit: FoldCommit
    seconds: float


class FoldRun:
    """The folds that are due in a session, made one after the other in memory; each is ready to commit."""

    def __init__(
        self,
        compactor: Compactor,
        session: Session,
        live: Sequence[Summary],
        messages: Sequence[Message],
        facts: Sequence[Fact],
        *,
        whole: bool,
        attempts: int = 0,
    ) -> None:
        """`messages` are unfolded ones, all if it is `whole`, and some before; `attempts` of each later fold failed."""
        self.session = session
        self.live = tuple(live)
        self.whole = whole
        self._compactor = compactor
        self._messages = messages
        self._facts = facts
        self._attempts = attempts

    async def next(self) -> Step | None:
        """Make the next fold that is due, if there is one."""
        started, session, live = time.perf_counter(), self.session, self.live
        tail = [message for message in self._messages if message.seq > session.counters.cursor]
        fold = next_fold(self._compactor.profile, session.counters, session.status, live, tail, whole=self.whole)
        if fold is None:
            return None
        reads = fold.reads or Span(first=1, last=0)
        messages = [message for message in self._messages if message.seq in reads]
        facts = [fact for fact in self._facts if fact.seq in reads]
        commit = await self._compactor.prepare(session, live, fold, messages, facts)
        self._apply(commit)
        return Step(session, live, fold, commit, time.perf_counter() - started)

    def _apply(self, commit: FoldCommit) -> None:
        """Go on as if the fold was committed."""
        gone = {*commit.retire, commit.summary.id}
        live = [*(summary for summary in self.live if summary.id not in gone), commit.summary]
        self.live = tuple(sorted(live, key=lambda summary: summary.covers.first if summary.covers else 0))
        self.session = replace(
            self.session,
            counters=move_cursor(self.session.counters, commit.cursor, self._messages),
            attempts=self._attempts,
        )


def move_cursor(counters: Counters, cursor: int, messages: Sequence[Message]) -> Counters:
    """The counters once messages up to the cursor are folded."""
    passed = [message for message in messages if counters.cursor < message.seq <= cursor]
    return replace(
        counters,
        cursor=cursor,
        cursor_turn=max((message.turn for message in passed), default=counters.cursor_turn),
        cursor_tokens=counters.cursor_tokens + sum(message.tokens for message in passed),
        version=counters.version + 1,
    )


def _asked_sections(profile: Profile, fold: Fold) -> tuple[str, ...]:
    """What the prompt of a fold calls the sections; names of its own have only those that there are."""
    is_first = fold.task == "initial" and len(profile.first_sections) == len(profile.sections)
    return profile.first_sections if is_first else profile.sections if fold.kind == "rolling" else ()


def _input(task: SummaryTask, prompt: Prompt) -> str:
    """What a prompt works on, alone: as numbered turns where the prompt asks for them."""
    if "[TURNS_INPUT]" in prompt.text:
        return layouts.turns_input(task.previous, task.messages)
    return layouts.plain_input(task)


def _turns(messages: Sequence[Message], taken: Sequence[Summary]) -> Span | None:
    firsts = [summary.turns.first for summary in taken if summary.turns] + [m.turn for m in messages[:1]]
    lasts = [summary.turns.last for summary in taken if summary.turns] + [m.turn for m in messages[-1:]]
    return Span(first=min(firsts), last=max(lasts)) if firsts and lasts else None
