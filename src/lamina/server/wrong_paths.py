"""What is said at an address that does not exist: where what the caller wants is, as far as the address tells."""

import difflib
from collections.abc import Collection

from lamina.server.openai_errors import PASSTHROUGH, PREFIX

_MAX_COMPARED = 200  # characters of an address that is compared with those there are
_PREFIXES = frozenset({"openai", "v1", "api"})  # what clients put before the name of an API
_OPENAI = (*PASSTHROUGH, "assistants", "audio", "batches", "files", "fine_tuning", "images", "realtime", "threads",
           "uploads", "vector_stores", "videos")  # fmt: skip
_OTHERS = {
    "/v1/messages": "Anthropic's API",
    "/v1/complete": "Anthropic's API",
    "/api/chat": "Ollama's own API",
    "/api/generate": "Ollama's own API",
    "/api/tags": "Ollama's own API",
}
_ASKED = ("chat/completions", "responses", "completions", "embeddings")


def is_openai(path: str) -> bool:
    """Whether a client of the OpenAI API asks for an address, wherever it takes that API to be."""
    below = _below(path)
    known = any(below == name or below.startswith(f"{name}/") for name in _OPENAI)
    return known or path == "/openai" or path.startswith("/openai/") or "/chat/completions" in path


def is_doubled(below: str) -> bool:
    """Whether an address below the proxy's has the name of an API again: a client adds it to a base_url that has it."""
    first = below.partition("/")[0]
    return first in _PREFIXES or any(below.endswith(f"/{name}") and below != name for name in _ASKED[:2])


def openai_advice(path: str, origin: str) -> str:
    """What to say to a client of the OpenAI API at a wrong address."""
    base = f"{origin}{PREFIX}"
    if path.rstrip("/") == PREFIX:
        return f"this is the base_url itself; there are {', '.join(sorted(PASSTHROUGH))} below it"
    below = _below(path)
    known = any(below == name or below.startswith(f"{name}/") for name in PASSTHROUGH)
    if known or "/chat/completions" in path or path.rstrip("/").endswith(tuple(f"/{name}" for name in PASSTHROUGH)):
        return f"the OpenAI API is not at {path[:_MAX_COMPARED]}: set the client's base_url to {base}"
    return f"the proxy at {base} has {', '.join(sorted(PASSTHROUGH))}; ask the endpoint itself for anything else"


def advice(method: str, path: str, origin: str, known: Collection[str], *, with_mcp: bool, with_slash: bool) -> str:
    """What to say at any other address; `known` are those of the REST API, `with_slash`: it exists with one more /."""
    shown = path[:_MAX_COMPARED]
    if path.rstrip("/") in _OTHERS:
        other = _OTHERS[path.rstrip("/")]
        return f"{other} is not offered; for a client of the OpenAI API, the base_url is {origin}{PREFIX}"
    if path.rstrip("/") == "/mcp" and not with_mcp:
        return "MCP is not installed here: pip install 'lamina[server]', then start `lamina serve` again"
    if with_slash:
        return f"there is no {shown}, but there is {shown}/: addresses of mem0's API end in a slash"
    if near := _nearest(shown, known):
        return f"there is no {method} {shown}; did you mean {near}?"
    mcp = ", MCP at /mcp" if with_mcp else ""
    return (
        f"there is no {shown}; there are the inspector at /, the REST API at /v1 (all its routes: /openapi.json),"
        f" the OpenAI API at {PREFIX}{mcp}"
    )


def _nearest(path: str, known: Collection[str]) -> str | None:
    """The address of the REST API that is written most like this one: its first word must be nearly the same."""
    words = path.split("/")
    by_word: dict[str, list[str]] = {}
    for one in known:
        if one.startswith("/v1/"):
            by_word.setdefault(one.split("/")[2], []).append(one)
    near = difflib.get_close_matches(words[2], by_word, n=1, cutoff=0.7) if path.startswith("/v1/") else []
    found = by_word[near[0]] if near else []
    as_long = [one for one in found if one.count("/") == path.rstrip("/").count("/")]
    return max(as_long or found, key=lambda one: difflib.SequenceMatcher(None, one, path).ratio(), default=None)


def _below(path: str) -> str:
    """What is left of an address without what clients put before the name of an API."""
    parts = path.strip("/").split("/")
    while parts and parts[0] in _PREFIXES:
        parts.pop(0)
    return "/".join(parts)
