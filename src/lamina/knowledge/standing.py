"""Facts: how they are compared, and how those about one thing stand to each other at any time.

A fact's standing is never edited: it follows from all facts of its slot, replayed in the order they were said. So the
order in which they were written does not matter, a forgotten one leaves no trace, and the past can be asked for.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from lamina.language.unicode import normalise
from lamina.profiles import Profile
from lamina.protocols.models import FactDraft
from lamina.values.fact import Fact, FactType, Why
from lamina.values.message import Message
from lamina.values.session import Counters

TYPES: Mapping[str, FactType] = {
    "identity": "fact",
    "preference": "preference",
    "constraint": "constraint",
    "instruction": "constraint",
    "goal": "goal",
    "decision": "decision",
    "procedure": "procedure",
    "commitment": "goal",
    "entity": "entity",
}
CATEGORIES = tuple(TYPES)
TELLING = 4  # characters
_NAMES = frozenset(("name", "full name", "nickname"))
_KEPT_IMPORTANCE = 0.8
_KEPT_LENGTH = 40  # characters
_KEPT_SHARE = 60  # tokens of a summary for each value that it must keep
_HOLDING = frozenset(("active", "superseded", "archived", "conflicted"))
_EDGES = " \t\n.,;:!?\"'()[]{}«»\u201c\u201d\u2018\u2019"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What happens when two values meet."""

    conflicts: Literal["newest", "confidence", "flag"] = "newest"
    promote: float = 0.0  # a fact less sure than this waits as a candidate
    margin: float = 0.3  # `newest`: a value less sure than the old one by more than this is a conflict


def rule_of(profile: Profile) -> Rule:
    return Rule(conflicts=profile.conflicts, promote=profile.promote_confidence)


def reads(profile: Profile) -> bool:
    """Whether messages are read for facts or episodes at all."""
    return profile.facts or profile.episodes


def is_unread(profile: Profile, counters: Counters) -> bool:
    """Whether a session has messages that were not read for facts and episodes yet."""
    return reads(profile) and counters.extracted < counters.messages


def folded(text: str) -> str:
    """Text without what does not count: width, case and the number of spaces; signs of every script stay."""
    if text.isascii():
        return " ".join(text.casefold().split())
    return " ".join(normalise("NFKC", normalise("NFKC", text).casefold()).split())


def normalised(text: str) -> str:
    """Text made comparable: folded, without punctuation at its ends."""
    return stripped(folded(text))


def stripped(text: str) -> str:
    """Text without punctuation at its ends, if it has anything else."""
    return text.strip(_EDGES) or text


def slot_of(key: str | None, value: str) -> str:
    return f"={normalised(value)}" if key is None else normalised(key)


def outlived(facts: Iterable[Fact]) -> dict[str, str]:
    """New slots of facts without a key whose slot is a value that none of them has any more: by the first they have."""
    found: dict[str, str] = {}
    for (_, slot), own in by_slot(fact for fact in facts if fact.key is None).items():
        if all(slot_of(None, fact.value) != slot for fact in own):
            found |= {fact.id: slot_of(None, min(own, key=order).value) for fact in own}
    return found


def drafted(draft: FactDraft, message: Message, *, user_id: str, fact_id: str, model: str, now: datetime) -> Fact:
    """A fact as it was said in a message."""
    return Fact(
        id=fact_id,
        user_id=user_id,
        type=TYPES.get(draft.category, "fact"),
        category=draft.category,
        key=draft.key,
        slot=slot_of(draft.key, draft.value),
        value=draft.value,
        origin="said",
        confidence=draft.confidence,
        importance=draft.importance,
        learnt_at=message.created_at,
        valid_from=draft.since or message.created_at,
        created_at=now,
        until=draft.until,
        holds=draft.holds,
        session_id=message.session_id,
        message_id=message.id,
        seq=message.seq,
        role=message.role,
        quote=draft.quote,
        start=draft.start,
        end=draft.end,
        reason=draft.reason,
        model=model,
    )


def true_to(draft: FactDraft, message: Message | None) -> bool:
    """Whether a draft says what a user's message says, word for word, and something at all."""
    if message is None or message.role != "user" or not draft.value.strip() or not draft.quote:
        return False
    sure = 0.0 <= draft.confidence <= 1.0 and 0.0 <= draft.importance <= 1.0
    return sure and draft.category in TYPES and message.text[draft.start : draft.end] == draft.quote


