"""Whose memory a request is about: by header, by `metadata`, by `user`, by the `conversation` of a response."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from lamina.errors import InputError
from lamina.log.messages import check_id, main_session

USER, SESSION, AGENT = "x-lamina-user", "x-lamina-session", "x-lamina-agent"
BUDGET = "x-lamina-budget"
_NAMES = {
    "user": ("lamina_user", "user_id"),
    "session": ("lamina_session", "session_id", "thread_id", "run_id", "conversation_id"),
    "agent": ("lamina_agent", "agent_id"),
}
_OURS = frozenset({"lamina_user", "lamina_session", "lamina_agent"})
_THEIRS = "conv_"  # how the ids of conversations begin that the endpoint keeps itself


@dataclass(frozen=True, slots=True, kw_only=True)
class Whose:
    """The user, session and agent that are meant; `kept_there`: the endpoint has the session's messages itself."""

    user_id: str
    session_id: str
    agent_id: str | None
    budget: int | None
    kept_there: bool


def whose(headers: Mapping[str, str], body: Mapping[str, Any], somebody: str) -> Whose | None:
    """None if neither a user nor a session is named: then nothing is remembered."""
    user, session, agent = _names_in(headers, body)
    conversation = conversation_of(body)
    session = session or conversation
    if user is None and isinstance(body.get("user"), str) and body["user"].strip():
        user = body["user"]
    if user is None and session is None:
        return None
    user_id = somebody if user is None else check_id(user, "the user's id")
    return Whose(
        user_id=user_id,
        session_id=main_session(user_id) if session is None else check_id(session, "the session's id"),
        agent_id=None if agent is None else check_id(agent, "the agent's id"),
        budget=_budget(headers.get(BUDGET)),
        kept_there=bool(body.get("previous_response_id")) or (conversation or "").startswith(_THEIRS),
    )


def without_ids(body: Mapping[str, Any]) -> dict[str, Any]:
    """A request without what was meant for us: the endpoint may refuse what it does not know."""
    kept = dict(body)
    metadata = kept.get("metadata")
    if isinstance(metadata, Mapping) and _OURS & metadata.keys():
        kept["metadata"] = {name: value for name, value in metadata.items() if name not in _OURS}
        if not kept["metadata"]:
            del kept["metadata"]
    conversation = conversation_of(body)
    if conversation is not None and not conversation.startswith(_THEIRS):
        del kept["conversation"]
    return kept


def conversation_of(body: Mapping[str, Any]) -> str | None:
    told = body.get("conversation")
    found = told.get("id") if isinstance(told, Mapping) else told
    return found if isinstance(found, str) and found else None


def _names_in(headers: Mapping[str, str], body: Mapping[str, Any]) -> tuple[str | None, str | None, str | None]:
    metadata = body.get("metadata")
    told = metadata if isinstance(metadata, Mapping) else {}

    def found(header: str, names: tuple[str, ...]) -> str | None:
        if header in headers:
            return unquote(headers[header])
        return next((told[name] for name in names if isinstance(told.get(name), str) and told[name]), None)

    return found(USER, _NAMES["user"]), found(SESSION, _NAMES["session"]), found(AGENT, _NAMES["agent"])


def _budget(told: str | None) -> int | None:
    if told is None:
        return None
    if not told.isdecimal() or not 0 < int(told) <= 10_000_000:  # noqa: PLR2004 - more than any model reads
        raise InputError(f"{BUDGET} is a number of tokens above 0, not {told!r:.40}")
    return int(told)
