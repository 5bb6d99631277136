"""Restore what an export has besides messages: as it was where that is safe; the rest is derived again."""

import functools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from lamina.forgetting import redact
from lamina.formats import restorable
from lamina.formats.json_lines import UNREAD, SessionHead
from lamina.formats.restorable import Forgotten
from lamina.knowledge import fact_words, tellings
from lamina.knowledge.extract import Reader
from lamina.knowledge.projects import in_project
from lamina.log.pages import single
from lamina.parts import Parts, beside_loop
from lamina.protocols.store import Erasure, FactsCommit, Reading, Rewrite, Swap
from lamina.values.fact import LINK_TYPES, Episode, Fact, Link
from lamina.values.message import Message
from lamina.values.opt_out import PREFIX
from lamina.values.session import Milestone, Session
from lamina.values.summary import Source, Summary

_SALT_BYTES = 16
_BY_HAND = frozenset(("promoted", "demoted", "retracted"))


@dataclass(slots=True, kw_only=True)
class IncomingSession:
    """A session while it is imported."""

    id: str
    head: SessionHead | None = None
    owner: str | None = None
    messages: int = 0  # read from the file
    aligned: bool = True  # each has the same number here
    redacted: bool = False  # some were forgotten here, but not where the file comes from
    erasures: tuple[restorable.Erased, ...] = ()  # of a whole session with its id
    emptied: list[str] = field(default_factory=list)  # messages forgotten where the file comes from
    hash: str = ""  # of all messages so far, where they have no ids
    summaries: list[Summary] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    episodes: list[Episode] = field(default_factory=list)
    closed: bool = False  # all of it was read and restored
    folded: bool = False  # its summaries are as they were

    @property
    def is_complete(self) -> bool:
        """Whether all that belongs to it was read from the file."""
        head = self.head
        if self.closed or head is None or head.counters is None or head.holds is None:
            return False
        read = (self.messages, len(self.summaries), len(self.facts), len(self.episodes))
        return read == (head.counters.messages, head.holds.summaries, head.holds.facts, head.holds.episodes)


@dataclass(slots=True)
class Tally:
    """What an import added, and what it left out and why."""

    added: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)


def _with_slot(fact: Fact) -> Fact:
    slot = fact_words.slot_of(fact.key, fact.value, fact.about, fact.scope) if fact.slot == UNREAD else fact.slot
    return replace(fact, slot=slot)