def claim(fact: Fact) -> tuple[object, ...]:
    """What makes two facts the same saying, whatever their ids."""
    return fact.message_id, fact.start, fact.end, fact.category, fact.slot, fact.holds, normalised(fact.value)


def mark(secret: bytes, fact: Fact) -> bytes:
    """What is kept of a forgotten value, so that it is not extracted again; it tells nothing without the secret."""
    said = f"{fact.user_id}\0{fact.slot}\0{normalised(fact.value)}"
    return hashlib.sha256(secret + said.encode()).digest()


def said(fact: Fact) -> str:
    """A fact in one line, for a reader."""
    line = (
        f"{fact.key}: {fact.value}" if fact.key and normalised(fact.key) not in normalised(fact.value) else fact.value
    )
    return line if fact.reason is None else f"{line} (because {fact.reason})"


def own_words(fact: Fact) -> list[str]:
    """The words of a fact that give it away: its value, or what is liked or not."""
    liked = fact.value.partition(" ")[2] if fact.category == "preference" else ""
    return [fact.value, liked] if liked else [fact.value]


def names(facts: Iterable[Fact]) -> tuple[str, ...]:
    """What the user is called, by what is known."""
    called = [fact.value for fact in facts if fact.key in _NAMES and fact.status == "active" and fact.holds]
    return tuple(dict.fromkeys(name for whole in called for name in (whole, *whole.split()[:1])))


def telling(fact: Fact) -> list[str]:
    """The words of a fact that give it away, as they stand in its quote, unless they are too short to tell."""
    found = []
    for words in own_words(fact):
        at = fact.quote.casefold().find(words.casefold())
        as_said = fact.quote[at : at + len(words)] if at >= 0 else ""
        if as_said.casefold() == words.casefold() and len(words) >= TELLING:
            found.append(as_said)
    return found


