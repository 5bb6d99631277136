"""Messages and summaries made by hand, for tables."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from lamina.values.message import Message, Span
from lamina.values.summary import Recipe, Summary

START = datetime(2025, 3, 1, 9, 0, tzinfo=UTC)


def log(roles: str, *, tokens: int | Sequence[int] = 10, first: int = 1, turn: int = 0) -> list[Message]:
    """Messages from letters: u user, a assistant, s system; `A1` calls tool 1 and `T1` is its result.

    `A12` calls 1 and 2 at once. Spaces are for reading.
    """
    messages: list[Message] = []
    for word in _words(roles):
        letter, digits = word[0], word[1:]
        turn += letter == "u"
        seq = first + len(messages)
        messages.append(
            message(
                seq,
                {"u": "user", "a": "assistant", "s": "system", "A": "assistant", "T": "tool"}[letter],
                turn=turn,
                tokens=tokens if isinstance(tokens, int) else tokens[len(messages)],
                calls=tuple(digits) if letter == "A" else (),
                answers=digits if letter == "T" else None,
            )
        )
    return messages


def _words(roles: str) -> list[str]:
    found: list[str] = []
    for character in roles.replace(" ", ""):
        if character.isdigit():
            found[-1] += character
        else:
            found.append(character)
    return found


def message(
    seq: int,
    role: Any = "user",
    text: str | None = None,
    *,
    turn: int = 1,
    tokens: int = 10,
    calls: tuple[str, ...] = (),
    answers: str | None = None,
    name: str | None = None,
) -> Message:
    said = f"text {seq}" if text is None else text
    body: dict[str, Any] = {"role": role, "content": said}
    if calls:
        body["tool_calls"] = [{"id": one, "type": "function", "function": {"name": "f"}} for one in calls]
    if answers is not None:
        body["tool_call_id"] = answers
    if name is not None:
        body["name"] = name
    return Message(
        id=f"m{seq}",
        session_id="s1",
        seq=seq,
        turn=turn,
        role=role,
        body=body,
        created_at=START + timedelta(minutes=seq),
        metadata={},
        model=None,
        tokens=tokens,
        text=said,
        digest="",
        calls=calls,
        answers=answers,
    )


def summary(first: int, last: int, *, kind: Any = "chunk", layer: int = 1, tokens: int = 50, text: str = "") -> Summary:
    return Summary(
        id=f"sum{first}-{last}",
        user_id="ann",
        session_id="s1",
        kind=kind,
        layer=layer,
        version=1,
        covers=Span(first=first, last=last),
        turns=None,
        reads=None,
        inputs=(),
        text=text or f"summary of {first} to {last}",
        topics=(),
        tokens=tokens,
        recipe=Recipe(profile="p", kind="chunk", model="m"),
        updated_at=START,
        created_at=START,
    )


def words(text: str) -> int:
    """A token for every word."""
    return len(text.split())
