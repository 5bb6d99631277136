"""Facts by their key; facts, episodes, summaries and proposals by a part of their id: nobody types 37 characters."""

from collections.abc import Iterable

from lamina import Memory
from lamina.cli.command import Opener
from lamina.cli.display import short
from lamina.cli.named import check_named
from lamina.errors import InputError, NotFound
from lamina.log.messages import EVERY_PROJECT
from lamina.values.fact import FACT_STATUSES, Fact

_MIN_LENGTH = 4
_FULL_LENGTH = 32
_LISTS = {
    "fact": ("`lamina facts`", "facts", "or key "),
    "memory": ("`lamina facts` or `lamina episodes`", "memories", "or key "),
    "proposal": ("`lamina proposals`", "proposals", ""),
    "summary": ("`lamina summaries SESSION`", "summaries", ""),
}  # what lists them, the plural, what else they may be named by


def find_fact(opener: Opener, memory: Memory, given: str, user: str | None) -> str:
    """The id of the one fact that is meant, by a part of its id or by its key."""
    if _is_full(given):
        return given
    users = _users(opener, memory, user)
    return _by_key(given, memory, users) or _match(given, _facts(memory, users), "fact")


def find_memory(opener: Opener, memory: Memory, given: str, user: str | None) -> str:
    """The id of the one fact or episode that is meant."""
    if _is_full(given):
        return given
    users = _users(opener, memory, user)
    episodes = [episode.id for user_id in users for episode in memory.episodes(user_id, project_id=EVERY_PROJECT)]
    return _by_key(given, memory, users) or _match(given, [*_facts(memory, users), *episodes], "memory")


def find_proposal(memory: Memory, given: str) -> str:
    """The id of the one proposal that is meant."""
    return given if _is_full(given) else _match(given, [one.id for one in memory.proposals()], "proposal")


def find_summary(memory: Memory, given: str) -> str:
    """The id of the one summary that is meant."""
    if _is_full(given):
        return given
    found = (summary.id for session in memory.sessions() for summary in memory.summaries(session.id, live=False))
    return _match(given, found, "summary")


def _is_full(given: str) -> bool:
    return len(given.rpartition("_")[2]) >= _FULL_LENGTH


def _users(opener: Opener, memory: Memory, user: str | None) -> list[str]:
    if user is not None:
        check_named(memory, user)
        return [user]
    return sorted({*([opener.settings.user] if opener.settings.user else []), *memory.users()})


def _facts(memory: Memory, users: Iterable[str]) -> list[str]:
    known = (memory.facts(user, statuses=FACT_STATUSES, project_id=EVERY_PROJECT) for user in users)
    return [fact.id for facts in known for fact in facts]


def _by_key(given: str, memory: Memory, users: Iterable[str]) -> str | None:
    """The id of the current fact of this key."""
    key = given.casefold().replace("_", " ")
    known = ((user, fact) for user in users for fact in memory.facts(user, project_id=EVERY_PROJECT))
    found = [(user, fact) for user, fact in known if (fact.key or _named_by_slot(fact)).casefold() == key]
    if len(found) > 1:
        owners = sorted({user for user, _ in found})
        hint = f"--user, one of {', '.join(owners[:3])}" if len(owners) > 1 else f"the id, e.g. {short(found[0][1].id)}"
        raise InputError(f"{len(found)} facts have the key {given!r}; give {hint}")
    return found[0][1].id if found else None


def _named_by_slot(fact: Fact) -> str:
    """The key of the values before it, for a statement that took their place."""
    return "" if fact.slot.startswith("=") else fact.slot


def _match(given: str, ids: Iterable[str], what: str) -> str:
    """The one id that begins or ends so."""
    if len(given) < _MIN_LENGTH:
        raise InputError(f"{given!r} is too short; give at least {_MIN_LENGTH} characters of the id")
    listed = list(ids)
    found = [one for one in listed if one.startswith(given) or one.rpartition("_")[2].startswith(given)]
    found = found or [one for one in listed if one.endswith(given)]
    command, plural, also = _LISTS[what]
    if not found:
        raise NotFound(f"no {what} with the id {also}{given!r}; {command} lists them")
    if len(found) > 1:
        ends = ", ".join(short(one) for one in found[:3])
        raise InputError(f"{len(found)} {plural} begin or end with {given!r}; give more of the id, e.g. {ends}")
    return found[0]
