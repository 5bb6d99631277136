"""The forward pass of a small BERT, in numpy and single precision."""

import json
import math
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lamina.errors import ModelError

Array = NDArray[np.float32]

STEP = ".step"  # behind the name of a tensor: the size of the steps that its whole numbers count, row by row
_BATCH = 512  # tokens at once, padding included: larger ones are not faster on one core
_BLOCK = 1 << 15  # numbers at once where one array goes through many small steps: they stay in the cache
_EPSILON = np.float32(1e-12)
_TYPES = {"F32": "<f4", "I8": "|i1"}  # of the tensors that are read

# The share of the normal distribution beyond x, to 1e-7: a polynomial in 1 / (1 + px), times exp(-x²/2). It is half the
# complement of the error function in Abramowitz and Stegun 7.1.26.
_TAIL_P = np.float32(0.3275911 * math.sqrt(0.5))
_TAIL = [np.float32(one / 2) for one in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)]
_ONE = np.float32(1)
_MINUS_HALF = np.float32(-0.5)


@dataclass(frozen=True, slots=True)
class Rounded:
    """A table of whole steps, each row with a step of its own; rows become numbers when they are asked for."""

    steps: NDArray[np.int8]
    sizes: Array

    def __getitem__(self, rows: Any) -> Array:
        numbers: Array = self.steps[rows] * self.sizes[rows][..., None]
        return numbers

    @property
    def shape(self) -> tuple[int, ...]:
        return self.steps.shape


Tensor = Array | Rounded


def read_tensors(path: Path) -> dict[str, Tensor]:
    """The tensors of a safetensors file in single precision or in steps, mapped and not copied."""
    try:
        with path.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            header = dict(json.loads(file.read(length)))
        content = np.memmap(path, np.uint8, "r", offset=8 + length)
        arrays = {
            name: content[slice(*entry["data_offsets"])].view(_TYPES[entry["dtype"]]).reshape(entry["shape"])
            for name, entry in header.items()
            if name != "__metadata__" and entry["dtype"] in _TYPES
        }
        return {
            name: Rounded(array, arrays[name + STEP]) if array.dtype == np.int8 else array
            for name, array in arrays.items()
            if not name.endswith(STEP)
        }
    except (OSError, ValueError, TypeError, LookupError, OverflowError, struct.error) as error:
        raise ModelError(f"{path} cannot be read as a safetensors file: {error}") from error


