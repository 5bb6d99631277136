"""Where each message of a session is, seen from a context: every one in exactly one place."""

from collections.abc import Iterable, Sequence

from lamina.values.manifest import Coverage
from lamina.values.message import Span


def of(messages: int, *, verbatim: Iterable[Span], summarised: Iterable[Span], live: Iterable[Span]) -> Coverage:
    """Split 1..messages: word for word, else in a summary shown, else in a live summary left out, else blind."""
    shown = merge_spans(verbatim)
    in_summaries = without(merge_spans(summarised), shown)
    known = without(without(merge_spans(live), shown), in_summaries)
    whole = (Span(first=1, last=messages),) if messages else ()
    blind = without(without(without(whole, shown), in_summaries), known)
    return Coverage(messages=messages, verbatim=shown, summarised=in_summaries, left_out=known, blind=blind)


def merge_spans(spans: Iterable[Span]) -> tuple[Span, ...]:
    """The fewest spans that hold the same messages, in order."""
    result: list[Span] = []
    for span in sorted(spans, key=lambda span: span.first):
        if result and span.first <= result[-1].last + 1:
            result[-1] = Span(first=result[-1].first, last=max(result[-1].last, span.last))
        else:
            result.append(span)
    return tuple(result)


def without(spans: Sequence[Span], taken: Sequence[Span]) -> tuple[Span, ...]:
    """What is left of some spans after others are taken out."""
    result = list(spans)
    for hole in taken:
        rest = []
        for span in result:
            if hole.last < span.first or span.last < hole.first:
                rest.append(span)
                continue
            if span.first < hole.first:
                rest.append(Span(first=span.first, last=hole.first - 1))
            if hole.last < span.last:
                rest.append(Span(first=hole.last + 1, last=span.last))
        result = rest
    return tuple(result)
