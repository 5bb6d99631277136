"""Unicode is normalised in one place: as the standard says, and in time that grows with the length."""

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.context.rendering import fence
from lamina.knowledge.fact_words import plain_text
from lamina.language import unicode
from lamina.language.unicode import normalise, without_unseen
from lamina.language.words import plain
from lamina.models.embeddings.wordpiece import WordPiece
from tests.growth import growth, quarters

FORMS = ("NFC", "NFD", "NFKC", "NFKD")
MARKS = [code for code in range(sys.maxunicode + 1) if unicodedata.combining(chr(code))]


@given(st.text(), st.sampled_from(FORMS))
def test_text_is_normalised_as_unicode_says(text, form):
    assert normalise(form, text) == unicodedata.normalize(form, text)


@given(st.text(st.sampled_from("aé한日\u0300\u0316\u0323\u0f73 "), max_size=200), st.sampled_from(FORMS))
def test_no_letter_keeps_more_marks_than_it_can_have(text, form):
    """Thirty are more than any language needs; what has no more stays as it is."""
    found = normalise(form, text)
    assert longest_run(unicodedata.normalize("NFKD", found)) <= 2 * 30  # a sign may be taken apart into two marks
    if longest_run(text) <= 30:
        assert found == unicodedata.normalize(form, text)


def longest_run(text):
    return max(map(len, "".join("m" if mark(sign) else " " for sign in text).split()), default=0)


def mark(sign):
    return unicodedata.combining(sign) or ord(sign) in unicode._SPLIT_INTO_MARKS


def test_every_mark_is_known():
    """What is looked for first leaves none of them out, in this Python's version of Unicode."""
    assert max(MARKS) <= unicode._LAST_MARK
    for code in (*MARKS, *unicode._SPLIT_INTO_MARKS):
        assert unicode._MAYBE_A_RUN.search(chr(code) * 31), hex(code)
        assert len(normalise("NFC", "a" + chr(code) * 500)) < 100, hex(code)


@pytest.mark.parametrize("sign", ["\u200b", "\ufe0f", "\u034f", "\u3164", "\U000e0101", "\u2060"])
def test_signs_that_do_not_show_are_taken_out(sign):
    assert without_unseen(f"a{sign}b{sign}{sign}") == "ab"


@pytest.mark.parametrize(
    "use",
    [
        pytest.param(lambda text: normalise("NFKC", text), id="normalise"),
        pytest.param(plain, id="words"),
        pytest.param(plain_text, id="facts"),
        pytest.param(fence, id="fence"),
        pytest.param(WordPiece({"[UNK]": 0}).words, id="pieces"),
    ],
)
def test_marks_without_end_take_no_longer_than_other_text(use):
    """Sorting them takes quadratic time in Python's own function: 160 KB of them held everything up for 15 seconds."""
    assert growth(use, lambda size: "a" + "\u0300\u0316" * (size // 2), quarters(400_000)) <= 2.0


def test_tags_without_end_are_fenced_as_quickly_as_other_text():
    def tags(size: int) -> str:
        return "".join(f"<memory-{number}" for number in range(size // 14))

    assert growth(fence, tags, quarters(400_000)) <= 2.0
