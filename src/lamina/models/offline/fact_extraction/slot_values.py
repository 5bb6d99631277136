"""Values of slots: where they end, whether they are valid, and how the user wrote them."""

import re
from collections.abc import Sequence
from itertools import pairwise
from re import Pattern

from lamina.models.offline.fact_extraction.clauses import COMMAS
from lamina.models.offline.fact_extraction.grammar import Grammar, SlotKind
from lamina.models.offline.fact_extraction.tokens import MASK, Token, join_words

Value = tuple[Token, ...]

_CURLY = str.maketrans("", "", "“”„")  # quotation marks
_PRONOUN = re.compile(r"\bI\b")  # in English, a capital that says nothing


def values(tokens: Sequence[Token], kind: SlotKind, grammar: Grammar, text: str) -> list[Value]:
    """The values in a slot, of a list each item; none if it is not valid. `text` is the sentence."""
    first = tokens[0].word if tokens else ""
    joins = _is_conjunction(first, grammar) and not _is_sign(tokens)
    if not first or joins or (first in kind.stop and first not in grammar.articles):
        return []
    cut = _cut(tokens, kind, grammar)
    if len(cut) < len(tokens) and tokens[len(cut)].word in kind.spoils:
        return []
    items = _items(cut, kind, grammar) if kind.split else [cut]
    found: list[Value] = []
    for item in items:
        if item and item[0].word in kind.unfit:
            break
        value = _trim(_name(item, kind, grammar, text), kind, grammar)
        if not _fits(value, kind, grammar, text):
            break
        found.append(value)
    return found


def _is_sign(tokens: Sequence[Token]) -> bool:
    """Whether the first mark belongs to the number behind it: "+32"."""
    return len(tokens) > 1 and tokens[0].word == "+" and tokens[0].end == tokens[1].start


def surface(value: Sequence[Token], text: str) -> str:
    """The value as the user wrote it, on one line."""
    starts = [0, *(at for at in range(1, len(value)) if value[at].start < value[at - 1].start), len(value)]
    runs = (value[first:past] for first, past in pairwise(starts))  # what was moved to the end is a run of its own
    inner = " ".join(" ".join(text[run[0].start : run[-1].end].split()) for run in runs)
    return _without_single_quotation_mark(inner).strip("“”„«»`*_ \u2018")


def _without_single_quotation_mark(text: str) -> str:
    """A text whose quotation marks are in pairs: "call me “Boss" has none."""
    if text.count('"') % 2:
        text = text.replace('"', "")
    return text.translate(_CURLY) if sum(map(text.count, "“”„")) % 2 else text


def _cut(tokens: Sequence[Token], kind: SlotKind, grammar: Grammar) -> list[Token]:
    kept: list[Token] = []
    for at, token in enumerate(tokens):
        if kept and token.word in kind.stop and not (kind.split and _is_conjunction(token.word, grammar)):
            break
        if not _is_word(token.word) and not _is_inside(tokens, at, kind, grammar):
            break
        kept.append(token)
    return kept


def _is_inside(tokens: Sequence[Token], at: int, kind: SlotKind, grammar: Grammar) -> bool:
    """Whether a mark is part of the value."""
    if kind.tail and tokens[at].word in COMMAS:
        return at + 1 < len(tokens) and tokens[at + 1].capital
    if kind.whole and tokens[at].word in "()":  # as in "numeric(12,2)"
        words = [token.word for token in tokens[:at]]
        return tokens[at].start == tokens[at - 1].end if tokens[at].word == "(" else "(" in words
    if tokens[at].word == "'":  # as in "parents' meeting"
        return 0 < at < len(tokens) - 1 and tokens[at].start == tokens[at - 1].end and tokens[at - 1].word[-1] == "s"
    return (kind.split or kind.whole) and _is_conjunction(tokens[at].word, grammar)


def _is_word(word: str) -> bool:
    return word[0].isalnum() or word[0] == MASK or (len(word) > 1 and word[0] in "$€£¥.'") or word in "&+"


def _is_conjunction(word: str, grammar: Grammar) -> bool:
    return word in COMMAS or word in grammar.clauses.conjunctions


def _items(tokens: Sequence[Token], kind: SlotKind, grammar: Grammar) -> list[list[Token]]:
    """The items of a list; with commas only it is no list, and an item with "of" or the like takes in all behind it."""
    items: list[list[Token]] = [[]]
    bound = False
    for token in tokens:
        bound = bound or token.word in kind.binds
        if not _is_conjunction(token.word, grammar) or (bound and token.word not in COMMAS):
            items[-1].append(token)
        elif bound:
            break
        else:
            items.append([])
    found = [item for item in items if item]
    if len(found) <= 1 or any(token.word in grammar.clauses.conjunctions for token in tokens):
        return found
    return [] if any(token.word in grammar.articles for token in found[0][1:]) else found[:1]


def _is_lower_case(text: str) -> bool:
    """Whether a sentence has no capitals but at its beginning."""
    rest = _PRONOUN.sub("", text).lstrip()[1:]
    return rest == rest.lower()


def _name(tokens: Sequence[Token], kind: SlotKind, grammar: Grammar, text: str) -> Sequence[Token]:
    """Of a name, the words up to the first that cannot be part of it."""
    if kind.form != "name" or (kind.lower and _is_lower_case(text)):
        return tokens
    end = 0
    for at, token in enumerate(tokens):
        if token.capital:
            end = at + 1
        elif token.word not in grammar.particles and not (kind.tail and token.word in COMMAS):
            break
    return [] if kind.exact and end < len(tokens) else tokens[:end]


def _trim(tokens: Sequence[Token], kind: SlotKind, grammar: Grammar) -> Value:
    first, last = 0, len(tokens)
    while kind.article and first < last and tokens[first].word in grammar.articles:
        first += 1
    while last > first and (
        tokens[last - 1].word in grammar.trailing or _is_conjunction(tokens[last - 1].word, grammar)
    ):
        last -= 1
    return tuple(tokens[first:last])


def _fits(value: Value, kind: SlotKind, grammar: Grammar, text: str) -> bool:
    if not value or not kind.min_words <= len(value) <= kind.max_words or value[0].word in kind.unfit:
        return False
    words = [token.word for token in value]
    first, last, joined = words[0], words[-1], join_words(value)
    if not kind.refused.isdisjoint(words) or (kind.firsts and first not in kind.firsts):
        return False
    if (kind.among or kind.matches) and " ".join(words) not in kind.among and not _finds_any(kind.matches, joined):
        return False
    if _finds_any(kind.avoids, joined):
        return False
    if kind.last and (last in kind.excepted or not (last in kind.last or last.endswith(kind.endings))):
        return False
    return _has_form(value, kind, grammar, text)


def _finds_any(patterns: Sequence[Pattern[str]], text: str) -> bool:
    return any(pattern.search(text) for pattern in patterns)


def _has_form(value: Value, kind: SlotKind, grammar: Grammar, text: str) -> bool:
    if kind.form == "any" or (kind.lower and _is_lower_case(text)):
        return True
    if kind.form == "number":
        return any(character.isdigit() for character in value[0].word) or value[0].word in grammar.numbers
    if kind.form == "name":
        return bool(value)
    return value[0].capital
