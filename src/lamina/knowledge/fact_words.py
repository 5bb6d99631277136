"""The words of a fact: how values are compared, which of them give a fact away, how it reads in one line."""

import hashlib
from collections.abc import Iterable, Mapping

from lamina.knowledge.statement_words import statement_line
from lamina.language.unicode import normalise, plain_marks
from lamina.values.fact import Fact, FactType, Stands

TYPES: Mapping[str, FactType] = {
    "identity": "fact",
    "relation": "fact",
    "health": "fact",
    "preference": "preference",
    "constraint": "constraint",
    "instruction": "constraint",
    "goal": "goal",
    "decision": "decision",
    "procedure": "procedure",
    "commitment": "goal",
    "event": "fact",
    "entity": "entity",
}
CATEGORIES = tuple(TYPES)
# Keys of which several values hold at a time. Of all others the newest holds, unless the words say that it is one more.
MANY = frozenset(("health", "disability", "nationality", "language", "availability"))
TELLING = 4  # characters
_NAMES = frozenset(("name", "full name", "nickname"))
_ANSWERS = {"yes": True, "true": True, "no": False, "false": False}
# Verbs that keys and values begin with, and how their opposite begins.
_VERBS = {
    "is": "is not", "can": "cannot", "has": "does not have",
    **{f"{verb}s": f"does not {verb}" for verb in (
        "eat", "drink", "speak", "like", "dislike", "love", "hate", "prefer", "enjoy", "avoid", "own", "use", "play",
        "smoke", "drive", "want", "need", "know", "live", "work",
    )},
}  # fmt: skip
_EDGES = " \t\n.,;:!?\"'()[]{}«»\u201c\u201d\u2018\u2019"


def plain_text(text: str) -> str:
    """Text without what does not count: width, case, spaces, and how apostrophes, quotes and dashes are written."""
    if text.isascii():
        return " ".join(text.casefold().split())
    return " ".join(normalise("NFKC", normalise("NFKC", plain_marks(text)).casefold()).split())


def spoken_words(text: str) -> str:
    """By what messages are found to say the same: also without a full stop or exclamation mark at the end."""
    plain = plain_text(text)
    return plain.rstrip(".! ") or plain


def normalise_value(text: str) -> str:
    """Text made comparable: folded, without punctuation at its ends."""
    return strip_punctuation(plain_text(text))


def strip_punctuation(text: str) -> str:
    """Text without punctuation at its ends, if it has anything else."""
    return text.strip(_EDGES) or text


INSTEAD = " ="  # behind the slot of a key: a slot beside it, of one value; with no value, one in place of all of them


def family_of(slot: str) -> str:
    """The slot of a key, of one that is beside it."""
    return slot if slot.startswith("=") else slot.partition(INSTEAD)[0]


def names_value(slot: str) -> bool:
    """Whether a slot is made of a value: of a fact without a key, or of one beside others."""
    return slot.startswith("=") or bool(slot.partition(INSTEAD)[2])


def slot_of(
    key: str | None, value: str, about: str | None = None, scope: str | None = None, stands: Stands = "alone"
) -> str:
    """What a fact is about, made comparable: what is known of another person, or for another scope, is another slot."""
    thing = f"={normalise_value(value)}" if key is None else _name(key)
    limits = (("for", scope), ("of", about))  # nothing comparable ends with a bracket, so that no key looks like this
    slot = thing + "".join(f" ({word} {_name(named)})" for word, named in limits if named)
    if key is None or stands == "alone":
        return slot
    return f"{slot}{INSTEAD}{normalise_value(value) if stands == 'beside' else ''}"


def _name(text: str) -> str:
    """A name made comparable, that is not taken for a slot beside another."""
    return normalise_value(text).replace(INSTEAD, "=")


def claim(fact: Fact) -> tuple[object, ...]:
    """What makes two facts the same saying, whatever their ids."""
    return fact.message_id, fact.start, fact.end, fact.category, fact.slot, fact.holds, normalise_value(fact.value)


def mark(secret: bytes, fact: Fact) -> bytes:
    """What is kept of a forgotten value, so that it is not extracted again; it tells nothing without the secret."""
    text = f"{fact.user_id}\0{fact.slot}\0{normalise_value(fact.value)}"
    return hashlib.sha256(secret + text.encode()).digest()


