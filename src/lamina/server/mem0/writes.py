"""Adding, changing and erasing memories as mem0's clients ask for it."""

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any

from lamina.errors import Conflict, InputError, NotFound
from lamina.log.messages import as_list, main_session, session_conflict
from lamina.memory import AsyncMemory
from lamina.server.mem0.mem0_filters import ENTITIES, Filter, fields_in, matches, time_of, users_in
from lamina.server.mem0.mem0_requests import AddRequest, UpdateRequest, default_user
from lamina.server.mem0.memories import (
    KIND,
    Json,
    Memories,
    describe,
    entity_ids,
    metadata_of,
    tags_of,
)
from lamina.values.fact import FACT_STATUSES, Fact
from lamina.values.message import Span
from lamina.values.receipt import Receipt
from lamina.values.session import Session

_WAIT_S = 60
_QUEUED = "the messages are stored; memories are made of them in the background"
_EVENT = "evt_"


# adding


async def add(memory: AsyncMemory, body: AddRequest, *, waits: bool) -> Json:
    """Append messages; with their memories, if that is waited for."""
    body.check()
    user_id, agent_id, run_id = body.entities()
    if body.infer is False:
        return {"results": await _remember_each(memory, body, user_id, agent_id, run_id, verbatim=True)}
    if run_id is None and await _are_statements(memory, body, default_user(user_id)):
        return {"results": await _remember_each(memory, body, user_id, agent_id, run_id)}
    if body.expiration_date is not None:
        raise InputError("expiration_date goes with infer=False: what is extracted holds for as long as was said")
    if run_id is not None and (run := await _session(memory, run_id)) is not None:
        user_id = user_id or run.user_id
        if user_id != run.user_id:
            raise session_conflict(run_id)
        if agent_id not in {None, run.agent_id}:
            raise Conflict(f"run {run_id!r} is not agent {agent_id!r}'s; give each agent runs of its own")
    owner = default_user(user_id)
    added = await memory.add(
        [_message(given, body) for given in as_list(body.messages)],
        user_id=owner,
        session_id=run_id or await _main(memory, owner, agent_id),
        agent_id=agent_id,
    )
    event = _event_id(added.session_id, added.span)
    if not waits or not await _settle(memory, added.session_id):
        pending = {"message": _QUEUED, "status": "PENDING", "event_id": event}
        return {**pending, "results": [pending]}
    return {"results": await _facts_from(memory, added.user_id, added.ids), "event_id": event}


async def _are_statements(memory: AsyncMemory, body: AddRequest, user_id: str) -> bool:
    """Whether all messages are the user's, and tell of the user in the third person."""
    given = as_list(body.messages)
    texts = [one.get("content") for one in given if one.get("role") == "user"]
    if len(texts) != len(given):
        return False
    for text in texts:
        if not isinstance(text, str) or not await memory.is_statement(text, user_id=user_id):
            return False
    return bool(texts)


async def _settle(memory: AsyncMemory, session_id: str) -> bool:
    """Wait until memories are made of all messages of a session; False if that takes too long."""
    try:
        await memory.settle(_WAIT_S, session_id=session_id)
    except TimeoutError:
        return False
    return True


def _message(given: Mapping[str, Any], body: AddRequest) -> Json:
    own = given.get("metadata")
    metadata = {**(own if isinstance(own, dict) else {}), **(body.metadata or {})}
    if KIND in metadata:
        raise InputError(f"metadata cannot have the key {KIND!r}: it marks messages among what is found")
    timed = {} if body.timestamp is None else {"created_at": time_of(body.timestamp, "timestamp").isoformat()}
    return {**timed, **given, **({"metadata": metadata} if metadata else {})}


