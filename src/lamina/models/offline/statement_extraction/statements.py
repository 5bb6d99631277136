"""From judged clauses to statements: words of the message that can be understood alone, each with a type."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from lamina.models.embeddings.static_vectors import vectors
from lamina.models.offline.statement_extraction.clause_words import (
    has_passed_soon,
    is_hearsay,
    is_plain_trigger,
    trigger_type,
)
from lamina.models.offline.statement_extraction.clauses import SAID_SHARE, Clause, Span, clauses_of, said_share
from lamina.models.offline.statement_extraction.cues import FALLBACK, all_cues
from lamina.models.offline.statement_extraction.model import TYPES, weights
from lamina.models.offline.statement_extraction.standing_alone import explains_nothing, is_fragment, leans
from lamina.protocols.models import FactDraft
from lamina.values.message import Message

MIN_CONFIDENCE = 0.4  # under which a clause is not even a candidate
_MIN_HEDGED = 0.6  # the same, of a clause that begins with "maybe", or in other languages than English with "if"
MAX_STATEMENTS = 12  # of one message
MAX_QUOTE = 400  # characters
_MAX_JOINED = 200
_BESIDE = 0.3  # how much the type of a clause counts for the one beside it
_DOUBT = 0.01  # added to a share, so that one clause alone rules out no type
_PASTED = re.compile(
    r"\b[A-Za-z.]*(?:Error|Exception|Warning)\b\s?(?::|\()|\berror\[\w+\]|\bTraceback\b|\bFile \"[^\"]+\", line"
    r"|\bpanicked at\b|\b[a-z_]+(?:\.[a-z_]+)+\.[A-Z]\w+:\s|\bindex out of (?:bounds|range):"
)
_UNDER_CONDITIONS = frozenset(("health", "procedure", "commitment"))  # "if I am ill I stay at home" tells something
_SAME_TYPES = {"instruction": "constraint", "health": "constraint", "commitment": "goal"}  # of the same memory type
_IMPORTANCE: Mapping[str, float] = {
    "identity": 0.65, "relation": 0.6, "health": 0.75, "preference": 0.6, "constraint": 0.65, "instruction": 0.8,
    "goal": 0.6, "decision": 0.6, "procedure": 0.55, "commitment": 0.6, "event": 0.45, "entity": 0.45,
}  # fmt: skip
_MARKS = " \t\n.,;:!?-\u2013—…\"'*()[]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What the assistant asked just before a message."""

    text: str
    message_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judged:
    """Clauses that are one statement."""

    clauses: tuple[Clause, ...]
    confidence: float
    shares: tuple[float, ...]  # of each type

    @property
    def start(self) -> int:
        return self.clauses[0].start

    @property
    def end(self) -> int:
        return self.clauses[-1].end

    @property
    def type(self) -> str:
        return TYPES[1 + max(range(len(self.shares)), key=self.shares.__getitem__)]


def statements_in(
    message: Message, own: int, facts: Sequence[FactDraft] = (), question: Question | None = None
) -> list[FactDraft]:
    """The statements of a message that its facts do not say; `question` is what was asked just before.

    `own` is where the words end that are the writer's own.
    """
    said = [(fact.start, fact.end) for fact in facts]
    keyed = [(fact.start, fact.end) for fact in facts if fact.key is not None]
    clauses = [one for one in clauses_of(message.text, asked=question is not None, facts=keyed) if one.end <= own]
    judged = [_with_trigger(message.text, one) for one in _with_neighbours(_judge(message.text, clauses))]
    unsaid = [one for one in judged if not _is_said(message.text, one, said) and not _is_supposed(one, judged)]
    asked = question is not None
    kept = [
        one
        for one in unsaid
        if _is_kept(one)
        and (one.clauses[0].has_cues or asked)
        and not _is_pasted(message, one)
        and not _is_passing(message.text, one)
    ]
    found = _extend_all(message.text, list(_join(message.text, kept)), unsaid)
    drafts = [_draft(message, one, question) for one in found if not _is_bare(one) or _answers(one, question)]
    best = sorted(drafts, key=lambda draft: -draft.confidence)[:MAX_STATEMENTS]
    return [draft for draft in drafts if draft in best]