def describe_fact(fact: Fact) -> str:
    """A fact in one line, as a person would write it: `dog: Rex`, `Lena: allergic to nuts`, `does not eat gluten`."""
    line = _statement(fact)
    if fact.about and line.startswith(f"{fact_label(fact).replace('_', ' ')}: "):
        line = f"{fact.about}{_owner(fact.about)} {line}"
    return in_context(fact, line if fact.reason is None else f"{line} (because {fact.reason})")


def _owner(name: str) -> str:
    is_plural = name.endswith("s") and name.rsplit(maxsplit=1)[-1].islower()
    return "'" if is_plural else "'s"  # my parents' house, Klaus's house


def in_context(fact: Fact, line: str) -> str:
    """A line on a fact, with whom it is about, if the line does not name them, and the question that it answers."""
    if fact.about and not _names_person(line, fact.about):
        line = f"{fact.about}: {line}"
    return line if fact.question is None else f"{line} (asked: \u201c{' '.join(fact.question.split())}\u201d)"


def fact_label(fact: Fact) -> str:
    """What a fact is about, without its value: `allergy` of `allergy peanuts`; its category if it has no key."""
    key = (fact.key or fact.category).split()
    start = len(key) - len(fact.value.split())
    is_named = start > 0 and normalise_value(" ".join(key[start:])) == normalise_value(fact.value)
    label = " ".join(key[:start] if is_named else key)
    return f"{label} ({fact.scope})" if fact.scope else label


def _statement(fact: Fact) -> str:
    """Key and value as one statement; with `not` where it was said to hold no longer."""
    scope = f" ({fact.scope})" if fact.scope else ""
    if not fact.key:
        line = statement_line(fact.value, fact.quote, answers=fact.question is not None) if fact.holds else fact.value
        return _claim(line, holds=fact.holds) + ("" if _has_words(fact.value, fact.scope or "") else scope)
    label, answer = fact_label(fact).replace("_", " ").removesuffix(scope), _ANSWERS.get(normalise_value(fact.value))
    verb, _, about = label.partition(" ")
    if verb.casefold() in _VERBS:
        if answer is not None:
            return _claim(f"{verb} {_as_said(about, fact.quote)}".rstrip(), holds=fact.holds is answer) + scope
        return _claim(f"{label} {fact.value}", holds=fact.holds) + scope
    if label.casefold() in {"allergy", "allergies"} and answer is None:
        return f"{'' if fact.holds else 'not '}allergic to {fact.value}{scope}"
    if _has_words(fact.value, label):
        return _claim(fact.value, holds=fact.holds) + scope
    return f"{label}{scope}: {'' if fact.holds else 'not '}{fact.value}"


def _claim(text: str, *, holds: bool) -> str:
    """A statement, or its opposite."""
    if holds:
        return text
    verb, _, about = text.partition(" ")
    if verb.casefold() not in _VERBS:
        return f"no longer: {text}"
    return f"{_VERBS[verb.casefold()]} {about}".rstrip()


def _as_said(words: str, quote: str) -> str:
    """Words of a key, which has no capitals, as they were said."""
    start = quote.casefold().find(words.casefold())
    said = quote[start : start + len(words)] if start >= 0 else ""
    return said if said.casefold() == words.casefold() else words


def _has_words(text: str, words: str) -> bool:
    """Whether a text has some words in a row; in scripts without spaces, the same characters."""
    text, words = normalise_value(text), normalise_value(words)
    return f" {words} " in f" {text} " if words.isascii() else words in text


def _names_person(line: str, person: str) -> bool:
    """Whether a line has the name of a person, also as an owner: "Lena's"."""
    line, person = (text.replace("\u2019", "'").replace("'s", "").replace("'", "") for text in (line, person))
    return _has_words(line, person)


def own_words(fact: Fact) -> list[str]:
    """The words of a fact that give it away: its value, or what is liked or not."""
    liked = fact.value.partition(" ")[2] if fact.category == "preference" else ""
    return [fact.value, liked] if liked else [fact.value]


def names(facts: Iterable[Fact]) -> tuple[str, ...]:
    """What the user is called, by what is known."""
    called = [
        fact.value
        for fact in facts
        if fact.key in _NAMES and fact.about is None and fact.status == "active" and fact.holds
    ]
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
