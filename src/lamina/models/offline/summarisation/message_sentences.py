"""The sentences of a message that a summary may keep, with their place in lists. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lamina.language.sentences import Sentence, sentences
from lamina.language.words import tokenise
from lamina.models.offline.summarisation.lexicon import labels, lexicon

LONGEST = 640  # characters; a longer sentence is cut, since it would take the room of many
_WINDOW = 1_200
_MAX_WINDOWS = 64
_MAX_LINE = 160  # of code or of a tool's result
_MAX_CODE_LINES = 40  # of code
_CLUE = re.compile(r"\d|\b(?:I|[Mm]y|[Ww]e|[Ee]rror|[Dd]ecided|[Pp]refer)\b")
_NUMBER = re.compile(r"\d")
_SYMBOLS = frozenset("{}()[]<>=;|&+*/\\_#$@^~`")
_MAX_SYMBOLS = 0.16
_EMPHASIS = re.compile(r"\*\*|__(?=\w)|(?<=\w)__|`{1,3}")
_BOLD = re.compile(r"\*\*[^*\n]{1,80}\*\*:?|__[^_\n]{1,80}__:?")
_CELLS = re.compile(r"\A\s*\|.*\|\s*\Z|\t.*\t|\|[^|\n]*\|[^|\n]*\|")
_BOUND = re.compile(r"[.!?…][\"'”\u2019)]*\s|\n|[。\uff01\uff1f]")
_MARKED = re.compile(r"\s*(?:[-*+•‣◦▪\u2013—]|\(?\d{1,3}[.)]|\(?[a-zA-Z]\))\s+\Z")
_BROKEN = re.compile(
    r"(?<=[a-z,] (?:of|to|in|my|or|by|on|an|at))[ ]?\n(?=[a-z\d])|(?<= (?:the|our|and|for|are))[ ]?\n(?=[a-z\d])"
)
_MIN_WRAPPED = 5  # lines of a paragraph before their length tells that they were wrapped
_WRAPPED_WIDTH = 30  # characters
_EVEN = 0.7  # length of a wrapped line, of the longest


@dataclass(frozen=True, slots=True)
class Piece:
    """A sentence without emphasis, with its place among the others."""

    text: str
    plain: bool = True  # neither code nor a tool's result
    joined: bool = False  # goes on from the one before
    head: bool = False  # announces the next
    item: bool = False  # begins an item of a list


def pieces(text: str, role: str, max_characters: int) -> Iterator[Piece]:
    """The sentences; of code and tool results only short lines with a value or an error in them, of tables nothing."""
    whole = excerpt(text, max_characters)
    whole = whole if role == "tool" else unwrap(whole)
    before: Sentence | None = None
    for sentence in sentences(whole, LONGEST):
        if sentence.kind == "code" or (role != "tool" and _is_code(sentence.text)):
            lines = [line.strip() for line in sentence.text.splitlines()[:_MAX_CODE_LINES]]
            yield from (Piece(flat(line), plain=False) for line in lines if len(line) <= _MAX_LINE and _fails(line))
        elif role == "tool":
            if len(sentence.text) <= _MAX_LINE and (_NUMBER.search(sentence.text) or _fails(sentence.text)):
                yield Piece(flat(sentence.text), plain=False)
        elif not _CELLS.search(sentence.text):
            listed = sentence.kind == "item"
            first = listed and bool(_MARKED.match(_line_before(whole, sentence.start)))
            joined = (listed and not first) or (before is not None and _goes_on(before, sentence))
            yield Piece(flat(sentence.text), joined=joined, head=_is_head(whole, sentence), item=first)
        before = sentence


def flat(text: str) -> str:
    """A text on one line, without emphasis."""
    return " ".join(_EMPHASIS.sub("", text).split())


def _is_head(text: str, sentence: Sentence) -> bool:
    """Whether a sentence only announces what follows: a heading, a line in bold, words before a colon."""
    if sentence.kind == "heading" or flat(sentence.text).endswith((":", "\uff1a")):
        return True
    ends_line = text[sentence.end : sentence.end + 1] in {"", "\n", "\r"}
    return ends_line and _BOLD.fullmatch(sentence.text) is not None


def _line_before(text: str, at: int) -> str:
    return text[text.rfind("\n", 0, at) + 1 : at]


def _goes_on(before: Sentence, sentence: Sentence) -> bool:
    """Whether a sentence is the end of one that was too long."""
    beside = before.kind == sentence.kind and 0 <= sentence.start - before.end <= 1
    return beside and len(before.text) >= LONGEST // 3 and (before.text[-1].isalnum() or before.text[-1] in ",;:")


def unwrap(text: str) -> str:
    """The text with lines joined that were broken at a width, as in what is copied from a page."""
    parts = text.split("\n\n")
    return "\n\n".join(_unwrap_paragraph(part if "```" in text else _BROKEN.sub(" ", part)) for part in parts)


def _unwrap_paragraph(text: str) -> str:
    lines = text.splitlines()
    if len(lines) < _MIN_WRAPPED or "```" in text:
        return text
    width = max(map(len, lines))
    even = sum(len(line) >= _EVEN * width for line in lines[:-1])
    lower = sum(line[:1].islower() for line in lines[1:])
    if width < _WRAPPED_WIDTH or even < _EVEN * (len(lines) - 1) or lower < len(lines) // 3:
        return text
    open_ = sum(line.rstrip()[-1:] not in ".!?:" for line in lines[:-1])
    return " ".join(line.strip() for line in lines) if open_ >= _EVEN * (len(lines) - 1) else text


def _is_code(text: str) -> bool:
    symbols = sum(character in _SYMBOLS for character in text)
    return symbols > _MAX_SYMBOLS * len("".join(text.split()))


def _fails(line: str) -> bool:
    return "problem" in labels(tokenise(line), lexicon().cues) or "Error" in line


def excerpt(text: str, max_characters: int) -> str:
    """The text, or of a very long one its beginning, its end and the pieces between with the most clues."""
    if len(text) <= max_characters:
        return text
    count = min(_MAX_WINDOWS, len(text) // _WINDOW + 1)
    stride = max(_WINDOW, len(text) // count)
    starts = [*range(0, len(text) - _WINDOW + 1, stride)][: count - 1]
    starts.append(max(0, len(text) - _WINDOW))
    ranked = sorted(
        range(1, len(starts) - 1), key=lambda at: (-len(_CLUE.findall(text, starts[at], starts[at] + _WINDOW)), at)
    )
    chosen = sorted({0, len(starts) - 1, *ranked[: max(0, max_characters // _WINDOW - 2)]})
    return "\n".join(_window(text, starts[at]) for at in chosen)


def _window(text: str, start: int) -> str:
    """A window, without the sentences that are cut at its edges; without the words, where there is no end of one."""
    piece = text[start : start + _WINDOW]
    if start:
        first = _BOUND.search(piece, 0, _WINDOW // 3)
        piece = piece[first.end() :] if first else piece[piece.find(" ", 0, 80) + 1 :]
    if start + _WINDOW < len(text):
        ends = [*_BOUND.finditer(piece, _WINDOW // 2)]
        piece = piece[: ends[-1].end()] if ends else piece[: piece.rindex(" ") if " " in piece[-80:] else len(piece)]
    return piece
