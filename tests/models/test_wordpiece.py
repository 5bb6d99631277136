"""WordPiece: the same numbers as the tokeniser that BERT was trained with gives."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.models.embeddings.wordpiece import UNKNOWN, WordPiece, bert_uncased


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("When did Caroline paint?", [2043, 2106, 7981, 6773, 1029], id="plain"),
        pytest.param("unbelievably embeddings", [4895, 8671, 2666, 3567, 6321, 7861, 8270, 4667, 2015], id="pieces"),
        pytest.param("Café naïve ÅNGSTRÖM", [7668, 15743, 17076, 15687], id="accents"),
        pytest.param("\u0130stanbul", [9960], id="dotted-capital-i"),
        pytest.param("\u03a3\u0391\u03a3", [1173, 14608, 29733], id="final-sigma-is-like-any"),
        pytest.param("Straße STRASSE", [2358, 27807, 2358, 8180, 3366], id="sharp-s"),
        pytest.param("don't pay $5.00", [2123, 1005, 1056, 3477, 1002, 1019, 1012, 4002], id="punctuation"),
        pytest.param("a+b~c", [1037, 1009, 1038, 1066, 1039], id="symbols"),
        pytest.param("我住在北京。", [1855, 100, 100, 1781, 1755, 1636], id="ideographs"),
        pytest.param("한국", [1469, 30006, 30021, 29991, 30014, 30020], id="hangul"),
        pytest.param("カタカナ", [1700, 30235, 30226, 30241], id="kana"),
        pytest.param("great 👍🏽 yes", [2307, 100, 2748], id="emoji"),
        pytest.param("مرحبا", [1295, 17149, 29820, 29816, 25573], id="arabic"),
        pytest.param("a\xa0b\u2028c\td\r\ne", [1037, 1038, 1039, 1040, 1041], id="odd-spaces"),
        pytest.param("a\u200bb\x00c\x85d\ufffde\ue000f", [5925, 3207, 2546], id="controls"),
        pytest.param("a\ud800b", [11113], id="half-a-surrogate-pair"),
        pytest.param("[SEP]", [1031, 19802, 1033], id="marks-in-a-text-are-plain-text"),
        pytest.param("x" * 101 + " y", [100, 1061], id="too-long"),
        pytest.param("", [], id="empty"),
    ],
)
def test_numbers(text, expected):
    """A text has the numbers that BERT's own tokeniser gives."""
    assert bert_uncased().encode(text) == expected


@given(st.text())
def test_any_text_is_known_or_unknown(text):
    """Whatever the text, each number is one of the vocabulary and each word has one at least."""
    pieces = bert_uncased()
    found = pieces.encode(text)
    assert set(found) <= set(pieces.numbers.values())
    assert len(found) >= len(pieces.words(text))


@given(st.text(), st.text())
def test_words_do_not_look_across_a_space(left, right):
    """The numbers of two texts are those of both with a space between."""
    assert bert_uncased().encode(f"{left} {right}") == bert_uncased().encode(left) + bert_uncased().encode(right)


def test_the_longest_piece_wins():
    """A word is split from its start into the longest pieces there are, or not at all."""
    pieces = WordPiece({piece: at for at, piece in enumerate([UNKNOWN, "un", "u", "##happ", "##h", "##y"])})
    assert pieces.encode("unhappy") == [1, 3, 5]
    assert pieces.encode("unhappily") == [pieces.unknown]
