"""Opt-outs in a file of ours: restored before anything of their users is derived."""

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import replace

from lamina.errors import InputError
from lamina.parts import Parts
from lamina.values.opt_out import PREFIX, OptOut
from lamina.values.receipt import Receipt

RestoreOptOut = Callable[[OptOut], Awaitable[Receipt]]  # gives what it erased


class IncomingOptOuts:
    """Restores the opt-outs of one file; what a user has chosen here stays."""

    def __init__(self, parts: Parts, restore: RestoreOptOut, skipped: Counter[str]) -> None:
        self._store = parts.store
        self._restore = restore
        self._skipped = skipped
        self.notes: list[str] = []

    async def take(self, choice: OptOut, owner: str, place: str) -> None:
        """Restore an opt-out for the user who gets what is in the file, unless they have chosen here."""
        chosen = await self._store.setting(PREFIX + owner)
        if chosen == "":
            self._skipped["opt-out of a user who has opted in again here"] += 1
        if chosen is not None:
            return
        if owner != choice.user_id and await self._is_known(owner):
            raise InputError(
                f"{place}: user {choice.user_id!r} has opted out, and user {owner!r}, who is to get what is in the"
                f" file, has a memory here; import it for a new user, or opt_out({owner!r}) first"
            )
        receipt = await self._restore(replace(choice, user_id=owner))
        erased = "" if receipt.empty else "; what was derived here is erased"
        self.notes.append(f"user {owner!r} has opted out since {choice.since.date()}{erased}")

    async def _is_known(self, user_id: str) -> bool:
        return bool(await self._store.sessions(user_id=user_id, limit=1) or await self._store.facts(user_id))
