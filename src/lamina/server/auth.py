"""Who calls: the key of a request is checked in `authenticate`, its role by the dependencies of a route."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, HTTPException, Request, Security
from fastapi.security import APIKeyHeader, HTTPBearer

from lamina.memory import AsyncMemory
from lamina.server.audit import Audits
from lamina.server.jobs import Jobs
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
    jobs: Jobs = field(default_factory=Jobs)
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
    """Check the key of a request; None if it is not accepted. A `proxied` request may carry a key for the endpoint.

    While there are no keys, whatever a client shows is let in: clients of OpenAI and mem0 always send something. Only
    what looks like a key of Lamina is refused, since it belongs to another store than this one.
    """
    secret = (headers.get("x-api-key", "").strip() or read_secret(headers)) if proxied else read_secret(headers)
    is_ours = secret is not None and secret.startswith(PREFIX)
    if not is_ours and not await service.tenants.has_keys():
        return Caller(service.tenant, "admin")
    key = await service.tenants.check_key(secret) if secret is not None and is_ours else None
    return None if key is None else Caller(key.tenant, key.role, key)


async def key_advice(service: Service, headers: dict[str, str], *, proxied: bool) -> str:
    """What to say to a caller whose key was not accepted."""
    if not await service.tenants.has_keys():
        return (
            "this service has no keys, so this one is of another database: name that database (--db, LAMINA_DATABASE),"
            " make a key here (`lamina keys create NAME`), or send none"
        )
    if proxied and read_secret(headers) is not None:
        return (
            "this service has keys: send one of them as `X-API-Key: lam_...` beside your `Authorization` for the"
            " endpoint, or as `Authorization: Bearer lam_...` (in a client of OpenAI: api_key)"
        )
    return "this needs a key that is known, not revoked and not expired, as `Authorization: Bearer lam_...`"


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
