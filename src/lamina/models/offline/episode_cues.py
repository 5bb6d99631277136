"""The phrases that tell of moments that mattered, read once from the `episodes_*.toml` beside this module."""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from lamina.models.offline.word_overlap import folded
from lamina.values.fact import EPISODE_KINDS, EpisodeKind

_LIFTS = {"strong": 0.12, "plain": 0.0, "minor": -0.1, "assistant": -0.12}


@dataclass(frozen=True, slots=True)
class Cue:
    """A phrase that tells of a kind of moment, and how much that weighs."""

    kind: EpisodeKind
    role: str
    weight: float
    personal: bool  # it begins with who did it
    phrase: re.Pattern[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """What an `episodes_*.toml` says."""

    cues: Mapping[str, tuple[Cue, ...]]  # by a word that must be there
    tones: Mapping[EpisodeKind, float]  # valence of a kind by itself
    lists: Mapping[str, re.Pattern[str]]
    openers: frozenset[str]  # words that only lead to a clause
    joints: frozenset[str]  # words that begin a clause
    background: frozenset[str]  # those of them that bring what is known already
    subjects: frozenset[str]  # and those that do so after "and"
    objects: frozenset[str]  # last words of a cue behind which stands what was decided
    good: frozenset[str]
    bad: frozenset[str]
    negations: frozenset[str]


@cache
def languages() -> tuple[Language, ...]:
    """All languages that there is a file for, by its name."""
    files = sorted(resources.files("lamina.models.offline").iterdir(), key=lambda file: file.name)
    named = [file for file in files if file.name.startswith("episodes_") and file.name.endswith(".toml")]
    return tuple(_language(tomllib.loads(file.read_text("utf-8"))) for file in named)


def _language(data: Mapping[str, Any]) -> Language:
    lists = {name: _listed(text) for name, text in data["words"].items()}
    lists[_NEGATION] = _listed(data["valence"]["negations"])
    phrases = {
        "before": data["vetoes"]["before"],
        "mentions": data["vetoes"]["mentions"],
        "after": data["vetoes"]["after"],
        "asks": data["asks"]["words"],
        "reason": data["reasons"]["inside"],
        "leads": data["reasons"]["leads"],
        "important": data["important"]["words"],
    }
    kinds = [kind for kind in EPISODE_KINDS if kind in data["kinds"]]
    return Language(
        cues=_indexed(_cues(kind, data["kinds"][kind], lists) for kind in kinds),
        tones={kind: float(data["kinds"][kind]["valence"]) for kind in kinds},
        lists={name: _any(_listed(text), lists) for name, text in phrases.items()},
        openers=frozenset(_listed(data["opener"]["words"])),
        joints=frozenset(_listed(data["joints"]["words"])),
        background=frozenset(_listed(data["joints"]["background"])),
        subjects=frozenset(_listed(data["joints"]["subjects"])),
        objects=frozenset(_listed(data["outcome"]["words"])),
        good=frozenset(_listed(data["valence"]["good"])),
        bad=frozenset(_listed(data["valence"]["bad"])),
        negations=frozenset(_listed(data["valence"]["negations"])),
    )


def _listed(text: str) -> list[str]:
    return [" ".join(folded(part).split()) for part in re.split(r"[,\n]", text) if part.strip()]


Lists = Mapping[str, Sequence[str]]


def _cues(kind: EpisodeKind, told: Mapping[str, Any], lists: Lists) -> Iterator[tuple[frozenset[str], Cue]]:
    for name, lift in _LIFTS.items():
        role = "assistant" if name == "assistant" else "user"
        for phrase in _listed(told.get(name, "")):
            pattern = re.compile(_expression(phrase, lists))
            yield (
                _needed(phrase, lists),
                Cue(kind, role, float(told["weight"]) + lift, phrase.startswith("{we}"), pattern),
            )


def _indexed(groups: Iterable[Iterator[tuple[frozenset[str], Cue]]]) -> Mapping[str, tuple[Cue, ...]]:
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
    denied = "|".join(map(re.escape, lists[_NEGATION]))
    for part in parts:
        if part in _SPECIAL:
            expression += _SPECIAL[part].replace("DENIED", denied)
        else:
            choices = "|".join(re.escape(choice) for choice in _choices(part, lists))
            expression += f"(?:(?:{choices}) )" + ("?" if part.endswith("?") else "")
    return expression


_SPECIAL = {"^^": r"\A  ", "^": r"\A  ?", "$": r"\Z", "..": r"(?:(?!(?:DENIED) )[^ ]+ ){0,4}?"}
_NEGATION = ".."  # the list of what a gap must not have


def _choices(part: str, lists: Lists) -> list[str]:
    found: list[str] = []
    for choice in part.removesuffix("?").split("|"):
        found.extend(lists[choice[1:-1]] if choice.startswith("{") else [choice])
    return found


def _needed(phrase: str, lists: Lists) -> frozenset[str]:
    """Words of which one must be there, so that most clauses need no search: those of the most telling part."""
    must = [part for part in phrase.split() if part not in _SPECIAL and not part.endswith("?")]
    telling = max(must, key=lambda part: (not part.startswith("{"), len(part.split("|")[0])))
    return frozenset(choice.split()[0] for choice in _choices(telling, lists))
