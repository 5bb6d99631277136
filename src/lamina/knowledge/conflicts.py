"""Which value holds: the facts about one thing replayed in order, and conflicts decided by the profile's rule.

A fact's status is never edited: it follows from all facts of its slot and of the slots beside it (its family),
replayed in the order they were said. So the order in which they were written does not matter, a forgotten one leaves no
trace, and the past can be asked for.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from lamina.knowledge.fact_words import INSTEAD, describe_fact, family_of, names_value, normalise_value, slot_of
from lamina.knowledge.projects import slot_in
from lamina.profiles import Profile
from lamina.values.fact import ConflictRule, Fact, Why

_KEPT_IMPORTANCE = 0.8
_KEPT_LENGTH = 40  # characters
_KEPT_SHARE = 60  # tokens of a summary for each value that it must keep
_HOLDING = frozenset(("active", "superseded", "archived", "conflicted"))


def rule_of(profile: Profile) -> ConflictRule:
    return ConflictRule(conflicts=profile.conflicts, promote=profile.promote_confidence)


def new_slots(facts: Iterable[Fact]) -> dict[str, str]:
    """New slots of facts whose slot is a value that none of them has any more: by the first value they have."""
    found: dict[str, str] = {}
    for (_, slot), own in by_slot(fact for fact in facts if names_value(fact.slot)).items():
        if all(_own_slot(fact) != slot for fact in own):
            found |= {fact.id: _own_slot(min(own, key=order)) for fact in own}
    return found


def _own_slot(fact: Fact) -> str:
    return slot_in(slot_of(fact.key, fact.value, fact.about, fact.scope, "beside"), fact.project_id)


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


# resolving


def resolve(facts: Iterable[Fact], rule: ConflictRule) -> list[Fact]:
    """The facts of one family with their standing, in the order in which they were learnt."""
    family = _Family(rule)
    for happens in sorted((event for fact in facts for event in _events(fact, rule)), key=lambda event: event.order):
        family.take(happens)
    return sorted((fact for replay in family.replays.values() for fact in replay.facts.values()), key=order)


def order(fact: Fact) -> tuple[object, ...]:
    """By when and where facts were said; what was told by hand at the same time comes behind, as its ids sort."""
    by_hand = fact.id if fact.origin == "told" else ""
    return fact.learnt_at, by_hand, fact.session_id or "", fact.seq, fact.start, fact.end, fact.value, fact.id


@dataclass(frozen=True, slots=True)
class _Event:
    kind: Literal["aside", "said", "put away"]
    at: datetime
    fact: Fact

    @property
    def order(self) -> tuple[object, ...]:
        rank = 1 if self.kind != "put away" else 0 if self.at > self.fact.learnt_at else 2
        return self.at, rank, *order(self.fact)


def _events(fact: Fact, rule: ConflictRule) -> list[_Event]:
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


def twins(fact: Fact) -> list[str]:
    """The other slots in which the value of a fact may hold."""
    family = family_of(fact.slot)
    places = (family, f"{family}{INSTEAD}", f"{family}{INSTEAD}{normalise_value(fact.value)}")
    return [place for place in places if place != fact.slot]


class _Family:
    """A slot and those beside it: each has its own value; what ends one, or replaces all, reaches the others."""

    def __init__(self, rule: ConflictRule) -> None:
        self.replays: dict[str, _Replay] = {}
        self._rule = rule

    def take(self, event: _Event) -> None:
        fact = event.fact
        own = self.replays.setdefault(fact.slot, _Replay(self._rule))
        if event.kind != "said" or len(self.replays) == 1:
            own.take(event)
        elif not fact.holds:
            own.take(event)
            for other in self._others(own):
                other.end_same(fact)
        elif fact.slot.endswith(INSTEAD):
            own.take(event)
            for other in self._others(own) if own.facts[fact.id].status == "active" else ():
                other.give_way(fact)
        elif own.says(fact):
            own.take(event)
        else:
            (self._twin(fact) or own).take(event)

    def _others(self, own: "_Replay") -> list["_Replay"]:
        return [replay for replay in self.replays.values() if replay is not own]

    def _twin(self, fact: Fact) -> "_Replay | None":
        """The other slot in which the same value holds already."""
        found = (self.replays[slot] for slot in twins(fact) if slot in self.replays)
        return next((replay for replay in found if fact.replaces is None and replay.says(fact)), None)


class _Replay:
    """The facts of one slot, taken one after the other."""

    def __init__(self, rule: ConflictRule) -> None:
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

    def says(self, fact: Fact) -> bool:
        """Whether the same value holds here when a fact is said."""
        current = self._standing()
        if current is None or normalise_value(current.value) != normalise_value(fact.value):
            return False
        return current.until is None or current.until > fact.learnt_at

    def end_same(self, fact: Fact) -> None:
        """End the current value if another slot says that it has ended."""
        if self.says(fact):
            self.give_way(fact)

    def give_way(self, fact: Fact) -> None:
        """End the current value for a fact of another slot, if that is sure enough."""
        if self._current is not None and self._wins(fact):
            self._close(fact.valid_from, "superseded", fact.id)
            self._current = None

    def _put_away(self, fact: Fact, at: datetime) -> None:
        if self._current != fact.id:
            return
        status: Literal["superseded", "archived"] = "superseded" if fact.verdict == "merged" else "archived"
        self._close(at, status, fact.verdict_by)
        self._current = None

    def _end(self, fact: Fact) -> None:
        current = self._standing()
        ended = current is not None and normalise_value(current.value) == normalise_value(fact.value)
        if current is not None and ended and self._wins(fact):
            self._close(fact.valid_from, "superseded", fact.id)
            self._current = None
        for one in [] if ended else [self.facts[rival] for rival in self._conflicted]:
            if normalise_value(one.value) == normalise_value(fact.value):
                self._close_one(one, fact.valid_from, "superseded", fact.id)
        self.facts[fact.id] = replace(fact, status="evidence", of=current.id if current and ended else None)

    def _say(self, fact: Fact) -> None:
        current = self._standing()
        if current is not None and current.until is not None and current.until <= fact.learnt_at:
            self._close(current.until, "superseded", fact.id)  # its time had run out
            current = None
        if current is None:
            self._hold(fact)
        elif normalise_value(current.value) == normalise_value(fact.value) and fact.replaces is None:
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
        self.facts[fact.id] = _end_fact(fact, at, status, by)
        self._conflicted.pop(fact.id, None)


def _end_fact(fact: Fact, at: datetime, status: Literal["superseded", "archived"], by: str | None) -> Fact:
    end = max(fact.valid_from, at)
    until = end if fact.valid_until is None else min(end, fact.valid_until)
    return replace(fact, status=status, valid_until=until, of=by)


def reasons(why: Why, rule: ConflictRule) -> Iterator[str]:
    """In words, where a fact comes from and why it stands as it does."""
    fact = why.fact
    when = fact.learnt_at.date()
    if fact.origin == "told":
        yield f"told by hand on {when}" + (f": \u201c{fact.quote}\u201d" if fact.quote else "")
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
        yield f"took the place of {describe_fact(why.before)!r}, known since {since} (rule: {rule.conflicts})"
    if why.conflicts:
        yield f"in conflict with {', '.join(repr(describe_fact(one)) for one in why.conflicts if one.id != fact.id)}"
    yield from _standing_reasons(why, rule)


def _standing_reasons(why: Why, rule: ConflictRule) -> Iterator[str]:
    fact = why.fact
    if fact.verdict is not None and fact.verdict_at is not None:
        yield f"{fact.verdict} on {fact.verdict_at.date()}"
    if fact.status == "candidate" and fact.verdict is None:
        surer = (
            f"a value with higher confidence is current (rule: {rule.conflicts})"
            if fact.of
            else f"less sure than {rule.promote:g}"
        )
        yield f"a candidate: {surer}; promote it to make it current"
    if fact.status == "superseded" and why.after is not None:
        change = f"{describe_fact(why.after)!r} took its place" if why.after.holds else "it was said to have ended"
        yield f"held until {fact.valid_until.date() if fact.valid_until else 'then'}: {change}"
    if fact.status == "active":
        yield f"valid since {fact.valid_from.date()}" + (f" until {fact.until.date()}" if fact.until else "")


def history(fact_id: str, facts: Iterable[Fact]) -> list[Fact]:
    """Every value of what a fact is about, with those of the slots beside it that one of these took the place of."""
    family = next(some for some in by_family(facts).values() if any(fact.id == fact_id for fact in some))
    slot = next(fact.slot for fact in family if fact.id == fact_id)
    own = {fact.id for fact in family if fact.slot == slot}
    values = [fact for fact in family if fact.status != "evidence" or not fact.holds]
    return [fact for fact in values if fact.id in own or (fact.status == "superseded" and fact.of in own)]


def by_slot(facts: Iterable[Fact]) -> dict[tuple[str, str], list[Fact]]:
    slots: dict[tuple[str, str], list[Fact]] = {}
    for fact in facts:
        slots.setdefault((fact.category, fact.slot), []).append(fact)
    return slots


def by_family(facts: Iterable[Fact]) -> dict[tuple[str, str], list[Fact]]:
    """The facts that are resolved together."""
    families: dict[tuple[str, str], list[Fact]] = {}
    for fact in facts:
        families.setdefault(place_of(fact), []).append(fact)
    return families


def place_of(fact: Fact) -> tuple[str, str]:
    """The category and family of a fact."""
    return fact.category, family_of(fact.slot)


# time


def as_known_at(facts: Iterable[Fact], at: datetime, rule: ConflictRule) -> list[Fact]:
    """The facts as they stood with all that was known at a time."""
    learnt = [_without_later_verdict(fact, at) for fact in facts if fact.learnt_at <= at]
    return [fact for family in by_family(learnt).values() for fact in resolve(family, rule)]


def _without_later_verdict(fact: Fact, at: datetime) -> Fact:
    """A fact without a verdict that came later."""
    if fact.verdict_at is None or fact.verdict_at <= at:
        return fact
    return replace(fact, verdict=None, verdict_at=None, verdict_by=None)


def holding(facts: Iterable[Fact], as_of: datetime) -> list[Fact]:
    """Those that hold at a time, the most important first."""
    return sorted(true_at(facts, as_of), key=by_importance)


def true_at(facts: Iterable[Fact], at: datetime) -> list[Fact]:
    """Those that are true at a time, in the order given."""
    return [fact for fact in facts if fact.status in _HOLDING and fact.holds and _valid(fact, at)]


def by_importance(fact: Fact) -> tuple[object, ...]:
    """The most important first; of equals, in the order in which they were learnt."""
    return -fact.importance, *order(fact)


def _valid(fact: Fact, at: datetime) -> bool:
    return fact.valid_from <= at and (fact.valid_until is None or at < fact.valid_until)
