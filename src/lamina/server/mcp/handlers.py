"""What each tool does: calls a verb of the memory with the arguments, gives plain data."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import quote, unquote

from lamina.context.rendering import fence
from lamina.errors import InputError, LaminaError, NotFound
from lamina.knowledge.fact_words import normalise_value
from lamina.knowledge.told import acknowledge
from lamina.log.default_user import UserNotNamed
from lamina.log.messages import EVERY_PROJECT
from lamina.memory import AsyncMemory
from lamina.server.mcp import results
from lamina.server.mcp.results import Data
from lamina.values.access_key import KeyRole
from lamina.values.fact import FACT_STATUSES, Fact
from lamina.values.receipt import Receipt
from lamina.values.session import Session

PROFILE = "lamina://profile/"
SESSION = "lamina://session/"

_MAX_MESSAGES = 200  # in one answer of get_session
_MAX_PREVIEWS = 10  # texts in the preview of a forgetting
_PREVIEW_LENGTH = 160  # characters of each
_MAX_KEYS = 20  # in an error
_RESTART = (
    "this server was started for nobody, and its tools take no user; whoever runs it has to start it again with"
    " `lamina mcp --user NAME`, or with --any-user to let each call name one"
)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool gives: data, and the same as a text in which memory is marked as data."""

    data: Data
    text: str


