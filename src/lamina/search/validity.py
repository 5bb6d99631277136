"""What is true at the time that is asked about comes first: "Where do I live?", "Where did I live before?".

Two things tell it: known facts, of which newer ones took the place of older ones, and the words of the newer of two
texts on one matter: "the launch has moved to 2 April".
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime
from functools import cache, cached_property
from typing import NamedTuple

from lamina.knowledge.changes import AGENTS
from lamina.language import date_words
from lamina.language.changes import Changes, are_other_things, changes_in, other_subject
from lamina.language.dates import Window
from lamina.language.words import stem, terms
from lamina.search.explain import hit_of
from lamina.search.fact_table import FactTable, slot_key
from lamina.search.question import Question
from lamina.values.fact import Fact
from lamina.values.hit import Hit

WeightedHit = tuple[Hit, float]  # a hit, and how much it is worth beside the others

MAX_COMPARED = 25  # hits among which what is true is looked for
_MAX_REORDERED = 12  # hits, the best, that may have to stand behind it
_MAX_CHARACTERS = 200  # of a text that may announce a change
_OVER_TIME = re.compile(  # of a list: what was, too
    r"\b(?:ever|history|so far|before|previous(?:ly)?|past|former(?:ly)?|over the years|used to|been|had|did|was|were"
    r"|(?:work|liv|stay|stud|resid|attend|employ|dat|own|us|play)i?ed)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_STATE = re.compile(  # how somebody says in what state something is since lately
    r"\b(?:has|have) (?:now |since |just )?(?:gone|moved|switched|turned|come|passed|entered|reached)\b"
    r"|\b(?:rebooked|moved|put|switched|transferred|bumped) (?:me|us) (?:on|onto|to|into)\b"
    r"|\bthis (?:season|term|semester|winter|spring|summer|autumn|fall)\b",
    re.IGNORECASE,
)
_CLOCK = re.compile(r"\d:\d\d|\bat \d|\d ?[ap]m\b", re.IGNORECASE)
_DAYS = frozenset(stem(word) for word in (*date_words.MONTHS, *date_words.WEEKDAYS))
_ATTRIBUTE = re.compile(r"\b(?:my|our|the)\s+(?P<what>[^\W\d_]+(?: [^\W\d_]+)?)\s+(?:is|are)\b", re.IGNORECASE)


class Validity:
    """Which of the known facts answer a question, by when they were true."""

    def __init__(self, question: Question, facts: FactTable, at: datetime, *, applies: bool = True) -> None:
        self._question, self._facts, self._at = question, facts, at
        self._changes_in, self._terms_in = cache(changes_in), cache(_terms_in)  # each text is compared many times
        self._asked = frozenset(question.terms)
        self._windows = _past_windows(question, at)
        self._is_past = question.tense == "past" or bool(self._windows)
        asks_keys = bool(question.fact_keys) and not self._is_past
        self._lists = applies and (question.asks_many or asks_keys) and bool(_OVER_TIME.search(question.text))
        is_timed = question.tense is not None or self._is_past
        self.applies = applies and is_timed and not question.asks_many and not self._lists

    def _known(self, facts: Iterable[Fact]) -> list[Fact]:
        """Those that were learnt by then, and had begun."""
        return [fact for fact in facts if fact.learnt_at <= self._at and fact.valid_from <= self._at]

    def ended(self) -> set[str]:
        """The facts that are no longer true, and answer a question about the past or lead to what is true now."""
        if self._lists:
            return {fact.id for key in self._question.fact_keys for fact in self._with_key(key)}
        if self._is_past:
            return {fact.id for fact in self._all if self._answers(fact)}
        return self._bridges

    @cached_property
    def _all(self) -> list[Fact]:
        return self._known(self._facts.by_id.values()) if self.applies or self._lists else []

    @cached_property
    def _bridges(self) -> set[str]:
        """Facts that ended and have a successor: whoever asks in their words wants that one."""
        if self._is_past or not self.applies:
            return set()
        slots = [own for own in map(self._known, self._facts.shared) if len(own) > 1 and any(map(self._answers, own))]
        return {fact.id for own in slots for fact in own if self._is_over(fact)}

    def _with_key(self, key: str) -> Iterator[Fact]:
        """The facts with a key, or with one that begins with it, which ended."""
        for fact in self._all:
            if fact.key is not None and key in {fact.key, fact.key.partition(" ")[0]} and fact.about is None:
                yield fact

    def order(self, hits: Sequence[WeightedHit], allowed: AbstractSet[str]) -> list[WeightedHit]:
        """What was true then before what was not; `allowed` are facts that may be shown though they were not found."""
        found = [(self._with_end(hit), weight) for hit, weight in hits]
        if not self.applies:
            return found
        first: set[str] = set()
        for position in range(min(_MAX_REORDERED, len(found))):
            better = self._better(found, position)
            if better is not None:
                found.insert(position, _raise(found.pop(better), found[position]))
                first.add(found[position][0].id)
            elif (fact := self._missing(found, position, allowed)) is not None:
                found.insert(position, _pull_in(fact, found[position]))
                first.add(fact.id)
        found = [one for one in found if one[0].id not in self._bridges]
        number = Counter(hit.score for hit, _ in found)
        return sorted(
            found,
            key=lambda one: (-one[0].score, *(self._standing(one[0], first) if number[one[0].score] > 1 else ())),
        )

    def _standing(self, hit: Hit, first: AbstractSet[str]) -> tuple[bool, bool, bool]:
        """What decides among hits of one score."""
        return hit.until is not None and not self._is_past, self._says_nothing(hit), hit.id not in first

    def _says_nothing(self, hit: Hit) -> bool:
        """Whether a hit only asks, or only says that something is over."""
        if hit.kind == "fact":
            return self._changes_in(hit.text).only_ends
        return hit.kind == "message" and all(part.endswith("?") for part in _SENTENCE.split(hit.text.strip()))

    def _better(self, found: Sequence[WeightedHit], position: int) -> int | None:
        """Where the hit is that has to stand before another one: what replaced it, or for the past what it replaced."""
        hit = found[position][0]
        wanted = {key for fact in self._instead_of(hit) for key in (fact.id, fact.message_id) if key}
        before = {one.id for one, _ in found[:position]}
        if wanted:
            places = [at for at in range(position + 1, len(found)) if found[at][0].id in wanted]
            return None if wanted & before or not places else max(places, key=lambda at: self._how_new(found[at][0]))
        places = list(self._by_words(found, position))
        return max(places, key=lambda at: found[at][0].created_at) if places else None

    def _how_new(self, hit: Hit) -> tuple[datetime, bool]:
        """When what a hit says became known, by its newest fact; of equals, not one that only says what is over."""
        own = self._facts_of(hit)
        return max((fact.learnt_at for fact in own), default=hit.created_at), not self._says_nothing(hit)

    def _missing(self, found: Sequence[WeightedHit], position: int, allowed: AbstractSet[str]) -> Fact | None:
        """The fact that has to stand before a hit, and was not found."""
        wanted = self._instead_of(found[position][0])
        shown = {hit.id for hit, _ in found}
        if any({fact.id, fact.message_id} & shown for fact in wanted):
            return None
        able = [fact for fact in wanted if fact.id in allowed]
        return max(able, key=lambda fact: fact.learnt_at) if able else None

    # by facts

    def _facts_of(self, hit: Hit) -> list[Fact]:
        if hit.kind == "summary":
            return [fact for fact in self._all if self._is_over(fact) and fact.quote in hit.text]
        return [*self._fact_of(hit), *(fact for key in hit.message_ids for fact in self._said_in(key))]

    def _fact_of(self, hit: Hit) -> list[Fact]:
        """The fact that a hit is, if it is one."""
        fact = self._facts.by_id.get(hit.id)
        return self._known([fact]) if fact is not None and (self.applies or self._lists) else []

    def _said_in(self, message_id: str) -> list[Fact]:
        found = self._facts.by_message.get(message_id) if self.applies or self._lists else None
        return self._known(found) if found else []

    def _instead_of(self, hit: Hit) -> list[Fact]:
        """The facts that answer where a hit does not, if it is about the same."""
        asked = [fact for fact in self._facts_of(hit) if self._is_asked(fact, hit)]
        if keys := [key for key in self._question.fact_keys if any(fact.key == key for fact in asked)]:
            asked = [fact for fact in asked if fact.key == keys[0]]  # where one works is the employer before the job
        if not asked or any(self._answers(fact) for fact in asked):
            return []
        slots = (self._known(self._facts.by_slot[slot_key(one)]) for one in asked)
        return [fact for slot in slots for fact in slot if self._answers(fact)]

    def _is_over(self, fact: Fact) -> bool:
        return fact.valid_until is not None and fact.valid_until <= self._at

    def _answers(self, fact: Fact) -> bool:
        """Whether a fact was true at the time that is asked about."""
        if self._windows:
            return any(_overlaps(fact, window) for window in self._windows)
        return self._is_over(fact) == self._is_past

    def _is_asked(self, fact: Fact, hit: Hit) -> bool:
        """Whether the question is about a fact of a hit, and not about what else is in the hit."""
        if self._question.fact_keys:
            return fact.key in self._question.fact_keys
        own = frozenset(terms(f"{fact.key or ''} {fact.quote} {fact.value}"))
        if fact.id in self._bridges and fact.id == hit.id:  # who asks for the old name does not want the new one
            own -= _terms_of(re.findall(r"(?<=\s)[A-Z][\w-]*", f"{fact.quote} {fact.value}"))
            return bool(own & self._asked)
        return bool(own & self._asked) or 2 * len(fact.quote) >= len(hit.text)

    def _with_end(self, hit: Hit) -> Hit:
        """A hit with the time until which it was true, if all that is known of it has ended."""
        own = self._fact_of(hit) or self._said_in(hit.id)
        if hit.kind != "fact" and any(fact.status != "superseded" for fact in own):
            return hit  # what ended by itself says so in its words: "the launch is on 12 May"
        ends = [fact.valid_until for fact in own if fact.valid_until is not None and self._is_over(fact)]
        if not ends or len(ends) < len(own):
            return hit
        until = max(ends)
        text = f"{hit.text} (until {until:%Y-%m-%d})" if hit.kind == "fact" else hit.text
        return replace(hit, until=until, text=text)

    # by words

    def _by_words(self, found: Sequence[WeightedHit], position: int) -> Iterator[int]:
        """Where texts on the same matter are that announce a change; for the past, those that were changed."""
        first = self._statement(found[position][0])
        if first is None or self._windows:
            return
        for at in range(position + 1, min(MAX_COMPARED, len(found))):
            other = self._statement(found[at][0])
            if other is None or other.author != first.author:
                continue
            old, new = (other, first) if self._is_past else (first, other)
            if old.hit.created_at < new.hit.created_at and self._is_changed(old, new):
                yield at

    def _statement(self, hit: Hit) -> "_Statement | None":
        """A hit as something that a person said; None for replies, summaries, questions and long texts."""
        if hit.kind == "summary" or hit.role not in {None, "user"} or len(hit.text) > _MAX_CHARACTERS:
            return None
        if hit.text.rstrip().endswith("?"):
            return None
        return _Statement(hit, self._terms_in(hit.text), hit.name)

    def _is_changed(self, old: "_Statement", new: "_Statement") -> bool:
        """Whether the newer one announces that what the older one says, and what is asked, has changed."""
        if not old.terms & self._asked or are_other_things(old.hit.text, new.hit.text):
            return False
        theirs, others = (_terms_of([other_subject(one.hit.text)]) for one in (old, new))
        if not (theirs <= new.terms and others <= old.terms | AGENTS):
            return False
        changes = self._changes_in(new.hit.text)
        if changes.adds:
            return False
        if _has_other_value(old, new) or (changes and self._is_one_matter(old, new, changes)):
            return True
        common = old.terms & new.terms
        return bool(_STATE.search(new.hit.text) and common & self._asked) and _is_most(common, old, new)

    def _is_one_matter(self, old: "_Statement", new: "_Statement", changes: Changes) -> bool:
        subject = _terms_of([changes.subject])
        if subject and not subject & (old.terms | AGENTS) and not changes.subject.casefold().startswith("the "):
            return False
        if any(_is_named(phrase, old) for phrase in changes.ended):
            return True
        if _terms_of(changes.topics) & old.terms & self._asked:
            return True
        common = old.terms & new.terms
        if changes.revises and common & self._asked:
            return True
        if changes.now and _attributes(old.hit.text) & _attributes(new.hit.text) & self._asked:
            return True
        return changes.now and bool(common & self._asked) and _is_most(common, old, new)


class _Statement(NamedTuple):
    """What somebody said in few words."""

    hit: Hit
    terms: frozenset[str]
    author: str | None


def _is_most(common: AbstractSet[str], old: _Statement, new: _Statement) -> bool:
    """Whether the shorter one says hardly more than what both say, but for numbers and days."""
    sizes = (sum(not _is_value(term) for term in one.terms) for one in (old, new))
    return 2 * sum(not _is_value(term) for term in common) >= max(1, min(sizes))


def _is_named(phrase: str, old: _Statement) -> bool:
    """Whether a phrase for what ended speaks of what a statement says: by its names, else by most of its words."""
    names = _terms_of(word for word in phrase.split() if word[:1].isupper())
    named = _terms_of([phrase])
    return (bool(names) and names <= old.terms) or 2 * len(named & old.terms) > len(named)


def _has_other_value(old: _Statement, new: _Statement) -> bool:
    """Whether the newer one says all that the older one says, with another number or day: a size, a price, a time."""
    values, others = (frozenset(filter(_is_value, one.terms)) for one in (old, new))
    plain = old.terms - values
    if not values - others or not others - values or not plain or not plain <= new.terms:
        return False
    return len(plain) > 1 or all(_CLOCK.search(one.hit.text) for one in (old, new))


def _is_value(term: str) -> bool:
    return _NUMBER.search(term) is not None or term in _DAYS


def _attributes(text: str) -> frozenset[str]:
    """The nouns of which a statement says what or who they are: "landlord" of "my landlord is Mrs Janssens"."""
    return _terms_of(match["what"] for match in _ATTRIBUTE.finditer(text))


def _past_windows(question: Question, at: datetime) -> tuple[Window, ...]:
    """The times in the past that a question names; none if it asks about now: "this week", "today"."""
    begun = [window for window in question.windows if window.start <= at]
    if len(begun) < len(question.windows) or (question.tense == "present" and any(at < one.end for one in begun)):
        return ()
    return tuple(begun)


def _raise(better: WeightedHit, hit: WeightedHit) -> WeightedHit:
    """A hit, as good as the one that it stands before; a part says what that made of its score."""
    (one, weight), (other, own) = better, hit
    return _scored(one, max(one.score, other.score)), max(weight, own)


def _pull_in(fact: Fact, hit: WeightedHit) -> WeightedHit:
    """A fact as a hit, as good as the one that it stands before."""
    other, weight = hit
    made = hit_of(fact, 0.0, dict.fromkeys(other.parts, 0.0), fact.project_id)
    return _scored(made, other.score), weight


def _scored(hit: Hit, score: float) -> Hit:
    more = round(score - hit.score, 6)
    return replace(hit, score=score, parts={**hit.parts, "validity": more}) if more else hit


def _terms_in(text: str) -> frozenset[str]:
    return frozenset(terms(text))


def _terms_of(phrases: Iterable[str]) -> frozenset[str]:
    return frozenset(term for phrase in phrases for term in terms(phrase))


def _overlaps(fact: Fact, window: Window) -> bool:
    return fact.valid_from < window.end and (fact.valid_until is None or fact.valid_until > window.start)
