"""What comes in: messages checked, made whole and read, without losing a byte of what was given."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from json.encoder import encode_basestring
from typing import Any

from lamina.errors import Conflict, InputError
from lamina.log.sdk_messages import chat_messages
from lamina.values.chat_form import is_private
from lamina.values.message import ROLES, Limits, MessageDraft, Role
from lamina.values.session import Session

EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
MAX_TITLE = 200  # characters
IMAGE_TOKENS = 765  # what a large picture costs an OpenAI model; a text counter cannot know
# Idempotency keys that are made here begin like this: they are digests of what was said, and are forgotten with it.
OWN_KEY = "proxy:"
EVERY_PROJECT = "*"  # what is asked for: memories of all projects
_ENVELOPE = frozenset({"id", "created_at", "metadata", "model"})
_USUAL = _ENVELOPE | {"role", "content"}
_ROLES: Mapping[str, Role] = {role: role for role in ROLES}
_LONGEST_ID = 256
_MAIN = ":main"
_ESCAPED = str.maketrans({sign: f"%{ord(sign):X}" for sign in "%:@"})
_DEEPEST = 100  # levels of lists and dicts; what is deeper could be written but not always read back
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def as_list(messages: Any) -> list[Mapping[str, Any]]:
    """What the caller gave (text, one message, or several; also objects of an SDK) as a list of chat messages."""
    if isinstance(messages, tuple) and messages and isinstance(messages[0], str) and messages[0] in ROLES:
        raise InputError(f"({messages[0]!r}, …) is no message; give {{'role': {messages[0]!r}, 'content': '…'}}")
    several = isinstance(messages, Sequence) and not isinstance(messages, str | bytes | bytearray)
    return chat_messages(messages if several else [messages])


def draft(
    raw: Any,
    *,
    place: str,
    now: datetime,
    new_id: Callable[[], str],
    count: Callable[[str], int],
    limits: Limits,
) -> MessageDraft:
    """One given message as a draft; `place` names it in errors."""
    if type(raw) is not dict and not isinstance(raw, Mapping):
        raise InputError(
            f"{place} must be a dict such as {{'role': 'user', 'content': 'hi'}}, not {type(raw).__name__}"
        )
    role = _role(raw, place)
    content = raw.get("content")
    calls: tuple[str, ...] = ()
    if type(content) is str and raw.keys() <= _USUAL and role != "tool":  # most messages: nothing but words
        text, tokens = content, count(content)
        body_text = f'{{"role":"{role}","content":{encode_basestring(content)}}}'
        _check_characters(content, place)
    else:
        body = {key: value for key, value in raw.items() if key not in _ENVELOPE}
        _check_content(raw, role, place)
        text, calls = text_of(body), calls_of(body)
        tokens = message_tokens(body, count, text)
        body_text = _json(body, place)
    _check_size(body_text, place, limits)
    return MessageDraft(
        id=_id(raw, place) or new_id(),
        role=role,
        body=body_text,
        created_at=_time(raw.get("created_at"), now, place),
        metadata=_metadata(raw.get("metadata"), place, limits),
        model=_model(raw, place),
        tokens=tokens,
        text=text,
        calls=calls,
        answers=raw.get("tool_call_id") if role == "tool" else None,
        timed=raw.get("created_at") is not None,
        named=raw.get("id") is not None,
    )


def message_tokens(body: Mapping[str, Any], count: Callable[[str], int], text: str | None = None) -> int:
    """What a message's words, name and pictures cost."""
    words = count(text_of(body) if text is None else text)
    name = body.get("name")
    return words + IMAGE_TOKENS * images_of(body) + (count(name) if isinstance(name, str) else 0)


def text_of(body: Mapping[str, Any]) -> str:
    """The words of a message: its text parts, refusal and tool calls."""
    content = body.get("content")
    if isinstance(content, str) and len(body) == 2:  # noqa: PLR2004 - role and content, the usual message
        return content
    pieces = [content] if isinstance(content, str) else [_part_text(part) for part in _several(content)]
    if isinstance(refusal := body.get("refusal"), str):
        pieces.append(refusal)
    pieces.extend(_call_text(call) for call in _several(body.get("tool_calls")) if isinstance(call, Mapping))
    return "\n".join(piece for piece in pieces if piece)


def calls_of(body: Mapping[str, Any]) -> tuple[str, ...]:
    """The ids of the tool calls that a message makes."""
    return tuple(
        call["id"]
        for call in _several(body.get("tool_calls"))
        if isinstance(call, Mapping) and isinstance(call.get("id"), str)
    )


def _several(value: Any) -> Sequence[Any]:
    """The items of a list; nothing of anything else, also where nobody has checked a message."""
    return value if isinstance(value, list | tuple) else ()


def images_of(body: Mapping[str, Any]) -> int:
    content = body.get("content")
    return sum(1 for part in _several(content) if isinstance(part, Mapping) and "image" in str(part.get("type")))


