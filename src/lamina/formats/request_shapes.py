"""The messages of one logged request and its reply: of chat completions, of the Responses API, of Anthropic's API."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lamina.errors import InputError
from lamina.formats import foreign_values as foreign
from lamina.formats.foreign_values import identifier, object_at
from lamina.log.sdk_messages import chat_messages
from lamina.values.codec import json_kind

_SHAPES = "'messages', 'input', 'request', 'body', or role and content"
_TEXTS = ("text", "input_text", "output_text")
_REASONING = ("thinking", "redacted_thinking", "reasoning")


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request, and what was answered, as chat messages."""

    request: dict[str, Any]
    response: dict[str, Any]
    sent: list[dict[str, Any]]
    reply: list[dict[str, Any]]


def is_request(entry: dict[str, Any]) -> bool:
    """Whether an entry of a log has messages of a chat somewhere."""
    return _find_request(entry) is not None


def read(
    entry: dict[str, Any], place: str, earlier: dict[str, list[dict[str, Any]]], skipped: Counter[str]
) -> Exchange:
    """The exchange of an entry; `earlier` has the messages up to each response that has an id, and gets this one's."""
    request, response = _find_request(entry), _find_response(entry)
    if request is None:
        raise InputError(f"{place} has no messages; an entry has {_SHAPES}")
    own = "choices" in response or not (response or "input" in request or "system" in request)
    try:
        sent = [one if own else _plain(one, skipped) for one in chat_messages(_sent(request, place))]
        reply = [one if own else _plain(one, skipped) for one in chat_messages(_reply(response, place, skipped))]
    except InputError as error:
        raise InputError(str(error) if str(error).startswith(place) else f"{place}, {error}") from None
    before = earlier.get(str(request.get("previous_response_id")), [])
    if before:
        sent = [*before, *(one for one in sent if one.get("role") != "system")]
    if (name := identifier(response.get("id"))) is not None and "output" in response:
        earlier[name] = [*sent, *reply]
    return Exchange(request, response, sent, reply)


def _find_request(entry: dict[str, Any]) -> dict[str, Any] | None:
    for outer in (entry, entry.get("request"), entry.get("body")):
        for part in (outer, outer.get("body") if isinstance(outer, dict) else None):
            if isinstance(part, dict) and ("messages" in part or ("input" in part and _is_responses(entry, part))):
                return part
    return None


def _is_responses(entry: dict[str, Any], part: dict[str, Any]) -> bool:
    """Whether an `input` is one of a chat: embeddings and moderations have one, too."""
    address = str(entry.get("url", object_at(entry, "request").get("url")))
    return "output" in _find_response(entry) or address.rstrip("/").endswith("/responses") or "instructions" in part


def _find_response(entry: dict[str, Any]) -> dict[str, Any]:
    """The part of an entry that has the reply, if there is one."""
    response = object_at(entry, "response")
    for part in (object_at(response, "body"), response, entry):
        if "choices" in part or isinstance(part.get("output"), list):
            return part
        if part is not entry and part.get("role") == "assistant" and isinstance(part.get("content"), list):
            return part
    return {}


def _sent(request: dict[str, Any], place: str) -> list[Any]:
    key = "messages" if "messages" in request else "input"
    given = request[key]
    if key == "input" and isinstance(given, str):
        given = [{"role": "user", "content": given}]
    if not isinstance(given, list):
        raise InputError(f"{place}: {key} must be a list, not {json_kind(given)}")
    system = request.get("system" if key == "messages" else "instructions")
    told = [{"role": "system", "content": system}] if isinstance(system, str | list) and system else []
    return [*told, *(one for _, one in foreign.objects(given, place, "message"))]


def _reply(response: dict[str, Any], place: str, skipped: Counter[str]) -> list[Any]:
    if isinstance(response.get("output"), list):
        return response["output"] and [{**response, "object": "response"}]
    choices = response.get("choices")
    if isinstance(choices, list) and choices:
        skipped["another choice of reply"] += len(choices) - 1
        message = choices[0].get("message") if isinstance(choices[0], dict) else None
        return [] if message is None else [foreign.require_object(message, f"{place}, reply")]
    return [] if "choices" in response or not response else [response]


def _plain(message: Any, skipped: Counter[str]) -> dict[str, Any]:
    """A message without its reasoning; parts that are all text become one, so that a reply equals what is sent back."""
    parts = message.get("content")
    if not isinstance(parts, list):
        return {**message}
    kept = [part for part in parts if not (isinstance(part, Mapping) and part.get("type") in _REASONING)]
    skipped["reasoning"] += len(parts) - len(kept)
    texts = [*_texts(kept)]
    content: Any = "\n".join(texts) if len(texts) == len(kept) else kept
    return {**message, "content": content if kept or not parts else None}


def _texts(parts: Sequence[Any]) -> Iterator[str]:
    for part in parts:
        if isinstance(part, Mapping) and part.get("type") in _TEXTS and isinstance(part.get("text"), str):
            yield part["text"]
