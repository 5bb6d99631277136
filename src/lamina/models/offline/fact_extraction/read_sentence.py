"""Reads one sentence with a grammar: which templates match its clauses, and what facts they make."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import product
from re import Match

from lamina.language.dates import period
from lamina.language.sentences import Sentence
from lamina.models.offline.fact_extraction.clauses import (
    BREAKS,
    Clause,
    clauses,
    with_subject,
    without_change,
    without_negation,
    without_opener,
    without_prelude,
)
from lamina.models.offline.fact_extraction.grammar import Emission, Grammar, Guard, Template
from lamina.models.offline.fact_extraction.slot_values import Value, surface, values
from lamina.models.offline.fact_extraction.tokens import MASK, Token, join_words, merge_phrases, tokenise
from lamina.protocols.models import FactDraft
from lamina.values.fact import Stands
from lamina.values.message import Message

MAX_QUOTE = 240
_NEGATED = "negated"
_ELIDED_CONFIDENCE = 0.75
_AHEAD = frozenset(("commitment", "goal", "constraint", "decision"))
_RULES = frozenset(("constraint", "procedure", "instruction"))
_QUESTION_MARKS = "?\uff1f؟"


@dataclass(frozen=True, slots=True, kw_only=True)
class _SentenceContext:
    """What every clause of a sentence is read with."""

    grammar: Grammar
    sentence: Sentence
    message: Message
    guards: tuple[Guard, ...]
    scopes: frozenset[str]  # scopes with templates that may match
    tokens: tuple[Token, ...]  # of the whole sentence
    onward: tuple[tuple[int, Guard], ...]  # guards of all that ends behind a place
    following: tuple[Clause, ...] = ()
    after: int = 0  # where the clause before ends

    def up_to(self, end: int) -> "_SentenceContext":
        """The context of what ends at a place."""
        return replace(self, guards=(*self.guards, *(guard for place, guard in self.onward if place < end)))

    def allows(self, category: str, key: str | None, *, holds: bool) -> bool:
        return all(guard.allows(category, key, holds=holds) for guard in self.guards)


def read_sentence(
    sentence: Sentence, grammar: Grammar, message: Message, before: Sequence[FactDraft]
) -> tuple[list[FactDraft], str]:
    """The facts so far with those of this sentence, and what of the message is not the writer's own: a scope.

    Their quotes are still empty.
    """
    read = tokenise(sentence.text, sentence.start, grammar.whole, grammar.endings, grammar.beginnings)
    tokens = merge_phrases(read, grammar.merges)
    guards, own, onward = _guards(tokens, grammar)
    guarded = {guard.scope for guard in guards}
    if "message" in guarded:
        return [], "message"
    ended = "rest" if own < len(tokens) else "below" if "below" in guarded else ""
    tokens = tokens[:own]
    words = frozenset([token.word for token in tokens])
    scopes = frozenset([scope for scope, index in grammar.templates.items() if index.likely(words)])
    if not scopes:
        return list(before), ended
    context = _SentenceContext(
        grammar=grammar,
        scopes=scopes,
        sentence=sentence,
        message=message,
        tokens=tuple(tokens),
        guards=tuple(guard for guard in guards if guard.scope == "sentence"),
        onward=tuple(onward),
    )
    question = ended != "rest" and sentence.text.rstrip("\"'”\u2019)»* ").endswith(tuple(_QUESTION_MARKS))
    found = list(before)
    parts = clauses(tokens, grammar.clauses, question=question)
    told = _told_before_asking(tokens, parts)
    whole = _sentence_facts(told, context.up_to(sentence.end), question=False) if told else []
    whole = whole or _sentence_facts(tokens, context.up_to(sentence.end), question=question)
    for draft in whole:
        found = _add(found, draft, again="")
    for place, clause in enumerate(parts):
        after = parts[place - 1].tokens[-1].end if place else 0
        near = replace(context.up_to(clause.tokens[-1].end), following=tuple(parts[place + 1 :]), after=after)
        for draft, again in _clause_facts(clause, near, skip=any(draft.key is None for draft in whole)):
            found = _add(found, draft, again=again)
    known = [draft for draft in found if draft in before]
    return [*known, *_beside_each_other([draft for draft in found if draft not in before])], ended


def _beside_each_other(found: Sequence[FactDraft]) -> list[FactDraft]:
    """The facts of one sentence: a second value of one key, for the same time, stands beside the first."""
    named = set[tuple[object, ...]]()
    kept: list[FactDraft] = []
    for draft in found:
        place = (draft.category, draft.key, draft.about, draft.scope)
        alone = draft.stands == "alone" and draft.key and draft.holds and not draft.since and not draft.until
        kept.append(replace(draft, stands="beside") if alone and place in named else draft)
        if draft.holds:
            named.add(place)
    return kept


def _guards(tokens: Sequence[Token], grammar: Grammar) -> tuple[list[Guard], int, list[tuple[int, Guard]]]:
    """The guards that match, the number of tokens before the writer's own words end, and guards from a place onward."""
    joined = join_words(tokens)
    found: list[Guard] = []
    onward: list[tuple[int, Guard]] = []
    own = len(tokens)
    opened = len(joined) - len(join_words(without_opener(list(tokens), grammar.clauses)))
    for pattern, guard in grammar.guards.likely(frozenset([token.word for token in tokens])):
        match = pattern.regex.search(joined, opened if guard.scope == "onward" else 0)
        if match and guard.scope == "rest":
            own = min(own, joined.count(" ", 0, match.start()))
        elif match and guard.scope == "onward":
            onward.append((tokens[joined.count(" ", 0, match.start())].start, guard))
        elif match:
            found.append(guard)
    return found, own, onward


