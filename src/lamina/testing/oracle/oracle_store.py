"""The reference store: everything in dictionaries. What it does with messages and memories, every store must do."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Literal, TypeVar

from lamina.errors import OptedOut
from lamina.folding.due import has_work
from lamina.language.words import terms as terms_of
from lamina.log import chain, messages, records
from lamina.log.window import take_back
from lamina.protocols.store import (
    Append,
    Appended,
    Audit,
    ChangedSession,
    Changes,
    Contents,
    FoldCommit,
    LastSession,
    Newest,
    ProposalRow,
    Reach,
    SummaryRow,
    Swap,
    View,
    WordMatches,
    Workload,
)
from lamina.storage.shared import (
    FORGOTTEN_APPEND,
    append_fingerprint,
    changes_more,
    key_conflict,
    not_stored,
    outside_digest,
    stale,
    users_of,
    weights,
    whole_messages,
    whole_summaries,
)
from lamina.testing.oracle.oracle_queue import OracleQueue
from lamina.testing.oracle.oracle_tables import Kept, mended, touched
from lamina.values.fact import ConflictRule
from lamina.values.message import Message, Span
from lamina.values.opt_out import PREFIX, opt_out_of
from lamina.values.report import Problem
from lamina.values.session import Counters, Milestone, Session, Status
from lamina.values.summary import Summary

Kind = TypeVar("Kind", Message, Summary)


class OracleStore(OracleQueue):
    """One tenant's memory in this process."""

    async def open(self) -> None:
        """Nothing to open."""

    async def close(self) -> None:
        """Nothing to close."""

    # the log

    async def append(self, append: Append) -> Appended:
        if append.key is not None and append.key in self._appends:
            fingerprint, known = self._appends[append.key]
            own = {row.session_id for message_id in known.ids if (row := self._by_id.get(message_id))}
            forgotten = fingerprint == FORGOTTEN_APPEND and append.session_id in own
            if not forgotten and fingerprint != append_fingerprint(append):
                raise key_conflict(append)
            return replace(known, session=self._require(append.session_id).session, duplicates=known.ids)
        choice = opt_out_of(PREFIX, self._settings.get(PREFIX + append.user_id))
        if choice is not None and not choice.keep_log:
            return not_stored(append)
        kept = self._sessions.get(append.session_id)
        if kept is not None and kept.session.user_id != append.user_id:
            raise messages.session_conflict(append.session_id)
        if kept is not None:
            messages.check_project(kept.session, append.project_id)
        goes = append.session_id if append.replaces is not None and append.replaces.keep_salt is None else None
        taken = (self._by_id[draft.id] for draft in append.drafts if draft.id in self._by_id)
        fresh, salts, duplicates = chain.new_drafts(append, {row.id: row for row in taken if row.session_id != goes})
        if kept is not None and append.replaces is not None:
            self._replace(kept, append.replaces)
        kept = kept or self._new_session(append)
        more = changes_more(append, kept.session)
        placed, counters, digest = chain.build_rows(append.session_id, kept.session.counters, kept.digest, fresh, salts)
        self._sessions[append.session_id] = kept
        if placed:
            kept.rows.extend(placed)
            self._by_id.update({row.id: row for row in placed})
            kept.digest = digest
            status: Status = "active" if append.replaces is None else append.replaces.status
            kept.session = replace(
                kept.session,
                counters=counters,
                status=status,
                ended_at=None,
                archived_at=None,
                last_at=fresh[-1].created_at,
                touched_at=append.now,
            )
            kept.pending = kept.pending or has_work(append.profile, counters, status)
            kept.aside = False
            kept.touch += 1
            kept.changed = self._changed(append.user_id, derived=more)
        result = Appended(
            session=kept.session,
            ids=tuple(draft.id for draft in append.drafts),
            span=Span(first=placed[0].seq, last=placed[-1].seq) if placed else None,
            duplicates=duplicates,
            due=has_work(append.profile, kept.session.counters, kept.session.status),
        )
        if append.key is not None:
            self._appends[append.key] = (append_fingerprint(append), result)
        return result

    def _new_session(self, append: Append) -> Kept:
        started = append.drafts[0].created_at
        return Kept(
            session=Session(
                id=append.session_id,
                user_id=append.user_id,
                agent_id=append.agent_id,
                project_id=append.project_id,
                status="active",
                started_at=started,
                last_at=started,
                touched_at=append.now,
                counters=Counters(version=self._generation),
                erasures=self._generation,
            ),
            digest=chain.first_hash(append.session_id),
        )

    async def messages(
        self,
        session_id: str | None = None,
        span: Span | None = None,
        *,
        ids: Sequence[str] | None = None,
        unread: bool = False,
        limit: int | None = None,
    ) -> list[Message]:
        if unread:
            return self._unread(str(session_id), limit)
        found = [
            row
            for key, kept in sorted(self._sessions.items())
            for row in kept.rows
            if session_id in {None, key} and (span is None or row.seq in span) and (ids is None or row.id in ids)
        ]
        return list(whole_messages(found[:limit]))

    # changes

    async def changes(
        self, user_id: str, since: int, *, items: bool = False, embedder: str | None = None, after: int = 0
    ) -> Changes:
        count, cuts = self._counted(user_id)
        derived = self._derived_at(user_id)
        rows = () if embedder is None else tuple(await self.vectors(user_id, embedder, after))
        if count <= since:
            return Changes(count=count, cuts=cuts, derived=derived, vectors=rows)
        changed = [
            ChangedSession(session_id, kept.session.counters.messages)
            for session_id, kept in sorted(self._sessions.items())
            if kept.session.user_id == user_id and kept.changed > since
        ]
        found = Changes(count=count, cuts=cuts, derived=derived, sessions=tuple(changed), vectors=rows)
        if not items or derived <= since:
            return found
        archived = await self.sessions(user_id=user_id, status="archived", limit=1_000_000)
        return replace(
            found,
            items=(*self._live_summaries(user_id), *await self.facts(user_id), *await self.episodes(user_id)),
            archived=frozenset(session.id for session in archived),
            projects={
                one.id: one.project_id
                for one in await self.sessions(user_id=user_id, limit=sys.maxsize)
                if one.project_id is not None
            },
        )

    async def sessions(
        self,
        *,
        ids: Sequence[str] | None = None,
        user_id: str | None = None,
        status: Status | None = None,
        project_id: str | None = None,
        newest: bool = False,
        limit: int = 1000,
        after: str | None = None,
    ) -> list[Session]:
        found = [
            kept.session
            for session_id, kept in sorted(self._sessions.items())
            if session_id > (after or "")
            and user_id in {None, kept.session.user_id}
            and status in {None, kept.session.status}
            and project_id in {None, kept.session.project_id or ""}
            and (ids is None or session_id in ids)
            and (kept.session.counters.turns or not newest)
        ]
        if newest:
            found.sort(key=lambda session: (session.started_at, session.id), reverse=True)
        return found[:limit]

    async def newest_messages(self, ids: Sequence[str]) -> list[Newest]:
        return list(self._newest(sorted(self._sessions.keys() & set(ids))))

    def _newest(self, ids: Iterable[str]) -> Iterator[Newest]:
        for kept in map(self._sessions.__getitem__, ids):
            yield from (Newest(kept.session, message) for message in whole_messages(kept.rows[-1:]))

    def _under(self, prefix: str) -> list[str]:
        return [key for key, kept in self._sessions.items() if key.startswith(prefix) and key > prefix and kept.rows]

    async def touch_sessions(self, ids: Sequence[str], at: datetime) -> None:
        for session_id in self._sessions.keys() & set(ids):
            kept = self._sessions[session_id]
            kept.session = replace(kept.session, touched_at=at)

    async def update_session(
        self,
        session_id: str,
        at: datetime,
        *,
        status: Status | None = None,
        title: str | None = None,
        expect: str | None = None,
    ) -> Session:
        kept = self._require(session_id)
        if expect is not None and kept.session.tag != expect:
            raise stale("session", session_id)
        if status is not None:
            self._set_status(kept, status, at)
        if title is not None and (title or None) != kept.session.title:
            kept.session = replace(kept.session, title=title or None, touched_at=at)
            kept.changed = self._changed(kept.session.user_id)
        return kept.session

    def _set_status(self, kept: Kept, status: Status, at: datetime) -> None:
        session = kept.session
        kept.session = replace(
            session,
            status=status,
            touched_at=at,
            ended_at=(session.ended_at or at) if status in {"ended", "archived"} else None,
            archived_at=(session.archived_at or at) if status == "archived" else None,
        )
        touched(kept)
        if (session.status == "archived") != (status == "archived"):
            self._changed(session.user_id)

    async def add_milestone(self, milestone: Milestone) -> None:
        self._require(milestone.session_id)
        if milestone.id not in {known.id for known in self._milestones}:
            self._milestones.append(milestone)

    async def milestones(self, session_id: str) -> list[Milestone]:
        own = [milestone for milestone in self._milestones if milestone.session_id == session_id]
        return sorted(own, key=lambda milestone: (milestone.turn, milestone.id))

    # reading

    async def view(self, user_id: str, session_id: str | None, reach: Reach) -> View:
        kept = None if session_id is None else self._sessions.get(session_id)
        digests = await self.summaries(user_id=user_id, digests=True)
        changes = await self.changes(user_id, 0)
        facts = () if changes.derived == reach.facts_at else await self.facts(user_id)
        return View(
            session=kept.session if kept else None,
            summaries=tuple(await self.summaries(kept.session.id)) if kept else (),
            tail=tuple(take_back(whole_messages(reversed(kept.rows)), reach, kept.session.counters.cursor))
            if kept
            else (),
            digests=tuple(digests),
            latest=await self._latest(user_id, session_id, digests, reach.latest),
            opted_out=self._has_opted_out(user_id),
            facts=tuple(fact for fact in facts if fact.status in {"active", "conflicted"}),
            derived=changes.derived,
            cuts=changes.cuts,
        )

    async def _latest(
        self, user_id: str, session_id: str | None, digests: Sequence[Summary], messages: int
    ) -> LastSession | None:
        newest = await self.sessions(user_id=user_id, newest=True, limit=2) if messages else []
        latest = outside_digest(newest, session_id, digests)
        if latest is None:
            return None
        return LastSession(
            session=latest,
            summaries=tuple(await self.summaries(latest.id)),
            messages=tuple((await self.messages(latest.id))[-messages:]),
        )

    async def summaries(
        self,
        session_id: str | None = None,
        *,
        user_id: str | None = None,
        ids: Sequence[str] | None = None,
        live: bool = True,
        digests: bool = False,
    ) -> list[Summary]:
        if digests:
            found = self._digests(user_id)
            return list(whole_summaries(row for row in found if not live or row.status == "live"))
        every = [row for _, row in sorted(self._summaries.items())]
        found = every if session_id is None else self._own_summaries(session_id)
        found = [row for row in found if user_id in {None, row.user_id} and (ids is None or row.id in ids)]
        return list(whole_summaries(row for row in found if not live or row.status == "live"))

    def _digests(self, user_id: str | None) -> list[SummaryRow]:
        own = [row for row in self._summaries.values() if row.user_id == user_id and row.kind == "digest"]
        return sorted(own, key=lambda row: row.version, reverse=True)

    async def contents(
        self, user_id: str, session_id: str | None = None, *, after: tuple[str, int] | None = None, limit: int = 500
    ) -> Contents:
        own = [one for one in await self.sessions(user_id=user_id, limit=sys.maxsize) if session_id in {None, one.id}]
        rows = [row for session in own for row in self._sessions[session.id].rows]
        rows = [row for row in rows if after is None or (row.session_id, row.seq) > after]
        page = rows[:limit]
        place = (page[-1].session_id, page[-1].seq) if len(page) < len(rows) else None
        if after is not None:
            return Contents(messages=tuple(whole_messages(page)), next=place)
        return Contents(
            messages=tuple(whole_messages(page)),
            next=place,
            sessions=tuple(own),
            summaries=tuple([one for session in own for one in await self.summaries(session.id, live=False)]),
            digests=tuple(await self.summaries(user_id=user_id, digests=True, live=False)),
            facts=tuple(await self.facts(user_id, session_id)),
            episodes=tuple(await self.episodes(user_id, session_id)),
            milestones=tuple([one for session in own for one in await self.milestones(session.id)]),
            proposals=tuple([one for session in own for one in await self.proposals(session.id)]),
        )

    async def find_words(self, user_id: str, terms: Sequence[str], limit: int) -> WordMatches:
        own = {kept.session.id for kept in self._sessions.values() if kept.session.user_id == user_id}
        messages = list(whole_messages(row for row in self._by_id.values() if row.session_id in own))
        live = [row for row in self._summaries.values() if row.user_id == user_id and row.status == "live"]
        summaries = list(whole_summaries(live))
        wanted = frozenset(terms)
        texts = {message.id: message.text for message in messages} | {s.id: s.text for s in summaries}
        having = {key: wanted.intersection(terms_of(text)) for key, text in texts.items()}
        frequency = {term: sum(term in found for found in having.values()) for term in terms}
        weighed = weights(len(messages) + len(summaries), frequency)
        return WordMatches(
            documents=len(messages) + len(summaries),
            frequency=frequency,
            matches=(*_best(messages, having, weighed, limit), *_best(summaries, having, weighed, limit)),
        )

    # folding

    async def workload(self, session_id: str, *, before: int, limit: int, unread: int) -> Workload | None:
        kept = self._sessions.get(session_id)
        if kept is None or self._has_opted_out(kept.session.user_id):
            return None
        counters = kept.session.counters
        span = Span(first=max(1, counters.cursor + 1 - before), last=min(counters.cursor + limit, counters.messages))
        return Workload(
            session=kept.session,
            summaries=tuple(await self.summaries(session_id)),
            messages=tuple(await self.messages(session_id, span)),
            facts=tuple(await self.facts(session_id=session_id, span=span)),
            unread=tuple(await self.messages(session_id, unread=True, limit=unread)),
        )

    async def commit(self, *commits: FoldCommit | Swap | Summary) -> bool:
        if any(map(self._has_opted_out, users_of(commits))):
            return False
        for one in commits:
            if not await self._commit(one):
                return False
        return True

    async def _commit(self, commit: FoldCommit | Swap | Summary) -> bool:
        match commit:
            case FoldCommit():
                return self._commit_fold(commit)
            case Swap():
                return self._swap(commit)
            case Summary():
                return await self._commit_digest(commit)

    def _commit_fold(self, commit: FoldCommit) -> bool:
        kept = self._sessions.get(commit.session_id)
        if kept is None or kept.session.counters.version != commit.expect:
            return False
        covered = [row for row in kept.rows if row.seq <= commit.cursor]
        counters = replace(
            kept.session.counters,
            cursor=commit.cursor,
            cursor_turn=max((row.turn for row in covered), default=0),
            cursor_tokens=sum(row.tokens for row in covered),
            version=commit.expect + 1,
        )
        kept.session = replace(kept.session, counters=counters)
        mended(kept)
        self._retire(commit.retire, commit.summary.id)
        self._summaries[commit.summary.id] = records.encode_summary(commit.summary)
        self._changed(commit.summary.user_id)
        return True

    def _retire(self, retired: Sequence[str], into: str) -> None:
        for row in [self._summaries[summary_id] for summary_id in retired if summary_id in self._summaries]:
            self._summaries[row.id] = replace(row, status="folded", folded_into=into)
            self._vectors.pop(row.id, None)

    async def _commit_digest(self, digest: Summary) -> bool:
        newest = await self.summaries(user_id=digest.user_id, digests=True, live=False)
        if newest and newest[0].version >= digest.version:
            return False
        for source in digest.sources:
            kept = self._sessions.get(source.session_id)
            if kept is None or kept.session.counters.version != source.version:
                return False
        same = [one.id for one in newest if one.status == "live" and one.project_id == digest.project_id]
        self._retire(same, digest.id)
        self._summaries[digest.id] = records.encode_summary(digest)
        self._changed(digest.user_id)
        return True

    # making anew

    def _swap(self, swap: Swap) -> bool:
        kept = self._sessions.get(swap.session_id)
        if kept is None or kept.session.counters.version != swap.expect:
            return False
        for row in [self._summaries[summary_id] for summary_id in swap.retire if summary_id in self._summaries]:
            self._summaries[row.id] = replace(row, status="replaced")
            self._vectors.pop(row.id, None)
        for summary in swap.put:
            self._summaries[summary.id] = records.encode_summary(summary)
        self._set_cursor(kept, swap.cursor)
        self._sweep()
        self._changed(kept.session.user_id)
        return True

    async def put_proposal(self, proposal: ProposalRow, *, erasures: int | None = None) -> bool:
        session = self._require(proposal.session_id).session
        if self._has_opted_out(session.user_id):
            raise OptedOut(session.user_id)
        if erasures not in {None, session.erasures}:
            return False
        self._proposals[proposal.id] = proposal
        return True

    async def proposals(self, session_id: str | None = None) -> list[ProposalRow]:
        own = [row for row in self._proposals.values() if session_id in {None, row.session_id}]
        return sorted(own, key=lambda row: (row.created_at, row.id))

    # keeping house

    async def age_sessions(self, status: Literal["ended", "archived"], before: datetime, at: datetime) -> list[str]:
        return self._end_idle(before, at) if status == "ended" else self._archive_ended(before, at)

    def _end_idle(self, touched_before: datetime, at: datetime) -> list[str]:
        ended = []
        for session_id, kept in sorted(self._sessions.items()):
            if kept.session.status == "active" and kept.session.touched_at < touched_before:
                kept.session = replace(kept.session, status="ended", ended_at=at)
                touched(kept)
                ended.append(session_id)
        return ended

    def _archive_ended(self, ended_before: datetime, at: datetime) -> list[str]:
        archived = []
        for session_id, kept in sorted(self._sessions.items()):
            session = kept.session
            old = session.status == "ended" and session.ended_at is not None and session.ended_at < ended_before
            if old and not session.counters.unfolded:
                kept.session = replace(session, status="archived", archived_at=at)
                archived.append(session_id)
        for user_id in {self._sessions[session_id].session.user_id for session_id in archived}:
            self._changed(user_id)
        return archived

    async def setting(self, key: str) -> str | None:
        return self._settings.get(key)

    async def settings(self, prefix: str) -> dict[str, str]:
        return {key: value for key, value in self._settings.items() if key.startswith(prefix)}

    async def put_setting(self, key: str, value: str, *, keep: bool = False) -> str:
        self._settings[key] = self._settings.get(key, value) if keep else value
        return self._settings[key]

    async def audit(self, session_id: str) -> Audit:
        kept = self._require(session_id)
        return Audit(
            session=kept.session,
            last_digest=kept.digest,
            rows=tuple(kept.rows),
            summaries=tuple(self._own_summaries(session_id)),
            facts=tuple(sorted(map(records.fact_row, await self.facts(kept.session.user_id, session_id)))),
            episodes=tuple(records.episode_row(e) for e in await self.episodes(kept.session.user_id, session_id)),
        )

    async def check(self) -> list[Problem]:
        return []

    async def rebuild(self, session_id: str | None = None) -> None:
        """Words are read from the messages themselves, and vectors are never stray; both are to be read again."""
        if session_id is not None:
            self._recount(session_id)
            return
        for user_id in self._changes:
            self._cut(user_id)

    def _recount(self, session_id: str) -> None:
        kept = self._require(session_id)
        old = kept.session.counters
        covered = [row for row in kept.rows if row.seq <= old.cursor]
        kept.session = replace(
            kept.session,
            counters=replace(
                chain.recount(kept.rows),
                cursor=old.cursor,
                cursor_turn=max((row.turn for row in covered), default=0),
                cursor_tokens=sum(row.tokens for row in covered),
                version=old.version,
                extracted=old.extracted,
            ),
        )
        kept.digest = kept.rows[-1].digest if kept.rows else chain.first_hash(session_id)
        touched(kept)
        self._cut(kept.session.user_id, [session_id])

    async def unfold(self, session_id: str, rule: ConflictRule) -> None:
        kept = self._require(session_id)
        self._summaries = {key: row for key, row in self._summaries.items() if row.session_id != session_id}
        seen = [one.id for one in self._episodes.values() if one.session_id == session_id and one.origin == "said"]
        self._drop_episodes(kept.session.user_id, seen)
        self._proposals = {key: row for key, row in self._proposals.items() if row.session_id != session_id}
        said = [fact.id for fact in self._facts.values() if fact.session_id == session_id and fact.message_id]
        self._drop_facts(kept.session.user_id, said, rule)
        counters = replace(kept.session.counters, extracted=0)
        kept.session = replace(kept.session, counters=counters, erasures=kept.session.erasures + 1)
        mended(kept)
        self._set_cursor(kept, 0)
        self._sweep()
        self._cut(kept.session.user_id)

    async def drop_digests(self, user_id: str) -> None:
        gone = [row.id for row in self._summaries.values() if row.kind == "digest" and row.user_id == user_id]
        for summary_id in gone:
            del self._summaries[summary_id]
            self._vectors.pop(summary_id, None)
        if gone:
            self._changed(user_id)


def _best(
    items: Sequence[Kind], having: Mapping[str, frozenset[str]], weighed: Mapping[str, int], limit: int
) -> list[Kind]:
    """Those whose terms weigh most, of equals the newest, in the order they came."""
    scores = [sum(weighed[term] for term in having[item.id]) for item in items]
    places = sorted((place for place, score in enumerate(scores) if score), key=lambda place: (-scores[place], -place))
    return [items[place] for place in sorted(places[:limit])]
