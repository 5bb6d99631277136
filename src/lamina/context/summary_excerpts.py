"""What a layout shows of a summary that it has little room for."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from lamina.folding.summary_lines import SummaryLine, read_line
from lamina.language.sentences import sentences
from lamina.language.words import query_terms, terms

_TELLING = re.compile(r"\d|\b(?:I|[Mm]y|[Ww]e|[Oo]ur)\b|(?<=[a-z,] )[A-Z]\w")
_OPENING = 40  # characters by which a sentence is found
_ASSISTANT = ("Assistant", "Tool", "System")


@dataclass(frozen=True, slots=True)
class _Start:
    """Where an excerpt may begin."""

    text: str  # from there to the end of the summary, who speaks first
    line: str  # its own line, from there
    own: str  # the same without who speaks
    sentence: str  # the first one of it
    first: bool  # nothing is left out before it


def summary_excerpt(text: str, asked: str, length: int, near: str = "") -> str:
    """At most `length` characters of a summary, from where it answers best; `...` says that there is more.

    If no word answers, from the sentence that is `near`, if one is; else from where the user tells most.
    """
    flat = " ".join(text.split())
    if len(flat) <= length:
        return flat
    starts = list(_starts(text))
    wanted = query_terms(asked)
    lines = [frozenset(terms(start.line)) for start in starts]
    weights = {term: 1 / (1 + sum(term in line for line in lines)) for term in wanted}
    answers = [_answer(start.text[:length], weights) for start in starts]
    tells = [_tells(start, length) if not max(answers, default=0) else 0.0 for start in starts]
    opening = " ".join(read_line(near).text.split())[:_OPENING]
    is_near = [bool(opening) and start.own.startswith(opening) for start in starts]
    own = [_answer(start.sentence, weights) for start in starts]
    best = max(range(len(starts)), key=lambda at: (answers[at], own[at], is_near[at], tells[at], -at), default=None)
    if best is None:
        return flat[:length] + "..."
    shown = starts[best].text
    return ("" if starts[best].first else "...") + shown[:length] + ("..." if len(shown) > length else "")


def _starts(text: str) -> Iterator[_Start]:
    """Every sentence of every line, with the line's speaker before it."""
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip() and not line.startswith("#")]
    read = [read_line(line) for line in lines]
    answers = [_without_question(line, lines[at - 1] if at else "") for at, line in enumerate(read)]
    for number, line in enumerate(read):
        rest = " ".join(answers[number + 1 :])
        for place, sentence in enumerate(sentences(line.text)):
            said = line.text[sentence.start :]
            own = lines[number] if not place else line.label + said
            yield _Start(f"{own} {rest}".rstrip(), own, said, sentence.text, first=not number and not place)


def _without_question(line: SummaryLine, before: str) -> str:
    """A line that does not repeat the question it answers, where that is the end of the line before."""
    return str(replace(line, question="") if line.question and before.endswith(line.question) else line)


def _answer(shown: str, weights: dict[str, float]) -> float:
    """How many of the asked terms are shown, rare ones first."""
    found = frozenset(terms(shown))
    return sum(weight for term, weight in weights.items() if term in found)


def _tells(start: _Start, length: int) -> float:
    """How much a user tells of themselves there."""
    spoken = start.line.removeprefix("- ")
    return 0.0 if spoken.startswith(_ASSISTANT) else len(_TELLING.findall(start.line[:length]))
