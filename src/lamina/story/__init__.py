"""A bundled conversation of eight months, to be replayed and asked about."""

import json
from collections.abc import Iterator
from importlib import resources
from typing import Any

USER = "mara"


def story() -> Iterator[dict[str, Any]]:
    """The conversation, one message a line; each with the id of its session."""
    return _lines("conversation.jsonl")


def sessions() -> dict[str, list[dict[str, Any]]]:
    """The conversation by session, in order."""
    found: dict[str, list[dict[str, Any]]] = {}
    for message in story():
        found.setdefault(message.pop("session_id"), []).append(message)
    return found


def questions() -> Iterator[dict[str, Any]]:
    """Questions whose answers lie far back, with the messages that hold them."""
    return _lines("questions.jsonl")


def _lines(name: str) -> Iterator[dict[str, Any]]:
    text = resources.files(__name__).joinpath(name).read_text("utf-8")
    for line in text.splitlines():
        yield json.loads(line)
