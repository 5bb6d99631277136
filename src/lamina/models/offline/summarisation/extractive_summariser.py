"""A summariser without a language model: it keeps the sentences that matter, word for word."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from lamina.language.words import fold, tokenise
from lamina.models.offline.summarisation.lexicon import lexicon
from lamina.models.offline.summarisation.salience import WEIGHTS, Scored, content_stems, score_statements
from lamina.models.offline.summarisation.sentence_selection import choose, drop_repetitions, gain
from lamina.models.offline.summarisation.statements import (
    JOINT,
    OPEN,
    SPEAKERS,
    Statement,
    statements_of_messages,
    statements_of_summary,
    summary_headings,
)
from lamina.models.offline.summarisation.topics import topics
from lamina.protocols.models import SummaryDraft, SummaryTask, TokenCounter

_NOTHING = "- (nothing yet)"
_OLD_SHARE = 0.45  # of the tokens, held for the summary that goes on
_NEW_SHARE = 0.4  # held for what is new
_FOLD_SHARE = 0.75  # held for the summaries of a fold, in equal parts
_SPARE = 0.97  # of the cap, since lines joined cost a little more than alone
_WASTE = 0.04  # of the room; if more was left, more is chosen
_FLOOR = 0.12  # worth per token below which a sentence is left out though there is room
_CLOSED = 0.5  # share of an open question's words that an answer has
_KEEP_VALUE = 8.0  # what a word is worth that must survive
_CATCH_ALL = ("situation", "context", "general", "other", "misc", "note", "background", "summary")
_OVERLAP = 1.5
_NEWER = 0.6  # how much more room the newest session of a digest has than the oldest


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """What a summary is chosen from, and where it goes."""

    items: tuple[Scored, ...]
    headings: tuple[str, ...]
    hide_empty: bool  # leave out headings without statements
    shares: Mapping[int, float]


class OfflineSummariser:
    """Writes summaries by choosing sentences; the same task gives the same text, always."""

    name = "offline-1"

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter

    async def summarise(self, task: SummaryTask) -> SummaryDraft:
        try:
            running = asyncio.get_running_loop().run_in_executor(None, self.write, task)
        except RuntimeError:  # the interpreter is shutting down and takes no more work for threads
            return self.write(task)
        return await running

    def write(self, task: SummaryTask) -> SummaryDraft:
        """The summary of a task, within its cap."""
        plan = _plan(task)
        return SummaryDraft(text=self._fit_cap(plan, task), topics=topics(plan.items))

    def _fit_cap(self, plan: _Plan, task: SummaryTask) -> str:
        if task.cap <= 0 or not plan.items:
            return self._cut(_render((), plan), task.cap)
        overhead = self._counter.count(_render((), plan)) if plan.headings else 0
        if overhead * 2 > task.cap:
            plan, overhead = replace(plan, headings=()), 0
        costs = self._counter.count_many([item.statement.text for item in plan.items])
        pick = partial(self._pick, plan, costs, task.least)
        room = task.cap - overhead
        picked = pick(int(room * _SPARE))
        spare = task.cap - self._counter.count(_render([plan.items[at] for at in picked], plan))
        if spare > _WASTE * room and len(picked) < len(plan.items):
            picked = pick(int(room * _SPARE) + spare)
        return self._within(picked or [0], plan, task.cap)

    def _pick(self, plan: _Plan, costs: Sequence[int], min_tokens: int, room: int) -> list[int]:
        shares = {source: int(share * room) for source, share in plan.shares.items()}
        line_cost = self._line_cost(plan.items)
        picked = choose(plan.items, costs, shares, room, line_cost=line_cost, floor=_FLOOR)
        if sum(costs[at] for at in picked) < min_tokens:
            picked = choose(plan.items, costs, shares, room, line_cost=line_cost, floor=0.0)
        return picked

    def _line_cost(self, items: Sequence[Scored]) -> int:
        """What the beginning of a line costs, on the average."""
        speakers = [item.statement.speaker for item in items]
        names = sorted(set(speakers))
        costs = dict(zip(names, self._counter.count_many([f"\n- {name}:" for name in names]), strict=True))
        return round(sum(costs[speaker] for speaker in speakers) / len(speakers))

    def _within(self, picked: Sequence[int], plan: _Plan, cap: int) -> str:
        """The text of the picked statements; the least valuable go until it is within the cap."""
        left = list(picked)
        text = _render([plan.items[at] for at in left], plan)
        while self._counter.count(text) > cap:
            if len(left) == 1:
                return self._cut(_render([plan.items[at] for at in left], replace(plan, headings=())), cap)
            left.remove(_least_valuable(left, plan))
            text = _render([plan.items[at] for at in left], plan)
        return text

    def _cut(self, text: str, cap: int) -> str:
        """As many whole words from the beginning as the cap allows; characters where there are no words."""
        if self._counter.count(text) <= cap:
            return text
        for pieces, joint in ((text[: cap * 40 + 400].split(" "), " "), (list(text[: cap * 8 + 8]), "")):
            low, high = 0, len(pieces)
            while low < high:
                middle = (low + high + 1) // 2
                fits = self._counter.count(joint.join(pieces[:middle])) <= cap
                low, high = (middle, high) if fits else (low, middle - 1)
            kept = joint.join(pieces[:low]).rstrip()
            if any(character.isalnum() for character in kept) and self._counter.count(kept) <= cap:
                return kept
        return ""


def _plan(task: SummaryTask) -> _Plan:
    if task.kind == "digest" and task.summaries:
        return _digest(task)
    statements: list[Statement] = []
    if task.previous:
        statements += statements_of_summary(task.previous, 0)
    for source, text in enumerate(task.summaries, 1):
        statements += statements_of_summary(text, source)
    fresh = len(task.summaries) + 1
    statements += statements_of_messages(task.messages, fresh)
    statements = _close_questions(statements, fresh)
    headings = () if task.sections or task.kind != "compress" else summary_headings(task.previous or "")
    if headings:  # a summary with headings of its own keeps them, and something under each
        grouped = [
            replace(one, source=headings.index(one.heading) if one.heading in headings else 0) for one in statements
        ]
        shares = dict.fromkeys(range(len(headings)), _FOLD_SHARE / len(headings))
        return _Plan(items=_score(grouped, task.keep), headings=headings, hide_empty=True, shares=shares)
    items = _score(statements, task.keep)
    return _Plan(items=items, headings=task.sections, hide_empty=False, shares=_shares(task, fresh))


def _shares(task: SummaryTask, fresh: int) -> dict[int, float]:
    """Which part of the tokens each input is sure of."""
    new = [*range(1, fresh), *([fresh] if task.messages else [])]
    if not task.previous:
        return dict.fromkeys(new, _FOLD_SHARE / len(new)) if len(new) > 1 else {}
    return {0: _OLD_SHARE} | dict.fromkeys(new, _NEW_SHARE / max(1, len(new))) if new else {}


def _digest(task: SummaryTask) -> _Plan:
    """One group for each session, led by the session's own first line; newer sessions get more room."""
    statements: list[Statement] = []
    headings: list[str] = []
    for source, text in enumerate(task.summaries):
        first, _, rest = text.strip().partition("\n")
        heading = " ".join(first.lstrip("#").split()) if rest.strip() else f"Session {source + 1}"
        heading = heading if heading not in headings else f"{heading} ({source + 1})"
        headings.append(heading)
        statements += [
            replace(one, heading=heading) for one in statements_of_summary(rest if rest.strip() else text, source)
        ]
    weights = [1 + _NEWER * source / max(1, len(headings) - 1) for source in range(len(headings))]
    items = _score(statements, task.keep)
    return _Plan(
        items=tuple(replace(item, factor=item.factor * weights[item.statement.source]) for item in items),
        headings=tuple(headings),
        hide_empty=True,
        shares={source: 0.9 * weight / sum(weights) for source, weight in enumerate(weights)},
    )