def _add(found: list[FactDraft], draft: FactDraft, *, again: str) -> list[FactDraft]:
    """The facts with one more: a new value takes the place of what it corrects."""
    if again:
        last = next((one for one in reversed(found) if one.key), None)
        if last is None or (again == _NEGATED and last.holds):
            return found
        fresh = replace(draft, category=last.category, key=last.key, importance=last.importance)
        return [*(one for one in found if one is not last), fresh]
    value = draft.value.casefold()
    for at, one in enumerate(found):
        if (one.category, one.key) == (draft.category, draft.key) and one.value.casefold().startswith(value):
            both = replace(one, start=min(one.start, draft.start), end=max(one.end, draft.end))
            return [*found[:at], both if both.end - both.start <= MAX_QUOTE else one, *found[at + 1 :]]
    if draft.key and draft.holds:
        found = [one for one in found if one.holds or (one.category, one.key) != (draft.category, draft.key)]
    return [*found, draft]


def _told_before_asking(tokens: list[Token], parts: Sequence[Clause]) -> list[Token]:
    """What a sentence states before it asks something; nothing where it only states or only asks."""
    place = next((place for place, clause in enumerate(parts) if clause.asks), 0)
    return [token for token in tokens if token.start < parts[place].tokens[0].start] if place else []


def _sentence_facts(tokens: list[Token], context: _SentenceContext, *, question: bool) -> list[FactDraft]:
    words = context.grammar.clauses
    kept = without_opener([token for token in tokens if token.word not in words.fillers], words)
    clause = Clause(tokens=tuple(kept), asks=question)
    return [draft for draft, _ in _match_templates(clause, "sentence", context)]


def _clause_facts(clause: Clause, context: _SentenceContext, *, skip: bool) -> Iterator[tuple[FactDraft, str]]:
    yield from _match_templates(clause, "anywhere", context)
    words = context.grammar.clauses
    if skip or clause.lead in words.skipped or "clause" not in context.scopes:
        return
    guards = [guard for guard in _guards(clause.tokens, context.grammar)[0] if guard.scope == "clause"]
    context = replace(context, guards=(*context.guards, *guards))
    found = list(_match_templates(clause, "clause", context))
    if not found:
        later = without_prelude(clause, words)
        found = (
            [_with_prelude(*one, clause, context) for one in _match_templates(later, "clause", context)]
            if later
            else []
        )
        if not found:
            found = list(_negation_facts(later or clause, context))
        steady = without_change(later or clause, words)
        if not found and steady:
            found = list(_match_templates(steady, "clause", context))
    for draft, again in found or _elided_facts(clause, context):
        yield _with_condition(draft, clause, context), again


