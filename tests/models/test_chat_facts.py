"""Facts in chat messages of the weak categories: goals, procedures, decisions, rules."""

from benchmarks.facts import FACTS, score


def test_chat_messages():
    """Facts in chat messages are found, and idle ones give hardly any."""
    result = score(FACTS / "chat.jsonl")
    assert result.precision() >= 0.95
    assert result.recall() >= 0.86


def test_goals_and_procedures():
    """Goals and procedures are found in many ways of telling them."""
    result = score(FACTS / "chat.jsonl")
    assert result.recall("goal") >= 0.85
    assert result.recall("procedure") >= 0.85
