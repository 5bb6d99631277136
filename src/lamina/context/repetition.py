"""What a context says already: whatever would say it again is left out."""

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import NamedTuple

from lamina.context.courtesies import without_courtesies
from lamina.context.items import Item
from lamina.knowledge.fact_words import normalise_value, plain_text
from lamina.knowledge.support_cues import NEGATION
from lamina.language.words import terms

_MIN_WORDS = 6  # so many words in a row are the same saying, whoever is named before them
_MAX_COURTEOUS = 100  # characters of a text that may be a courtesy or a fact and nothing else
_WORDS = re.compile(r"\w+")
_EDGES = re.compile(r"^\W+|\W+$")
_LINKS = frozenset(("and", "but", "so", "also", "und", "aber", "auch", "y", "pero", "también"))
# Of a summary: what the user said, and when.
_LINE = re.compile(r"[-*•] (?:\[[^]\n]+] )?(?!Assistant:|Tool:|System:)[^:\n]{1,40}: (?P<words>.+)")


class Repeated(NamedTuple):
    """Why an item is not shown, and which item has its words, if one has them all."""

    reason: str
    holder: Item | None = None


class Wording:
    """Texts made comparable, each once while a context is built."""

    def __init__(self) -> None:
        self._plain: dict[str, str] = {}
        self._bare: dict[str, str] = {}

    def plain(self, text: str) -> str:
        """A text in lower case with single spaces."""
        if (found := self._plain.get(text)) is None:
            found = self._plain[text] = plain_text(text)
        return found

    def bare(self, text: str) -> str:
        """A text without courtesies."""
        if (found := self._bare.get(text)) is None:
            found = self._bare[text] = without_courtesies(text)
        return found


class Said:
    """What the items of a context say, by which others can be compared with it."""

    def __init__(self, taken: Iterable[Item], asked: str | None, wording: Wording | None = None) -> None:
        self._wording = wording = wording or Wording()
        self._asked = wording.plain(asked or "")
        self._others: dict[str, Item] = {}  # by id, what has a section of its own
        self._messages: dict[tuple[str, str], Item] = {}
        self._texts: list[tuple[str, Item]] = []
        self._quotes: dict[str, list[Item]] = {}  # message -> facts that were said in it
        self._facts: dict[str, Item] = {}  # quote -> the fact
        self._known: set[str] = set()  # terms of the facts
        for item in taken:
            if item.id is not None and item.section != "recalled":
                self._others[item.id] = item
            for message in item.messages:
                who = wording.plain(message.name or message.role)
                self._messages.setdefault((who, wording.plain(message.text)), item)
            if item.section in {"digest", "summaries"} or item.kind == "summary":
                bare = wording.plain(wording.bare(item.text))
                self._texts.append((f" {wording.plain(item.text)} \n {bare} ", item))
            if item.section == "facts" and item.quote:
                self._facts.setdefault(normalise_value(item.quote), item)
                self._known.update(terms(item.quote), terms(item.text))
                for message_id in item.message_ids:
                    self._quotes.setdefault(message_id, []).append(item)

    def drop(self, item: Item) -> None:
        """An item is not shown after all."""
        self._texts = [(text, holder) for text, holder in self._texts if holder is not item]

    def find(self, item: Item) -> Repeated | None:
        """Whether what an item says is here already: itself, word for word, or as facts."""
        if item.section == "recalled" and item.id in self._others:
            return Repeated(f"stands among the {self._others[item.id].section}")
        return self._find_words(item) if item.section == "recalled" and not item.cut else None

    def _find_words(self, item: Item) -> Repeated | None:
        who, words = self._wording.plain(item.label), self._wording.plain(item.text)
        if not words:
            return None
        if item.kind == "passage" and words == self._asked:
            return Repeated("the current message says the same")
        if item.kind == "passage" and (holder := self._messages.get((who, words))):
            return Repeated("a recent message says the same", holder)
        longest = max(words.split(), key=len)
        near = [(text, holder) for text, holder in self._texts if longest in text and holder is not item]
        rest = _EDGES.sub("", self._wording.plain(self._wording.bare(item.text))) if near else ""
        for text, holder in near:
            if _stands(who, words, text) or (rest and _stands(who, rest, text)):
                return Repeated(f"stands word for word in {holder.id}", holder)
        return self._find_in_facts(item, who) if item.kind == "passage" else None

    def _find_in_facts(self, item: Item, who: str) -> Repeated | None:
        """Whether facts say all of a passage, but for courtesies; an assistant may say it in other words."""
        rest = self._wording.bare(item.text) if len(item.text) <= _MAX_COURTEOUS else item.text
        if not _WORDS.search(rest):
            return Repeated("says nothing but courtesies")
        facts = [fact for message_id in item.message_ids for fact in self._quotes.get(message_id, ())]
        if not facts or not covers([fact.quote for fact in facts], item.text):
            same = self._facts.get(normalise_value(rest)) if who == "user" else None
            facts = [same] if same else []
        if facts:
            return Repeated(f"{' and '.join(sorted({str(fact.id) for fact in facts}))} says it", facts[0])
        if who == "assistant" and self._known.issuperset(terms(rest)) and not NEGATION.search(item.text):
            return Repeated("says nothing but what facts say")
        return None


def _stands(who: str, words: str, text: str) -> bool:
    """Whether words stand in a text as words of this speaker; of many words it need not say whose they are."""
    return f" {who}: {words} " in text or (len(words.split()) >= _MIN_WORDS and f" {words} " in text)


def covers(quotes: Iterable[str], text: str) -> bool:
    """Whether quotes say all of a text but for courtesies and words that link them."""
    for quote in quotes:
        text = text.replace(quote, " ", 1)
    return all(word.casefold() in _LINKS for word in _WORDS.findall(without_courtesies(text)))


def without_lines_of_facts(summary: Item, facts: Iterable[Item], count: Callable[[str], int]) -> Item:
    """A summary without the lines that say no more than facts do, which may leave no text."""
    quotes = [fact.quote for fact in facts if fact.quote and fact.quote in summary.text]
    if not quotes:
        return summary
    lines = summary.text.split("\n")
    kept = [line for line in lines if not ((found := _LINE.fullmatch(line)) and covers(quotes, found["words"]))]
    if len(kept) == len(lines):
        return summary
    text = "\n".join(_without_empty_headings(kept)).strip()
    saved = count(summary.text) - count(text)
    return replace(summary, text=text, tokens=summary.tokens - saved, reason=f"{summary.reason}, but what facts say")


def _without_empty_headings(lines: list[str]) -> list[str]:
    """Lines without the headings that nothing stands under."""
    kept: list[str] = []
    below = False  # whether something stands below, before the next heading
    for line in reversed(lines):
        if below or not line.startswith("#"):
            kept.append(line)
        below = not line.startswith("#") and (below or bool(line.strip()))
    return kept[::-1]
