"""What a server of the OpenAI API is asked and says: requests as they come, answers and streams in its shapes."""

import hashlib
import itertools
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Way = Literal["json_schema", "tools", "json_object", "text"]
Json = Mapping[str, Any]
ASKED_AT = 1_700_000_000  # what the answers say of the time


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request, as it came."""

    at: float  # time.monotonic()
    method: str
    path: str
    headers: Mapping[str, str]  # names in lower case
    body: Json

    @property
    def kind(self) -> str:
        """`chat`, `responses`, `messages`, `embeddings` or `models`; else the last part of the path."""
        last = self.path.partition("?")[0].rstrip("/").rpartition("/")[2]
        return "chat" if last == "completions" else last

    @property
    def way(self) -> Way:
        """How a structured answer was asked for."""
        form = self.body.get("response_format")
        if isinstance(form, dict) and form.get("type") in {"json_schema", "json_object"}:
            return "json_schema" if form["type"] == "json_schema" else "json_object"
        return "tools" if self.body.get("tools") else "text"

    @property
    def stream(self) -> bool:
        return bool(self.body.get("stream"))

    @property
    def texts(self) -> list[str]:
        """What each message, or the input, says."""
        given = self.body.get("messages", self.body.get("input", []))
        if isinstance(given, str):
            return [given]
        return [_text_of(one) for one in given]

    @property
    def text(self) -> str:
        return "\n\n".join(self.texts)


def _text_of(message: Any) -> str:
    content = message.get("content") if isinstance(message, dict) else message
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return "" if content is None else str(content)


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """An answer. Streamed, it comes in `pieces`: the first after `first_seconds`, each other after `gap_seconds`."""

    text: str | None
    finish: str = "stop"
    usage: tuple[int, int] | Literal["counted", "missing"] = "counted"
    thinking: str | None = None  # reasoning_content beside the text
    refusal: str | None = None
    pieces: Sequence[str] | None = None  # None: word by word
    first_seconds: float = 0.0
    gap_seconds: float = 0.0
    hang_up_after: int | None = None  # pieces after which a stream breaks off
    plain: bool = False  # words, though tools were offered
    noise: str = ""  # put into a stream before the first piece, as it is
    extra: Json = field(default_factory=dict)  # put over the answer's own keys


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Something else than an answer."""

    status: int = 500
    body: Any = None  # str: as it is; None: an error in OpenAI's form
    headers: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0  # before it comes
    ends: Literal["well", "hung up", "half-way"] = "well"  # hung up: nothing is sent; half-way: the body breaks off

    @classmethod
    def busy(cls, retry_after: str | None = None, status: int = 429) -> "Fault":
        return cls(status=status, headers={} if retry_after is None else {"Retry-After": retry_after})


Answer = str | Said | Fault
Brain = Callable[[Asked], Answer]


# What the API says


_numbers = itertools.count(1)


def _usage(asked: Asked, said: Said) -> dict[str, int] | None:
    if said.usage == "missing":
        return None
    counted = (len(asked.text.split()), len((said.text or "").split()))
    given, written = counted if said.usage == "counted" else said.usage
    return {"prompt_tokens": given, "completion_tokens": written, "total_tokens": given + written}


def chat(asked: Asked, said: Said) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": said.text}
    finish = said.finish
    if asked.way == "tools" and said.text is not None and not said.plain:
        name = asked.body["tools"][0]["function"]["name"]
        call = {"id": "call_1", "type": "function", "function": {"name": name, "arguments": said.text}}
        message |= {"content": None, "tool_calls": [call]}
        finish = "tool_calls" if finish == "stop" else finish
    if said.thinking is not None:
        message["reasoning_content"] = said.thinking
    if said.refusal is not None:
        message |= {"content": None, "refusal": said.refusal}
    whole = _head(asked, "chat.completion") | {
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}]
    }
    usage = _usage(asked, said)
    return whole if usage is None else whole | {"usage": usage}


