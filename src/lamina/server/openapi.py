"""The OpenAPI document of the service, in which every error is a problem."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from lamina.server import problems
from lamina.server.input_types import PLAIN, PLAIN_NAME
from lamina.server.rest.pagination import cursor_pattern


def openapi(app: FastAPI) -> dict[str, Any]:
    """The document; it is built once."""
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        schemas: dict[str, Any] = document["components"]["schemas"]
        for name in ("HTTPValidationError", "ValidationError"):
            schemas.pop(name, None)
        schemas["ProblemDetails"] = dict(problems.SCHEMA)
        schemas[PLAIN_NAME] = dict(PLAIN)
        content = {problems.MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}}
        for operation in [operation for path in document["paths"].values() for operation in path.values()]:
            _correct_parameters(operation)
            operation["responses"].pop("422", None)
            operation["responses"]["default"] = {"description": "What went wrong.", "content": content}
        app.openapi_schema = document
    return app.openapi_schema


def _correct_parameters(operation: dict[str, Any]) -> None:
    """No parameter can be null, and each list has cursors of its own."""
    for parameter in operation.get("parameters", ()):
        schema = parameter["schema"]
        if {"type": "null"} in schema.get("anyOf", ()):
            (other,) = (one for one in schema.pop("anyOf") if one != {"type": "null"})
            schema |= other
        if parameter["name"] == "cursor":
            schema["pattern"] = cursor_pattern(operation["operationId"].removeprefix("list_"))
