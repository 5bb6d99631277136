"""Values as a client gets them: plain data without nulls, and text in which nothing hides."""

import json
import unicodedata
from typing import Any

from lamina.context.rendering import fenced, unfenced
from lamina.knowledge.standing import said
from lamina.log.messages import text_of
from lamina.log.transcript import indented
from lamina.values.fact import Fact
from lamina.values.hit import Hit
from lamina.values.manifest import Context
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
    return fenced(visible(json.dumps(data, ensure_ascii=False)))


def _told(**values: Any) -> Data:
    return {name: value for name, value in values.items() if value is not None}


def fact(one: Fact) -> Data:
    return _told(
        id=one.id,
        type=one.type,
        category=one.category,
        key=one.key,
        value=one.value,
        text=said(one),
        status=one.status,
        confidence=one.confidence,
        importance=one.importance,
        learnt_at=one.learnt_at.isoformat(),
        valid_from=one.valid_from.isoformat(),
        valid_until=None if one.valid_until is None else one.valid_until.isoformat(),
        tags=list(one.tags),
        quote=one.quote or None,
        session=one.session_id,
        message_id=one.message_id,
    )


def hit(one: Hit) -> Data:
    return _told(
        id=one.id,
        kind=one.kind,
        text=one.text,
        when=one.created_at.isoformat(),
        score=round(one.score, 4),
        session=one.session_id,
        role=one.role,
    )


def message(one: Message) -> Data:
    return {
        "id": one.id,
        "number": one.seq,
        "role": one.role,
        "text": one.text,
        "when": one.created_at.isoformat(),
    }


def session(one: Session) -> Data:
    return {
        "session": one.id,
        "user": one.user_id,
        "status": one.status,
        "messages": one.counters.messages,
        "started": one.started_at.isoformat(),
        "last": one.last_at.isoformat(),
    }


def receipt(one: Receipt, preview: list[str]) -> Data:
    done = not one.rehearsal and not one.empty
    return _told(
        dry_run=one.rehearsal,
        target=one.target,
        empty=one.empty,
        messages=list(one.messages),
        redacted=list(one.redacted),
        sessions=list(one.sessions),
        summaries=[*one.summaries, *one.digests],
        facts=list(one.facts),
        episodes=list(one.episodes),
        mentions_left=list(one.mentions_left),
        preview=preview,
        receipt=one.id if done else None,
        digest=one.digest if done else None,
        scrub=one.scrub if done else None,
        scrubbed=one.scrubbed if done else None,
    )


def remembered(found: Context) -> str:
    """What a context has besides the current message, as one text without tags."""
    parts: list[str] = []
    talk = False
    for one in found.messages[:-1]:
        block = unfenced(one["content"]) if one["role"] == "system" else None
        if block is not None:
            parts.append(block)
        elif not talk:
            parts.append("## Recent messages")
        talk = block is None
        if talk:
            parts[-1] += "\n" + indented(f"{one.get('name') or one['role'].capitalize()}: {text_of(one)}")
    return "\n\n".join(parts)


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
        lines += ["", "## Facts", *(f"- {_one_line(said(one))}" for one in found.active_facts)]
    lines += ["", "## Newest messages"]
    for one in found.recent:
        lines += ["", f"### {one.seq}, {one.role}, {one.created_at:%Y-%m-%d %H:%M}", *_quoted(one.text)]
    return page("\n".join(lines))


def page(markdown: str) -> str:
    """Markdown between tags that say it is data."""
    return fenced(visible(markdown.strip("\n"))) + "\n"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _quoted(text: str) -> list[str]:
    return [f"> {line}" for line in text.splitlines() or [""]]
