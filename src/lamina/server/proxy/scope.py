"""The user and session that a request names, and where: headers, `metadata`, fields of the API; else defaults."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import unquote

from lamina.errors import InputError
from lamina.log.messages import check_id, check_project_id

USER, SESSION, AGENT, PROJECT = "x-lamina-user", "x-lamina-session", "x-lamina-agent", "x-lamina-project"
BUDGET = "x-lamina-budget"
UserSource = Literal["header", "metadata", "safety_identifier", "user", "key", "default"]
SessionSource = Literal["header", "metadata", "conversation", "previous_response_id", "history", "new"]
_NAMES = {
    "user": ("lamina_user", "user_id"),
    "session": ("lamina_session", "session_id", "thread_id", "run_id", "conversation_id"),
    "agent": ("lamina_agent", "agent_id"),
    "project": ("lamina_project", "project_id"),
}
_USER_FIELDS: tuple[Literal["safety_identifier", "user"], ...] = ("safety_identifier", "user")  # the first one counts
_OWN_METADATA = frozenset({"lamina_user", "lamina_session", "lamina_agent", "lamina_project"})
_UPSTREAM_PREFIX = "conv_"  # how the ids of conversations begin that the endpoint keeps itself


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestUser:
    """Whose memory a request is for, and by what."""

    user_id: str
    source: UserSource


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestIds:
    """What a request names; `kept_upstream`: the endpoint has the earlier messages itself."""

    user_id: str
    user_source: UserSource
    session_id: str | None  # None: its history says which it is
    session_source: SessionSource
    agent_id: str | None
    project_id: str | None
    budget: int | None
    kept_upstream: bool
    cache_key: str | None  # conversations with different ones are different
    response_id: str | None  # the reply that it goes on from


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestScope:
    """The user, session, agent and project of a request, and how they were found."""

    user_id: str
    session_id: str
    agent_id: str | None
    project_id: str | None
    kept_upstream: bool
    user_source: UserSource
    session_source: SessionSource


def read_ids(
    headers: Mapping[str, str], body: Mapping[str, Any], default: RequestUser | None, session_owner: str
) -> RequestIds | None:
    """None if nobody is named and there is no default: then nothing is remembered.

    `session_owner` is the user where a session is named, and no user.
    """
    session, session_source = _session(headers, body)
    user = _user(headers, body) or default
    if user is None and session is not None:
        user = RequestUser(user_id=session_owner, source="default")
    if user is None:
        return None
    agent, _ = _look_up(headers, body, AGENT, "agent")
    project, _ = _look_up(headers, body, PROJECT, "project")
    conversation = conversation_of(body)
    return RequestIds(
        user_id=check_id(user.user_id, "the user's id"),
        user_source=user.source,
        session_id=None if session is None else check_id(session, "the session's id"),
        session_source=session_source,
        agent_id=None if agent is None else check_id(agent, "the agent's id"),
        project_id=None if project is None else check_project_id(project),
        budget=_budget(headers.get(BUDGET)),
        kept_upstream=bool(body.get("previous_response_id")) or (conversation or "").startswith(_UPSTREAM_PREFIX),
        cache_key=_text(body.get("prompt_cache_key")),
        response_id=_text(body.get("previous_response_id")),
    )


def in_session(ids: RequestIds, session_id: str, source: SessionSource) -> RequestScope:
    """The scope of a request once its session is known."""
    return RequestScope(
        user_id=ids.user_id,
        session_id=session_id,
        agent_id=ids.agent_id,
        project_id=ids.project_id,
        kept_upstream=ids.kept_upstream,
        user_source=ids.user_source,
        session_source=source,
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


def _user(headers: Mapping[str, str], body: Mapping[str, Any]) -> RequestUser | None:
    found, source = _look_up(headers, body, USER, "user")
    if found is not None:
        return RequestUser(user_id=found, source=source)
    return next((RequestUser(user_id=body[name], source=name) for name in _USER_FIELDS if _text(body.get(name))), None)


def _session(headers: Mapping[str, str], body: Mapping[str, Any]) -> tuple[str | None, SessionSource]:
    found, source = _look_up(headers, body, SESSION, "session")
    return (conversation_of(body), "conversation") if found is None else (found, source)


def _look_up(
    headers: Mapping[str, str], body: Mapping[str, Any], header: str, what: str
) -> tuple[str | None, Literal["header", "metadata"]]:
    if header in headers:
        return unquote(headers[header]), "header"
    metadata = body.get("metadata")
    known = metadata if isinstance(metadata, Mapping) else {}
    return next((known[name] for name in _NAMES[what] if _text(known.get(name))), None), "metadata"


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def _budget(given: str | None) -> int | None:
    if given is None:
        return None
    if not given.isdecimal() or not 0 < int(given) <= 10_000_000:  # noqa: PLR2004 - more than any model reads
        raise InputError(f"{BUDGET} is a number of tokens above 0, not {given!r:.40}")
    return int(given)
