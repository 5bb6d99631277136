"""Counting tokens: exactly, or by an estimate where that cannot be done."""

import sys

import pytest

from lamina.models import token_counters
from lamina.models.token_counters import ExactCounter, best_counter


def test_without_tiktoken_tokens_are_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four bytes are a token, a character of a wide script is one; the counter says that it is not exact."""
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    counter = best_counter.__wrapped__()
    assert (counter.name, counter.exact) == ("estimate", False)
    assert counter.count_many(["", "a", "four", "The quick brown fox", "猫が好き", "ключ"]) == [0, 1, 1, 5, 4, 2]


def test_counts_are_the_same_when_too_many_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """The counts of long texts are remembered, so many and no more."""
    monkeypatch.setattr(token_counters, "_MAX_CACHED", 2)
    counter = ExactCounter()
    texts = [f"{word} " * 70 for word in ("one", "two", "six", "one")]
    assert counter.count_many(texts) == [ExactCounter().count(text) for text in texts]
    assert len(counter._cache) <= 2