def _part_text(part: Any) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping) or is_private(part):
        return ""
    for key in ("text", "refusal"):
        if isinstance(part.get(key), str):
            return str(part[key])
    kind = str(part.get("type", "part")).removesuffix("_url").removeprefix("input_")
    file = part.get("file")
    named = file.get("filename") if isinstance(file, Mapping) else None
    return f"[{kind} {named}]" if named else f"[{kind}]"


def _call_text(call: Mapping[str, Any]) -> str:
    function = call.get("function")
    if not isinstance(function, Mapping):
        return f"[calls {call.get('type', 'a tool')}]"
    return f"[calls {function.get('name')}({function.get('arguments', '')})]"


def _role(raw: Mapping[str, Any], place: str) -> Role:
    role = raw.get("role")
    if isinstance(role, str) and role in _ROLES:
        return _ROLES[role]
    raise InputError(f"{place} has role {role!r}; a role is one of {list(ROLES)}")


def _check_content(raw: Mapping[str, Any], role: Role, place: str) -> None:
    content = raw.get("content")
    has_calls = bool(raw.get("tool_calls"))
    if content is None:
        excused = role == "assistant" and (
            has_calls or raw.get("refusal") or raw.get("function_call") or raw.get("audio")
        )
        if not excused:
            raise InputError(f"{place} ({role}) has no content; give a string, a list of parts, or '' if it is empty")
    elif not isinstance(content, str | list | tuple):
        raise InputError(f"{place} has content of type {type(content).__name__}; give a string or a list of parts")
    if raw.get("tool_calls") is not None and not isinstance(raw["tool_calls"], list | tuple):
        raise InputError(f"{place} has tool_calls of type {type(raw['tool_calls']).__name__}; give a list")
    if role == "tool" and not isinstance(raw.get("tool_call_id"), str):
        raise InputError(f"{place} (tool) has no tool_call_id; give the id of the call it answers")
    if raw.get("name") is not None and not isinstance(raw["name"], str):
        raise InputError(f"{place} has a name of type {type(raw['name']).__name__}; give a string")


def _id(raw: Mapping[str, Any], place: str) -> str | None:
    return None if raw.get("id") is None else check_id(raw["id"], f"{place}: id")


def main_session(user_id: str, agent_id: str | None = None, project_id: str | None = None) -> str:
    """The session that is meant when none is named: of a user, of a user with an agent, or in a project."""
    own = f"{user_id}{_MAIN}"
    if project_id is not None:
        own = f"{own}#{project_id.translate(_ESCAPED)}"
    return own if agent_id is None else f"{own}@{agent_id.translate(_ESCAPED)}"


def main_owner(session_id: str) -> str | None:
    """Whose main session an id stands for, whether there is such a user or not; None if anybody may have it."""
    own, mark, suffix = session_id.rpartition(_MAIN)
    is_main = bool(mark) and (not suffix or (suffix[0] in "@#" and ":" not in suffix))
    return own or None if is_main else None


def is_older_main(session_id: str, user_id: str) -> bool:
    """Whether it is the main session of a user with an agent, by the id that such sessions had at first."""
    return session_id.startswith(f"{user_id}/") and session_id.endswith(_MAIN)


def own_session_id(session_id: str, user_id: str) -> str:
    """The id of a session that becomes this user's: another's main session is not theirs to have under its id."""
    if main_owner(session_id) in {None, user_id}:
        return session_id
    older = is_older_main(session_id, user_id)
    agent = session_id.removeprefix(f"{user_id}/").removesuffix(_MAIN) if older else session_id
    return main_session(user_id, agent)


class SessionTaken(Conflict):
    """A session is another user's."""


def check_main(session_id: str, user_id: str) -> None:
    """Leave the main sessions of others to them, also before they have one."""
    if main_owner(session_id) not in {None, user_id}:
        raise session_conflict(session_id)


def session_conflict(session_id: str) -> Conflict:
    """What is said of a session that is not the caller's; it tells nothing of whose it is."""
    return SessionTaken(f"session {session_id!r} is taken; choose another session_id")


def check_project_id(value: Any) -> str:
    """The id of one project."""
    if value == EVERY_PROJECT:
        raise InputError(f"project_id {value!r} stands for every project; name the one that it belongs to")
    return check_id(value, "project_id")


def check_project(session: Session, project_id: str | None) -> None:
    """Refuse messages of one project for a session of another."""
    if project_id not in {None, session.project_id}:
        whose = "no project" if session.project_id is None else f"project {session.project_id!r}"
        raise Conflict(f"session {session.id!r} is of {whose}, not of {project_id!r}; choose another session_id")


def check_text(name: str, given: Any) -> None:
    if not isinstance(given, str):
        advice = "; give its content alone" if isinstance(given, Mapping | list | tuple) else ""
        raise InputError(f"{name} must be text, not {type(given).__name__}{advice}")


