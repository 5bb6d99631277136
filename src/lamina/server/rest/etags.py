"""`ETag` and `If-Match`: change something only if it is as it was when it was read."""

import re
from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Depends, Header, Response

from lamina.errors import InputError
from lamina.values.fact import Fact
from lamina.values.session import Session

_TAG = r'"[\x21\x23-\x7e]*"'
_TAGS = re.compile(rf"{_TAG}(?:\s*,\s*{_TAG})*")
_PATTERN = r'^(?:\*|"[!#-~]*"(?: ?, ?"[!#-~]*")*)$'  # for the schema


def _read_if_match(
    if_match: Annotated[
        str | None,
        Header(
            max_length=2000,
            description="The `ETag` it had when it was read; otherwise nothing changes: 412.",
            json_schema_extra={"minLength": 1, "pattern": _PATTERN},
        ),
    ] = None,
) -> tuple[str, ...] | None:
    given = (if_match or "").strip()
    if if_match is None or given == "*":
        return None
    if not _TAGS.fullmatch(given):
        raise InputError("If-Match is an ETag as it was given, with its quotation marks, or several, or *")
    return tuple(tag[1:-1] for tag in re.findall(_TAG, given))


IfMatch = Annotated[tuple[str, ...] | None, Depends(_read_if_match)]


async def choose_tag(tags: IfMatch, read: Callable[[], Awaitable[Session | Fact]]) -> str | None:
    """The one tag to insist on: the current one if it is among those of the request."""
    if tags is None:
        return None
    current = (await read()).tag
    return current if current in tags else tags[0]


def set_etag(response: Response, value: Session | Fact) -> None:
    response.headers["ETag"] = f'"{value.tag}"'
