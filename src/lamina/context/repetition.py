"""What a context says already: whatever would say it again is left out."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from lamina.context.items import Item
from lamina.knowledge.fact_words import plain_text

_MIN_WORDS = 6  # so many words in a row are the same saying, whoever is named before them
_WORDS = re.compile(r"\w+")
_LINKS = frozenset(("and", "but", "so", "also", "und", "aber", "auch", "y", "pero", "también"))


class Repeated(NamedTuple):
    """Why an item is not shown, and which item has its words, if one has them all."""

    reason: str
    holder: Item | None = None


class Said:
    """What the items of a context say, by which others can be compared with it."""

    def __init__(self, taken: Iterable[Item], asked: str | None) -> None:
        self._asked = plain_text(asked or "")
        self._messages: dict[tuple[str, str], Item] = {}
        self._texts: list[tuple[str, Item]] = []
        self._quotes: dict[str, list[Item]] = {}  # message -> facts that were said in it
        for item in taken:
            for message in item.messages:
                self._messages.setdefault((plain_text(message.name or message.role), plain_text(message.text)), item)
            if item.section in {"digest", "summaries"} or item.kind == "summary":
                self._texts.append((f" {plain_text(item.text)} ", item))
            if item.section == "facts" and item.quote:
                for message_id in item.message_ids:
                    self._quotes.setdefault(message_id, []).append(item)

    def drop(self, item: Item) -> None:
        """An item is not shown after all."""
        self._texts = [(text, holder) for text, holder in self._texts if holder is not item]

    def find(self, item: Item) -> Repeated | None:
        """Whether what an item says is here already: word for word, or as facts."""
        who, words = plain_text(item.label), plain_text(item.text)
        if item.section != "recalled" or item.cut or not words:
            return None
        if item.kind == "passage" and words == self._asked:
            return Repeated("the current message says the same")
        if item.kind == "passage" and (holder := self._messages.get((who, words))):
            return Repeated("a recent message says the same", holder)
        for text, holder in self._texts:
            if holder is not item and _stands(who, words, text):
                return Repeated(f"stands word for word in {holder.id}", holder)
        facts = [fact for message_id in item.message_ids for fact in self._quotes.get(message_id, ())]
        if item.kind == "passage" and facts and _covers([fact.quote for fact in facts], item.text):
            return Repeated(f"{' and '.join(sorted({str(fact.id) for fact in facts}))} says it")
        return None


def _stands(who: str, words: str, text: str) -> bool:
    """Whether words stand in a text as words of this speaker; of many words it need not say whose they are."""
    return f" {who}: {words} " in text or (len(words.split()) >= _MIN_WORDS and f" {words} " in text)


def _covers(quotes: Iterable[str], text: str) -> bool:
    """Whether quotes say all of a text but for words that link them."""
    for quote in quotes:
        text = text.replace(quote, " ", 1)
    return all(word.casefold() in _LINKS for word in _WORDS.findall(text))
