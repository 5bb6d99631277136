"""Where the page is served: `/` and `/assets/{file}`, to everybody who may reach the service; they have no data.

The page asks for all it shows through the REST API, with the key that its reader gives it. What it shows is in the
fragment of its address, which browsers send to nobody.
"""

import asyncio
from pathlib import Path

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import Response

from lamina.server.inspector.page_files import File, Files

# Trusted types are for `innerHTML` and its like, which neither Preact nor Plot uses unless it is asked to: a page that
# breaks over them has begun to write text as HTML.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'"
)
PAGE_HEADERS = {
    "Content-Security-Policy": _POLICY,
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
_IMMUTABLE = "public, max-age=31536000, immutable"
_REVALIDATE = "no-cache"
_METHODS = ["GET", "HEAD"]


def is_page(path: str) -> bool:
    """Whether an address is of the inspector's files, which have no data and are open to whoever can reach us."""
    return path == "/" or path.startswith("/assets/")


def page_routes(folder: Path) -> APIRouter:
    """Routes of the page in a folder."""
    files = Files(folder)
    routes = APIRouter(include_in_schema=False)

    @routes.api_route("/", methods=_METHODS, operation_id="inspector")
    async def index(request: Request) -> Response:
        file = await asyncio.to_thread(files.index)
        if file is None:
            raise HTTPException(
                404,
                "the inspector's page is not built in this checkout: run `npm ci && npm run build` in `web`;"
                " installed packages have it. The REST API is at /v1, its schema at /openapi.json",
            )
        return _respond(request, file, _REVALIDATE)

    @routes.api_route("/assets/{file}", methods=_METHODS, operation_id="inspector_file")
    async def asset(request: Request, file: str) -> Response:
        found = await asyncio.to_thread(files.asset, file)
        if found is None:
            raise HTTPException(404, "the inspector has no such file; reload the page")
        return _respond(request, found, _IMMUTABLE)

    return routes


def _respond(request: Request, file: File, cache_control: str) -> Response:
    zipped = file.zipped if _takes_gzip(request.headers.get("accept-encoding", "")) else None
    tag = f'"{file.tag}{"" if zipped is None else "-gzip"}"'
    headers = {"Cache-Control": cache_control, "ETag": tag, "Vary": "Accept-Encoding"}
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