def read_tables() -> None:
    """Read cue words, weights and vectors."""
    all_cues()
    for name in ("words", "cues"):
        weights(name)
    vectors(["a"])


def _judge(text: str, clauses: Sequence[Clause]) -> list[_Judged]:
    """Every clause with what the model says of it."""
    found: dict[int, _Judged] = {}
    for name in ("words", "cues"):
        own = [place for place, clause in enumerate(clauses) if (clause.language == "en") is (name == "words")]
        if not own:
            continue
        some = [clauses[place] for place in own]
        if name == "words":
            rows = vectors([text[clause.start : clause.end] for clause in some])
            verdicts = weights(name).judge([clause.features + clause.word_features for clause in some], rows)
        else:
            verdicts = weights(name).judge([clause.features for clause in some], None)
        for place, (sure, shares) in zip(own, verdicts, strict=True):
            found[place] = _Judged(clauses=(clauses[place],), confidence=sure, shares=shares)
    return [found[place] for place in range(len(clauses))]


def _is_kept(one: _Judged) -> bool:
    clause = one.clauses[0]
    is_unsure = clause.hedges or (clause.supposes and clause.language != FALLBACK)
    return one.confidence >= (_MIN_HEDGED if is_unsure else MIN_CONFIDENCE)


def _is_supposed(one: _Judged, judged: Sequence[_Judged]) -> bool:
    """Whether it says how somebody would be ("if I were a doctor"), in a language whose verbs are not looked at."""
    clause = one.clauses[0]
    if clause.language == FALLBACK or one.type in _UNDER_CONDITIONS or clause.orders:
        return False
    place = next(place for place, other in enumerate(judged) if other is one)
    before = judged[place - 1].clauses[0] if place else clause
    return clause.supposes or (before.supposes and before.segment.sentence == clause.segment.sentence)


def _is_pasted(message: Message, one: _Judged) -> bool:
    """Whether it stands in a line that a program printed: an error, a trace."""
    line = message.text.rfind("\n", 0, one.start) + 1
    return _PASTED.search(message.text, line, one.end) is not None


def _is_passing(text: str, one: _Judged) -> bool:
    """Whether it only says how somebody is at the moment ("I'm in a hurry today"), or what nobody known says."""
    said = text[one.start : one.end]
    return one.clauses[0].language == FALLBACK and (has_passed_soon(said) or is_hearsay(said))


def _with_neighbours(judged: Sequence[_Judged]) -> list[_Judged]:
    """The clauses, each also typed by those beside it: people say things of one kind in a row."""
    found = []
    for place, one in enumerate(judged):
        beside = [*judged[max(0, place - 1) : place], *judged[place + 1 : place + 2]]
        found.append(replace(one, shares=_mix([(1.0, one), *((_BESIDE * each.confidence, each) for each in beside)])))
    return found


def _with_trigger(text: str, one: _Judged) -> _Judged:
    """A clause with the type that its own words name; it is then at least a candidate."""
    clause = one.clauses[0]
    if clause.language != FALLBACK or clause.segment.asks or clause.hedges or clause.supposes:
        return one
    said = text[one.start : one.end]
    name = trigger_type(said)
    if name is None:
        return one
    one = replace(one, confidence=max(one.confidence, MIN_CONFIDENCE)) if is_plain_trigger(said) else one
    if name in {one.type, _SAME_TYPES.get(one.type)}:
        return one
    return replace(one, shares=tuple(float(each == name) for each in TYPES[1:]))


def _mix(weighted: Sequence[tuple[float, _Judged]]) -> tuple[float, ...]:
    """The shares of types that several clauses agree on."""
    mixed = [
        math.prod((share + _DOUBT) ** weight for (weight, _), share in zip(weighted, shares, strict=True))
        for shares in zip(*(one.shares for _, one in weighted), strict=True)
    ]
    return tuple(share / sum(mixed) for share in mixed)


def _is_said(text: str, one: _Judged, said: Sequence[Span]) -> bool:
    """Whether facts say most of a clause already."""
    return said_share(text, one.start, one.end, said) >= SAID_SHARE


def _join(text: str, kept: Sequence[_Judged]) -> Iterator[_Judged]:
    """Clauses of one sentence that stand side by side are one statement, if the later has no subject of its own."""
    last: _Judged | None = None
    for one in kept:
        if last is not None and _belongs(text, last, one):
            last = _merge(last, one)
            continue
        if last is not None:
            yield last
        last = one
    if last is not None:
        yield last


