"""The built files of the page, read once, plain and compressed."""

import gzip
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

PACKAGED = Path(__file__).parent / "page"
INDEX = "index.html"
KINDS = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".woff2": "font/woff2",
}
_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}")
_MAX_RATIO = 0.9  # of its bytes; a file that gzip makes no smaller is sent as it is


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file as it is sent; `zipped` is None where gzip gains nothing."""

    kind: str
    tag: str
    body: bytes
    zipped: bytes | None


class Files:
    """The page in a folder: `index.html`, and `assets` with names that change with what is in them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._loaded: dict[str, File] = {}

    def index(self) -> File | None:
        """The page itself; None where it was not built."""
        return self._file(INDEX)

    def asset(self, name: str) -> File | None:
        """A file of the page by its name alone: what names another place is not there."""
        return self._file(f"assets/{name}") if _NAME.fullmatch(name) else None

    def _file(self, place: str) -> File | None:
        if place not in self._loaded:
            path = self._folder / place
            kind = KINDS.get(path.suffix)
            if kind is None or not path.is_file():
                return None
            self._loaded[place] = _load(path.read_bytes(), kind)
        return self._loaded[place]


def _load(body: bytes, kind: str) -> File:
    zipped = gzip.compress(body, 9, mtime=0)
    return File(
        kind=kind,
        tag=hashlib.sha256(body).hexdigest()[:32],
        body=body,
        zipped=zipped if len(zipped) <= _MAX_RATIO * len(body) else None,
    )