def claude(asked: Asked, said: Said) -> dict[str, Any]:
    """An answer of Anthropic's Messages API."""
    block: dict[str, Any] = {"type": "text", "text": said.text or ""}
    reason = {"stop": "end_turn", "length": "max_tokens"}.get(said.finish, said.finish)
    if asked.body.get("tools") and not said.plain:
        block = {"type": "tool_use", "id": "toolu_1", "name": asked.body["tools"][0]["name"]}
        block["input"], reason = json.loads(said.text or "{}"), "tool_use"
    thoughts = [] if said.thinking is None else [{"type": "thinking", "thinking": said.thinking, "signature": "c2ln"}]
    usage = _usage(asked, said) or {"prompt_tokens": 0, "completion_tokens": 0}
    return {
        "id": f"msg_{next(_numbers)}",
        "type": "message",
        "role": "assistant",
        "model": asked.body.get("model", "test-model"),
        "content": [*thoughts, block],
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": {"input_tokens": usage["prompt_tokens"], "output_tokens": usage["completion_tokens"]},
    }


def _head(asked: Asked, kind: str) -> dict[str, Any]:
    model = asked.body.get("model", "test-model")
    return {"id": f"chatcmpl-{next(_numbers)}", "object": kind, "created": ASKED_AT, "model": model}


@dataclass(frozen=True, slots=True)
class Event:
    text: str
    delta: bool = False  # carries a piece of the answer


def chat_events(asked: Asked, said: Said, pieces: Sequence[str]) -> Iterator[Event]:
    head = _head(asked, "chat.completion.chunk")
    tools = asked.way == "tools" and not said.plain

    def chunk(delta: Json, finish: str | None = None, *, piece: bool = False) -> Event:
        body = head | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]} | dict(said.extra)
        return Event(f"data: {json.dumps(body)}\n\n", delta=piece)

    def call(arguments: str, **more: Any) -> Json:
        return {"tool_calls": [{"index": 0, **more, "function": {**more.pop("function", {}), "arguments": arguments}}]}

    if tools:
        name = asked.body["tools"][0]["function"]["name"]
        first = {"index": 0, "id": "call_1", "type": "function", "function": {"name": name, "arguments": ""}}
        yield chunk({"role": "assistant", "tool_calls": [first]})
    else:
        yield chunk({"role": "assistant", "content": ""})
    if said.thinking is not None:
        yield chunk({"reasoning_content": said.thinking})
    if said.noise:
        yield Event(said.noise)
    for piece in pieces:
        yield chunk(call(piece) if tools else {"content": piece}, piece=True)
    yield chunk({}, "tool_calls" if tools and said.finish == "stop" else said.finish)
    usage = _usage(asked, said)
    if usage is not None and (asked.body.get("stream_options") or {}).get("include_usage"):
        yield Event(f"data: {json.dumps(head | {'choices': [], 'usage': usage})}\n\n")
    yield Event("data: [DONE]\n\n")


def response(asked: Asked, said: Said) -> dict[str, Any]:
    part: dict[str, Any] = {"type": "output_text", "text": said.text or "", "annotations": []}
    if said.refusal is not None:
        part = {"type": "refusal", "refusal": said.refusal}
    cut = said.finish == "length"
    usage = _usage(asked, said)
    number = next(_numbers)
    item = {"id": f"msg_{number}", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
    if asked.body.get("tools") and not said.plain:
        name = asked.body["tools"][0]["name"]
        item = {"id": f"fc_{number}", "type": "function_call", "status": "completed", "call_id": "call_1", "name": name,
                "arguments": said.text or ""}  # fmt: skip
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": ASKED_AT,
        "status": "incomplete" if cut else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "error": None,
        "model": asked.body.get("model", "test-model"),
        "prompt": asked.body.get("prompt"),
        "output": [item],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": usage
        and {
            "input_tokens": usage["prompt_tokens"],
            "output_tokens": usage["completion_tokens"],
            "total_tokens": usage["total_tokens"],
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        },
    }


