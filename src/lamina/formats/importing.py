"""Import records one after the other: messages in batches, then what belongs to their session."""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from lamina.errors import BadRecords, Conflict, InputError
from lamina.forgetting.receipts import receipt_of
from lamina.formats import json_lines
from lamina.formats.foreign_values import content_hash, join_id
from lamina.formats.incoming_opt_outs import IncomingOptOuts, RestoreOptOut
from lamina.formats.json_lines import Record, Value
from lamina.formats.restorable import Forgotten, read_receipts
from lamina.formats.restore import IncomingSession, Restorer, Tally
from lamina.knowledge import projects
from lamina.knowledge.extract import Reader
from lamina.knowledge.fact_words import describe_fact, slot_of
from lamina.knowledge.projects import slot_in
from lamina.log.append import Ingest
from lamina.log.default_user import DEFAULT_USER
from lamina.log.messages import (
    SessionTaken,
    check_id,
    check_title,
    draft,
    is_older_main,
    main_owner,
    own_session_id,
)
from lamina.log.pages import single
from lamina.parts import Parts
from lamina.values.fact import Episode, Fact, Link
from lamina.values.message import Span
from lamina.values.opt_out import OptOut
from lamina.values.receipt import Receipt
from lamina.values.report import Imported
from lamina.values.session import Milestone
from lamina.values.summary import Summary

Records = AsyncIterator[tuple[str, Record]]  # each with its place in the file
Derived = TypeVar("Derived", Summary, Fact, Episode)
_BATCH = 1_000
_PROGRESS = 100  # records between two reports of progress
_FIRST_VERSION = 1
_OTHER_ID = "; choose another session_id"  # which is the file's, not the caller's to choose
_OF_ANOTHER = " by another user of this memory; import it for that user, or forget the session first"
_MAX_FAULTS = 100  # that are listed one by one


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pending:
    """A message to be added with others of its session."""

    place: str
    message: Record
    emptied: bool  # forgotten where it comes from


