"""How search grows: `python -m benchmarks.search [--sizes 1000 10000 100000] [--others 10000]`.

Every figure is a ratio against something measured in the same run: search in a history against search in the smallest,
search beside ten thousand other users against the same user alone, `add` with the embedder against `add` without. Texts
are made up of real words in Zipf's proportions, with a topic for each session, so that rare and common words occur as
they do in talk. Each history is measured in a process of its own, so that its memory is its own.
"""

import argparse
import itertools
import json
import platform
import random
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot as plt

from lamina import Memory
from lamina.models.embeddings.static import StaticEmbedder
from lamina.models.embeddings.wordpiece import bert_uncased
from lamina.profiles import PROFILES

mpl.use("Agg")

RESULTS = Path(__file__).parent / "results"
SIZES = (1_000, 10_000, 100_000)
AIMS = {10: 2.0, 100: 6.0}  # times the smallest history: times its search
OTHERS = 10_000
EACH = 3  # messages of each other user
PLAIN = PROFILES["default"].but(facts=False, episodes=False, digest_sessions=0)  # quick to fill: search is measured
SEARCHES = 100
FEW = 10  # searches for each size of the cache, which may be too small to be quick
CACHES = (1, 16, 64)  # megabytes
ADDS = 300
SESSION = 40  # messages
START = datetime(2024, 1, 1, tzinfo=UTC)
_FUNCTION_WORDS = 120  # the commonest words, of which queries have few
_TOPIC = 25  # words that a session comes back to


@cache
def _vocabulary() -> tuple[list[str], list[float]]:
    """Real words, the commoner the earlier, and their share by Zipf's law, summed up."""
    words = [word for word in bert_uncased().numbers if word.isalpha() and word.isascii() and len(word) > 1][:20_000]
    return words, list(itertools.accumulate(1 / (rank + 2.7) for rank in range(len(words))))


def talk(number: int, seed: int) -> Iterator[list[dict[str, Any]]]:
    """Sessions of messages, no two alike: each session has its topic, users write less than assistants."""
    chance = random.Random(seed)
    words, shares = _vocabulary()
    said = 0
    for session in itertools.count():
        topic = chance.choices(words[_FUNCTION_WORDS:], k=_TOPIC)
        messages = []
        for place in range(min(SESSION, number - said)):
            role = "user" if place % 2 == 0 else "assistant"
            length = max(4, int(chance.lognormvariate(2.7 if role == "user" else 3.4, 0.5)))
            text = chance.choices(words, cum_weights=shares, k=length)
            for spot in range(0, length, 4):
                text[spot] = chance.choice(topic)
            at = START + timedelta(hours=9 * session, minutes=place)
            messages.append({"role": role, "content": f"{' '.join(text).capitalize()}.", "created_at": at})
        said += len(messages)
        yield messages
        if said >= number:
            return


def queries(number: int, size: int, seed: int) -> list[str]:
    """Questions in the words of the first `size` messages: the same ones for every history that begins with them."""
    chance = random.Random(seed + 1)
    words, shares = _vocabulary()
    common = set(words[:_FUNCTION_WORDS])
    texts = [message["content"] for session in talk(size, seed) for message in session]
    asked = []
    for text in chance.choices(texts, k=number):
        rare = [word for word in text.lower().strip(".").split() if word not in common]
        kept = chance.sample(rare, min(len(rare), chance.randint(2, 5)))
        asked.append(" ".join([*chance.choices(words, cum_weights=shares, k=2), *kept]) + "?")
    return asked


def fill(path: Path, user: str, size: int, seed: int) -> None:
    with Memory(path, worker=False, profile=PLAIN) as memory:
        for number, session in enumerate(talk(size, seed)):
            memory.add(session, user_id=user, session_id=f"{user}-{number}")
        memory.settle()


def fill_others(path: Path, others: int) -> None:
    with Memory(path, worker=False, profile=PLAIN) as memory:
        for number in range(others):
            (session,) = talk(EACH, 1_000 + number)
            memory.add(session, user_id=f"other-{number}", session_id=f"other-{number}-0")
        memory.settle()


def timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def quantile(durations: list[float], share: float) -> float:
    ordered = sorted(durations)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def resident_mb() -> float:
    """What this process holds now; the most it ever held where the system does not tell."""
    status = Path("/proc/self/statm")
    if status.exists():
        return int(status.read_text().split()[1]) * resource.getpagesize() / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def history(path: Path, size: int, seed: int, cache_mb: int | None = None) -> dict[str, float]:
    """Cold and warm searches of one user, and what they hold in memory."""
    asked = queries(SEARCHES if cache_mb is None else FEW, min(size, SIZES[0]), seed)
    with Memory(":memory:", worker=False) as memory:  # loads models and tables
        memory.add("warm up", user_id="w")
        memory.search("warm up", user_id="w")
    chosen: dict[str, Any] = {} if cache_mb is None else {"cache_mb": cache_mb}
    before = resident_mb()
    with Memory(path, worker=False, **chosen) as memory:
        cold = timed(partial(memory.search, asked[0], user_id="u", top_k=10))
        memory.search(asked[1], user_id="u", top_k=10)
        warm = [timed(partial(memory.search, query, user_id="u", top_k=10)) for query in asked]
        held = resident_mb() - before
    return {
        "messages": size,
        "cold_ms": 1000 * cold,
        "p50_ms": 1000 * statistics.median(warm),
        "p95_ms": 1000 * quantile(warm, 0.95),
        "held_mb": held,
        "file_mb": path.stat().st_size / 1e6,
    }


def measured(folder: Path, name: str, size: int, others: int = 0) -> dict[str, Any]:
    """A history built and searched, each in a process of its own."""
    path = folder / f"{name}.db"
    started = time.perf_counter()
    base = [sys.executable, "-m", "benchmarks.search", "--file", str(path), "--size", str(size)]
    subprocess.run([*base, "--build", "--others", str(others)], check=True)
    built = time.perf_counter() - started
    done = subprocess.run(base, check=True, capture_output=True, text=True)
    print(f"  {name}: built in {built:.0f} s, searched", flush=True)
    return {"name": name, "build_s": built, **json.loads(done.stdout)}


def cache_settings(folder: Path, size: int) -> list[dict[str, float]]:
    """What a process holds after searching, and how long that takes, for sizes of the cache."""
    found = []
    for megabytes in CACHES:
        base = [sys.executable, "-m", "benchmarks.search", "--file", str(folder / f"{size:,} messages.db")]
        words = ["--size", str(size), "--cache", str(megabytes)]
        done = subprocess.run([*base, *words], check=True, capture_output=True, text=True)
        found.append({"cache": megabytes, **json.loads(done.stdout)})
        print(f"  {size:,} messages searched with a cache of {megabytes} MB", flush=True)
    return found


def appends(folder: Path) -> dict[str, float]:
    """`add` with the embedder and without, in turns, and how long a query takes to embed."""
    embedder = StaticEmbedder()
    asked = queries(SEARCHES, SIZES[0], 7)
    embedder.vectors(asked[:1])
    embedding = [timed(partial(embedder.vectors, [query])) for query in asked]
    found = {"embed_query_ms": 1000 * statistics.median(embedding)}
    messages = [message for session in talk(2 * ADDS, 11) for message in session]
    with (
        Memory(folder / "with.db", worker=False) as embedding_memory,
        Memory(folder / "without.db", worker=False, embedder="none") as plain,
    ):
        took_with, took_without = [], []
        for message in messages:
            took_with.append(timed(partial(embedding_memory.add, message, user_id="u")))
            took_without.append(timed(partial(plain.add, message, user_id="u")))
    found["add_ms"] = 1000 * statistics.median(took_with[20:])
    found["add_without_ms"] = 1000 * statistics.median(took_without[20:])
    found["add_ratio"] = found["add_ms"] / found["add_without_ms"]
    return found


