"""A summariser without a language model: it keeps the sentences that matter, word for word."""

import asyncio
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from lamina.folding.summary_lines import SummaryLine, read_line
from lamina.language.words import fold, tokenise
from lamina.models.offline.summarisation.lexicon import lexicon
from lamina.models.offline.summarisation.repetitions import consolidate
from lamina.models.offline.summarisation.salience import WEIGHTS, Scored, content_stems, score_statements
from lamina.models.offline.summarisation.sentence_selection import Choice, Room, gain, is_others, shares_line
from lamina.models.offline.summarisation.statements import (
    JOINT,
    LATER,
    SPEAKERS,
    Statement,
    statements_of_messages,
    statements_of_summary,
    summary_headings,
)
from lamina.models.offline.summarisation.thoughts import bind, closures
from lamina.models.offline.summarisation.topics import topics
from lamina.protocols.models import SummaryDraft, SummaryTask, TokenCounter

_END = re.compile(r"[.!?:,;…。\uff01\uff1f\uff1a][\"'”\u2019»)\]]*\Z")
_NOTHING = "- (nothing yet)"
_OLD_SHARE = 0.45  # of the tokens, held for the summary that goes on
_NEW_SHARE = 0.4  # held for what is new
_FOLD_SHARE = 0.75  # held for the summaries of a fold, in equal parts
_SPARE = 0.97  # of the cap, since lines joined cost a little more than alone
_ROUNDS = 3  # how often more is chosen where tokens are left
_MIN_SPARE = 8  # tokens for which it is worth while
_FLOOR = 0.12  # worth per token below which a sentence is left out though there is room
_CLOSED = 0.5  # share of an open question's words that an answer has
_KEEP_VALUE = 8.0  # what a word is worth that must survive
_MIN_PART = 10  # characters of a sentence that is a part of such a value
_CATCH_ALL = ("situation", "context", "general", "other", "misc", "note", "background", "summary")
_OVERLAP = 1.5
_SPECIFIC = {"situation": 0.7, "time": 0.5, "event": 0.5}  # how much less these cues say about a section than others
_OWN = {"preference", "instruction", "habit", "insight", "identity"}  # what only the user's own words say of the user
_LEAST_OF_OTHERS = 40  # tokens that others than the user have in any case
_MAX_LINE = 420  # characters of a line that has words of several messages
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_NEWER = 0.6  # how much more room the newest session of a digest has than the oldest


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """What a summary is chosen from, and where it goes."""

    items: tuple[Scored, ...]
    headings: tuple[str, ...]
    hide_empty: bool  # leave out headings without statements
    shares: Mapping[int, float]
    corrected: Mapping[int, int] = field(default_factory=dict)  # older value -> newer value
    user_share: float = 0.0  # of the words, where the user said enough
    days: tuple[str, ...] = ()  # of the sources, where lines say their day


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
        costs = self._counter.count_many([_cost_text(item.statement) for item in plan.items])
        room = Room(
            cap=int((task.cap - overhead) * _SPARE),
            line_cost=self._line_cost(plan.items),
            shares={source: int(share * (task.cap - overhead)) for source, share in plan.shares.items()},
            floor=_FLOOR,
            keeps_old=bool(task.previous),
            others=int((task.cap - overhead) * (1 - plan.user_share)) if plan.user_share else None,
        )
        choice = self._choose(plan, costs, room)
        if sum(costs[at] for at in choice.picked) < task.least:
            choice = self._choose(plan, costs, replace(room, floor=0.0))
        for _ in range(_ROUNDS):
            spare = task.cap - self._counter.count(_render_picked(choice.picked, plan))
            if spare < _MIN_SPARE or len(choice.picked) == len(plan.items):
                break
            choice.add(spare)
        return self._within(choice.picked or [0], plan, task.cap)

    def _choose(self, plan: _Plan, costs: Sequence[int], room: Room) -> Choice:
        """What to keep; where the user comes first, others have no more than what the user's words leave them."""
        choice = Choice(plan.items, costs, room)
        while room.others is not None and room.others > _LEAST_OF_OTHERS:
            picked = choice.picked
            asked = sum(self._counter.count_many([plan.items[at].statement.question for at in picked]))
            others = sum(costs[at] for at in picked if is_others(plan.items[at]))
            own = sum(costs[at] for at in picked) - others - asked
            allowed = max(int(own * (1 - plan.user_share) / plan.user_share) - asked, _LEAST_OF_OTHERS)
            if others <= allowed:
                break
            room = replace(room, others=allowed)
            choice = Choice(plan.items, costs, room)
        return choice

    def _line_cost(self, items: Sequence[Scored]) -> int:
        """What the beginning of a line costs, on the average."""
        speakers = [item.statement.speaker for item in items]
        names = sorted(set(speakers))
        costs = dict(zip(names, self._counter.count_many([f"\n- {name}:" for name in names]), strict=True))
        return round(sum(costs[speaker] for speaker in speakers) / len(speakers))

    def _within(self, picked: Sequence[int], plan: _Plan, cap: int) -> str:
        """The text of the picked statements; the least valuable go until it is within the cap."""
        left = list(picked)
        needed = closures([item.needs for item in plan.items])
        text = _render_picked(left, plan)
        while self._counter.count(text) > cap:
            gone = _least_valuable(left, plan)
            rest = [at for at in left if gone not in needed[at]]
            if not rest:
                return self._cut(_render([plan.items[left[0]]], replace(plan, headings=())), cap)
            left = rest
            text = _render_picked(left, plan)
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
    if task.kind == "compress" and (by_day := _by_day(task.previous or "")):
        return _digest(replace(task, previous=None, summaries=by_day, sections=summary_headings(task.previous or "")))
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
        return _finish(grouped, task, _Plan(items=(), headings=headings, hide_empty=True, shares=shares))
    return _finish(
        statements, task, _Plan(items=(), headings=task.sections, hide_empty=False, shares=_shares(task, fresh))
    )


