"""The user and session of a request: by header, by `metadata`, by `user`, by the `conversation` of a response."""

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
_OWN_METADATA = frozenset({"lamina_user", "lamina_session", "lamina_agent"})
_UPSTREAM_PREFIX = "conv_"  # how the ids of conversations begin that the endpoint keeps itself


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestScope:
    """The user, session and agent of a request; `kept_upstream`: the endpoint has the session's messages itself."""

    user_id: str
    session_id: str
    agent_id: str | None
    budget: int | None
    kept_upstream: bool


def read_scope(headers: Mapping[str, str], body: Mapping[str, Any], default_user: str) -> RequestScope | None:
    """None if neither a user nor a session is named: then nothing is remembered."""
    user, session, agent = _names_in(headers, body)
    conversation = conversation_of(body)
    session = session or conversation
    if user is None and isinstance(body.get("user"), str) and body["user"].strip():
        user = body["user"]
    if user is None and session is None:
        return None
    user_id = default_user if user is None else check_id(user, "the user's id")
    return RequestScope(
        user_id=user_id,
        session_id=main_session(user_id) if session is None else check_id(session, "the session's id"),
        agent_id=None if agent is None else check_id(agent, "the agent's id"),
        budget=_budget(headers.get(BUDGET)),
        kept_upstream=bool(body.get("previous_response_id")) or (conversation or "").startswith(_UPSTREAM_PREFIX),
    )


def without_ids(body: Mapping[str, Any]) -> dict[str, Any]:
    """A request without what was meant for us: the endpoint may refuse what it does not know."""
    kept = dict(body)
    metadata = kept.get("metadata")
    if isinstance(metadata, Mapping) and _OWN_METADATA & metadata.keys():
        kept["metadata"] = {name: value for name, value in metadata.items() if name not in _OWN_METADATA}
        if not kept["metadata"]:
            del kept["metadata"]
    conversation = conversation_of(body)
    if conversation is not None and not conversation.startswith(_UPSTREAM_PREFIX):
        del kept["conversation"]
    return kept


def conversation_of(body: Mapping[str, Any]) -> str | None:
    given = body.get("conversation")
    found = given.get("id") if isinstance(given, Mapping) else given
    return found if isinstance(found, str) and found else None


def _names_in(headers: Mapping[str, str], body: Mapping[str, Any]) -> tuple[str | None, str | None, str | None]:
    metadata = body.get("metadata")
    known = metadata if isinstance(metadata, Mapping) else {}

    def look_up(header: str, names: tuple[str, ...]) -> str | None:
        if header in headers:
            return unquote(headers[header])
        return next((known[name] for name in names if isinstance(known.get(name), str) and known[name]), None)

    return look_up(USER, _NAMES["user"]), look_up(SESSION, _NAMES["session"]), look_up(AGENT, _NAMES["agent"])


def _budget(given: str | None) -> int | None:
    if given is None:
        return None
    if not given.isdecimal() or not 0 < int(given) <= 10_000_000:  # noqa: PLR2004 - more than any model reads
        raise InputError(f"{BUDGET} is a number of tokens above 0, not {given!r:.40}")
    return int(given)
