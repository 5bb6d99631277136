"""Errors of the proxy itself, in the shape that clients of the OpenAI API read."""

import json

from starlette.responses import JSONResponse, Response

PREFIX = "/openai/v1"
PASSTHROUGH = ("models", "embeddings", "completions", "moderations", "responses", "conversations", "chat/completions")


def prefixes(*, at_v1: bool) -> tuple[str, ...]:
    """How the addresses of the proxy begin."""
    return (PREFIX, *(f"/v1/{path}" for path in PASSTHROUGH if at_v1))


def as_openai_error(response: Response) -> Response:
    """A problem as `{"error": ...}`."""
    found = json.loads(bytes(response.body))
    kind = found["type"].rpartition(":")[2]
    error = {"message": found.get("detail") or found["title"], "type": "lamina_error", "param": None, "code": kind}
    headers = {
        name: value for name, value in response.headers.items() if name not in {"content-type", "content-length"}
    }
    return JSONResponse({"error": error}, response.status_code, headers=headers)
