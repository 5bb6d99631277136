"""Grammars as values, read once from the `grammar_*.toml` beside this module."""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from importlib import resources
from typing import Any, TypeVar

from lamina.errors import ConfigError
from lamina.models.offline.fact_extraction.masking import Markers
from lamina.models.offline.fact_extraction.patterns import Index, Pattern, compile_pattern
from lamina.models.offline.fact_extraction.third_person import Phrase, ThirdPerson
from lamina.values.fact import Stands

T = TypeVar("T")
Table = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotKind:
    """What may stand in a slot of a pattern, and where it ends."""

    stop: frozenset[str]  # cut before these
    refused: frozenset[str]  # not with one of these in it
    unfit: frozenset[str]  # not with one of these as its first word
    form: str = "any"  # any, capital, name, number
    lower: bool = False  # capitals are not asked for in a sentence that has none
    firsts: frozenset[str] = frozenset()  # its first word is one of these
    matches: tuple[re.Pattern[str], ...] = ()  # one of these is in it
    avoids: tuple[re.Pattern[str], ...] = ()  # none of these is in it
    excepted: frozenset[str] = frozenset()  # its last word is none of these
    spoils: frozenset[str] = frozenset()  # it is no value if it ends before one of these
    binds: frozenset[str] = frozenset()  # behind one of these a list is part of the item
    among: frozenset[str] = frozenset()  # one of these and nothing else
    last: frozenset[str] = frozenset()  # its last word is one of these, or has one of the endings
    endings: tuple[str, ...] = ()
    hints: frozenset[str] = frozenset()  # one of these words is in every value, if there are any
    min_words: int = 1
    max_words: int = 12
    split: bool = False  # a list makes one value for each item
    whole: bool = False  # commas and lists are part of it
    article: bool = True  # a leading article is left out
    exact: bool = False  # a name that ends before the slot does is no value
    tail: bool = False  # goes on behind a comma with a capital letter


@dataclass(frozen=True, slots=True, kw_only=True)
class Emission:
    """One fact that a template makes; `{label}` in key and value stands for a slot."""

    category: str
    key: str | None
    value: str
    importance: float
    limit: str  # what the value is limited to; nothing if its slot is empty


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """What a pattern means."""

    emissions: tuple[Emission, ...]
    confidence: float
    holds: bool = True
    negatable: bool = False  # with a negation it says that the fact does not hold
    again: str = ""  # a new value for the fact found before: any, or one that was negated
    asks: bool = False  # may be put as a question
    timeless: bool = False  # dates around it do not say since when
    stands: Stands = "alone"
    swaps: bool = False  # of many values: with a word of change it takes the place of all of them
    needs: str = ""  # a word that must be said beside it, though it is none of the pattern: "nowadays"


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """Words that say that the text around them states no fact: in all that it does not spare, or only in some."""

    scope: str  # clause, sentence, rest (of the message), below (the paragraph), message
    spares: frozenset[str]
    only: frozenset[str]  # refuses these and nothing else, and lets pass what says that a fact has ended

    def allows(self, category: str, key: str | None, *, holds: bool) -> bool:
        names = {category, f"{category}/{key}"}
        if self.only:
            return not holds or names.isdisjoint(self.only)
        return not names.isdisjoint(self.spares)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClauseWords:
    """Where clauses begin and end, and what they take over from the one before."""

    subjects: frozenset[str]
    verbs: frozenset[str]
    first_person: frozenset[str]
    others: frozenset[str]  # subjects that end what later clauses take over
    continues: Mapping[tuple[str, ...], frozenset[str]]  # beginning of the last clause -> words that take it over
    conjunctions: frozenset[str]
    breaks: frozenset[str]
    links: frozenset[str]  # break only where a subject follows
    skipped: frozenset[str]
    reasons: frozenset[str]
    conditions: frozenset[str]  # a clause that begins with one says when a rule before it holds
    question_words: frozenset[str]
    orders: frozenset[str]  # behind a question word they make it an order ("do not")
    openers: Mapping[str, tuple[tuple[str, ...], ...]]  # by first word, the longest first
    preludes: frozenset[str]
    fillers: frozenset[str]
    beside: frozenset[str]  # in a clause, they say that its value stands beside others
    changes: frozenset[str]  # and these that it does not
    inverts: bool  # the subject stands behind the verb where something else comes first
    negations: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]  # words -> what is left of them
    elided: tuple[
        tuple[tuple[str, ...], tuple[str, ...]], ...
    ]  # first words of a clause without a subject -> its start
    participles: Mapping[str, tuple[str, ...]]  # first word of a clause -> subject and verb in its place
    never_elided: frozenset[str]  # with one of these, a clause has another subject
    articles: frozenset[str]  # begin a clause where one of `finite` follows soon
    finite: frozenset[str]
    tags: frozenset[str]  # a question of one of these words asks for the whole sentence; of any word, if there are none
    complements: frozenset[str]  # behind these, a subject in a run-on sentence is part of the clause
    coming: frozenset[str]  # in a clause, they say that its day is the next one: "I start on Monday"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """All that is known of one language."""

    language: str
    evidence: frozenset[str]
    fallback: bool  # taken where no word tells the language
    whole: Mapping[str, tuple[str, ...]]
    merges: Mapping[str, tuple[tuple[tuple[str, ...], str], ...]]  # first word -> phrases and the word they become
    endings: Mapping[str, str]
    beginnings: Mapping[str, str]
    clauses: ClauseWords
    numbers: frozenset[str]  # number words
    time_leads: frozenset[str]  # a clause that begins with one says since when or until when the one before holds
    slots: Mapping[str, SlotKind]
    articles: frozenset[str]
    trailing: frozenset[str]
    particles: frozenset[str]
    markers: Markers
    templates: Mapping[str, Index[Template]]  # by scope: clause, anywhere (in a clause), sentence
    guards: Index[Guard]
    third_person: ThirdPerson


