"""How deep a body goes is found in one pass, whatever stands in it and however it is cut."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.server.json_depth import Nesting, Surrogates
from tests.growth import growth, quarters

LEVELS = st.recursive(
    st.text() | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
)


def fed(text: bytes, cuts: list[int]) -> int:
    nesting = Nesting()
    places = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    for first, last in pairwise(places):
        nesting.feed(text[first:last])
    return nesting.deepest


def depth(value: object) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(depth, inner), default=0)


@given(LEVELS, st.lists(st.integers(min_value=0), max_size=5), st.booleans())
def test_it_is_the_depth_of_what_is_read(value, cuts, plain):
    """Brackets and quotes inside of texts do not count; where the parts end does not matter."""
    assert fed(json.dumps(value, ensure_ascii=plain).encode(), cuts) == depth(value)


@pytest.mark.parametrize(
    "piece",
    [
        pytest.param(b'\\"', id="escaped-quotes-without-an-end"),
        pytest.param(b'"', id="quotes"),
        pytest.param(b"\\", id="backslashes"),
        pytest.param(b"[", id="lists-in-lists"),
        pytest.param(b"[]", id="lists"),
        pytest.param(b'{"":', id="objects-in-objects"),
        pytest.param(rb"\ud83d\ude00", id="pairs"),
    ],
)
def test_the_time_grows_with_the_length_and_no_faster(piece):
    def run(text: bytes) -> None:
        nesting, surrogates = Nesting(), Surrogates()
        for start in range(0, len(text), 16_384):
            nesting.feed(text[start : start + 16_384])
            surrogates.feed(text[start : start + 16_384])

    assert growth(run, lambda size: b'"' + piece * (size // len(piece)), quarters(4_000_000)) <= 2.0


def count(value: object) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(count, inner))


@given(LEVELS, st.lists(st.integers(min_value=0), max_size=5))
def test_values_are_counted_and_never_too_few(value, cuts):
    """An empty list counts for two, and no sign in a text counts."""
    nesting, text = Nesting(), json.dumps(value).encode()
    places = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    for first, last in pairwise(places):
        nesting.feed(text[first:last])
    assert count(value) <= nesting.values <= 2 * count(value)


PIECES = ["\\ud83d", "\\ude00", "\\uD83D", "\\\\", "\\n", "u", "d83d", "a", '\\"', "\\u0041", "\\udbff\\udfff"]


@given(st.lists(st.sampled_from(PIECES), max_size=12), st.lists(st.integers(min_value=0), max_size=6))
def test_a_lone_surrogate_is_seen_wherever_the_text_is_cut(pieces, cuts):
    """Just what cannot be written again is one: not a pair, and not the word behind a backslash that is a sign."""
    text = ('"' + "".join(pieces) + '"').encode()
    surrogates = Surrogates()
    places = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    for first, last in pairwise(places):
        surrogates.feed(text[first:last])
    surrogates.feed(b"", last=True)
    try:
        json.loads(text).encode()
    except UnicodeEncodeError:
        assert surrogates.lone
    else:
        assert not surrogates.lone
