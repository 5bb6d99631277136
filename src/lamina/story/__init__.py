"""A bundled conversation of eight months, to be replayed and asked about."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from typing import Any

USER = "mara"
ENDLESS = "mara-in-one"  # the user, and the session, with everything in one long session
CARD = "0000 0000 0000 4242"  # a number that Mara wants to have forgotten
TITLES = {
    "2025-03-03-kickoff": "The first day of the tide app",
    "2025-03-11-database": "SQLite is locked, so PostgreSQL",
    "2025-03-22-knee": "A torn meniscus, and physio",
    "2025-04-08-harbour-pilot": "A first harbour tries it",
    "2025-04-24-pricing": "What it should cost",
    "2025-05-06-datum-bug": "Two metres off: the datum bug",
    "2025-05-19-quick-one": "Nuts, in Dutch",
    "2025-06-05-rust-decoder": "The buoy decoder, in Rust",
    "2025-06-29-moving-plans": "A new job, and plans to move",
    "2025-07-21-boxes": "Packing boxes",
    "2025-08-14-utrecht": "Good morning from Utrecht",
    "2025-09-08-after-wedding": "After the wedding",
    "2025-09-30-launch-week": "Launch week",
    "2025-10-27-looking-back": "Looking back, and forward",
    ENDLESS: "Eight months in one session",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One session of the demo: whose it is, what it is called, what is said in it, and whether it ends."""

    user_id: str
    session_id: str
    title: str
    messages: tuple[dict[str, Any], ...]
    ends: bool


def parts() -> list[Part]:
    """All of the demo: the conversation in its sessions, then the same as one long session of another user."""
    found = [
        Part(user_id=USER, session_id=session_id, title=TITLES[session_id], messages=tuple(messages), ends=True)
        for session_id, messages in sessions().items()
    ]
    whole = tuple({**message, "id": f"one-{message['id']}"} for part in found for message in part.messages)
    return [*found, Part(user_id=ENDLESS, session_id=ENDLESS, title=TITLES[ENDLESS], messages=whole, ends=False)]


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
