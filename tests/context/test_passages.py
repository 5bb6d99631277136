"""Passages: what is kept of a long one, and which are worth their tokens."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.context.budget import CUT_MARK
from lamina.context.items import Item
from lamina.context.passages import excerpt, worth
from lamina.language.words import query_terms
from tests.messages import words
from tests.sizes import examples

MARK = CUT_MARK.strip()
TEXT = "The boat is blue. It was built in Porto. My sister sails it. We paid too much. It leaks."


@pytest.mark.parametrize(
    ("asked", "tokens", "kept"),
    [
        pytest.param("Where was it built?", 8, f"{MARK} It was built in Porto. {MARK}", id="one-from-within"),
        pytest.param("What colour is the boat?", 8, f"The boat is blue. {MARK}", id="the-first"),
        pytest.param("It leaks?", 5, f"{MARK} It leaks.", id="the-last"),
        pytest.param("boat sister", 14, f"The boat is blue. {MARK} My sister sails it. {MARK}", id="two-apart"),
        pytest.param("boat Porto", 16, f"The boat is blue. It was built in Porto. {MARK}", id="two-together"),
        pytest.param("whale", 8, f"The boat is blue. {MARK}", id="nothing-asked-for-is-there"),
        pytest.param("", 8, f"The boat is blue. {MARK}", id="nothing-is-asked-for"),
        pytest.param("boat built sister paid leaks", 99, TEXT, id="all-of-it"),
        pytest.param("boat", 3, "", id="not-even-one-fits"),
    ],
)
def test_the_sentences_that_answer_are_kept(asked: str, tokens: int, kept: str) -> None:
    """Those with the most of what is asked, in their order, with a mark where others are left out."""
    assert excerpt(TEXT, query_terms(asked), tokens, words) == kept


@pytest.mark.parametrize(
    ("text", "asked", "kept"),
    [
        pytest.param("One boat\ntwo barges\n\nthree trains", "barges", f"{MARK} two barges {MARK}", id="lines"),
        pytest.param("船很蓝。 它漏水！ 你好？", "漏水", f"{MARK} 它漏水！ {MARK}", id="other-full-stops"),  # noqa: RUF001
        pytest.param("", "boat", "", id="nothing"),
        pytest.param(" \n ", "boat", "", id="spaces"),
        pytest.param("word " * 50, "word", f"word word {MARK}", id="one-endless-sentence"),
        pytest.param("word " * 50, "boat", "", id="one-endless-sentence-without-it"),
    ],
)
def test_all_kinds_of_texts(text: str, asked: str, kept: str) -> None:
    """Lines are sentences too, and of an endless one a part is kept; there may be none that fits."""
    assert excerpt(text, query_terms(asked), 6, words) == kept


_sentences = st.lists(st.sampled_from(["boat", "bay", "kettle", "poem", "42"]), min_size=1, max_size=6).map(
    lambda said: " ".join(said) + "."
)


@given(
    sentences=st.lists(_sentences, min_size=1, max_size=12), asked=st.sets(st.sampled_from(["boat", "poem", "whale"])),
    tokens=st.integers(0, 60),
)  # fmt: skip
@examples(150)
def test_an_excerpt_is_a_part_in_order_within_its_tokens(sentences: list[str], asked: set[str], tokens: int) -> None:
    """Every piece between marks stands in the text, one behind the other; whatever is left out is marked."""
    text = " ".join(sentences)
    kept = excerpt(text, sorted(asked), tokens, words)
    assert words(kept) <= tokens
    at = 0
    pieces = [piece for piece in re.split(rf"\s*{re.escape(MARK)}\s*", kept) if piece]
    for piece in pieces:
        at = text.index(piece, at) + len(piece)
    if kept:
        assert kept.startswith(MARK) or text.startswith(pieces[0])
        assert kept.endswith(MARK) or text.endswith(pieces[-1])
        assert (MARK in kept) == (kept != text)
    elif tokens > max(map(words, sentences)) + 2 * words(MARK):
        pytest.fail("there was room for a sentence")


@pytest.mark.parametrize("filler", ["Nothing else. ", "nothing else "], ids=["sentences", "one-endless-sentence"])
def test_the_end_of_an_enormous_text_may_answer(filler: str) -> None:
    """The place that answers is kept, wherever it stands, also where no sentence ends."""
    text = filler * 40_000 + "the boat sank at Porto"
    kept = excerpt(text, ["boat", "porto"], 12, words)
    assert kept.startswith(MARK)
    assert kept.endswith("the boat sank at Porto")
    assert words(kept) <= 12


def test_of_an_endless_sentence_the_densest_place_is_kept() -> None:
    """Where most of the asked words stand close together; in scripts without spaces, too."""
    line = "boat, " * 90 + "a kettle, the boat of Porto, " + "kettle; " * 90
    assert "boat of Porto" in excerpt(line, query_terms("Which boat of Porto?"), 12, words)
    signs = "\u6211" * 400 + "\u8239\u5f88\u84dd" + "\u4f60" * 400
    assert "\u8239\u5f88\u84dd" in excerpt(signs, query_terms("\u8239\u84dd"), 60, len)


def test_short_and_likely_passages_are_worth_most() -> None:
    """By value for each token, then by value; one without a value, or of no tokens, is no error."""

    def item(value: float, tokens: int) -> Item:
        return Item(section="recalled", kind="passage", tokens=tokens, reason="", value=value)

    ordered = [item(0.9, 10), item(0.9, 20), item(0.2, 10), item(0.1, 5), item(0.0, 5)]
    mixed = [ordered[place] for place in (3, 0, 4, 2, 1)]
    assert sorted(mixed, key=worth, reverse=True) == ordered
    assert worth(item(0.5, 0)) == (0.5, 0.5)
