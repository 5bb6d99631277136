"""What went wrong, as RFC 9457 problems with a stable `type`."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from lamina.errors import (
    BadRecords,
    BudgetTooSmall,
    Conflict,
    DoesNotFit,
    InputError,
    LaminaError,
    ModelError,
    NotFound,
    Stale,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreReadOnly,
)

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER_S = "1"
_LONGEST = 2000  # characters of a detail: it may repeat what was given
_MOST_ERRORS = 1000  # lines of an import that are named

# The nearest kind of an error counts: what is told of it, and the status.
KINDS: Mapping[type[Exception], tuple[str, int]] = {
    BudgetTooSmall: ("budget-too-small", 400),
    DoesNotFit: ("conflict", 409),
    InputError: ("input", 400),
    NotFound: ("not-found", 404),
    Stale: ("stale", 412),
    Conflict: ("conflict", 409),
    StoreBusy: ("store-busy", 503),
    StoreFull: ("store-full", 507),
    StoreReadOnly: ("store-read-only", 503),
    StoreError: ("store", 503),
    ModelError: ("model", 502),
    TimeoutError: ("timeout", 408),
    LaminaError: ("failed", 500),
}
STATUS_KINDS: Mapping[int, str] = {
    400: "input", 401: "key-needed", 403: "not-allowed", 404: "not-found", 405: "method", 408: "slow-request",
    413: "too-large", 415: "content-type", 421: "host", 422: "shape", 429: "too-many-requests",
    500: "internal", 503: "busy",
}  # fmt: skip
OURS = (StoreError, ModelError)  # whose words may tell of the machine: they go to the log

SCHEMA: Mapping[str, Any] = {
    "title": "ProblemDetails",
    "type": "object",
    "required": ["type", "title", "status"],
    "properties": {
        "type": {"type": "string", "examples": ["urn:lamina:not-found"]},
        "title": {"type": "string", "examples": ["Not Found"]},
        "status": {"type": "integer", "examples": [404]},
        "detail": {"type": "string", "examples": ["no session 's1'"]},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["at", "message"],
                "properties": {"at": {"type": "string"}, "message": {"type": "string"}},
            },
        },
        "smallest": {"type": "integer", "description": "with budget-too-small: the budget that works"},
    },
}


def problem(
    status: int,
    detail: str | None = None,
    *,
    kind: str | None = None,
    headers: Mapping[str, str] | None = None,
    **more: Any,
) -> JSONResponse:
    """An answer that says what is wrong and, where it can, what would work."""
    body = {
        "type": f"urn:lamina:{kind or STATUS_KINDS.get(status, 'http')}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        **({"detail": detail[:_LONGEST]} if detail else {}),
        **more,
    }
    return JSONResponse(body, status, headers=dict(headers or {}), media_type=MEDIA_TYPE)


class Refused(Exception):
    """A request that goes no further."""

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.response = problem(status, detail, headers=headers)


def of_error(error: LaminaError | TimeoutError) -> JSONResponse:
    """The problem that an error of Lamina is."""
    kind, status = next(KINDS[base] for base in type(error).__mro__ if base in KINDS)
    more: dict[str, Any] = {"smallest": error.smallest} if isinstance(error, BudgetTooSmall) else {}
    if isinstance(error, BadRecords):
        more = {"errors": [{"at": place, "message": why} for place, why in error.faults[:_MOST_ERRORS]]}
    headers = {"Retry-After": RETRY_AFTER_S} if isinstance(error, StoreBusy) else {}
    told = None if isinstance(error, OURS) else str(error)
    if isinstance(error, StoreBusy):
        told = "others held the store for too long; nothing was changed, and trying again is safe"
    if isinstance(error, TimeoutError):
        told = "it was not done in time; what is due stays due"
    return problem(status, told, kind=kind, headers=headers, **more)


def of_refusal(error: HTTPException) -> JSONResponse:
    told = None if error.detail == HTTPStatus(error.status_code).phrase else str(error.detail)
    return problem(error.status_code, told, headers=error.headers)


def of_shape(error: RequestValidationError, status: int = 422) -> JSONResponse:
    """What does not have the shape of the schema; the values that were sent are not repeated."""
    errors = [{"at": _place(one["loc"]), "message": _said(one)} for one in error.errors()]
    several = "; ".join(f"{one['at']}: {one['message']}" for one in errors[:5])
    return problem(status, several, errors=errors[:50])


def _place(loc: Sequence[Any]) -> str:
    return ".".join(str(part) for part in loc)[:200]


def _said(one: Mapping[str, Any]) -> str:
    return "no such field" if one["type"] == "extra_forbidden" else str(one["msg"])