@dataclass(frozen=True, slots=True)
class ToolHandlers:
    """The tools over one memory, for one user; or, with `any_user`, for whom each call names."""

    memory: AsyncMemory
    user: str | None  # None: `default`, if there is no other
    any_user: bool = False
    role: KeyRole = "admin"  # what the caller may do
    project: str | None = None  # where a call names none

    async def call(self, tool: str, given: Any) -> Answer:
        """Do what a tool is for, with arguments that were read by its model."""
        user = await self._user(getattr(given, "user_id", None))
        if self.project is not None and "project_id" in type(given).model_fields and given.project_id is None:
            given = given.model_copy(update={"project_id": self.project})
        data: Data = await getattr(self, f"_{tool}")(user, given)
        if tool == "get_context":
            text = results.visible(data["text"])
            return Answer(data, fence(text) if text else "Nothing is remembered yet.")
        if tool == "add_memory":
            return Answer(data, results.visible(data["done"]))
        return Answer(data, results.forget_text(data) if tool == "forget" else results.as_text(data))

    # the tools

    async def _add_memory(self, user: str, given: Any) -> Data:
        if (given.text is None) == (given.messages is None):
            raise InputError("give either text or messages")
        if given.text is not None and given.session_id is None:
            more = given.model_dump(include={"project_id", "type", "key", "tags"})
            made = await self.memory.remember_all(given.text, user_id=user, **more)
            return {"stored": "fact", "done": acknowledge(made), "ids": [one.fact.id for one in made]}
        if more := sorted(given.model_fields_set & {"type", "key", "tags"}):
            raise InputError(f"{', '.join(more)} can be given for a text without a session, not for messages")
        messages = given.text or [one.model_dump(exclude_none=True) for one in given.messages]
        project_id = await self._project(given)
        added = await self.memory.add(messages, user_id=user, session_id=given.session_id, project_id=project_id)
        number = "1 message" if len(added.ids) == 1 else f"{len(added.ids)} messages"
        done = f"stored: {number} in session {added.session_id}"
        return {"stored": "messages", "done": done, "ids": list(added.ids), "session_id": added.session_id}

    async def _search_memories(self, user: str, given: Any) -> Data:
        if given.session_id is not None:
            await self._session(user, given.session_id)
        hits = await self.memory.search(user_id=user, **given.model_dump(exclude={"user_id"}))
        return {"hits": [results.hit(hit) for hit in hits]}

    async def _get_context(self, user: str, given: Any) -> Data:
        if given.session_id is not None and await self._find_session(given.session_id):
            await self._session(user, given.session_id)
        context, blocks = await self.memory.contexts.build(
            given.query,
            user_id=user,
            session_id=given.session_id,
            project_id=await self._project(given),
            budget=given.budget,
        )
        return {
            "text": results.context_text(blocks),
            "tokens": context.tokens,
            "budget": context.budget.total,
            "warnings": list(context.manifest.warnings),
        }

    async def _list_facts(self, user: str, given: Any) -> Data:
        facts = await self.memory.facts(user, **given.model_dump(exclude={"user_id", "limit"}))
        return {"facts": [results.fact(fact) for fact in facts[: given.limit]], "total": len(facts)}

    async def _memory_history(self, user: str, given: Any) -> Data:
        if (given.key is None) == (given.fact_id is None):
            raise InputError("give either key or fact_id")
        named = [await self._fact(user, given.fact_id)] if given.key is None else await self._about(user, given.key)
        found = [fact for one in named for fact in await self.memory.history(one.id)]
        return {"facts": [results.fact(fact) for fact in sorted(found, key=lambda fact: (fact.learnt_at, fact.id))]}

    async def _forget(self, user: str, given: Any) -> Data:
        target = given.model_dump(include={"message_ids", "fact_id", "session_id", "text"}, exclude_none=True)
        if len(target) + given.everything != 1 and (given.everything or target.keys() != {"session_id", "text"}):
            raise InputError(
                "name one of message_ids, fact_id, session_id, text and everything; text may have a session_id"
            )
        for message_id in target.get("message_ids", ()):
            await self._check_message(user, message_id)
        if "fact_id" in target:
            await self._fact(user, target["fact_id"])
        if "session_id" in target:
            await self._session(user, target["session_id"])
        if not target.keys() & {"message_ids", "fact_id", "session_id"}:
            target["user_id"] = user
        message_ids = target.pop("message_ids", None)
        receipt = await self.memory.forget(message_id=message_ids, **target, dry_run=not given.confirm)
        return results.receipt(receipt, await self._preview(receipt) if receipt.dry_run else [])

    async def _list_sessions(self, user: str, given: Any) -> Data:
        found = await self._sessions(user, given.status, given.project_id)
        return {"sessions": [results.session(one) for one in found[: given.limit]], "total": len(found)}

    async def _get_session(self, user: str, given: Any) -> Data:
        await self._session(user, given.session_id)
        found = await self.memory.conversation(given.session_id)
        shown, first, last = list(found.recent), given.first, given.last
        if first is not None or last is not None:
            start = first if first is not None else max(1, (last or 1) - _MAX_MESSAGES + 1)
            end = min(start + _MAX_MESSAGES - 1, found.session.counters.messages if last is None else last)
            if end < start:
                raise InputError(f"there are no messages {start} to {end}; it has {found.session.counters.messages}")
            shown = await self.memory.messages(given.session_id, start, end)
        return {
            **results.session(found.session),
            "summaries": [chunk.text for chunk in found.chunks],
            "shown": [results.message(one) for one in shown],
        }

    # the resources

    async def pages(self) -> list[tuple[str, str]]:
        """Address and title of the user's profile and of the newest sessions."""
        user = await self._user()
        sessions = await self._sessions(user, None, self.project)
        listed = [(f"{SESSION}{quote(one.id, safe='')}", _heading(one)) for one in sessions[:50]]
        return [(f"{PROFILE}{quote(user, safe='')}", f"What is known of {user}"), *listed]

    async def page(self, address: str) -> str:
        """The page at an address, as markdown."""
        for start in (PROFILE, SESSION):
            if address.startswith(start) and (name := unquote(address.removeprefix(start))):
                return await (self._profile_page(name) if start == PROFILE else self._session_page(name))
        raise NotFound(f"no page {address!r:.200}; there are {PROFILE}{{user}} and {SESSION}{{id}}")

    async def _profile_page(self, user: str) -> str:
        if not self.any_user and user != (own := await self._user()):
            raise NotFound(f"no profile of {user!r:.200}; this server is for {own!r}")
        return results.page((await self.memory.user_profile(user, project_id=self.project)).markdown)

    async def _session_page(self, session_id: str) -> str:
        if not self.any_user:
            await self._session(await self._user(), session_id)
        return results.session_page(await self.memory.conversation(session_id))

    # what belongs to the user

    async def _user(self, named: str | None = None) -> str:
        """The user that a call names, else that of the server; where no call can name one, who runs it has to."""
        try:
            return await self.memory.resolve_user(named or self.user)
        except UserNotNamed as error:
            if self.any_user:
                raise
            raise UserNotNamed(error.users, _RESTART) from None

    async def _find_session(self, session_id: str) -> Session | None:
        with suppress(NotFound):
            return await self.memory.session(session_id)
        return None

    async def _session(self, user: str, session_id: str) -> Session:
        """A session of this user; to others it is as if it were not there."""
        found = await self._find_session(session_id)
        if found is None or found.user_id != user:
            raise NotFound(f"no session {session_id!r}; list_sessions has those there are")
        return found

    async def _project(self, given: Any) -> str | None:
        """The project of a call; a session that is there has its own, whatever the server's is."""
        is_default = given.project_id is not None and given.project_id == self.project
        if is_default and given.session_id is not None and await self._find_session(given.session_id):
            return None
        return cast("str | None", given.project_id)

    async def _sessions(self, user: str, status: Any, project_id: str | None) -> list[Session]:
        """Sessions of a user, the newest first."""
        found = await self.memory.sessions(user, project_id=project_id, status=status)
        return sorted(found, key=lambda one: (one.last_at, one.id), reverse=True)

    async def _fact(self, user: str, fact_id: str) -> Fact:
        found = None
        with suppress(NotFound):
            found = await self.memory.fact(fact_id)
        if found is None or found.user_id != user:
            raise NotFound(f"no fact {fact_id!r}; list_facts and search_memories have those there are")
        return found

    async def _about(self, user: str, key: str) -> list[Fact]:
        """One fact for each thing that the key may mean."""
        known = await self.memory.facts(user, statuses=FACT_STATUSES, project_id=EVERY_PROJECT)
        keyed = [fact for fact in known if fact.key is not None]
        named = {
            (fact.category, fact.slot): fact
            for fact in keyed
            if normalise_value(fact.key or "") == normalise_value(key)
        }
        if not named:
            keys = sorted({fact.key or "" for fact in keyed})[:_MAX_KEYS]
            raise NotFound(
                f"no facts about {key!r:.200}; " + (f"there are some about {keys}" if keys else "none has a key")
            )
        return list(named.values())

    async def _check_message(self, user: str, message_id: str) -> None:
        with suppress(NotFound):
            found = await self.memory.message(message_id)
            await self._session(user, found.session_id)
            return
        raise NotFound(f"no message {message_id!r}; search_memories and get_session have their ids")

    async def _preview(self, planned: Receipt) -> list[str]:
        """The beginnings of some texts that would go."""
        texts: list[str] = []
        for message_id in [*planned.messages, *planned.redacted][:_MAX_PREVIEWS]:
            with suppress(LaminaError):  # ids of whole sessions are hashed
                texts.append((await self.memory.message(message_id)).text)
        for fact_id in planned.facts[: _MAX_PREVIEWS - len(texts)]:
            with suppress(LaminaError):
                value = (await self.memory.fact(fact_id)).value
                texts += [] if any(value in text for text in texts) else [value]
        return [" ".join(text.split())[:_PREVIEW_LENGTH] for text in texts]


def _heading(session: Session) -> str:
    """What a session is called in a list of pages."""
    return f"Session {session.id}" if session.title is None else f"{results.visible(session.title)} ({session.id})"