def response_events(asked: Asked, said: Said, pieces: Sequence[str]) -> Iterator[Event]:
    whole = response(asked, said)
    (item,) = whole["output"]
    began = {**whole, "status": "in_progress", "output": [], "usage": None}
    place = {"item_id": item["id"], "output_index": 0, "content_index": 0}
    empty = {"type": "output_text", "text": "", "annotations": []}
    count = itertools.count()

    def event(kind: str, *, piece: bool = False, **values: Any) -> Event:
        body = {"type": kind, "sequence_number": next(count), **values}
        return Event(f"event: {kind}\ndata: {json.dumps(body)}\n\n", delta=piece)

    yield event("response.created", response=began)
    yield event("response.in_progress", response=began)
    if item["type"] == "function_call":
        place.pop("content_index")
        yield event(
            "response.output_item.added", output_index=0, item={**item, "status": "in_progress", "arguments": ""}
        )
        for piece in pieces:
            yield event("response.function_call_arguments.delta", piece=True, **place, delta=piece)
        yield event("response.function_call_arguments.done", **place, name=item["name"], arguments=item["arguments"])
    else:
        yield event("response.output_item.added", output_index=0, item={**item, "status": "in_progress", "content": []})
        yield event("response.content_part.added", **place, part=empty)
        if said.noise:
            yield Event(said.noise)
        for piece in pieces:
            yield event("response.output_text.delta", piece=True, **place, delta=piece, logprobs=[])
        yield event("response.output_text.done", **place, text=said.text or "", logprobs=[])
        yield event("response.content_part.done", **place, part=item["content"][0])
    yield event("response.output_item.done", output_index=0, item=item)
    ended = "response.incomplete" if whole["status"] == "incomplete" else "response.completed"
    yield event(ended, response=whole)


def embeddings(asked: Asked, dimensions: int) -> dict[str, Any]:
    size = asked.body.get("dimensions") or dimensions
    data = [
        {"object": "embedding", "index": index, "embedding": vector_of(text, size)}
        for index, text in enumerate(asked.texts)
    ]
    tokens = sum(len(text.split()) for text in asked.texts)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "model": asked.body.get("model"), "data": data, "usage": usage}


def vector_of(text: str, dimensions: int) -> list[float]:
    """A vector of a text's words: the same for the same words, near for many of the same."""
    vector = [0.0] * dimensions
    for word in re.findall(r"\w+", text.casefold()) or ["nothing"]:
        digest = hashlib.sha256(word.encode()).digest()
        vector[int.from_bytes(digest[:4]) % dimensions] += 1.0 if digest[4] % 2 else -1.0
    length = math.hypot(*vector)
    return [number / length for number in vector] if length else [1.0] + [0.0] * (dimensions - 1)


# A mind that suffices


_DATA = re.compile(r"<data (\w+)>\n(.*?)\n</data \1>", re.DOTALL)
_SECTIONS = re.compile(r"markdown with sections: ([^\n]*)\.$", re.MULTILINE)
_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
_LEAD = re.compile(r"^(?:Message \d+ \([^)]*\): |(?:User|Assistant): |- |#+ )")
_FACTS = (
    (re.compile(r"\bmy name is (\w+)", re.IGNORECASE), "identity", "name"),
    (re.compile(r"\bI live in (\w+)", re.IGNORECASE), "identity", "location"),
    (re.compile(r"\bI prefer (\w+)", re.IGNORECASE), "preference", "language"),
    (re.compile(r"\bI am allergic to (\w+)", re.IGNORECASE), "constraint", "allergy"),
)
_WORDS = 9  # of each line that a summary says again


def sensible(asked: Asked) -> str:
    """Answers as a small but willing model would: summaries in the words given, facts by a few phrases."""
    if '"facts"' in asked.text:
        return json.dumps({"facts": list(_facts(asked))})
    if '"episodes"' in asked.text:
        return json.dumps({"episodes": []})
    return _summary(asked.text)


def _facts(asked: Asked) -> Iterator[dict[str, Any]]:
    for line in data_of(asked):
        known = json.loads(line)
        for phrase, category, key in _FACTS:
            if found := phrase.search(known["text"]):
                yield {"message": known["message"], "category": category, "key": key, "value": found.group(1),
                       "quote": found.group(), "confidence": 0.95, "importance": 0.9}  # fmt: skip


def data_of(asked: Asked) -> list[str]:
    """The lines of what was set apart as data in a request."""
    return [line for _, data in _DATA.findall(asked.text) for line in data.splitlines() if line.strip()]


def _summary(text: str) -> str:
    given = "\n".join(data for _, data in _DATA.findall(text)) or text
    lines = [_LEAD.sub("", line.strip()) for line in given.splitlines() if line.strip() and "===" not in line]
    said = dict.fromkeys(" ".join(line.split()[:_WORDS]) for line in lines)
    body = "\n".join(f"- {line}" for line in list(said)[:60])
    found = _SECTIONS.search(text)
    kept = _HEADING.findall(given) if "Keep the same structure" in text else ()
    names = found.group(1).split(", ") if found else list(kept)
    if not names:
        return body or "Nothing was said."
    return "\n\n".join(f"## {name}\n{body if at == 0 else '- (nothing yet)'}" for at, name in enumerate(names))