def _with_condition(draft: FactDraft, clause: Clause, context: _SentenceContext) -> FactDraft:
    """A rule with the clause behind it that says when it holds: "the app must work when the wifi drops"."""
    condition = context.following[0] if context.following else None
    if draft.key or draft.category not in _RULES or condition is None or condition.asks or not condition.tokens:
        return draft
    start, end = clause.tokens[-1].end, condition.tokens[-1].end
    is_whole = context.message.text[draft.start : start].endswith(draft.value)
    if condition.lead not in context.grammar.clauses.conditions or not is_whole or end - draft.start > MAX_QUOTE:
        return draft
    return replace(draft, value=f"{draft.value}{context.message.text[start:end]}", end=end)


def _with_prelude(draft: FactDraft, again: str, clause: Clause, context: _SentenceContext) -> tuple[FactDraft, str]:
    """A rule with what it is limited to: "in the kitchen we cannot use gas"."""
    start = min(token.start for token in clause.tokens)
    limit = context.message.text[start : draft.start].strip(" ,")
    if draft.key or draft.category not in _RULES or draft.since or draft.until or " " not in limit:
        return draft, again
    return replace(draft, value=f"{draft.value} {limit[0].lower()}{limit[1:]}", start=start), again


def _elided_facts(clause: Clause, context: _SentenceContext) -> Iterator[tuple[FactDraft, str]]:
    """The facts of a clause that begins a sentence, or stands behind a mark, and has left out its subject."""
    begins = not context.after or clause.lead in BREAKS
    full = with_subject(clause, context.grammar.clauses) if begins and not clause.asks else None
    if full is None:
        return
    found = list(_match_templates(full, "clause", context)) or list(_negation_facts(full, context))
    for draft, again in found:
        yield replace(draft, confidence=min(draft.confidence, _ELIDED_CONFIDENCE)), again


def _negation_facts(clause: Clause, context: _SentenceContext) -> Iterator[tuple[FactDraft, str]]:
    plain = without_negation(clause, context.grammar.clauses)
    if plain is None or without_negation(plain, context.grammar.clauses) is not None:
        return
    for draft, again in _match_templates(plain, "clause", context, negated=True):
        yield replace(draft, start=min(draft.start, clause.tokens[0].start)), again


def _match_templates(
    clause: Clause, scope: str, context: _SentenceContext, *, negated: bool = False
) -> Iterator[tuple[FactDraft, str]]:
    """The facts of the first template that matches a clause; of all, where they may match anywhere."""
    if scope not in context.scopes:
        return
    likely = context.grammar.templates[scope].likely(frozenset([token.word for token in clause.tokens]))
    joined = join_words(clause.tokens) if likely else ""
    for pattern, template in likely:
        if (clause.asks and not (template.asks or scope == "anywhere")) or (negated and not template.negatable):
            continue
        if template.needs and template.needs not in _spoken(context):
            continue
        if negated:
            template = replace(template, holds=False)  # noqa: PLW2901 - the same template, of what is not so
        if scope == "anywhere":
            for match in pattern.regex.finditer(joined):
                yield from _read_slots(match, pattern.slots, template, clause, context)
            continue
        match_ = pattern.regex.match(joined)
        drafts = list(_read_slots(match_, pattern.slots, template, clause, context)) if match_ else []
        if drafts:
            yield from drafts
            return


def _read_slots(
    match: Match[str], kinds: Mapping[str, str], template: Template, clause: Clause, context: _SentenceContext
) -> Iterator[tuple[FactDraft, str]]:
    slots = _slots(match, kinds, clause, context)
    for place, emission in enumerate(template.emissions):
        labels = [label for label in kinds if f"{{{label}}}" in f"{emission.key} {emission.value}"]
        if not all(slots.get(label) for label in labels) or not context.allows(
            emission.category, emission.key, holds=template.holds
        ):
            if place == 0:
                return
            continue
        limits = [label for label in kinds if f"{{{label}}}" == emission.limit and match.start(label) >= 0]
        if not all(slots[label] for label in limits):
            return
        for chosen in product(*(slots[label] for label in labels)):
            filled = dict(zip(labels, chosen, strict=True)) | {label: slots[label][0] for label in limits}
            yield _draft(emission, template, filled, clause, context), template.again


