"""Windows over the log: what must stay together, and where it may be cut."""

from collections.abc import Iterable, Sequence
from typing import Literal

from lamina.protocols.store import Reach
from lamina.values.message import Message


def groups(messages: Sequence[Message]) -> list[list[Message]]:
    """Messages in order, a tool call together with its results and all between; never to be separated.

    A call of the newest turn that has no result yet holds everything after it: its result may still come.
    """
    reach = list(range(len(messages)))
    made: dict[str, int] = {}  # ids are reused by small models: a result answers the newest call before it
    waiting: dict[str, int] = {}
    for index, message in enumerate(messages):
        for call in message.calls:
            made[call] = waiting[call] = index
        if message.answers is not None and message.answers in made:
            reach[made[message.answers]] = index
            waiting.pop(message.answers, None)
    for index in _open(messages, waiting.values()):
        reach[index] = len(messages) - 1
    return _joined(messages, reach)


def _open(messages: Sequence[Message], waiting: Iterable[int]) -> list[int]:
    """Those of the calls without a result whose result may still come: they are of the newest turn."""
    return [index for index in waiting if messages[index].turn == messages[-1].turn]


def _joined(messages: Sequence[Message], reach: Sequence[int]) -> list[list[Message]]:
    result, start = [], 0
    while start < len(messages):
        end, index = reach[start], start
        while index <= end:
            end = max(end, reach[index])
            index += 1
        result.append(list(messages[start : end + 1]))
        start = end + 1
    return result


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


def safe_end(messages: Sequence[Message], last: int) -> int:
    """The furthest message up to `last` behind which the log may be cut without separating a tool group."""
    end = messages[0].seq - 1
    for group in groups(messages):
        if group[-1].seq > last or (group[-1] is messages[-1] and _waits(group)):
            break
        end = group[-1].seq
    return end


def _waits(group: Sequence[Message]) -> bool:
    """Whether a call in the newest group may still get its result."""
    waiting: dict[str, int] = {}
    for index, message in enumerate(group):
        waiting |= dict.fromkeys(message.calls, index)
        if message.answers is not None:
            waiting.pop(message.answers, None)
    return bool(_open(group, waiting.values()))


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