@cache
def grammars() -> tuple[Grammar, ...]:
    """Every grammar of the package, by file name."""
    folder = resources.files("lamina.models.offline.fact_extraction")
    files = sorted((file for file in folder.iterdir() if file.name.startswith("grammar_")), key=lambda file: file.name)
    return tuple(grammar(tomllib.loads(file.read_text("utf-8"))) for file in files)


@cache
def markers() -> Markers:
    """The markers of all languages together."""
    names = [field.name for field in fields(Markers)]
    return Markers(**{name: frozenset().union(*(getattr(one.markers, name) for one in grammars())) for name in names})


def grammar(data: Table) -> Grammar:
    """A grammar from its table."""
    words = {**data["words"], "first_names": _first_names(data["language"])}
    classes = {name: _expand(text, words) for name, text in words.items()}
    slots = {name: _slot(kind, classes) for name, kind in data["slots"].items()}
    full_forms, merges = data.get("contractions", {}), data.get("merges", {})
    phrases = [(tuple(phrase.split()), word) for word, text in merges.items() for phrase in _set(text)]
    phrases.sort(key=lambda entry: (-len(" ".join(entry[0])), entry))
    return Grammar(
        language=data["language"],
        evidence=_set(data["evidence"]),
        fallback=data.get("fallback", False),
        whole={word: tuple(full.split()) for full, words in full_forms.items() for word in _set(words)},
        endings=data.get("endings", {}),
        beginnings=data.get("beginnings", {}),
        merges=_by_first_word((phrase, (phrase, word)) for phrase, word in phrases),
        clauses=_clause_words(data["clauses"], classes),
        numbers=_set(data["numbers"]),
        time_leads=_set(data["time_leads"]),
        slots=slots,
        articles=_set(classes["articles"]),
        trailing=_set(classes["trailing"]),
        particles=_set(classes["particles"]),
        markers=Markers(**{field.name: _set(classes.get(field.name, "")) for field in fields(Markers)}),
        templates={scope: _templates(data, classes, slots, scope) for scope in ("clause", "anywhere", "sentence")},
        guards=_guards(data["guards"], classes),
        third_person=_third_person(data.get("third_person", {})),
    )


