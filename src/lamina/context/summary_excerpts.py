"""What a layout shows of a summary that it has little room for."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lamina.language.sentences import sentences
from lamina.language.words import query_terms, terms

_LABEL = re.compile(r"(?:[-*+•] )?(?P<speaker>(?:Open: )?[^\W\d_][^:\n]{0,40}?(?: \(to \"[^\n]*?\"\))?: )?")
_ASKED = re.compile(r" \(to \"(?P<asked>.+?)\"\)(?=: )")
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
    label = _LABEL.match(near)
    opening = " ".join(near[label.end() if label else 0 :].split())[:_OPENING]
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
    answers = [_without_question(line, lines[at - 1] if at else "") for at, line in enumerate(lines)]
    for number, line in enumerate(lines):
        label = _LABEL.match(line)
        speaker = label["speaker"] or "" if label else ""
        head = label.end() if label else 0
        rest = " ".join(answers[number + 1 :])
        for place, sentence in enumerate(sentences(line[head:])):
            said = line[head + sentence.start :]
            own = line if not place else speaker + said
            yield _Start(f"{own} {rest}".rstrip(), own, said, sentence.text, first=not number and not place)


def _without_question(line: str, before: str) -> str:
    """A line that does not repeat the question it answers, where that is the end of the line before."""
    asked = _ASKED.search(line)
    return line.replace(asked[0], "", 1) if asked and before.endswith(asked["asked"]) else line


def _answer(shown: str, weights: dict[str, float]) -> float:
    """How many of the asked terms are shown, rare ones first."""
    found = frozenset(terms(shown))
    return sum(weight for term, weight in weights.items() if term in found)


def _tells(start: _Start, length: int) -> float:
    """How much a user tells of themselves there."""
    spoken = start.line.removeprefix("- ")
    return 0.0 if spoken.startswith(_ASSISTANT) else len(_TELLING.findall(start.line[:length]))
