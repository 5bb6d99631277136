"""What went wrong, in words that REST, mem0 and MCP share; and as RFC 9457 problems with a stable `type`."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

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
_MAX_DETAIL = 2000  # characters of a detail: it may repeat what was given
_MAX_ERRORS = 1000  # lines of an import that are named

# The name and the status of each kind of error; the nearest base class counts.
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
_INTERNAL = (StoreError, ModelError)  # their words may tell of the machine: they go to the log

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
        **({"detail": detail[:_MAX_DETAIL]} if detail else {}),
        **more,
    }
    return JSONResponse(body, status, headers=dict(headers or {}), media_type=MEDIA_TYPE)


class Refusal(Exception):
    """A request that goes no further."""

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.response = problem(status, detail, headers=headers)


def is_internal(error: Exception) -> bool:
    """Whether the words of an error are for the log, not for the caller."""
    return isinstance(error, _INTERNAL)


def error_detail(error: LaminaError | TimeoutError) -> str:
    """An error in words for the caller."""
    if isinstance(error, TimeoutError):
        return "it was not done in time; what is due stays due"
    if isinstance(error, StoreBusy):
        return "others held the store for too long; nothing was changed, and trying again is safe"
    if is_internal(error):
        what = "a model did not answer" if isinstance(error, ModelError) else "the store cannot do it now"
        return f"{what}; the log of the server says why"
    return str(error)


def error_problem(error: LaminaError | TimeoutError) -> JSONResponse:
    kind, status = next(KINDS[base] for base in type(error).__mro__ if base in KINDS)
    more: dict[str, Any] = {"smallest": error.smallest} if isinstance(error, BudgetTooSmall) else {}
    if isinstance(error, BadRecords):
        more = {"errors": [{"at": place, "message": why} for place, why in error.faults[:_MAX_ERRORS]]}
    headers = {"Retry-After": RETRY_AFTER_S} if isinstance(error, StoreBusy) else {}
    return problem(status, error_detail(error), kind=kind, headers=headers, **more)


def http_problem(error: HTTPException) -> JSONResponse:
    detail = None if error.detail == HTTPStatus(error.status_code).phrase else str(error.detail)
    return problem(error.status_code, detail, headers=error.headers)


def validation_problem(errors: Sequence[Mapping[str, Any]], status: int = 422) -> JSONResponse:
    """The problem of a request that does not fit its model, from what Pydantic says."""
    found = validation_errors(errors)
    return problem(status, validation_detail(found), errors=found[:50])


def validation_errors(errors: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """What does not fit a model, and where; the values that were sent are not repeated."""
    return [
        {
            "at": ".".join(str(part) for part in one["loc"])[:200],
            "message": "no such field" if one["type"] == "extra_forbidden" else str(one["msg"]),
        }
        for one in errors
    ]


def validation_detail(errors: Sequence[Mapping[str, str]]) -> str:
    return "; ".join(f"{one['at']}: {one['message']}" for one in errors[:5])
