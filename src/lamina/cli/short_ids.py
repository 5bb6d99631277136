"""Facts, episodes and proposals by a part of their id, since nobody types 37 characters."""

from collections.abc import Iterable

from lamina import Memory
from lamina.cli.command import Opener
from lamina.cli.display import short
from lamina.errors import InputError
from lamina.values.fact import FACT_STATUSES

_MIN_LENGTH = 4
_FULL_LENGTH = 32


def find_fact(opener: Opener, memory: Memory, given: str, user: str | None) -> str:
    """The id of the one fact that is meant."""
    return given if _is_full(given) else _match(given, _facts(memory, _users(opener, memory, user)), "facts")


def find_memory(opener: Opener, memory: Memory, given: str, user: str | None) -> str:
    """The id of the one fact or episode that is meant."""
    if _is_full(given):
        return given
    users = _users(opener, memory, user)
    episodes = [episode.id for user_id in users for episode in memory.episodes(user_id)]
    return _match(given, [*_facts(memory, users), *episodes], "memories")


def find_proposal(memory: Memory, given: str) -> str:
    """The id of the one proposal that is meant."""
    return given if _is_full(given) else _match(given, [one.id for one in memory.proposals()], "proposals")


def _is_full(given: str) -> bool:
    return len(given.rpartition("_")[2]) >= _FULL_LENGTH


def _users(opener: Opener, memory: Memory, user: str | None) -> list[str]:
    if user is not None:
        return [user]
    return sorted({opener.settings.user, *(session.user_id for session in memory.sessions())})


def _facts(memory: Memory, users: Iterable[str]) -> list[str]:
    return [fact.id for user in users for fact in memory.facts(user, statuses=FACT_STATUSES)]


def _match(given: str, ids: Iterable[str], what: str) -> str:
    """The id that begins or ends so; if there is none, what was given, which the memory then does not find."""
    if len(given) < _MIN_LENGTH:
        raise InputError(f"{given!r} is too short; give at least {_MIN_LENGTH} characters of the id")
    found = [one for one in ids if one.startswith(given) or one.rpartition("_")[2].startswith(given)]
    found = found or [one for one in ids if one.endswith(given)]
    if len(found) > 1:
        ends = ", ".join(short(one) for one in found[:3])
        raise InputError(f"{len(found)} {what} begin or end with {given!r}; give more of the id, e.g. {ends}")
    return found[0] if found else given
