"""Facts, episodes and proposals by a piece of their ids, since nobody types 37 characters."""

from collections.abc import Iterable
from typing import Annotated

import typer

from lamina import Memory
from lamina.cli.command import Face
from lamina.cli.display import short
from lamina.errors import InputError
from lamina.values.fact import FACT_STATUSES

_SHORTEST = 4
_WHOLE = 32

FactName = Annotated[str, typer.Argument(help="Id of the fact, or its beginning or end.")]
MemoryName = Annotated[str, typer.Argument(help="Id of a fact or an episode, or its beginning or end.")]
ProposalName = Annotated[str, typer.Argument(help="Id of the proposal, or its beginning or end.")]
WhoseOption = Annotated[str | None, typer.Option("--user", "-u", help="Whose, if only a piece of the id is given.")]


def fact_named(face: Face, memory: Memory, given: str, user: str | None) -> str:
    """The id of the one fact that is meant."""
    if _is_whole(given):
        return given
    return _meant(given, _facts(memory, _users(face, memory, user)), "facts")


def memory_named(face: Face, memory: Memory, given: str, user: str | None) -> str:
    """The id of the one fact or episode that is meant."""
    if _is_whole(given):
        return given
    users = _users(face, memory, user)
    return _meant(given, [*_facts(memory, users), *_episodes(memory, users)], "memories")


def proposal_named(memory: Memory, given: str) -> str:
    """The id of the one proposal that is meant."""
    return given if _is_whole(given) else _meant(given, [one.id for one in memory.proposals()], "proposals")


def _is_whole(given: str) -> bool:
    return len(given.rpartition("_")[2]) >= _WHOLE


def _users(face: Face, memory: Memory, user: str | None) -> list[str]:
    if user is not None:
        return [user]
    return sorted({face.settings.user, *(session.user_id for session in memory.sessions())})


def _facts(memory: Memory, users: Iterable[str]) -> list[str]:
    return [fact.id for user in users for fact in memory.facts(user, statuses=FACT_STATUSES)]


def _episodes(memory: Memory, users: Iterable[str]) -> list[str]:
    return [episode.id for user in users for episode in memory.episodes(user)]


def _meant(given: str, ids: Iterable[str], what: str) -> str:
    """The id that begins or ends so; what is not found is left to the engine to name."""
    if len(given) < _SHORTEST:
        raise InputError(f"{given!r} is too little of an id; give at least {_SHORTEST} characters")
    found = [one for one in ids if one.startswith(given) or one.rpartition("_")[2].startswith(given)]
    found = found or [one for one in ids if one.endswith(given)]
    if len(found) > 1:
        ends = ", ".join(short(one) for one in found[:3])
        raise InputError(f"{len(found)} {what} begin or end with {given!r}; give more of the id, e.g. {ends}")
    return found[0] if found else given
