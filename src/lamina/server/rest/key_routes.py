"""Routes for keys and tenants."""

from datetime import datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request, Response
from pydantic import BaseModel, Field

from lamina.server.auth import KEY_SECURITY, AdminCaller, service_of
from lamina.server.input_types import PathId, TenantPathId
from lamina.server.inputs import KeyRotation, ListQuery, NewKey
from lamina.server.rest.pagination import Page, paginate
from lamina.tenancy.keys import Keys, lasting
from lamina.values.access_key import ApiKey, KeyRole

routes = APIRouter(prefix="/v1", dependencies=KEY_SECURITY)


class MadeKey(BaseModel):
    """A new key, with its secret."""

    key: str = Field(description="The key itself; it is not shown again.")
    id: str
    name: str
    role: KeyRole
    tenant: str
    created_at: datetime
    expires_at: datetime | None
    user_id: str | None


class Tenant(BaseModel):
    """A tenant; memories of tenants are separate."""

    tenant: str


@routes.post("/keys", tags=["keys"], operation_id="create_key", status_code=201)
async def create_key(caller: AdminCaller, request: Request, response: Response, body: NewKey) -> MadeKey:
    """Make a key for the caller's tenant; it is shown in this answer only."""
    return await _create(_keys(request, caller.tenant), body, response)


@routes.get("/keys", tags=["keys"], operation_id="list_keys")
async def list_keys(caller: AdminCaller, request: Request, params: Annotated[ListQuery, Query()]) -> Page[ApiKey]:
    """The keys of the caller's tenant, also the revoked ones, the oldest first."""
    found = await _keys(request, caller.tenant).all()
    return paginate(found, "keys", params)


@routes.delete("/keys/{key_id}", tags=["keys"], operation_id="revoke_key")
async def revoke_key(caller: AdminCaller, request: Request, key_id: PathId) -> ApiKey:
    """Revoke a key, from the next request on; it stays in the list."""
    keys = _keys(request, caller.tenant)
    await keys.revoke(key_id)
    return next(key for key in await keys.all() if key.id == key_id)


@routes.post("/keys/{key_id}/rotate", tags=["keys"], operation_id="rotate_key", status_code=201)
async def rotate_key(
    caller: AdminCaller, request: Request, response: Response, key_id: PathId, body: KeyRotation
) -> MadeKey:
    """Make a successor with the same name, role and user; the old key is accepted for the `overlap`, or no longer."""
    keys = _keys(request, caller.tenant)
    return _show_once(*await keys.rotate(key_id, overlap=_time(body.overlap), lasts=_time(body.expires)), response)


@routes.get("/tenants", tags=["keys"], operation_id="list_tenants")
async def list_tenants(caller: AdminCaller, request: Request, params: Annotated[ListQuery, Query()]) -> Page[Tenant]:
    """All tenants for the operator of the service; the caller's own for everybody else."""
    service = service_of(request)
    names = await service.tenants.all_names() if service.is_operator(caller) else [caller.tenant]
    page = paginate(names, "tenants", params, str)
    return Page(items=[Tenant(tenant=name) for name in page.items], next=page.next)


@routes.post("/tenants/{tenant}/keys", tags=["keys"], operation_id="create_tenant_key", status_code=201)
async def create_tenant_key(
    caller: AdminCaller, request: Request, response: Response, tenant: TenantPathId, body: NewKey
) -> MadeKey:
    """Make a key for any tenant, also for a new one; for the operator of the service alone."""
    if not service_of(request).is_operator(caller):
        raise HTTPException(403, "this needs an admin key of the service's own tenant; for yours: POST /v1/keys")
    return await _create(_keys(request, tenant), body, response)


def _keys(request: Request, tenant: str) -> Keys:
    return service_of(request).tenants.keys(tenant)


async def _create(keys: Keys, body: NewKey, response: Response) -> MadeKey:
    return _show_once(*await keys.create(body.name, body.role, _time(body.expires), body.user_id), response)


def _show_once(key: ApiKey, secret: str, response: Response) -> MadeKey:
    response.headers["Cache-Control"] = "no-store"
    return MadeKey(key=secret, **{field: getattr(key, field) for field in MadeKey.model_fields if field != "key"})


def _time(given: str | None) -> timedelta | None:
    return None if given is None else lasting(given)
