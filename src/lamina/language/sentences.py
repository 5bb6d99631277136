"""Splits text of any language into sentences with their spans."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from lamina.language.date_words import DOTTED_MONTHS, GERMAN_THE, MONTHS

Kind = Literal["prose", "item", "heading", "quote", "code"]


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence: `text` is exactly the source from `start` to `end`."""

    text: str
    start: int
    end: int
    kind: Kind = "prose"


LONGEST = 320  # characters; longer sentences are cut at a clause
_WRAPPED = 60  # a line at least this long may go on in the next

_FENCE = re.compile(r"\s*(?:```|~~~)")
_MARKER = re.compile(r"\s*(?:[-*+•‣◦▪\u2013—]|\(?\d{1,3}[.)]|\(?[a-zA-Z]\))\s+(?=\S)")
_HEADING = re.compile(r"\s*#{1,6}\s+(?=\S)")
_QUOTE = re.compile(r"\s*>+\s?")
_RULE = re.compile(r"[-=*_|:+~\s]*")
_EMOJI = "\u2600-\u27bf\U0001f1e6-\U0001faff\ufe0f\u200d"
# Possessive and only from the beginning of a run, so that a long run of marks takes linear time.
_END = re.compile(
    r"(?<![.!?…])[.!?…]++[\"'”\u2019»)\]*_]*+(?=\s|\[)"
    r"|[。\uff01\uff1f｡؟\u06d4।॥።။]+[」』”\u2019\uff09)\"]*"
    rf"|(?<![{_EMOJI}])[{_EMOJI}]++(?=\s{{1,9}}\w)"
)
_CLOSING = "\"'”\u2019»"
_LAST_WORD = re.compile(r"[^\s(\[{\"'“\u2018]{1,24}\Z")
_CLAUSE = re.compile(r"[;,:]\s|\s[-\u2013—]\s|[\uff1b\uff0c、،]")
# fmt: off
_ABBREVIATIONS = frozenset((
    "mr", "mrs", "ms", "mx", "dr", "prof", "rev", "gen", "col", "capt", "sr", "jr", "st", "mt", "ft", "vs", "e.g",
    "i.e", "eg", "ie", "cf", "al", "ca", "approx", "dept", "est", "fig", "figs", "eq", "vol", "pp", "ed", "eds",
    "inc", "ltd", "corp", "bros", "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sept", "oct", "nov", "dec",
    "tel", "ext", "bzw", "usw", "z.b", "d.h",
))
# fmt: on
_LETTERS = re.compile(r"[^\W\d_]+")
_MAX_DAY_DIGITS = 2
_BEFORE_NUMBER = frozenset(("no", "nr", "art", "ch", "sec", "p", "v"))


def sentences(text: str, longest: int = LONGEST) -> list[Sentence]:
    """The sentences of a text in order, trimmed; a fenced block of code is one, however long."""
    found: list[Sentence] = []
    for kind, start, end in _blocks(text):
        if kind == "code":
            _keep(found, text, start, end, kind)
            continue
        for first, last in _between(text, start, end):
            for begin, stop in _clauses(text, first, last, longest):
                _keep(found, text, begin, stop, kind)
    return found


def _keep(found: list[Sentence], text: str, start: int, end: int, kind: Kind) -> None:
    piece = text[start:end]
    left = start + len(piece) - len(piece.lstrip())
    trimmed = piece.strip()
    if trimmed:
        found.append(Sentence(trimmed, left, left + len(trimmed), kind))


def _blocks(text: str) -> Iterator[tuple[Kind, int, int]]:
    """Paragraphs, list items, headings, quotes and fenced code, each with its place."""
    at = 0
    fence: int | None = None
    block: tuple[Kind, int, int] | None = None
    for line in text.splitlines(keepends=True):
        start, at = at, at + len(line)
        if _FENCE.match(line):
            if block:
                yield block
                block = None
            if fence is not None:
                yield "code", fence, start
            fence = at if fence is None else None
        elif fence is None:
            fresh = _line_block(line, start, at)
            if block and fresh and _goes_on(text, block, fresh):
                block = (block[0], block[1], at)
                continue
            if block:
                yield block
            block = fresh
    if block:
        yield block
    if fence is not None:
        yield "code", fence, len(text)


def _line_block(line: str, start: int, end: int) -> tuple[Kind, int, int] | None:
    if _RULE.fullmatch(line):
        return None
    for kind, pattern in _LINE_KINDS.items():
        if mark := pattern.match(line):
            return kind, start + mark.end(), end
    return "prose", start, end


_LINE_KINDS: dict[Kind, re.Pattern[str]] = {"heading": _HEADING, "item": _MARKER, "quote": _QUOTE}


def _goes_on(text: str, block: tuple[Kind, int, int], fresh: tuple[Kind, int, int]) -> bool:
    """Whether a line only wraps the one before: that one is long and open, this one starts in lower case."""
    kind, start, end = block
    if kind not in {"prose", "item"} or fresh[0] != "prose" or end - start > LONGEST * 4:
        return False
    head = text[fresh[1] : fresh[2]].lstrip()
    before = text[max(start, end - 200) : end].rstrip()
    return len(before) >= _WRAPPED and head[:1].islower() and before[-1:] not in ".!?:;…"


def _between(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    first = start
    for match in _END.finditer(text, start, end):
        if _closes(text, first, match.start(), match.end(), end):
            yield first, match.end()
            first = match.end()
    yield first, end


def _closes(text: str, first: int, mark: int, after: int, end: int) -> bool:
    """Whether the mark ends a sentence, rather than an abbreviation, an initial, a list number or a pause."""
    rest = text[after : min(after + 12, end)].lstrip()
    follows = rest[:1]
    if text[mark] not in ".…":
        return not (text[after - 1] in _CLOSING and follows.islower())  # "Really?" she said
    if text[mark : mark + 2] == ".." or text[mark] == "…":
        return not follows.islower()
    found = _LAST_WORD.search(text, max(first, mark - 24), mark)
    word = found.group().lower() if found else ""
    if word in _ABBREVIATIONS or (word in _BEFORE_NUMBER and follows.isdigit()):
        return False
    if len(word) == 1 and word.isalpha() and word != "i":
        return False
    if "." in word and word.replace(".", "").isalpha() and max(map(len, word.split("."))) == 1:
        return follows.isupper() and word in {"a.m", "p.m"}
    before = text[first : found.start()].strip() if found else ""
    return not word.isdigit() or (bool(before) and not _is_day(before, word, rest))


def _is_day(before: str, number: str, rest: str) -> bool:
    """Whether the mark stands in a date as Germans write it: `am 8. Mai`."""
    month = _LETTERS.match(rest.lower())
    if month is None or len(number) > _MAX_DAY_DIGITS:
        return False
    if month.group() in DOTTED_MONTHS:
        return True
    return month.group() in MONTHS and before.lower().rsplit(maxsplit=1)[-1] in GERMAN_THE


def _clauses(text: str, start: int, end: int, longest: int) -> Iterator[tuple[int, int]]:
    """A sentence whole, or in pieces of at most `longest` characters cut at clauses, else words, else anywhere."""
    while end - start > longest:
        limit = start + longest
        cut = 0
        for match in _CLAUSE.finditer(text, start + longest // 3, limit):
            cut = match.end()
        if not cut:
            space = text.rfind(" ", start + longest // 3, limit)
            cut = space + 1 if space > 0 else limit
        yield start, cut
        start = cut
    yield start, end
