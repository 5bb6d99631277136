"""Lamina's facts and messages as the memories that mem0's clients know."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from lamina.errors import InputError, NotFound
from lamina.knowledge.fact_words import describe_fact
from lamina.log.default_user import DEFAULT_USER
from lamina.log.messages import main_owner
from lamina.memory import AsyncMemory
from lamina.server.mem0.mem0_filters import EVERYTHING, Filter, matches, only_entities, users_in
from lamina.values.fact import FACT_STATUSES, Fact
from lamina.values.hit import Hit
from lamina.values.message import Message
from lamina.values.session import Session

Json = dict[str, Any]
T = TypeVar("T")

KIND = "lamina_kind"  # in the metadata of what is no fact
_SCOPES = ("agent_id", "run_id")
_MAX_USERS = 200  # whose memories are looked through at once
_MAX_HITS = 1000
_SLICE = 100  # memories that are compared with a filter before others have their turn
_ID = re.compile(
    r"[a-z]{1,9}_[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE
)  # ours, or a UUID


# metadata as tags


def tags_of(metadata: Mapping[str, Any], scopes: Mapping[str, str | None]) -> list[str]:
    """Tags that keep metadata and scopes: `key:text`, or `key:=json` for what is no plain text."""
    named = {name: value for name, value in scopes.items() if value is not None}
    for key in metadata:
        if not key.strip() or ":" in key or key in _SCOPES:
            raise InputError(f"metadata has the key {key!r:.80}; a key is a word without ':', and none of {_SCOPES}")
    return [_tag(key, value) for key, value in {**metadata, **named}.items()]


def _tag(key: str, value: Any) -> str:
    plain = isinstance(value, str) and value == value.strip() and value and not value.startswith("=")
    return f"{key.strip()}:{value}" if plain else f"{key.strip()}:={json.dumps(value, ensure_ascii=False)}"


def metadata_of(tags: Iterable[str]) -> Json:
    """What tags have kept; a tag that is only a word is among the `tags`."""
    found: Json = {}
    for tag in tags:
        key, colon, value = tag.partition(":")
        if not colon:
            found.setdefault("tags", []).append(tag)
        elif value.startswith("="):
            found[key] = _read(value[1:])
        else:
            found[key] = value
    return found


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


# versions: an update has an id of its own, and a memory keeps the one it had at first


class Versions:
    """The facts of a user, and which is a newer version of which."""

    def __init__(self, facts: Iterable[Fact]) -> None:
        self.by_id = {fact.id: fact for fact in facts}
        self._after = {fact.replaces: fact for fact in self.by_id.values() if fact.replaces is not None}

    def first(self, fact: Fact) -> Fact:
        return self._way(fact, self._before)[-1]

    def newest(self, fact: Fact) -> Fact:
        return self._way(fact, lambda one: self._after.get(one.id))[-1]

    def all_of(self, fact: Fact) -> list[Fact]:
        """Every version, the newest first."""
        return self._way(self.newest(fact), self._before)

    def _before(self, fact: Fact) -> Fact | None:
        return self.by_id.get(fact.replaces or "")

    @staticmethod
    def _way(fact: Fact, step: Callable[[Fact], Fact | None]) -> list[Fact]:
        """A fact and all that come after it, each once, also if they go in a circle."""
        found = {fact.id: fact}
        while (following := step(fact)) is not None and following.id not in found:
            found[following.id] = fact = following
        return list(found.values())


def describe(fact: Fact) -> str:
    """A fact in a line; of one that was changed by hand, the words it was changed to."""
    return describe_fact(fact) if fact.replaces is None else fact.value


class Memories:
    """Reads memories; one for each request, since it caches what it has read."""

    def __init__(self, memory: AsyncMemory) -> None:
        self._memory = memory
        self._versions: dict[str, Versions] = {}
        self._messages: dict[str, Message | None] = {}
        self._sessions: dict[str, Session | None] = {}

    # one

    async def fact(self, memory_id: str) -> Fact | None:
        """The newest version of the memory with that id; None if it is none of a fact."""
        try:
            found = await self._memory.fact(memory_id)
        except NotFound:
            return None
        return (await self.versions(found.user_id)).newest(found)

    async def one(self, memory_id: str) -> Json:
        fact = await self.fact(memory_id)
        if fact is not None:
            return await self.render(fact)
        message = await self._message(memory_id)
        if message is None or message.forgotten:
            if not _ID.fullmatch(memory_id):
                raise InputError(f"{memory_id!r} is no id of a memory; ids come with every memory that is listed")
            raise NotFound(f"no memory {memory_id!r}")
        return await self._render_message(message)

    async def versions(self, user_id: str) -> Versions:
        if user_id not in self._versions:
            self._versions[user_id] = Versions(await self._memory.facts(user_id, statuses=FACT_STATUSES))
        return self._versions[user_id]

    # many

    async def users(self, wanted: Filter) -> list[str]:
        """Whose memories can be wanted."""
        named = users_in(wanted)
        if named is None and (run := (only_entities(wanted) or {}).get("run_id")):
            session = await self._session(run)
            named = None if session is None else frozenset([session.user_id])
        if named is None:
            named = frozenset(await self._memory.users())
        if len(named) > _MAX_USERS:
            raise InputError(
                f"this asks for memories of {len(named):,} users; name up to {_MAX_USERS} by user_id in the filters"
            )
        return sorted(named)

    async def find(self, wanted: Filter, *, also_past: bool = False) -> list[Json]:
        """The memories that are wanted, the newest first; `also_past`: those that hold no more, too."""
        found: list[Json] = []
        for user_id in await self.users(wanted):
            versions, facts = await self.versions(user_id), await self._memory.facts(user_id)
            if also_past:
                here = {fact.id for fact in facts}
                past = [fact for fact in versions.by_id.values() if fact.status in {"superseded", "archived"}]
                facts += [one for one in past if one.holds and versions.newest(one) is one and one.id not in here]
            for number, fact in enumerate(facts):
                if number % _SLICE == 0:
                    await asyncio.sleep(0)
                if matches(wanted, rendered := await self.render(fact)):
                    found.append(rendered)
        return sorted(found, key=lambda one: (one["created_at"], one["id"]), reverse=True)

    async def search(self, query: str, wanted: Filter, *, top_k: int, min_score: float, at: Any) -> list[Json]:
        """The facts that score at least this; if there are fewer than asked for, messages too; best first."""
        plain = (only_entities(wanted) or {}).keys() == {"user_id"} or wanted == EVERYTHING
        depth = top_k if plain else _MAX_HITS
        users = await self.users(wanted)

        async def hits(kind: str) -> list[Json]:
            found: list[Json] = []
            for user_id in users:
                some = await self._memory.search(
                    query, user_id=user_id, top_k=depth, kinds=[kind], min_score=min_score, at=at
                )
                rendered = [await self._hit(hit, user_id) for hit in some]
                found += [one for one in rendered if one is not None and matches(wanted, one)]
            return found

        facts = await hits("fact")
        messages = await hits("message") if len(facts) < top_k else []
        sources = {one.pop("_message") for one in facts}
        facts = _by_score(facts)[:top_k]
        others = _by_score([one for one in messages if one["id"] not in sources])
        return _by_score([*facts, *others[: top_k - len(facts)]])

    async def _hit(self, hit: Hit, user_id: str) -> Json | None:
        score = {"score": round(hit.score, 6)}
        if hit.kind == "message":
            message = await self._message(hit.id)
            return None if message is None else {**await self._render_message(message), **score}
        fact = (await self.versions(user_id)).by_id.get(hit.id)
        return None if fact is None else {**await self.render(fact), **score, "_message": fact.message_id}

    # as mem0 has them

    async def render(self, fact: Fact) -> Json:
        """A fact as a memory."""
        versions = await self.versions(fact.user_id)
        first = versions.first(fact)
        message = None if fact.message_id is None else await self._message(fact.message_id)
        about = {**(dict(message.metadata) if message else {}), **metadata_of(fact.tags)}
        session = None if fact.session_id is None else await self._session(fact.session_id)
        scopes = {name: about.pop(name, None) for name in _SCOPES}
        end = fact.until or fact.valid_until
        return {
            "id": first.id,
            "memory": describe(fact),
            **entity_ids(fact.user_id, session, scopes),
            "metadata": about,
            "categories": [fact.category],
            "created_at": first.learnt_at.isoformat(),
            "updated_at": fact.learnt_at.isoformat(),
            "expiration_date": None if end is None else end.date().isoformat(),
        }

    async def _render_message(self, message: Message) -> Json:
        session = await self._session(message.session_id)
        at = message.created_at.isoformat()
        return {
            "id": message.id,
            "memory": message.text,
            **entity_ids(session.user_id if session else DEFAULT_USER, session),
            "metadata": {**message.metadata, KIND: "message", "role": message.role},
            "categories": [],
            "created_at": at,
            "updated_at": at,
            "expiration_date": None,
        }

    async def _message(self, message_id: str) -> Message | None:
        return await _read_once(self._messages, message_id, self._memory.message)

    async def _session(self, session_id: str) -> Session | None:
        return await _read_once(self._sessions, session_id, self._memory.session)


async def _read_once(cache: dict[str, T | None], name: str, read: Callable[[str], Awaitable[T]]) -> T | None:
    if name not in cache:
        cache[name] = None
        with suppress(NotFound):
            cache[name] = await read(name)
    return cache[name]


def entity_ids(user_id: str, session: Session | None, by_tag: Mapping[str, Any] | None = None) -> Json:
    """The user, agent and run of a memory."""
    tags = by_tag or {}
    run = None if session is None or main_owner(session.id) else session.id
    return {
        "user_id": user_id,
        "agent_id": tags.get("agent_id") or (session.agent_id if session else None),
        "app_id": None,
        "run_id": tags.get("run_id") or run,
    }


def _by_score(found: list[Json]) -> list[Json]:
    return sorted(found, key=lambda one: -one["score"])


def events_of(history: Sequence[Fact], memory_id: str) -> list[Json]:
    """What became of a memory, step by step."""
    events: list[Json] = []
    before: str | None = None
    for fact in history:
        now = describe(fact)
        shared: Json = {"memory_id": memory_id, "user_id": fact.user_id, "categories": [fact.category],
                  "metadata": metadata_of(fact.tags), "input": []}  # fmt: skip
        if fact.quote:
            shared["input"] = [{"role": fact.role, "content": fact.quote}]
        at = fact.learnt_at.isoformat()
        events.append(
            {"id": fact.id, **shared, "old_memory": before, "new_memory": now, "created_at": at, "updated_at": at,
             "event": "ADD" if before is None else "UPDATE"}
        )  # fmt: skip
        before = now
        if fact.status == "retracted" and fact.verdict_at is not None:
            at = fact.verdict_at.isoformat()
            events.append(
                {"id": f"{fact.id}:retracted", **shared, "old_memory": now, "new_memory": None, "event": "DELETE",
                 "created_at": at, "updated_at": at}
            )  # fmt: skip
            before = None
    return events