def _score(statements: Sequence[Statement], keep: Sequence[str]) -> tuple[Scored, ...]:
    kept, overtaken = drop_repetitions(score_statements(statements))
    items = [
        replace(item, factor=item.factor * WEIGHTS.superseded) if at in overtaken else item
        for at, item in enumerate(kept)
    ]
    for at, item in enumerate(items if keep else ()):
        text = fold(item.statement.text)
        if found := {f"keep {word}": _KEEP_VALUE for word in keep if word.strip() and fold(word) in text}:
            items[at] = replace(item, stems={**item.stems, **found}, factor=max(item.factor, 1.0))
    return tuple(items)


def _close_questions(statements: Sequence[Statement], fresh: int) -> list[Statement]:
    """Questions that were open are no longer, where a newer statement has most of their words."""
    newer = [
        frozenset(content_stems(one.tokens))
        for one in statements
        if one.source == fresh and not one.asks and one.tokens
    ]
    return [
        replace(one, open=False) if one.open and one.old and _is_answered(content_stems(one.tokens), newer) else one
        for one in statements
    ]


def _is_answered(asked: Sequence[str], newer: Sequence[frozenset[str]]) -> bool:
    return any(sum(key in stems for key in asked) >= max(1.0, _CLOSED * len(asked)) for stems in newer)