def worth_keeping(facts: Iterable[Fact], cap: int) -> tuple[str, ...]:
    """The values a summary of `cap` tokens must have: short ones, said in these words, the most important first."""
    values = [
        fact.value
        for fact in sorted(facts, key=lambda fact: (-fact.importance, *order(fact)))
        if fact.status == "active"
        and fact.importance >= _KEPT_IMPORTANCE
        and len(fact.value) <= _KEPT_LENGTH
        and fact.value.casefold() in fact.quote.casefold()
    ]
    return tuple(dict.fromkeys(values))[: max(1, cap // _KEPT_SHARE)]


# standing


def settled(facts: Iterable[Fact], rule: Rule) -> list[Fact]:
    """The facts of one slot with their standing, in the order in which they were learnt."""
    replay = _Replay(rule)
    for happens in sorted((event for fact in facts for event in _events(fact, rule)), key=lambda event: event.order):
        replay.take(happens)
    return sorted(replay.facts.values(), key=order)


def order(fact: Fact) -> tuple[object, ...]:
    """By when and where facts were said; what was told by hand at the same time comes behind, as its ids sort."""
    told = fact.id if fact.origin == "told" else ""
    return fact.learnt_at, told, fact.session_id or "", fact.seq, fact.start, fact.end, fact.value, fact.id


@dataclass(frozen=True, slots=True)
class _Event:
    kind: Literal["aside", "said", "put away"]
    at: datetime
    fact: Fact

    @property
    def order(self) -> tuple[object, ...]:
        rank = 1 if self.kind != "put away" else 0 if self.at > self.fact.learnt_at else 2
        return self.at, rank, *order(self.fact)


def _events(fact: Fact, rule: Rule) -> list[_Event]:
    """What a fact contributes to the replay of its slot."""
    if fact.verdict in {"retracted", "demoted"}:
        return [_Event("aside", fact.learnt_at, fact)]
    if fact.verdict == "promoted" and fact.verdict_at is not None:
        return [_Event("said", max(fact.verdict_at, fact.learnt_at), fact)]
    if fact.confidence < rule.promote and fact.origin == "said":
        return [_Event("aside", fact.learnt_at, fact)]
    uttered = [_Event("said", fact.learnt_at, fact)]
    if fact.verdict in {"archived", "merged"} and fact.verdict_at is not None:
        uttered.append(_Event("put away", max(fact.verdict_at, fact.learnt_at), fact))
    return uttered


class _Replay:
    """The facts of one slot, taken one after the other."""

    def __init__(self, rule: Rule) -> None:
        self.facts: dict[str, Fact] = {}
        self._rule = rule
        self._current: str | None = None
        self._sureness = 0.0  # of the current fact: the most that any time of saying it had
        self._versions = 0
        self._conflicted: dict[str, None] = {}  # in order; so no step looks at all that was said before

    def take(self, event: _Event) -> None:
        fact = replace(event.fact, status="candidate", valid_until=event.fact.until, of=None, version=1)
        if event.kind == "aside":
            self.facts[fact.id] = replace(fact, status="retracted" if fact.verdict == "retracted" else "candidate")
        elif event.kind == "put away":
            self._put_away(fact, event.at)
        elif not fact.holds:
            self._end(fact)
        else:
            self._say(fact)

    def _put_away(self, fact: Fact, at: datetime) -> None:
        if self._current != fact.id:
            return
        status: Literal["superseded", "archived"] = "superseded" if fact.verdict == "merged" else "archived"
        self._close(at, status, fact.verdict_by)
        self._current = None

    def _end(self, fact: Fact) -> None:
        current = self._standing()
        ended = current is not None and normalised(current.value) == normalised(fact.value)
        if current is not None and ended and self._wins(fact):
            self._close(fact.valid_from, "superseded", fact.id)
            self._current = None
        for one in [] if ended else [self.facts[rival] for rival in self._conflicted]:
            if normalised(one.value) == normalised(fact.value):
                self._close_one(one, fact.valid_from, "superseded", fact.id)
        self.facts[fact.id] = replace(fact, status="evidence", of=current.id if current and ended else None)

    def _say(self, fact: Fact) -> None:
        current = self._standing()
        if current is not None and current.until is not None and current.until <= fact.learnt_at:
            self._close(current.until, "superseded", fact.id)  # its time had run out
            current = None
        if current is None:
            self._hold(fact)
        elif normalised(current.value) == normalised(fact.value) and fact.replaces is None:
            self._sureness = max(self._sureness, fact.confidence)
            self.facts[fact.id] = replace(fact, status="evidence", of=current.id)
        elif self._wins(fact):
            self._close(fact.valid_from, "superseded", fact.id)
            self._hold(fact)
        elif self._rule.conflicts == "confidence":
            self.facts[fact.id] = replace(fact, of=current.id)
        else:
            self._versions += 1
            self.facts[fact.id] = replace(fact, status="conflicted", of=current.id, version=self._versions)
            self._conflicted[fact.id] = None

    def _standing(self) -> Fact | None:
        return None if self._current is None else self.facts[self._current]

    def _wins(self, fact: Fact) -> bool:
        if fact.verdict == "promoted" or fact.origin == "told" or fact.replaces is not None:
            return True
        if self._rule.conflicts == "flag":
            return not fact.holds
        margin = self._rule.margin if self._rule.conflicts == "newest" else 0.0
        return fact.confidence >= self._sureness - margin

    def _hold(self, fact: Fact) -> None:
        self._versions += 1
        self._current, self._sureness = fact.id, fact.confidence
        self.facts[fact.id] = replace(fact, status="active", version=self._versions)

    def _close(self, at: datetime, status: Literal["superseded", "archived"], by: str | None) -> None:
        """End the current fact, and what was in conflict with it."""
        rivals = [self.facts[rival] for rival in self._conflicted] if by else []
        for fact in [self.facts[str(self._current)], *(one for one in rivals if one.of == self._current)]:
            self._close_one(fact, at, status, by)

    def _close_one(self, fact: Fact, at: datetime, status: Literal["superseded", "archived"], by: str | None) -> None:
        self.facts[fact.id] = _closed(fact, at, status, by)
        self._conflicted.pop(fact.id, None)


def _closed(fact: Fact, at: datetime, status: Literal["superseded", "archived"], by: str | None) -> Fact:
    end = max(fact.valid_from, at)
    until = end if fact.valid_until is None else min(end, fact.valid_until)
    return replace(fact, status=status, valid_until=until, of=by)


def reasons(why: Why, rule: Rule) -> Iterator[str]:
    """In words, where a fact comes from and why it stands as it does."""
    fact = why.fact
    when = fact.learnt_at.date()
    if fact.origin == "told":
        yield f"told by hand on {when}"
    else:
        place = f"session {fact.session_id}, message {fact.seq}"
        yield f"said by the {fact.role} on {when} in {place}: \u201c{fact.quote}\u201d"
        yield f"found by {fact.model} with confidence {fact.confidence:g}"
    repeats = [one for one in why.evidence if one.holds]
    if repeats:
        often = "once more" if len(repeats) == 1 else f"{len(repeats)} more times, last"
        yield f"said {often} on {repeats[-1].learnt_at.date()}"
    if why.before is not None:
        since = why.before.learnt_at.date()
        yield f"took the place of {said(why.before)!r}, known since {since} (rule: {rule.conflicts})"
    if why.conflicts:
        yield f"in conflict with {', '.join(repr(said(one)) for one in why.conflicts if one.id != fact.id)}"
    yield from _standing_reasons(why, rule)


def _standing_reasons(why: Why, rule: Rule) -> Iterator[str]:
    fact = why.fact
    if fact.verdict is not None and fact.verdict_at is not None:
        yield f"{fact.verdict} on {fact.verdict_at.date()}"
    if fact.status == "candidate" and fact.verdict is None:
        surer = f"a surer value holds (rule: {rule.conflicts})" if fact.of else f"less sure than {rule.promote:g}"
        yield f"a candidate: {surer}; promote it to make it hold"
    if fact.status == "superseded" and why.after is not None:
        change = f"{said(why.after)!r} took its place" if why.after.holds else "it was said to hold no longer"
        yield f"held until {fact.valid_until.date() if fact.valid_until else 'then'}: {change}"
    if fact.status == "active":
        yield f"holds since {fact.valid_from.date()}" + (f" until {fact.until.date()}" if fact.until else "")


def by_slot(facts: Iterable[Fact]) -> dict[tuple[str, str], list[Fact]]:
    slots: dict[tuple[str, str], list[Fact]] = {}
    for fact in facts:
        slots.setdefault((fact.category, fact.slot), []).append(fact)
    return slots


# time


def known_at(facts: Iterable[Fact], at: datetime, rule: Rule) -> list[Fact]:
    """The facts as they stood with all that was known at a time."""
    learnt = [_unjudged(fact, at) for fact in facts if fact.learnt_at <= at]
    return [fact for slot in by_slot(learnt).values() for fact in settled(slot, rule)]


def _unjudged(fact: Fact, at: datetime) -> Fact:
    """A fact without a verdict that came later."""
    if fact.verdict_at is None or fact.verdict_at <= at:
        return fact
    return replace(fact, verdict=None, verdict_at=None, verdict_by=None)


def holding(facts: Iterable[Fact], as_of: datetime) -> list[Fact]:
    """Those that hold at a time, the most important first."""
    held = [fact for fact in facts if fact.status in _HOLDING and fact.holds and _valid(fact, as_of)]
    return sorted(held, key=lambda fact: (-fact.importance, *order(fact)))


def _valid(fact: Fact, at: datetime) -> bool:
    return fact.valid_from <= at and (fact.valid_until is None or at < fact.valid_until)


# choosing


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which memories are wanted; what is left empty does not restrict."""

    types: frozenset[str] = frozenset()
    categories: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()  # any of them
    statuses: frozenset[str] = frozenset()
    since: datetime | None = None  # learnt or happened at this time or later
    until: datetime | None = None  # before this time
    min_importance: float = 0.0

    @property
    def for_facts(self) -> bool:
        """Whether it asks for what only facts have."""
        return bool(self.types or self.categories or self.tags or self.statuses)

    def takes(self, fact: Fact) -> bool:
        return (
            (not self.types or fact.type in self.types)
            and (not self.categories or fact.category in self.categories)
            and (not self.tags or bool(self.tags.intersection(fact.tags)))
            and (not self.statuses or fact.status in self.statuses)
            and fact.importance >= self.min_importance
            and self.in_time(fact.learnt_at)
        )

    def in_time(self, at: datetime) -> bool:
        return (self.since is None or at >= self.since) and (self.until is None or at < self.until)
