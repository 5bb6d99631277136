"""Consolidation: memories decay, fade into the archive, and are merged; on demand, and by schedule in the worker."""

import logging
from dataclasses import fields
from datetime import datetime

from lamina.knowledge.consolidation_plan import fading, plan, redirect_links, rules_of
from lamina.knowledge.extract import Reader
from lamina.log.erased import is_emptied_episode
from lamina.log.pages import cuts_of, every_user
from lamina.parts import Parts, Progress
from lamina.protocols.store import FactsCommit
from lamina.values.fact import Consolidated, Fading

logger = logging.getLogger("lamina.consolidate")

_LAST = "consolidated_at"


class Consolidation:
    """Keeps what is known small and fresh."""

    def __init__(self, parts: Parts, reader: Reader) -> None:
        self._parts = parts
        self._reader = reader

    async def consolidate(self, user_id: str | None, progress: Progress | None = None) -> Consolidated:
        """Consolidate one user's memories, or everyone's; doing it twice changes nothing more."""
        users = [user_id] if user_id is not None else [one async for one in every_user(self._parts.store)]
        done = Consolidated()
        for number, one in enumerate(users, 1):
            done = _add(done, await self._one(one))
            if progress is not None:
                progress(number, len(users))
        return done

    async def _one(self, user_id: str) -> Consolidated:
        store, rules = self._parts.store, rules_of(self._parts.profile)
        cuts = await cuts_of(store, user_id)
        happened = [one for one in await store.episodes(user_id) if not is_emptied_episode(one)]
        planned = plan(await store.facts(user_id), happened, self._parts.now(), rules)
        if planned.facts or planned.episodes or planned.drop_episodes:
            committed = await store.commit_facts(
                FactsCommit(
                    user_id=user_id,
                    rule=self._reader.rule,
                    change=tuple(planned.facts),
                    change_episodes=tuple(planned.episodes),
                    drop_episodes=tuple(planned.drop_episodes),
                    links=tuple(redirect_links(await store.links(user_id), planned.into, planned.drop_episodes)),
                    cuts=cuts,
                )
            )
            if not committed:  # something was forgotten meanwhile; what is left is for the next time
                return Consolidated()
        return planned.result

    async def fading(self, user_id: str) -> list[Fading]:
        """How fresh each memory of a user is, and under which freshness a consolidation would put it away."""
        store = self._parts.store
        known, happened = await store.facts(user_id), await store.episodes(user_id)
        return fading(known, happened, self._parts.now(), rules_of(self._parts.profile))

    async def if_due(self) -> Consolidated | None:
        """Consolidate everyone if the last time was long enough ago."""
        hours = self._parts.profile.consolidate_hours
        if hours is None:
            return None
        now, last = self._parts.now(), await self._parts.store.setting(_LAST)
        if last is None:  # a new memory has nothing to consolidate; the first time is counted from now
            await self._parts.store.put_setting(_LAST, now.isoformat())
            return None
        if (now - datetime.fromisoformat(last)).total_seconds() < hours * 3600:
            return None
        await self._parts.store.put_setting(_LAST, now.isoformat())
        done = await self.consolidate(None)
        logger.info(
            "consolidated",
            extra={
                "archived": len(done.archived),
                "merged": len(done.merged),
                "merged_episodes": len(done.merged_episodes),
                "dropped_episodes": len(done.dropped_episodes),
                "tokens_reclaimed": done.tokens_reclaimed,
            },
        )
        return done


def _add(one: Consolidated, other: Consolidated) -> Consolidated:
    sums = {field.name: getattr(one, field.name) + getattr(other, field.name) for field in fields(one)}
    return Consolidated(**sums)