def _least_valuable(left: Sequence[int], plan: _Plan) -> int:
    """The statement worth least, of the input that has most beyond its share."""
    words = Counter[int]()
    for at in left:
        words[plan.items[at].statement.source] += len(plan.items[at].statement.text)
    widest = max(words, key=lambda source: words[source] / plan.shares.get(source, 1.0))
    return min(
        (at for at in left if plan.items[at].statement.source == widest),
        key=lambda at: (gain(plan.items[at], Counter()), -at),
    )


# Rendering


def _render(items: Sequence[Scored], plan: _Plan) -> str:
    if not plan.headings:
        return "\n".join(_lines(items))
    groups: list[list[Scored]] = [[] for _ in plan.headings]
    for item in items:
        groups[_best_heading(item, plan.headings)].append(item)
    parts = []
    for heading, group in zip(plan.headings, groups, strict=True):
        if group or not plan.hide_empty:
            parts.append("\n".join([f"## {heading}", *(_lines(group) or [_NOTHING])]))
    return "\n\n".join(parts)


def _lines(items: Sequence[Scored]) -> list[str]:
    """One line for what one speaker said in one message; open questions on lines of their own."""
    lines: dict[tuple[int, int, str, bool], list[str]] = {}
    for item in items:
        one = item.statement
        lines.setdefault((one.source, one.line, one.speaker, one.open), []).append(one.text)
    return [f"- {_label(speaker, is_open)}{_join(texts)}" for (_, _, speaker, is_open), texts in lines.items()]


def _join(texts: Sequence[str]) -> str:
    """The sentences in one line; where one has no mark at its end, a semicolon keeps them apart."""
    return "".join(text + (JOINT if text[-1].isalnum() else " ") for text in texts[:-1]) + texts[-1]


def _label(speaker: str, is_open: bool) -> str:
    if is_open:
        return OPEN if speaker in {"", SPEAKERS["user"]} else f"{OPEN}{speaker}: "
    return f"{speaker}: " if speaker else ""


# Headings


def _best_heading(item: Scored, headings: Sequence[str]) -> int:
    """Index of the heading that fits best: where the summary had it, else by its cues and words."""
    if item.statement.heading in headings:
        return headings.index(item.statement.heading)
    scores = [_heading_score(item, heading) for heading in headings]
    if max(scores) > 0:
        return scores.index(max(scores))
    return next((at for word in _CATCH_ALL for at, heading in enumerate(headings) if word in fold(heading)), 0)


def _heading_score(item: Scored, heading: str) -> float:
    lex = lexicon()
    stems = content_stems(tokenise(heading))
    wanted = {cue: rank for key in reversed(stems) for rank, cue in enumerate(lex.headings.get(key, ()))}
    fit = sum(abs(lex.weights[cue]) / (1 + 0.35 * wanted[cue]) for cue in item.cues if cue in wanted)
    if item.statement.open and "open" in wanted:
        fit += 2 * _OVERLAP
    return fit + _OVERLAP * sum(key in item.stems for key in stems)
