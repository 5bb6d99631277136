"""One import: records taken one after the other, messages first, then what belongs to them."""

from collections import Counter
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from lamina.errors import BadRecords, Conflict, InputError
from lamina.folding.schedule import has_work
from lamina.forgetting.redact import receipt_of
from lamina.formats import lines
from lamina.formats.foreign_values import digest, joined
from lamina.formats.lines import Record, Value
from lamina.formats.restorable import Forgotten, forgotten
from lamina.formats.restore import Incoming, Restoring, Tally
from lamina.knowledge.extract import Reader
from lamina.knowledge.fact_words import describe_fact, slot_of
from lamina.log.append import Ingest
from lamina.log.messages import checked_id, draft, given_to, is_older_main, main_owner
from lamina.parts import Parts, Progress
from lamina.values.fact import Episode, Fact, Link
from lamina.values.message import Span
from lamina.values.receipt import Receipt
from lamina.values.report import Imported
from lamina.values.session import Milestone
from lamina.values.summary import Summary

DEFAULT_OWNER = "default"
Records = AsyncIterator[tuple[str, Record]]  # each with the place it has in the file
Held = TypeVar("Held", Summary, Fact, Episode)
_BATCH = 1_000
_TELL = 100  # records between two words of progress
_FIRST_VERSION = 1
_MOST_FAULTS = 100  # that are told one by one


@dataclass(frozen=True, slots=True, kw_only=True)
class _Waiting:
    """A message that waits to be added with others of its session."""

    place: str
    message: Record
    emptied: bool  # forgotten where it comes from


