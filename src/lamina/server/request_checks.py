"""Checks of a request before its key is looked at: headers, host, origin, address.

Browsers say in `Origin` and `Sec-Fetch-Site` which page makes a request. A page can make its reader's browser call this
machine or a network that only the reader can reach. Programs that are no browsers send neither header.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from urllib.parse import unquote, urlsplit

from starlette.types import Scope

from lamina.server.problems import Refusal

LOOPBACK = ("localhost", "127.0.0.1", "::1")
READ_METHODS = frozenset({"GET", "HEAD"})
_ONCE = frozenset({"authorization", "content-type", "host", "origin", "sec-fetch-site", "x-api-key"})
_MAX_PARAMETERS = 200  # of an address; the time to check them grows with their square
_OWN_SITE = ("same-origin", "none")  # of Sec-Fetch-Site; none: the reader typed the address
_PORTS = {"http": 80, "https": 443}


def check_headers(headers: Iterable[tuple[bytes, bytes]]) -> None:
    """Refuse two keys or two lengths: a proxy before us may take the other one, and see other requests than we do."""
    names = Counter(name.decode("latin-1") for name, _ in headers)
    if twice := sorted(name for name in _ONCE if names[name] > 1):
        raise Refusal(400, f"the header {twice[0]} was sent {names[twice[0]]} times; send it once")
    if names["transfer-encoding"] and names["content-length"]:
        raise Refusal(400, "a body has a Content-Length or comes in chunks, not both", {"Connection": "close"})


def check_host(host: str, allowed: Collection[str] | None) -> None:
    """Pages of other sites may make a browser call this machine by a name of theirs."""
    if allowed is None:
        return
    try:
        name = urlsplit(f"//{host}").hostname
    except ValueError:
        name = None
    if name not in allowed:
        raise Refusal(421, "the service is not called so; the setting `service_hosts` has the names it answers to")


def check_origin(scope: Scope, headers: Mapping[str, str], allowed: Collection[str]) -> None:
    """Pages of other sites may make a browser send any request; a link to the inspector does no harm."""
    is_link = scope["path"] == "/" and scope["method"] in READ_METHODS
    if is_foreign(headers, allowed) and not is_link:
        raise Refusal(403, "a page of another site asks; the setting `service_origins` has the origins that may")


def is_foreign(headers: Mapping[str, str], allowed: Collection[str]) -> bool:
    """Whether a page of another origin asks; `allowed` are origins that may."""
    origin = headers.get("origin")
    if origin is not None and origin.strip().lower() in allowed:
        return False
    elsewhere = headers.get("sec-fetch-site", _OWN_SITE[0]).strip().lower() not in _OWN_SITE
    return elsewhere or (origin is not None and not _is_own(origin, headers.get("host", "")))


def _is_own(origin: str, host: str) -> bool:
    """Whether an origin is where the request went to; its scheme may be another, behind a proxy that does TLS."""
    try:
        theirs, ours = urlsplit(origin.strip()), urlsplit(f"//{host}")
        usual = _PORTS[theirs.scheme]
        names = (theirs.hostname, theirs.port or usual), (ours.hostname, ours.port or usual)
    except (KeyError, ValueError):
        return False
    return theirs.hostname is not None and names[0] == names[1]


def check_parameters(query: bytes) -> None:
    if query.count(b"&") >= _MAX_PARAMETERS:
        raise Refusal(400, f"an address has up to {_MAX_PARAMETERS} parameters; ask in parts")


def decode_path(scope: Scope) -> str:
    """The path with slashes inside of ids still written as %2F, so that every id can be named."""
    raw = scope.get("raw_path") or scope["path"].encode()
    try:
        parts = [unquote(part, errors="strict") for part in raw.decode("ascii").split("/")]
    except UnicodeError:
        raise Refusal(400, "the address is not UTF-8") from None
    return "/".join(part.replace("%", "%25").replace("/", "%2F") for part in parts)
