"""The pattern language of the grammars, and that every grammar of the package is sound."""

import tomllib
from importlib import resources

import pytest

from lamina.errors import ConfigError
from lamina.models.offline.fact_extraction.grammar import grammar, grammars
from lamina.models.offline.fact_extraction.patterns import Index, compile_pattern
from lamina.models.offline.fact_extraction.tokens import merge_phrases, tokenise

CLASSES = {"drinks": "tea, iced coffee"}


@pytest.mark.parametrize(
    ("pattern", "said", "slots"),
    [
        pytest.param("i like {x}", "i like tea ", {"x": "tea "}, id="slot-at-the-end"),
        pytest.param("i (like|do love) {x} alot $", "i do love hot tea alot ", {"x": "hot tea "}, id="slot-between"),
        pytest.param("i [really] like <drinks>", "i like iced coffee ", {}, id="class-and-optional"),
        pytest.param("by *ing $", "by walking ", {}, id="wildcard"),
        pytest.param("{gap} on the #th", "see you on the 4th ", {}, id="number-and-gap"),
    ],
)
def test_patterns_match(pattern, said, slots):
    """A pattern matches from the first word on and tells what stands in its slots."""
    match = compile_pattern(pattern, CLASSES).regex.match(said)
    assert match is not None
    assert match.groupdict() == slots


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        pytest.param("(one|two", "')' is missing", id="open"),
        pytest.param("one) two", "was not opened", id="closed"),
        pytest.param("<cheese>", "no class <cheese>", id="unknown-class"),
    ],
)
def test_wrong_patterns_say_what_is_wrong(pattern, problem):
    """An error names the pattern and the problem."""
    with pytest.raises(ConfigError, match="grammar pattern") as error:
        compile_pattern(pattern, CLASSES)
    assert problem in str(error.value)


def test_the_index_keeps_the_order():
    """Only patterns whose words are there are tried, in the order of the file."""
    index = Index([(compile_pattern(text, {}), text) for text in ("i like {x}", "i hate {x}", "i {x}")])
    assert [name for _, name in index.likely(frozenset(("i", "like")))] == ["i like {x}", "i {x}"]


def test_a_pattern_without_a_fixed_word_is_always_tried():
    """A number may stand in any sentence."""
    index = Index([(compile_pattern(text, {}), text) for text in ("#th of {x}", "# $", "i like {x}")])
    assert [name for _, name in index.likely(frozenset(("i", "like")))] == ["# $", "i like {x}"]


def test_tokens_know_their_place():
    """Contractions are written out, phrases read as one word, and each token keeps its place in the text."""
    tokens = tokenise("I\u2019m here no more", 10, {"i'm": ("i", "am")}, {})
    tokens = merge_phrases(tokens, {"no": ((("no", "more"), "nomore"),)})
    assert [(token.word, token.start, token.end) for token in tokens] == [
        ("i", 10, 13),
        ("am", 10, 13),
        ("here", 14, 18),
        ("nomore", 19, 26),
    ]


def test_an_elided_word_is_two():
    """A word that has lost its last letter before another is written out, and both keep their place."""
    tokens = tokenise("j\u2019habite \u00e0 L'Isle", 0, {}, {}, {"j'": "je", "l'": "le"})
    assert [(token.word, token.start, token.end, token.capital) for token in tokens] == [
        ("je", 0, 2, False),
        ("habite", 2, 8, False),
        ("\u00e0", 9, 10, False),
        ("le", 11, 13, False),
        ("isle", 13, 17, True),
    ]


def test_a_phrase_may_be_read_as_several_words():
    """A merge may stand for more than one word; each has the place of the whole phrase."""
    tokens = merge_phrases(tokenise("about me: tall", 0, {}, {}), {"about": ((("about", "me", ":"), "i am"),)})
    assert [(token.word, token.start, token.end) for token in tokens] == [("i", 0, 9), ("am", 0, 9), ("tall", 10, 14)]


def test_every_grammar_loads():
    """The package has a grammar for each of these languages; English is taken where no word tells the language."""
    assert {"de", "en", "es", "fr", "it", "nl", "pt"} <= {one.language for one in grammars()}
    assert [one.language for one in grammars() if one.fallback] == ["en"]


def test_unknown_slots_are_refused():
    """A template with a slot that the file does not describe is an error."""
    file = resources.files("lamina.models.offline.fact_extraction").joinpath("grammar_de.toml")
    data = tomllib.loads(file.read_text("utf-8"))
    data["templates"].append({"say": ["ich mag {käse}"], "category": "preference", "value": "{käse}"})
    with pytest.raises(ConfigError, match="no slots"):
        grammar(data)
