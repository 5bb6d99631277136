"""One key that is told or said again and again: each time costs the same, and stands as a replay would have it."""

import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from lamina import PROFILES, InputError, Memory
from lamina.testing import FakeClock
from tests.growth import growth, quarters
from tests.sizes import share

LIVES = "I live in Porto."


def told(given: tuple[Path, int]) -> None:
    """One key with so many values."""
    folder, number = given
    with Memory(folder / f"{random.random()}.db", worker=False, embedder="none") as memory:
        for at in range(number):
            memory.remember(f"value {at}", user_id="ann", key="colour")


def said(given: tuple[Path, int]) -> None:
    """One value so many times, at one moment."""
    folder, number = given
    with Memory(folder / f"{random.random()}.db", worker=False, embedder="none") as memory:
        memory.add([LIVES] * number, user_id="ann", session_id="s")
        memory.settle()


@pytest.mark.parametrize(("run", "most"), [(told, 1600), (said, 2400)], ids=["told", "said"])
def test_time_grows_with_the_number(run: Any, most: int, tmp_path: Path) -> None:
    assert growth(run, lambda number: (tmp_path, number), quarters(most, 3), most=1.6) < 1.6


def acted(memory: Memory, user: str, chance: random.Random, clock: FakeClock) -> None:
    """Something that changes how facts of one key stand."""
    clock.advance(seconds=chance.choice([0, 0, 1, 60]))
    known = [*memory.facts(user, statuses=("active", "conflicted", "candidate", "superseded"))]
    one = chance.choice(known).id if known else None
    match chance.randint(0, 6):
        case 0 | 1:
            until = clock().replace(year=2030) if chance.random() < 0.2 else None
            city = chance.choice(["Porto", "Lisbon", "Ghent"])
            memory.remember(city, user_id=user, category="identity", key="location", valid_until=until)
        case 2 | 3:
            words = chance.choice([LIVES, "I live in Lisbon.", "I no longer live in Porto.", "I might live in Ghent."])
            memory.add([words] * chance.randint(1, 3), user_id=user, session_id=user + chance.choice("st"))
            memory.settle()
        case 4 if one:
            memory.update(one, chance.choice(["Porto", "Ghent"]))
        case _ if one:
            chance.choice([memory.promote, memory.retract, memory.demote])(one)


@pytest.mark.parametrize("conflicts", ["newest", "flag", "confidence"])
def test_what_stands_at_once_stands_as_a_replay_has_it(conflicts: str, place: Any) -> None:
    """Whatever was said, told and decided before: `verify` replays all of it."""
    clock, profile = FakeClock(), PROFILES["default"].but(conflicts=conflicts)
    with Memory(place(), profile=profile, worker=False, embedder="none", now=clock) as memory:
        for seed in range(share(60)):
            chance = random.Random(f"{conflicts}{seed}")
            for _ in range(12):
                with suppress(InputError):  # it no longer stands so that it can be decided
                    acted(memory, f"user{seed}", chance, clock)
        assert memory.verify().problems == ()
