"""The package lamina-minilm, for the tests that ask for it: all others search by static vectors.

VECTORS has a few texts with the vectors of the published weights of all-MiniLM-L6-v2, for comparison.
"""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

PACKAGE = Path(__file__).parents[1] / "packages/lamina-minilm"
STORED = Path(__file__).parent / "data/minilm_vectors.npz"


def _stored() -> dict[str, np.ndarray]:
    with np.load(STORED, allow_pickle=False) as file:
        return dict(zip(file["texts"].tolist(), file["vectors"], strict=True))


VECTORS = _stored()


class Installation:
    """Whether this process finds the package."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch

    def add(self) -> None:
        self._set([str(PACKAGE / "src"), *sys.path])

    def remove(self) -> None:
        self._set([path for path in sys.path if path != str(PACKAGE / "src")])

    def _set(self, paths: list[str]) -> None:
        self._monkeypatch.setattr(sys, "path", paths)
        importlib.invalidate_caches()


@pytest.fixture
def minilm_package(monkeypatch: pytest.MonkeyPatch) -> Installation:
    """As if it was installed, until it is removed."""
    installation = Installation(monkeypatch)
    installation.add()
    return installation
