"""What something costs, in ways that do not depend on how quick or how busy a machine is."""

import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from tests.sizes import share

Given = TypeVar("Given")
_LEAST_ROUNDS, _MOST_ROUNDS = 2, 30


def growth(
    run: Callable[[Given], object], make: Callable[[int], Given], sizes: Sequence[int], *, most: float = 2.0
) -> float:
    """How much faster than its input the work on it grows: 1 if it is linear, 4 if four times as much takes 16.

    `make` gives an input of a size. What counts is the way from the third largest to the largest, on the average for
    each four times as much. There are more runs where the growth seems to be above `most`.
    """
    few, *_, many = sizes[-3:]
    steps = math.log(many / few, 4)
    found = float("inf")
    for shorter, longer in _least(run, make, (few, many)):
        found = (longer / shorter / (many / few)) ** (1 / steps)
        if found <= most:
            break
    return found


def times_longer(run: Callable[[], object], other: Callable[[], object], *, most: float) -> float:
    """How many times as long as the other one takes; there are more runs where that seems to be above `most`."""
    found = float("inf")
    for longer, shorter in _least(lambda one: one(), lambda one: one, [run, other]):
        found = longer / shorter
        if found <= most:
            break
    return found


def _least(run: Callable[[Any], object], make: Callable[[Any], Any], kinds: Sequence[Any]) -> Iterator[list[float]]:
    """The least CPU time for each kind of input, after some runs, then after one more, and so on.

    What else a machine does makes a run seem longer, never shorter.
    """
    least = [float("inf")] * len(kinds)
    for number in range(1, _MOST_ROUNDS + 1):
        for at, kind in enumerate(kinds):
            given = make(kind)
            began = time.process_time()
            run(given)
            least[at] = min(least[at], time.process_time() - began)
        if number >= _LEAST_ROUNDS:
            yield least


def quarters(most: int, number: int = 4) -> list[int]:
    """A size, or its share in `make test`, and before it sizes of which each is a quarter of the next."""
    return [share(most) // 4**step for step in reversed(range(number))]


def repeated(unit: str) -> Callable[[int], str]:
    """Texts of any size that say the same again and again."""
    return lambda size: (unit * (size // len(unit) + 1))[:size]


def calls(run: Callable[[], object]) -> int:
    """How many functions are called in this thread, of Python's and of C's."""
    count = 0

    def note(frame: Any, event: str, called: Any) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(before)
    return count
