"""What `import lamina` costs and loads, and what the package promises about itself."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

HEAVY = (
    "fastapi",
    "starlette",
    "mcp",
    "openai",
    "httpx2",
    "httpx",
    "typer",
    "rich",
    "numpy",
    "uvicorn",
    "pytest",
    "matplotlib",
    "agents",
    "anthropic",
    "langchain_core",
    "langgraph",
    "llama_index",
)

# What `import lamina` takes from the standard library, first: it tells how fast this machine is just now.
PROBE = """
import json, sys, time
started = time.process_time()
import asyncio, dataclasses, hashlib, logging, pathlib
standard = time.process_time() - started
before = set(sys.modules)
import lamina
cpu = time.process_time() - started
modules = sorted(sys.modules)
import lamina.models.token_counters
unread = lamina.models.token_counters.ExactCounter()._encode is None
print(json.dumps({"standard": standard, "cpu": cpu, "modules": modules, "before": sorted(before), "unread": unread}))
"""
MOST_TIMES = 6  # as long as the standard part alone; about 3.3 as this is written
MOST_MODULES = 160  # of Lamina's own and Python's, beyond the standard part; 157 as this is written


def probe() -> dict[str, Any]:
    slower = ("COVERAGE_", "PYTHONDONTWRITEBYTECODE")
    plain = {name: value for name, value in os.environ.items() if not name.startswith(slower)}
    done = subprocess.run([sys.executable, "-c", PROBE], check=True, capture_output=True, text=True, env=plain)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def probed() -> dict[str, Any]:
    return probe()


def test_import_is_quick(probed):
    """`import lamina` takes no more than a few times the CPU time of what it needs of Python's own library."""
    cpu, standard = probed["cpu"], probed["standard"]
    for _ in range(20):  # what else runs here makes it seem more, never less
        if cpu <= MOST_TIMES * standard:
            break
        found = probe()
        cpu, standard = min(cpu, found["cpu"]), min(standard, found["standard"])
    assert cpu <= MOST_TIMES * standard


def test_import_loads_little(probed):
    """Of what others wrote it loads the ids alone, and not many modules in all."""
    loaded = set(probed["modules"]) - set(probed["before"])
    foreign = {name.partition(".")[0] for name in loaded} - sys.stdlib_module_names
    assert foreign == {"lamina", "uuid_utils"}
    assert len(loaded) <= MOST_MODULES


@pytest.mark.parametrize("library", HEAVY)
def test_import_loads_no_server_or_command_line_library(library, probed):
    """The bare library loads nothing that only the faces need."""
    assert library not in probed["modules"]


def test_the_vocabulary_is_not_read_at_import(probed):
    """The tokenizer's ranks are loaded at the first count, not at import."""
    assert probed["unread"]
