"""Turns that say the same: of the recent ones the newest is shown, with how often it was said."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from lamina.context.items import Item
from lamina.knowledge.fact_words import spoken_words
from lamina.values.message import Message

_MIN_LENGTH = 12  # characters of what means the same wherever it is said; "yes" and "go on" do not
_PLAIN = frozenset(("role", "content", "name"))

Key = tuple[tuple[str, str | None, str], ...]  # of each message: role, name, words


def collapse(turns: Sequence[Item], count: Callable[[str], int]) -> tuple[list[Item], list[tuple[Item, str]]]:
    """Recent turns, newest first, those that say the same as one; and those that it stands for, with the reason.

    What is required stays as it was. A turn without a reply is one with a later turn that asks the same.
    """
    shown: list[tuple[Item, Key]] = []
    equal: list[list[Message]] = []  # of each that is shown, the messages of turns that say the same
    dropped: list[tuple[Item, str]] = []
    for turn in turns:
        place = None if turn.required else _find(shown, key := _key(turn.messages))
        if place is None:
            shown.append((turn, () if turn.required else key))
            equal.append([])
        else:
            equal[place] += turn.messages
            dropped.append((turn, f"says the same as message {shown[place][0].messages[0].seq}, which has the count"))
    return [_with_count(turn, others, count) for (turn, _), others in zip(shown, equal, strict=True)], dropped


def _find(shown: Sequence[tuple[Item, Key]], key: Key) -> int | None:
    """Where a later turn says the same: any, or the next one if the words mean little on their own."""
    if not key:
        return None
    lone = len(key[0][2]) < _MIN_LENGTH
    for place, (_, other) in enumerate(shown):
        if other[: len(key)] == key and (not lone or place == len(shown) - 1):
            return place
    return None


def _key(messages: Sequence[Message]) -> Key:
    """By what turns are compared; () if one of their messages is more than text."""
    found = tuple((one.role, one.name, _words(one.text)) for one in messages if _is_plain(one))
    return found if len(found) == len(messages) else ()


def _words(text: str) -> str:
    """What is compared: of one line its words, as for hits; of several, where spaces may count, the text as it is."""
    stripped = text.strip()
    return stripped if "\n" in stripped else spoken_words(stripped)


def _is_plain(message: Message) -> bool:
    more = any(value for name, value in message.body.items() if name not in _PLAIN)
    return not more and not message.forgotten and isinstance(message.content, str) and bool(message.text.strip())


def _with_count(turn: Item, equal: Sequence[Message], count: Callable[[str], int]) -> Item:
    if not equal:
        return turn
    first = turn.messages[0]
    words = _words(first.text)
    times = f" [said {1 + sum(one.role == first.role and _words(one.text) == words for one in equal)} times]"
    return replace(turn, equal=tuple(reversed(equal)), times=times, tokens=turn.tokens + count(times))


def shown_messages(turn: Item) -> tuple[Message, ...]:
    """The messages of a turn, the first with how often it was said."""
    if not turn.times:
        return turn.messages
    first, *others = turn.messages
    counted = {**first.body, "content": f"{first.content}{turn.times}"}
    return (replace(first, text=f"{first.text}{turn.times}", body=counted), *others)