def _slots(
    match: Match[str], kinds: Mapping[str, str], clause: Clause, context: _SentenceContext
) -> dict[str, list[Value]]:
    starts: list[int] = []
    at = 0
    for token in clause.tokens:
        starts.append(at)
        at += len(token.word) + 1
    found: dict[str, list[Value]] = {}
    for label, kind in kinds.items():
        first, last = bisect_left(starts, match.start(label)), bisect_left(starts, match.end(label))
        slot = context.grammar.slots[kind]
        found[label] = values(clause.tokens[first:last], slot, context.grammar, context.sentence.text)
    return found


def _draft(
    emission: Emission, template: Template, filled: Mapping[str, Value], clause: Clause, context: _SentenceContext
) -> FactDraft:
    key, value, scope = emission.key, emission.value, None
    for label, chosen in filled.items():
        form = surface(chosen, context.message.text)
        value = value.replace(f"{{{label}}}", form)
        scope = form if emission.limit == f"{{{label}}}" else scope
        words = " ".join([token.word for token in chosen])
        key = key.replace(f"{{{label}}}", form if MASK in words else words) if key else key
    since, until = (None, None) if template.timeless else _period(emission, clause, context)
    ended = since is None and until is not None and until <= context.message.created_at
    if ended and emission.category in _AHEAD:
        ended, until = False, None  # nobody plans for the past
    start, end = _quote_span(clause, context)
    return FactDraft(
        message_id=context.message.id,
        category=emission.category,
        key=" ".join(key.lower().split()) if key else None,
        value=value,
        quote="",
        start=start,
        end=end,
        confidence=template.confidence,
        importance=emission.importance,
        holds=template.holds and not ended,
        since=since,
        until=None if ended else until,
        reason=_reason(filled, clause, context) if emission.category == "decision" else None,
        scope=scope,
        stands=_stands(template, clause, context) if key else "alone",
    )


def _stands(template: Template, clause: Clause, context: _SentenceContext) -> Stands:
    """Whether the value stands alone or beside others, by its template and by words such as "also"."""
    if template.stands != "alone" or template.timeless or not template.holds:
        return template.stands
    end = max(token.end for token in clause.tokens)
    words = {token.word for token in context.tokens if context.after <= token.start < end}
    marks = context.grammar.clauses
    if template.swaps and words & marks.changes:
        return "instead"
    return "beside" if words & marks.beside and not words & marks.changes else "alone"


def _spoken(context: _SentenceContext) -> set[str]:
    """The words of a clause up to the next, with those that patterns do not see, such as "nowadays"."""
    behind = context.following[0].tokens if context.following else ()
    end = behind[0].start if behind else context.sentence.end
    return {token.word for token in context.tokens if context.after <= token.start < end}


def _period(emission: Emission, clause: Clause, context: _SentenceContext) -> tuple[datetime | None, datetime | None]:
    """Since when and until when a fact holds, by its clause and by the next one, if that is a clause of time."""
    first = context.sentence.start
    places = [(token.start - first, token.end - first) for token in clause.tokens]
    following = context.following[0] if context.following else None
    if following and following.tokens and following.lead in context.grammar.time_leads:
        places.append((places[-1][1], following.tokens[-1].end - first))  # with the word that begins it
    coming = any(token.word in context.grammar.clauses.coming for token in clause.tokens)
    ahead = emission.category in _AHEAD
    return period(context.sentence.text, context.message.created_at, places, ahead=ahead, coming=coming)


def _quote_span(clause: Clause, context: _SentenceContext) -> tuple[int, int]:
    """Where the quote stands: the clause, or the sentence where the subject stands in another clause."""
    if clause.inherited:
        return context.sentence.start, max(token.end for token in clause.tokens)
    return min(token.start for token in clause.tokens), max(token.end for token in clause.tokens)


def _reason(filled: Mapping[str, Value], clause: Clause, context: _SentenceContext) -> str | None:
    """The words behind "because" and the like, in this clause or the next."""
    words = context.grammar.clauses
    end = max((value[-1].end for value in filled.values()), default=0)
    rest = [token for token in clause.tokens if token.start >= end]
    for at, token in enumerate(rest[:-1]):
        if token.word in words.reasons:
            return surface(rest[at + 1 :], context.message.text)
    if context.following and context.following[0].lead in words.reasons:
        return surface(context.following[0].tokens, context.message.text)
    return None
