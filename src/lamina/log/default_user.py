"""Whose memory is meant where nobody is named."""

from collections.abc import Sequence

from lamina.errors import InputError
from lamina.log.messages import check_id
from lamina.protocols.store import Store

DEFAULT_USER = "default"
_NAMED = 3  # users in an error


class UserNotNamed(InputError):
    """Nobody is named, and there are several whose memory may be meant; `ways` say what the caller can do."""

    def __init__(self, users: Sequence[str], ways: str = "give user_id") -> None:
        names = ", ".join(f"{one!r:.60}" for one in users[:_NAMED]) + (", …" if len(users) > _NAMED else "")
        super().__init__(
            f"say whose memory is meant: {ways}. There are the users {names}; without a name, {DEFAULT_USER!r} is"
            " meant only while there is no other user"
        )
        self.users = users


async def resolve_user(store: Store, user_id: str | None) -> str:
    """The user that was given; without one `default`, unless the memory has other users."""
    if user_id is not None:
        return check_id(user_id, "user_id")
    others = [one for one in await store.users(limit=_NAMED + 2) if one != DEFAULT_USER]
    if others:
        raise UserNotNamed(others)
    return DEFAULT_USER
