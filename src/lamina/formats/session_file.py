"""The session file of `medium_term`: one session as markdown, and the records of one that is read back."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from lamina.errors import InputError
from lamina.folding import layouts
from lamina.formats.json_lines import Record, message_record, record
from lamina.log.erased import DROPPED
from lamina.profiles import PROFILES, Profile
from lamina.protocols.models import TokenCounter
from lamina.values.message import ROLES, Message, Span
from lamina.values.session import Session
from lamina.values.summary import Recipe, Summary

_BREAK = re.compile(r"(\r\n|\r|\n)")
_INDENTED = re.compile(r"(\r\n|\r|\n) {4}")
_HEAD = re.compile(r"# Session:[ \t]*(?P<id>[^\n]*\S)[ \t]*(?:\n|\Z)")
_METADATA = re.compile(r"^## Metadata[ \t]*$", re.MULTILINE)
_SHORT = re.compile(r"^## Short-Term Messages(?: \(Last \d+\))?[ \t]*(?:\n|\Z)", re.MULTILINE)
_MEDIUM = re.compile(r"^## Medium-Term Summary[ \t]*(?:\n|\Z)", re.MULTILINE)
_ENTRY = re.compile(r"^[-*] ([^:\n]+?)[ \t]*:[ \t]*([^\n]*?)[ \t]*$", re.MULTILINE)
_LINE_END = re.compile(r"\r\n|\r|\n")
_NOT_ENDED = frozenset(("", "-", "\u2013", "\u2014", "ongoing", "active", "open", "in progress", "none", "null", "n/a"))
_SAID = re.compile(r"^\*\*Message (\d+) \(([^)\n]*)\):\*\* ?(.*?)(?=^\*\*Message \d+ \(|\Z)", re.DOTALL | re.MULTILINE)
_COVERS = re.compile(r"1-(\d+)")
_MAX_MESSAGES = 100_000  # of a session file: each message that it does not have takes a place in the log


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFile:
    """A session file read back."""

    session_id: str
    title: str | None
    start: datetime
    end: datetime | None
    message_count: int
    summary_version: int
    covered: int  # messages 1 to this one are in the summary
    messages: tuple[tuple[int, str, str], ...]  # number, speaker, text
    summary: str


# writing


def write(session: Session, messages: Sequence[Message], summaries: Sequence[Summary]) -> str:
    """A session with its newest messages and its live summaries."""
    end = "" if session.ended_at is None else layouts.stamp(session.ended_at)
    version = max((one.version for one in summaries), default=0)
    metadata = {
        **({} if session.title is None else {"Title": session.title}),
        "Start": layouts.stamp(session.started_at),
        "End": end,
        "Message Count": session.counters.messages,
        "Summary Version": version,
        **({"Summary Covers": f"1-{session.counters.cursor}"} if session.counters.cursor else {}),
    }
    said = "\n".join(f"**Message {message.seq} ({_who(message)}):** {_indent(message.text)}" for message in messages)
    summary = "\n\n".join(one.text for one in summaries)
    return (
        f"# Session: {session.id}\n\n## Metadata\n"
        + "".join(f"- {name}: {value}\n" for name, value in metadata.items())
        + f"\n## Short-Term Messages (Last {len(messages)})\n{said}\n\n## Medium-Term Summary\n{summary}\n"
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


# reading


def read(text: str) -> SessionFile:
    """A session file read back; an error says what is missing."""
    head, metadata, said, summary = _sections(_with_own_line_ends(text.lstrip("\ufeff \t\r\n")))
    messages = tuple(
        (int(number), who, _INDENTED.sub(r"\1", words.rstrip("\n"))) for number, who, words in _SAID.findall(said)
    )
    numbers = [number for number, _, _ in messages]
    try:
        count = int(metadata["Message Count"])
        found = SessionFile(
            session_id=head,
            title=metadata.get("Title") or None,
            start=_moment(metadata["Start"]),
            end=_end(metadata.get("End", "")),
            message_count=count,
            summary_version=int(metadata["Summary Version"] if summary else metadata.get("Summary Version") or 0),
            covered=_covered(metadata.get("Summary Covers", ""), numbers, count),
            messages=messages,
            summary=(summary or "").strip("\n"),
        )
    except KeyError as error:
        raise InputError(f"a session file whose metadata cannot be read: it has no {error.args[0]}") from None
    except ValueError as error:
        raise InputError(f"a session file whose metadata cannot be read: {error}") from None
    _check_numbers(numbers, count, found.covered)
    if count and not numbers and said.strip():
        raise InputError("a session file none of whose messages begins with `**Message N (Speaker):**`")
    if summary is None and len(numbers) < count:
        raise InputError(
            f"a session file without `## Medium-Term Summary`, though it has {len(numbers)} of {count} messages"
        )
    return found


def _with_own_line_ends(text: str) -> str:
    """A text whose lines end as they were written; an editor or a system may have translated all of them."""
    found = _LINE_END.search(text)
    return text if found is None or found[0] == "\n" else text.replace(found[0], "\n")


def _sections(text: str) -> tuple[str, dict[str, str], str, str | None]:
    """Id, metadata, messages and summary; short sessions may have no summary yet."""
    head, metadata, short = _HEAD.match(text), _METADATA.search(text), _SHORT.search(text)
    parts = {"# Session: …": head, "## Metadata": metadata, "## Short-Term Messages": short}
    missing = [f"`{name}`" for name, found in parts.items() if found is None]
    if head is None or metadata is None or short is None:
        raise InputError(
            f"not a session file: it has no {' and no '.join(missing)}; one begins with `# Session: …` and has"
            " `## Metadata`, `## Short-Term Messages` and, for what is not shown, `## Medium-Term Summary`"
        )
    medium = _MEDIUM.search(text, short.end())
    return (
        head["id"],
        dict(_ENTRY.findall(text, metadata.end(), short.start())),
        text[short.end() : medium.start() if medium else len(text)],
        text[medium.end() :] if medium else None,
    )


def _end(text: str) -> datetime | None:
    """When a session ended; None while it goes on, however that is said."""
    return None if text.strip("()[] ").lower() in _NOT_ENDED else _moment(text)


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text.strip())
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _covered(given: str, numbers: Sequence[int], count: int) -> int:
    """The last message that is in the summary; where the file does not say it, the last one that is not shown."""
    if match := _COVERS.fullmatch(given.strip()):
        return int(match[1])
    return numbers[0] - 1 if numbers else count


def _check_numbers(numbers: Sequence[int], count: int, covered: int) -> None:
    if numbers != sorted(set(numbers)) or (numbers and not 1 <= numbers[0] <= numbers[-1] <= count):
        raise InputError(f"not numbered upwards, from 1 to its Message Count ({count})")
    if not 0 <= covered <= count <= _MAX_MESSAGES:
        raise InputError(
            f"wrong about its {count} messages, of which {covered} are in its summary; "
            f"there can be {_MAX_MESSAGES:,}, and no more of them in the summary"
        )


def is_stored(file: SessionFile, stored: Sequence[Message]) -> bool:
    """Whether all messages of a file are those of the session that it was written from."""
    texts = {message.seq: message.text for message in stored}
    return bool(file.messages) and all(texts.get(number) == text for number, _, text in file.messages)


# records


def records(file: SessionFile, owner: str | None, profile: Profile, counter: TokenCounter) -> Iterator[Record]:
    """A session with all its messages and its summary; messages that the file does not have are left without words."""
    covered = file.covered if file.summary else 0
    head: Record = {"type": "session", "id": file.session_id, "user_id": owner, "title": file.title}
    if file.end is not None:
        head |= {"status": "ended", "ended_at": file.end.isoformat()}
    yield head | {
        "counters": {"messages": file.message_count, "cursor": covered},
        "holds": {"summaries": int(covered > 0), "facts": 0, "episodes": 0},
    }
    yield from _messages(file)
    if covered:
        yield record(_summary(file, covered, profile, counter))


def _messages(file: SessionFile) -> Iterator[Record]:
    shown = {number: (who, text) for number, who, text in file.messages}
    first_user = next((number for number, who, _ in file.messages if _role(who)[0] == "user"), 1)
    for number in range(1, file.message_count + 1):
        message_id, at = f"{file.session_id}:{number}", _time(file, number).isoformat()
        if number in shown:
            yield message_record(file.session_id, message_id, _body(*shown[number], message_id), at)
        else:
            role = "user" if (number - first_user) % 2 == 0 else "assistant"
            body = {"role": role, "content": DROPPED}
            yield {**message_record(file.session_id, message_id, body, at), "forgotten": True}


def _time(file: SessionFile, number: int) -> datetime:
    """When a message was probably sent: the file has only the start and the end of its session."""
    if file.end is None or file.end <= file.start or file.message_count == 1:
        return file.start
    return file.start + (file.end - file.start) * (number - 1) / (file.message_count - 1)


def _body(who: str, text: str, call_id: str) -> dict[str, Any]:
    role, name = _role(who)
    message = {"role": role, "content": text}
    if role == "tool":
        message["tool_call_id"] = call_id
    return {**message, "name": name} if name else message


def _role(who: str) -> tuple[str, str]:
    """Role and name from the label of a message: `User`, or `Asha, user`."""
    name, _, last = who.rpartition(", ")
    return (last.lower(), name) if last.lower() in ROLES else ("user", who)


def _summary(file: SessionFile, covered: int, profile: Profile, counter: TokenCounter) -> Summary:
    text = file.summary
    if profile.title is None or not text.startswith(profile.title):
        body = layouts.unframe(PROFILES["medium_term"].title, text)
        text = layouts.frame(profile.title, body, _time(file, covered), file.summary_version)
    return Summary(
        id=f"{file.session_id}:summary-{file.summary_version}",
        user_id="",  # the importer says whose it is
        session_id=file.session_id,
        kind=profile.kind,
        layer=1,
        version=max(1, file.summary_version),
        covers=Span(first=1, last=covered),
        turns=None,
        reads=Span(first=1, last=covered),
        inputs=(),
        text=text,
        topics=(),
        tokens=counter.count(text),
        recipe=Recipe(profile=profile.name, kind="imported", model="imported"),
        updated_at=_time(file, covered),
        created_at=_time(file, covered),
    )
