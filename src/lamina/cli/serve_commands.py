"""Commands that serve the memory: REST, the inspector and MCP over HTTP, or MCP over standard input and output."""

import asyncio
import functools
import importlib
import importlib.util
import shutil
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from lamina.cli import options
from lamina.cli.command import Opener, say
from lamina.errors import InputError, MissingExtra
from lamina.settings import Settings, without_password

commands = typer.Typer()


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
    settings = context.obj.settings
    running = serving.serve(
        settings,
        host=host,
        port=port,
        worker=not no_worker,
        announce=lambda started: say(_banner(started, settings)),
        mounts=_mounts(settings),
    )
    raise typer.Exit(asyncio.run(running))


def _banner(started: Any, settings: Settings) -> str:
    """What is served and where, a line each."""
    first = started.addresses[0].replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")
    mcp = f"{first}/mcp" if started.with_mcp else "not installed: pip install 'lamina[server]'"
    keys = "needed for every request" if started.has_keys else "none, so only programs on this machine may come in"
    lines = {
        "page": f"{first}/",
        "REST": f"{first}/v1 (schema: {first}/openapi.json)",
        "proxy": f"{first}/openai/v1 (base_url of OpenAI clients)",
        "  asks": _endpoint(settings),
        "  user": _default_user(settings, has_keys=started.has_keys),
        "MCP": mcp,
        "database": _database(settings.database),
        "worker": "in this process" if started.with_worker else "none here: start `lamina worker`",
        "keys": keys,
    }
    if settings.tenant != "default":
        lines["tenant"] = settings.tenant
    where = "\n".join(f"serving on {address}" for address in started.addresses)
    return "\n".join([where, *(f"  {name:10}{value}" for name, value in lines.items())])


def _endpoint(settings: Settings) -> str:
    address = without_password(settings.proxy_endpoint())
    return address if settings.has_proxy() else f"{address} (for another endpoint, set LAMINA_PROXY_BASE_URL)"


def _default_user(settings: Settings, *, has_keys: bool) -> str:
    if has_keys:
        return (
            "named by each request, or by its key (`lamina keys create NAME --user USER`); else nothing is remembered"
        )
    if (name := settings.default_user()) is not None:
        return f"{name}, if a request names nobody (LAMINA_PROXY_DEFAULT_USER)"
    return "must be named by each request, or nothing is remembered"


def _database(location: str) -> str:
    if "://" in location and not location.startswith("sqlite:"):
        return without_password(location)
    path = location.removeprefix("sqlite:///")
    return "in memory: lost when this ends" if path == ":memory:" else str(Path(path).absolute())


def _mounts(settings: Settings) -> dict[str, Any]:
    """What is served on the same port besides the REST API: MCP, if its extra is installed."""
    if importlib.util.find_spec("mcp") is None:
        return {}
    make = importlib.import_module("lamina.server.mcp.mount").mount
    return {"/mcp": functools.partial(make, body_bytes=settings.max_body_bytes)}


@commands.command()
def mcp(
    context: typer.Context,
    user: options.User = None,
    project: Annotated[
        str | None, typer.Option("--project", metavar="ID", help="The project of calls that name none; default: none.")
    ] = None,
    any_user: Annotated[
        bool, typer.Option("--any-user", help="Let the model choose the user; default: always the same one.")
    ] = False,
    http: Annotated[bool, typer.Option("--http", help="Serve over HTTP instead of standard input and output.")] = False,
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65_535, help="Port; 0: any that is free.")] = 8641,
    token: Annotated[str | None, typer.Option("--token", help="Bearer token that clients must send.")] = None,
    allow_host: Annotated[
        list[str] | None, typer.Option("--allow-host", help="Another host name that clients may use; may be repeated.")
    ] = None,
    show: Annotated[bool, typer.Option("--print", help="Print what to paste into the settings of clients.")] = False,
) -> None:
    """Serve the memory to an MCP client such as Claude, Cursor, VS Code or Zed, until it or a signal stops it."""
    opener: Opener = context.obj
    given = token or opener.settings.mcp_token
    if not http and (token or allow_host):
        raise InputError("--token and --allow-host need --http")
    if show:
        address = f"http://{host}:{port}/mcp" if http else None
        _show(opener, user, project, any_user=any_user, address=address, guarded=bool(given))
        return
    if importlib.util.find_spec("mcp") is None:
        raise MissingExtra("mcp", "mcp")
    serving = importlib.import_module("lamina.server.mcp.mcp_process")
    memory_options = {**opener.settings.options(), "tenant": opener.settings.tenant}
    name = opener.user(user)
    plan = serving.Plan(
        location=opener.settings.database, options=memory_options, user=name, any_user=any_user, project=project
    )
    if http:
        http_address = serving.HttpAddress(host=host, port=port, token=given, names=tuple(allow_host or ()))
        serving.serve_http(plan, http_address, lambda address: say(f"serving {name or 'memory'} at {address}"))
    else:
        if sys.stdin.isatty():
            say("waiting for an MCP client on standard input; `lamina mcp --print` shows how to connect one")
        serving.serve_stdio(plan)


def _show(
    opener: Opener, user: str | None, project: str | None, *, any_user: bool, address: str | None, guarded: bool
) -> None:
    snippets = importlib.import_module("lamina.server.mcp.client_settings")
    if address is not None:
        typer.echo(snippets.for_http(address, guarded=guarded), nl=False)
        return
    path = opener.settings.database.removeprefix("sqlite:///")
    if "://" not in path and path != ":memory:":  # found from any folder
        path = str(Path(path).absolute())
    words = ["--db", path]
    words += [] if opener.settings.tenant == "default" else ["--tenant", opener.settings.tenant]
    name = opener.user(user)
    words += ["mcp", *(["--user", name] if name else []), *(["--any-user"] if any_user else [])]
    words += ["--project", project] if project else []
    typer.echo(snippets.for_stdio(_executable(), words), nl=False)


def _executable() -> str:
    installed = Path(sys.executable).with_name("lamina")
    return str(installed) if installed.exists() else (shutil.which("lamina") or str(Path(sys.argv[0]).absolute()))