def _finish(statements: Sequence[Statement], task: SummaryTask, plan: _Plan) -> _Plan:
    items, corrected = _score(statements, task.keep)
    return replace(plan, items=items, corrected=corrected, user_share=task.user_share)


def _shares(task: SummaryTask, fresh: int) -> dict[int, float]:
    """Which part of the tokens each input is sure of."""
    new = [*range(1, fresh), *([fresh] if task.messages else [])]
    if not task.previous:
        return dict.fromkeys(new, _FOLD_SHARE / len(new)) if len(new) > 1 else {}
    return {0: _OLD_SHARE} | dict.fromkeys(new, _NEW_SHARE / max(1, len(new))) if new else {}


def _digest(task: SummaryTask) -> _Plan:
    """One account of several sessions by theme, each line with its session's day; newer sessions get more room."""
    statements: list[Statement] = []
    days: list[str] = []
    for source, text in enumerate(task.summaries):
        first, _, rest = text.strip().partition("\n")
        day = _DAY.search(first) if rest.strip() else None
        days.append(day[0] if day else f"session {source + 1}")
        statements += statements_of_summary(rest if rest.strip() else text, source)
    weights = [1 + _NEWER * source / max(1, len(days) - 1) for source in range(len(days))]
    shares = {source: 0.9 * weight / sum(weights) for source, weight in enumerate(weights)}
    headings = task.sections or ("Summary",)
    plan = _Plan(items=(), headings=headings, hide_empty=True, shares=shares, days=tuple(days))
    plan = _finish(statements, task, plan)
    return replace(
        plan, items=tuple(replace(item, factor=item.factor * weights[item.statement.source]) for item in plan.items)
    )


def _by_day(digest: str) -> tuple[str, ...]:
    """The lines of a digest by the sessions that they are of; nothing if it does not say their days."""
    sessions: dict[str, list[str]] = {}
    for line in map(read_line, digest.splitlines()):
        if line.day and line.bullet:
            sessions.setdefault(line.day, []).append(str(replace(line, day="")))
    return tuple("\n".join((f"Session {day}", *lines)) for day, lines in sorted(sessions.items()))


def _score(statements: Sequence[Statement], keep: Sequence[str]) -> tuple[tuple[Scored, ...], dict[int, int]]:
    """The statements with their worth, and which of them a newer one corrects."""
    thoughts = bind(statements)
    scored = [
        replace(item, needs=needs) if needs else item
        for item, needs in zip(score_statements(thoughts.statements), thoughts.needs, strict=True)
    ]
    items, corrected = consolidate(scored)
    for at in corrected:
        items[at] = replace(items[at], factor=items[at].factor * WEIGHTS.superseded, essential=False)
    for at, item in enumerate(items if keep else ()):
        if found := {f"keep {word}": _KEEP_VALUE for word in keep if _has(item.statement.text, word)}:
            factor, stems = max(item.factor, 1.0), {**item.stems, **found}
            items[at] = replace(item, stems=stems, factor=factor, essential=True, required=True, barred=False)
    if all(item.barred for item in items):
        items = [replace(item, barred=False) for item in items]
    return tuple(items), corrected


