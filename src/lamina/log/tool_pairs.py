"""Tool pairs: a tool call and its results stay together, wherever the log is cut."""

from collections.abc import Iterable, Sequence

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
    return _join(messages, reach)


def _open(messages: Sequence[Message], waiting: Iterable[int]) -> list[int]:
    """Those of the calls without a result whose result may still come: they are of the newest turn."""
    return [index for index in waiting if messages[index].turn == messages[-1].turn]


def _join(messages: Sequence[Message], reach: Sequence[int]) -> list[list[Message]]:
    result, start = [], 0
    while start < len(messages):
        end, index = reach[start], start
        while index <= end:
            end = max(end, reach[index])
            index += 1
        result.append(list(messages[start : end + 1]))
        start = end + 1
    return result


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
