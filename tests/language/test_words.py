"""Words: the same for every store, for any script."""

import pytest

from lamina.language.words import _Terms, overlap, plain, query_terms, stem, terms, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("Don't stop, Alex_2!", ["don't", "stop", "alex", "2"], id="english"),
        pytest.param("Größe CAFÉ", ["grosse", "cafe"], id="accents-and-case"),
        pytest.param("it\u2019s", ["it's"], id="typographic-apostrophe"),
        pytest.param("猫が好き", ["猫", "か", "好", "き"], id="without-spaces"),
        pytest.param("GPT猫4", ["gpt", "猫", "4"], id="mixed"),
        pytest.param("Привет мир", ["привет", "мир"], id="cyrillic"),
        pytest.param(" \n\t—…🎉", [], id="no-words"),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    """Lower case, without accents; scripts without spaces fall into characters."""
    assert words(text) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("databases", "database", id="plural"),
        pytest.param("running", "run", id="doubled"),
        pytest.param("decided", "decide", id="past"),
        pytest.param("stories", "story", id="ies"),
        pytest.param("quickly", "quick", id="adverb"),
        pytest.param("classes", "class", id="sses"),
    ],
)
def test_stems_meet(one: str, other: str) -> None:
    """Forms of a word have one stem."""
    assert stem(one) == stem(other)


@pytest.mark.parametrize("word", ["bus", "sing", "red", "ly", "猫", "straße"])
def test_short_and_foreign_words_stay(word: str) -> None:
    """What only looks like an ending is none."""
    assert stem(word) == word


def test_more_words_than_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Terms are the same, however many other words came before."""
    monkeypatch.setattr(_Terms, "_MAX_CACHED", 2)
    known = _Terms()
    assert [known[word] for word in ("cats", "the", "dogs", "cats", "dogs")] == ["cat", "", "dog", "cat", "dog"]
    assert len(known) <= 2


def test_terms_and_queries() -> None:
    """Stop words carry nothing, unless a query has nothing else; a query's terms are distinct and few."""
    assert terms("What is the plan for the plans?") == ["plan", "plan"]
    assert query_terms("What is the plan for the plans?") == ["plan"]
    assert query_terms("who are you?") == ["who", "are", "you"]
    assert len(query_terms(" ".join(f"word{n}" for n in range(99)))) == 32


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        pytest.param("ab", "bc", 0.5, id="half"),
        pytest.param("a", "abc", 1.0, id="all-of-the-smaller"),
        pytest.param("", "abc", 0.0, id="nothing"),
    ],
)
def test_overlap(one: str, other: str, expected: float) -> None:
    """How much two sets share, measured by the smaller."""
    assert overlap(frozenset(one), frozenset(other)) == expected


def test_plain() -> None:
    """Case and accents are gone, whatever the script."""
    assert plain("ÀÉÎ ÇÑ") == "aei cn"
    assert plain("ABC") == "abc"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("error500", "error50", id="code"),
        pytest.param("number11", "number1", id="number"),
        pytest.param("v2.11", "v2.1", id="version"),
        pytest.param("a100s", "a100", id="plural-of-a-code"),
        pytest.param("sku4tt", "sku4t", id="id"),
    ],
)
def test_words_with_digits_keep_all_their_characters(one: str, other: str) -> None:
    """Codes, versions and ids that differ are different words."""
    assert terms(one) != terms(other)


def test_the_possessive_of_a_word_with_digits() -> None:
    """`gpt4's` is of gpt4."""
    assert terms("gpt4's") == terms("gpt4")