def report(grown: list[dict[str, Any]], beside: dict[str, Any], added: dict[str, float], caches: list[Any]) -> None:
    first = grown[0]
    print(
        f"\n{'search in':24}{'p50 ms':>9}{'p95 ms':>9}{'ratio':>8}{'aim':>9}{'cold ms':>10}{'held MB':>9}{'file MB':>9}"
    )
    for row in [*grown, beside]:
        ratio = row["p50_ms"] / first["p50_ms"]
        aim = 1.2 if row is beside else AIMS.get(row["messages"] // first["messages"])
        print(
            f"{row['name']:24}{row['p50_ms']:>9.2f}{row['p95_ms']:>9.2f}{ratio:>8.2f}"
            f"{'' if aim is None else f'<= {aim:g}':>9}"
            f"{row['cold_ms']:>10.1f}{row['held_mb']:>9.1f}{row['file_mb']:>9.1f}"
        )
    print(f"`ratio`: p50 against {first['name']}; `cold`: the first search after opening; `held`: memory it took")
    for row in caches:
        print(f"cache of {row['cache']:>3} MB: {row['held_mb']:.1f} MB held, p50 {row['p50_ms']:.2f} ms")
    print(f"\nquery embedded in {added['embed_query_ms']:.3f} ms; one add {added['add_ms']:.3f} ms", end="")
    print(f", without embedder {added['add_without_ms']:.3f} ms: ratio {added['add_ratio']:.2f} (aim: at most 2)")


def plot(grown: list[dict[str, Any]], beside: dict[str, Any]) -> None:
    RESULTS.mkdir(exist_ok=True)
    first = grown[0]
    figure, axis = plt.subplots(figsize=(5.6, 3.6))
    sizes = [row["messages"] for row in grown]
    for key, label in (("p50_ms", "p50"), ("p95_ms", "p95"), ("cold_ms", "first after opening")):
        axis.plot(sizes, [row[key] / first["p50_ms"] for row in grown], marker="o", label=label)
    aims = [(first["messages"] * times, aim) for times, aim in AIMS.items() if first["messages"] * times in sizes]
    axis.plot(*zip((first["messages"], 1), *aims, strict=True), linestyle="--", color="#9aa5b1", label="aim for p50")
    ratio = beside["p50_ms"] / first["p50_ms"]
    axis.plot([first["messages"]], [ratio], "kx", label=f"p50, {beside['name']}")
    axis.set_xscale("log")
    axis.set_ylim(bottom=0)
    axis.set_xlabel("messages of the user")
    axis.set_title(f"search, times the p50 at {first['messages']:,} messages")
    axis.legend()
    figure.tight_layout()
    figure.savefig(RESULTS / "search.png", dpi=110)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--others", type=int, default=OTHERS, help="other users beside the smallest history")
    parser.add_argument("--no-plot", action="store_true", help="leave benchmarks/results as it is")
    for name in ("--file", "--size", "--cache", "--build"):
        kind = {"--file": Path, "--size": int, "--cache": int}.get(name, str)
        extra: dict[str, Any] = {"action": "store_true"} if name == "--build" else {"type": kind}
        parser.add_argument(name, help=argparse.SUPPRESS, **extra)
    chosen = parser.parse_args()
    if chosen.build:
        fill(chosen.file, "u", chosen.size, seed=5)
        if chosen.others:
            fill_others(chosen.file, chosen.others)
        return
    if chosen.file:
        print(json.dumps(history(chosen.file, chosen.size, 5, chosen.cache)))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}", flush=True)
        added = appends(folder)
        sizes = sorted(chosen.sizes)
        grown = [measured(folder, f"{size:,} messages", size) for size in sizes]
        beside = measured(folder, f"{sizes[0]:,} + {chosen.others:,} users", sizes[0], chosen.others)
        caches = cache_settings(folder, sizes[-1])
    report(grown, beside, added, caches)
    if not chosen.no_plot:
        plot(grown, beside)
        results = {"histories": grown, "beside": beside, "appends": added, "caches": caches}
        (RESULTS / "search.json").write_text(json.dumps(results, indent=2) + "\n")
        print(f"search.png and search.json are in {RESULTS}")


if __name__ == "__main__":
    main()
