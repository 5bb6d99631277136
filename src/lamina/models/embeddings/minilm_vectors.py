"""The arithmetic of MiniLM: the mean over a text's pieces in the last layer of a small BERT."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lamina.errors import ModelError
from lamina.models.embeddings.bert import Bert, read_tensors
from lamina.models.embeddings.minilm import HELP
from lamina.models.embeddings.wordpiece import bert_uncased
from lamina.search.vectors import one_thread

HEADS = 12
_MAX_TOKENS = 256  # tokens of a text that are read, its start and end marks included


class MiniLm:
    """Weights that are read, and known by their hash."""

    def __init__(self, path: Path, sha256: str) -> None:
        try:
            with path.open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise ModelError(f"{path} cannot be read: {error}") from error
        if found != sha256:
            raise ModelError(f"{path} has sha256 {found}, not {sha256}: these are other weights; {HELP}")
        self._bert = Bert(read_tensors(path), HEADS)

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One normalised row a text."""
        pieces = bert_uncased()
        start, end = pieces.numbers["[CLS]"], pieces.numbers["[SEP]"]
        with one_thread():
            rows = self._bert.mean_vectors([[start, *pieces.encode(text)[: _MAX_TOKENS - 2], end] for text in texts])
        rows /= np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
        return rows
