"""Whose memory is meant where nobody is named."""

from lamina.errors import InputError
from lamina.log.messages import check_id
from lamina.protocols.store import Store

DEFAULT_USER = "default"
_NAMED = 3  # users in an error


async def resolve_user(store: Store, user_id: str | None) -> str:
    """The user that was given; without one `default`, unless the memory has other users."""
    if user_id is not None:
        return check_id(user_id, "user_id")
    others = [one for one in await store.users(limit=_NAMED + 2) if one != DEFAULT_USER]
    if others:
        names = ", ".join(f"{one!r:.60}" for one in others[:_NAMED]) + (", …" if len(others) > _NAMED else "")
        raise InputError(
            f"say whose memory is meant: give user_id (on the command line --user). There are the users {names}; "
            f"without a name, {DEFAULT_USER!r} is meant only while there is no other user"
        )
    return DEFAULT_USER
