"""Texts with a fixed form: framed summaries, prompt inputs, merged chunks, the session file of `medium_term`."""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from lamina.errors import InputError
from lamina.log.transcript import speaker
from lamina.protocols.models import SummaryTask
from lamina.values.message import Message
from lamina.values.session import Session

_FOOTER = re.compile(r"\n*---\n\*Updated: [^|\n]* \| Version: \d+\*\s*$")
_MERGED = re.compile(r"(?:\A|\n+)(?:[-*•] )?(?:(?:Earlier|Then):[ \t]*)+")
_MAX_TOPICS = 12
_BREAK = re.compile(r"(\r\n|\r|\n)")
_FORM = re.compile(  # lines that give what is said a place in a prompt
    r"(?:^|(?<=[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]))[ \t]*(?:=== ?(?:END_)?(?:EXISTING_SUMMARY|NEW_TURNS)\b|</?data\b"
    r"|(?:Turn|Message) \d+[ :(]|(?:User|Assistant|System):)",
    re.IGNORECASE | re.MULTILINE,
)
_INDENTED = re.compile(r"(\r\n|\r|\n) {4}")


def frame(title: str | None, body: str, updated_at: datetime, version: int) -> str:
    """A rolling summary with its title and the footer that says when and which version; plain without a title."""
    if title is None:
        return body
    return f"{title}\n\n{body.strip()}\n\n---\n*Updated: {stamp(updated_at)} | Version: {version}*"


def unframe(title: str | None, text: str) -> str:
    """A summary without title and footer."""
    if title is None:
        return text
    return _FOOTER.sub("", text).removeprefix(title).strip()


def stamp(moment: datetime) -> str:
    """A moment as ISO 8601, whole seconds, UTC as Z."""
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


def merge_chunks(first: str, second: str) -> str:
    """Two chunk summaries as one, `Earlier: … Then: …`; what was merged before becomes one part."""
    return f"Earlier: {unmerge(first)}\n\nThen: {unmerge(second)}"


def unmerge(text: str) -> str:
    """A summary without the labels of a merge: its parts one after the other."""
    return _MERGED.sub("\n", text).strip("\n")


def merge_topics(*topics: Sequence[str]) -> tuple[str, ...]:
    """Topics in order, each once whatever its case; of many, those that recur and the first of each list."""
    found: dict[str, str] = {}
    ranks: dict[str, tuple[int, int, int]] = {}
    for number, several in enumerate(topics):
        for place, topic in enumerate(several):
            key = topic.casefold()
            found.setdefault(key, topic)
            times, *rest = ranks.get(key, (0, place, -number))
            ranks[key] = (times - 1, rest[0], rest[1])
    chosen = set(sorted(found, key=ranks.__getitem__)[:_MAX_TOPICS])
    return tuple(topic for key, topic in found.items() if key in chosen)


# What a prompt works on


def fill(template: str, values: Mapping[str, str]) -> str:
    """A template with its [PLACEHOLDERS] filled; what is filled in is not looked at again."""
    return re.sub(r"\[([A-Z_]+)\]", lambda found: values.get(found.group(1), found.group()), template)


def number_messages(messages: Sequence[Message]) -> str:
    """Messages with their numbers: `Message 3 (User): …`."""
    return "\n".join(f"Message {message.seq} ({_caller(message)}): {harmless(message.text)}" for message in messages)


def harmless(text: str) -> str:
    """What someone said, with `> ` before lines that could pass for the form it stands in."""
    return _FORM.sub(r"> \g<0>", text)


def _caller(message: Message) -> str:
    return " ".join(speaker(message).split())


def enclose(text: str) -> str:
    """A text between lines that it cannot have, because they name its own hash."""
    mark = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]
    return f"<data {mark}>\n{text}\n</data {mark}>"


def prompt_values(task: SummaryTask, fence: Callable[[str], str] = str) -> dict[str, str]:
    """What the placeholders of a summary's prompt stand for; `fence` sets apart what people and models have said."""
    messages = fence(number_messages(task.messages))
    return {
        "MESSAGES": messages,
        "NEW_MESSAGES": messages,
        "EXISTING_SUMMARY": fence(task.previous) if task.previous else "NONE",
        "SUMMARIES": fence("\n\n".join(task.summaries)),
        "SECTIONS": ", ".join(task.sections),
        "X": str(task.messages[0].seq) if task.messages else "0",
        "Y": str(task.messages[-1].seq) if task.messages else "0",
        "CAP": str(task.cap),
        "LEAST": str(task.least),
        "INPUT": fence(plain_input(task)),
        "TURNS_INPUT": fence(turns_input(task.previous, task.messages)),
    }