async def _remember_each(
    memory: AsyncMemory,
    body: AddRequest,
    user_id: str | None,
    agent_id: str | None,
    run_id: str | None,
    *,
    verbatim: bool = False,
) -> list[Json]:
    """Each text as a memory by hand; with `verbatim`, word for word."""
    texts = [one.get("content") for one in as_list(body.messages) if one.get("role") != "system"]
    if not texts or not all(isinstance(text, str) and text.strip() for text in texts):
        raise InputError("with infer=False, each message has a text as its content, which is stored as it is")
    metadata = body.metadata or {}
    tags = tags_of(metadata, {"agent_id": agent_id, "run_id": run_id})
    since = None if body.timestamp is None else time_of(body.timestamp, "timestamp")
    made = [
        one
        for text in texts
        for one in await memory.remember_all(
            str(text),
            user_id=default_user(user_id),
            tags=tags,
            valid_from=since,
            valid_until=body.expiration_date,
            verbatim=verbatim,
        )
    ]
    return [{**_event(one.fact, one.before), "metadata": metadata} for one in made]


async def _facts_from(memory: AsyncMemory, user_id: str, message_ids: Sequence[str]) -> list[Json]:
    """The memories extracted from messages."""
    facts = await memory.facts(user_id, statuses=FACT_STATUSES)
    before = {fact.of: fact for fact in facts if fact.status == "superseded"}
    new = [one for one in facts if one.message_id in message_ids and one.holds and one.status != "evidence"]
    return [_event(fact, before.get(fact.id)) for fact in sorted(new, key=lambda fact: (fact.seq, fact.start))]


def _event(fact: Fact, before: Fact | None) -> Json:
    words = describe(fact)
    event = {"id": fact.id, "memory": words, "data": {"memory": words}, "event": "ADD", "user_id": fact.user_id,
            "categories": [fact.category]}  # fmt: skip
    return event if before is None else {**event, "event": "UPDATE", "previous_memory": describe(before)}


async def _main(memory: AsyncMemory, user_id: str, agent_id: str | None) -> str:
    """What a user and an agent always have; of an older file, the session they had there."""
    if agent_id is not None:
        older = main_session(f"{user_id}/{agent_id}")
        if (session := await _session(memory, older)) is not None and session.user_id == user_id:
            return older
    return main_session(user_id, agent_id)


async def _session(memory: AsyncMemory, session_id: str) -> Session | None:
    try:
        return await memory.session(session_id)
    except NotFound:
        return None


def _event_id(session_id: str, span: Span | None) -> str:
    place = f"{span.first}:{span.last}:{session_id}" if span else f"0:0:{session_id}"
    return _EVENT + base64.urlsafe_b64encode(place.encode()).decode().rstrip("=")


async def event(memory: AsyncMemory, event_id: str) -> Json:
    """How far an add has come, and its memories."""
    bare = event_id.removeprefix(_EVENT)
    try:
        place = base64.b64decode(bare + "=" * (-len(bare) % 4), altchars=b"-_", validate=True).decode()
        first, last, session_id = place.split(":", 2)
        span = Span(first=int(first[:18]), last=int(last[:18]))
    except (binascii.Error, ValueError):
        raise InputError(f"{event_id!r:.80} is no id of an event; an add answers with its `event_id`") from None
    session = await memory.session(session_id)
    messages = await memory.messages(session_id, max(1, span.first), min(span.last, session.counters.messages))
    progress = _progress(memory, session, span.last)
    done = progress["status"] == "SUCCEEDED"
    facts = await _facts_from(memory, session.user_id, [one.id for one in messages]) if done else []
    return {"id": event_id, **progress, "results": facts}


async def events(memory: AsyncMemory) -> list[Json]:
    """For each session, how far the adds to it have come, the newest first."""
    sessions = sorted(await memory.sessions(), key=lambda one: one.last_at, reverse=True)
    return [
        {"id": _event_id(one.id, Span(first=1, last=count)), **_progress(memory, one, count)}
        for one in sessions
        if (count := one.counters.messages)
    ]


def _progress(memory: AsyncMemory, session: Session, last: int) -> Json:
    done = session.counters.extracted >= last or not memory.profile.facts
    at = session.last_at.isoformat()
    status = "SUCCEEDED" if done else "FAILED" if session.attempts else "PENDING"
    return {"event_type": "ADD", "status": status, "created_at": at, "updated_at": at}


# changing


