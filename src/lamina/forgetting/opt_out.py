"""Opt out: erase what was derived of a user, and derive nothing more until they opt in."""

from lamina.forgetting.forget import Forgetting, Plan
from lamina.knowledge.extract import Reader
from lamina.log.pages import every_opt_out, every_session
from lamina.parts import Parts
from lamina.values.opt_out import PREFIX, OptOut, opt_out_of, setting_of
from lamina.values.receipt import Receipt


class OptOuts:
    """Who has opted out."""

    def __init__(self, parts: Parts, reader: Reader, forgetting: Forgetting) -> None:
        self._parts = parts
        self._reader = reader
        self._forgetting = forgetting

    async def all(self) -> list[OptOut]:
        """Everybody who has opted out, by id."""
        return await every_opt_out(self._parts.store)

    async def of(self, user_id: str) -> OptOut | None:
        key = PREFIX + user_id
        return opt_out_of(key, await self._parts.store.setting(key))

    async def opt_out(self, user_id: str, *, keep_log: bool) -> Receipt:
        """Note it first, so that nothing is derived meanwhile; then erase what there is."""
        known = await self.of(user_id)
        since = known.since if known else self._parts.now()
        await self._note(OptOut(user_id=user_id, since=since, keep_log=keep_log))
        plan = await self._plan(user_id) if keep_log else Plan(user_id=user_id, target="a user", user=True)
        return await self._execute(plan)

    async def restore(self, choice: OptOut) -> Receipt:
        """An opt-out that was made elsewhere: what was derived here is erased, messages that are here stay."""
        await self._note(choice)
        return await self._execute(await self._plan(choice.user_id))

    async def _note(self, choice: OptOut) -> None:
        await self._parts.store.put_setting(PREFIX + choice.user_id, setting_of(choice))

    async def _execute(self, plan: Plan) -> Receipt:
        plan.nothing = f"there is nothing of user {plan.user_id!r} to erase"
        return await self._forgetting.execute(plan)

    async def _plan(self, user_id: str) -> Plan:
        """Everything but the messages; what was said may be read again after opting in."""
        store = self._parts.store
        facts, episodes = await store.facts(user_id), await store.episodes(user_id)
        sessions = [session async for session in every_session(store, user_id) if session.counters.messages]
        return Plan(
            user_id=user_id,
            target="what was derived of a user who opted out",
            facts=[fact.id for fact in facts],
            episodes=[episode.id for episode in episodes],
            unfold={session.id: 0 for session in sessions},
            vectors=True,
            block=False,
            renew=False,
        )

    async def opt_in(self, user_id: str) -> OptOut | None:
        """Derive again, also from messages that were kept; gives what ends, None if the user had not opted out."""
        known = await self.of(user_id)
        if known is not None:
            await self._parts.store.put_setting(PREFIX + user_id, "")
            async for session in every_session(self._parts.store, user_id):
                await self._parts.store.unfold(session.id, self._reader.rule)
        return known
