"""Phrase books as values, read once from the `phrases_*.toml` beside this module.

A phrase book is for languages whose words are not parted by spaces, or whose endings say what English says with words:
its patterns are regular expressions over the text of a clause. `<list>` stands for one of the words of a list,
`{slot}` or `{label:slot}` for what may stand in a slot, and `<slot>` for the same without a label.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from lamina.errors import ConfigError
from lamina.models.offline.fact_extraction.grammar import Emission

_PLACE = re.compile(r"(?<!\?P)<(?P<list>[a-z_]+)>|\{(?P<label>[a-z]+)(?::(?P<slot>[a-z_]+))?\}")
_IMPORTANCE = 0.6  # of what a book does not say


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrase:
    """What a pattern means."""

    pattern: re.Pattern[str]
    emissions: tuple[Emission, ...]
    refused: Mapping[str, re.Pattern[str]]  # by label: with one of these in it, it is no value
    confidence: float
    holds: bool
    lists: bool  # a list makes one fact for each item
    others: bool  # may be said where the clause is about somebody else
    whole: bool  # read over the whole sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """A pattern that says that its clause or sentence states no fact, except in the categories it spares."""

    pattern: re.Pattern[str]
    whole: bool  # of the sentence
    spares: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PhraseBook:
    """All that is known of one language."""

    language: str
    clause_end: re.Pattern[str]
    items: re.Pattern[str]  # between the items of a list
    asks: re.Pattern[str]  # a clause that asks
    first_person: re.Pattern[str]
    others: re.Pattern[str]  # a clause that is about somebody else, as those behind it without a subject
    guards: tuple[Guard, ...]
    phrases: tuple[Phrase, ...]


@cache
def phrase_books() -> Mapping[str, PhraseBook]:
    """Every phrase book of the package, by language."""
    folder = resources.files("lamina.models.offline.fact_extraction")
    names = sorted(file.name for file in folder.iterdir() if file.name.startswith("phrases_"))
    found = [phrase_book(tomllib.loads(folder.joinpath(name).read_text("utf-8"))) for name in names]
    return {book.language: book for book in found}


def phrase_book(data: Mapping[str, Any]) -> PhraseBook:
    """A phrase book from its table."""
    lists = {name: "(?:" + "|".join(_words(text, data["words"])) + ")" for name, text in data["words"].items()}
    return PhraseBook(
        language=data["language"],
        clause_end=_compile(data["clause_end"], data, lists),
        items=_compile(data["items"], data, lists),
        asks=_compile(data["asks"], data, lists),
        first_person=_compile(data["first_person"], data, lists),
        others=_compile(data["others"], data, lists),
        guards=tuple(
            Guard(
                pattern=_compile("|".join(guard["say"]), data, lists),
                whole=guard["scope"] == "sentence",
                spares=frozenset(guard.get("spares", ())),
            )
            for guard in data["guards"]
        ),
        phrases=tuple(_phrase(entry, say, data, lists) for entry in data["phrases"] for say in entry["say"]),
    )


def _words(text: str, lists: Mapping[str, str]) -> list[str]:
    """The words of a list, those of lists that it takes in among them, the longest first."""
    found: set[str] = set()
    for word in filter(None, (part.strip() for part in text.replace("\n", " ").split(","))):
        found.update(_words(lists[word[1:-1]], lists) if word.startswith("<") else [word.replace(" ", r"\s+")])
    return sorted(found, key=lambda word: (-len(word), word))


def _phrase(entry: Mapping[str, Any], say: str, data: Mapping[str, Any], lists: Mapping[str, str]) -> Phrase:
    importance: Mapping[str, float] = data["importance"]
    emissions = []
    for made in (entry, *entry.get("also", ())):
        key, category = made.get("key"), made.get("category", entry["category"])
        first = key.split()[0] if key else category
        weight = importance.get(key or "", importance.get(first, importance.get(category, _IMPORTANCE)))
        emissions.append(Emission(category=category, key=key, value=made["value"], importance=weight, limit=""))
    pattern = _compile(say, data, lists)
    slots = {match["label"]: match["slot"] or match["label"] for match in _PLACE.finditer(say) if match["label"]}
    refused = {label: data["refused"][slot] for label, slot in slots.items() if slot in data["refused"]}
    return Phrase(
        pattern=pattern,
        emissions=tuple(emissions),
        refused={label: _compile(text, data, lists) for label, text in refused.items()},
        confidence=entry.get("confidence", 0.9),
        holds=entry.get("holds", True),
        lists=entry.get("lists", False),
        others=entry.get("others", False),
        whole=entry.get("scope", "clause") == "sentence",
    )


def _compile(source: str, data: Mapping[str, Any], lists: Mapping[str, str]) -> re.Pattern[str]:
    def put(match: re.Match[str]) -> str:
        name = match["list"] or match["slot"] or match["label"]
        if name in lists and match["list"]:
            return lists[name]
        if name not in data["slots"]:
            raise ConfigError([f"phrase {source!r}: no {name!r}; there are {sorted([*lists, *data['slots']])}"])
        inner = _PLACE.sub(put, data["slots"][name])
        return f"(?:{inner})" if match["list"] else f"(?P<{match['label']}>{inner})"

    try:
        return re.compile(_PLACE.sub(put, source))
    except re.error as error:
        raise ConfigError([f"phrase {source!r}: {error}"]) from error
