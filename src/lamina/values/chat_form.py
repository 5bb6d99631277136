"""A stored message in the form of OpenAI's chat API, whichever API it came from."""

from collections.abc import Mapping
from typing import Any

Json = Mapping[str, Any]

# Parts that only the API which wrote them can read: they stay in the log, and are not shown to a model again.
_PRIVATE = frozenset(("thinking", "redacted_thinking", "reasoning", "server_tool_use"))
_TEXTS = frozenset(("input_text", "output_text"))


def is_private(part: Any) -> bool:
    """Whether a part of a content is nothing that was said: thoughts, and calls of tools that the API itself runs."""
    kind = part.get("type") if isinstance(part, Mapping) else None
    return isinstance(kind, str) and (kind in _PRIVATE or kind.endswith(("_tool_result", "_call")))


def to_chat(body: Json) -> dict[str, Any]:
    """A message as it came, its parts as chat completions have them."""
    content = body.get("content")
    if not isinstance(content, list | tuple):
        return dict(body)
    parts = [_part(part) for part in content if not is_private(part)]
    if parts or not content:
        return {**body, "content": parts}
    return {**body, "content": None if body.get("tool_calls") else ""}


def _part(part: Any) -> Any:
    if not isinstance(part, Mapping):
        return part
    kind, source = part.get("type"), part.get("source")
    if isinstance(kind, str) and kind in _TEXTS:
        return {"type": "text", "text": part.get("text", "")}
    if kind == "input_image" and isinstance(part.get("image_url"), str):
        return {"type": "image_url", "image_url": {"url": part["image_url"]}}
    if kind == "input_file":
        return {
            "type": "file",
            "file": {name: part[name] for name in ("file_id", "file_data", "filename") if name in part},
        }
    if isinstance(source, Mapping) and kind in {"image", "document"}:
        return _from_source(part, kind, source)
    return part


def _from_source(part: Json, kind: str, source: Json) -> Any:
    """A picture or document of Anthropic's."""
    form = source.get("type")
    if form == "base64":
        data = f"data:{source.get('media_type')};base64,{source.get('data')}"
        if kind == "image":
            return {"type": "image_url", "image_url": {"url": data}}
        return {"type": "file", "file": {"filename": part.get("title") or "document.pdf", "file_data": data}}
    if form == "url" and kind == "image":
        return {"type": "image_url", "image_url": {"url": source.get("url")}}
    if form == "text":
        return {"type": "text", "text": source.get("data", "")}
    return part
