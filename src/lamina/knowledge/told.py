"""Memories told by hand: checked, read as if the user had said them, and joined with what is known."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from lamina.errors import InputError
from lamina.knowledge.duplicates import find_duplicates
from lamina.knowledge.episodes import jaccard
from lamina.knowledge.fact_drafts import draft_slot
from lamina.knowledge.fact_words import TYPES, describe_fact, family_of, names, normalise_value, slot_of
from lamina.language.times import moment
from lamina.language.words import terms
from lamina.log.messages import check_project_id
from lamina.protocols.models import FactDraft, Statement
from lamina.values.fact import FACT_TYPES, Fact, FactType, Remembered

MAX_VALUE = 4_000  # characters of a memory told by hand
_MAX_QUOTE = 240
_SIMILAR = 0.9  # share of common terms from which two memories are the same
_MAYBE_SIMILAR = 0.5
_EDGES = re.compile(r"^(?:[\s,;:.]|(?:and|but|or|und|aber|oder|y|e|pero)\b)+|[\s,;:.]+$", re.IGNORECASE)
_NAME = re.compile(r"[^\W\d_]{2,}")
_PIECES = re.compile(r"(?<=[.;!])\s+|,\s+(?:(?:and|but)\s+)?")
_GONE = "\u2026"  # stands where a value was that has ended
_MAX_EMPTY = 2  # terms of a piece that says nothing without its value: "User works as a ..."
_NO_NAMES = frozenset(("default", "user"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A memory as it was told, checked; None: not given."""

    user_id: str
    text: str
    type: FactType | None = None
    category: str | None = None
    key: str | None = None
    tags: tuple[str, ...] = ()
    importance: float | None = None
    confidence: float | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    project_id: str | None = None


def check_told(
    text: str,
    *,
    user_id: str,
    project_id: str | None,
    type: FactType | None,  # noqa: A002 - the word of the glossary
    category: str | None,
    key: str | None,
    tags: Sequence[str],
    importance: float | None,
    confidence: float | None,
    valid_from: Any,
    valid_until: Any,
) -> Told:
    """What a caller tells, if it can be a memory."""
    if type is not None and type not in FACT_TYPES:
        raise InputError(f"no type {type!r}; there are {list(FACT_TYPES)}")
    told = Told(
        user_id=user_id,
        project_id=None if project_id is None else check_project_id(project_id),
        text=check_value(text),
        type=type,
        category=None if category is None else check_word(category, "category"),
        key=None if key is None else check_word(key, "key"),
        tags=check_tags(tags),
        importance=None if importance is None else check_share(importance, "importance"),
        confidence=None if confidence is None else check_share(confidence, "confidence"),
        valid_from=None if valid_from is None else moment(valid_from, "valid_from"),
        valid_until=None if valid_until is None else moment(valid_until, "valid_until"),
    )
    if told.valid_from and told.valid_until and told.valid_until <= told.valid_from:
        raise InputError("valid_until must be later than valid_from")
    return told


def names_of(user_id: str, known: Iterable[Fact]) -> list[str]:
    """What the user is called, by what is known and by their id."""
    plain = [user_id] if _NAME.fullmatch(user_id) and user_id.casefold() not in _NO_NAMES else []
    return [*names(known), *plain]


def facts_of(
    told: Told,
    statement: Statement | None,
    known: Sequence[Fact],
    *,
    now: datetime,
    new_id: Callable[[], str],
    model: str,
    ended: frozenset[str] = frozenset(),
) -> list[Fact]:
    """The facts that a telling makes: those read from it, and the text itself where they leave something out.

    `ended` are words of known facts that the text says to have ended: they need not be kept with it.
    """
    drafts = [] if statement is None else list(_usable(told, statement, known))
    plain = (
        statement is None
        or len(drafts) < len(statement.drafts)
        or bool(statement.unread - _before(drafts, known) - ended)
    )
    if told.key is not None:
        plain = not drafts
    facts = [_from_draft(told, draft, now, new_id(), model) for draft in drafts]
    facts = [replace(fact, **quote) for fact, quote in zip(facts, _quotes(told.text, drafts), strict=True)]
    return facts if drafts and not plain else [*facts, _plain(told, known, now, new_id())]


def _usable(told: Told, statement: Statement, known: Sequence[Fact]) -> Iterable[FactDraft]:
    """The drafts that say as much as the text does."""
    for draft in statement.drafts:
        if told.category not in {None, draft.category}:
            continue
        if told.key is not None and slot_of(told.key, "") != family_of(draft_slot(draft)):
            continue
        if told.key is not None and _is_part(draft, told, statement):
            continue
        if draft.key is None and (draft.category == "entity" or told.type is not None):
            continue
        if draft.holds or _ends_one(draft, known):
            yield draft


