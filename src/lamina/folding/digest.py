"""The digest: a summary of the user's last sessions, for a new one."""

import logging
from collections.abc import Sequence

from lamina.folding import layouts
from lamina.folding.fold import Compactor
from lamina.log.erased import is_emptied
from lamina.log.transcript import line
from lamina.parts import Parts
from lamina.protocols.models import SummaryTask
from lamina.values.message import Span
from lamina.values.opt_out import PREFIX
from lamina.values.session import Session
from lamina.values.summary import Recipe, Source, Summary

logger = logging.getLogger("lamina.digest")

_SHORT_TERM = 10  # messages of each session that are read beside its summaries
_THEMES = ("Profile & Situation", "Work & Projects", "Plans & Decisions", "Preferences & Rules")
_RECENT = 200  # sessions of a user among which projects are looked for
_MAX_CHARACTERS = 4_000  # characters that are read of each of them


class Digester:
    """Keeps each user's digest in step with their sessions."""

    def __init__(self, parts: Parts, compactor: Compactor) -> None:
        self._parts = parts
        self._compactor = compactor

    async def refresh_all(self, user_id: str) -> int:
        """Write the digests of a user that are due, of each project and of the sessions of none; how many."""
        if not self._parts.profile.digest_sessions:
            return 0
        newest = await self._parts.store.sessions(user_id=user_id, newest=True, limit=_RECENT)
        projects = dict.fromkeys(session.project_id for session in newest)
        return sum([await self.refresh(user_id, project_id, thorough=True) for project_id in projects])

    async def refresh(self, user_id: str, project_id: str | None, *, thorough: bool) -> bool:
        """Write a new digest of the sessions of a project, or of none, if one is due; whether one was written."""
        if not self._parts.profile.digest_sessions or await self._parts.store.setting(PREFIX + user_id):
            return False
        sessions = await self._sessions(user_id, project_id)
        if not sessions:
            return False
        digests = await self._parts.store.summaries(user_id=user_id, digests=True, live=False)
        newest = next((one for one in digests if one.project_id == project_id), None)
        sources = tuple(
            Source(session_id=s.id, messages=s.counters.messages, version=s.counters.version) for s in sessions
        )
        if newest is not None and _is_current(newest.sources, sources, thorough=thorough):
            return False
        digest = await self._write(sessions, sources, version=digests[0].version + 1 if digests else 1)
        written = await self._parts.store.commit(digest)
        if written:
            logger.info("digested", extra={"sessions": len(sources), "tokens": digest.tokens})
        return written

    async def _sessions(self, user_id: str, project_id: str | None) -> list[Session]:
        """The last sessions, oldest first; not the newest one while it goes on."""
        wanted = self._parts.profile.digest_sessions
        newest = await self._parts.store.sessions(
            user_id=user_id, project_id=project_id or "", newest=True, limit=wanted + 1
        )
        if newest and newest[0].status in {"active", "paused"}:
            newest = newest[1:]
        return newest[:wanted][::-1]

    async def _write(self, sessions: Sequence[Session], sources: tuple[Source, ...], *, version: int) -> Summary:
        profile = self._parts.profile
        task = SummaryTask(
            kind="digest",
            profile=profile.name,
            messages=(),
            previous=None,
            summaries=tuple([await self._account(session) for session in sessions]),
            sections=profile.sections or _THEMES,
            cap=profile.digest_cap,
            least=0,
            model=profile.summarizer_model,
            user_share=profile.user_share,
        )
        written = await self._compactor.write(self._compactor.fill_prompt(task), self._parts.patience.attempts)
        return Summary(
            id=self._parts.new_id("sum"),
            user_id=sessions[0].user_id,
            project_id=sessions[0].project_id,
            session_id=None,
            kind="digest",
            layer=0,
            version=version,
            covers=None,
            turns=None,
            reads=None,
            inputs=(),
            text=written.text,
            topics=written.topics,
            tokens=self._parts.counter.count(written.text),
            recipe=Recipe(
                profile=profile.name,
                kind="digest",
                model=written.model,
                prompt=written.prompt,
                cap=profile.digest_cap,
                fallback=written.fallback,
            ),
            updated_at=max(session.last_at for session in sessions),
            created_at=self._parts.now(),
            sources=sources,
        )

    async def _account(self, session: Session) -> str:
        """One session for the digest: its heading, its summaries, its last messages."""
        store, title = self._parts.store, self._parts.profile.title
        summaries = [layouts.unframe(title, summary.text) for summary in await store.summaries(session.id)]
        count = session.counters.messages
        recent = await store.messages(session.id, Span(first=max(1, count - _SHORT_TERM + 1), last=count))
        day = session.started_at.date().isoformat()
        said = [line(message)[:_MAX_CHARACTERS] for message in recent if not is_emptied(message)]
        return "\n".join([f"Session {day}", *summaries, *(["## Last messages"] if summaries and said else ()), *said])


def _is_current(old: Sequence[Source], new: Sequence[Source], *, thorough: bool) -> bool:
    if thorough:
        return tuple(old) == tuple(new)
    return [(s.session_id, s.version) for s in old] == [(s.session_id, s.version) for s in new]
