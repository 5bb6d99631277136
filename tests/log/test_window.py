"""Windows: what stays together, and where a log may be cut."""

import pytest

from lamina.log.tool_pairs import groups, safe_end
from lamina.log.window import newest_units, take_back, units
from lamina.protocols.store import Reach
from tests.messages import log


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        pytest.param("", [], id="nothing"),
        pytest.param("u a u a", [1, 1, 1, 1], id="no-tools"),
        pytest.param("u A1 T1 a", [1, 2, 1], id="call-and-result"),
        pytest.param("u A12 T2 T1 a", [1, 3, 1], id="parallel-calls"),
        pytest.param("u A1 s T1 a", [1, 3, 1], id="something-between"),
        pytest.param("u A1 T1 A1 T1 a", [1, 2, 2, 1], id="an-id-used-again"),
        pytest.param("u A1 A2 T1 T2 a", [1, 4, 1], id="interleaved"),
        pytest.param("u T1 a", [1, 1, 1], id="a-result-without-a-call"),
        pytest.param("u A1 a u a", [1, 1, 1, 1, 1], id="an-old-call-without-a-result"),
        pytest.param("u a u A1 s", [1, 1, 1, 2], id="a-new-call-waits-for-its-result"),
        pytest.param("u A1 u T1 a", [1, 3, 1], id="a-result-in-the-next-turn"),
        pytest.param("u A1 T1 T1 a", [1, 3, 1], id="two-results-of-one-call"),
    ],
)
def test_groups(roles: str, expected: list[int]) -> None:
    """A call, its results and all between are one group; everything else stands alone."""
    assert [len(group) for group in groups(log(roles))] == expected


@pytest.mark.parametrize(
    ("roles", "unit", "expected"),
    [
        pytest.param("s u a u a a", "turns", [1, 2, 3], id="turns"),
        pytest.param("u A1 u T1 a u a", "turns", [5, 2], id="turns-joined-by-a-tool-group"),
        pytest.param("u A1 T1 a", "messages", [1, 2, 1], id="messages"),
    ],
)
def test_units(roles: str, unit: str, expected: list[int]) -> None:
    """What a window counts: messages or turns, tool groups whole."""
    assert [len(one) for one in units(log(roles), unit)] == expected  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("roles", "last", "expected"),
    [
        pytest.param("u a u a", 2, 2, id="anywhere"),
        pytest.param("u A1 T1 a", 2, 1, id="not-behind-the-call"),
        pytest.param("u A1 T1 a", 3, 3, id="behind-the-result"),
        pytest.param("A1 T1 a", 1, 0, id="nowhere"),
        pytest.param("u a", 9, 2, id="past-the-end"),
    ],
)
def test_safe_end(roles: str, last: int, expected: int) -> None:
    """The furthest place up to `last` that separates no tool group."""
    assert safe_end(log(roles), last) == expected


@pytest.mark.parametrize(
    ("roles", "unit", "size", "first"),
    [
        pytest.param("u a u a u a", "messages", 3, 4, id="messages"),
        pytest.param("u a u a u a", "turns", 2, 3, id="turns"),
        pytest.param("u a u A1 T1 a", "messages", 2, 4, id="a-group-at-the-border-stays-whole"),
        pytest.param("u a u A1 u T1 a", "turns", 1, 3, id="a-group-over-turns-stays-whole"),
        pytest.param("u a", "turns", 9, 1, id="fewer-than-wanted"),
        pytest.param("u a u a u a u", "turns", 2, 3, id="an-open-turn-comes-on-top"),
        pytest.param("u a u a u a u u u", "turns", 2, 3, id="so-do-several"),
        pytest.param("u a u a u u a u", "turns", 2, 3, id="also-between-those-that-are-complete"),
        pytest.param("u a u a u A1 T1 s", "turns", 1, 3, id="a-turn-that-waits-after-a-tool"),
        pytest.param("u a u a s", "turns", 1, 3, id="a-word-of-the-system-opens-none"),
        pytest.param("u a u a" + " u" * 10, "turns", 2, 1, id="ten-of-them"),
        pytest.param("u a u a" + " u" * 12, "turns", 2, 5, id="a-log-without-replies-is-no-window"),
        pytest.param("u a u u u", "messages", 2, 4, id="messages-are-counted-all"),
    ],
)
def test_newest_units(roles: str, unit: str, size: int, first: int) -> None:
    """The newest messages or turns, and what must stay with them."""
    assert newest_units(log(roles), unit, size)[0][0].seq == first  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("roles", "reach", "cursor", "first"),
    [
        pytest.param("u a u a u a", Reach(messages=1, tokens=1000), 0, 5, id="whole-turns"),
        pytest.param("u a u a u a", Reach(turns=2, tokens=1000), 0, 3, id="turns"),
        pytest.param("u a u a u a", Reach(turns=1, back_to_cursor=True, tokens=1000), 3, 3, id="back-to-the-cursor"),
        pytest.param("u a u a u a", Reach(fill=True, tokens=25), 0, 3, id="filled"),
        pytest.param("u a u a u a", Reach(turns=9, tokens=5), 0, 5, id="tokens-stop-it"),
        pytest.param("u a u a u a u u", Reach(turns=2, tokens=1000), 0, 3, id="open-turns-on-top"),
        pytest.param("u a u u a u", Reach(turns=2, tokens=1000), 0, 1, id="also-between-others"),
        pytest.param("u a" + " u" * 13, Reach(turns=2, tokens=1000), 0, 4, id="not-all-of-a-log-without-replies"),
        pytest.param("u A1 u a u T1 a", Reach(turns=1, tokens=1000), 0, 1, id="back-to-the-call-of-a-result"),
        pytest.param("u a u a u T1 a", Reach(turns=1, tokens=35), 0, 3, id="no-call-found-as-far-as-tokens-reach"),
    ],
)
def test_take_back(roles: str, reach: Reach, cursor: int, first: int) -> None:
    """The newest messages as far as asked, beginning with a whole turn."""
    messages = log(roles)
    taken = take_back(reversed(messages), reach, cursor)
    assert taken == messages[first - 1 :]
