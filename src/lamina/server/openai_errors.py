"""Errors of the proxy itself, in the shape that clients of the OpenAI API read."""

import json
import logging

from fastapi.responses import JSONResponse
from starlette.responses import Response

from lamina.server.problems import problem

logger = logging.getLogger("lamina.proxy")

PREFIX = "/openai/v1"
PASSED = ("models", "embeddings", "completions", "moderations", "responses", "conversations", "chat/completions")


def prefixes(*, at_v1: bool) -> tuple[str, ...]:
    """How the addresses of the proxy begin."""
    return (PREFIX, *(f"/v1/{path}" for path in PASSED if at_v1))


def in_openai_shape(response: Response) -> Response:
    """A problem as `{"error": ...}`."""
    told = json.loads(bytes(response.body))
    kind = told["type"].rpartition(":")[2]
    error = {"message": told.get("detail") or told["title"], "type": "lamina_error", "param": None, "code": kind}
    kept = {name: value for name, value in response.headers.items() if name not in {"content-type", "content-length"}}
    return JSONResponse({"error": error}, response.status_code, headers=kept)


def not_reached(error: Exception) -> Response:
    """The endpoint did not answer."""
    logger.warning("upstream_not_reached", extra={"kind": type(error).__name__})
    status, how = (504, "in time") if "Timeout" in type(error).__name__ else (502, "at all")
    return in_openai_shape(problem(status, f"the endpoint behind the proxy did not answer {how}", kind="upstream"))
