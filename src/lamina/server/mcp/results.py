"""Values as a client gets them: plain data without nulls, and text without characters that do not show."""

import json
import unicodedata
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from lamina.context.rendering import Blocks, fence
from lamina.knowledge.fact_words import describe_fact
from lamina.log.messages import text_of
from lamina.log.transcript import indent
from lamina.server.mcp.tools import FactOutput, ForgetOutput, HitOutput, MessageOutput, SessionOutput
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
    return text if text.isascii() and text.isprintable() else text.translate(_ESCAPES)


class _Escapes(dict[int, str | int]):
    """Each character as it is shown, found once."""

    def __missing__(self, code: int) -> str | int:
        sign = chr(code)
        hides = sign not in f"\n\t{_JOINERS}" and unicodedata.category(sign) in {"Cc", "Cf"}
        self[code] = _escape(sign) if hides else code
        return self[code]


_ESCAPES = _Escapes()


def _escape(sign: str) -> str:
    if ord(sign) <= _BASIC:
        return f"\\u{ord(sign):04x}"
    high, low = divmod(ord(sign) - _BASIC - 1, 0x400)  # as JSON writes it
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"


def as_text(data: Data) -> str:
    """Data as JSON between tags that say it is data; it reads back as the same."""
    return fence(visible(json.dumps(data, ensure_ascii=False)))


def _view(value: Any, output: type[BaseModel], **more: Any) -> Data:
    """The fields of a value that a tool gives; those without a value are left out."""
    encoded = encode(value) | more
    return {name: encoded[name] for name in output.model_fields if encoded.get(name) is not None}


def fact(one: Fact) -> Data:
    return _view(one, FactOutput, text=describe_fact(one), quote=one.quote or None)


def hit(one: Hit) -> Data:
    return _view(one, HitOutput, score=round(one.score, 4))


def message(one: Message) -> Data:
    return _view(one, MessageOutput)


def session(one: Session) -> Data:
    return _view(one, SessionOutput, session_id=one.id, messages=one.counters.messages)


def receipt(one: Receipt, preview: list[str]) -> Data:
    found = encode(one)
    done: dict[str, str | None] = {"receipt": one.id}
    if one.dry_run or one.empty:
        done = dict.fromkeys(("receipt", "digest", "scrub", "scrubbed"))
    summaries = found["summaries"] + found["digests"]
    return _view(one, ForgetOutput, dry_run=one.dry_run, empty=one.empty, summaries=summaries, preview=preview, **done)


_COUNTED = ("messages", "redacted", "sessions", "summaries", "facts", "episodes")


def forget_text(data: Data) -> str:
    """What a forgetting did, or would do, in a line; the texts that would go stand between tags."""
    if data["empty"]:
        return visible(f"nothing to delete: {data.get('nothing') or 'there is nothing of that kind'}")
    counts = ", ".join(f"{len(data[name])} {_noun(name, len(data[name]))}" for name in _COUNTED if data[name])
    left = data["mentions_left"]
    rest = f"; {len(left)} messages still mention it in other words" if left else ""
    if not data["dry_run"]:
        return f"deleted: {counts}{rest}"
    shown = fence(visible("\n".join(f"- {text}" for text in data["preview"]))) + "\n" if data["preview"] else ""
    head = f"nothing deleted yet; this would go: {counts}{rest}\n"
    return f"{head}{shown}Show this to the user. Call forget again with confirm=true if they agree."


def _noun(name: str, number: int) -> str:
    word = "messages in part" if name == "redacted" else "summaries" if name == "summaries" else name
    return word if number != 1 else {"redacted": "message in part", "summaries": "summary"}.get(name, name[:-1])


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
    """A conversation as markdown; messages are quoted, so that they cannot look like the page's own text."""
    about = found.session
    days = f"{about.started_at.date()} to {about.last_at.date()}"
    counted = f"{about.status}, {about.counters.messages} messages, {days}"
    lines = [f"# Session {_one_line(about.id)}", "", f"{_one_line(about.user_id)}, {counted}."]
    if about.title:
        lines += ["", f"Title: {_one_line(about.title)}"]
    if found.chunks:
        lines += ["", "## Summaries"]
        for chunk in found.chunks:
            lines += ["", *_quote(chunk.text)]
    if found.active_facts:
        lines += ["", "## Facts", *(f"- {_one_line(describe_fact(one))}" for one in found.active_facts)]
    lines += ["", "## Newest messages"]
    for one in found.recent:
        lines += ["", f"### {one.seq}, {one.role}, {one.created_at:%Y-%m-%d %H:%M}", *_quote(one.text)]
    return page("\n".join(lines))


def page(markdown: str) -> str:
    """Markdown between tags that say it is data."""
    return fence(visible(markdown.strip("\n"))) + "\n"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _quote(text: str) -> list[str]:
    return [f"> {line}" for line in text.splitlines() or [""]]