def plain_input(task: SummaryTask) -> str:
    """Everything a summary is made from, without a prompt."""
    return "\n\n".join(filter(None, (task.previous, *task.summaries, number_messages(task.messages))))


def turns_input(existing: str | None, messages: Sequence[Message]) -> str:
    """The input of the prompts of `chunked`: the existing summary or NONE, then numbered turns."""
    turns: list[list[str]] = []
    number = None
    for message in messages:
        if message.turn != number or not turns:
            turns.append([])
            number = message.turn
        turns[-1].append(f"{_caller(message)}: {harmless(message.text)}")
    body = "\n\n".join("\n".join([f"Turn {index}:", *lines]) for index, lines in enumerate(turns, 1))
    return (
        f"=== EXISTING_SUMMARY ===\n{harmless(existing) if existing else 'NONE'}\n=== END_EXISTING_SUMMARY ===\n\n"
        f"=== NEW_TURNS ===\n{body}\n=== END_NEW_TURNS ==="
    )


# The session file


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionDocument:
    """A session file read back."""

    session_id: str
    title: str | None
    start: datetime
    end: datetime | None
    message_count: int
    summary_version: int
    messages: tuple[tuple[int, str, str], ...]  # number, speaker, text
    summary: str
    rest: Mapping[str, str] = field(default_factory=dict)


def session_markdown(session: Session, messages: Sequence[Message], summary: str, version: int) -> str:
    """A session as the markdown file of `medium_term`."""
    end = "" if session.ended_at is None else stamp(session.ended_at)
    title = "" if session.title is None else f"- Title: {session.title}\n"
    lines = "\n".join(f"**Message {message.seq} ({_who(message)}):** {_indent(message.text)}" for message in messages)
    return (
        f"# Session: {session.id}\n\n## Metadata\n{title}- Start: {stamp(session.started_at)}\n- End: {end}\n"
        f"- Message Count: {session.counters.messages}\n- Summary Version: {version}\n\n"
        f"## Short-Term Messages (Last {len(messages)})\n{lines}\n\n## Medium-Term Summary\n{summary}\n"
    )


def _indent(text: str) -> str:
    """Later lines of a message are indented, so that none of them can pass for a heading or another message."""
    return _BREAK.sub(r"\1    ", text)


def _who(message: Message) -> str:
    """`User`, or `Asha, user` for a message with a name."""
    return f"{_flat(message.name)}, {message.role}" if message.name else message.role.capitalize()


def _flat(name: str) -> str:
    """A name that can stand in parentheses on one line."""
    return " ".join(re.sub(r"[()]", " ", name).split()) or "User"


_HEAD = re.compile(r"\A# Session: (?P<id>[^\n]+)\n+## Metadata\n(?P<metadata>(?:- [^\n]*\n)+)")
_SHORT = re.compile(
    r"^## Short-Term Messages \(Last \d+\)\n(?P<said>.*?)^## Medium-Term Summary\n(?P<summary>.*)",
    re.DOTALL | re.MULTILINE,
)
_SAID = re.compile(r"^\*\*Message (\d+) \(([^)\n]*)\):\*\* ?(.*?)(?=^\*\*Message \d+ \(|\Z)", re.DOTALL | re.MULTILINE)


def parse_session(text: str) -> SessionDocument:
    """A session file read back; an error says what is missing."""
    head = _HEAD.match(text)
    short = _SHORT.search(text)
    if head is None or short is None:
        raise InputError(
            "not a session file: it needs `# Session: …`, `## Metadata`, `## Short-Term Messages (Last N)` "
            "and `## Medium-Term Summary`"
        )
    metadata = dict(re.findall(r"^- ([^:\n]+): ?([^\n]*)$", head["metadata"], re.MULTILINE))
    try:
        return SessionDocument(
            session_id=head["id"].strip(),
            title=metadata.get("Title", "").strip() or None,
            start=_moment(metadata["Start"]),
            end=_moment(metadata["End"]) if metadata.get("End", "").strip() else None,
            message_count=int(metadata["Message Count"]),
            summary_version=int(metadata["Summary Version"]),
            messages=tuple(
                (int(number), who, _INDENTED.sub(r"\1", said.rstrip("\n")))
                for number, who, said in _SAID.findall(short["said"])
            ),
            summary=short["summary"].strip("\n"),
        )
    except (KeyError, ValueError) as error:
        raise InputError(f"the session file's metadata cannot be read: {error}") from None


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text.strip())
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
