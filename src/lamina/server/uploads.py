"""A file in the body of a request: which types of content it may have, and where it lies while it is read."""

import asyncio
import re
from collections.abc import Mapping
from urllib.parse import unquote

from starlette.requests import Request

from lamina.server.temporary import TemporaryFolder

UPLOAD_PATHS = frozenset({"/v1/import", "/v1/jobs/import"})
LINES = ("application/x-ndjson", "application/ndjson", "application/jsonl")
BINARY = ("application/octet-stream", "application/zip", "application/x-zip-compressed")  # not looked into on the way
FILE_NAME = "x-lamina-filename"
_SUFFIXES = {"application/zip": ".zip", "application/x-zip-compressed": ".zip"}
_UNUSUAL = re.compile(r"[^\w .()+-]")
_MAX_NAME = 120  # characters, counted from the end, which has the suffix


class Upload:
    """The file of a request, in a folder of its own until it is removed."""

    def __init__(self, folder: TemporaryFolder, name: str) -> None:
        self._folder = folder
        self.path = folder.path / name

    @classmethod
    async def receive(cls, request: Request) -> "Upload":
        body = await request.body()
        upload = cls(await asyncio.to_thread(TemporaryFolder), name_of(request.headers))
        await asyncio.to_thread(upload.path.write_bytes, body)
        return upload

    def remove(self) -> None:
        self._folder.remove()


def name_of(headers: Mapping[str, str]) -> str:
    """The name of the file, as its sender calls it; without a name, one that fits its type."""
    given = unquote(headers.get(FILE_NAME, "")).replace("\\", "/").rpartition("/")[2]
    name = _UNUSUAL.sub("_", given)[-_MAX_NAME:].strip(" .")
    if name:
        return name
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    return f"import{_SUFFIXES.get(kind, '.jsonl')}"
