"""Messages that were found lately are at hand, within a bound."""

from datetime import UTC, datetime
from pathlib import Path

from lamina import Memory
from lamina.search.hit_cache import MAX_BYTES, HitCache
from lamina.values.hit import Hit

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def hit(key: str, length: int = 10) -> Hit:
    return Hit(
        kind="message",
        id=key,
        session_id="s",
        message_ids=(key,),
        span=None,
        text="x" * length,
        score=0.0,
        parts={},
        created_at=NOW,
    )


def test_what_was_not_used_for_the_longest_time_makes_room():
    third = MAX_BYTES // 6  # characters, of two bytes each
    kept = HitCache()
    kept.add([hit("a", third - 1_000), hit("b", third - 1_000)])
    assert set(kept.find(["a"])) == {"a"}
    kept.add([hit("c", third - 1_000), hit("d", third - 1_000)])
    assert set(kept.find("abcd")) == {"a", "c", "d"}


def test_a_text_that_is_larger_than_the_bound_is_not_kept():
    kept = HitCache()
    kept.add([hit("a"), hit("large", MAX_BYTES)])
    assert len(kept) == 0


def test_a_message_that_was_found_is_at_hand(tmp_path: Path):
    with Memory(tmp_path / "home.db", worker=False) as memory:
        memory.add("The spare key hangs in the shed.", user_id="ana", session_id="home")
        first = memory.search("spare key", user_id="ana")
        kept = memory._memory._search._instance.cache._kept["ana"].hits
        assert set(kept.find([first[0].id])) == {first[0].id}


def test_words_that_are_forgotten_are_not_found_at_hand(tmp_path: Path):
    """What is kept goes with the index, as soon as words are taken away, by whomever."""
    said = ["The code is 4242.", "The code of the shed is new."]
    with Memory(tmp_path / "home.db", worker=False) as memory, Memory(tmp_path / "home.db", worker=False) as other:
        memory.add(said, user_id="ana", session_id="home")
        assert any("4242" in found.text for found in memory.search("code", user_id="ana"))
        other.forget(text="4242", user_id="ana")
        assert not any("4242" in found.text for found in memory.search("code", user_id="ana"))
        assert "4242" not in memory.context("code", user_id="ana").text
