"""Who calls: the key of a request is checked in `authenticate`, its role by the dependencies of a route."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, HTTPException, Request, Security
from fastapi.security import APIKeyHeader, HTTPBearer

from lamina.memory import AsyncMemory
from lamina.server.audit import Audits
from lamina.server.metrics import Metrics
from lamina.settings import Settings
from lamina.tenancy.keys import PREFIX
from lamina.tenancy.tenants import Tenants
from lamina.values.access_key import KEY_ROLES, ApiKey, KeyRole

_SCHEMES = ("bearer", "token")


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls: a key, or whoever is on this machine while there are no keys."""

    tenant: str
    role: KeyRole
    key: ApiKey | None = None


@dataclass(slots=True)
class Service:
    """What every request is answered with; the tenants are there while the service runs."""

    metrics: Metrics
    settings: Settings
    audits: Audits = field(default_factory=Audits)
    opened: Tenants | None = None

    @property
    def tenant(self) -> str:
        """Whose memory it is without a key."""
        return self.settings.tenant

    def is_operator(self, caller: "Caller") -> bool:
        """Whether the caller runs the service: an admin of the tenant that its settings name."""
        return caller.tenant == self.tenant and caller.role == "admin"

    @property
    def tenants(self) -> Tenants:
        if self.opened is None:
            raise HTTPException(503, "the service is starting or stopping")
        return self.opened


def read_secret(headers: dict[str, str]) -> str | None:
    """The key that a request shows: `Authorization: Bearer …`, `Authorization: Token …` or `X-API-Key`."""
    scheme, _, given = headers.get("authorization", "").partition(" ")
    if scheme.lower() in _SCHEMES and given.strip():
        return given.strip()
    return headers.get("x-api-key", "").strip() or None


async def authenticate(service: Service, headers: dict[str, str], *, proxied: bool = False) -> Caller | None:
    """Check the key of a request; None if it is not accepted. A `proxied` request may carry a key for the endpoint."""
    secret = (headers.get("x-api-key", "").strip() or read_secret(headers)) if proxied else read_secret(headers)
    if proxied and secret is not None and not secret.startswith(PREFIX):
        secret = None
    if secret is None and not await service.tenants.has_keys():
        return Caller(service.tenant, "admin")
    key = None if secret is None else await service.tenants.check_key(secret)
    return None if key is None else Caller(key.tenant, key.role, key)


def _require(role: KeyRole) -> Callable[[Request], Awaitable[Caller]]:
    min_role = KEY_ROLES.index(role)

    async def caller(request: Request) -> Caller:
        found: Caller = request.scope["lamina.caller"]
        if KEY_ROLES.index(found.role) < min_role:
            raise HTTPException(403, f"this needs a key with the role {role}; this one has {found.role}")
        return found

    return caller


def _memory_for(role: KeyRole) -> Callable[[Request], Awaitable[AsyncMemory]]:
    require = _require(role)

    async def memory(request: Request) -> AsyncMemory:
        return await service_of(request).tenants.engine((await require(request)).tenant)

    return memory


def service_of(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


_bearer = HTTPBearer(auto_error=False, scheme_name="bearer", description="A key, `lam_…`")
_header = APIKeyHeader(name="X-API-Key", auto_error=False, scheme_name="header", description="The same in a header")
KEY_SECURITY = [Security(_bearer), Security(_header)]  # for the schema; the middleware has checked them

Reader = Annotated[AsyncMemory, Depends(_memory_for("read"))]
Writer = Annotated[AsyncMemory, Depends(_memory_for("write"))]
Admin = Annotated[AsyncMemory, Depends(_memory_for("admin"))]
ReadCaller = Annotated[Caller, Depends(_require("read"))]
AdminCaller = Annotated[Caller, Depends(_require("admin"))]
