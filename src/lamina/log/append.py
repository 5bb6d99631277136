"""Messages in: checked, counted and appended in one transaction, without waiting for any model."""

import logging
from collections.abc import Callable, Sequence
from typing import Any

from lamina.errors import InputError
from lamina.log.messages import as_list, check_id, check_project_id, draft, main_owner, session_conflict
from lamina.log.pages import single
from lamina.parts import Parts, beside_loop, load_beside_loop
from lamina.protocols.store import Append, Appended
from lamina.values.message import SEARCHED, Added, MessageDraft

logger = logging.getLogger("lamina.memory")

_LARGE = 200_000  # characters beyond which counting tokens leaves the event loop
_SALT_BYTES = 16


class Ingest:
    """Appends messages to sessions."""

    def __init__(self, parts: Parts, wake: Callable[[], None]) -> None:
        self._parts = parts
        self._wake = wake

    async def prepare(
        self,
        messages: Any,
        *,
        user_id: str,
        session_id: str,
        agent_id: str | None,
        project_id: str | None = None,
        key: str | None = None,
    ) -> Append:
        """What is to be stored, checked and counted."""
        given = as_list(messages)
        if not given:
            raise InputError("there are no messages to add; give at least one")
        if len(given) > self._parts.limits.append_messages:
            raise InputError(
                f"{len(given):,} messages at once; at most {self._parts.limits.append_messages:,}: add them in parts"
            )
        await load_beside_loop(self._parts.counter)
        append = Append(
            user_id=check_id(user_id, "user_id"),  # first: a session that is not named is named after the user
            session_id=check_id(session_id, "session_id"),
            agent_id=None if agent_id is None else check_id(agent_id, "agent_id"),
            project_id=None if project_id is None else check_project_id(project_id),
            drafts=await self._drafts(given),
            salts=self._salts(len(given)),
            now=self._parts.now(),
            profile=self._parts.profile,
            key=None if key is None else check_id(key, "idempotency_key"),
        )
        _note_long(append.drafts, append.session_id)
        return append

    async def append(self, append: Append) -> Added:
        """Store what `prepare` gave; returns once it is safe."""
        return self.finish(append, await self._parts.store.append(append))

    def finish(self, append: Append, appended: Appended) -> Added:
        """Wake the worker if it has work now; gives what was stored."""
        if appended.due or appended.session.counters.messages == len(appended.ids):
            self._wake()
        return Added(
            session_id=append.session_id,
            user_id=append.user_id,
            ids=appended.ids,
            span=appended.span,
            duplicates=appended.duplicates,
        )

    async def check_owner(self, append: Append) -> None:
        """Leave the main sessions of other users to them; one that a user has from earlier stays theirs."""
        if main_owner(append.session_id) not in {None, append.user_id}:
            session = single(await self._parts.store.sessions(ids=[append.session_id]))
            if session is None or session.user_id != append.user_id:
                raise session_conflict(append.session_id)

    def _salts(self, number: int) -> list[bytes]:
        drawn = self._parts.random_bytes(number * _SALT_BYTES)
        return [drawn[at : at + _SALT_BYTES] for at in range(0, len(drawn), _SALT_BYTES)]

    async def _drafts(self, given: list[Any]) -> list[MessageDraft]:
        large = len(given) > 1_000 or any(len(str(m.get("content", ""))) > _LARGE for m in given if isinstance(m, dict))  # noqa: PLR2004
        return await beside_loop(lambda: self._build_drafts(given)) if large else self._build_drafts(given)

    def _build_drafts(self, given: list[Any]) -> list[MessageDraft]:
        parts, now = self._parts, self._parts.now()
        single = len(given) == 1
        return [
            draft(
                raw,
                place="message" if single else f"message {index}",
                now=now,
                new_id=lambda: parts.new_id("msg"),
                count=parts.counter.count,
                limits=parts.limits,
            )
            for index, raw in enumerate(given)
        ]


def _note_long(drafts: Sequence[MessageDraft], session_id: str) -> None:
    """Say of which messages the end cannot be found."""
    for one in drafts:
        if len(one.text) > SEARCHED:
            found = {"session": session_id, "id": one.id, "characters": len(one.text), "searched": SEARCHED}
            logger.warning("message_partly_searched", extra=found)
