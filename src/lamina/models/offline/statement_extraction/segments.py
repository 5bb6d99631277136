"""Splits chat into the pieces that a statement may be made of: clauses that have a subject of their own."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lamina.language.sentences import Sentence
from lamina.language.words import WORD, is_unspaced, plain
from lamina.models.offline.statement_extraction.cues import Split

_HARD = re.compile(r";|\s[-\u2013]{1,2}\s|—|\.{2,}|…|[\uff1b]|\s\+\s|\s->\s|\s/\s")
_COMMA = re.compile(r"[,、،\uff0c]")
_QUESTION = re.compile(r"[?\uff1f؟;][\"'”\u2019»)\]」』*\s]*\Z")
_OPENING = '([{"“\u2018„«$€£'
_CLOSING = ")]}\"'”\u2019»%!€$"
_MIN_WORDS = 3  # of a clause; shorter ones stay with their neighbour
_MAX_QUESTION_WORDS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A clause: text[start:end] of the message."""

    start: int
    end: int
    sentence: int  # number of its sentence
    words: tuple[str, ...]  # in lower case, without accents
    asks: bool
    subject: bool  # begins with one


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    start: int
    end: int


def segments(
    text: str, sentence: Sentence, number: int, split: Split, quoted: Sequence[tuple[int, int]] = ()
) -> list[Segment]:
    """The clauses of a sentence in order; none ends inside one of the `quoted` places of the text."""
    tokens = list(_tokens(sentence))
    if not tokens:
        return []
    own = [one for one in quoted if one[0] < sentence.end and one[1] > sentence.start]
    begins = _boundaries(text, tokens, split)
    starts = [0, *(at for at in begins if not any(first < tokens[at].start - 1 < last for first, last in own))]
    pieces = _join_short([tokens[first:last] for first, last in zip(starts, [*starts[1:], len(tokens)], strict=True)])
    question = _QUESTION.search(sentence.text) is not None
    asking = [_opens(piece, split.questions) for piece in pieces]
    whole = question and not any(asking)
    found = []
    for place, piece in enumerate(pieces):
        start = _with_opening(text, piece[0].start if place else sentence.start)
        last = place == len(pieces) - 1
        end = sentence.end if last else piece[-1].end
        end = _with_closing(text, end, len(text) if last else pieces[place + 1][0].start, own)
        found.append(
            Segment(
                start=start,
                end=end,
                sentence=number,
                words=tuple(token.text for token in piece),
                asks=whole or asking[place] or (question and any(asking[:place])),
                subject=_has_subject(piece, split),
            )
        )
    return found


def _tokens(sentence: Sentence) -> Iterator[_Word]:
    """The words of a sentence; of scripts written without spaces, their characters."""
    for match in WORD.finditer(sentence.text):
        start, word = sentence.start + match.start(), match.group()
        if is_unspaced(word):
            for place, letter in enumerate(word):
                yield _Word(letter, start + place, start + place + 1)
        else:
            yield _Word(plain(word).replace("\u2019", "'"), start, start + len(word))


def _boundaries(text: str, tokens: Sequence[_Word], split: Split) -> Iterator[int]:
    """Where clauses begin, but for the first."""
    opened = tokens[0].text in split.subordinate
    for at in range(1, len(tokens)):
        gap = text[tokens[at - 1].end : tokens[at].start]
        comma = _COMMA.search(gap) is not None
        if not split.commas.isdisjoint(gap) or (split.endings and tokens[at - 1].text.endswith(split.endings)):
            yield at
            continue
        if opened and comma:
            opened = False  # the main clause begins here
        elif _HARD.search(gap) or _begins(tokens, at, split, comma=comma):
            yield at
            opened = tokens[at].text in split.subordinate


def _begins(tokens: Sequence[_Word], at: int, split: Split, *, comma: bool) -> bool:
    if comma and _opens(tokens[at:], split.questions):
        return True
    behind = _behind_joint(tokens, at, split)
    if behind == at:
        return comma and tokens[at].text in split.subjects | split.openers
    if behind >= len(tokens):
        return False
    starts = split.subjects | split.openers if comma else split.subjects
    return tokens[behind].text in starts or _opens(tokens[behind:], split.questions)


def _behind_joint(tokens: Sequence[_Word], at: int, split: Split) -> int:
    """The place behind the joining words that stand here."""
    while at < len(tokens):
        length = next((size for size in (4, 3, 2, 1) if _words(tokens[at : at + size]) in split.joints), 0)
        if not length:
            break
        at += length
    return at


def _words(tokens: Sequence[_Word]) -> tuple[str, ...]:
    return tuple(token.text for token in tokens)


def _opens(tokens: Sequence[_Word], phrases: frozenset[tuple[str, ...]]) -> bool:
    return any(_words(tokens[:size]) in phrases for size in range(1, _MAX_QUESTION_WORDS + 1))


def _has_subject(piece: Sequence[_Word], split: Split) -> bool:
    return any(token.text in split.subjects for token in piece[:4])


def _join_short(pieces: Sequence[list[_Word]]) -> list[list[_Word]]:
    """The pieces, with those that are too short taken into their neighbours."""
    found: list[list[_Word]] = []
    for piece in pieces:
        if found and (len(piece) < _MIN_WORDS or len(found[-1]) < _MIN_WORDS):
            found[-1] = [*found[-1], *piece]
        else:
            found.append(piece)
    return found


def _with_opening(text: str, start: int) -> int:
    """The start of a piece, with the opening mark before its first word."""
    while start and text[start - 1] in _OPENING:
        start -= 1
    return start


def _with_closing(text: str, end: int, limit: int, quoted: Sequence[tuple[int, int]]) -> int:
    """The end of a piece, with the closing mark or the quotation behind its last word."""
    for first, last in quoted:
        if end <= first and last <= limit and not any(map(str.isalnum, text[end:first])):
            end = last
    while end < limit and text[end] in _CLOSING:
        end += 1
    return end
