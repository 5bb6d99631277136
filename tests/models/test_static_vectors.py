"""Static vectors: near where texts mean alike, normalised, and always the same."""

import asyncio
import hashlib
import subprocess
import sys
from importlib import resources

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.models.embeddings.static import StaticEmbedder
from lamina.models.embeddings.static_vectors import FILE, SHA256
from lamina.models.embeddings.wordpiece import bert_uncased
from lamina.protocols.models import Embedder, Lexicon
from tests.growth import times_longer
from tests.sizes import examples, share

EMBEDDER = StaticEmbedder()
TEXTS = ("I moved to Oslo last spring.", "We painted a sunrise", "", "the cat sat", "👍", "x" * 200)


def test_the_file_is_the_one_that_was_built():
    """The vectors in the package are those whose hash the code names: other ones need another name."""
    assert hashlib.sha256(resources.files("lamina.models.embeddings").joinpath(FILE).read_bytes()).hexdigest() == SHA256


def test_fits_the_ports():
    """It is an embedder and a lexicon, and needs no event loop."""
    embedder: Embedder = EMBEDDER
    lexicon: Lexicon = EMBEDDER
    assert (embedder.name, lexicon.name, embedder.dimensions) == ("static-384@2", "static-384@2", 384)
    assert embedder.inline
    with pytest.raises(StopIteration) as stopped:
        embedder.embed(TEXTS).send(None)
    assert np.array_equal(np.array(stopped.value.value), EMBEDDER.vectors(TEXTS))


def test_rows_are_normalised_or_zero():
    """A text has a vector of length one; one without any known piece has zeros."""
    rows = EMBEDDER.vectors(TEXTS)
    assert rows.shape == (6, 384)
    assert rows.dtype == np.float32
    assert np.linalg.norm(rows, axis=1) == pytest.approx([1, 1, 0, 1, 0, 0], abs=1e-6)


def test_no_texts():
    """Nothing gives nothing."""
    assert EMBEDDER.vectors([]).shape == (0, 384)
    assert asyncio.run(EMBEDDER.embed([])) == []


@pytest.mark.parametrize(
    ("text", "near", "far"),
    [
        pytest.param("my dog is ill", "the puppy needs a vet", "the train leaves at noon", id="animals"),
        pytest.param("she plays the violin", "music lessons", "car insurance", id="music"),
        pytest.param("where do I live?", "my home is in Lisbon", "I like pancakes", id="home"),
    ],
)
def test_alike_is_near(text, near, far):
    """A text is nearer to one of the same matter than to another."""
    one, two, three = EMBEDDER.vectors([text, near, far])
    assert one @ two > one @ three + 0.1


def test_words():
    """A word has the vector of its pieces, whether it is one piece or several; an unknown one has zeros."""
    rows = EMBEDDER.word_vectors(["dog", "puppy", "insurance", "embeddings", "👍"])
    assert rows[0] @ rows[1] > 0.5 > rows[0] @ rows[2]
    assert np.linalg.norm(rows, axis=1) == pytest.approx([1, 1, 1, 1, 0], abs=1e-6)
    assert len(bert_uncased().encode("embeddings")) > 1


def test_common_words_weigh_little():
    """A text is about its rare words."""
    one, two = EMBEDDER.vectors(["the violin, of the", "violin"])
    assert one @ two > 0.9


@examples(30)
@given(st.lists(st.text(max_size=40), max_size=8))
def test_a_text_does_not_look_at_its_neighbours(texts):
    """To the last bit, a text has the same vector alone and among others."""
    together = EMBEDDER.vectors(texts)
    for text, row in zip(texts, together, strict=True):
        assert EMBEDDER.vectors([text])[0].tobytes() == row.tobytes()


def test_a_long_text_is_the_mean_of_all_of_it():
    """No part of a long text is left out, and it is the same among others."""
    long = "the violin " * 3000 + "insurance " * 3000
    half = EMBEDDER.vectors(["insurance"])[0]
    alone = EMBEDDER.vectors([long])[0]
    assert alone @ half > 0.5
    assert EMBEDDER.vectors(["a", long, "b"])[1].tobytes() == alone.tobytes()
    assert EMBEDDER.vectors([long * 2])[0] @ alone == pytest.approx(1, abs=1e-5)


def test_the_same_bytes_in_every_process():
    """Another process finds the same vectors to the last bit."""
    program = (
        "import sys; from lamina.models.embeddings.static import StaticEmbedder;"
        f"sys.stdout.write(StaticEmbedder().vectors({TEXTS!r}).tobytes().hex())"
    )
    done = subprocess.run([sys.executable, "-X", "utf8", "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout == EMBEDDER.vectors(TEXTS).tobytes().hex()


def test_quick():
    """Thousands of short texts take a second: 30 times as long as to cut them into pieces would be noticed here."""
    texts = [
        f"I met person {number} in the park yesterday, and we talked about music" for number in range(share(1_000))
    ]
    encode = bert_uncased().encode
    assert times_longer(lambda: EMBEDDER.vectors(texts), lambda: [encode(text) for text in texts], most=30) <= 30