def _has(text: str, value: str) -> bool:
    """Whether a sentence has a value, or is a part of one that goes over several sentences."""
    said, wanted = fold(text), fold(value).strip()
    return bool(wanted) and (wanted in said or (len(said) >= _MIN_PART and said in wanted))


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
        key=lambda at: (gain(plan.items[at], ()), -at),
    )


# Rendering


def _render_picked(picked: Sequence[int], plan: _Plan) -> str:
    """The text of the picked statements; a newer value follows the older one that it corrects, in its line."""
    there = set(picked)
    newer = {old: new for old, new in plan.corrected.items() if old in there and new in there}
    moved = set(newer.values())
    items: list[Scored] = []
    for at in picked:
        if at in moved:
            continue
        items.append(plan.items[at])
        older, newest = plan.items[at].statement, newer.get(at)
        while newest is not None:
            item = plan.items[newest]
            text = LATER + item.statement.text
            place = replace(older, text=text, question="", tokens=item.statement.tokens)
            items.append(replace(plan.items[at], statement=place))
            newest = newer.get(newest)
    return _render(items, plan)


def _render(items: Sequence[Scored], plan: _Plan) -> str:
    if not plan.headings:
        return "\n".join(_lines(items, plan.days))
    groups: list[list[Scored]] = [[] for _ in plan.headings]
    places: dict[tuple[int, int, bool], int] = {}  # what was said in one message stays together
    for item in items:
        one = item.statement
        line = (one.source, one.line, one.open)
        if line not in places or not item.needs:
            places[line] = _best_heading(item, plan.headings)
        groups[places[line]].append(item)
    parts = []
    for heading, group in zip(plan.headings, groups, strict=True):
        if group or not plan.hide_empty:
            parts.append("\n".join([f"## {heading}", *(_lines(group, plan.days) or [_NOTHING])]))
    return "\n\n".join(parts)


def _lines(items: Sequence[Scored], days: Sequence[str] = ()) -> list[str]:
    """One line for what one speaker said in a row, if it is not too long; open questions on lines of their own."""
    lines: list[list[Statement]] = []
    places: dict[tuple[int, int, str, bool], int] = {}  # what was said in one message stays together
    for item in items:
        one = item.statement
        key = (one.source, one.line, one.speaker, one.open)
        if key not in places and not (lines and _goes_on(one, lines[-1])):
            lines.append([])
        elif one.question and lines[places[key]][0].line != one.line:  # what stands there was said before it was asked
            lines.append([])
            places[key] = len(lines) - 1
        lines[places.setdefault(key, len(lines) - 1)].append(one)
    return [str(_line(said, days[said[0].source] if days else "")) for said in lines]


def _goes_on(one: Statement, said: Sequence[Statement]) -> bool:
    """Whether the first words of a message may stand in a line that is not too long."""
    if not shares_line(one, said[-1]) or any(each.question for each in said):
        return False
    return sum(len(each.text) for each in (*said, one)) <= _MAX_LINE


def _join(said: Sequence[Statement]) -> str:
    """The sentences in one line; where one has no mark at its end, a colon or a semicolon keeps them apart."""
    return "".join(one.text + _joint(one) for one in said[:-1]) + said[-1].text


def _joint(one: Statement) -> str:
    if _END.search(one.text):
        return " "
    return ": " if one.head else JOINT


def _line(said: Sequence[Statement], day: str) -> SummaryLine:
    """Who says it, what it answers, and the words; who asks an open question is said of others than the user."""
    speaker, is_open = said[0].speaker, said[0].open
    return SummaryLine(
        bullet="- ",
        day=day,
        open=is_open,
        speaker="" if is_open and speaker == SPEAKERS["user"] else speaker,
        question="" if is_open else next((one.question for one in said if one.question), ""),
        text=_join(said),
    )


def _cost_text(one: Statement) -> str:
    return f'{one.text} (to "{one.question}")' if one.question else one.text


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
    cues = {*item.cues} & {*wanted} - (_OWN if is_others(item) else set())
    fits = [_SPECIFIC.get(cue, 1.0) / (1 + 0.35 * wanted[cue]) for cue in sorted(cues)]
    fit = 0.75 * max(fits, default=0.0) + 0.25 * sum(fits)
    if item.statement.open and "open" in wanted:
        fit += 2 * _OVERLAP
    return fit + _OVERLAP * sum(key in item.stems for key in stems)
