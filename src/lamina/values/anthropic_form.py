"""Chat messages as a request to Anthropic's Messages API."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Json = Mapping[str, Any]
Block = dict[str, Any]

OPENING = "…"  # what a user says before a conversation that begins with the assistant: the API wants it so
_PICTURES = frozenset(("image/jpeg", "image/png", "image/gif", "image/webp"))
_DATA = re.compile(r"data:([\w.+/-]+);base64,(.*)", re.DOTALL)
_NOT_IN_IDS = re.compile(r"[^a-zA-Z0-9_-]")
_INSTRUCTIONS = frozenset(("system", "developer"))


def anthropic_request(messages: Sequence[Json]) -> dict[str, Any]:
    """`system` and `messages` for `client.messages.create`; `system` is left out if there is none.

    What stands before the conversation is the system text. Instructions within it, such as what was recalled for the
    current message, become text of the user's turn at that place: the system text and the turns before stay the same
    from request to request, so that they can be cached.
    """
    first = next((place for place, one in enumerate(messages) if one.get("role") not in _INSTRUCTIONS), len(messages))
    head = [text for one in messages[:first] if (text := _text(one.get("content"))).strip()]
    turns = _alternate(_turns(messages[first:]))
    request: dict[str, Any] = {"messages": [{"role": role, "content": _compact(blocks)} for role, blocks in turns]}
    return {"system": "\n\n".join(head), **request} if head else request


def _turns(messages: Sequence[Json]) -> Iterator[tuple[str, list[Block]]]:
    """Each message as the role and the blocks of a turn; calls only with all their results right behind them."""
    ids = _Ids()
    place = 0
    while place < len(messages):
        message, place = messages[place], place + 1
        role = "assistant" if message.get("role") == "assistant" else "user"
        if message.get("role") == "tool":  # without its call
            yield "user", _texts(f"[result of a tool] {_text(message.get('content'))}")
            continue
        yield role, [*_blocks(message.get("content"), role), *_texts(_text(message.get("refusal")))]
        calls = [one for one in message.get("tool_calls") or () if isinstance(one, Mapping)]
        if not calls:
            continue
        results = _results(messages, place)
        if {one.get("id") for one in calls} == results.keys() and len(calls) == len(results):
            place += len(results)
            named = {call["id"]: ids.new(call["id"]) for call in calls}
            yield "assistant", [_use(call, named[call["id"]]) for call in calls]
            yield "user", [_result(result, named[call]) for call, result in results.items()]
        else:
            yield "assistant", [block for call in calls for block in _texts("[calls {}({})]".format(*_function(call)))]


class _Ids:
    """Ids of calls as the API wants them: of few kinds of signs, each once in a request."""

    def __init__(self) -> None:
        self._used: set[str] = set()

    def new(self, given: str) -> str:
        plain = _NOT_IN_IDS.sub("_", given) or "call"
        name, number = plain, 1
        while name in self._used:
            number += 1
            name = f"{plain}_{number}"
        self._used.add(name)
        return name


def _results(messages: Sequence[Json], place: int) -> dict[str, Json]:
    """The results that stand from a place on, by the id of their call; none from one on that stands twice."""
    found: dict[str, Json] = {}
    for message in messages[place:]:
        call = message.get("tool_call_id")
        if message.get("role") != "tool" or not isinstance(call, str) or call in found:
            break
        found[call] = message
    return found


def _function(call: Json) -> tuple[str, str]:
    function = call.get("function")
    given = function if isinstance(function, Mapping) else {}
    arguments = given.get("arguments", "")
    return str(given.get("name") or "tool"), arguments if isinstance(arguments, str) else json.dumps(arguments)


def _use(call: Json, name: str) -> Block:
    function, arguments = _function(call)
    try:
        given = json.loads(arguments or "{}")
    except ValueError:
        given = arguments
    given = given if isinstance(given, dict) else {"input": given}
    return {"type": "tool_use", "id": name, "name": _NOT_IN_IDS.sub("_", function)[:128], "input": given}


def _result(message: Json, call: str) -> Block:
    blocks = _blocks(message.get("content"), "user")
    return {"type": "tool_result", "tool_use_id": call, **({"content": _compact(blocks)} if blocks else {})}


# parts


def _blocks(content: Any, role: str) -> list[Block]:
    if isinstance(content, str):
        return _texts(content)
    parts = content if isinstance(content, list | tuple) else ()
    return [block for part in parts for block in _part(part, role)]


def _texts(text: str) -> list[Block]:
    """A block of text; the API refuses one without any sign that shows."""
    return [{"type": "text", "text": text}] if text.strip() else []


def _part(part: Any, role: str) -> list[Block]:
    if not isinstance(part, Mapping):
        return _texts(part) if isinstance(part, str) else []
    for name in ("text", "refusal"):
        if isinstance(part.get(name), str):
            return _texts(part[name])
    kind = str(part.get("type", "part"))
    picture, file = part.get("image_url"), part.get("file")
    block = None
    if role == "user" and isinstance(picture, Mapping):
        block = _picture(str(picture.get("url", "")))
    elif role == "user" and isinstance(file, Mapping):
        block = _document(file)
    elif role == "user" and kind in {"image", "document"} and isinstance(part.get("source"), Mapping):
        block = dict(part)  # as it came from this API
    return [block] if block else _texts(f"[{kind.removesuffix('_url').removeprefix('input_')}]")


def _picture(url: str) -> Block | None:
    data = _DATA.fullmatch(url)
    if data is None:
        link = url.startswith(("https://", "http://"))
        return {"type": "image", "source": {"type": "url", "url": url}} if link else None
    if data[1] not in _PICTURES:
        return None
    return {"type": "image", "source": {"type": "base64", "media_type": data[1], "data": data[2]}}


def _document(file: Json) -> Block | None:
    data = _DATA.fullmatch(str(file.get("file_data", "")))
    if data is None or data[1] != "application/pdf":
        return None
    source = {"type": "base64", "media_type": data[1], "data": data[2]}
    title = {"title": file["filename"]} if isinstance(file.get("filename"), str) and file["filename"] else {}
    return {"type": "document", "source": source, **title}


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in _blocks(content, "assistant"))


# turns


def _alternate(turns: Iterator[tuple[str, list[Block]]]) -> list[tuple[str, list[Block]]]:
    """Turns of the user and the assistant by turns, the user's first; neighbours of one role are one."""
    found: list[tuple[str, list[Block]]] = []
    for role, blocks in turns:
        if not blocks:
            continue
        if found and found[-1][0] == role:
            found[-1][1].extend(blocks)
        else:
            found.append((role, blocks))
    if not found or found[0][0] == "assistant":
        found.insert(0, ("user", _texts(OPENING)))
    if found[-1][0] == "assistant" and (last := found[-1][1][-1])["type"] == "text":
        last["text"] = last["text"].rstrip()  # the API refuses spaces where the assistant is to go on
    return found


def _compact(blocks: Sequence[Block]) -> Any:
    """Blocks; text alone as text."""
    return blocks[0]["text"] if len(blocks) == 1 and blocks[0]["type"] == "text" else list(blocks)
