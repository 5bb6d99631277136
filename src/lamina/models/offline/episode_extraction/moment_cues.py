"""Words that tell of moments that mattered, read once from the `moment_cues_*.toml` beside this module."""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from lamina.language.words import fold
from lamina.values.fact import EPISODE_KINDS, EpisodeKind

ANY = "*"  # trigger of cues that every clause is searched for
STEM = 4  # letters that a word is looked up by where a cue has only its beginning
STRENGTHS = ("strong", "plain", "assistant")


@dataclass(frozen=True, slots=True)
class Cue:
    """A phrase that tells of a kind of moment, or of a sign of how something is told."""

    kind: EpisodeKind | None  # None: a sign
    name: str  # how strong it is, or which sign
    personal: bool  # it begins with who did it
    phrase: re.Pattern[str]


Cues = Mapping[str, tuple[Cue, ...]]  # by a word that must be there


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """The cues of one language."""

    code: str
    cues: Cues
    signs: Cues  # classes of words that may be taken back
    manner: Cues  # classes of words that say how something is told
    before: Cues  # in what the assistant said before
    tones: Mapping[EpisodeKind, float]  # valence of a kind by itself
    vetoes: Mapping[str, re.Pattern[str]]  # by what they make of a phrase behind them
    lists: Mapping[str, re.Pattern[str]]
    sets: Mapping[str, frozenset[str]]
    labels: Mapping[EpisodeKind, str]  # of a title that has to be taken from what was said before


@cache
def languages() -> tuple[Language, ...]:
    """All languages that there is a file for, by its name."""
    files = [file for file in resources.files(__package__).iterdir() if file.name.endswith(".toml")]
    return tuple(
        _language(file.name.removesuffix(".toml").removeprefix("moment_cues_"), tomllib.loads(file.read_text("utf-8")))
        for file in sorted(files, key=lambda file: file.name)
    )


def language_of(words: Sequence[str]) -> Language:
    """The language that has most of the words among its commonest ones; English if none has."""
    known = languages()
    english = next(one for one in known if one.code == "en")
    counts = {one.code: sum(word in one.sets["common"] for word in words) for one in known}
    return max(known, key=lambda one: (counts[one.code], one is english))


def _language(code: str, data: Mapping[str, Any]) -> Language:
    lists = {name: _phrases(text) for name, text in data["words"].items()}
    lists[_NEGATION] = _phrases(data["valence"]["negations"])
    kinds = [kind for kind in EPISODE_KINDS if kind in data["kinds"]]
    cues = [_cues(kind, name, data["kinds"][kind].get(name, ""), lists) for kind in kinds for name in STRENGTHS]
    signs = [_cues(None, name, text, lists) for name, text in data["signs"].items()]
    manner = [_cues(None, name, text, lists) for name, text in data["manner"].items()]
    return Language(
        code=code,
        cues=_index(cues),
        signs=_index(signs),
        manner=_index(manner),
        before=_index(_cues(None, name, text, lists) for name, text in data["before"].items()),
        tones={kind: float(data["kinds"][kind]["valence"]) for kind in kinds},
        vetoes={name: _any(_phrases(data["vetoes"][name]), lists) for name in VETOES},
        lists={name: _any(_phrases(data[table][key]), lists) for name, (table, key) in _LISTS.items()},
        sets={name: frozenset(_phrases(data[table][key])) for name, (table, key) in _SETS.items()},
        labels={kind: data["kinds"][kind]["label"] for kind in kinds},
    )


VETOES = ("asked", "supposed", "denied", "wanted", "reported", "habit")
# Table and key of the file.
_LISTS = {
    "mentions": ("vetoes", "mentions"), "after": ("vetoes", "after"), "asks": ("asks", "words"),
    "reason": ("reasons", "inside"), "leads": ("reasons", "leads"), "important": ("important", "words"),
}  # fmt: skip
_SETS = {
    "openers": ("opener", "words"), "objects": ("outcome", "words"), "conjunctions": ("conjunctions", "words"),
    "background": ("conjunctions", "background"), "joints": ("conjunctions", "joints"),
    "subjects": ("conjunctions", "subjects"), "good": ("valence", "good"), "bad": ("valence", "bad"),
    "negations": ("valence", "negations"), "curses": ("valence", "curses"), "common": ("words", "common"),
    "title_leads": ("titles", "leads"), "title_subjects": ("titles", "subjects"),
    "title_helpers": ("titles", "helpers"), "title_tails": ("titles", "tails"), "title_joints": ("titles", "joints"),
    "title_prepositions": ("titles", "prepositions"), "title_keep": ("titles", "keep"),
    "title_subordinate": ("titles", "subordinate"),
}  # fmt: skip


def _phrases(text: str) -> list[str]:
    return [" ".join(fold(part).split()) for part in re.split(r"[,\n]", text) if part.strip()]


Lists = Mapping[str, Sequence[str]]


def _cues(kind: EpisodeKind | None, name: str, text: str, lists: Lists) -> Iterator[tuple[frozenset[str], Cue]]:
    for phrase in _phrases(text):
        pattern = re.compile(_expression(phrase, lists))
        yield _trigger_words(phrase, lists), Cue(kind, name, phrase.startswith("{we}"), pattern)


def _index(groups: Iterable[Iterable[tuple[frozenset[str], Cue]]]) -> Cues:
    index: dict[str, list[Cue]] = {}
    for group in groups:
        for needed, cue in group:
            for word in sorted(needed):
                index.setdefault(word, []).append(cue)
    return {word: tuple(cues) for word, cues in index.items()}


def _any(phrases: Iterable[str], lists: Lists) -> re.Pattern[str]:
    return re.compile("|".join(_expression(phrase, lists) for phrase in phrases))


def _expression(phrase: str, lists: Lists) -> str:
    """A phrase as an expression for a line of words, each with a space behind it; a sentence begins with two."""
    parts = phrase.split()
    expression = "" if parts[0].startswith("^") else "(?<= )"
    negations = "|".join(map(re.escape, lists[_NEGATION]))
    for part in parts:
        if part in _SPECIAL:
            expression += _SPECIAL[part].replace("NEGATIONS", negations)
        else:
            choices = "|".join(re.escape(choice).replace(r"\*", "[^ ]*") for choice in _choices(part, lists))
            expression += f"(?:(?:{choices}) )" + ("?" if part.endswith("?") else "")
    return expression


_SPECIAL = {"^^": r"\A  ", "^": r"\A  ?", "$": r"\Z", "..": r"(?:(?!(?:NEGATIONS) )[^ ]+ ){0,4}?"}
_NEGATION = ".."  # the list of what a gap must not have


def _choices(part: str, lists: Lists) -> list[str]:
    found: list[str] = []
    for choice in part.removesuffix("?").split("|"):
        found.extend(lists[choice[1:-1]] if choice.startswith("{") else [choice])
    return found


def _trigger_words(phrase: str, lists: Lists) -> frozenset[str]:
    """The words of a phrase's most telling part: a clause without one of them need not be searched."""
    must = [part for part in phrase.split() if part not in _SPECIAL and not part.endswith("?")]
    telling = max(must, key=lambda part: (not part.startswith("{"), len(part.split("|")[0])))
    return frozenset(_trigger(choice.split()[0]) for choice in _choices(telling, lists))


def _trigger(word: str) -> str:
    """A word; of one that is only begun, its first letters; of one whose end is given, that any will do."""
    if word.startswith("*"):
        return ANY
    return word[:STEM] + "*" if word.endswith("*") else word
