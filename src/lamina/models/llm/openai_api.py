"""Requests and answers of the OpenAI API, in the many shapes that servers give them."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from lamina.errors import ModelError
from lamina.values.cost import Purpose

Way = Literal["json_schema", "tools", "json_object", "text"]
WAYS: tuple[Way, ...] = ("json_schema", "tools", "json_object", "text")  # the best first

_THOUGHT = re.compile(r"<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_THOUGHT_END = re.compile(r"^.*</(?:think|thinking|reasoning)>", re.DOTALL | re.IGNORECASE)
_THOUGHT_START = re.compile(r"<(?:think|thinking|reasoning)>.*\Z", re.DOTALL | re.IGNORECASE)
_FENCED = re.compile(r"```[ \t]*\w*[ \t]*\n(.*?)```", re.DOTALL)
_WHOLE_FENCE = re.compile(r"\A\s*```[ \t]*(?:markdown|md|text|txt)?[ \t]*\n(.*?)\n?```\s*\Z", re.DOTALL)
_TRAILING_COMMA = re.compile(r",\s*+([}\]])")
_CUT = frozenset(("length", "content_filter", "max_tokens", "max_output_tokens", "model_length"))
_OPENINGS = re.compile(r"[{\[]")
_MIN_WORDS = 4  # in a row, for one text to quote another
_MIN_WORD_CHARACTERS = 20  # of a single word, for the same
_MAX_OPENINGS = 200  # places where JSON may begin that are tried


# Requests


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """The form that a structured answer must have."""

    name: str
    form: Mapping[str, Any]


TEXT: Mapping[str, Any] = {"type": "string"}
TEXT_OR_NULL: Mapping[str, Any] = {"type": ["string", "null"]}
NUMBER: Mapping[str, Any] = {"type": "number"}
INTEGER: Mapping[str, Any] = {"type": "integer"}
BOOLEAN: Mapping[str, Any] = {"type": "boolean"}


def list_schema(name: str, properties: Mapping[str, Any]) -> Schema:
    """The schema of an object with one list of objects that have these properties."""
    item = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    whole = {"type": "object", "properties": {name: {"type": "array", "items": item}}, "required": [name]}
    return Schema(name=name, form={**whole, "additionalProperties": False})


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One question: messages as (role, text), and how many tokens the answer may have."""

    purpose: Purpose
    messages: tuple[tuple[str, str], ...]
    room: int
    schema: Schema | None = None
    seed: int | None = None  # for servers that can answer the same twice

    @property
    def text(self) -> str:
        return "\n".join(text for _, text in self.messages)


def response_format(schema: Schema, way: Way) -> dict[str, Any]:
    """How a structured answer is asked for."""
    if way == "json_schema":
        form = {"name": schema.name, "strict": True, "schema": schema.form}
        return {"response_format": {"type": "json_schema", "json_schema": form}}
    if way == "tools":
        function = {"name": schema.name, "parameters": schema.form, "description": f"Give the {schema.name}."}
        choice = {"type": "function", "function": {"name": schema.name}}
        return {"tools": [{"type": "function", "function": function}], "tool_choice": choice}
    return {"response_format": {"type": "json_object"}} if way == "json_object" else {}


# Answers


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A model's answer without what it thought; None for tokens that the server did not count."""

    text: str
    cut: bool = False  # incomplete
    refused: bool = False  # the text is a refusal
    tokens_in: int | None = None
    tokens_out: int | None = None


class Unreadable(ModelError):
    """The server's answer is not in the format of the API."""


def chat_reply(body: Any) -> Reply:
    """The answer in a chat completion."""
    choices = _object(body).get("choices")
    if not isinstance(choices, list) or not choices:
        raise Unreadable("the answer has no choices")
    choice = _object(choices[0])
    message = _object(choice.get("message"))
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    text = _tool_arguments(message) or (content if isinstance(content, str) else "")
    cut = choice.get("finish_reason") in _CUT
    return _reply(text, message.get("refusal"), body.get("usage"), "prompt_tokens", "completion_tokens", cut=cut)


def response_reply(body: Any) -> Reply:
    """The answer of the Responses API: its `output_text`."""
    whole = _object(body)
    parts = [
        part
        for item in whole.get("output") or ()
        if isinstance(item, dict) and item.get("type", "message") == "message"
        for part in item.get("content") or ()
        if isinstance(part, dict)
    ]
    text = "".join(str(part.get("text") or "") for part in parts if part.get("type") == "output_text")
    refusal = "".join(str(part.get("refusal") or "") for part in parts if part.get("type") == "refusal")
    if not text and isinstance(whole.get("output_text"), str):
        text = whole["output_text"]
    if not text and not refusal and "output" not in whole:
        raise Unreadable("the answer has no output")
    cut = whole.get("status") == "incomplete"
    return _reply(text, refusal, whole.get("usage"), "input_tokens", "output_tokens", cut=cut)