def _is_part(draft: FactDraft, told: Told, statement: Statement) -> bool:
    """Whether a value told with its key begins with the one that was read, and says more: "nurse at St. Olav"."""
    value = normalise_value(draft.value)
    others = {term for other in statement.drafts if other is not draft for term in terms(other.value)}
    left_out = ({*terms(told.text)} - {*terms(value)}) & (others | statement.unread)
    return normalise_value(told.text).startswith(value) and bool(left_out)


def _before(drafts: Sequence[FactDraft], known: Sequence[Fact]) -> frozenset[str]:
    """The words of values that new ones take the place of."""
    places = {(draft.category, family_of(draft_slot(draft))) for draft in drafts}
    before = [fact for fact in known if _is_current(fact) and (fact.category, family_of(fact.slot)) in places]
    return frozenset(term for fact in before for term in terms(fact.value))


def _ends_one(draft: FactDraft, known: Sequence[Fact]) -> bool:
    place = (draft.category, family_of(draft_slot(draft)), normalise_value(draft.value))
    current = (fact for fact in known if _is_current(fact))
    return any((fact.category, family_of(fact.slot), normalise_value(fact.value)) == place for fact in current)


def _is_current(fact: Fact) -> bool:
    return fact.status in {"active", "conflicted"} and fact.holds


def _from_draft(told: Told, draft: FactDraft, now: datetime, fact_id: str, model: str) -> Fact:
    since = told.valid_from or draft.since or now
    until = told.valid_until or draft.until
    return Fact(
        id=fact_id,
        user_id=told.user_id,
        type=told.type or TYPES.get(draft.category, "fact"),
        category=draft.category,
        key=draft.key,
        slot=draft_slot(draft),
        value=draft.value,
        origin="told",
        confidence=draft.confidence if told.confidence is None else told.confidence,
        importance=draft.importance if told.importance is None else told.importance,
        learnt_at=now,
        valid_from=since,
        created_at=now,
        until=None if until is None or until <= since else until,
        holds=draft.holds,
        about=draft.about,
        scope=draft.scope,
        reason=draft.reason,
        tags=told.tags,
        model=model,
    )


def _quotes(text: str, drafts: Sequence[FactDraft]) -> Iterable[dict[str, Any]]:
    """The words of each fact alone: what one of them says stands in the quote of no other."""
    if len(drafts) == 1 and len(text) <= _MAX_QUOTE:
        return [{"quote": text, "start": 0, "end": len(text)}]
    found, before = [], 0
    spans = [(draft.start, draft.end) for draft in drafts]
    for draft in drafts:
        start, end = (draft.start, draft.end) if spans.count((draft.start, draft.end)) == 1 else (0, 0)
        start = max(start, min(before, end))
        if start >= end or any(one is not draft and one.value in text[start:end] for one in drafts):
            start = max(0, text.find(draft.value))
            end = start + (len(draft.value) if draft.value in text else 0)
        quote = _EDGES.sub("", text[start:end])
        start = text.find(quote, start) if quote else 0
        found.append({"quote": quote, "start": start, "end": start + len(quote)})
        before = max(before, draft.end)
    return found


def _plain(told: Told, known: Sequence[Fact], now: datetime, fact_id: str) -> Fact:
    """The text as it is; under a key that is known, beside what is known of it."""
    kind = told.type or "fact"
    fact = Fact(
        id=fact_id,
        user_id=told.user_id,
        type=kind,
        category=told.category or _category_of(told.key, known) or kind,
        key=told.key,
        slot=slot_of(told.key, told.text),
        value=told.text,
        origin="told",
        confidence=1.0 if told.confidence is None else told.confidence,
        importance=FACT_TYPES[kind] if told.importance is None else told.importance,
        learnt_at=now,
        valid_from=told.valid_from or now,
        created_at=now,
        until=told.valid_until,
        tags=told.tags,
    )
    if fact.until is not None and fact.until <= fact.valid_from:
        raise InputError("valid_until must be later than valid_from")
    return fact


def _category_of(key: str | None, known: Sequence[Fact]) -> str | None:
    """The category in which a key has a value now."""
    if key is None:
        return None
    slot = slot_of(key, "")
    return next(
        (fact.category for fact in reversed(known) if family_of(fact.slot) == slot and fact.key and _is_current(fact)),
        None,
    )


