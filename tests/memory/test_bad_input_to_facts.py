"""Bad input to the verbs over what is known: each mistake has its own error, and nothing is changed."""

from datetime import datetime

import pytest

from lamina import InputError, Memory, NotFound
from lamina.testing import WordCounter

NAIVE = datetime(2025, 3, 14)


@pytest.fixture
def memory(tmp_path):
    """A memory that knows two things."""
    with Memory(tmp_path / "lamina.db", counter=WordCounter(), worker=False) as memory:
        memory.add("I live in Ghent.", session_id="s1")
        memory.settle()
        memory.remember("tea", key="drink")
        yield memory


def a_fact(memory):
    return memory.facts()[0].id


BAD = [
    # times
    pytest.param(lambda m: m.facts(as_of="soon"), "as_of 'soon' is no time; e.g. 2025-03-14", id="as-of"),
    pytest.param(lambda m: m.facts(known_at=NAIVE), r"known_at .* has no time zone; e.g. .*\+00:00", id="naive"),
    pytest.param(lambda m: m.facts(since=7), "since must be a datetime, a date or ISO 8601 text, not int", id="number"),
    pytest.param(lambda m: m.user_profile(as_of="2025-13-01"), "as_of '2025-13-01' is no time", id="month-13"),
    # filters
    pytest.param(lambda m: m.facts(statuses=["gone"]), r"no status 'gone'; there are \['candidate'", id="status"),
    pytest.param(lambda m: m.facts(types="thought"), "no type 'thought'; there are", id="type"),
    pytest.param(lambda m: m.facts(categories=7), "categories must be a list of words, not int", id="categories"),
    pytest.param(lambda m: m.facts(tags=[7]), "tags must be a list of words", id="tags"),
    pytest.param(lambda m: m.facts(min_importance=2), "a number from 0 to 1, not 2", id="least-importance"),
    pytest.param(lambda m: m.search("tea", kinds=["dream"]), "no kind 'dream'; there are", id="kinds"),
    pytest.param(lambda m: m.episodes(kinds=["dream"]), "no kind 'dream'; there are", id="episode-kinds"),
    pytest.param(lambda m: m.facts(""), "user_id", id="user"),
    # by hand
    pytest.param(lambda m: m.remember(" "), "a memory needs text", id="blank"),
    pytest.param(lambda m: m.remember("x" * 4_001), "4,000 characters, not 4,001; add long texts", id="long"),
    pytest.param(lambda m: m.remember("a\0b"), "NUL character; remove it", id="nul"),
    pytest.param(lambda m: m.remember("a\ud800"), "lone surrogate", id="surrogate"),
    pytest.param(lambda m: m.remember("x", type="thought"), "no type 'thought'; there are", id="told-type"),
    pytest.param(lambda m: m.remember("x", key=" "), "key: a memory needs text", id="key"),
    pytest.param(lambda m: m.remember("x", tags="tag"), "tags must be a list of words", id="told-tags"),
    pytest.param(lambda m: m.remember("x", confidence=float("nan")), "confidence must be a number from 0", id="nan"),
    pytest.param(lambda m: m.remember("x", importance=True), "importance must be a number from 0 to 1", id="truth"),
    pytest.param(
        lambda m: m.remember("x", valid_from="2025-02-01", valid_until="2025-01-01"),
        "valid_until must be later than valid_from",
        id="ends-before-it-begins",
    ),
    pytest.param(lambda m: m.update(a_fact(m), " "), "a memory needs text", id="update-blank"),
    # links
    pytest.param(lambda m: m.link(a_fact(m), a_fact(m)), "cannot be linked to itself", id="self"),
    pytest.param(lambda m: m.graph(a_fact(m), depth=11), "whole number from 0 to 10, not 11", id="deep"),
    pytest.param(lambda m: m.graph(a_fact(m), types=["loves"]), r"no link types \['loves'\]; there are", id="loves"),
    # episodes
    pytest.param(lambda m: m.add_episode("s1", "dream", "x"), "no kind 'dream'; there are", id="kind"),
    pytest.param(lambda m: m.add_episode("s1", "pivot", ""), "a memory needs text", id="title"),
    pytest.param(lambda m: m.add_episode("s1", "pivot", "x", turns=(1, 9)), "turns must lie within 1 to 1", id="turns"),
    pytest.param(lambda m: m.add_episode("s1", "pivot", "x", valence=2), "from -1 to 1, not 2", id="valence"),
    # anew
    pytest.param(lambda m: m.regenerate("s1", 9), "a message number from 1 to 1, not 9", id="first"),
    pytest.param(lambda m: m.regenerate("s1", prompts={"nope": "x"}), r"no prompts \['nope'\]; there are", id="prompt"),
    # forgetting
    pytest.param(lambda m: m.forget(), "say what to forget", id="nothing"),
    pytest.param(lambda m: m.forget(text="x"), "at least 2 characters", id="short"),
    pytest.param(lambda m: m.forget(text="tea", fact_id="f"), "one thing at a time", id="two-things"),
    pytest.param(lambda m: m.forget(message_id="m", user_id="u"), "one thing at a time", id="message-of-a-user"),
    pytest.param(lambda m: m.forget(session_id="s1", first=1), "given together", id="half-a-span"),
    pytest.param(lambda m: m.forget(first=1, last=2), "with the session_id they count in", id="span-of-nothing"),
]


