"""What summaries say that is no longer true is marked with its end: "I live in Lisbon (until 2025-03-03)"."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from lamina.context.items import Item
from lamina.values.fact import Fact

SUMMARIES = frozenset(("summaries", "digest"))  # the sections in which they stand


def told_of(ended: Iterable[Fact], items: Iterable[Item]) -> list[Fact]:
    """The facts whose words stand in any of some items."""
    texts = [item.text for item in items]
    return [fact for fact in ended if (words := _words(fact)) and any(words in text for text in texts)]


def with_ends(item: Item, ended: Sequence[Fact]) -> Item:
    """A summary in which the words of facts that ended are marked so; anything else as it is."""
    if item.section not in SUMMARIES:
        return item
    text = item.text
    for fact in ended:
        pattern = rf"(?<!\w){re.escape(_words(fact))}(?!\w)(?! \(until)"
        text = re.sub(pattern, rf"\g<0> (until {fact.valid_until:%Y-%m-%d})", text)
    return item if text == item.text else replace(item, text=text)


def _words(fact: Fact) -> str:
    return fact.quote.rstrip(" .!?;,")
