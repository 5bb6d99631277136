"""Which known facts a new one says to have changed, where its slot does not tell.

"Sold the Volvo, bought a Kia" ends "drives a Volvo", and "my new email is" changes "my email is". The new fact is given
the slot of the old one; which of them holds then follows as it does for every slot (`conflicts`).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cache

from lamina.knowledge.change_forms import EXACT, TIMES, differ_in_number, differ_in_one_place, form_of, stems, units
from lamina.knowledge.conflicts import order, place_of
from lamina.knowledge.fact_words import describe_fact, fact_label, normalise_value
from lamina.knowledge.restatements import are_others, names_in
from lamina.language.changes import (
    Changes,
    are_opposites,
    are_other_things,
    changes_in,
    other_subject,
)
from lamina.language.words import stem, terms, words
from lamina.values.fact import Fact

InFirstPerson = Callable[[str], str]


_MAX_MORE = 2  # words of a fact beside what is said to have ended: "drive" of "drive a Volvo"
_MAX_MORE_SWAPPED = 5  # the same, of what something else was taken for
_MAX_TERMS = 5  # of a statement that a noun alone may name: "on the free plan"
# What a fact may say of a thing that ended: one still likes what one has sold.
_ATTITUDES = stems("like likes love loves hate hates dislike enjoy miss recommend remember visited")
_PREFER = stem("prefer")
_PAIR = 2  # terms of "prefer tea"
_SYNONYMS = {
    stem(word): stem(canonical)
    for canonical, others in {
        "phone": "mobile cell telephone cellphone", "manager": "boss supervisor", "email": "mail e-mail",
        "study": "major majors subject", "plan": "tier subscription package membership member",
        "job": "role position title", "bank": "banks",
    }.items()
    for word in others.split()
}  # fmt: skip
_PADDING = stems("new address number current own field type")
# Who may change what is the user's: a doctor a dose, a landlord a rent.
AGENTS = stems("doctor gp physician psychiatrist boss manager company employer landlord vet school")
_ATTRIBUTE = re.compile(
    r"(?:my|our|the)\s+(?:new\s+|current\s+)?(?P<topic>.{2,40}?)\s+"
    r"(?:is|are|will\s+be|(?:was|were|got|has\s+been|have\s+been)\s+\w+ed\s+(?:to|for))\s+",
    re.IGNORECASE,
)
_NEGATION = re.compile(
    r"\b(?:(?:do|does|did|am|is|are|have|has|can)\s*(?:not|n't|n\u2019t)|can(?:no|')t|no\s+longer|not|never|no)\b",
    re.IGNORECASE,
)
_LISTS = re.compile(r",|;|\band\b|\bbut\b")
_KINDS = stems("membership subscription account contract class course lesson lessons job job's goal plan")
_MEASURES = re.compile(r"i (?:am|weigh|earn|pay|make|measure|sleep|wake|need|spend)\b", re.IGNORECASE)
# What somebody is as long as they have none of something: who has an employer is not unemployed.
_LACKS = {"job": ("unemployed", "jobless", "out of work", "between jobs"), "relationship status": ("single",)}
_FAVOURED = ("favourite", "preferred", "main")
_FILLED = {
    "employer": "job",
    **dict.fromkeys(("partner", "wife", "husband", "girlfriend", "boyfriend", "spouse"), "relationship status"),
}  # key -> the slot of what ends with its first value


@dataclass(frozen=True, slots=True)
class _Known:
    """A known fact as the user would say it."""

    fact: Fact
    text: str
    terms: frozenset[str]
    names: frozenset[tuple[str, str]]  # in its quote, each with its number

    @property
    def is_named(self) -> bool:
        """Whether the value of a key, rather than a text, says what it is."""
        return self.fact.key is not None


@dataclass(frozen=True, slots=True)
class _New:
    """A new fact with what it says to have changed, and the known facts that it says to have ended."""

    fact: Fact
    said: str
    changes: Changes
    ended: tuple[_Known, ...]
    others: tuple[_Known, ...]  # known facts about the same person in other slots


def place_changes(fresh: Sequence[Fact], known: Iterable[Fact], in_first_person: InFirstPerson) -> list[Fact]:
    """New facts, of which those that change a known one have its slot; what else they say to have ended is ended."""
    current = [fact for fact in sorted(known, key=order) if fact.holds and fact.status in {"active", "conflicted"}]
    places = {place_of(fact) for fact in current}
    values = {(*place_of(fact), normalise_value(fact.value)) for fact in current}
    read_known = cache(lambda place: _read(current[place], in_first_person))  # each once, whatever it is compared with
    every = [_read_new(fact, current, in_first_person, read_known) for fact in fresh]
    taken = {place_of(fact) for fact in fresh if fact.key is not None and fact.holds} & places
    placed: dict[str, list[Fact]] = {}
    for new in sorted(every, key=lambda one: one.changes.only_ends):
        ended = [one for other in every if _is_one_saying(other.fact, new.fact) for one in other.ended]
        changed = [one for one in _changed(new, ended) if place_of(one) not in taken]
        is_said = new.changes.only_ends and bool(new.ended) and not changed and new.fact.key is None
        placed[new.fact.id] = [] if is_said else list(_take_place(new, changed, places, values))
        taken |= {place_of(one) for one in changed}
    return [fact for new in every for fact in placed[new.fact.id]]


def _is_one_saying(one: Fact, other: Fact) -> bool:
    return (one.message_id, one.learnt_at) == (other.message_id, other.learnt_at)


def _read_new(
    fact: Fact, current: Sequence[Fact], in_first_person: InFirstPerson, read_known: Callable[[int], _Known]
) -> _New:
    said = in_first_person(fact.quote or fact.value)
    changes = changes_in(said)
    is_compared = fact.key is None and (EXACT.search(said) or _NEGATION.search(said))
    if not (changes or is_compared or fact.key in _FILLED or fact.category == "preference"):
        return _New(fact, said, changes, (), ())
    others = [
        read_known(place)
        for place, one in enumerate(current)
        if one.about == fact.about and (one.category, one.slot) != (fact.category, fact.slot)
    ]
    if names := names_in(said):
        others = [one for one in others if not are_others(names, one.names)]
    readable = tuple(one for one in others if one.is_named or not are_other_things(said, one.text))
    ended = [
        one
        for phrase in changes.ended
        for one in _ended(
            phrase, changes.subject, readable, _MAX_MORE_SWAPPED if phrase in changes.swapped else _MAX_MORE
        )
        # what a person is has readers of its own: "stored UTC instead of Europe/Lisbon" does not tell where they live,
        # and who leaves is still a brother
        if not (phrase in changes.passed_over | changes.departed and _is_identity(one))
    ]
    return _New(fact, said, changes, tuple(ended), readable)


def changed_words(text: str, known: Iterable[Fact], in_first_person: InFirstPerson) -> frozenset[str]:
    """The terms of known facts that a text says to have ended, and of the words that say so."""
    changes = changes_in(in_first_person(text))
    if not changes.ended:
        return frozenset()
    current = [_read(fact, in_first_person) for fact in known if fact.holds and fact.about is None]
    ended = [one for phrase in changes.ended for one in _ended(phrase, changes.subject, current)]
    said = changes.endings if ended else ()
    return frozenset().union(*(one.terms for one in ended), *map(terms, said))


def _read(fact: Fact, in_first_person: InFirstPerson) -> _Known:
    text = in_first_person(describe_fact(fact))
    return _Known(fact, text, frozenset(terms(text)), names_in(fact.quote))


def _take_place(
    new: _New, changed: Sequence[Fact], places: set[tuple[str, str]], values: AbstractSet[tuple[str, str, str]]
) -> Iterator[Fact]:
    """A fact in the place of what it changes, and an end for all else that it says to have ended."""
    fact, changes = new.fact, new.changes
    is_known = place_of(fact) in places
    if fact.key is not None and (not fact.holds or _names(changes.ended, fact)):
        is_said = (*place_of(fact), normalise_value(fact.value)) in values
        if is_said and fact.quote and not changes.only_denies:  # "my dog Rex died" is what is true now
            fact = replace(fact, key=None, value=fact.quote, holds=True)
        yield replace(fact, holds=fact.holds and fact.key is None)
        return
    if fact.key is None and fact.quote and _names(changes.ended, fact):
        fact = replace(fact, value=fact.quote)  # with the verb that ended it
    rest = list(changed)
    first = next((one for one in rest if not _fills(fact, one)), None)
    if first and (fact.key is None or (first.key is not None and first.category == fact.category and not is_known)):
        rest.remove(first)
        fact = replace(fact, slot=first.slot, category=first.category, type=first.type, scope=first.scope)
    yield fact
    for number, one in enumerate(rest):
        yield replace(
            fact,
            id=f"{fact.id}-{number}",
            category=one.category,
            key=one.key,
            slot=one.slot,
            value=one.value,
            holds=False,
        )


def _names(phrases: Iterable[str], fact: Fact) -> bool:
    """Whether a phrase names the value of a fact."""
    value = set(terms(fact.value))
    return bool(value) and any(value <= set(terms(phrase)) for phrase in phrases)


def _changed(new: _New, ended: Iterable[_Known]) -> list[Fact]:
    """The known facts that a new one changes, the likeliest first; `ended` are those that were said to have ended."""
    found = list(new.ended)
    gone = {one.fact.id for one in ended}
    if new.changes and not new.changes.adds:
        found += [one for topic in new.changes.topics for one in _with_topic(topic, new.others)]
        found += [one for topic in new.changes.topics for one in _with_measure(topic, new.said, new.others)]
        found += _with_most(new) if new.changes.revises else []
        found += _with_form(new, [one for one in new.others if new.changes.now or one.fact.id in gone], gone)
    if not new.changes.adds:
        found += _with_attribute(new.said, new.others)
        found += _with_opposite(new.said, new.others)
    found += [one for one in new.others if _fills(new.fact, one.fact) or _is_ruled_out(one.fact, new)]
    found += _with_preferred_key(new)
    return list({one.fact.id: one.fact for one in found}.values())


# by what has ended


def _ended(phrase: str, subject: str, current: Sequence[_Known], max_more: int = _MAX_MORE) -> list[_Known]:
    """The facts that a phrase names: those whose value it is, else those that say little more."""
    named, who = frozenset(terms(phrase)), frozenset(terms(subject))
    if not named:
        return []
    own = [one for one in current if _is_affair_of(who, one)]
    exact = [one for one in own if one.is_named and _is_value(named, one)]
    near = [one for one in own if one not in exact and _is_near(one, named, max_more)]
    if not exact and not near and named - _KINDS:
        near = [one for one in own if _is_near(one, named - _KINDS)]
    if sum(one.is_named for one in near) > 1:  # "my dog", where two are known
        near = [one for one in near if not one.is_named]
    return [*exact, *sorted(near, key=lambda one: len(_more(one, named)))]


def _is_value(named: frozenset[str], one: _Known) -> bool:
    """Whether a phrase names a value and little else: to leave "the Lisbon office" is not to leave Lisbon."""
    value = frozenset(terms(one.fact.value))
    more = named - value - _KINDS - TIMES - frozenset(terms(fact_label(one.fact)))
    return bool(value) and value <= named and len(more) <= (0 if _is_identity(one) else 1)


def _is_identity(one: _Known) -> bool:
    return one.is_named and one.fact.category == "identity"


def _is_affair_of(who: frozenset[str], one: _Known) -> bool:
    """Whether somebody who did something, or the user, can have ended a fact."""
    other = frozenset(terms(other_subject(one.text))) if not one.is_named else frozenset()
    if not who or who <= AGENTS:
        return not other
    return bool(who & one.terms)


def _is_near(one: _Known, named: frozenset[str], max_more: int = _MAX_MORE) -> bool:
    said = frozenset(terms(f"{fact_label(one.fact)} {one.fact.value}")) if one.is_named else one.terms
    more = _more(one, named)
    return named <= said and not more & _ATTITUDES and len(more) <= max_more and not (more and _LISTS.search(one.text))


def _more(one: _Known, named: frozenset[str]) -> frozenset[str]:
    return frozenset(term for term in one.terms - named - TIMES if not term[0].isdigit())


# by what has a new value


def _topic(text: str) -> frozenset[str]:
    """The words of a topic; "email address" is "email"."""
    every = frozenset(_SYNONYMS.get(term, term) for term in terms(text))
    return every - _PADDING or every


def _with_topic(topic: str, current: Sequence[_Known]) -> list[_Known]:
    wanted = _topic(topic)
    if not wanted:
        return []
    named = [one for one in current if _topic_of(one) == wanted or _begins_with(one, topic)]
    if not named:  # "raised the budget", where one is known, for the trip
        scoped = [one for one in current if one.fact.scope and one.fact.key and _topic(one.fact.key) == wanted]
        named = scoped if len(scoped) == 1 else []
    return named or [one for one in current if _is_another(topic, one)] or _with_category(wanted, current)


def _with_category(wanted: frozenset[str], current: Sequence[_Known]) -> list[_Known]:
    """The one fact of the kind that a topic names: "my goal"."""
    found = [one for one in current if not one.is_named and frozenset(terms(one.fact.category)) == wanted]
    return found if len(found) == 1 else []


def _topic_of(one: _Known) -> frozenset[str]:
    if one.is_named:
        return _topic(fact_label(one.fact))
    match = _ATTRIBUTE.match(one.text)
    return _topic(match["topic"]) if match else _more(one, frozenset())


def _begins_with(one: _Known, words_: str) -> bool:
    """Whether a statement without a key begins with the words of a topic such as "live at"."""
    if one.is_named or " " not in words_:
        return False
    said, wanted = ([word for word in words(text) if word not in {"i", "am"}] for text in (one.text, words_))
    return said[: len(wanted)] == wanted


def _is_another(topic: str, one: _Known) -> bool:
    """Whether a fact ends with the noun of a topic, and is another of its kind: "the free plan", "the Pro plan"."""
    kinds = [_SYNONYMS.get(term, term) for term in terms(topic) if not term[0].isdigit()]
    if one.is_named and kinds[1:] and kinds[-1:] == terms(fact_label(one.fact)):  # "a Mediterranean diet"
        return True
    if not kinds or len(one.terms) > _MAX_TERMS + sum(term[0].isdigit() for term in one.terms):
        return False
    own = [_SYNONYMS.get(term, term) for term in terms(one.text) if not term[0].isdigit()]
    if not own or len(own) > _MAX_TERMS or kinds[-1] != own[-1] or _ATTITUDES & set(own):
        return False
    return frozenset(terms(topic)) - one.terms != frozenset() and len(set(terms(topic))) > 1


def _with_most(new: _New) -> list[_Known]:
    """The one fact that shares most of what it is about with a statement that takes back what was said."""
    own = frozenset(terms(new.said))
    plain = ((one, frozenset(term for term in one.terms - TIMES if not term[0].isdigit())) for one in new.others)
    found = [one for one, about in plain if len(about & own) >= _PAIR and 2 * len(about & own) >= len(about)]
    return found if len(found) == 1 else []


# by its form


def _with_form(new: _New, current: Sequence[_Known], gone: set[str]) -> list[_Known]:
    """The facts that differ in one place from a statement on how something is now."""
    as_value = new.fact.key is None and bool(new.fact.quote)
    form = form_of(new.fact.value if as_value else new.said)
    forms = [(one, form_of(one.fact.value if as_value and not one.is_named else one.text)) for one in current]
    found = [
        one
        for one, other in forms
        if differ_in_one_place(form, other, least=1 if one.fact.id in gone else 2)
        and (one.fact.id in gone or not _is_one_of_many(one.fact))
        and not (one.is_named and frozenset(form) & frozenset(other) == frozenset(form_of(one.fact.value)))
    ]  # to share the value of a key and nothing else is to speak of something else
    if not found and form[:1] == [_PREFER]:
        found = [one for one, other in forms if other[:1] == [_PREFER] and len(form) == len(other) == _PAIR]
        return found if len(found) == 1 else []
    return found


def _is_one_of_many(fact: Fact) -> bool:
    """Whether the key of a fact has its value, so that others stand beside it: "allergy kiwi"."""
    return fact.key is not None and normalise_value(fact.value) in normalise_value(fact.key)


def _with_attribute(said: str, current: Sequence[_Known]) -> list[_Known]:
    """The facts that give another number or address of the same thing: "my rent is 900"."""
    free = [one for one in current if not one.is_named and EXACT.search(one.text)]
    match = _ATTRIBUTE.match(said)
    if match is not None and EXACT.search(said, match.end()):
        wanted = _topic(match["topic"])
        return [one for one in free if wanted and _topic_of(one) == wanted]
    form = form_of(said)
    measures = _MEASURES.match(said) is not None
    return [one for one in free if measures and differ_in_number(form, form_of(one.text))]


def _with_measure(topic: str, said: str, current: Sequence[_Known]) -> list[_Known]:
    """The facts that say how much there is of a topic, in the same unit: "take 20 mg of lisinopril"."""
    wanted, units_ = frozenset(terms(topic)), units(said)
    if not wanted or not units_:
        return []
    return [one for one in current if not one.is_named and wanted <= one.terms and units_ & units(one.text)]


def _with_preferred_key(new: _New) -> list[_Known]:
    """What was the favourite of its kind, where something else was taken: "favourite editor", "switched to Neovim"."""
    fact, changes = new.fact, new.changes
    if not fact.key or fact.scope or changes.adds or not (changes.topics or changes.swapped or changes.now):
        return []
    keys = {f"{word} {fact.key}" for word in _FAVOURED} | {fact.key.removeprefix(f"{word} ") for word in _FAVOURED}
    return [one for one in new.others if one.fact.category == fact.category and one.fact.key in keys - {fact.key}]


# by what it denies


def _is_ruled_out(fact: Fact, new: _New) -> bool:
    """Whether somebody does what a value denies: "vegetarian", and "eat meat again"."""
    return bool(fact.key) and fact.value.casefold() in new.changes.ruled_out and not other_subject(new.said)


def _fills(fact: Fact, other: Fact) -> bool:
    """Whether a fact gives what the user had none of."""
    slot = _FILLED.get(fact.key or "") if fact.holds else None
    return slot is not None and other.slot == slot and other.value.casefold() in _LACKS[slot]


def _with_opposite(said: str, current: Sequence[_Known]) -> list[_Known]:
    """The facts that say the same with a negation, or without one; or the opposite of one word of a preference."""
    is_denial, form = _NEGATION.search(said) is not None, form_of(_NEGATION.sub(" ", said))
    found = [
        one
        for one in current
        if (_NEGATION.search(one.text) is not None) != is_denial and form_of(_NEGATION.sub(" ", one.text)) == form
    ]
    if form[:1] != [_PREFER]:
        return found
    forms = [(one, form_of(one.text)) for one in current]
    return found + [
        one
        for one, other in forms
        if len(form) == len(other)
        and (differing := [pair for pair in zip(form, other, strict=True) if pair[0] != pair[1]])
        and all(are_opposites(*pair) for pair in differing)
    ]