@pytest.mark.parametrize(("verb", "words"), BAD)
def test_a_mistake_is_refused_with_advice(memory, verb, words):
    """And what is known stays as it was."""
    before = memory.facts(), memory.episodes(), memory.messages("s1")
    with pytest.raises(InputError, match=words):
        verb(memory)
    assert (memory.facts(), memory.episodes(), memory.messages("s1")) == before
    assert memory.receipts() == []


@pytest.mark.parametrize(
    "verb",
    [
        pytest.param(lambda m: m.fact("nowhere"), id="fact"),
        pytest.param(lambda m: m.history("nowhere"), id="history"),
        pytest.param(lambda m: m.why("nowhere"), id="why"),
        pytest.param(lambda m: m.update("nowhere", "x"), id="update"),
        pytest.param(lambda m: m.promote("nowhere"), id="promote"),
        pytest.param(lambda m: m.link("nowhere", a_fact(m)), id="link"),
        pytest.param(lambda m: m.graph("nowhere"), id="graph"),
        pytest.param(lambda m: m.add_episode("nowhere", "pivot", "x"), id="episode"),
        pytest.param(lambda m: m.arc("nowhere"), id="arc"),
        pytest.param(lambda m: m.regenerate("nowhere"), id="regenerate"),
        pytest.param(lambda m: m.accept("nowhere"), id="accept"),
        pytest.param(lambda m: m.roll_back("nowhere"), id="roll-back"),
        pytest.param(lambda m: m.forget(message_id="nowhere"), id="forget-message"),
        pytest.param(lambda m: m.forget(session_id="nowhere"), id="forget-session"),
        pytest.param(lambda m: m.forget(fact_id="nowhere"), id="forget-fact"),
        pytest.param(lambda m: m.forget(text="tea", session_id="nowhere"), id="forget-text-there"),
    ],
)
def test_what_is_not_there_is_not_found(memory, verb):
    """By name."""
    with pytest.raises(NotFound, match="nowhere"):
        verb(memory)
    assert memory.receipts() == []


@pytest.mark.parametrize(
    "target",
    [{"text": "tea", "user_id": "nobody"}, {"user_id": "nobody"}, {"session_id": "s1", "first": 8, "last": 9}],
)
def test_forgetting_nothing_changes_nothing(memory, target):
    """No error, for it is forgotten indeed; what is known of others stays."""
    memory.forget(**target)
    assert len(memory.facts()) == 2
    assert memory.verify().ok
