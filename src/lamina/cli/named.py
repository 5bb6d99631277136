"""Users and sessions that were named but are not there: where nothing is found, this says why."""

from lamina import Memory
from lamina.errors import NotFound

_NAMED = 3  # users in an error


def check_named(memory: Memory, user: str | None, session_id: str | None = None) -> None:
    """Raise NotFound for a user or a session that is not there; in a memory without users, anybody may be named."""
    if session_id is not None:
        owner = memory.session(session_id).user_id
        if user is not None and owner != user:
            raise NotFound(f"session {session_id!r} is of user {owner!r}, not of {user!r}")
    users = memory.users() if user is not None else []
    if users and user not in users:
        more = ", …" if len(users) > _NAMED else ""
        raise NotFound(f"there is no user {user!r}; there are {', '.join(map(repr, users[:_NAMED]))}{more}")
