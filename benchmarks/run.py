"""`make bench`: ratios measured in one run, a table, and a plot of each in benchmarks/results.

A timing alone says little on a shared machine. Every figure here is a ratio against something measured in the same run:
appends against bare sqlite3 transactions that write the same row and the same row of words; contexts against the
context of the smallest history.
"""

import argparse
import json
import platform
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot as plt

from lamina import Memory
from lamina.language.words import terms

mpl.use("Agg")

RESULTS = Path(__file__).parent / "results"
SINGLES = 2_000
BATCH = 10_000
HISTORIES = (1_000, 10_000, 100_000)
CONTEXTS = 200
START = datetime(2025, 1, 1, tzinfo=UTC)

_SCHEMA = """
create table sessions (id text primary key, messages integer, digest blob);
create table messages (place integer primary key, tenant text, session_id text, seq integer, turn integer, id text,
  role text, body text, created_at text, metadata text, model text, tokens integer, salt blob, leaf blob, digest blob);
create unique index messages_by_seq on messages (tenant, session_id, seq);
create unique index messages_by_id on messages (tenant, id);
create virtual table words using fts5 (owner, body, content = '', tokenize = 'unicode61 remove_diacritics 0');
"""


def conversation(number: int) -> Iterator[dict[str, Any]]:
    """A user and an assistant talking, of the usual lengths; no two messages alike."""
    places = ("Porto", "Utrecht", "Oslo", "Lyon", "Ghent", "Turin", "Cork", "Graz")
    things = ("parser", "invoice", "garden", "deadline", "recipe", "dataset", "contract", "router")
    for index in range(number):
        place, thing = places[index * 7 % 8], things[index * 5 % 8]
        if index % 2 == 0:
            text = f"For step {index} I moved the {thing} review to {place}, since the old plan cost {index} euros."
        else:
            text = (
                f"Noted: the {thing} review is in {place} now. I would send the short version of item {index} "
                f"on Friday, then check the numbers again, because {index % 97} of them still looked wrong. Shall I?"
            )
        role = "user" if index % 2 == 0 else "assistant"
        yield {"role": role, "content": text, "created_at": START + timedelta(minutes=index)}


def p50(durations: list[float]) -> float:
    return statistics.median(durations)


def timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


