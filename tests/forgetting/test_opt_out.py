"""Opting out: by which way soever, nothing is derived for a user who has."""

import pytest

from lamina import Memory, OptedOut
from lamina.testing import FakeClock, FakeSummariser
from tests.places import Place
from tests.ship_talk import PROFILE, turn


def told(memory: Memory) -> None:
    """Sessions of two users, folded and read."""
    for user_id in ("eva", "sam"):
        for number in range(6):
            memory.add(turn(number), user_id=user_id, session_id=f"{user_id}-1")
        memory.add("I live in Ghent.", user_id=user_id, session_id=f"{user_id}-1")
    memory.settle()


@pytest.mark.also_postgres
def test_nothing_is_regenerated_for_who_has_opted_out(place: Place) -> None:
    """Open proposals go with the opt-out, and a new one is refused before any model is asked; others have theirs."""

    with Memory(place(), profile=PROFILE, worker=False, now=FakeClock()) as memory:
        told(memory)
        memory.accept(memory.regenerate("eva-1").id)
        proposals = {user: memory.regenerate(f"{user}-1").id for user in ("eva", "sam")}
        memory.opt_out("eva")
        assert [one.id for one in memory.proposals()] == [proposals["sam"]]
        model = FakeSummariser()
        with pytest.raises(OptedOut, match=r"^user 'eva' has opted out, so nothing is remembered; opt_in"):
            memory.regenerate("eva-1", summariser=model)
        assert model.tasks == []
        assert memory.proposals("eva-1") == []
        memory.opt_in("eva")
        memory.settle()
        assert memory.regenerate("eva-1").status == "open"
