"""Commands for the API keys of the service."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Annotated, TypeVar

import typer
from rich.markup import escape

from lamina.cli import options
from lamina.cli.command import Opener, out
from lamina.tenancy.keys import Keys, lasting
from lamina.values.access_key import ApiKey

T = TypeVar("T")

commands = typer.Typer()
keys = typer.Typer(help="API keys of the service.", no_args_is_help=True)
commands.add_typer(keys, name="keys")


@keys.command()
def create(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="What the key is for.")],
    role: Annotated[str, typer.Option("--role", help="read, write or admin.")] = "write",
    expires: options.Expires = None,
    user: Annotated[
        str | None, typer.Option("--user", "-u", help="User of proxied requests with this key that name nobody.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Create a key; it is shown only once."""
    lasts = None if expires is None else lasting(expires)
    key, secret = _with_keys(context.obj, lambda own: own.create(name, role, lasts, user))  # type: ignore[arg-type]
    _show_once(key, secret, as_json)


@keys.command("list")
def list_(context: typer.Context, as_json: options.Json = False) -> None:
    """List the keys of this tenant."""
    found, now = _with_keys(context.obj.check_exists(), lambda own: own.all()), datetime.now(UTC)
    out(found, as_json, lambda _: "\n".join(_line(key, now) for key in found), "no keys")


@keys.command()
def revoke(context: typer.Context, key_id: options.KeyId, as_json: options.Json = False) -> None:
    """Make a key invalid at once."""
    _with_keys(context.obj.check_exists(), lambda own: own.revoke(key_id))
    out({"revoked": key_id}, as_json, lambda _: f"revoked {escape(key_id)}")


@keys.command()
def rotate(
    context: typer.Context,
    key_id: options.KeyId,
    overlap: Annotated[str | None, typer.Option("--overlap", help="How long the old key stays valid: 24h, 7d.")] = None,
    expires: options.Expires = None,
    as_json: options.Json = False,
) -> None:
    """Replace a key by a new one, which is shown only once; without --overlap the old key is invalid at once."""
    still, lasts = (None if given is None else lasting(given) for given in (overlap, expires))
    key, secret = _with_keys(context.obj.check_exists(), lambda own: own.rotate(key_id, overlap=still, lasts=lasts))
    _show_once(key, secret, as_json)


def _show_once(key: ApiKey, secret: str, as_json: bool) -> None:
    shown = {
        "key": secret,
        **{field: getattr(key, field) for field in ("id", "name", "role", "tenant", "expires_at", "user_id")},
    }
    out(shown, as_json, lambda _: f"{escape(secret)}\n{key.id}: keep the key, it is not shown again")


def _with_keys(opener: Opener, work: Callable[[Keys], Awaitable[T]]) -> T:
    return opener.with_tenants(lambda opened: work(opened.keys(opener.settings.tenant)))


def _line(key: ApiKey, now: datetime) -> str:
    is_expired = key.expires_at is not None and key.expires_at <= now
    state = "revoked" if key.revoked_at else "expired" if is_expired else "valid"
    until, used = _day(key.expires_at, "revoked"), _day(key.used_at, "never")
    whose = "" if key.user_id is None else f", for {escape(key.user_id)}"
    return f"{key.id}  {key.role}  {state}  {escape(key.name)}  until {until}, last used {used}{whose}"


def _day(moment: datetime | None, default: str) -> str:
    return default if moment is None else moment.date().isoformat()
