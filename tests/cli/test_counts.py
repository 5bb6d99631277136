"""Numbers with what they count."""

import pytest

from lamina.counts import count


@pytest.mark.parametrize(
    ("number", "noun", "text"),
    [
        (0, "message", "0 messages"),
        (1, "message", "1 message"),
        (2_000, "new fact", "2,000 new facts"),
        (2, "memory", "2 memories"),
        (1, "summary", "1 summary"),
        (3, "day", "3 days"),
        (2, "process", "2 processes"),
    ],
)
def test_a_number_has_its_noun_in_the_right_form(number: int, noun: str, text: str) -> None:
    """One is not several."""
    assert count(number, noun) == text
