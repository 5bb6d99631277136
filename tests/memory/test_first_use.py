"""The first use of a memory in a process: vocabulary, vectors and grammars are read beside the event loop."""

import json
import os
import subprocess
import sys

import pytest

# Each verb is awaited in turn, the first ones in this process; printed is the longest stretch in which the loop was
# blocked by each, in moments: the time of a fixed piece of work on this machine.
PROBE = """
import asyncio, json, sys, threading
from lamina import AsyncMemory
from lamina.testing.stalls import moment, stalls

memory = AsyncMemory("a.db")
verbs = {
    "open": lambda: memory.open(),
    "add": lambda: memory.add("I live in Ghent, I prefer tea, and the staging server is called heron.", user_id="alex"),
    "context": lambda: memory.context("where do I live?", user_id="alex"),
    "search": lambda: memory.search("what do I prefer?", user_id="alex"),
    "settle": lambda: memory.settle(),
}
loop = asyncio.new_event_loop()
thread = threading.Thread(target=loop.run_forever)
thread.start()
run = lambda work: asyncio.run_coroutine_threadsafe(work, loop).result()
unit, worst = moment(), {}
for name in ("open", *sys.argv[1].split(",")):
    with stalls(loop) as found:
        run(verbs[name]())
    worst[name] = [found.worst.seconds / unit, found.worst.where]
run(memory.close())
loop.call_soon_threadsafe(loop.stop)
thread.join()
print(json.dumps(worst))
"""
MOMENTS = 12  # at most; reading the vocabulary takes about 60, the models' code 40, the grammars 35


def probe(folder, *verbs):
    plain = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    done = subprocess.run(
        [sys.executable, "-c", PROBE, ",".join(verbs)],
        cwd=folder, env=plain, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "verbs",
    [
        pytest.param(("add", "context", "search", "settle"), id="add-first"),
        pytest.param(("context", "search", "add", "settle"), id="context-first"),
        pytest.param(("search", "context", "add", "settle"), id="search-first"),
    ],
)
def test_the_first_verbs_of_a_process_do_not_block_the_loop(verbs, tmp_path):
    """Whichever verb comes first, on a new file and on one that has something in it, others have their turn."""
    for _ in range(2):
        for name, (moments, where) in probe(tmp_path, *verbs).items():
            assert moments < MOMENTS, f"{name} blocks the loop for {moments:.0f} moments\n{where}"
