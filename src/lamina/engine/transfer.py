"""Sessions out and in: JSON Lines with everything, and the markdown file of document 000."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from lamina.engine.ingest import Ingest
from lamina.engine.parts import Parts, Progress
from lamina.errors import InputError, NotFound
from lamina.policy import documents
from lamina.types import ROLES, Message, Milestone, Session, Span

FORMAT = "lamina-sessions"
VERSION = 1
_PAGE = 500
_BATCH = 1_000
_MARKDOWN_MESSAGES = 10
_WRITE_CHARACTERS = 1_000_000
_LINE_KEYS = frozenset({"type", "session_id", "user_id", "body"})  # what a line says beside the message itself


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What an import brought in; messages that were there already are not counted again."""

    sessions: int
    messages: int
    duplicates: int


class Transfer:
    """Writes sessions to lines of text and reads them back."""

    def __init__(self, parts: Parts, ingest: Ingest) -> None:
        self._parts = parts
        self._ingest = ingest

    async def write(self, target: Path, session_id: str | None, user_id: str | None, progress: Progress | None) -> int:
        """Write lines to a file, which is there only once it is whole; returns its bytes."""
        part = target.with_name(target.name + ".part")
        try:
            return await self._written(part, target, self.lines(session_id, user_id, progress))
        except OSError as error:
            raise InputError(f"{target} cannot be written: {error}") from None
        finally:
            await asyncio.to_thread(part.unlink, missing_ok=True)

    async def _written(self, part: Path, target: Path, lines: AsyncIterator[str]) -> int:
        waiting: list[str] = []
        size = held = 0
        with part.open("wb") as file:
            async for line in lines:
                waiting.append(line)
                held += len(line)
                if held > _WRITE_CHARACTERS:
                    size += await asyncio.to_thread(file.write, "".join(waiting).encode())
                    waiting, held = [], 0
            size += await asyncio.to_thread(file.write, "".join(waiting).encode())
        await asyncio.to_thread(part.replace, target)
        return size

    async def lines(self, session_id: str | None, user_id: str | None, progress: Progress | None) -> AsyncIterator[str]:
        """Sessions with messages, summaries, facts and milestones, one JSON object a line."""
        sessions = await self._sessions(session_id, user_id)
        yield _line({"type": "header", "format": FORMAT, "version": VERSION, "sessions": len(sessions)})
        for number, session in enumerate(sessions, 1):
            yield _line({"type": "session", **_plain(asdict(session))})
            for first in range(1, session.counters.messages + 1, _PAGE):
                for message in await self._parts.store.messages(session.id, Span(first=first, last=first + _PAGE - 1)):
                    yield _line(_message_record(message))
            for summary in await self._parts.store.summaries(session.id, live=False):
                yield _line({"type": "summary", **_plain(asdict(summary))})
            for fact in await self._parts.store.facts(session.user_id, session.id):
                yield _line({"type": "fact", **_plain(asdict(fact))})
            for milestone in await self._parts.store.milestones(session.id):
                yield _line({"type": "milestone", **_plain(asdict(milestone))})
            if progress is not None:
                progress(number, len(sessions))

    async def _sessions(self, session_id: str | None, user_id: str | None) -> list[Session]:
        if session_id is not None:
            found = await self._parts.store.session(session_id)
            if found is None:
                raise NotFound(f"no session {session_id!r}")
            return [found]
        sessions: list[Session] = []
        while page := await self._parts.store.sessions(
            user_id=user_id, limit=1000, after=sessions[-1].id if sessions else None
        ):
            sessions.extend(page)
        return sessions

    async def markdown(self, session_id: str) -> str:
        """One session as the markdown file of document 000."""
        (session,) = await self._sessions(session_id, None)
        count = session.counters.messages
        span = Span(first=max(1, count - _MARKDOWN_MESSAGES + 1), last=count)
        messages = await self._parts.store.messages(session.id, span)
        live = await self._parts.store.summaries(session.id)
        summary = "\n\n".join(summary.text for summary in live)
        return documents.session_markdown(session, messages, summary, max((s.version for s in live), default=0))

    async def take_lines(self, lines: Iterable[str], user_id: str | None, progress: Progress | None) -> Imported:
        """Read exported sessions, or plain chat messages, one JSON object a line. What is there already is left."""
        sessions: dict[str, dict[str, Any]] = {}
        totals = {"messages": 0, "duplicates": 0}
        waiting: list[dict[str, Any]] = []
        milestones: list[dict[str, Any]] = []
        for number, record in _records(lines):
            kind = record.get("type", "message")
            if waiting and not _goes_with(waiting, record):
                await self._take_batch(waiting, sessions, user_id, totals)
                waiting = []
            if kind == "header":
                _check_header(record)
            elif kind == "session":
                sessions[str(record.get("id"))] = record
            elif kind == "milestone":
                milestones.append(record)
            elif kind == "unreadable":
                raise InputError(f"line {number} {record['reason']}; everything before it was imported")
            elif kind not in _DERIVED:
                waiting.append(record)
            if progress is not None and number % 100 == 0:
                progress(number, 0)
        if waiting:
            await self._take_batch(waiting, sessions, user_id, totals)
        await self._restore(sessions, milestones)
        return Imported(sessions=len(sessions), messages=totals["messages"], duplicates=totals["duplicates"])

    async def _take_batch(
        self,
        batch: list[dict[str, Any]],
        sessions: dict[str, dict[str, Any]],
        user_id: str | None,
        totals: dict[str, int],
    ) -> None:
        session_id = batch[0].get("session_id")
        if session_id is None:
            raise InputError("a message line has no session_id; give one, or add the messages with `lamina add`")
        known = sessions.setdefault(session_id, {})
        owner = user_id or known.get("user_id") or batch[0].get("user_id") or "default"
        added = await self._ingest.add(
            [_message_of(record) for record in batch],
            user_id=owner,
            session_id=session_id,
            agent_id=known.get("agent_id"),
            key=None,
        )
        totals["messages"] += len(added.ids) - len(added.duplicates)
        totals["duplicates"] += len(added.duplicates)

    async def _restore(self, sessions: dict[str, dict[str, Any]], milestones: list[dict[str, Any]]) -> None:
        """What was set by hand: milestones, and the status of sessions."""
        try:
            await self._restored(sessions, milestones)
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"a session or milestone line cannot be read ({error!r}); the messages were imported"
            ) from None

    async def _restored(self, sessions: dict[str, dict[str, Any]], milestones: list[dict[str, Any]]) -> None:
        for record in milestones:
            values = {name: record[name] for name in ("id", "session_id", "turn", "title")}
            milestone = Milestone(**values, created_at=datetime.fromisoformat(record["created_at"]))
            await self._parts.store.add_milestone(milestone)
        for session_id, record in sessions.items():
            status = record.get("status", "active")
            found = await self._parts.store.session(session_id)
            if found is not None and status not in {"active", found.status}:
                ended = record.get("ended_at")
                at = self._parts.now() if ended is None else datetime.fromisoformat(ended)
                await self._parts.store.set_status(session_id, status, at)

    async def take_markdown(self, text: str, user_id: str | None) -> Imported:
        """Read a session file back. Its summary, whose messages are gone, becomes the first message of the log."""
        document = documents.parsed_session(text)
        messages: list[dict[str, Any]] = []
        if document.summary:
            messages.append(
                {
                    "id": f"{document.session_id}:summary",
                    "role": "system",
                    "content": document.summary,
                    "created_at": document.start,
                    "metadata": {"imported": "summary", "version": document.summary_version},
                }
            )
        for number, who, said in document.messages:
            messages.append(
                {
                    "id": f"{document.session_id}:{number}",
                    **_spoken(who, said, f"{document.session_id}:{number}"),
                    "created_at": document.start + timedelta(seconds=number),
                    "metadata": {"number": number},
                }
            )
        added = await self._ingest.add(
            messages, user_id=user_id or "default", session_id=document.session_id, agent_id=None, key=None
        )
        if document.end is not None:
            await self._parts.store.set_status(document.session_id, "ended", document.end)
        fresh = len(added.ids) - len(added.duplicates)
        return Imported(sessions=1, messages=fresh, duplicates=len(added.duplicates))