class Importing:
    """Takes the records of one file."""

    def __init__(self, parts: Parts, reader: Reader, user_id: str | None, gone: Forgotten) -> None:
        self._parts = parts
        self._store = parts.store
        self._ingest = Ingest(parts, lambda: None, partial(has_work, parts.profile))  # the worker is told at the end
        self._user_id = user_id
        self._forgotten = gone
        self._tally = Tally()
        self._restoring = Restoring(parts, reader, self._tally, gone)
        self._version = lines.VERSION
        self._expected = 0  # records that the file says it has
        self._sessions: dict[str, Incoming] = {}
        self._renamed: dict[str, str] = {}  # sessions that have other ids here
        self._current: Incoming | None = None  # whose messages wait
        self._waiting: list[_Waiting] = []
        self._told: list[Fact] = []
        self._links: list[Link] = []
        self._milestones: list[Milestone] = []
        self._digests: dict[str, Summary] = {}

    async def run(
        self, records: Records, progress: Progress | None, total: int, skipped: Mapping[str, int]
    ) -> Imported:
        """Take all records; if one is wrong, all before it stay."""
        self._tally.skipped.update(skipped)
        number = 0
        try:
            async for place, record in records:
                await self._take(place, record)
                number += 1
                if progress is not None and number % _TELL == 0:
                    progress(number, total or self._expected)
            await self._finish()
        except InputError as error:
            await self._finish()
            raise InputError(f"{error}; everything before it was imported") from None
        except Conflict as error:
            await self._finish()
            raise Conflict(f"{error}; everything before it was imported") from None
        if progress is not None:
            progress(number, number)
        came = self._tally.came
        return Imported(
            sessions=len(self._sessions),
            messages=came["messages"],
            duplicates=came["duplicates"],
            summaries=came["summaries"],
            facts=came["facts"],
            episodes=came["episodes"],
            links=came["links"],
            milestones=came["milestones"],
            skipped=dict(+self._tally.skipped),
        )

    async def check(self, records: Records) -> None:
        """Say of all records at once which are wrong, as far as that can be seen without the store."""
        faults, count = [], 0
        async for place, record in records:
            try:
                self._check(place, record)
            except InputError as error:
                count += 1
                if count <= _MOST_FAULTS:
                    faults.append((place, str(error)))
        if faults:
            raise BadRecords(faults, count)

    def _check(self, place: str, record: Record) -> None:
        if record.get("type") == "unreadable":
            raise InputError(f"{place} {record['reason']}")
        record = self._moved(record)
        kind = lines.kind_of(record, place)
        if kind == "message":
            self._session_of(record, place)
            parts = self._parts
            draft(
                lines.message_of(record),
                place=place,
                now=parts.now(),
                new_id=lambda: "msg",
                count=len,
                limits=parts.limits,
            )
        elif kind == "header":
            self._take_header(record)
        elif kind == "session":
            checked_id(lines.session_head(record, place).id, f"{place}: session_id")
        elif self._version != _FIRST_VERSION or kind not in {"summary", "fact"}:
            _check_value(lines.value(self._filled(kind, record), place), place)

    async def _take(self, place: str, record: Record) -> None:
        if record.get("type") == "unreadable":
            raise InputError(f"{place} {record['reason']}")
        record = self._moved(record)
        kind = lines.kind_of(record, place)
        if kind == "message":
            await self._take_message(place, record)
            return
        await self._flush()
        if kind == "header":
            self._take_header(record)
        elif kind == "session":
            head = lines.session_head(record, place)
            self._incoming(head.id, place).head = head
        elif self._version == _FIRST_VERSION and kind in {"summary", "fact"}:
            self._tally.skipped[f"{kind} of an older version, to be made anew"] += 1
        else:
            await self._take_value(lines.value(self._filled(kind, record), place), place)

    def _moved(self, record: Record) -> Record:
        """A record with the ids that its sessions have here."""
        if record.get("type") == "session":
            session_id, owner = record.get("id"), record.get("user_id")
            if isinstance(session_id, str) and isinstance(owner, str) and is_older_main(session_id, owner):
                self._renamed[session_id] = given_to(session_id, owner)
            return {**record, "id": self._named(session_id)}
        moved = {**record, "session_id": self._named(record["session_id"])} if "session_id" in record else record
        if record.get("type") == "summary" and isinstance(sources := record.get("sources"), list):
            moved["sources"] = [self._moved(one) if isinstance(one, dict) else one for one in sources]
        return moved

    def _named(self, session_id: Any) -> Any:
        """What was another's main session is one of whoever gets it."""
        if isinstance(session_id, str) and self._user_id is not None:
            return given_to(session_id, self._user_id)
        return self._renamed.get(session_id, session_id) if isinstance(session_id, str) else session_id

    def _take_header(self, record: Record) -> None:
        self._version = lines.checked_header(record)
        counts = (number for name, number in record.items() if name not in {"type", "format", "version"})
        self._expected = 1 + sum(number for number in counts if isinstance(number, int))

    # messages

    async def _take_message(self, place: str, record: Record) -> None:
        incoming = self._incoming(self._session_of(record, place), place)
        if incoming is not self._current or len(self._waiting) >= min(_BATCH, self._parts.limits.append_messages):
            await self._flush()
        self._current = incoming
        incoming.owner = incoming.owner or record.get("user_id")
        message = lines.message_of(record)
        if message.get("id") is None:  # known by all that was said up to it: importing the file again adds nothing
            incoming.mark = digest(incoming.mark, message)
            message["id"] = joined(incoming.id, incoming.mark)
        self._waiting.append(_Waiting(place=place, message=message, emptied=lines.is_forgotten(record)))

    @staticmethod
    def _session_of(record: Record, place: str) -> str:
        session_id = record.get("session_id")
        if session_id is None:
            raise InputError(f"{place} has no session_id; give one, or add the messages with `lamina add`")
        return checked_id(session_id, f"{place}: session_id")

    async def _flush(self) -> None:
        """Add the messages that wait."""
        batch, self._waiting, incoming = self._waiting, [], self._current
        if not batch or incoming is None:
            return
        wanted = []
        for one in batch:
            if any(erased.has_message(one.message["id"]) for erased in incoming.gone):
                self._tally.skipped["message that was forgotten here with its session"] += 1
            elif one.emptied and await self._is_here(incoming, one):
                self._tally.came["duplicates"] += 1
            else:
                wanted.append(one)
        if wanted:
            await self._add(incoming, wanted)
        await self._align(incoming, batch)
        incoming.messages += len(batch)
        await self._close(incoming)

    async def _is_here(self, incoming: Incoming, one: _Waiting) -> bool:
        """Whether a message that was forgotten elsewhere is stored here, with its words or without."""
        stored = await self._store.message(one.message["id"]) if isinstance(one.message["id"], str) else None
        body = {key: one.message.get(key) for key in ("role", "content")}
        if stored is None or {key: stored.body.get(key) for key in body} == body:
            incoming.emptied.append(one.message["id"])
        return stored is not None and stored.session_id == incoming.id

    async def _add(self, incoming: Incoming, batch: list[_Waiting]) -> None:
        """Add messages at once; if one of them is wrong, those before it."""
        try:
            added = await self._ingest.add(
                [one.message for one in batch],
                user_id=self._owner(incoming),
                session_id=incoming.id,
                agent_id=incoming.head.agent_id if incoming.head else None,
                key=None,
            )
        except (InputError, Conflict) as error:
            if len(batch) == 1:
                raise type(error)(f"{batch[0].place}: {error}") from None
            for one in batch:
                await self._add(incoming, [one])
        else:
            self._tally.came["messages"] += len(added.ids) - len(added.duplicates)
            self._tally.came["duplicates"] += len(added.duplicates)

    async def _align(self, incoming: Incoming, batch: list[_Waiting]) -> None:
        """See whether the messages have the places here that what was derived from them knows."""
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

    def _incoming(self, session_id: object, place: str) -> Incoming:
        known = checked_id(session_id, f"{place}: session_id")
        if known not in self._sessions:
            self._sessions[known] = Incoming(id=known, gone=self._forgotten.of_session(known))
        return self._sessions[known]

    def _owner(self, incoming: Incoming) -> str:
        told = incoming.head.user_id if incoming.head else None
        return self._user_id or told or incoming.owner or main_owner(incoming.id) or DEFAULT_OWNER

    def _filled(self, kind: str, record: Record) -> Record:
        """A record with what another program may not have said."""
        now = self._parts.now().isoformat()
        if kind == "fact":
            times = dict.fromkeys(("learnt_at", "valid_from", "created_at"), now)
            filled = {"slot": "", "key": None, **times, **record}
        elif kind == "episode":
            times = dict.fromkeys(("happened_at", "created_at"), now)
            filled = {"session_id": "", "turns": {"first": 0, "last": 0}, **times, **record}
        else:
            return {"strength": 1.0, "created_at": now, **record} if kind == "link" else record
        return filled if "user_id" in record else {"user_id": self._only_owner(), **filled}

    def _only_owner(self) -> str:
        """Whose conversations are in the file, if they are of one."""
        owners = {self._owner(incoming) for incoming in self._sessions.values()}
        return owners.pop() if len(owners) == 1 else DEFAULT_OWNER

    async def _take_value(self, value: Value, place: str) -> None:
        _check_value(value, place)
        if isinstance(value, Summary):
            await self._take_summary(value, place)
        elif isinstance(value, Fact):
            await self._take_fact(value, place)
        elif isinstance(value, Episode):
            await self._take_episode(value, place)
        elif isinstance(value, Link):
            self._links.append(value)
        elif isinstance(value, Milestone):
            self._milestones.append(value)
        elif isinstance(value, Receipt):
            self._tally.skipped["receipt, which stays with the file it was written in"] += 1

    async def _take_summary(self, summary: Summary, place: str) -> None:
        if summary.session_id is not None:
            incoming = self._incoming(summary.session_id, place)
            await self._held(incoming, incoming.summaries, summary)
        elif summary.status == "live":
            self._digests[self._user_id or summary.user_id] = summary
        else:
            self._tally.skipped["digest that was out of date"] += 1

    async def _take_fact(self, fact: Fact, place: str) -> None:
        slot = fact.slot or slot_of(fact.key, fact.value)  # of a later version, that of the first
        fact = replace(fact, slot=slot, user_id=self._user_id or fact.user_id)
        checked_id(fact.user_id, f"{place}: user_id")
        fact = replace(fact, tokens=fact.tokens or self._parts.counter.count(describe_fact(fact)))
        if fact.origin == "said" and fact.session_id is not None:
            incoming = self._incoming(fact.session_id, place)
            await self._held(incoming, incoming.facts, fact)
        elif fact.origin == "said":
            self._tally.skipped["fact that was said in no session"] += 1
        else:
            self._told.append(replace(fact, session_id=None, message_id=None))
            if len(self._told) >= _BATCH:
                await self._tell()

    async def _take_episode(self, episode: Episode, place: str) -> None:
        if not episode.session_id:
            self._tally.skipped["episode of no conversation"] += 1
            return
        incoming = self._incoming(episode.session_id, place)
        if not episode.turns.first:
            session = await self._store.session(incoming.id)
            last = max(1, session.counters.turns if session else 1)
            episode = replace(episode, turns=Span(first=last, last=last))
        tokens = episode.tokens or self._parts.counter.count(f"{episode.title}\n{episode.summary}")
        await self._held(incoming, incoming.episodes, replace(episode, tokens=tokens))

    async def _held(self, incoming: Incoming, held: list[Held], value: Held) -> None:
        if not incoming.closed:  # else it comes a second time in one file
            held.append(value)
            await self._close(incoming)

    async def _close(self, incoming: Incoming) -> None:
        if incoming.is_complete:
            await self._restoring.session(incoming)

    async def _tell(self) -> None:
        told, self._told = self._told, []
        await self._restoring.told(told)

    async def _finish(self) -> None:
        """What can only be done when all is there."""
        await self._flush()
        for incoming in self._sessions.values():
            if not incoming.closed:
                self._leave(incoming)
                await self._restoring.episodes(incoming)
        await self._tell()
        await self._restoring.milestones(self._milestones)
        await self._restoring.links(self._links)
        for incoming in self._sessions.values():
            await self._restoring.status(incoming)
        for user_id, summary in self._digests.items():
            await self._restoring.digest(summary, user_id, self._sessions)

    def _leave(self, incoming: Incoming) -> None:
        """Count what cannot be put back, because the file does not have all that belongs to it."""
        said_in = sum(one.origin == "said" for one in incoming.episodes)
        left = Counter(summary=len(incoming.summaries), fact=len(incoming.facts), episode=said_in)
        for kind, number in left.items():
            if number:
                self._tally.skipped[f"{kind} of a session that is not whole in the file, to be made anew"] += number


def _check_value(value: Value, place: str) -> None:
    if not isinstance(value, Link):
        checked_id(value.id, f"{place}: id")
    if isinstance(value, Fact) and not value.value.strip():
        raise InputError(f"{place} (fact): value is empty; a fact says something")


async def gone_here(parts: Parts) -> Forgotten:
    """What was forgotten in this memory."""
    return forgotten(receipt_of(row) for row in await parts.store.receipts())
