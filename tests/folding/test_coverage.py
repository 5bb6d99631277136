"""Coverage: every message in exactly one place."""

import pytest

from lamina.folding import coverage
from lamina.values.message import Span


def spans(*pairs: tuple[int, int]) -> tuple[Span, ...]:
    return tuple(Span(first=first, last=last) for first, last in pairs)


@pytest.mark.parametrize(
    ("messages", "verbatim", "summarised", "live", "expected"),
    [
        pytest.param(0, [], [], [], ((), (), (), ()), id="no-messages"),
        pytest.param(5, [], [], [], ((), (), (), spans((1, 5))), id="all-blind"),
        pytest.param(
            10,
            spans((8, 10)),
            spans((1, 5)),
            spans((1, 5)),
            (spans((8, 10)), spans((1, 5)), (), spans((6, 7))),
            id="a-gap",
        ),
        pytest.param(
            10,
            spans((4, 10), (2, 2)),
            spans((1, 5)),
            spans((1, 5)),
            (spans((2, 2), (4, 10)), spans((1, 1), (3, 3)), (), ()),
            id="verbatim-before-summary",
        ),
        pytest.param(
            9,
            spans((9, 9)),
            spans((4, 6)),
            spans((1, 3), (4, 6)),
            (spans((9, 9)), spans((4, 6)), spans((1, 3)), spans((7, 8))),
            id="a-summary-left-out",
        ),
    ],
)
def test_of(messages: int, verbatim: list[Span], summarised: list[Span], live: list[Span], expected: object) -> None:
    """Word for word, else told by a summary, else left out with its summary, else blind."""
    found = coverage.of(messages, verbatim=verbatim, summarised=summarised, live=live)
    assert (found.verbatim, found.summarised, found.left_out, found.blind) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(spans((3, 4), (1, 2)), spans((1, 4)), id="neighbours"),
        pytest.param(spans((1, 5), (2, 3)), spans((1, 5)), id="within"),
        pytest.param(spans((1, 2), (4, 5)), spans((1, 2), (4, 5)), id="apart"),
    ],
)
def test_joined(given: tuple[Span, ...], expected: tuple[Span, ...]) -> None:
    """The fewest spans that hold the same messages."""
    assert coverage.merge_spans(given) == expected


@pytest.mark.parametrize(
    ("taken", "expected"),
    [
        pytest.param(spans((4, 6)), spans((1, 3), (7, 9)), id="a-hole"),
        pytest.param(spans((1, 9)), (), id="all"),
        pytest.param(spans((9, 20)), spans((1, 8)), id="the-end"),
        pytest.param((), spans((1, 9)), id="nothing"),
    ],
)
def test_without(taken: tuple[Span, ...], expected: tuple[Span, ...]) -> None:
    """What is left of 1-9."""
    assert coverage.without(spans((1, 9)), taken) == expected
