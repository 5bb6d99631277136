"""What a context costs beside the least that it could: `python -m benchmarks.contexts [--sizes 1000] [--budget 2000]`.

The least is bare: one query for the messages that are shown, one product of the user's vectors with that of the
question, and one exact count of the tokens of the final text. Both are measured in turns, in CPU time, after a few
contexts that warm the caches. `--facts` leaves facts on: this conversation states one in every message of the user.
"""

import argparse
import json
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.run import conversation
from lamina import PROFILES, Memory
from lamina.models.embeddings.static import StaticEmbedder
from lamina.models.token_counters import ExactCounter
from lamina.search.vectors import one_thread, unpack
from lamina.values.manifest import Context

QUESTIONS = (
    "where is the garden review?",
    "what did the recipe plan cost?",
    "when do we send the short version of the contract?",
    "which numbers looked wrong?",
    "did I move the invoice review to Oslo?",
    "how many of the router numbers were checked again?",
)
ROUNDS = 12


class Bare:
    """The three things that no context can do without."""

    def __init__(self, path: Path, user_id: str) -> None:
        self._connection = sqlite3.connect(path)
        rows = self._connection.execute("select vector from vectors where user_id = ?", (user_id,)).fetchall()
        self._embedder, self._counter = StaticEmbedder(), ExactCounter()
        self._vectors = unpack([row[0] for row in rows], self._embedder.dimensions)

    def run(self, question: str, context: Context) -> None:
        ids = [key for item in context.manifest.items for key in item.message_ids]
        marks = ",".join("?" * len(ids))
        rows = self._connection.execute(f"select id, body, created_at from messages where id in ({marks})", ids)
        texts = {key: json.loads(body)["content"] for key, body, _ in rows.fetchall()}
        vector = np.asarray(self._embedder.vectors([question])[0], dtype=np.float32)
        with one_thread():
            values = self._vectors @ vector
        order = np.argpartition(-values, min(200, len(self._vectors) - 1))
        if len(order) and texts:
            self._counter.count(context.text)


def cpu_ms(work: Callable[..., Any], *given: Any, **named: Any) -> tuple[float, Any]:
    started = time.process_time()
    done = work(*given, **named)
    return 1000 * (time.process_time() - started), done


def measure(path: Path, size: int, budget: int, *, facts: bool) -> dict[str, float]:
    profile = PROFILES["default"] if facts else PROFILES["default"].but(facts=False)
    with Memory(path, worker=False, profile=profile) as memory:
        for first in range(0, size, 10_000):
            memory.add(list(conversation(size))[first : first + 10_000], user_id="u", session_id="s")
        settled, _ = cpu_ms(memory.settle)
    ours, bare, opened = [], [], 0.0
    floor = Bare(path, "u")
    with Memory(path, worker=False) as memory:
        for number in range(ROUNDS * len(QUESTIONS)):
            question = QUESTIONS[number % len(QUESTIONS)]
            took, context = cpu_ms(memory.context, question, user_id="u", session_id="other", budget=budget)
            if not number:
                opened = took
            if number >= len(QUESTIONS):
                ours.append(took)
                bare.append(cpu_ms(floor.run, question, context)[0])
    return {
        "messages": size,
        "settle_ms": settled / size,
        "first_ms": opened,
        "context_ms": statistics.median(ours),
        "bare_ms": statistics.median(bare),
        "ratio": statistics.median(ours) / statistics.median(bare),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--budget", type=int, default=2_000)
    parser.add_argument("--facts", action="store_true")
    chosen = parser.parse_args()
    print(f"{'messages':>9} {'settle/msg':>11} {'first':>9} {'context':>9} {'bare':>9} {'ratio':>6}   (CPU ms)")
    for size in chosen.sizes:
        with tempfile.TemporaryDirectory() as folder:
            row = measure(Path(folder) / "bench.db", size, chosen.budget, facts=chosen.facts)
        print(
            f"{size:>9,} {row['settle_ms']:>11.2f} {row['first_ms']:>9.1f} {row['context_ms']:>9.2f} "
            f"{row['bare_ms']:>9.2f} {row['ratio']:>6.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
