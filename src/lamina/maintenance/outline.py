"""A session as strata: its log in stretches of about equal length, and the summaries above it, without their words."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import accumulate, pairwise

from lamina.folding.coverage import merge_spans
from lamina.protocols.store import Imprint, Mark
from lamina.values.message import Span
from lamina.values.session import Session
from lamina.values.statistics import Block, Outline, Stretch


def stretches(messages: int, parts: int) -> list[Span]:
    """The numbers from 1 to `messages` in order, in at most so many spans whose lengths differ by one at the most."""
    count = min(parts, messages)
    ends = [messages * number // count for number in range(count + 1)] if count else []
    return [Span(first=before + 1, last=end) for before, end in pairwise(ends)]


def places_to_read(messages: int, parts: int, imprints: Iterable[Imprint]) -> list[int]:
    """The messages that have to be looked at for an outline: where something begins, ends, or ends just before."""
    found = {seq for span in stretches(messages, parts) for seq in (span.first, span.last)}
    for imprint in imprints:
        found |= {imprint.first - 1, imprint.last}
    return sorted(seq for seq in found if 1 <= seq <= messages)


def build_outline(
    session: Session, parts: int, marks: Sequence[Mark], imprints: Iterable[Imprint], forgotten: Iterable[int]
) -> Outline:
    """The outline, from what lies at the messages that `marked` names and the numbers of those with erased words."""
    log = _Marks(session, marks)
    return Outline(
        session_id=session.id,
        parts=tuple(log.stretch(span) for span in stretches(session.counters.messages, parts)),
        forgotten=merge_spans(Span(first=seq, last=seq) for seq in forgotten),
        blocks=tuple(log.block(one) for one in sorted(imprints, key=_place)),
    )


def _place(imprint: Imprint) -> tuple[int, int, int, int, str]:
    return imprint.layer, imprint.first, imprint.last, imprint.version, imprint.id


class _Marks:
    """Marks of a log with running sums; one that is gone is told by the one before it."""

    def __init__(self, session: Session, marks: Sequence[Mark]) -> None:
        self._marks = [Mark(0, 0, session.started_at.isoformat(), 0), *marks]
        self._places = [mark.seq for mark in self._marks]
        self._sums = list(accumulate(mark.tokens for mark in self._marks))

    def _at(self, seq: int) -> int:
        return bisect_right(self._places, seq) - 1

    def _tokens(self, span: Span) -> int:
        return self._sums[self._at(span.last)] - self._sums[self._at(span.first - 1)]

    def stretch(self, span: Span) -> Stretch:
        first, last = (self._marks[self._at(seq)] for seq in (span.first, span.last))
        return Stretch(
            first=span.first,
            last=span.last,
            turn=last.turn,
            tokens=self._tokens(span),
            began_at=datetime.fromisoformat(first.created_at),
            ended_at=datetime.fromisoformat(last.created_at),
        )

    def block(self, imprint: Imprint) -> Block:
        covers = Span(first=imprint.first, last=imprint.last)
        return Block(
            id=imprint.id,
            kind=imprint.kind,  # type: ignore[arg-type]  # written by us, and only from the literals
            layer=imprint.layer,
            version=imprint.version,
            covers=covers,
            tokens=imprint.tokens,
            covered_tokens=self._tokens(covers),
            due=imprint.due,
            status=imprint.status,  # type: ignore[arg-type]
            folded_into=imprint.folded_into,
            created_at=datetime.fromisoformat(imprint.created_at),
        )
