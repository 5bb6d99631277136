"""Where the page is served: `/` and `/assets/{file}`, to everybody who may reach the service; they hold no data.

The page asks for all it shows through the REST API, with the key that its reader gives it. What it shows is in the
fragment of its address, which browsers send to nobody.
"""

import asyncio
from pathlib import Path

from fastapi import APIRouter, FastAPI, HTTPException, Request
from fastapi.responses import Response
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lamina.server.inspector.page_files import File, Files
from lamina.server.middleware import is_page

# Trusted types are for `innerHTML` and its like, which neither Preact nor Plot uses unless it is asked to: a page that
# breaks over them has begun to write text as HTML.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": ", ".join(
        f"{feature}=()"
        for feature in (
            "camera", "display-capture", "fullscreen", "geolocation", "microphone", "midi", "payment",
            "publickey-credentials-get", "screen-wake-lock", "serial", "usb",
        )
    ),
}  # fmt: skip
_FOREVER = "public, max-age=31536000, immutable"
_ASK_AGAIN = "no-cache"
_READ = ["GET", "HEAD"]


def attach(app: FastAPI, folder: Path) -> None:
    """Add the page in a folder to a service that has all the rest."""
    app.router.routes.extend(_routes(Files(folder)).routes)
    app.add_middleware(Guarded)


class Guarded:
    """Gives every answer at the page's addresses, refusals as well, the headers that keep a browser from harm."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        guards = scope["type"] == "http" and is_page(scope["path"])
        await self._app(scope, receive, guarded if guards else send)


def _routes(files: Files) -> APIRouter:
    routes = APIRouter(include_in_schema=False)

    @routes.api_route("/", methods=_READ, operation_id="inspector")
    async def index(request: Request) -> Response:
        file = await asyncio.to_thread(files.index)
        if file is None:
            raise HTTPException(
                404,
                "the inspector's page is not built in this checkout: run `npm ci && npm run build` in `web`;"
                " installed packages have it. The REST API is at /v1, its schema at /openapi.json",
            )
        return _answer(request, file, _ASK_AGAIN)

    @routes.api_route("/assets/{file}", methods=_READ, operation_id="inspector_file")
    async def asset(request: Request, file: str) -> Response:
        found = await asyncio.to_thread(files.asset, file)
        if found is None:
            raise HTTPException(404, "the inspector has no such file; reload the page")
        return _answer(request, found, _FOREVER)

    return routes


def _answer(request: Request, file: File, keeping: str) -> Response:
    zipped = file.zipped if _takes_gzip(request.headers.get("accept-encoding", "")) else None
    tag = f'"{file.tag}{"" if zipped is None else "-gzip"}"'
    headers = {"Cache-Control": keeping, "ETag": tag, "Vary": "Accept-Encoding"}
    if tag in _tags(request.headers.get("if-none-match", "")):
        return Response(status_code=304, headers=headers)
    if zipped is not None:
        headers["Content-Encoding"] = "gzip"
    return Response(file.body if zipped is None else zipped, media_type=file.kind, headers=headers)


def _tags(given: str) -> set[str]:
    return {tag.strip().removeprefix("W/") for tag in given.split(",")}


def _takes_gzip(accepted: str) -> bool:
    """Whether a client takes gzip: named, or by `*`, and not with a weight of nothing."""
    weights: dict[str, float] = {}
    for part in accepted.lower().split(","):
        coding, _, weight = part.partition(";")
        try:
            weights[coding.strip()] = float(weight.strip().removeprefix("q=") or 1)
        except ValueError:
            weights[coding.strip()] = 0
    return weights.get("gzip", weights.get("*", 0)) > 0
