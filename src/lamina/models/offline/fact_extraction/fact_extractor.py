"""Extracts what users say of themselves, with a grammar for each language: precision before recall."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from functools import cache

from lamina.language.sentences import Sentence
from lamina.models.offline.fact_extraction.grammar import Grammar, grammars
from lamina.models.offline.fact_extraction.masking import Markers, mask, own_sentences
from lamina.models.offline.fact_extraction.read_sentence import MAX_QUOTE, read_sentence
from lamina.models.offline.fact_extraction.tokens import fold
from lamina.protocols.models import FactDraft
from lamina.values.message import Message

_PARAGRAPH = re.compile(r"\n[ \t]*\n|(?<=:)[ \t]*\n")
_MAX_CHARACTERS = 20_000  # of a message; what follows is mostly pasted


class OfflineFactExtractor:
    """Extracts lasting facts that users state in the first person; none where it is unsure."""

    name = "offline-grammar-1"

    async def extract(self, messages: Sequence[Message]) -> Sequence[FactDraft]:
        return [draft for message in messages if message.role == "user" for draft in facts_in(message)]


def facts_in(message: Message) -> list[FactDraft]:
    """The facts of one message in order; every quote is a piece of its text."""
    text = message.text[:_MAX_CHARACTERS]
    found: list[FactDraft] = []
    above: int | None = None  # where the paragraph ended that speaks of the text below it
    for sentence, grammar in _sentences(mask(text, _markers().quoted)):
        if above is not None and _PARAGRAPH.search(text, above, sentence.start):
            break
        found, scope = read_sentence(sentence, grammar, message, found)
        if scope in {"rest", "message"}:
            break
        above = sentence.end if scope == "below" else above
    ends = [min(draft.end, draft.start + MAX_QUOTE) for draft in found]
    return [replace(draft, end=end, quote=text[draft.start : end]) for draft, end in zip(found, ends, strict=True)]


def _sentences(text: str) -> Iterator[tuple[Sentence, Grammar]]:
    """The writer's own sentences, each with the grammar of its language."""
    known = grammars()
    whole: list[int] = []
    for sentence in own_sentences(text, _markers()):
        hits = _language_hits(sentence.text, known)
        most = max(hits)
        best = hits.index(most)
        if not most or hits.count(most) > 1:
            whole = whole or _language_hits(text[:1_000], known)
            ranks = [
                (hit, whole[at], grammar.fallback) for at, (hit, grammar) in enumerate(zip(hits, known, strict=True))
            ]
            best = ranks.index(max(ranks))
        yield sentence, known[best]


def _language_hits(text: str, known: Sequence[Grammar]) -> list[int]:
    """How many words of each language the text has."""
    words = fold(text).replace(",", " ").split()
    return [len(grammar.evidence.intersection(words)) for grammar in known]


@cache
def _markers() -> Markers:
    """The markers of all languages together."""
    names = [field.name for field in fields(Markers)]
    return Markers(
        **{name: frozenset().union(*(getattr(grammar.markers, name) for grammar in grammars())) for name in names}
    )
