"""What a statement says to have changed: what has ended, what has a new value, and whether it speaks of now.

A statement is in the first person. The words of each language are in `change_words`.
"""

import re
from dataclasses import dataclass
from functools import cache

from lamina.language.change_words import LANGUAGES, ChangeWords

_PLAIN = r"[^\s,;:.!?()'\u2019/@-]+"
_WORD = rf"{_PLAIN}(?:[.,'\u2019:/@-]{_PLAIN})*"  # also an address, a time, a number such as 3.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What a statement says to have changed."""

    ended: tuple[str, ...] = ()  # phrases for what is no longer so: "the Volvo", "learning Spanish"
    topics: tuple[str, ...] = ()  # what has a new value: "email address", "the Pro plan"
    subject: str = ""  # who did what ended it, if not the user: "my sister"
    now: bool = False  # it says how something is now: "now", "these days"
    adds: bool = False  # it says that something is so beside what was so: "also", "another"
    only_ends: bool = False  # it says nothing but that something has ended
    only_denies: bool = False  # it says so with a negation only: "no longer"

    def __bool__(self) -> bool:
        return bool(self.ended or self.topics or self.now)


def changes_in(text: str) -> Changes:
    """What a statement in the first person says to have changed."""
    found = [_changes_in(" ".join(text.split()), reader) for reader in _readers()]
    return max(found, key=lambda one: (len(one.ended) + len(one.topics), one.now))


def other_subject(text: str) -> str:
    """Whose affairs a statement in the first person tells, if not the user's own: "sister" of "my sister lives in"."""
    found = (reader.other.match(text) for reader in _readers())
    return next((match["who"] for match in found if match), "")


def without_time(text: str) -> str:
    """A statement without the words that say that it is so now."""
    for reader in _readers():
        text = reader.now.sub(" ", text)
    return " ".join(text.split()).strip(" ,;:.")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reader:
    ended: tuple[re.Pattern[str], ...]
    topics: tuple[re.Pattern[str], ...]
    implied: tuple[tuple[re.Pattern[str], str], ...]
    now: re.Pattern[str]
    adds: re.Pattern[str]
    denies: re.Pattern[str]
    hedges: re.Pattern[str]
    own: re.Pattern[str]
    other: re.Pattern[str]


@cache
def _readers() -> tuple[_Reader, ...]:
    return tuple(_reader(words) for words in LANGUAGES)


def _reader(words: ChangeWords) -> _Reader:
    stop = rf"(?=\s*[,;:.!?()](?:\s|$)|\s+(?:{words.after})\b|\s*$)"
    phrase = rf"{_WORD}(?:\s+{_WORD}){{0,6}}?"
    verb_stop = rf"(?=\s*[,;:.!?()](?:\s|$)|\s+(?:{words.after_verbs})\b|\s*$)"
    old = rf"(?P<old>\w+ing\b(?:\s+{_WORD}){{0,5}}?(?={verb_stop})|{phrase}(?={stop}))"
    slots = {"%old": old, "%topic": rf"(?P<topic>{phrase})", "%any": phrase, "%stop": stop}

    def pattern(text: str) -> re.Pattern[str]:
        for name, slot in slots.items():
            text = text.replace(name, slot)
        return re.compile(text, re.IGNORECASE)

    def any_of(text: str) -> re.Pattern[str]:
        return re.compile(rf"\b(?:{text})\b", re.IGNORECASE)

    return _Reader(
        ended=tuple(map(pattern, words.ended)),
        topics=tuple(map(pattern, words.topics)),
        implied=tuple((pattern(said), topic) for said, topic in words.implied),
        now=any_of(words.now),
        adds=any_of(words.adds),
        denies=any_of(words.denies),
        hedges=any_of(words.hedges),
        own=re.compile(rf"(?:{words.own})\b|$", re.IGNORECASE),
        other=re.compile(
            rf"(?:{words.mine}) (?:(?:{words.adjectives}) ){{0,2}}(?P<who>{words.people})(?:\b|'s )", re.IGNORECASE
        ),
    )


def _changes_in(text: str, reader: _Reader) -> Changes:
    if reader.hedges.search(text) or text.endswith("?"):
        return Changes()
    ended = [match for one in reader.ended for match in one.finditer(text)]
    topics = [match["topic"] for one in reader.topics for match in one.finditer(text)]
    topics += [topic for one, implied in reader.implied if one.search(text) for topic in implied.split("|")]
    start = min((match.start() for match in ended if match.start("old") != match.start()), default=0)
    subject = text[:start].strip()
    return Changes(
        ended=tuple(dict.fromkeys(match["old"] for match in ended)),
        topics=tuple(dict.fromkeys(topics)),
        subject="" if reader.own.match(subject) else subject,
        now=reader.now.search(text) is not None,
        adds=reader.adds.search(text) is not None,
        only_ends=len(ended) == 1 and not text[ended[0].end() :].strip(" .!") and not topics,
        only_denies=bool(ended) and all(reader.denies.match(match[0]) for match in ended),
    )
