"""What the proxy costs: `python -m benchmarks.proxy [--requests 200] [--conversations 200] [--seconds 120]`.

First, streams through `lamina serve` and straight from the same endpoint, in turns: the time to the first piece of the
reply, and between pieces, while other chats go on and are folded. Then many conversations at once for a while: how many
requests a second, times, errors and the memory of the server. On SQLite and on PostgreSQL, each server a process.
"""

import argparse
import asyncio
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx2

from benchmarks.run import conversation
from lamina.testing.postgres_server import SERVICE, Server

RESULTS = Path(__file__).parent / "results"
PIECES = 12
HISTORY = 120  # messages that a user has said before
ENDPOINT = """
import asyncio, json, uvicorn
PIECES, GAP = {pieces}, {gap}
async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    while (await receive()).get("more_body"):
        pass
    await send({{"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]}})
    for n in range(PIECES):
        if n:
            await asyncio.sleep(GAP)
        delta = {{"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices":
                  [{{"index": 0, "delta": {{"content": f"piece {{n}} of the reply, "}}, "finish_reason": None}}]}}
        said = f"data: {{json.dumps(delta)}}\\n\\n".encode()
        await send({{"type": "http.response.body", "body": said, "more_body": True}})
    await send({{"type": "http.response.body", "body": b"data: [DONE]\\n\\n", "more_body": False}})
server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None, lifespan="off"))
async def main():
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    print(f"serving on http://127.0.0.1:{{server.servers[0].sockets[0].getsockname()[1]}}", flush=True)
    await task
asyncio.run(main())
"""