def check_title(value: Any, what: str = "title") -> str:
    """The title of a session on one line; "" for none."""
    check_text(what, value)
    title = " ".join(value.split())
    if len(title) > MAX_TITLE:
        raise InputError(f"{what} must have at most {MAX_TITLE} characters, not {len(title):,}: {title[:40]!r}…")
    _check_characters(title, what)
    return title


def check_id(value: Any, what: str) -> str:
    """An id as given, if it can be one."""
    longest = _LONGEST_ID + len(_MAIN) if isinstance(value, str) and value.endswith(_MAIN) else _LONGEST_ID
    if not isinstance(value, str) or not value.strip() or len(value) > longest:
        raise InputError(f"{what} must be a string of 1 to {_LONGEST_ID} characters, not {value!r:.80}")
    _check_characters(value, what)
    return value


def check_tenant(value: Any) -> str:
    """The name of a tenant, if it can be one."""
    if check_id(value, "tenant") == "*":
        raise InputError("no tenant is called '*', which stands for all of them")
    return str(value)


def _model(raw: Mapping[str, Any], place: str) -> str | None:
    variant, metadata = raw.get("model"), raw.get("metadata")
    if variant is None and metadata is not None:
        variant = metadata.get("model_variant") if isinstance(metadata, Mapping) else None
    return None if variant is None else check_id(variant, f"{place}: model")


def _time(value: Any, now: datetime, place: str) -> datetime:
    if value is None:
        return now
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise InputError(
                f"{place}: created_at {value!r:.80} is not ISO 8601; e.g. 2025-03-14T09:30:00+01:00"
            ) from None
    if not isinstance(value, datetime):
        raise InputError(f"{place}: created_at must be a datetime or ISO 8601 text, not {type(value).__name__}")
    if value.tzinfo is None or value.utcoffset() is None:
        raise InputError(
            f"{place}: created_at {value.isoformat()} has no time zone; e.g. {value.replace(tzinfo=UTC).isoformat()}"
        )
    _check_year(value, now, place)
    return value


def _check_year(value: datetime, now: datetime, place: str) -> None:
    if value < EARLIEST or value.year > latest_year(now):
        raise InputError(f"{place}: created_at {value.isoformat()} is not between 1970 and the end of next year")


def latest_year(now: datetime) -> int:
    """Of a message; clocks are wrong, and messages are planned."""
    return now.year + 1


def _metadata(value: Any, place: str, limits: Limits) -> str:
    if value is None:
        return "{}"
    if not isinstance(value, Mapping):
        raise InputError(f"{place}: metadata must be a dict, not {type(value).__name__}")
    text = _json(value, f"{place}: metadata")
    _check_size(text, f"{place}: metadata", limits)
    return text


def _json(value: Mapping[str, Any], place: str) -> str:
    try:
        text = _encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"{place} cannot be written as JSON ({error}); use text, numbers, lists and dicts") from None
    _check_characters(text, place)
    if text.count("[") + text.count("{") > _DEEPEST and _is_deeper(value, _DEEPEST):
        raise InputError(f"{place} is nested more than {_DEEPEST} levels deep; flatten it, or give it as text")
    if "\\u0000" in text and _has_nul(value):
        raise InputError(f"{place} has a NUL character; remove it (text with U+0000 cannot be indexed or exported)")
    return text


def _is_deeper(value: Any, levels: int) -> bool:
    held = [value]
    for _ in range(levels):
        held = [inner for item in held for inner in (item.values() if isinstance(item, Mapping) else item)]
        held = [item for item in held if isinstance(item, Mapping | list | tuple)]
    return bool(held)


def _has_nul(value: Any) -> bool:
    if isinstance(value, str):
        return "\0" in value
    if isinstance(value, Mapping):
        return any(_has_nul(key) or _has_nul(item) for key, item in value.items())
    return isinstance(value, list | tuple) and any(_has_nul(item) for item in value)


def _check_characters(text: str, place: str) -> None:
    if text.isascii() and "\0" not in text:
        return
    if "\0" in text:
        raise InputError(f"{place} has a NUL character; remove it")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(
            f"{place} has a lone surrogate (U+{ord(text[error.start]):04X}), which is no valid Unicode; "
            "decode it with errors='replace' or remove it"
        ) from None


def _check_size(text: str, place: str, limits: Limits) -> None:
    if len(text) * 4 <= limits.message_bytes:
        return
    size = len(text) if text.isascii() else len(text.encode("utf-8"))
    if size > limits.message_bytes:
        raise InputError(
            f"{place} has {size / 1_048_576:.1f} MB; a message may have {limits.message_bytes / 1_048_576:.1f} MB "
            "(LAMINA_MAX_MESSAGE_BYTES): split it, or store a reference to it"
        )
