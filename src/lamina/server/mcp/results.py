"""Values as a client gets them: plain data without nulls, and text in which nothing hides."""

import json
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from lamina.context.rendering import Blocks, fence
from lamina.knowledge.fact_words import describe_fact
from lamina.log.messages import text_of
from lamina.log.transcript import indent
from lamina.values.codec import encode
from lamina.values.fact import Fact
from lamina.values.hit import Hit
from lamina.values.message import Message
from lamina.values.receipt import Receipt
from lamina.values.session import Conversation, Session

Data = dict[str, Any]

_JOINERS = "\u200c\u200d"  # scripts and emoji need them
_BASIC = 0xFFFF


def visible(text: str) -> str:
    """Text in which characters that have no shape (controls, marks of direction, tags) are written out."""
    return text if text.isascii() and text.isprintable() else text.translate(_SHOWN)


class _Shown(dict[int, str | int]):
    """Each sign as it is shown, found out once."""

    def __missing__(self, code: int) -> str | int:
        sign = chr(code)
        hides = sign not in f"\n\t{_JOINERS}" and unicodedata.category(sign) in {"Cc", "Cf"}
        self[code] = _escaped(sign) if hides else code
        return self[code]


_SHOWN = _Shown()


def _escaped(sign: str) -> str:
    if ord(sign) <= _BASIC:
        return f"\\u{ord(sign):04x}"
    high, low = divmod(ord(sign) - _BASIC - 1, 0x400)  # as JSON writes it
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"


def as_text(data: Data) -> str:
    """Data as JSON between tags that say it is data; it reads back as the same."""
    return fence(visible(json.dumps(data, ensure_ascii=False)))


_FACT = (
    "id", "type", "category", "key", "value", "text", "status", "confidence", "importance", "learnt_at", "valid_from",
    "valid_until", "tags", "quote", "session_id", "message_id",
)  # fmt: skip
_HIT = ("id", "kind", "text", "created_at", "score", "session_id", "role")
_MESSAGE = ("id", "seq", "role", "text", "created_at")
_SESSION = ("id", "user_id", "status", "messages", "started_at", "last_at")
_SHORT = {"session_id": "session", "created_at": "when", "seq": "number"}  # names that tools have for fields
_SESSION_SHORT = {"id": "session", "user_id": "user", "started_at": "started", "last_at": "last"}


def _view(value: Any, fields: Sequence[str], names: Mapping[str, str] = _SHORT, **more: Any) -> Data:
    """Some fields of an encoded value, by the names that tools have for them; what is null is left out."""
    encoded = encode(value) | more
    return {names.get(name, name): encoded[name] for name in fields if encoded[name] is not None}


def fact(one: Fact) -> Data:
    return _view(one, _FACT, text=describe_fact(one), quote=one.quote or None)


def hit(one: Hit) -> Data:
    return _view(one, _HIT, score=round(one.score, 4))


def message(one: Message) -> Data:
    return _view(one, _MESSAGE)


def session(one: Session) -> Data:
    return _view(one, _SESSION, _SESSION_SHORT, messages=one.counters.messages)


def receipt(one: Receipt, preview: list[str]) -> Data:
    found = encode(one)
    erased = ("messages", "redacted", "sessions", "summaries", "facts", "episodes", "mentions_left")
    done = {} if one.rehearsal or one.empty else {"receipt": one.id}
    if done:
        done |= {name: found[name] for name in ("digest", "scrub", "scrubbed") if found[name] is not None}
    return {
        "dry_run": one.rehearsal,
        "target": one.target,
        "empty": one.empty,
        **{name: found[name] for name in erased},
        "summaries": found["summaries"] + found["digests"],
        "preview": preview,
        **done,
    }


def context_text(blocks: Blocks) -> str:
    """What a context has besides the current message, as one text without tags."""
    before = blocks.current if blocks.query is not None else blocks.current[:-1]
    parts = [blocks.memory, _transcript(blocks.recent), blocks.late, _transcript(before)]
    return "\n\n".join(part for part in parts if part)


def _transcript(messages: Sequence[Data]) -> str:
    lines = [indent(f"{one.get('name') or one['role'].capitalize()}: {text_of(one)}") for one in messages]
    return "\n".join(["## Recent messages", *lines]) if lines else ""


# Pages


def session_page(found: Conversation) -> str:
    """A conversation as markdown; what was said stands in quotes, so that it cannot pass for the page's own."""
    about = found.session
    days = f"{about.started_at.date()} to {about.last_at.date()}"
    counted = f"{about.status}, {about.counters.messages} messages, {days}"
    lines = [f"# Session {_one_line(about.id)}", "", f"{_one_line(about.user_id)}, {counted}."]
    if found.chunks:
        lines += ["", "## Summaries"]
        for chunk in found.chunks:
            lines += ["", *_quoted(chunk.text)]
    if found.active_facts:
        lines += ["", "## Facts", *(f"- {_one_line(describe_fact(one))}" for one in found.active_facts)]
    lines += ["", "## Newest messages"]
    for one in found.recent:
        lines += ["", f"### {one.seq}, {one.role}, {one.created_at:%Y-%m-%d %H:%M}", *_quoted(one.text)]
    return page("\n".join(lines))


def page(markdown: str) -> str:
    """Markdown between tags that say it is data."""
    return fence(visible(markdown.strip("\n"))) + "\n"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _quoted(text: str) -> list[str]:
    return [f"> {line}" for line in text.splitlines() or [""]]