@contextmanager
def running(command: list[str], folder: Path, **environ: str) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A process that says where it serves."""
    log = folder / f"log{len(list(folder.iterdir()))}"
    with log.open("w+") as out:
        process = subprocess.Popen(command, cwd=folder, stdout=out, stderr=out, env={**os.environ, **environ})
        try:
            deadline = time.monotonic() + 60
            while not (found := re.search(r"serving on (http\S+)", log.read_text("utf-8"))):
                if time.monotonic() > deadline or process.poll() is not None:
                    raise RuntimeError(log.read_text("utf-8"))
                time.sleep(0.05)
            yield process, found[1]
        finally:
            process.terminate()
            process.wait(60)


@contextmanager
def served(database: str, endpoint: str, folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    settings = {"LAMINA_DATABASE": database, "LAMINA_PROXY_BASE_URL": f"{endpoint}/v1"}
    with running([sys.executable, "-m", "lamina", "serve", "--port", "0"], folder, **settings) as (process, address):
        yield process, address


@contextmanager
def databases(folder: Path) -> Iterator[dict[str, str]]:
    with Server(durable=True) as server:
        yield {
            "sqlite": str(folder / "proxy.db"),
            "postgres": f"{server.url(server.new_database(), SERVICE)}&lamina_pool_max=16",
        }


@asynccontextmanager
async def client(address: str) -> AsyncIterator[httpx2.AsyncClient]:
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx2.AsyncClient(base_url=address, timeout=120, limits=limits) as opened:
        yield opened


async def streamed(asking: httpx2.AsyncClient, path: str, text: str, name: str) -> tuple[float, list[float]]:
    """Seconds to the first piece, and between pieces."""
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": text}]}
    headers = {"X-Lamina-User": name, "X-Lamina-Session": name}
    began = last = time.perf_counter()
    first, gaps = 0.0, []
    async with asking.stream("POST", path, json=body, headers=headers) as answer:
        answer.raise_for_status()
        async for _ in answer.aiter_raw():
            now = time.perf_counter()
            if first:
                gaps.append(now - last)
            else:
                first = now - began
            last = now
    return first, gaps


DIRECT, PROXIED = "/v1/chat/completions", "/openai/v1/chat/completions"


async def cost(endpoint: str, address: str, requests: int, others: int) -> dict[str, float]:
    """Streams straight and through the proxy, in turns, while other chats go on."""
    async with client(endpoint) as straight, client(address) as through:
        said = [message["content"] for message in conversation(HISTORY)]
        for name in ("timed", *(f"other-{n}" for n in range(others))):
            told = [{"role": "user" if i % 2 == 0 else "assistant", "content": text} for i, text in enumerate(said)]
            added = await through.post(f"/v1/sessions/{name}/messages", json={"user_id": name, "messages": told})
            added.raise_for_status()
        (await through.post("/v1/settle", json={"timeout": 600})).raise_for_status()
        ending = asyncio.Event()

        async def other(name: str) -> None:
            for n in range(100_000):
                if ending.is_set():
                    return
                await streamed(through, PROXIED, f"{said[2 * n % HISTORY]} ({n})", name)
                await asyncio.sleep(0.5)

        beside = [asyncio.create_task(other(f"other-{n}")) for n in range(others)]
        times: dict[str, list[float]] = {"direct": [], "proxied": []}
        gaps: dict[str, list[float]] = {"direct": [], "proxied": []}
        for n in range(requests + 5):
            for way, asking, path in (("direct", straight, DIRECT), ("proxied", through, PROXIED)):
                first, between = await streamed(
                    asking, path, f"{said[2 * n % HISTORY]} Do you remember? ({n})", "timed"
                )
                if n >= 5:  # the first ones open connections and read the user's memory
                    times[way].append(first)
                    gaps[way] += between
        ending.set()
        await asyncio.gather(*beside)
    found = {}
    for what, measured in (("first", times), ("gap", gaps)):
        for way, values in measured.items():
            found[f"{way}_{what}_p50_ms"] = 1000 * statistics.median(values)
            found[f"{way}_{what}_p95_ms"] = 1000 * sorted(values)[int(0.95 * len(values))]
    return found


def resident_mb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


async def load(address: str, pid: int, conversations: int, seconds: float) -> dict[str, Any]:
    """So many conversations at once, each turn after the other."""
    said = [message["content"] for message in conversation(400)]
    firsts: list[float] = []
    wholes: list[float] = []
    errors: list[str] = []
    held: list[float] = []
    async with client(address) as asking:
        end = time.perf_counter() + seconds

        async def talk(number: int) -> None:
            for turn in range(100_000):
                if time.perf_counter() >= end:
                    return
                began = time.perf_counter()
                try:
                    text = f"{said[(37 * number + 2 * turn) % 400]} ({number}, {turn})"
                    first, _ = await streamed(asking, PROXIED, text, f"user-{number}")
                except httpx2.HTTPError as error:
                    errors.append(repr(error)[:200])
                    continue
                firsts.append(first)
                wholes.append(time.perf_counter() - began)

        async def watch() -> None:
            while time.perf_counter() < end:
                held.append(resident_mb(pid))
                await asyncio.sleep(2)

        began = time.perf_counter()
        await asyncio.gather(watch(), *(talk(number) for number in range(conversations)))
        passed = time.perf_counter() - began
        lag = (await asking.get("/v1/backlog")).json()
        verified = (await asking.post("/v1/verify", json={}, timeout=600)).json()
    quarter = max(1, len(held) // 4)
    return {
        "requests": len(wholes),
        "per_second": len(wholes) / passed,
        **{f"first_p{p}_ms": 1000 * sorted(firsts)[int(p / 100 * (len(firsts) - 1))] for p in (50, 95, 99)},
        **{f"whole_p{p}_ms": 1000 * sorted(wholes)[int(p / 100 * (len(wholes) - 1))] for p in (50, 95, 99)},
        "errors": len(errors),
        "first_errors": errors[:3],
        "held_mb": [round(statistics.mean(held[:quarter])), round(statistics.mean(held[-quarter:]))],
        "backlog": {name: lag[name] for name in ("pending", "leased", "waiting", "aside")},
        "messages": verified["messages"],
        "problems": len(verified["problems"]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--others", type=int, default=4, help="chats that go on beside the one that is timed")
    parser.add_argument("--conversations", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--gap", type=float, default=0.02, help="seconds between the pieces of a reply")
    parser.add_argument("--stores", nargs="+", default=["sqlite", "postgres"])
    asked = parser.parse_args()
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as made, databases(Path(made)) as places:
        folder = Path(made)
        script = ENDPOINT.format(pieces=PIECES, gap=asked.gap)
        with running([sys.executable, "-c", script], folder) as (_, endpoint):
            for store in asked.stores:
                with served(places[store], endpoint, folder) as (process, address):
                    result: dict[str, Any] = {}
                    if asked.requests:
                        result |= asyncio.run(cost(endpoint, address, asked.requests, asked.others))
                    if asked.conversations:
                        result["load"] = asyncio.run(load(address, process.pid, asked.conversations, asked.seconds))
                    results[store] = result
                print(store, json.dumps(result, indent=1), flush=True)
    RESULTS.joinpath("proxy.json").write_text(json.dumps(results, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