class Importer:
    """Imports the records of one file."""

    def __init__(
        self,
        parts: Parts,
        reader: Reader,
        user_id: str | None,
        project_id: str | None,
        forgotten: Forgotten,
        restore_opt_out: RestoreOptOut,
    ) -> None:
        self._parts = parts
        self._store = parts.store
        self._ingest = Ingest(parts, lambda: None)  # the worker is woken at the end
        self._user_id = user_id
        self._project_id = project_id
        self._forgotten = forgotten
        self._tally = Tally()
        self._restorer = Restorer(parts, reader, self._tally, forgotten)
        self._opt_outs = IncomingOptOuts(parts, restore_opt_out, self._tally.skipped)
        self._version = json_lines.VERSION
        self._sessions: dict[str, IncomingSession] = {}
        self._renamed: dict[str, str] = {}  # sessions that have other ids here
        self._current: IncomingSession | None = None  # whose messages are pending
        self._pending: list[_Pending] = []
        self._manual_facts: list[Fact] = []
        self._links: list[Link] = []
        self._milestones: list[Milestone] = []
        self._digests: dict[tuple[str, str | None], Summary] = {}

    async def run(self, records: Records, tick: Callable[[], None]) -> None:
        """Import all records, with a tick now and then; if one is wrong, all before it stay."""
        number = 0
        try:
            async for place, record in records:
                await self._import(place, record)
                number += 1
                if number % _PROGRESS == 0:
                    tick()
            await self._finish()
        except (InputError, Conflict) as error:
            await self._finish()
            done = "everything before it was imported, nothing after it" if number else "nothing was imported"
            advice = _OF_ANOTHER if isinstance(error, SessionTaken) else ""
            raise _reworded(error, f"{str(error).removesuffix(_OTHER_ID)}{advice}; {done}") from None

    @property
    def notes(self) -> list[str]:
        """What else the import did that its numbers do not say."""
        return self._opt_outs.notes

    def outcome(self, skipped: Mapping[str, int]) -> Imported:
        """What was imported so far, and left out, with what the reader of the file had skipped."""
        added = self._tally.added
        return Imported(
            sessions=len(self._sessions),
            messages=added["messages"],
            duplicates=added["duplicates"],
            summaries=added["summaries"],
            facts=added["facts"],
            episodes=added["episodes"],
            links=added["links"],
            milestones=added["milestones"],
            skipped=dict(+(self._tally.skipped + Counter(skipped))),
        )

    async def check(self, records: Records) -> None:
        """Raise BadRecords with all faults that can be seen without the store."""
        faults, count = [], 0
        async for place, record in records:
            try:
                self._check(place, record)
            except InputError as error:
                count += 1
                if count <= _MAX_FAULTS:
                    faults.append((place, str(error)))
        if faults:
            raise BadRecords(faults, count)

    def _check(self, place: str, record: Record) -> None:
        kind, record = self._read(place, record)
        if kind == "message":
            self._session_id(record, place)
            message, limits = json_lines.chat_message(record), self._parts.limits
            draft(message, place=place, now=self._parts.now(), new_id=lambda: "msg", count=len, limits=limits)
        elif kind == "header":
            self._import_header(record)
        elif kind == "session":
            head = json_lines.session_head(record, place)
            check_id(head.id, f"{place}: session_id")
            check_title(head.title or "", f"{place}: title")
        elif not self._is_outdated(kind):
            _check_value(json_lines.value(self._fill_defaults(kind, record), place), place)

    async def _import(self, place: str, record: Record) -> None:
        kind, record = self._read(place, record)
        if kind == "message":
            await self._import_message(place, record)
            return
        await self._flush()
        if kind == "header":
            self._import_header(record)
        elif kind == "session":
            head = json_lines.session_head(record, place)
            title = None if head.title is None else check_title(head.title, f"{place}: title") or None
            self._incoming(head.id, place).head = replace(head, title=title)
        elif self._is_outdated(kind):
            self._tally.skipped[f"{kind} of an older version, which will be derived again"] += 1
        else:
            await self._import_value(json_lines.value(self._fill_defaults(kind, record), place), place)

    def _read(self, place: str, record: Record) -> tuple[str, Record]:
        """What a record is, and the record with the session ids that are valid here."""
        if record.get("type") == "unreadable":
            raise InputError(f"{place} {record['reason']}")
        record = self._with_own_sessions(record)
        return json_lines.kind_of(record, place), record

    def _is_outdated(self, kind: str) -> bool:
        return self._version == _FIRST_VERSION and kind in {"summary", "fact"}

    def _with_own_sessions(self, record: Record) -> Record:
        """A record with the ids that its sessions have here."""
        if record.get("type") == "session":
            session_id, owner = record.get("id"), record.get("user_id")
            if isinstance(session_id, str) and isinstance(owner, str) and is_older_main(session_id, owner):
                self._renamed[session_id] = own_session_id(session_id, owner)
            return {**record, "id": self._own_session(session_id)}
        if "session_id" in record:
            record = {**record, "session_id": self._own_session(record["session_id"])}
        if record.get("type") == "summary" and isinstance(sources := record.get("sources"), list):
            changed = [self._with_own_sessions(one) if isinstance(one, dict) else one for one in sources]
            record = {**record, "sources": changed}
        return record

    def _own_session(self, session_id: Any) -> Any:
        """The id that a session has here: another user's main session becomes an ordinary session of the new owner."""
        if isinstance(session_id, str) and self._user_id is not None:
            return own_session_id(session_id, self._user_id)
        return self._renamed.get(session_id, session_id) if isinstance(session_id, str) else session_id

    def _import_header(self, record: Record) -> None:
        self._version = json_lines.header_version(record)

    # messages

    async def _import_message(self, place: str, record: Record) -> None:
        incoming = self._incoming(self._session_id(record, place), place)
        if incoming is not self._current or len(self._pending) >= min(_BATCH, self._parts.limits.append_messages):
            await self._flush()
        self._current = incoming
        incoming.owner = incoming.owner or record.get("user_id")
        message = json_lines.chat_message(record)
        if message.get("id") is None:  # a hash of all messages up to it: importing the file again adds nothing
            incoming.hash = content_hash(incoming.hash, message)
            message["id"] = join_id(incoming.id, incoming.hash)
        self._pending.append(_Pending(place=place, message=message, emptied=json_lines.is_forgotten(record)))

    @staticmethod
    def _session_id(record: Record, place: str) -> str:
        session_id = record.get("session_id")
        if session_id is None:
            raise InputError(f"{place} has no session_id; give one, or add the messages with `lamina add`")
        return check_id(session_id, f"{place}: session_id")

    async def _flush(self) -> None:
        """Add the pending messages."""
        batch, self._pending, incoming = self._pending, [], self._current
        if not batch or incoming is None:
            return
        wanted = []
        for one in batch:
            if any(erased.has_message(one.message["id"]) for erased in incoming.erasures):
                self._tally.skipped["message that was forgotten here with its session"] += 1
            elif one.emptied and await self._is_here(incoming, one):
                self._tally.added["duplicates"] += 1
            else:
                wanted.append(one)
        if wanted:
            await self._add(incoming, wanted)
        await self._align(incoming, batch)
        incoming.messages += len(batch)
        await self._close(incoming)

    async def _is_here(self, incoming: IncomingSession, one: _Pending) -> bool:
        """Whether a message that was forgotten elsewhere is stored here, with its words or without."""
        stored = (
            single(await self._store.messages(ids=[one.message["id"]])) if isinstance(one.message["id"], str) else None
        )
        body = {key: one.message.get(key) for key in ("role", "content")}
        if stored is None or {key: stored.body.get(key) for key in body} == body:
            incoming.emptied.append(one.message["id"])
        return stored is not None and stored.session_id == incoming.id

    async def _add(self, incoming: IncomingSession, batch: list[_Pending]) -> None:
        """Add messages at once; if one of them is wrong, those before it."""
        try:
            append = await self._ingest.prepare(
                [one.message for one in batch],
                user_id=self._owner(incoming),
                session_id=incoming.id,
                agent_id=incoming.head.agent_id if incoming.head else None,
                project_id=self._project_id or (incoming.head.project_id if incoming.head else None),
            )
            await self._ingest.check_owner(append)
            added = await self._ingest.append(append)
        except (InputError, Conflict) as error:
            if len(batch) == 1:
                raise _reworded(error, f"{batch[0].place}: {error}") from None
            for one in batch:
                await self._add(incoming, [one])
        else:
            self._tally.added["messages"] += len(added.ids) - len(added.duplicates)
            self._tally.added["duplicates"] += len(added.duplicates)
            self._tally.skipped["message of a user who has opted out"] += 0 if added.ids else len(batch)

    async def _align(self, incoming: IncomingSession, batch: list[_Pending]) -> None:
        """Note whether the messages have the same numbers here as where the file comes from."""
        if incoming.head is None or incoming.head.counters is None:
            return
        span = Span(first=incoming.messages + 1, last=incoming.messages + len(batch))
        stored = await self._store.messages(incoming.id, span)
        if [message.id for message in stored] != [one.message["id"] for one in batch]:
            incoming.aligned = False
        emptied = {one.message["id"] for one in batch if one.emptied}
        if any(message.forgotten and message.id not in emptied for message in stored):
            incoming.redacted = True

    # everything else

    def _incoming(self, session_id: object, place: str) -> IncomingSession:
        known = check_id(session_id, f"{place}: session_id")
        if known not in self._sessions:
            self._sessions[known] = IncomingSession(id=known, erasures=self._forgotten.of_session(known))
        return self._sessions[known]

    def _owner(self, incoming: IncomingSession) -> str:
        in_head = incoming.head.user_id if incoming.head else None
        return self._user_id or in_head or incoming.owner or main_owner(incoming.id) or DEFAULT_USER

    def _fill_defaults(self, kind: str, record: Record) -> Record:
        """A record with the fields that another program may have left out."""
        now = self._parts.now().isoformat()
        if kind == "fact":
            times = dict.fromkeys(("learnt_at", "valid_from", "created_at"), now)
            filled = {"slot": "", "key": None, **times, **record}
        elif kind == "episode":
            times = dict.fromkeys(("happened_at", "created_at"), now)
            filled = {"session_id": "", "turns": {"first": 0, "last": 0}, **times, **record}
        else:
            given: dict[str, Record] = {
                "link": {"strength": 1.0, "created_at": now},
                "summary": {"created_at": now, "updated_at": now},
            }
            return {**given.get(kind, {}), **record}
        return filled if "user_id" in record or kind == "opt_out" else {"user_id": self._only_owner(), **filled}

    def _only_owner(self) -> str:
        """The owner of all conversations in the file, if there is only one."""
        owners = {self._owner(incoming) for incoming in self._sessions.values()}
        return owners.pop() if len(owners) == 1 else DEFAULT_USER

    async def _import_value(self, value: Value, place: str) -> None:
        _check_value(value, place)
        match value:
            case Summary():
                await self._import_summary(value, place)
            case Fact():
                await self._import_fact(value, place)
            case Episode():
                await self._import_episode(value, place)
            case Link():
                self._links.append(value)
            case Milestone():
                self._milestones.append(value)
            case OptOut():
                owner = check_id(self._user_id or value.user_id, f"{place}: user_id")
                await self._opt_outs.take(value, owner, place)
            case Receipt():
                self._tally.skipped["receipt, which stays with the memory it was written in"] += 1

    async def _import_summary(self, summary: Summary, place: str) -> None:
        if summary.session_id is not None:
            incoming = self._incoming(summary.session_id, place)
            summary = replace(summary, tokens=summary.tokens or self._parts.counter.count(summary.text))
            await self._collect(incoming, incoming.summaries, summary)
        elif summary.status == "live":
            project_id = self._project_id or summary.project_id
            owner = self._user_id or summary.user_id
            self._digests[owner, project_id] = replace(summary, user_id=owner, project_id=project_id)
        else:
            self._tally.skipped["digest that was out of date"] += 1

    async def _import_fact(self, fact: Fact, place: str) -> None:
        slot = fact.slot  # that of a later version is given
        if not slot or (slot == json_lines.UNREAD and self._project_id is not None):  # in a project, kept as it is told
            slot = slot_in(slot_of(fact.key, fact.value, fact.about, fact.scope), fact.project_id)
        fact = replace(fact, slot=slot, user_id=self._user_id or fact.user_id)
        if self._project_id is not None:
            own = fact.origin == "said" and projects.is_personal(fact)
            fact = projects.in_project(fact, None if own else self._project_id)
        check_id(fact.user_id, f"{place}: user_id")
        fact = replace(fact, tokens=fact.tokens or self._parts.counter.count(describe_fact(fact)))
        if fact.origin == "said" and fact.session_id is not None:
            incoming = self._incoming(fact.session_id, place)
            await self._collect(incoming, incoming.facts, fact)
        elif fact.origin == "said":
            self._tally.skipped["fact without the session that it was said in"] += 1
        else:
            self._manual_facts.append(replace(fact, session_id=None, message_id=None))
            if len(self._manual_facts) >= _BATCH:
                await self._flush_facts()

    async def _import_episode(self, episode: Episode, place: str) -> None:
        if not episode.session_id:
            self._tally.skipped["episode without a session"] += 1
            return
        incoming = self._incoming(episode.session_id, place)
        if not episode.turns.first:
            session = single(await self._store.sessions(ids=[incoming.id]))
            last = max(1, session.counters.turns if session else 1)
            episode = replace(episode, turns=Span(first=last, last=last))
        tokens = episode.tokens or self._parts.counter.count(f"{episode.title}\n{episode.summary}")
        await self._collect(incoming, incoming.episodes, replace(episode, tokens=tokens))

    async def _collect(self, incoming: IncomingSession, values: list[Derived], value: Derived) -> None:
        if not incoming.closed:  # else it is in the file a second time
            values.append(value)
            await self._close(incoming)

    async def _close(self, incoming: IncomingSession) -> None:
        if incoming.is_complete:
            await self._restorer.session(incoming)

    async def _flush_facts(self) -> None:
        facts, self._manual_facts = self._manual_facts, []
        await self._restorer.manual_facts(facts)

    async def _finish(self) -> None:
        """Do what can only be done when all records are read."""
        await self._flush()
        for incoming in self._sessions.values():
            if not incoming.closed:
                if not await self._restorer.is_opted_out(incoming, self._owner(incoming)):
                    self._skip_derived(incoming)
                await self._restorer.manual_episodes(incoming)
        await self._flush_facts()
        await self._restorer.milestones(self._milestones)
        await self._restorer.links(self._links)
        for incoming in self._sessions.values():
            await self._restorer.title(incoming)
            await self._restorer.status(incoming)
        for summary in sorted(self._digests.values(), key=lambda one: one.version):
            await self._restorer.digest(summary, self._sessions)

    def _skip_derived(self, incoming: IncomingSession) -> None:
        """Count what cannot be restored, because the file does not have all that belongs to the session."""
        said = sum(one.origin == "said" for one in incoming.episodes)
        for kind, number in (("summary", len(incoming.summaries)), ("fact", len(incoming.facts)), ("episode", said)):
            if number:
                reason = f"{kind} of a session that is incomplete in the file, which will be derived again"
                self._tally.skipped[reason] += number


def _reworded(error: InputError | Conflict, text: str) -> InputError | Conflict:
    """The same error with another text, whatever it was made of."""
    error.args = (text,)
    return error


def _check_value(value: Value, place: str) -> None:
    if isinstance(value, OptOut):
        check_id(value.user_id, f"{place}: user_id")
    elif not isinstance(value, Link):
        check_id(value.id, f"{place}: id")
    if isinstance(value, Fact) and not value.value.strip():
        raise InputError(f"{place} (fact): value is empty; a fact says something")


async def read_forgotten(parts: Parts) -> Forgotten:
    """What was forgotten in this memory."""
    return read_receipts(receipt_of(row) for row in await parts.store.receipts())
