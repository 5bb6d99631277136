"""All documents: what a schedule leaves out of a context, on a natural talk, and the warning that says so."""

from collections.abc import Callable

import pytest

from benchmarks.coverage import NAMES, TALKS, turns
from lamina import PROFILES, Memory
from tests.documents.natural_talk import MESSAGES
from tests.documents.talks import SESSION, USER

Opener = Callable[..., Memory]

GAPS = {"medium_term": (10, 12, 12), "chunked": (72, 118, 198)}  # blind messages of each talk at the most
_LONGEST = pytest.mark.full


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "talk", [pytest.param(place, marks=_LONGEST if place == 2 else (), id=f"talk{place}") for place in range(3)]
)
def test_which_messages_of_a_natural_talk_are_not_visible(name: str, talk: int) -> None:
    """001.12, 002.13, 003.12 and 004.13: none, but for the gaps that two documents have, and those with a warning.

    Whether the question is stored yet or not, after the results of tools, and with messages of 600 tokens.
    """
    said = list(TALKS.values())[talk]
    held = list(turns(name, said))
    assert len(held) == len(said)
    assert max(max(turn.blind) for turn in held) == GAPS.get(name, (0, 0, 0))[talk]
    assert all(turn.warned == tuple(blind > 0 for blind in turn.blind) for turn in held)
    assert all(turn.tokens <= PROFILES[name].budget for turn in held)


def test_a_closed_gap_has_no_blind_messages() -> None:
    """With `close_gaps`, the schedule of `medium_term` leaves nothing out either."""
    for said in TALKS.values():
        assert not any(any(turn.blind) for turn in turns("medium_term", said, close_gaps=True))


@pytest.mark.parametrize("name", sorted(GAPS))
def test_a_gap_is_told_and_can_be_closed(opened: Opener, name: str) -> None:
    """The warning names the messages, the room that is left and `close_gaps`, which shows them."""
    memory = opened(name)
    memory.add(list(MESSAGES[:58]), user_id=USER, session_id=SESSION)
    memory.settle()
    context = memory.context("next?", user_id=USER, session_id=SESSION)
    (warning,) = context.manifest.warnings
    (blind,) = context.manifest.coverage.blind
    assert f"{len(blind)} messages ({blind.first}-{blind.last}) are not visible" in warning
    assert f"{context.budget.available:,} tokens are free: with close_gaps" in warning
    closed = memory.profile.but(close_gaps=True)
    context = memory.context("next?", user_id=USER, session_id=SESSION, profile=closed)
    assert context.manifest.coverage.blind_messages == 0
    assert not context.manifest.warnings


def test_without_room_nothing_is_said_of_gaps(opened: Opener) -> None:
    """A gap that the budget could not show is no fault of the schedule."""
    memory = opened("chunked")
    memory.add(list(MESSAGES[:58]), user_id=USER, session_id=SESSION)
    context = memory.context("next?", user_id=USER, session_id=SESSION)
    tight = memory.context("next?", user_id=USER, session_id=SESSION, budget=context.tokens + 25)
    assert tight.manifest.coverage.blind_messages == context.manifest.coverage.blind_messages
    assert not any("close_gaps" in warning for warning in tight.manifest.warnings)
