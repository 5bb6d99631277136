"""Texts with a fixed form."""

import pytest

from lamina.folding import layouts
from tests.messages import START, log, message

TITLE = "# Medium-Term Memory"


def test_framed_and_unframed() -> None:
    """Title and footer come off again, whatever the body says."""
    body = "## A\n- one\n\n---\n*Updated: yesterday | Version: 9*\n\nmore"
    text = layouts.frame(TITLE, body, START, 3)
    assert text.startswith(f"{TITLE}\n\n## A")
    assert text.endswith("\n\n---\n*Updated: 2025-03-01T09:00:00Z | Version: 3*")
    assert layouts.unframe(TITLE, text) == body
    assert layouts.frame(None, body, START, 3) == body == layouts.unframe(None, body)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        pytest.param("one", "two", "Earlier: one\n\nThen: two", id="two"),
        pytest.param("Earlier: a\n\nThen: b", "c", "Earlier: a\nb\n\nThen: c", id="again"),
        pytest.param("a", "Earlier: b", "Earlier: a\n\nThen: b", id="both-merged-before"),
        pytest.param("- User: a\n\nThen:User: b", "c", "Earlier: - User: a\nUser: b\n\nThen: c", id="label-inside"),
    ],
)
def test_merged(first: str, second: str, expected: str) -> None:
    """`Earlier: … Then: …`, never nested."""
    assert layouts.merge_chunks(first, second) == expected


def test_merged_topics() -> None:
    """Each topic once, whatever its case, in order."""
    assert layouts.merge_topics(("SQL", "tea"), ("sql", "Tea", "dogs"), ()) == ("SQL", "tea", "dogs")


def test_merged_topics_stay_few() -> None:
    """Topics that recur stay, and newer ones find a place, however often summaries are merged."""
    topics: tuple[str, ...] = ("databases",)
    for number in range(40):
        topics = layouts.merge_topics(topics, ("databases", f"topic {number}", f"matter {number}"))
        assert len(topics) <= 12
    assert "databases" in topics
    assert "topic 39" in topics


@pytest.mark.parametrize(
    ("template", "values", "expected"),
    [
        pytest.param("a [X] b", {"X": "1"}, "a 1 b", id="one"),
        pytest.param("[X] [Y]", {"X": "[Y]", "Y": "2"}, "[Y] 2", id="what-is-filled-in-is-not-filled-again"),
        pytest.param("[X] [x] [UNKNOWN]", {"X": r"\1 \g<0>"}, r"\1 \g<0> [x] [UNKNOWN]", id="no-escapes"),
    ],
)
def test_filled(template: str, values: dict[str, str], expected: str) -> None:
    """Placeholders are filled once, with the values as they are."""
    assert layouts.fill(template, values) == expected


def test_numbered() -> None:
    """Messages with number and speaker."""
    said = [message(3, text="hi"), message(4, "assistant", "yes", name="Bot")]
    assert layouts.number_messages(said) == "Message 3 (User): hi\nMessage 4 (Bot): yes"


@pytest.mark.parametrize(
    ("existing", "roles", "expected"),
    [
        pytest.param(None, "u a", "Turn 1:\nUser: text 1\nAssistant: text 2", id="one-turn"),
        pytest.param("", "u a", "Turn 1:\nUser: text 1\nAssistant: text 2", id="empty-is-none"),
        pytest.param(
            "Old.", "u a u a", "Turn 1:\nUser: text 1\nAssistant: text 2\n\nTurn 2:\nUser: text 3\nAssistant: text 4",
            id="two-turns",
        ),
        pytest.param(
            None, "s u a a", "Turn 1:\nSystem: text 1\n\nTurn 2:\nUser: text 2\nAssistant: text 3\nAssistant: text 4",
            id="before-the-first-turn",
        ),
        pytest.param(None, "", "", id="no-turns"),
    ],
)  # fmt: skip
def test_turns_input(existing: str | None, roles: str, expected: str) -> None:
    """The exact input of document 003."""
    assert layouts.turns_input(existing, log(roles)) == (
        f"=== EXISTING_SUMMARY ===\n{existing or 'NONE'}\n=== END_EXISTING_SUMMARY ===\n\n"
        f"=== NEW_TURNS ===\n{expected}\n=== END_NEW_TURNS ==="
    )
