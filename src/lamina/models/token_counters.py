"""Token counters: exact with tiktoken and the vocabulary in this package, an estimate without."""

import gzip
import hashlib
import importlib
import threading
from binascii import a2b_base64
from collections.abc import Callable, Sequence
from functools import cache
from importlib import resources
from typing import Any

from lamina.protocols.models import TokenCounter

# The pre-tokenisation rule of o200k_base.
_PATTERN = "|".join(  # noqa: FLY002 - one alternative a line
    (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)

# Longer texts are counted in slices, so that no text is slow to count; a slice's border costs at most a token or two.
_SLICE = 100_000
_WORDS = 10_000  # of the vocabulary's file at once: a token and its rank are two
# Contexts count the same summaries and turns again and again: the counts of the last texts of some length are kept.
_MIN_CACHED = 64
_MAX_CACHED = 20_000


class ExactCounter:
    """Counts as OpenAI's o200k models do; loads its vocabulary at the first count."""

    name = "o200k_base"
    exact = True

    def __init__(self) -> None:
        self._encode: Callable[[str], list[int]] | None = None
        self._lock = threading.Lock()
        self._cache: dict[bytes, int] = {}  # by hash: no text is kept in memory for longer than it is needed
        self._tiktoken = importlib.import_module("tiktoken")

    @property
    def loaded(self) -> bool:
        return self._encode is not None

    def load(self) -> None:
        """Read the vocabulary, which takes the better part of a second."""
        self._encoder()

    def count(self, text: str) -> int:
        if len(text) < _MIN_CACHED:
            return self._count(text)
        key = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        found = self._cache.get(key)
        if found is None:
            if len(self._cache) >= _MAX_CACHED:
                self._cache.clear()
            found = self._cache[key] = self._count(text)
        return found

    def _count(self, text: str) -> int:
        encode = self._encode or self._encoder()
        if len(text) <= _SLICE:
            return len(encode(text))
        return sum(len(encode(text[at : at + _SLICE])) for at in range(0, len(text), _SLICE))

    def count_many(self, texts: Sequence[str]) -> list[int]:
        return [self.count(text) for text in texts]

    def _encoder(self) -> Callable[[str], list[int]]:
        with self._lock:
            if self._encode is None:
                self._encode = _load(self._tiktoken).encode_ordinary
        return self._encode


def _load(tiktoken: Any) -> Any:
    packed = resources.files("lamina.models").joinpath("vocabulary/o200k_base.tiktoken.gz").read_bytes()
    words = gzip.decompress(packed).split()
    ranks: dict[bytes, int] = {}
    for at in range(0, len(words), _WORDS):  # in steps, between which other threads run
        tokens, numbers = words[at : at + _WORDS : 2], words[at + 1 : at + _WORDS : 2]
        ranks.update(zip(map(a2b_base64, tokens), map(int, numbers), strict=True))
    return tiktoken.Encoding(
        name="o200k_base", pat_str=_PATTERN, mergeable_ranks=ranks, special_tokens={}, explicit_n_vocab=len(ranks)
    )


class EstimatingCounter:
    """A guess for when nothing exact can be had: by bytes, so that other scripts are not undercounted much."""

    name = "estimate"
    exact = False

    def count(self, text: str) -> int:
        wide = sum(1 for character in text if character > "\u2e7f")
        return (len(text.encode("utf-8", "replace")) - 3 * wide + 3) // 4 + wide

    def count_many(self, texts: Sequence[str]) -> list[int]:
        return [self.count(text) for text in texts]


@cache
def best_counter() -> TokenCounter:
    """The exact counter where it can be had, else the estimate."""
    try:
        return ExactCounter()
    except ImportError:  # there is no build of tiktoken for some machines
        return EstimatingCounter()