class Restorer:
    """Restores summaries, facts, episodes, links, milestones and statuses."""

    def __init__(self, parts: Parts, reader: Reader, tally: Tally, forgotten: Forgotten) -> None:
        self._parts = parts
        self._store = parts.store
        self._reader = reader
        self._tally = tally
        self._forgotten = forgotten
        self._ids_here: dict[str, str] = {}  # of facts that have another id in the file

    # one session

    async def session(self, incoming: IncomingSession) -> None:
        """Restore what was derived from a session that was read completely."""
        incoming.closed = True
        session = await self._mark_forgotten(incoming)
        if session is None:
            self._tally.skipped["session without any message here"] += 1
        elif not await self.is_opted_out(incoming, session.user_id):
            incoming.folded = await self._restore_summaries(incoming, session)
            await self._restore_knowledge(incoming, session)
            await self.manual_episodes(incoming)
        incoming.summaries, incoming.facts, incoming.episodes = [], [], []

    async def is_opted_out(self, incoming: IncomingSession, user_id: str) -> bool:
        """Whether a session's user has opted out; then what was derived from it is left out."""
        if not await self._has_opted_out(user_id):
            return False
        self._skip("summary of a user who has opted out", len(incoming.summaries))
        self._skip("fact of a user who has opted out", len(incoming.facts))
        self._skip("episode of a user who has opted out", len(incoming.episodes))
        incoming.summaries, incoming.facts, incoming.episodes = [], [], []
        return True

    async def _has_opted_out(self, user_id: str) -> bool:
        return bool(await self._store.setting(PREFIX + user_id))

    async def _mark_forgotten(self, incoming: IncomingSession) -> Session | None:
        """Mark messages as forgotten that are so in the file; returns the session as it is stored then."""
        session = single(await self._store.sessions(ids=[incoming.id]))
        found = [single(await self._store.messages(ids=[message_id])) for message_id in incoming.emptied]
        rewrites = tuple(
            self._as_forgotten(message)
            for message in found
            if message is not None and not message.forgotten and message.session_id == incoming.id
        )
        if session is None or not rewrites:
            return session
        await self._store.erase(
            Erasure(
                user_id=session.user_id,
                rule=self._reader.rule,
                receipt_id=self._parts.new_id("rcpt"),
                at=self._parts.now(),
                target="messages of which an imported file has no words",
                rewrites=rewrites,
                derived=False,
            )
        )
        return single(await self._store.sessions(ids=[incoming.id]))

    def _as_forgotten(self, message: Message) -> Rewrite:
        salt = self._parts.random_bytes(_SALT_BYTES)
        return redact.rewrite(message, message.body, message.metadata, tokens=message.tokens, salt=salt, whole=True)

    async def _restore_summaries(self, incoming: IncomingSession, session: Session) -> bool:
        """Restore a session's summaries; whether they, if there are any, are as they were."""
        known = {one.id for one in await self._store.summaries(session.id, live=False)}
        counters = incoming.head.counters if incoming.head else None
        if counters is None or known or session.counters.cursor:
            return self._skip_summaries(
                [one for one in incoming.summaries if one.id not in known], "it was folded here already"
            )
        put = tuple(replace(one, user_id=session.user_id) for one in incoming.summaries)
        if incoming.redacted or not self._forgotten.ids.isdisjoint(one.id for one in put):
            return self._skip_summaries(put, "something of it was forgotten here")
        existing = [one.id for one in put if single(await self._store.summaries(ids=[one.id], live=False)) is not None]
        flaw = restorable.flaw(put, counters.cursor, session.counters.messages)
        if not incoming.aligned or existing or flaw is not None:
            return self._skip_summaries(put, flaw or "its messages are not the same here")
        if not put:
            return True
        swap = Swap(session_id=session.id, expect=session.counters.version, retire=(), put=put, cursor=counters.cursor)
        if not await self._store.commit(swap):
            return self._skip_summaries(put, "it was folded meanwhile")
        self._tally.added["summaries"] += len(put)
        return True

    def _skip_summaries(self, summaries: Sequence[Summary], why: str) -> bool:
        self._skip(f"summary of a session, which will be written again: {why}", len(summaries))
        return False

    async def _restore_knowledge(self, incoming: IncomingSession, session: Session) -> None:
        """Restore the facts and episodes found in a session, and how far it was read; or match those that are here."""
        known = await self._store.facts(session.user_id, session.id)
        counters = incoming.head.counters if incoming.head else None
        unread = counters is not None and not session.counters.extracted and not known
        if counters is None or not unread or not incoming.aligned or incoming.redacted:
            await self._match_facts(incoming, session, known)
            return
        facts = [fact for one in incoming.facts if (fact := await self._check_fact(one, session)) is not None]
        episodes = [one for one in incoming.episodes if one.origin == "said" and await self._can_restore(one, session)]
        commit = FactsCommit(
            user_id=session.user_id,
            rule=self._reader.rule,
            put=tuple(facts),
            marks=await self._reader.marks(facts),
            episodes=tuple(replace(one, user_id=session.user_id, project_id=session.project_id) for one in episodes),
            reading=Reading(
                session_id=session.id,
                expect=0,
                erasures=session.erasures,
                upto=min(counters.extracted, session.counters.messages),
            ),
        )
        if not await self._store.commit_facts(commit):
            await self._match_facts(incoming, session, await self._store.facts(session.user_id, session.id))
            return
        stored = len(await self._store.facts(session.user_id, session.id))
        self._tally.added["facts"] += stored
        self._skip("fact whose value was forgotten here", len(facts) - stored)
        self._tally.added["episodes"] += len(episodes)

    async def _check_fact(self, fact: Fact, session: Session) -> Fact | None:
        """A fact as it may be stored, if its message says it here."""
        message = None if fact.message_id is None else single(await self._store.messages(ids=[fact.message_id]))
        gone = fact.id in self._forgotten.ids
        if message is None or gone or fact.origin != "said" or not restorable.is_said_in(fact, message):
            self._skip("fact that was forgotten here" if gone else "fact whose words are not in its message here", 1)
            return None
        asked = None if fact.question_id is None else single(await self._store.messages(ids=[fact.question_id]))
        here = restorable.with_question_of(replace(fact, user_id=session.user_id, seq=message.seq), asked)
        return here if here.project_id in {None, session.project_id} else in_project(here, session.project_id)

    async def _can_restore(self, episode: Episode, session: Session) -> bool:
        found = [single(await self._store.messages(ids=[message_id])) for message_id in episode.message_ids]
        here = all(message is not None and message.session_id == session.id for message in found)
        if episode.id in self._forgotten.ids or not here:
            self._skip("episode whose messages are not here", 1)
            return False
        return single(await self._store.episodes(ids=[episode.id])) is None

    async def _match_facts(self, incoming: IncomingSession, session: Session, known: Sequence[Fact]) -> None:
        """Of a session that was read here: which facts are those of the file; decisions by hand are taken over."""
        by_claim = {fact_words.claim(fact): fact for fact in known}
        change = []
        for fact in incoming.facts:
            own = by_claim.get(fact_words.claim(fact))
            if own is None:
                gone = fact.id in self._forgotten.ids
                self._skip("fact that was forgotten here" if gone else "fact that will be extracted again", 1)
                continue
            self._ids_here[fact.id] = own.id
            if own.verdict is None and fact.verdict in _BY_HAND:
                change.append(replace(own, verdict=fact.verdict, verdict_at=fact.verdict_at))
        if change:
            await self._store.commit_facts(
                FactsCommit(user_id=session.user_id, rule=self._reader.rule, change=tuple(change))
            )

    # stored by hand

    async def manual_episodes(self, incoming: IncomingSession) -> None:
        """Restore episodes stored by hand, if their session is here."""
        manual = [one for one in incoming.episodes if one.origin == "told"]
        session = single(await self._store.sessions(ids=[incoming.id])) if manual else None
        if session is None:
            self._skip("episode whose session is not here", len(manual))
            return
        put = []
        for one in manual:
            if one.id in self._forgotten.ids:
                self._skip("episode that was forgotten here", 1)
            elif single(await self._store.episodes(ids=[one.id])) is None:
                put.append(replace(one, user_id=session.user_id, project_id=session.project_id))
        if put:
            await self._store.commit_facts(
                FactsCommit(user_id=session.user_id, rule=self._reader.rule, episodes=tuple(put))
            )
            self._tally.added["episodes"] += len(put)

    async def manual_facts(self, facts: Sequence[Fact]) -> None:
        """Restore facts stored by hand, but not those whose value was forgotten here."""
        fresh: dict[str, list[Fact]] = {}
        for fact in facts:
            known = single(await self._store.facts(ids=[fact.id]))
            if known is not None and known.user_id != fact.user_id:
                self._skip("fact whose id another user has", 1)
            elif fact.id in self._forgotten.ids:
                self._skip("fact that was forgotten here", 1)
            elif known is None:
                fresh.setdefault(fact.user_id, []).append(fact)
        for user_id, put in fresh.items():
            if await self._has_opted_out(user_id):
                self._skip("fact of a user who has opted out", len(put))
                continue
            facts, change = await self._read_texts(user_id, put)
            marks = await self._reader.marks(facts)
            commit = FactsCommit(user_id=user_id, rule=self._reader.rule, put=facts, change=change, marks=marks)
            await self._store.commit_facts(commit)
            stored = sum([single(await self._store.facts(ids=[fact.id])) is not None for fact in put])
            self._tally.added["facts"] += stored
            self._skip("fact whose value was forgotten here", len(put) - stored)

    async def _read_texts(self, user_id: str, facts: Sequence[Fact]) -> tuple[tuple[Fact, ...], tuple[Fact, ...]]:
        """Facts told by hand, of which texts of another tool are read; and the known facts that these change."""
        reader = self._parts.statement_reader
        texts = [fact for fact in facts if fact.slot == UNREAD]
        others = [fact for fact in facts if fact.slot != UNREAD]
        if reader is None or not self._parts.profile.facts or not texts:
            return tuple(map(_with_slot, facts)), ()
        known = [*await self._store.facts(user_id), *others]
        read = functools.partial(tellings.read_texts, texts, known, reader, self._reader.rule)
        new, change = await beside_loop(lambda: read(self._reader.as_wanted))
        count = self._parts.counter.count
        new = [replace(fact, tokens=count(fact_words.describe_fact(fact))) for fact in new]
        return (*others, *new), tuple(change)

    async def links(self, links: Sequence[Link]) -> None:
        """Restore links between memories that are here."""
        known: dict[str, set[tuple[str, str, str]]] = {}
        fresh: dict[str, list[Link]] = {}
        for link in links:
            source, target = self._ids_here.get(link.source, link.source), self._ids_here.get(link.target, link.target)
            owner = await self._owner(source)
            if owner is None or source == target or await self._owner(target) != owner:
                self._skip("link to a memory that is not here", 1)
                continue
            if link.type not in LINK_TYPES:
                self._skip(f"link of the unknown type {link.type!r:.40}", 1)
                continue
            if owner not in known:
                known[owner] = {(one.source, one.target, one.type) for one in await self._store.links(owner)}
            if (source, target, link.type) not in known[owner]:
                known[owner].add((source, target, link.type))
                fresh.setdefault(owner, []).append(replace(link, source=source, target=target))
        for owner, put in fresh.items():
            await self._store.commit_facts(FactsCommit(user_id=owner, rule=self._reader.rule, links=tuple(put)))
            self._tally.added["links"] += len(put)

    async def _owner(self, memory_id: str) -> str | None:
        found = single(await self._store.facts(ids=[memory_id])) or single(await self._store.episodes(ids=[memory_id]))
        return None if found is None else found.user_id

    async def milestones(self, milestones: Sequence[Milestone]) -> None:
        known: dict[str, set[str]] = {}
        for one in milestones:
            if one.session_id not in known:
                known[one.session_id] = {old.id for old in await self._store.milestones(one.session_id)}
            if single(await self._store.sessions(ids=[one.session_id])) is None:
                self._skip("milestone whose session is not here", 1)
            elif one.id not in known[one.session_id]:
                known[one.session_id].add(one.id)
                await self._store.add_milestone(one)
                self._tally.added["milestones"] += 1

    # the rest

    async def status(self, incoming: IncomingSession) -> None:
        """Pause, end or archive a session as it was, unless it has new messages here."""
        head, session = incoming.head, single(await self._store.sessions(ids=[incoming.id]))
        if head is None or session is None or session.status != "active" or head.status == "active":
            return
        if session.counters.messages > incoming.messages:
            return
        now = self._parts.now()
        if head.status == "archived":
            await self._store.update_session(session.id, head.ended_at or now, status="ended")
        at = head.archived_at if head.status == "archived" else head.ended_at if head.status == "ended" else None
        await self._store.update_session(session.id, at or now, status=head.status)

    async def title(self, incoming: IncomingSession) -> None:
        """Give a session the title it had, unless it has one here, or all of it was forgotten here."""
        title = incoming.head.title if incoming.head else None
        session = single(await self._store.sessions(ids=[incoming.id]))
        if title is None or session is None or session.title is not None or incoming.erasures:
            return
        await self._store.update_session(session.id, self._parts.now(), title=title)

    async def digest(self, digest: Summary, sessions: dict[str, IncomingSession]) -> None:
        """Restore a user's digest, if its sessions are as they were and no digest was written here."""
        sources = [await self._source(source, sessions.get(source.session_id)) for source in digest.sources]
        known = tuple(source for source in sources if source is not None)
        wanted = self._parts.profile.digest_sessions and digest.covers is None and digest.kind == "digest"
        here = await self._store.summaries(user_id=digest.user_id, digests=True, live=False)
        written = any(one.project_id == digest.project_id for one in here)
        if not wanted or not known or len(known) < len(sources) or written:
            return
        put = replace(digest, sources=known, status="live", folded_into=None)
        if single(await self._store.summaries(ids=[digest.id], live=False)) is None and await self._store.commit(put):
            self._tally.added["summaries"] += 1

    async def _source(self, source: Source, incoming: IncomingSession | None) -> Source | None:
        session = single(await self._store.sessions(ids=[source.session_id]))
        counters = incoming.head.counters if incoming and incoming.head else None
        if incoming is None or session is None or counters is None or not incoming.folded:
            return None
        same = counters.version == source.version and session.counters.messages == source.messages
        return replace(source, version=session.counters.version) if same else None

    def _skip(self, why: str, number: int) -> None:
        if number > 0:
            self._tally.skipped[why] += number
