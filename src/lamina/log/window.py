"""The window: the newest messages or turns of a session, with tool pairs whole."""

from collections.abc import Iterable, Sequence
from typing import Literal

from lamina.log.tool_pairs import groups
from lamina.protocols.store import Reach
from lamina.values.message import Message


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


def newest_of(whole: Sequence[list[Message]], unit: Literal["messages", "turns"], size: int) -> list[list[Message]]:
    """The newest of some units, oldest first, until they hold `size` messages or turns."""
    taken: list[list[Message]] = []
    count = 0
    for item in reversed(whole):
        if count >= size:
            break
        taken.append(item)
        count += len(item) if unit == "messages" else item[-1].turn - item[0].turn + 1
    return taken[::-1]


def take_back(newest_first: Iterable[Message], reach: Reach, cursor: int) -> list[Message]:
    """The newest messages as far back as `reach` says, oldest first, beginning with a whole turn.

    A result whose call is further back is followed to its call, as far as the tokens reach.
    """
    taken: list[Message] = []
    unmet: set[str] = set()  # calls whose results were taken
    tokens = turns = 0
    done = False
    for message in newest_first:
        begins_turn = not taken or taken[-1].turn != message.turn
        if begins_turn:
            if done:
                break
            turns += 1
        taken.append(message)
        unmet.difference_update(message.calls)
        if message.answers is not None:
            unmet.add(message.answers)
        tokens += message.tokens
        near = not reach.fill and not unmet and len(taken) >= reach.messages and turns >= reach.turns
        enough = tokens > reach.tokens or (near and (not reach.back_to_cursor or message.seq <= cursor + 1))
        done = enough and len(taken) >= reach.min_messages
    return taken[::-1]