def join_repeat(fact: Fact, known: Sequence[Fact], in_first_person: Callable[[str], str]) -> Fact:
    """A memory without a key, as one more telling of one that says nearly the same words, if there is one."""
    own = frozenset(terms(fact.value))
    alike = [
        one
        for one in known
        if one.key is None
        and _is_current(one)
        and (one.category, one.type) == (fact.category, fact.type)
        and jaccard(own, frozenset(terms(one.value))) >= _MAYBE_SIMILAR
    ]
    for one in alike:
        if one.slot == fact.slot:
            return fact
        pair = [replace(each, value=in_first_person(each.value)) for each in (one, fact)]
        same = normalise_value(pair[0].value) == normalise_value(pair[1].value)
        if same or find_duplicates(pair, _SIMILAR):
            return replace(fact, slot=one.slot, value=one.value, quote=fact.value, end=len(fact.value))
    return fact


def leftovers(
    fresh: Sequence[Fact], known: Sequence[Fact], *, now: datetime, new_id: Callable[[], str]
) -> tuple[list[Fact], list[Fact]]:
    """Texts kept whole for one fact in them, of which a new fact has ended a value; and what else these say."""
    ended: dict[str, tuple[Fact, list[str]]] = {}
    for new in fresh:
        for old in known:
            place = (old.category, old.slot) == (new.category, new.slot) and old.key is not None
            if not place or old.origin != "told" or not _is_current(old):
                continue
            if new.holds and normalise_value(old.value) == normalise_value(new.value):
                continue
            for text in known:
                if _is_current(text) and is_from_same_telling(text, old) and old.value in text.value:
                    merged = replace(text, verdict="merged", verdict_at=now, verdict_by=new.id)
                    ended.setdefault(text.id, (merged, []))[1].append(old.value)
    rests = [_without(text, values, now, new_id) for text, values in ended.values()]
    return [text for text, _ in ended.values()], [rest for rest in rests if rest is not None]


def _without(text: Fact, values: Iterable[str], now: datetime, new_id: Callable[[], str]) -> Fact | None:
    """A text that was kept whole without values that have ended; None if it then says nothing."""
    kept = []
    for piece in _PIECES.split(text.value):
        left = piece
        for value in values:
            left = left.replace(value, _GONE)
        if left == piece or len(set(terms(left))) > _MAX_EMPTY:
            kept.append(left)
    rest = ", ".join(kept)
    if not terms(rest):
        return None
    return replace(
        text,
        id=new_id(),
        value=rest,
        slot=slot_of(None, rest),
        created_at=now,
        verdict=None,
        verdict_at=None,
        verdict_by=None,
    )


def is_from_same_telling(one: Fact, other: Fact) -> bool:
    """Whether one is the text, kept whole, that the other was read from."""
    told = one.origin == other.origin == "told" and one.learnt_at == other.learnt_at
    return told and one.id != other.id and one.key is None and one.model is None


def acknowledge(made: Sequence[Remembered]) -> str:
    """What became of a telling, in a line for each fact."""
    return "\n".join(acknowledge_one(one) for one in made)


def acknowledge_one(one: Remembered) -> str:
    """What became of one fact, in a line."""
    words = " ".join(describe_fact(one.fact).split())
    if one.ended:
        return f"no longer true: {words}"
    if one.repeated:
        return f"already known: {words}"
    before = "" if one.before is None else f" (before: {' '.join(one.before.value.split())})"
    return f"remembered: {words}{before}"


# checks


def check_value(text: Any) -> str:
    if not isinstance(text, str) or not text.strip():
        raise InputError("a memory needs text")
    if len(text) > MAX_VALUE:
        raise InputError(f"a memory may have {MAX_VALUE:,} characters, not {len(text):,}; add long texts as messages")
    if "\0" in text:
        raise InputError("the text has a NUL character; remove it")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError("the text has a lone surrogate, which is no valid Unicode; remove it") from None
    return text.strip()


def check_word(text: Any, name: str) -> str:
    try:
        return check_value(text)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None


def check_share(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InputError(f"{name} must be a number from 0 to 1, not {value!r}")
    return float(value)


def check_tags(tags: Any) -> tuple[str, ...]:
    if isinstance(tags, str) or not all(isinstance(tag, str) and tag.strip() for tag in tags):
        raise InputError("tags must be a list of words")
    return tuple(dict.fromkeys(check_word(tag, "tag") for tag in tags))
