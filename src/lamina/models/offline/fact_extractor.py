"""Finds what users say of themselves with a grammar for each language: few and sure rather than many."""

import re
from collections.abc import Iterator, Sequence
from functools import cache

from lamina.language.sentences import Sentence
from lamina.models.offline.grammar.data import Grammar, grammars
from lamina.models.offline.grammar.regions import Markers, masked, own_sentences
from lamina.models.offline.grammar.sentence_reading import LONGEST_QUOTE, Reading, read
from lamina.models.offline.grammar.tokens import folded
from lamina.protocols.models import FactDraft
from lamina.values.message import Message

_PARAGRAPH = re.compile(r"\n[ \t]*\n|(?<=:)[ \t]*\n")
_MOST_CHARACTERS = 20_000  # of a message; what comes behind is pasted rather than said


class OfflineExtractor:
    """Finds durable things users state of themselves in the first person; when in doubt, nothing."""

    name = "offline-grammar-1"

    async def extract(self, messages: Sequence[Message]) -> Sequence[FactDraft]:
        return [draft for message in messages if message.role == "user" for draft in facts_in(message)]


def facts_in(message: Message) -> list[FactDraft]:
    """The facts of one message in order; every quote is a piece of its text."""
    text = message.text[:_MOST_CHARACTERS]
    found: list[Reading] = []
    above: int | None = None  # where the paragraph ended that speaks of the text below it
    for sentence, grammar in _languages(masked(text, _first_person())):
        if above is not None and _PARAGRAPH.search(text, above, sentence.start):
            break
        found, scope = read(sentence, grammar, message.created_at, text, found)
        if scope in {"rest", "message"}:
            break
        above = sentence.end if scope == "below" else above
    return [_draft(reading, message) for reading in found]


def _draft(reading: Reading, message: Message) -> FactDraft:
    end = min(reading.end, reading.start + LONGEST_QUOTE)
    return FactDraft(
        message_id=message.id,
        category=reading.category,
        key=reading.key,
        value=reading.value,
        quote=message.text[reading.start : end],
        start=reading.start,
        end=end,
        confidence=reading.confidence,
        importance=reading.importance,
        holds=reading.holds,
        since=reading.since,
        until=reading.until,
        reason=reading.reason,
    )


def _languages(text: str) -> Iterator[tuple[Sentence, Grammar]]:
    """The writer's own sentences, each with the grammar of its language."""
    known = grammars()
    whole: list[int] = []
    for sentence in own_sentences(text, _markers()):
        hits = _hits(sentence.text, known)
        most = max(hits)
        best = hits.index(most)
        if not most or hits.count(most) > 1:
            whole = whole or _hits(text[:1_000], known)
            ranks = [
                (hit, whole[at], grammar.fallback) for at, (hit, grammar) in enumerate(zip(hits, known, strict=True))
            ]
            best = ranks.index(max(ranks))
        yield sentence, known[best]


def _hits(text: str, known: Sequence[Grammar]) -> list[int]:
    """How many words of each language the text has."""
    words = folded(text).replace(",", " ").split()
    return [len(grammar.evidence.intersection(words)) for grammar in known]


@cache
def _first_person() -> frozenset[str]:
    return frozenset[str]().union(*(grammar.quoted for grammar in grammars()))


@cache
def _markers() -> Markers:
    """The markers of all languages together."""
    names = ("labels", "headers", "greetings", "farewells")
    union = {name: frozenset[str]().union(*(getattr(one.markers, name) for one in grammars())) for name in names}
    return Markers(**union)
