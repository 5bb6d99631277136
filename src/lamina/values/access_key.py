"""Keys of the service."""

from datetime import datetime
from typing import Literal, get_args

from lamina.frozen import dataclass

KeyRole = Literal["read", "write", "admin"]
KEY_ROLES: tuple[KeyRole, ...] = get_args(KeyRole)  # each may do what those before it may


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """Who may use the service for one tenant; the key itself is shown once, when it is made."""

    id: str
    tenant: str
    name: str
    role: KeyRole
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    used_at: datetime | None = None  # to the hour
    user_id: str | None = None  # of proxied requests that name nobody
