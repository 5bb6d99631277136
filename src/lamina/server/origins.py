"""Which requests come from a page of another site: browsers say so, whatever the page wants.

A page can make its reader's browser call this machine or a network that only the reader can reach. Programs that are no
browsers send neither `Origin` nor `Sec-Fetch-Site`.
"""

from collections.abc import Collection, Mapping
from urllib.parse import urlsplit

_OURS = ("same-origin", "none")  # of Sec-Fetch-Site; none: the reader typed the address
_PORTS = {"http": 80, "https": 443}


def is_foreign(headers: Mapping[str, str], allowed: Collection[str]) -> bool:
    """Whether a page of another origin asks; `allowed` are origins that may."""
    origin = headers.get("origin")
    if origin is not None and origin.strip().lower() in allowed:
        return False
    elsewhere = headers.get("sec-fetch-site", _OURS[0]).strip().lower() not in _OURS
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