class _Layer:
    """One layer's weights, laid out for products from the left; queries come scaled already."""

    def __init__(self, tensors: Mapping[str, Tensor], prefix: str, heads: int) -> None:
        def dense(name: str) -> tuple[Array, Array]:
            return np.ascontiguousarray(tensors[f"{prefix}.{name}.weight"][:].T), np.array(
                tensors[f"{prefix}.{name}.bias"]
            )

        def norm(name: str) -> tuple[Array, Array]:
            found = tensors[f"{prefix}.{name}.LayerNorm.weight"], tensors[f"{prefix}.{name}.LayerNorm.bias"]
            return np.array(found[0]), np.array(found[1])

        parts = [dense(f"attention.self.{name}") for name in ("query", "key", "value")]
        scale = np.float32(1 / math.sqrt(parts[0][0].shape[1] // heads))
        parts[0] = (parts[0][0] * scale, parts[0][1] * scale)
        self.mixing = np.concatenate([part[0] for part in parts], axis=1), np.concatenate([part[1] for part in parts])
        self.mixed = dense("attention.output.dense")
        self.mixed_norm = norm("attention.output")
        self.widening = dense("intermediate.dense")
        self.narrowing = dense("output.dense")
        self.norm = norm("output")


class Bert:
    """An encoder with the tensor names of BERT: a text's vector is the mean over its tokens in the last layer."""

    def __init__(self, tensors: Mapping[str, Tensor], heads: int) -> None:
        try:
            self._words = tensors["embeddings.word_embeddings.weight"]
            kinds = tensors["embeddings.token_type_embeddings.weight"]
            self._places = tensors["embeddings.position_embeddings.weight"][:] + kinds[:][0]
            self._norm = tensors["embeddings.LayerNorm.weight"][:], tensors["embeddings.LayerNorm.bias"][:]
            depth = len({name.split(".")[2] for name in tensors if name.startswith("encoder.layer.")})
            self._layers = [_Layer(tensors, f"encoder.layer.{at}", heads) for at in range(depth)]
        except KeyError as error:
            raise ModelError(f"these are not the weights of a BERT encoder: {error} is missing") from error
        self._heads = heads

    def mean_vectors(self, sequences: Sequence[Sequence[int]]) -> Array:
        """One row for each sequence of token numbers, which has at least one and fits into the model's places."""
        rows = np.empty((len(sequences), self._words.shape[1]), np.float32)
        for batch in _batches([len(sequence) for sequence in sequences]):
            rows[batch] = self._batch([sequences[at] for at in batch])
        return rows

    def _batch(self, sequences: Sequence[Sequence[int]]) -> Array:
        lengths = np.array([len(sequence) for sequence in sequences])
        longest = int(lengths.max())
        padded = np.zeros((len(sequences), longest), np.intp)
        for row, sequence in zip(padded, sequences, strict=True):
            row[: len(sequence)] = sequence
        present = np.arange(longest) < lengths[:, None]
        hidden = (self._words[padded] + self._places[:longest]).reshape(-1, self._words.shape[1])
        _normalise(hidden, *self._norm)
        padding = None if present.all() else np.where(present, np.float32(0), np.float32(-1e9))[:, None, None, :]
        for layer in self._layers:
            hidden = self._apply_layer(layer, hidden, len(sequences), padding)
        hidden = hidden.reshape(len(sequences), longest, -1)
        means: Array = (hidden * present[:, :, None]).sum(axis=1) / lengths[:, None].astype(np.float32)
        return means

    def _apply_layer(self, layer: _Layer, hidden: Array, count: int, padding: Array | None) -> Array:
        mixed = self._attend(_dense(hidden, layer.mixing), count, padding)
        mixed = _dense(mixed, layer.mixed)
        mixed += hidden
        _normalise(mixed, *layer.mixed_norm)
        wide = _dense(mixed, layer.widening)
        _gelu(wide)
        narrow = _dense(wide, layer.narrowing)
        narrow += mixed
        _normalise(narrow, *layer.norm)
        return narrow

    def _attend(self, mixing: Array, count: int, padding: Array | None) -> Array:
        size = mixing.shape[1] // 3
        parts = mixing.reshape(count, -1, 3, self._heads, size // self._heads)
        query, key, value = (parts[:, :, part].transpose(0, 2, 1, 3) for part in range(3))
        scores: Array = query @ key.transpose(0, 1, 3, 2)
        if padding is not None:
            scores += padding
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)
        attended: Array = scores @ value
        return attended.transpose(0, 2, 1, 3).reshape(-1, size)


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Indexes of sequences of similar length, batch by batch."""
    batch: list[int] = []
    for at in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[at] > _BATCH:
            yield batch
            batch = []
        batch.append(at)
    if batch:
        yield batch


def _dense(rows: Array, weights: tuple[Array, Array]) -> Array:
    product: Array = rows @ weights[0]
    product += weights[1]
    return product


def _normalise(rows: Array, weight: Array, bias: Array) -> None:
    """Layer normalisation, in place."""
    rows -= rows.mean(axis=1, keepdims=True)
    variance = np.einsum("ij,ij->i", rows, rows)[:, None] / np.float32(rows.shape[1])
    rows /= np.sqrt(variance + _EPSILON)
    rows *= weight
    rows += bias


def _gelu(values: Array) -> None:
    """Each number times the share of the normal distribution below it, in place."""
    flat = values.reshape(-1)
    for at in range(0, len(flat), _BLOCK):
        block = flat[at : at + _BLOCK]
        size = np.abs(block)
        inverse = size * _TAIL_P
        inverse += _ONE
        np.reciprocal(inverse, out=inverse)
        tail = inverse * _TAIL[0]
        for coefficient in _TAIL[1:]:
            tail += coefficient
            tail *= inverse
        power = np.square(block)
        power *= _MINUS_HALF
        tail *= np.exp(power, out=power)
        tail *= size
        np.maximum(block, 0, out=block)
        block -= tail
