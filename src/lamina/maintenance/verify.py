"""Verify and repair: what is stored is checked against itself, and what is derived is rebuilt."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from lamina.counts import count
from lamina.errors import StoreBusy, StoreError, StoreReadOnly
from lamina.knowledge import conflicts
from lamina.knowledge.circular_links import circles
from lamina.knowledge.extract import Reader
from lamina.log.erased import is_dropped
from lamina.log.pages import every_message, every_session, every_user
from lamina.maintenance import integrity
from lamina.parts import Parts, Progress, Settling, beside_loop
from lamina.profiles import Profile, profile_kept
from lamina.protocols.store import Audit, FactsCommit
from lamina.values.fact import ConflictRule, Episode, Fact, Link
from lamina.values.report import Problem, Report
from lamina.values.session import Session
from lamina.values.summary import Summary


class Maintenance:
    """Looks after what is stored."""

    def __init__(self, parts: Parts, reader: Reader, settle_all: Settling) -> None:
        self._parts = replace(parts, store=parts.store.for_tenant(parts.store.tenant, maintenance=True))
        self._reader = reader
        self._settle_all = settle_all

    async def verify(self, session_id: str | None = None, progress: Progress | None = None) -> Report:
        """Check digests, places, counters, coverage, provenance and the word index; changes nothing."""
        report, _ = await self._examine(session_id, progress)
        return report

    async def repair(self, session_id: str | None = None, progress: Progress | None = None) -> Report:
        """Rebuild what is derived and damaged; what is left in the report cannot be repaired."""
        report, broken = await self._examine(session_id, progress)
        mended = [await self._repair_session(session, found) for session, found in broken]
        derived = {"index": "word index rebuilt", "vector": "vectors of nothing dropped"}
        if kinds := derived.keys() & {problem.kind for problem in report.problems}:
            await self._parts.store.rebuild()
            mended.append([derived[kind] for kind in sorted(kinds)])
        mended.append(await self._drop_digests(report))
        mended.append(await self._resolve_users(report))
        if any(mended):
            await self._settle_all()
        after, _ = await self._examine(session_id, progress)
        return replace(after, mended=tuple(text for texts in mended for text in texts))

    async def _repair_session(self, session: Session, found: list[Problem]) -> list[str]:
        done = []
        kinds = {problem.kind for problem in found if problem.derived}
        if kinds & {"counter", "chain"}:
            await self._parts.store.rebuild(session.id)
            done.append(f"session {session.id}: counted again")
        if kinds & {"summary", "provenance", "coverage", "fact"} and await self._has_all_words(session):
            await self._parts.store.unfold(session.id, self._reader.rule)
            await self._parts.store.drop_digests(session.user_id)
            done.append(f"session {session.id}: folded again from its messages")
        return done

    async def _has_all_words(self, session: Session) -> bool:
        """Whether a session can be folded again: no message of it was dropped by a retention rule."""
        async for message in every_message(self._parts.store, session.id, 1, session.counters.messages):
            if is_dropped(message):
                return False
        return True

    async def _resolve_users(self, report: Report) -> list[str]:
        """Facts whose standing does not follow from what was said, given their standing again."""
        users = sorted(
            {problem.where.removeprefix("user ") for problem in report.problems if problem.kind == "standing"}
        )
        rule = await self._rule()
        for user_id in users:
            await self._resolve_user(user_id, rule)
        return [f"user {user_id}: facts settled again" for user_id in users]

    async def _resolve_user(self, user_id: str, rule: ConflictRule) -> None:
        known = tuple(await self._parts.store.facts(user_id))
        await self._parts.store.commit_facts(FactsCommit(user_id=user_id, rule=rule, change=known))

    async def _rule(self) -> ConflictRule:
        """How facts stand by the profile that is kept with the data; another one holds once it is written with."""
        known = await self._parts.store.setting("profile")
        return conflicts.rule_of(self._parts.profile if known is None else profile_kept(known))

    async def follow(self, before: Profile) -> None:
        """Have all facts stand by this profile's rule, if the one before had another."""
        if conflicts.rule_of(before) != conflicts.rule_of(self._parts.profile):
            async for user_id in every_user(self._parts.store):
                await self._resolve_user(user_id, self._reader.rule)

    async def _status_problems(self, users: list[str]) -> list[Problem]:
        """Users with facts whose standing is not what a replay of all that was said gives."""
        found, rule = [], await self._rule()
        for user_id in users:
            known = await self._parts.store.facts(user_id)
            if wrong := await beside_loop(partial(_wrong_status, rule, known)):
                text = f"what was said gives another status for {count(len(wrong), 'fact')}, e.g. {wrong[0]}"
                found.append(Problem(kind="standing", where=f"user {user_id}", text=text, derived=True))
        return found

    async def _circular(self, users: list[str]) -> list[Problem]:
        """Users with something that replaces itself, or was merged into itself, however long the way."""
        store, found = self._parts.store, []
        for user_id in users:
            known: list[Fact | Summary | Episode | Link] = [*await store.facts(user_id), *await store.episodes(user_id)]
            known += [*await store.links(user_id), *await store.summaries(user_id=user_id, digests=True, live=False)]
            for text in await beside_loop(partial(circles, known)):
                advice = f"{text}; forget one of them"
                found.append(Problem(kind="circle", where=f"user {user_id}", text=advice, derived=False))
        return found

    async def _drop_digests(self, report: Report) -> list[str]:
        """Damaged digests dropped, to be written again."""
        damaged = {problem.where for problem in report.problems if problem.kind == "digest"}
        users = {session.user_id for session in await self._sessions(None)} if damaged else set()
        broken = sorted(user_id for user_id in users if f"user {user_id}" in damaged)
        for user_id in broken:
            await self._parts.store.drop_digests(user_id)
        return [f"user {user_id}: digest written again" for user_id in broken]

    async def _examine(
        self, session_id: str | None, progress: Progress | None
    ) -> tuple[Report, list[tuple[Session, list[Problem]]]]:
        found = await self._check_store()
        sessions = await self._sessions(session_id)
        broken: list[tuple[Session, list[Problem]]] = []
        messages = summaries = facts = 0
        for number, session in enumerate(sessions, 1):
            try:
                audit = await self._parts.store.audit(session.id)
            except StoreBusy:
                raise
            except StoreError as error:
                found.append(Problem(kind="file", where=f"session {session.id}", text=str(error), derived=False))
                continue
            own = await beside_loop(partial(_wrong_with, audit))
            messages, summaries, facts = (
                messages + len(audit.rows),
                summaries + len(audit.summaries),
                facts + len(audit.facts),
            )
            if own:
                broken.append((session, own))
                found.extend(own)
            if progress is not None:
                progress(number, len(sessions))
        users = sorted({session.user_id for session in sessions})
        if session_id is None:
            users = [user_id async for user_id in every_user(self._parts.store)]
        found.extend(await self._status_problems(users))
        found.extend(await self._circular(users))
        report = Report(
            sessions=len(sessions), messages=messages, summaries=summaries, facts=facts, problems=tuple(found)
        )
        return report, broken

    async def _check_store(self) -> list[Problem]:
        """What the store says of itself; its word index can only be checked where it may write."""
        try:
            return list(await self._parts.store.check())
        except StoreReadOnly:
            return []
        except StoreBusy:
            raise
        except StoreError as error:
            return [Problem(kind="file", where="store", text=str(error), derived=False)]

    async def _sessions(self, session_id: str | None) -> list[Session]:
        store = self._parts.store
        if session_id is not None:
            audit = await store.audit(session_id)
            return [audit.session]
        return [session async for session in every_session(store)]


def _wrong_with(audit: Audit) -> list[Problem]:
    return list(integrity.problems(audit))


def _wrong_status(rule: ConflictRule, known: Sequence[Fact]) -> list[str]:
    """Facts that do not stand as a replay of all that was said says."""
    replayed = {fact.id: fact for one in conflicts.by_family(known).values() for fact in conflicts.resolve(one, rule)}
    return [fact.id for fact in known if fact != replayed[fact.id]]
