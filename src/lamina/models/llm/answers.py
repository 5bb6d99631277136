"""What servers answer, in the many shapes that they do."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lamina.errors import ModelError

_THOUGHT = re.compile(r"<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_THOUGHT_END = re.compile(r"^.*</(?:think|thinking|reasoning)>", re.DOTALL | re.IGNORECASE)
_THOUGHT_START = re.compile(r"<(?:think|thinking|reasoning)>.*\Z", re.DOTALL | re.IGNORECASE)
_FENCED = re.compile(r"```[ \t]*\w*[ \t]*\n(.*?)```", re.DOTALL)
_WHOLE_FENCE = re.compile(r"\A\s*```[ \t]*(?:markdown|md|text|txt)?[ \t]*\n(.*?)\n?```\s*\Z", re.DOTALL)
_CUT = frozenset(("length", "content_filter", "max_tokens", "max_output_tokens", "model_length"))
_OPENINGS = re.compile(r"[{\[]")
_ROW = 4  # words in a row that are no chance
_LONG_WORD = 20  # characters
_MOST_OPENINGS = 200  # places where JSON may begin that are tried


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A model's answer without what it thought; None for tokens that the server did not count."""

    text: str
    cut: bool = False  # it was stopped before its end
    refused: bool = False  # in so many words
    tokens_in: int | None = None
    tokens_out: int | None = None


class Unreadable(ModelError):
    """The server's answer has not the shape of one."""


def chat_reply(body: Any) -> Reply:
    """The answer in a chat completion."""
    choice = _first(_mapping(body).get("choices"))
    message = _mapping(choice.get("message"))
    refusal = message.get("refusal")
    cut = choice.get("finish_reason") in _CUT
    text = _arguments(message) or _content(message.get("content"))
    usage = body.get("usage")
    return Reply(
        text=str(refusal) if refusal and not text else without_thoughts(text),
        cut=cut,
        refused=bool(refusal) and not text,
        tokens_in=_count(usage, "prompt_tokens"),
        tokens_out=_count(usage, "completion_tokens"),
    )


def response_reply(body: Any) -> Reply:
    """The answer of the Responses API: its `output_text`."""
    whole = _mapping(body)
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
    return Reply(
        text=refusal if refusal and not text else without_thoughts(text),
        cut=whole.get("status") == "incomplete",
        refused=bool(refusal) and not text,
        tokens_in=_count(whole.get("usage"), "input_tokens"),
        tokens_out=_count(whole.get("usage"), "output_tokens"),
    )


def embedded_vectors(body: Any, number: int) -> tuple[list[list[float]], int | None]:
    """The vectors of an embeddings answer in the order of what was asked, and the tokens that were read."""
    rows = _mapping(body).get("data")
    if not isinstance(rows, list) or len(rows) != number:
        raise Unreadable(f"it gave {len(rows) if isinstance(rows, list) else 'no'} vectors for {number} texts")
    found: dict[int, list[float]] = {}
    for place, row in enumerate(rows):
        known = _mapping(row)
        index, vector = known.get("index", place), known.get("embedding")
        if not isinstance(index, int) or not isinstance(vector, list):
            raise Unreadable("one of its vectors is no list of numbers")
        try:
            found[index] = [float(one) for one in vector]
        except (TypeError, ValueError):
            raise Unreadable("one of its vectors is no list of numbers") from None
    if sorted(found) != list(range(number)):
        raise Unreadable("its vectors are not numbered as the texts are")
    return [found[index] for index in range(number)], _count(body.get("usage"), "prompt_tokens")


def without_thoughts(text: str) -> str:
    """A text without what a model thought aloud before it."""
    shown = _THOUGHT.sub("", text)
    shown = _THOUGHT_END.sub("", shown)
    return _THOUGHT_START.sub("", shown).strip()


def unfenced(text: str) -> str:
    """A text that was put between ``` as a whole, without these."""
    found = _WHOLE_FENCE.match(text)
    return found.group(1).strip() if found and "```" not in found.group(1) else text


def json_in(text: str) -> Any:
    """The JSON object or list in a text, also between ``` or with words around it; None if there is none."""
    for candidate in (text, *_FENCED.findall(text)):
        try:
            value = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict | list):
            return value
    return max(_values(text), key=lambda one: one[0], default=(0, None))[1]


def _values(text: str) -> Iterator[tuple[int, Any]]:
    """Every JSON object or list that begins somewhere in a text, with its length; none inside another."""
    decoder, end = json.JSONDecoder(), 0
    for tried, opening in enumerate(_OPENINGS.finditer(text)):
        if tried >= _MOST_OPENINGS:
            return
        if opening.start() < end:
            continue
        try:
            value, end = decoder.raw_decode(text, opening.start())
        except (ValueError, RecursionError):
            continue
        yield end - opening.start(), value


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise Unreadable(f"the answer is {type(value).__name__} where an object should be")
    return value


def _first(choices: Any) -> Mapping[str, Any]:
    if not isinstance(choices, list) or not choices:
        raise Unreadable("the answer has no choices")
    return _mapping(choices[0])


def _content(content: Any) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _arguments(message: Mapping[str, Any]) -> str:
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


def reason_in(text: str, given: str) -> str:
    """What an error's body says, in OpenAI's form, another's or plain; nothing where it repeats what was given."""
    try:
        error = _message_of(json.loads(text))
    except (ValueError, RecursionError):
        error = text
    shown = " ".join(error.split())
    return "(it repeats what it was sent)" if _repeats(shown, " ".join(given.split())) else shown


def _message_of(body: Any) -> str:
    error = body.get("error", body) if isinstance(body, dict) else body
    if isinstance(error, dict):
        error = error.get("message") or error.get("detail") or error.get("msg") or error
    if isinstance(error, list):  # of wrong fields, each with what was sent beside its message
        return "; ".join(str(one.get("msg", "?")) if isinstance(one, dict) else str(one) for one in error)
    return error if isinstance(error, str) else json.dumps(error, ensure_ascii=False)


def _repeats(said: str, given: str) -> bool:
    """Whether one text has a few words in a row, or a long one, of another."""
    words = said.split()
    rows = (" ".join(words[at : at + _ROW]) for at in range(len(words) - _ROW + 1))
    return any(row in given for row in rows) or any(len(word) >= _LONG_WORD and word in given for word in words)
