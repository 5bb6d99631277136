"""The window: the newest messages or turns of a session, with tool pairs whole."""

from collections.abc import Iterable, Sequence
from typing import Literal

from lamina.log.chain import closes
from lamina.log.tool_pairs import groups
from lamina.protocols.store import Reach
from lamina.values.message import Message

MOST_OPEN = 10  # turns without a reply that come on top of those that a window has; a log may have nothing else


class _Turns:
    """Counts turns, newest first: those that have their reply; of the others only what does not come on top."""

    def __init__(self, most_open: int = MOST_OPEN) -> None:
        self._most_open = most_open
        self._answered = self._open = 0
        self._known: int | None = None  # the turn that was counted last

    @property
    def count(self) -> int:
        return self._answered + max(0, self._open - self._most_open)

    def add(self, message: Message) -> None:
        """The next older message; the newest of a turn that is not the system's tells whether it has its reply."""
        if message.turn == self._known or message.role in {"system", "developer"}:
            return
        self._known = message.turn
        is_answered = closes(message.role, bool(message.calls), was=True)
        self._answered += is_answered
        self._open += not is_answered


def units(messages: Sequence[Message], unit: Literal["messages", "turns"]) -> list[list[Message]]:
    """What a window counts: messages (tool groups whole), or turns (joined where a tool group crosses them)."""
    if unit == "messages":
        return groups(messages)
    turns: list[list[Message]] = []
    for group in groups(messages):
        if turns and turns[-1][-1].turn == group[0].turn:
            turns[-1].extend(group)
        else:
            turns.append(group)
    return turns


def newest_units(messages: Sequence[Message], unit: Literal["messages", "turns"], size: int) -> list[list[Message]]:
    """The units of the window, oldest first: the newest `size` messages or turns, and what must stay with them."""
    return newest_of(units(messages, unit), unit, size)


def newest_of(
    whole: Sequence[list[Message]], unit: Literal["messages", "turns"], size: int, *, most_open: int = MOST_OPEN
) -> list[list[Message]]:
    """The newest of some units, oldest first, until they hold `size` messages, or turns with their replies.

    Turns without a reply come on top, up to `most_open` of them.
    """
    taken: list[list[Message]] = []
    turns, messages = _Turns(most_open), 0
    for item in reversed(whole):
        if (messages if unit == "messages" else turns.count) >= size:
            break
        taken.append(item)
        messages += len(item)
        for message in reversed(item):
            turns.add(message)
    return taken[::-1]


def take_back(newest_first: Iterable[Message], reach: Reach, cursor: int) -> list[Message]:
    """The newest messages as far back as `reach` says, oldest first, beginning with a whole turn.

    A result whose call is further back is followed to its call, as far as the tokens reach.
    """
    taken: list[Message] = []
    unmet: set[str] = set()  # calls whose results were taken
    turns, tokens = _Turns(), 0
    done = False
    for message in newest_first:
        if done and taken[-1].turn != message.turn:
            break
        taken.append(message)
        turns.add(message)
        unmet.difference_update(message.calls)
        if message.answers is not None:
            unmet.add(message.answers)
        tokens += message.tokens
        near = not reach.fill and not unmet and len(taken) >= reach.messages and turns.count >= reach.turns
        enough = tokens > reach.tokens or (near and (not reach.back_to_cursor or message.seq <= cursor + 1))
        done = enough and len(taken) >= reach.min_messages
    return taken[::-1]
