"""The command that serves the memory to clients of the Model Context Protocol."""

import importlib
import importlib.util
import shutil
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from lamina.cli.command import Face, UserOption, errors
from lamina.errors import InputError, MissingExtra

commands = typer.Typer()


def _part(module: str) -> Any:
    """A part of the server, which no other command needs."""
    return importlib.import_module(f"lamina.server.mcp.{module}")


@commands.command()
def mcp(
    context: typer.Context,
    user: UserOption = None,
    any_user: Annotated[
        bool, typer.Option("--any-user", help="Let the model name the user; else it is always the same.")
    ] = False,
    http: Annotated[bool, typer.Option("--http", help="Serve over HTTP instead of standard input and output.")] = False,
    host: Annotated[str, typer.Option("--host", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="On which port; 0: any free one.")] = 8641,
    token: Annotated[str | None, typer.Option("--token", help="Bearer token that clients have to give.")] = None,
    allow_host: Annotated[
        list[str] | None, typer.Option("--allow-host", help="Another name that clients call it by; may be repeated.")
    ] = None,
    show: Annotated[bool, typer.Option("--print", help="Print what to paste into the settings of clients.")] = False,
) -> None:
    """Serve the memory to an MCP client such as Claude, Cursor, VS Code or Zed, until it or a signal ends it."""
    face: Face = context.obj
    given = token or face.settings.mcp_token
    if not http and (token or allow_host):
        raise InputError("--token and --allow-host are for --http")
    if show:
        _show(face, user, any_user=any_user, address=f"http://{host}:{port}/mcp" if http else None, guarded=bool(given))
        return
    if importlib.util.find_spec("mcp") is None:
        raise MissingExtra("mcp", "mcp")
    serving = _part("mcp_process")
    options = {**face.settings.options(), "tenant": face.settings.tenant}
    plan = serving.Plan(location=face.settings.database, options=options, user=face.user(user), any_user=any_user)
    if http:
        http_address = serving.HttpAddress(host=host, port=port, token=given, names=tuple(allow_host or ()))
        serving.serve_http(plan, http_address, lambda address: _say(f"serving {plan.user} at {address}"))
    else:
        if sys.stdin.isatty():
            _say("waiting for an MCP client on standard input; `lamina mcp --print` shows how to connect one")
        serving.serve_stdio(plan)


def _say(line: str) -> None:
    errors.print(escape(line), highlight=False, soft_wrap=True)


def _show(face: Face, user: str | None, *, any_user: bool, address: str | None, guarded: bool) -> None:
    snippets = _part("client_settings")
    if address is not None:
        typer.echo(snippets.for_http(address, guarded=guarded), nl=False)
        return
    words = ["--db", _absolute(face.settings.database)]
    words += [] if face.settings.tenant == "default" else ["--tenant", face.settings.tenant]
    words += ["mcp", "--user", face.user(user), *(["--any-user"] if any_user else [])]
    typer.echo(snippets.for_stdio(_executable(), words), nl=False)


def _absolute(database: str) -> str:
    """A database that is found from any folder."""
    path = database.removeprefix("sqlite:///")
    return database if "://" in path or path == ":memory:" else str(Path(path).absolute())


def _executable() -> str:
    beside = Path(sys.executable).with_name("lamina")
    return str(beside) if beside.exists() else (shutil.which("lamina") or str(Path(sys.argv[0]).absolute()))