def _merge(one: _Judged, other: _Judged) -> _Judged:
    """Two pieces as one statement, as sure as the surer."""
    return _Judged(
        clauses=(*one.clauses, *other.clauses),
        confidence=max(one.confidence, other.confidence),
        shares=_mix([(one.confidence, one), (other.confidence, other)]),
    )


def _belongs(text: str, last: _Judged, one: _Judged) -> bool:
    clause, before = one.clauses[0].segment, last.clauses[-1].segment
    is_next = clause.sentence == before.sentence and not any(map(str.isalnum, text[last.end : one.start]))
    return is_next and not clause.subject and one.end - last.start <= _MAX_JOINED


def _extend_all(text: str, found: Sequence[_Judged], judged: Sequence[_Judged]) -> list[_Judged]:
    """Statements that can be understood alone; those that then have the same words are one."""
    whole: list[_Judged] = []
    for one in found:
        longer = _extend(text, one, judged)
        if whole and longer.start < whole[-1].end:
            longer = _merge(whole.pop(), one)
        whole.append(longer)
    return whole


def _extend(text: str, one: _Judged, judged: Sequence[_Judged]) -> _Judged:
    """A statement with the clause before it, where it cannot be understood without."""
    first = one.clauses[0]
    place = next(place for place, other in enumerate(judged) if other.clauses[0] is first)
    if not place or not leans(first):
        return one
    before = judged[place - 1].clauses[0]
    near = before.segment.sentence >= first.segment.sentence - 1 and not before.segment.asks
    near = near and not any(map(str.isalnum, text[before.end : first.start])) and not explains_nothing(before)
    if near and one.end - before.start <= _MAX_JOINED:
        return replace(one, clauses=(before, *one.clauses))
    return one


def _is_bare(one: _Judged) -> bool:
    """Whether it is a fragment that nothing explains."""
    return all(is_fragment(clause) for clause in one.clauses)


def _answers(one: _Judged, question: Question | None) -> bool:
    """Whether the question asked before explains it."""
    first = one.clauses[0]
    return question is not None and not first.segment.sentence and (not first.segment.subject or leans(first))


def _draft(message: Message, one: _Judged, question: Question | None) -> FactDraft:
    start, end = _trim(message.text, one)
    quote = message.text[start:end]
    question = question if _answers(one, question) else None
    return FactDraft(
        message_id=message.id,
        category=one.type,
        key=None,
        value=" ".join(quote.split()),
        quote=quote,
        start=start,
        end=end,
        confidence=round(one.confidence, 2),
        importance=_IMPORTANCE[one.type],
        stands="instead" if any(clause.changes for clause in one.clauses) else "alone",
        question=None if question is None else question.text,
        question_id=None if question is None else question.message_id,
    )


_WORD = re.compile(r"[\w'\u2019]+[\s,]*")
_PAIRS = (('"', '"'), ("“", "”"), ("«", "»"), ("(", ")"), ("[", "]"))


def _trim(text: str, one: _Judged) -> tuple[int, int]:
    """Where the words of a statement stand, without joining words before and marks around them."""
    start, end = one.start, min(one.end, one.start + MAX_QUOTE)
    joints = all_cues()[one.clauses[0].language].split.joints
    while match := _WORD.match(text, start, end):
        word = match.group().strip(" ,\n").casefold()
        if (word,) not in joints or match.end() >= end:
            break
        start = match.end()
    while start < end and text[start] in _MARKS and text[start] not in "\"'([":
        start += 1
    while end > start and text[end - 1] in " \t\n.,;:-\u2013—…":
        end -= 1
    return _without_single_marks(text, start, end)


def _without_single_marks(text: str, start: int, end: int) -> tuple[int, int]:
    """The same without a mark at its beginning or end whose other half is not there."""
    for opening, closing in _PAIRS:
        own = text[start:end]
        single = own.count(opening) % 2 if opening == closing else own.count(opening) != own.count(closing)
        if single and own.startswith(opening):
            start += 1
        elif single and own.endswith(closing):
            end -= 1
    return start, end