async def change(memory: AsyncMemory, memory_id: str, body: UpdateRequest) -> Json:
    """A new version of a memory, under the id it had."""
    if body.timestamp is not None:
        raise InputError("Lamina notes itself when a memory was changed; leave timestamp out")
    fact = await _fact(memory, memory_id)
    current = await Memories(memory).render(fact)
    if body.expiration_date is None and "expiration_date" in body.model_fields_set and fact.until is not None:
        raise InputError("the expiration date cannot be taken away; give a later one")
    metadata = current["metadata"] if body.metadata is None else body.metadata
    plain = metadata.pop("tags", []) if body.metadata is None else metadata_of(fact.tags).get("tags", [])
    text = body.text or body.memory
    if text is None and body.metadata is None and body.expiration_date is None:
        return current
    await memory.update(
        fact.id,
        text,
        tags=[*plain, *tags_of(metadata, {name: current[name] for name in ("agent_id", "run_id")})],
        valid_until=body.expiration_date,
    )
    return await Memories(memory).one(memory_id)


async def judge(memory: AsyncMemory, memory_id: str, feedback: str | None) -> Json:
    """What somebody thinks of a memory decides whether it holds."""
    verbs = {"POSITIVE": memory.promote, "NEGATIVE": memory.demote, "VERY_NEGATIVE": memory.retract}
    if feedback is None:
        raise InputError(f"feedback is one of {list(verbs)}; it is changed by giving another")
    judged = await verbs[feedback]((await _fact(memory, memory_id)).id)
    return {"id": memory_id, "feedback": feedback, "message": f"the memory is now {judged.status}"}


async def _fact(memory: AsyncMemory, memory_id: str) -> Fact:
    reading = Memories(memory)
    fact = await reading.fact(memory_id)
    if fact is None:
        await reading.one(memory_id)
        raise InputError(f"{memory_id!r} is a message, which can be deleted but not changed")
    return fact


# erasing


async def erase(memory: AsyncMemory, memory_id: str, *, linked: bool = False) -> list[Receipt]:
    """Forget a memory in all its versions; `linked`: with every other value of what it is about."""
    reading = Memories(memory)
    fact = await reading.fact(memory_id)
    if fact is None:
        await reading.one(memory_id)
        return [await memory.forget(message_id=memory_id)]
    versions = (await reading.versions(fact.user_id)).all_of(fact)
    going = [*versions, *(await memory.history(fact.id) if linked else ())]
    return [await _forget(memory, one.id) for one in {one.id: one for one in going}.values()]


async def _forget(memory: AsyncMemory, fact_id: str) -> Receipt:
    """Forget a fact, unless it went with another of the same value."""
    try:
        return await memory.forget(fact_id=fact_id)
    except NotFound:
        return (await memory.receipts())[-1]


async def erase_all(memory: AsyncMemory, wanted: Filter) -> list[Receipt]:
    """Forget what a filter selects: users and runs with all their messages, else each memory."""
    asked = fields_in(wanted)
    if not asked & set(ENTITIES):
        raise InputError("say whose memories to delete: user_id, agent_id or run_id; '*' for everybody's")
    if asked == {"user_id"}:
        named = users_in(wanted)
        users = await memory.users() if named is None else sorted(named)
        return [await memory.forget(user_id=user) for user in users if matches(wanted, {"user_id": user})]
    receipts = []
    if asked <= set(ENTITIES):
        going = [one for one in await memory.sessions() if matches(wanted, entity_ids(one.user_id, one))]
        receipts = [await memory.forget(session_id=session.id) for session in going]
    for one in await Memories(memory).find(wanted, also_past=True):
        receipts += await erase(memory, one["id"])
    return receipts


def erasure_result(receipts: Sequence[Receipt]) -> Json:
    """What an erasure answers: how much went, and the receipts that prove it."""
    real = [receipt for receipt in receipts if not receipt.empty]
    left = sorted({message for receipt in real for message in receipt.mentions_left})
    return {
        "message": "Memory deleted successfully!" if real else "There was nothing to delete.",
        "receipts": list(dict.fromkeys(receipt.id for receipt in real)),
        "mentions_left": left,
    }
