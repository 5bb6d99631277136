"""Statements in their order, with what is known of each before it is bound to others. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from lamina.language.words import fold
from lamina.models.offline.summarisation.leaning import is_fragment, leans
from lamina.models.offline.summarisation.lexicon import labels, lexicon
from lamina.models.offline.summarisation.statements import SPEAKERS, Statement
from lamina.models.offline.summarisation.wording import has_content

LOOK_BACK = 3  # messages
PERSON_LOOK_BACK = 8  # messages, for who a "she" may be


@dataclass(frozen=True, slots=True)
class Talk:
    """Statements; where the message or line of each begins; which of them others could lean on, and which lean."""

    said: Sequence[Statement]
    starts: Sequence[int]
    tells: Sequence[bool]
    leans: Sequence[bool]
    parts: Sequence[bool]  # items of lists that say little without the words that announce the list

    def is_helpless(self, at: int) -> bool:
        """Whether a sentence says nothing without another."""
        return self.said[at].joined or self.leans[at] or self.parts[at]

    def said_before(self, at: int) -> range:
        """The statements of the message right before the one of a statement, if another speaker wrote it."""
        one, before = self.said[at], self.starts[at] - 1
        if one.old or before < 0 or not is_beside(self.said[before], one) or self.said[before].speaker == one.speaker:
            return range(0)
        return range(self.starts[before], before + 1)


def read_talk(statements: Sequence[Statement]) -> Talk:
    return Talk(
        said=statements,
        starts=_line_starts(statements),
        tells=_telling(statements),
        leans=[leans(one) for one in statements],
        parts=[one.item and is_fragment(one) for one in statements],
    )


def is_beside(before: Statement, one: Statement) -> bool:
    return not before.old and before.source == one.source and one.line - before.line <= 1


def _line_starts(statements: Sequence[Statement]) -> list[int]:
    """For each statement, where its message, or line of a summary, begins."""
    starts: list[int] = []
    for at, one in enumerate(statements):
        same = at and (statements[at - 1].source, statements[at - 1].line) == (one.source, one.line)
        starts.append(starts[-1] if same else at)
    return starts


def _telling(statements: Sequence[Statement]) -> list[bool]:
    """Which of the statements have anything that another could lean on: more than reactions and speakers' names."""
    lex = lexicon()
    empty = lex.reactions | {fold(part) for one in statements for part in one.speaker.split()}
    praising = empty | lex.praise
    return [
        sum(
            has_content(token) and token not in (praising if one.speaker == SPEAKERS["assistant"] else empty)
            for token in one.tokens
        )
        > _is_polite(one)
        for one in statements
    ]


def _is_polite(one: Statement) -> bool:
    """Whether it is small talk, which tells something only with more than one word that says something."""
    return not one.asks and "pleasantry" in labels(one.tokens, lexicon().cues)
