"""What Anthropic's Messages API wants of a request, as far as it can be checked without it."""

import re
from typing import Any


def check_request(request: dict[str, Any]) -> None:
    """Fail where the API would answer with 400."""
    assert set(request) <= {"system", "messages"}
    assert "system" not in request or request["system"].strip()
    messages = request["messages"]
    roles = [one["role"] for one in messages]
    assert roles == [("user", "assistant")[place % 2] for place in range(len(roles))]
    assert roles, "no message"
    blocks = [_blocks(one) for one in messages]
    seen: set[str] = set()
    for place, own in enumerate(blocks):
        _check_blocks(own)
        calls = [block["id"] for block in own if block["type"] == "tool_use"]
        results = [block["tool_use_id"] for block in own if block["type"] == "tool_result"]
        assert roles[place] == "assistant" or not calls
        assert not seen & set(calls), "an id stands twice"
        seen |= set(calls)
        before = [block["id"] for block in blocks[place - 1] if block["type"] == "tool_use"] if place else []
        assert sorted(results) == sorted(before), "calls and the results behind them"
        assert [block["type"] for block in own][: len(results)] == ["tool_result"] * len(results), "results come first"
    if roles[-1] == "assistant" and blocks[-1][-1]["type"] == "text":
        assert blocks[-1][-1]["text"] == blocks[-1][-1]["text"].rstrip()


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _check_blocks(blocks: list[dict[str, Any]]) -> None:
    assert blocks, "an empty message"
    for block in blocks:
        if block["type"] == "text":
            assert block["text"].strip()
        elif block["type"] == "tool_use":
            assert re.fullmatch(r"[a-zA-Z0-9_-]+", block["id"])
            assert re.fullmatch(r"[a-zA-Z0-9_-]{1,128}", block["name"])
            assert isinstance(block["input"], dict)
        elif block["type"] == "tool_result" and not isinstance(block.get("content", ""), str):
            _check_blocks(block["content"])