class Raw:
    """Bare sqlite3 that writes the same row, the same row of words and one row of counters."""

    def __init__(self, path: Path) -> None:
        self.connection = sqlite3.connect(path, isolation_level=None)
        for pragma in ("journal_mode = wal", "synchronous = normal", "secure_delete = on"):
            self.connection.execute(f"pragma {pragma}")
        self.connection.executescript(_SCHEMA)
        self.connection.execute("insert into sessions values ('s', 0, x'00')")
        self.place = 0

    def rows(self, messages: list[dict[str, Any]]) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
        """The rows, made beforehand: only SQLite's own work is timed."""
        rows, words = [], []
        for message in messages:
            self.place += 1
            body = json.dumps({"role": message["role"], "content": message["content"]}, ensure_ascii=False)
            at = message["created_at"].isoformat()
            ident = f"msg_{self.place:032d}"
            row = (self.place, "default", "s", self.place, self.place // 2, ident, message["role"], body, at, "{}")
            rows.append((*row, None, 30, bytes(16), bytes(32), bytes(32)))
            words.append((self.place, "o0123456789abcdef0123", " ".join(terms(message["content"]))))
        return rows, words

    def write(self, rows: list[tuple[Any, ...]], words: list[tuple[Any, ...]]) -> None:
        self.connection.execute("begin immediate")
        self.connection.executemany("insert into messages values (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", rows)
        self.connection.executemany("insert into words (rowid, owner, body) values (?,?,?)", words)
        self.connection.execute("update sessions set messages = ?, digest = ? where id = 's'", (rows[-1][0], bytes(32)))
        self.connection.execute("commit")


def appends(folder: Path) -> dict[str, float]:
    """Single and batch appends against bare sqlite3, in turns so that both meet the same machine."""
    raw = Raw(folder / "raw.db")
    messages = list(conversation(SINGLES + BATCH))
    ours, bare = [], []
    with Memory(folder / "lamina.db", worker=False) as memory:
        memory.add("warm up", user_id="u", session_id="s")
        for message in messages[:SINGLES]:
            prepared = raw.rows([message])
            ours.append(timed(partial(memory.add, message, user_id="u", session_id="s")))
            bare.append(timed(partial(raw.write, *prepared)))
        batches = []
        for number in range(7):
            prepared = raw.rows(messages[SINGLES:])
            raw_seconds = timed(partial(raw.write, *prepared))
            session = f"batch-{number}"
            own_seconds = timed(partial(memory.add, messages[SINGLES:], user_id="u", session_id=session))
            batches.append((own_seconds, raw_seconds))
    own_batch, raw_batch = (statistics.median(column) for column in zip(*batches, strict=True))
    return {
        "add_us": p50(ours) * 1e6,
        "raw_us": p50(bare) * 1e6,
        "add_ratio": p50(ours) / p50(bare),
        "batch_s": own_batch,
        "raw_batch_s": raw_batch,
        "batch_ratio": own_batch / raw_batch,
    }


def history(size: int, folder: Path) -> dict[str, float]:
    """Contexts over one session of `size` messages, folded; run in a process of its own so that memory is its own."""
    path = folder / f"history-{size}.db"
    with Memory(path, worker=False) as memory:
        messages = list(conversation(size))
        for first in range(0, size, 10_000):
            memory.add(messages[first : first + 10_000], user_id="u", session_id="s")
        del messages
        started = time.perf_counter()
        settled = memory.settle()
        fold_seconds = time.perf_counter() - started
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    with Memory(path, worker=False) as memory:
        memory.context(user_id="u", session_id="s", budget=4_000)
        plain = [timed(lambda: memory.context(user_id="u", session_id="s", budget=4_000)) for _ in range(CONTEXTS)]
        query = "where is the garden review?"
        asked = [timed(lambda: memory.context(query, user_id="u", session_id="s")) for _ in range(CONTEXTS // 10)]
        context = memory.context(user_id="u", session_id="s", budget=4_000)
    return {
        "messages": size,
        "folds": settled.folds,
        "fold_ms": 1000 * fold_seconds / max(1, settled.folds),
        "context_ms": p50(plain) * 1000,
        "context_with_search_ms": p50(asked) * 1000,
        "context_tokens": context.tokens,
        "blind": context.manifest.coverage.blind_messages,
        "peak_mb": before,
        "file_mb": path.stat().st_size / 1e6,
    }


def histories(folder: Path, sizes: tuple[int, ...]) -> list[dict[str, float]]:
    found = []
    for size in sizes:
        command = [sys.executable, "-m", "benchmarks.run", "--history", str(size), "--folder", str(folder)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        found.append(json.loads(done.stdout))
        print(f"  {size:>7,} messages folded and read", flush=True)
    return found


def plots(appended: dict[str, float], grown: list[dict[str, float]]) -> None:
    RESULTS.mkdir(exist_ok=True)
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4))
    for axis, (ours, raw, title, unit) in zip(
        axes,
        (("add_us", "raw_us", "single append, p50", "µs"), ("batch_s", "raw_batch_s", f"batch of {BATCH:,}", "s")),
        strict=True,
    ):
        bars = axis.bar(["bare sqlite3", "Lamina"], [appended[raw], appended[ours]], color=["#9aa5b1", "#3f6fb5"])
        axis.bar_label(bars, fmt="%.3g")
        axis.margins(y=0.12)
        axis.set_title(f"{title} ({appended[ours] / appended[raw]:.1f} times)")
        axis.set_ylabel(unit)
    _saved(figure, "appends.png")
    sizes = [row["messages"] for row in grown]
    for name, title, series in (
        ("context.png", "context, p50 (ms)", ("context_ms", "context_with_search_ms")),
        ("memory.png", "peak memory and file (MB)", ("peak_mb", "file_mb")),
    ):
        figure, axis = plt.subplots(figsize=(5.6, 3.6))
        for key in series:
            axis.plot(sizes, [row[key] for row in grown], marker="o", label=key.replace("_", " "))
        axis.set_xscale("log")
        axis.set_ylim(bottom=0)
        axis.set_xlabel("messages in history")
        axis.set_title(title)
        axis.legend()
        _saved(figure, name)


def _saved(figure: Any, name: str) -> None:
    figure.tight_layout()
    figure.savefig(RESULTS / name, dpi=110)
    plt.close(figure)


def report(appended: dict[str, float], grown: list[dict[str, float]]) -> None:
    for name, ours, raw, ratio, unit, aim in (
        ("single add", "add_us", "raw_us", "add_ratio", "µs", 5),
        (f"batch of {BATCH:,}", "batch_s", "raw_batch_s", "batch_ratio", "s", 3),
    ):
        print(
            f"{name:16} {appended[ours]:8.3g} {unit:3} bare sqlite3 {appended[raw]:8.3g} {unit:3} "
            f"ratio {appended[ratio]:.2f} (aim: at most {aim})"
        )
    columns = ("messages", "folds", "fold_ms", "context_ms", "ratio", "context_with_search_ms", "context_tokens",
               "blind", "peak_mb", "file_mb")  # fmt: skip
    print("\n" + "  ".join(columns))
    for row in grown:
        shown = {**row, "ratio": row["context_ms"] / grown[0]["context_ms"]}
        cells = (f"{shown[name]:,.0f}" if shown[name] == int(shown[name]) else f"{shown[name]:.2f}" for name in columns)
        print("  ".join(f"{cell:>{len(name)}}" for name, cell in zip(columns, cells, strict=True)))
    print("`ratio`: how the context grows against the smallest history (aim: at most 2)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--history", type=int, help="measure one history and print JSON (used by the run itself)")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(HISTORIES))
    chosen = parser.parse_args()
    if chosen.history:
        print(json.dumps(history(chosen.history, chosen.folder)))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}", flush=True)
        appended = appends(folder)
        grown = histories(folder, tuple(chosen.sizes))
    report(appended, grown)
    plots(appended, grown)
    (RESULTS / "results.json").write_text(json.dumps({"appends": appended, "histories": grown}, indent=2) + "\n")
    print(f"plots and results.json are in {RESULTS}")


if __name__ == "__main__":
    main()
