"""Words that tell what a sentence is about, read once from `lexicon_en.toml` beside this module."""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from lamina.language.words import fold, stem

Phrases = Mapping[str, tuple[tuple[tuple[str, ...], str], ...]]  # first word -> (words, label)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lexicon:
    """Cues with their weights, phrases by their first word, and words that carry little."""

    weights: Mapping[str, float]
    lasting: frozenset[str]
    essential: frozenset[str]
    cues: Phrases
    deferrals: Phrases
    acceptances: Phrases
    openers: Phrases
    leaning: Phrases  # beginnings that lean on the sentence before
    standing: Phrases  # such beginnings that do not
    contrary: Phrases  # beginnings that take back what was said before
    settled: Phrases  # where a pronoun stands for nothing that was said before
    pronouns: frozenset[str]
    persons: frozenset[str]  # pronouns for people
    trailing: frozenset[str]  # last words that lean on the sentence before
    determiners: frozenset[str]
    verbs: frozenset[str]  # and persons: words that a whole sentence has
    vague: Phrases  # beginnings of questions that lean on what was said before
    copulas: frozenset[str]  # verbs beside an "it" that stands for what follows
    closers: frozenset[str]  # after these words a "that" or "one" before them stands for a thing
    counted: frozenset[str]  # words before "one" where it is a number
    periods: frozenset[str]  # "this week" says when
    introductions: frozenset[str]  # "I met this man" tells of a man for the first time
    requests: frozenset[str]  # first words of a sentence that asks for something
    people: frozenset[str]  # whom a "she" may stand for
    wishes: frozenset[str]  # words that alone do not say what a question asks for
    numbers: frozenset[str]
    takers: frozenset[str]  # verbs that need a thing
    remarks: Phrases  # beginnings of clauses that only admire
    selves: frozenset[str]  # words for the speaker
    preambles: tuple[str, ...]  # beginnings that only announce what is told
    addresses: frozenset[str]  # words for who is spoken to
    done: frozenset[str]  # what was done, where the form does not end in -ed
    complete: frozenset[str]  # what was done or felt, where nothing need follow
    praise: frozenset[str]  # of what somebody said
    reactions: frozenset[str]  # words that say nothing by themselves
    question_first: frozenset[str]  # words that begin a question
    question_second: frozenset[str]
    stop: frozenset[str]
    common: frozenset[str]  # stems
    headings: Mapping[str, tuple[str, ...]]  # stem of a heading's word -> cues


_WORD_SETS = (
    "copulas",
    "closers",
    "counted",
    "periods",
    "introductions",
    "requests",
    "people",
    "wishes",
    "numbers",
    "takers",
    "praise",
    "done",
    "complete",
)


@cache
def lexicon() -> Lexicon:
    data = tomllib.loads(resources.files(__package__).joinpath("lexicon_en.toml").read_text("utf-8"))
    cues = data["cues"]
    phrases = {name: _phrases(text) for name, text in data["phrases"].items()}
    thoughts = data["thoughts"]
    return Lexicon(
        weights={name: float(cue["weight"]) for name, cue in cues.items()},
        lasting=frozenset(data["lasting"]),
        essential=frozenset(data["essential"]),
        cues=_index({name: _phrases(cue["words"]) for name, cue in cues.items()}),
        deferrals=_index({"deferral": phrases["deferral"]}),
        acceptances=_index({"acceptance": phrases["acceptance"]}),
        openers=_index({"opener": phrases["opener"]}),
        leaning=_index({"leaning": phrases["leaning"]}),
        standing=_index({"standing": phrases["standing"]}),
        contrary=_index({"contrary": phrases["contrary"]}),
        settled=_index({"settled": _phrases(thoughts["settled"])}),
        pronouns=frozenset(thoughts["pronouns"].split()),
        persons=frozenset(thoughts["persons"].split()),
        trailing=frozenset(thoughts["trailing"].split()),
        determiners=frozenset(thoughts["determiners"].split()),
        verbs=frozenset(f"{thoughts['verbs']} {thoughts['requests']}".split()),
        vague=_index({"vague": _phrases(thoughts["vague"])}),
        **{name: frozenset(thoughts[name].split()) for name in _WORD_SETS},
        remarks=_index({"remark": _phrases(thoughts["remarks"])}),
        selves=frozenset(thoughts["selves"].split()),
        preambles=tuple(_phrases(thoughts["preambles"])),
        addresses=frozenset(thoughts["addresses"].split()),
        reactions=frozenset(thoughts["reactions"].split()),
        question_first=frozenset(phrases["question_first"]),
        question_second=frozenset(phrases["question_second"]),
        stop=frozenset(data["stop"].split()),
        common=frozenset(stem(word) for word in data["common"].split()),
        headings={stem(word): tuple(names) for word, names in data["headings"].items()},
    )


def _phrases(text: str) -> list[str]:
    return [" ".join(part.split()) for part in text.split(",") if part.strip()]


def _index(groups: Mapping[str, Iterable[str]]) -> Phrases:
    index: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for label, phrases in groups.items():
        for phrase in phrases:
            words = tuple(fold(phrase).split())
            index.setdefault(words[0], []).append((words, label))
    return {first: tuple(entries) for first, entries in index.items()}


def labels(tokens: Sequence[str], phrases: Phrases) -> tuple[str, ...]:
    """The labels of all phrases among the tokens, each once, in order of appearance."""
    found: dict[str, None] = {}
    for at, token in enumerate(tokens):
        for parts, label in phrases.get(token, ()):
            if label not in found and (len(parts) == 1 or tuple(tokens[at : at + len(parts)]) == parts):
                found[label] = None
    return tuple(found)


def match_start(tokens: Sequence[str], phrases: Phrases) -> int:
    """How many words the longest of the phrases takes at the very beginning."""
    entries = phrases.get(tokens[0], ()) if tokens else ()
    return max((len(words) for words, _ in entries if tuple(tokens[: len(words)]) == words), default=0)