def _spoken(who: str, said: str, call: str) -> dict[str, Any]:
    """A message from its label in a session file: `User`, or `Asha, user`."""
    name, _, last = who.rpartition(", ")
    role = last.lower()
    if role not in ROLES:
        return {"role": "user", "content": said, "name": who}
    message = {"role": role, "content": said}
    if role == "tool":
        message["tool_call_id"] = call
    return {**message, "name": name} if name else message


_DERIVED = frozenset({"summary", "fact"})  # written again from the messages


def _records(lines: Iterable[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects on the lines; one that cannot be read comes as such, after what was read before it."""
    for number, text in enumerate(lines, 1):
        if not text.strip():
            continue
        try:
            record = json.loads(text)
        except (ValueError, RecursionError) as error:
            record = {"type": "unreadable", "reason": f"is not JSON: {error}"}
        if not isinstance(record, dict):
            record = {"type": "unreadable", "reason": "is not a JSON object"}
        yield number, record


def _goes_with(waiting: list[dict[str, Any]], record: dict[str, Any]) -> bool:
    """Whether a line may be added in one batch with those that wait."""
    kind = record.get("type", "message")
    same = waiting[-1].get("session_id") == record.get("session_id")
    return same and len(waiting) < _BATCH and kind not in {"header", "session", "unreadable"}


def _check_header(record: dict[str, Any]) -> None:
    if record.get("format") != FORMAT or record.get("version") != VERSION:
        raise InputError(
            f"the file says format {record.get('format')!r} version {record.get('version')!r}; "
            f"this Lamina reads {FORMAT!r} version {VERSION}"
        )


def _message_record(message: Message) -> dict[str, Any]:
    """A message as one flat line; apart, as `body`, if it has keys that a line uses itself."""
    clashes = any(key in message.body for key in _LINE_KEYS)
    said: dict[str, Any] = {"body": message.body} if clashes else dict(message.body)
    record = {"type": "message", "session_id": message.session_id, "id": message.id, **said}
    record["created_at"] = message.created_at.isoformat()
    if message.metadata:
        record["metadata"] = message.metadata
    if message.model is not None:
        record["model"] = message.model
    return record


def _message_of(record: dict[str, Any]) -> dict[str, Any]:
    envelope = {key: value for key, value in record.items() if key not in _LINE_KEYS}
    apart = record.get("body")
    return {**apart, **envelope} if isinstance(apart, dict) and "role" not in record else envelope


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.isoformat() if hasattr(value, "isoformat") else value


def _line(record: dict[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"
