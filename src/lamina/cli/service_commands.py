"""Commands for the REST service and its keys."""

import asyncio
import functools
import importlib
import importlib.util
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar

import typer
from rich.markup import escape

from lamina.cli.command import Face, JsonOption, errors, out
from lamina.errors import MissingExtra
from lamina.settings import Settings
from lamina.tenancy.keys import Keys, lasting
from lamina.values.access_key import ApiKey

T = TypeVar("T")

commands = typer.Typer()
keys = typer.Typer(help="Keys of the service: who may come in.", no_args_is_help=True)
commands.add_typer(keys, name="keys", rich_help_panel="Service")


@commands.command()
def serve(
    context: typer.Context,
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65_535, help="Port; 0: any that is free.")] = 8640,
    no_worker: Annotated[bool, typer.Option("--no-worker", help="Leave folding to `lamina worker`.")] = False,
) -> None:
    """Serve the REST API, the inspector at /, and MCP at /mcp, until SIGTERM or Ctrl-C."""
    try:
        serving = importlib.import_module("lamina.server.serve")
    except ModuleNotFoundError as error:
        raise MissingExtra(error.name or "fastapi", "server") from error

    def announce(address: str) -> None:
        told = f"serving on {address}\ninspector: {address}/"
        errors.print(told, highlight=False, markup=False, soft_wrap=True)

    settings = context.obj.settings
    running = serving.serve(
        settings, host=host, port=port, worker=not no_worker, announce=announce, mounts=_mounts(settings)
    )
    raise typer.Exit(asyncio.run(running))


def _mounts(settings: Settings) -> dict[str, Any]:
    """What is served on the same port besides the REST API: MCP, if its extra is installed."""
    if importlib.util.find_spec("mcp") is None:
        return {}
    make = importlib.import_module("lamina.server.mcp.mount").mount
    return {"/mcp": functools.partial(make, body_bytes=settings.max_body_bytes)}


@keys.command()
def create(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="What the key is for.")],
    role: Annotated[str, typer.Option("--role", help="read, write or admin.")] = "write",
    expires: Annotated[str | None, typer.Option("--expires", help="How long it lasts: 12h, 90d, 52w.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Make a key; it is shown once."""
    lasts = None if expires is None else lasting(expires)
    key, secret = _with_keys(context.obj, lambda own: own.create(name, role, lasts))  # type: ignore[arg-type]
    _show_once(key, secret, as_json)


@keys.command("list")
def list_(context: typer.Context, as_json: JsonOption = False) -> None:
    """List the keys of this tenant."""
    found = _with_keys(context.obj.existing(), lambda own: own.all())
    out(found, as_json, lambda _: _lines(found, datetime.now(UTC)))


@keys.command()
def revoke(
    context: typer.Context,
    key_id: Annotated[str, typer.Argument(help="Id of the key, as `keys list` shows it.")],
    as_json: JsonOption = False,
) -> None:
    """Let a key in no longer, at once."""
    _with_keys(context.obj.existing(), lambda own: own.revoke(key_id))
    out({"revoked": key_id}, as_json, lambda _: f"revoked {escape(key_id)}")


@keys.command()
def rotate(
    context: typer.Context,
    key_id: Annotated[str, typer.Argument(help="Id of the key, as `keys list` shows it.")],
    overlap: Annotated[str | None, typer.Option("--overlap", help="How long the old key still does: 24h, 7d.")] = None,
    expires: Annotated[str | None, typer.Option("--expires", help="How long the new key lasts: 12h, 90d, 52w.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Make a successor of a key, which is shown once; without --overlap, the old key is let in no longer."""
    still, lasts = (None if given is None else lasting(given) for given in (overlap, expires))
    key, secret = _with_keys(context.obj.existing(), lambda own: own.rotate(key_id, overlap=still, lasts=lasts))
    _show_once(key, secret, as_json)


def _show_once(key: ApiKey, secret: str, as_json: bool) -> None:
    shown = {"key": secret, **{field: getattr(key, field) for field in ("id", "name", "role", "tenant", "expires_at")}}
    out(shown, as_json, lambda _: f"{escape(secret)}\n{key.id}: keep the key, it is not shown again")


def _with_keys(face: Face, work: Callable[[Keys], Awaitable[T]]) -> T:
    return face.held(lambda held: work(held.keys(face.settings.tenant)))


def _lines(found: list[ApiKey], now: datetime) -> str:
    return "\n".join(_line(key, now) for key in found) or "no keys"


def _line(key: ApiKey, now: datetime) -> str:
    expired = key.expires_at is not None and key.expires_at <= now
    state = "revoked" if key.revoked_at else "expired" if expired else "good"
    until, used = _day(key.expires_at, "revoked"), _day(key.used_at, "never")
    return f"{key.id}  {key.role}  {state}  {escape(key.name)}  until {until}, last used {used}"


def _day(moment: datetime | None, otherwise: str) -> str:
    return otherwise if moment is None else moment.date().isoformat()
