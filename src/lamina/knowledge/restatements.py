"""Statements over time: one that says the same as an older one, or changes it, takes its place.

A statement has no key, so its slot is its own words. A newer one on the same matter is given the slot of the older one;
which of them holds then follows as it does for every slot (`conflicts`). One that says what a keyed fact of the same
words says ends when that fact gets another value.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import pairwise

from lamina.knowledge.conflicts import order
from lamina.knowledge.duplicates import NEGATIONS
from lamina.knowledge.fact_words import normalise_value, plain_text
from lamina.language.changes import are_other_things, changes_in
from lamina.language.words import STOP_WORDS, plain, terms, words
from lamina.values.fact import Fact

_SAME = 0.75  # share of common terms from which two statements are the same
_SAME_MATTER = 0.6  # from which they differ in a number or a negation only
_CHANGED = 0.4  # of the terms of the shorter, for one that says that something changed
_MIN_SHARED = 2
_MIN_TERMS = 3
_CHOICES = frozenset(("decision", "commitment", "goal", "constraint", "procedure", "entity", "instruction"))
_NUMBER = re.compile(r"\d")
_NUMBERED = frozenset(  # words whose number is a name: day 2 and day 3 are two days
    word
    for words in (
        "day week month year quarter phase stage step sprint round level part chapter lesson unit section page line",
        "room floor building block house apartment flat gate platform table seat bay shelf box batch group team class",
        "season episode version release milestone ticket issue task item number option scenario test trial run",
        "tag woche monat jahr schritt kapitel lektion teil raum zimmer stock haus wohnung gruppe klasse seite nummer",
        "dia semana mes ano fase paso capitulo leccion sala piso grupo clase pagina linea numero",
        "jour semaine mois etape chapitre lecon salle etage groupe classe ligne",
        "passo licao andar turma linha giorno settimana mese capitolo lezione stanza piano gruppo",
        "maand jaar stap hoofdstuk les kamer verdieping groep klas regel",
    )
    for word in words.split()
)
# Before a verb, the number of any noun is a name: "tree 14 of row 2 bears fruit", "server 3 was restarted".
_VERB = re.compile(
    r"""(?:is|isn't|are|was|were|has|had|have|will|would|can|can't|cannot|could|must|should|shall|may|might|does|doesn't
    |did|didn't|won't|needs|wants|gets|goes|gives|keeps|likes|runs|lives|works|costs|ist|war|hat|wird|est|a|sera|es
    |está|fue|tiene|é|foi|tem|è|ha|was|heeft|wordt|\w{2,}ed|\w{2,}[^\W\dsiu]s)""",
    re.VERBOSE,
)
_MEASURED = frozenset(  # what is counted, and ends as verbs do
    """euros dollars pounds francs pesos cents kilos grams tons tonnes litres liters gallons metres meters miles inches
    kilometres kilometers degrees percents points items pieces times hours minutes seconds days weeks months years words
    people persons tokens bytes megabytes gigabytes users customers seats rooms steps calories watts volts pages lines
    rows columns tickets""".split()  # noqa: SIM905 - words read best
)


@dataclass(frozen=True, slots=True)
class _Words:
    """A statement with its words."""

    fact: Fact
    terms: frozenset[str]
    names: frozenset[tuple[str, str]]  # words, each with the number that names which of several is meant
    numbers: frozenset[str]
    denies: bool


def place(new: Sequence[Fact], known: Iterable[Fact], changes: Collection[str], *, flags: bool) -> list[Fact]:
    """New facts, of which statements on the matter of an older one have its slot.

    `changes` are the ids of statements that say that something changed. With `flags`, two values of a slot are a
    conflict, so one that only repeats another keeps its own.
    """
    index = _Index()
    for fact in sorted(known, key=order):
        index.add(fact)
    found = []
    for fact in new:
        if _is_statement(fact):
            is_change = fact.id in changes and not changes_in(fact.value).adds
            older = index.nearest(fact, changes=is_change, flags=flags)
            if older is not None:
                fact = replace(fact, slot=older.slot, category=older.category, type=older.type)  # noqa: PLW2901
            index.add(fact)
        found.append(fact)
    return found


def _is_statement(fact: Fact) -> bool:
    return fact.key is None and fact.origin == "said" and fact.holds


class _Index:
    """Statements by their terms."""

    def __init__(self) -> None:
        self._by_term: dict[str, list[int]] = defaultdict(list)
        self._all: list[_Words] = []

    def add(self, fact: Fact) -> None:
        if _is_statement(fact):
            read = _read(fact)
            for term in read.terms:
                self._by_term[term].append(len(self._all))
            self._all.append(read)

    def nearest(self, fact: Fact, *, changes: bool, flags: bool) -> Fact | None:
        """The statement that a new one repeats or changes: the nearest, of these the newest."""
        own = _read(fact)
        if len(own.terms) < _MIN_SHARED:
            return None
        shared: dict[int, int] = defaultdict(int)
        for term in own.terms:
            for place in self._by_term.get(term, ()):
                shared[place] += 1
        ranked = sorted(((number, place) for place, number in shared.items() if number >= _MIN_SHARED), reverse=True)
        return next((self._all[at].fact for _, at in ranked if _meets(own, self._all[at], changes, flags=flags)), None)


def _meets(own: _Words, other: _Words, changes: bool, *, flags: bool) -> bool:
    if own.fact.about != other.fact.about or own.fact.slot == other.fact.slot:
        return False
    if not _is_alike(own, other, changes, flags=flags) or are_others(own.names, other.names):
        return False
    return not are_other_things(own.fact.value, other.fact.value)


def _is_alike(own: _Words, other: _Words, changes: bool, *, flags: bool) -> bool:
    common, every = len(own.terms & other.terms), len(own.terms | other.terms)
    shorter = min(len(own.terms), len(other.terms))
    alike = own.numbers == other.numbers and own.denies == other.denies
    category = own.fact.category
    one_says_more = common == shorter  # if each has a word that the other lacks, they may be of two days or people
    if category == other.fact.category and one_says_more and not (alike and flags):
        least = _SAME if alike else _SAME_MATTER
        if shorter >= _MIN_TERMS and common >= least * every and (alike or category != "event"):
            return True
    both = {category, other.fact.category}
    return changes and (len(both) == 1 or both <= _CHOICES) and category != "event" and common >= _CHANGED * shorter


def _read(fact: Fact) -> _Words:
    every = words(fact.value)
    names = frozenset(_numbered(every))
    return _Words(
        fact,
        frozenset({" ".join(name) for name in names}.union(t for t in terms(fact.value) if not _NUMBER.search(t))),
        names,
        frozenset(_numbers(every)),
        any(word in NEGATIONS or word.endswith("n't") for word in every),
    )


def names_in(text: str) -> frozenset[tuple[str, str]]:
    """Words of a text, each with the number that names which of several is meant."""
    return frozenset(_numbered(words(text))) if _NUMBER.search(text) else frozenset()


def are_others(one: AbstractSet[tuple[str, str]], other: AbstractSet[tuple[str, str]]) -> bool:
    """Whether two texts with such names are about two things of one kind: server 3 and server 4."""
    if not one or not other or one == other:
        return False
    kinds = {kind for kind, _ in one} & {kind for kind, _ in other}
    return any(kind in kinds for kind, _ in one ^ other)


def _numbered(every: Sequence[str]) -> Iterator[tuple[str, str]]:
    for at, (one, number) in enumerate(pairwise(every)):
        if not _NUMBER.match(number) or one in STOP_WORDS or _NUMBER.search(one):
            continue
        after = every[at + 2 : at + 6]
        if after[:1] == ["of"] and len(after) > 2 and _NUMBER.match(after[2]):  # noqa: PLR2004 - of, a noun, its number
            after = after[3:]
        if plain(one) in _NUMBERED or (after and after[0] not in _MEASURED and _VERB.fullmatch(after[0])):
            yield plain(one), number


def _numbers(every: Sequence[str]) -> Iterator[str]:
    return (word for word in every if _NUMBER.search(word))


# what keyed facts say, too


def end_restated(new: Sequence[Fact], known: Iterable[Fact], *, flags: bool) -> list[Fact]:
    """New facts, and an end for every statement that says the value which one of them takes the place of.

    With `flags`, a new value is a conflict and takes the place of none; only what ends a value does.
    """
    every = sorted([*known, *new], key=order)
    found = []
    for fact in new:
        found.append(fact)
        if fact.key is not None and not (flags and fact.holds):
            found += [_end(fact, one, number) for number, one in enumerate(_restated(fact, every))]
    return found


def _restated(fact: Fact, every: Sequence[Fact]) -> Iterator[Fact]:
    """The statements that say the value before this one."""
    values = [one for one in every if _is_before(one, fact)]
    if not values or (normalise_value(values[-1].value) == normalise_value(fact.value)) is fact.holds:
        return
    ended = [one for one in values if normalise_value(one.value) == normalise_value(values[-1].value)]
    for statement in every:
        if statement.key is None and statement.holds and any(_says(statement, one) for one in ended):
            yield statement


def _is_before(one: Fact, fact: Fact) -> bool:
    same = (one.category, one.slot) == (fact.category, fact.slot) and one.key is not None and one.holds
    return same and order(one) < order(fact)


def _says(statement: Fact, fact: Fact) -> bool:
    """Whether a statement has the words of a fact."""
    together = fact.message_id is not None and statement.message_id == fact.message_id
    overlap = statement.start < fact.end and fact.start < statement.end
    return together and overlap and normalise_value(fact.value) in plain_text(statement.value)


def _end(fact: Fact, statement: Fact, number: int) -> Fact:
    return replace(
        fact,
        id=f"{fact.id}-s{number}",
        type=statement.type,
        category=statement.category,
        key=None,
        slot=statement.slot,
        value=statement.value,
        about=statement.about,
        scope=statement.scope,
        reason=None,
        holds=False,
    )
