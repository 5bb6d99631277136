"""The words of a fact: how values are compared, which of them give a fact away, how it reads in one line."""

import hashlib
from collections.abc import Iterable, Mapping

from lamina.language.unicode import normalise
from lamina.values.fact import Fact, FactType

TYPES: Mapping[str, FactType] = {
    "identity": "fact",
    "preference": "preference",
    "constraint": "constraint",
    "instruction": "constraint",
    "goal": "goal",
    "decision": "decision",
    "procedure": "procedure",
    "commitment": "goal",
    "entity": "entity",
}
CATEGORIES = tuple(TYPES)
TELLING = 4  # characters
_NAMES = frozenset(("name", "full name", "nickname"))
_EDGES = " \t\n.,;:!?\"'()[]{}«»\u201c\u201d\u2018\u2019"


def plain_text(text: str) -> str:
    """Text without what does not count: width, case and the number of spaces; signs of every script stay."""
    if text.isascii():
        return " ".join(text.casefold().split())
    return " ".join(normalise("NFKC", normalise("NFKC", text).casefold()).split())


def normalise_value(text: str) -> str:
    """Text made comparable: folded, without punctuation at its ends."""
    return strip_punctuation(plain_text(text))


def strip_punctuation(text: str) -> str:
    """Text without punctuation at its ends, if it has anything else."""
    return text.strip(_EDGES) or text


def slot_of(key: str | None, value: str) -> str:
    return f"={normalise_value(value)}" if key is None else normalise_value(key)


def claim(fact: Fact) -> tuple[object, ...]:
    """What makes two facts the same saying, whatever their ids."""
    return fact.message_id, fact.start, fact.end, fact.category, fact.slot, fact.holds, normalise_value(fact.value)


def mark(secret: bytes, fact: Fact) -> bytes:
    """What is kept of a forgotten value, so that it is not extracted again; it tells nothing without the secret."""
    text = f"{fact.user_id}\0{fact.slot}\0{normalise_value(fact.value)}"
    return hashlib.sha256(secret + text.encode()).digest()


def describe_fact(fact: Fact) -> str:
    """A fact in one line, for a reader."""
    line = (
        f"{fact.key}: {fact.value}"
        if fact.key and normalise_value(fact.key) not in normalise_value(fact.value)
        else fact.value
    )
    return line if fact.reason is None else f"{line} (because {fact.reason})"


def own_words(fact: Fact) -> list[str]:
    """The words of a fact that give it away: its value, or what is liked or not."""
    liked = fact.value.partition(" ")[2] if fact.category == "preference" else ""
    return [fact.value, liked] if liked else [fact.value]


def names(facts: Iterable[Fact]) -> tuple[str, ...]:
    """What the user is called, by what is known."""
    called = [fact.value for fact in facts if fact.key in _NAMES and fact.status == "active" and fact.holds]
    return tuple(dict.fromkeys(name for whole in called for name in (whole, *whole.split()[:1])))


def telling(fact: Fact) -> list[str]:
    """The words of a fact that give it away, as they stand in its quote, unless they are too short to tell."""
    found = []
    for words in own_words(fact):
        at = fact.quote.casefold().find(words.casefold())
        as_said = fact.quote[at : at + len(words)] if at >= 0 else ""
        if as_said.casefold() == words.casefold() and len(words) >= TELLING:
            found.append(as_said)
    return found