def _first_names(language: str) -> str:
    """Names that are seldom anything but a person's, as a list of words; empty where none are known."""
    file = resources.files(__package__).joinpath(f"people_{language}.toml")
    return str(tomllib.loads(file.read_text("utf-8"))["names"]) if file.is_file() else ""


def _by_first_word(entries: Iterable[tuple[tuple[str, ...], T]]) -> Mapping[str, tuple[T, ...]]:
    found: dict[str, list[T]] = {}
    for phrase, entry in entries:
        found.setdefault(phrase[0], []).append(entry)
    return {first: tuple(entries) for first, entries in found.items()}


def _expand(text: str, words: Mapping[str, str]) -> str:
    """A list of words with `<other list>` filled in."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    return ", ".join(
        _expand(words[part[1:-1]], words) if part.startswith("<") else " ".join(part.split()) for part in parts
    )


def _set(text: str) -> frozenset[str]:
    return frozenset(part.strip() for part in text.split(",") if part.strip())


def _word_lists(names: Sequence[str], classes: Mapping[str, str]) -> frozenset[str]:
    return frozenset[str]().union(*(_set(classes[name]) for name in names))


def _slot(kind: Table, classes: Mapping[str, str]) -> SlotKind:
    lists: dict[str, Any] = {name: _word_lists(kind.get(name, ()), classes) for name in _SLOT_LISTS}
    endings = _word_lists(kind.get("endings", ()), classes)
    matches, avoids = (
        [compile_pattern(source, classes, anywhere=True) for source in kind.get(name, ())]
        for name in ("matches", "avoids")
    )
    return SlotKind(
        **lists,
        excepted=_word_lists(kind.get("except", ()), classes),
        endings=tuple(sorted(endings)),
        matches=tuple(pattern.regex for pattern in matches),
        avoids=tuple(pattern.regex for pattern in avoids),
        hints=_hints(lists["among"], matches) or (frozenset() if endings else lists["last"]),
        **{name: kind[name] for name in _SLOT_OPTIONS if name in kind},
    )


_SLOT_LISTS = ("stop", "refused", "unfit", "among", "last", "firsts", "spoils", "binds")
_SLOT_OPTIONS = ("form", "lower", "min_words", "max_words", "split", "whole", "article", "exact", "tail")


def _hints(among: frozenset[str], matches: Sequence[Pattern]) -> frozenset[str]:
    """Words of which every value has one: the longest word of each phrase, the rarest set of each pattern."""
    if not all(pattern.needed for pattern in matches):
        return frozenset()
    rare = (min(pattern.needed, key=len) for pattern in matches)
    return frozenset(max(phrase.split(), key=len) for phrase in among).union(*rare)


def _clause_words(data: Table, classes: Mapping[str, str]) -> ClauseWords:
    lists: dict[str, Any] = {name: _set(_expand(data.get(name, ""), classes)) for name in _CLAUSE_LISTS}
    continues, negations = data.get("continues", {}), data.get("negations", {})
    phrases = (tuple(part.split()) for part in _set(data.get("openers", "")))
    openers = sorted(phrases, key=lambda phrase: (-len(phrase), phrase))
    return ClauseWords(
        **lists,
        inverts=data.get("inverts", False),
        continues={tuple(start.split()): _set(_expand(text, classes)) for start, text in continues.items()},
        openers=_by_first_word((phrase, phrase) for phrase in openers),
        negations=tuple((tuple(words.split()), tuple(left.split())) for words, left in negations.items()),
        elided=_elided(data.get("elided", {}), classes),
        participles={word: tuple(start.split()) for word, start in data.get("participles", {}).items()},
    )


def _elided(data: Table, classes: Mapping[str, str]) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    """Beginnings of clauses that leave out their subject, the longest first, with what is left out."""
    found = [(tuple(words.split()), tuple(start.split())) for start, text in data.items()
             for words in _set(_expand(text, classes))]  # fmt: skip
    return tuple(sorted(found, key=lambda entry: (-len(entry[0]), entry)))


_CLAUSE_LISTS = (
    "subjects", "verbs", "first_person", "others", "conjunctions", "breaks", "links", "skipped", "reasons",
    "conditions", "question_words", "orders", "preludes", "fillers", "beside", "changes", "never_elided",
    "articles", "finite", "complements", "tags", "coming",
)  # fmt: skip


def _third_person(data: Table) -> ThirdPerson:
    listed = {name: text for name, text in data.items() if name in _PERSON_LISTS}
    lists: dict[str, Any] = {name: _set(_expand(text, listed)) for name, text in listed.items()}
    texts = {name: data.get(name, "") for name in ("first", "object", "own", "state")}
    tables = {
        name: data.get(name, {}) for name in ("own_articles", "contracted", "words", "before_nouns", "verbs", "labels")
    }
    return ThirdPerson(
        **lists,
        **texts,
        **tables,
        subjects=_phrases(data.get("subjects", "")),
        of_user=_phrases(data.get("of_user", "")),
        fragments=tuple(part.strip() for part in data.get("fragments", "").split(",") if part.strip()),
        endings=tuple(data.get("endings", {}).items()),
        phrases={tuple(phrase.split()): new for phrase, new in data.get("phrases", {}).items()},
    )


_PERSON_LISTS = (
    "pronouns", "finite", "past", "known", "states", "adverbs", "reports", "that", "joins", "others", "attributes",
    "topics", "kinds",
)  # fmt: skip


def _phrases(text: str) -> tuple[Phrase, ...]:
    """Phrases, the longest first."""
    found = {tuple(part.split()) for part in text.split(",") if part.strip()}
    return tuple(sorted(found, key=lambda phrase: (-len(phrase), phrase)))


def _guards(entries: Sequence[Table], classes: Mapping[str, str]) -> Index[Guard]:
    guards = [
        Guard(
            scope=entry.get("scope", "sentence"),
            spares=frozenset(entry.get("spares", ())),
            only=frozenset(entry.get("only", ())),
        )
        for entry in entries
    ]
    return Index(
        [
            (compile_pattern(source, classes, anywhere=True), guard)
            for entry, guard in zip(entries, guards, strict=True)
            for source in entry["say"]
        ]
    )


def _templates(data: Table, classes: Mapping[str, str], slots: Mapping[str, SlotKind], scope: str) -> Index[Template]:
    entries: list[tuple[Pattern, Template]] = []
    for entry in data["templates"]:
        if entry.get("scope", "clause") == scope:
            template = _template(entry, data["importance"])
            patterns = (compile_pattern(source, classes, anywhere=scope == "anywhere") for source in entry["say"])
            entries.extend((_require_slot_words(pattern, slots), template) for pattern in patterns)
    return Index(entries)


def _require_slot_words(pattern: Pattern, slots: Mapping[str, SlotKind]) -> Pattern:
    """The pattern, with the words that its slots require added to the words it needs."""
    unknown = sorted(set(pattern.slots.values()) - slots.keys())
    if unknown:
        raise ConfigError([f"grammar pattern {pattern.source!r}: no slots {unknown}; there are {sorted(slots)}"])
    known = (words for kind in pattern.always for words in (slots[kind].firsts, slots[kind].hints) if words)
    return replace(pattern, needed=(*pattern.needed, *known))


_TEMPLATE_OPTIONS = ("holds", "negatable", "again", "asks", "timeless", "stands", "swaps", "needs")


def _template(entry: Table, importance: Mapping[str, float]) -> Template:
    emissions: list[Emission] = []
    for part in (entry, *entry.get("also", ())):
        category, key = part.get("category", entry.get("category", "")), part.get("key")
        weight = importance.get(key or "", importance.get((key or "").split(" ")[0], importance.get(category, 0.6)))
        value, limit = part.get("value", ""), part.get("limit", "")
        emissions.append(Emission(category=category, key=key, value=value, importance=float(weight), limit=limit))
    plain = {name: entry[name] for name in _TEMPLATE_OPTIONS if name in entry}
    return Template(emissions=tuple(emissions), confidence=float(entry.get("confidence", 0.8)), **plain)