def _reply(text: str, refusal: Any, usage: Any, tokens_in: str, tokens_out: str, *, cut: bool) -> Reply:
    """A reply without thoughts; a refusal counts where there is no other text."""
    refused = bool(refusal) and not text
    return Reply(
        text=str(refusal) if refused else strip_thoughts(text),
        cut=cut,
        refused=refused,
        tokens_in=_count(usage, tokens_in),
        tokens_out=_count(usage, tokens_out),
    )


def embedding_vectors(body: Any, number: int) -> tuple[list[list[float]], int | None]:
    """The vectors of an embeddings answer in the order of what was asked, and the tokens that were read."""
    rows = _object(body).get("data")
    if not isinstance(rows, list) or len(rows) != number:
        raise Unreadable(f"it gave {len(rows) if isinstance(rows, list) else 'no'} vectors for {number} texts")
    found: dict[int, list[float]] = {}
    for place, row in enumerate(rows):
        index, vector = _object(row).get("index", place), _object(row).get("embedding")
        if not isinstance(index, int) or not isinstance(vector, list):
            raise Unreadable("one of its vectors is no list of numbers")
        try:
            found[index] = [float(one) for one in vector]
        except (TypeError, ValueError):
            raise Unreadable("one of its vectors is no list of numbers") from None
    if sorted(found) != list(range(number)):
        raise Unreadable("its vectors are not numbered as the texts are")
    return [found[index] for index in range(number)], _count(body.get("usage"), "prompt_tokens")


def strip_thoughts(text: str) -> str:
    """A text without what a model thought aloud before it."""
    shown = _THOUGHT.sub("", text)
    shown = _THOUGHT_END.sub("", shown)
    return _THOUGHT_START.sub("", shown).strip()


def strip_fence(text: str) -> str:
    """A text that was put between ``` as a whole, without these."""
    found = _WHOLE_FENCE.match(text)
    return found.group(1).strip() if found and "```" not in found.group(1) else text


def find_json(text: str) -> Any:
    """The JSON object or list in a text, also between ``` or with words around it; None if there is none."""
    for candidate in (text, *_FENCED.findall(text)):
        for form in (candidate, _TRAILING_COMMA.sub(r"\1", candidate)):
            try:
                value = json.loads(form)
            except (ValueError, RecursionError):
                continue
            if isinstance(value, dict | list):
                return value
    found = (*_json_values(text), *_json_values(_TRAILING_COMMA.sub(r"\1", text)))
    return max(found, key=lambda one: one[0], default=(0, None))[1]


def _json_values(text: str) -> Iterator[tuple[int, Any]]:
    """Every JSON object or list that begins somewhere in a text, with its length; none inside another."""
    decoder, end = json.JSONDecoder(), 0
    for tried, opening in enumerate(_OPENINGS.finditer(text)):
        if tried >= _MAX_OPENINGS:
            return
        if opening.start() < end:
            continue
        try:
            value, end = decoder.raw_decode(text, opening.start())
        except (ValueError, RecursionError):
            continue
        yield end - opening.start(), value


def _object(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise Unreadable(f"the answer is {type(value).__name__} where an object should be")
    return value


def _tool_arguments(message: Mapping[str, Any]) -> str:
    """What a function was called with; some servers give an object where there should be text."""
    calls = message.get("tool_calls")
    if not isinstance(calls, list) or not calls or not isinstance(calls[0], dict):
        return ""
    function = calls[0].get("function")
    given = function.get("arguments") if isinstance(function, dict) else None
    if isinstance(given, dict | list):
        return json.dumps(given, ensure_ascii=False)
    return given if isinstance(given, str) else ""


def _count(usage: Any, name: str) -> int | None:
    found = usage.get(name) if isinstance(usage, dict) else None
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else None


# Errors


def error_reason(text: str, given: str) -> str:
    """What an error's body says, in OpenAI's form, another's or plain; nothing where it repeats what was given."""
    try:
        error = _error_message(json.loads(text))
    except (ValueError, RecursionError):
        error = text
    shown = " ".join(error.split())
    return "(it repeats what it was sent)" if _quotes(shown, " ".join(given.split())) else shown


def _error_message(body: Any) -> str:
    error = body.get("error", body) if isinstance(body, dict) else body
    if isinstance(error, dict):
        error = error.get("message") or error.get("detail") or error.get("msg") or error
    if isinstance(error, list):  # of wrong fields, each with what was sent beside its message
        return "; ".join(str(one.get("msg", "?")) if isinstance(one, dict) else str(one) for one in error)
    return error if isinstance(error, str) else json.dumps(error, ensure_ascii=False)


def _quotes(text: str, given: str) -> bool:
    """Whether a text has some words in a row, or a long one, of what was given."""
    words = text.split()
    rows = (" ".join(words[at : at + _MIN_WORDS]) for at in range(len(words) - _MIN_WORDS + 1))
    return any(row in given for row in rows) or any(
        len(word) >= _MIN_WORD_CHARACTERS and word in given for word in words
    )
