"""What is left of something that was erased: how its placeholder is known."""

from lamina.values.fact import Episode
from lamina.values.message import Message

FORGOTTEN = "[forgotten]"
DROPPED = "[dropped]"  # by a retention rule: what was derived from it stays


def is_dropped(message: Message) -> bool:
    return message.body.get("content") == DROPPED


def is_placeholder(message: Message) -> bool:
    """Whether it stands for messages that were lost before an import; the summary of them says more."""
    return is_dropped(message) and message.metadata.get("imported") == "summary"


def is_emptied(message: Message) -> bool:
    """Whether nothing but a placeholder is left of a message, here or where it was imported from."""
    return message.body.get("content") in (DROPPED, FORGOTTEN)


def says_something(message: Message) -> bool:
    """Whether there are words in it that are its own."""
    return bool(message.text.strip()) and not is_emptied(message)


def is_emptied_episode(episode: Episode) -> bool:
    return episode.title == episode.summary == FORGOTTEN
