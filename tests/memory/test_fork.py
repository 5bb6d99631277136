"""A memory that was opened before `os.fork`: the other process is told what to do, and harms nothing."""

import inspect
import subprocess
import sys

import pytest

from lamina import Memory
from tests.places import Place
from tests.waiting import CEILING

_SCRIPT = """
import inspect, os, sys
from lamina import LaminaError, Memory

place, how, verbs = sys.argv[1], sys.argv[2], sys.argv[3:]


def refused(call):
    try:
        call()
    except LaminaError as error:
        return "before this process was forked" in str(error)
    return False


def child(memory):
    wrong = [verb for verb in verbs if not refused(lambda: getattr(memory, verb)(*["x"] * needed[verb]))]
    memory.close()
    memory.close()
    with Memory(place) as own:
        own.add("From the child.", user_id="u")
        own.settle()
    print("answered:", wrong, flush=True)


def needed_arguments(verb):
    parameters = list(inspect.signature(getattr(Memory, verb)).parameters.values())[1:]
    return sum(one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD for one in parameters)


needed = {verb: needed_arguments(verb) for verb in verbs}
memory = Memory(place)
memory.add("From the parent.", user_id="u")
memory.settle()
pid = os.fork()
if pid == 0:
    child(memory)
    if how == "at once":
        os._exit(0)
    sys.exit(0)  # with all that is done at the end of a process
_, status = os.waitpid(pid, 0)
memory.add("Again from the parent.", user_id="u")
memory.settle()
said = [message.text for message in memory.messages(memory.sessions("u")[0].id)]
print("child", status, "whole", memory.verify().ok, said, flush=True)
memory.close()
"""


@pytest.mark.parametrize("how", ["at once", "in order"])
@pytest.mark.also_postgres
def test_a_forked_process_is_told_to_open_its_own(place: Place, how: str) -> None:
    """Every verb says so at once, closing works, and the memory of the parent is as before."""
    verbs = [name for name, verb in inspect.getmembers(Memory, inspect.isfunction) if not name.startswith("_")]
    verbs.remove("close")
    told = subprocess.run(
        [sys.executable, "-c", _SCRIPT, str(place()), how, *verbs],
        capture_output=True,
        text=True,
        timeout=CEILING,
        check=True,
    )
    assert told.stdout.splitlines() == [
        "answered: []",
        "child 0 whole True ['From the parent.', 'From the child.', 'Again from the parent.']",
    ], told.stderr


_AWAITED = """
import asyncio, os, sys
from lamina import AsyncMemory, LaminaError


async def main():
    async with AsyncMemory(sys.argv[1], worker=False) as memory:
        await memory.add("From the parent.", user_id="u")
        if (pid := os.fork()) == 0:
            for verb in (memory.add("From the child.", user_id="u"), memory.users(), memory.settle(), memory.verify()):
                try:
                    await verb
                except LaminaError as error:
                    print("forked" in str(error), flush=True)
            await memory.close()
            os._exit(0)
        print("child", os.waitpid(pid, 0)[1], await memory.users(), flush=True)


asyncio.run(main())
"""


@pytest.mark.also_postgres
def test_so_is_one_that_awaits(place: Place) -> None:
    """The store says so, whoever asks it."""
    told = subprocess.run(
        [sys.executable, "-c", _AWAITED, str(place())], capture_output=True, text=True, timeout=CEILING, check=True
    )
    assert told.stdout.splitlines() == ["True"] * 4 + ["child 0 ['u']"], told.stderr
