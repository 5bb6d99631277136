"""Retention: drops what the profile's rules say is too old. Runs in the worker's sweep, and with `consolidate`."""

from datetime import datetime, timedelta

from lamina.forgetting import receipts
from lamina.forgetting.forget import Forgetting, Plan
from lamina.log import erased
from lamina.log.pages import every_message, every_session
from lamina.parts import Parts


class Retention:
    """Applies the profile's retention rules."""

    def __init__(self, parts: Parts, forgetting: Forgetting) -> None:
        self._parts = parts
        self._forgetting = forgetting

    async def run(self) -> int:
        """Drop what is too old; how many messages were dropped. Scrubs what is still due to be scrubbed."""
        profile, now, store = self._parts.profile, self._parts.now(), self._parts.store
        if receipts.scrub_state(await store.setting("scrub"), store.clean) != store.clean:
            await store.scrub()
        dropped = 0
        if profile.drop_archived_days is not None:
            dropped += await self._drop_archived(now - timedelta(days=profile.drop_archived_days))
        if profile.keep_message_days is not None:
            dropped += await self._drop_messages(now - timedelta(days=profile.keep_message_days))
        return dropped

    async def _drop_archived(self, before: datetime) -> int:
        dropped = 0
        async for session in every_session(self._parts.store):
            if session.status == "archived" and session.archived_at is not None and session.archived_at < before:
                dropped += await self._drop(
                    Plan(user_id=session.user_id, target="an archived session", sessions=[session.id])
                )
        return dropped

    async def _drop_messages(self, before: datetime) -> int:
        """Drop the words of old messages that summaries stand for; these and the facts stay."""
        dropped = 0
        async for session in every_session(self._parts.store):
            cursor = min(session.counters.cursor, session.counters.extracted or session.counters.cursor)
            plan = Plan(user_id=session.user_id, target="old messages of a session", derived=False)
            async for message in every_message(self._parts.store, session.id, 1, cursor):
                if message.created_at < before and not erased.is_emptied(message):
                    plan.rewrites.append(self._forgetting.empty_message(message, erased.DROPPED))
            dropped += await self._drop(plan)
        return dropped

    async def _drop(self, plan: Plan) -> int:
        return len((await self._forgetting.execute(plan)).messages)
