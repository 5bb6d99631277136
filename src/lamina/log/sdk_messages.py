"""Messages in the shapes of other APIs, read into chat messages: answers, Anthropic's blocks, items of Responses.

Parts of a content stay as they came. Calls of tools and their results become `tool_calls` and messages of the role
`tool`, so that they are kept together wherever they came from.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lamina.errors import InputError
from lamina.log.sdk_objects import as_mapping, as_plain_list

Json = Mapping[str, Any]

_USER_BLOCKS = frozenset(("tool_result", "image", "document", "search_result", "input_text", "input_image"))
_MODEL_BLOCKS = frozenset(("tool_use", "server_tool_use", "thinking", "redacted_thinking", "reasoning", "output_text"))
_LANGCHAIN = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool"}
_OF_ANSWERS = frozenset(("stop_reason", "usage", "status"))  # fields that only the answers of an API have
_DROPPED = _OF_ANSWERS | {"type", "stop_sequence", "stop_details", "container", "parsed", "phase"}
_ENVELOPE = ("created_at", "metadata", "model")


def chat_messages(given: Sequence[Any]) -> list[Any]:
    """What was given as chat messages; a dict that is such a message stays as it is."""
    found: list[Any] = []
    usual = 0
    group: dict[str, Any] | None = None  # the message that blocks and items without a role belong to
    for index, item in enumerate(given):
        if type(item) is dict and type(item.get("content")) is str and "type" not in item:  # most messages
            group, usual = None, usual + 1
            found.append(item)
            continue
        place = "message" if len(given) == 1 else f"message {index}"
        one = {"role": "user", "content": item} if isinstance(item, str) else as_mapping(item, place)
        block = _as_block(one, group, answered=one is not item, place=place)
        if block is None:
            group = None
            found += _messages(one, place)
            continue
        role, parts = block
        if group is None or group["role"] != role:
            group = {"role": role, "content": []}
            found.append(group)
        group["content"] += parts
    return found if len(found) == usual else [message for one in found for message in _split(one)]


# things without a role of their own


def _as_block(item: Json, group: Json | None, *, answered: bool, place: str) -> tuple[str, list[Any]] | None:
    """The role and the parts of a block or item that is no message by itself; None if it is one."""
    kind = item.get("type")
    if not isinstance(kind, str):
        return None
    if "role" in item:
        whole = kind == "message" and "status" in item and isinstance(item.get("content"), list)
        return ("assistant", item["content"]) if whole and item["role"] == "assistant" else None
    if isinstance(call := item.get("call_id"), str):
        return _call(item, kind, call)
    if kind == "text":
        return _text_role(group, answered=answered, place=place), [item]
    is_answer = kind in _MODEL_BLOCKS or kind.endswith(("_call", "_tool_result"))
    role = "user" if kind in _USER_BLOCKS else "assistant" if is_answer else None
    return None if role is None else (role, [item])


def _text_role(group: Json | None, *, answered: bool, place: str) -> str:
    if group is not None:
        return str(group["role"])
    if answered:  # an object is what an API has answered
        return "assistant"
    raise InputError(f"{place} is text without a role; give it as {{'role': 'user', 'content': 'the text'}}")


def _call(item: Json, kind: str, call: str) -> tuple[str, list[Any]]:
    """A call or an output of the Responses API, as blocks."""
    if kind.endswith("_output"):
        output = item.get("output")
        content = "" if output is None else output if isinstance(output, str | list) else _json(output)
        return "user", [{"type": "tool_result", "tool_use_id": call, "content": content}]
    given: Any = next((item[name] for name in ("arguments", "input", "action", "operation") if name in item), {})
    return "assistant", [{"type": "tool_use", "id": call, "name": item.get("name", kind), "input": given}]


# messages, and what has messages in it


def _messages(item: Json, place: str) -> Iterator[Any]:
    kind = item.get("type")
    if "role" in item:
        yield _answer(item) if kind == "message" or "parsed" in item else item
    elif isinstance(item.get("choices"), list):
        yield from _completion(item, place)
    elif isinstance(item.get("message"), Mapping):  # one of the choices of a completion
        yield _with_metadata(_answer(item["message"]), finish_reason=item.get("finish_reason"))
    elif isinstance(item.get("output"), list) and item.get("object") == "response":
        yield from _response(item, place)
    elif isinstance(kind, str) and kind.removesuffix("MessageChunk").lower() in _LANGCHAIN:
        yield _langchain(item, _LANGCHAIN[kind.removesuffix("MessageChunk").lower()])
    else:
        yield item


def _answer(item: Json) -> dict[str, Any]:
    """A message of an API: what is not of the conversation goes into its metadata."""
    kept = {name: value for name, value in item.items() if name not in _DROPPED}
    if isinstance(kept.get("content"), list):
        kept["content"] = _content(kept["content"]) or ""
    if not item.keys() & _OF_ANSWERS:
        return kept
    return _with_metadata(kept, response_id=kept.pop("id", None), finish_reason=item.get("stop_reason"))


def _with_metadata(message: Json, **more: Any) -> dict[str, Any]:
    known = {name: value for name, value in more.items() if isinstance(value, str)}
    own = message.get("metadata")
    return {**message, "metadata": {**(own if isinstance(own, Mapping) else {}), **known}} if known else {**message}


def _completion(item: Json, place: str) -> Iterator[Any]:
    messages = [one for choice in item["choices"] if isinstance(choice, Mapping) for one in _messages(choice, place)]
    if not messages or any("role" not in one for one in messages):
        raise InputError(f"{place} is no whole answer; of a stream, add the message when it has ended")
    if len(messages) > 1:
        raise InputError(f"{place} has {len(messages)} choices; add the one you use: completion.choices[0].message")
    yield _with_model(_with_metadata(messages[0], response_id=item.get("id")), item)


def _response(item: Json, place: str) -> Iterator[Any]:
    messages = chat_messages(item["output"])
    if not messages:
        raise InputError(f"{place} is a response without output; add it when it has ended")
    details = item.get("incomplete_details")
    finish = details.get("reason") if isinstance(details, Mapping) else None
    for one in messages:
        yield _with_model(_with_metadata(one, response_id=item.get("id"), finish_reason=finish), item)


def _with_model(message: dict[str, Any], answer: Json) -> dict[str, Any]:
    model = answer.get("model")
    return {**message, "model": model} if isinstance(model, str) and model else message


def _langchain(item: Json, role: str) -> dict[str, Any]:
    message = {"role": role, "content": item.get("content")}
    message |= {name: item[name] for name in ("id", "name", "tool_call_id") if isinstance(item.get(name), str)}
    calls = item.get("tool_calls")
    parts = message["content"]
    if isinstance(calls, list) and calls:
        message["tool_calls"] = [
            _tool_call(one.get("id"), one.get("name"), one.get("args", {})) if isinstance(one, Mapping) else one
            for one in calls
        ]
        if isinstance(parts, list):  # calls of Anthropic stand there, too
            message["content"] = [one for one in parts if not _is_kind(one, "tool_use")]
    return message


# calls and results that are blocks of a content


def _split(message: Any) -> Iterator[Any]:
    """A message without calls and results in its content: these stand where chat messages have them."""
    content = message.get("content") if isinstance(message, Mapping) else None
    parts: Sequence[Any] = content if isinstance(content, list | tuple) else ()
    calls = [one for one in parts if _is_kind(one, "tool_use")] if parts and message.get("role") == "assistant" else []
    results = [one for one in parts if _is_kind(one, "tool_result")] if parts and message.get("role") == "user" else []
    if calls:
        rest = [one for one in parts if not _is_kind(one, "tool_use")]
        made = [_tool_call(one.get("id"), one.get("name"), one.get("input", {})) for one in calls]
        yield {**message, "content": _content(rest), "tool_calls": [*(message.get("tool_calls") or ()), *made]}
    elif results:
        rest = [one for one in parts if not _is_kind(one, "tool_result")]
        said = [{**message, "content": _content(rest)}] if rest else []
        envelope = {name: message[name] for name in _ENVELOPE if name in message}
        yield from _number([*(_result(one, envelope) for one in results), *said], message.get("id"))
    else:
        yield message


def _is_kind(part: Any, kind: str) -> bool:
    return isinstance(part, Mapping) and part.get("type") == kind


def _content(parts: Sequence[Any]) -> Any:
    """Parts of a message; text alone as text."""
    if len(parts) == 1 and isinstance(parts[0], Mapping) and parts[0].keys() == {"type", "text"}:
        return parts[0]["text"]
    return [*parts] or None


def _number(pieces: Sequence[dict[str, Any]], name: Any) -> Iterator[dict[str, Any]]:
    """The pieces of a message, the first under its id, each other under one that is made from it."""
    for number, piece in enumerate(pieces, 1):
        yield piece if name is None else {**piece, "id": name if number == 1 else f"{name}#{number}"}


def _result(block: Json, envelope: Json) -> dict[str, Any]:
    content = block.get("content")
    given = [*as_plain_list(content)] if isinstance(content, list | tuple) else content
    result = {"tool_call_id": block.get("tool_use_id"), "content": "" if given is None else given}
    failed = {"metadata": {**(envelope.get("metadata") or {}), "is_error": True}} if block.get("is_error") else {}
    return {"role": "tool", **result, **envelope, **failed}


def _tool_call(call_id: Any, name: Any, arguments: Any) -> dict[str, Any]:
    text = arguments if isinstance(arguments, str) else _json(arguments)
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": text}}


def _json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"a tool call cannot be written as JSON ({error}); use text, numbers, lists, dicts") from None
