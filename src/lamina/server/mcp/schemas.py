"""Schemas of tools from their models, as strict clients take them: one type each, no unions, no references."""

from collections.abc import Mapping
from copy import copy
from functools import cache
from typing import Any

from pydantic import BaseModel, ValidationError

from lamina.errors import InputError
from lamina.server.problems import validation_detail, validation_errors

Schema = dict[str, Any]

_KEYWORDS = ("type", "description", "enum", "default", "minimum", "maximum", "maxLength", "maxItems")


def select(model: type[BaseModel], *names: str, required: tuple[str, ...] = ()) -> dict[str, Any]:
    """Some fields of a model, for a tool; those in `required` have no default there."""
    fields = {name: model.model_fields[name] for name in names}
    for name in required:
        fields[name] = copy(fields[name])
        fields[name].default = ...
    return {name: (field.annotation, field) for name, field in fields.items()}


@cache
def tool_schema(model: type[BaseModel]) -> Schema:
    """The schema of a model; it is built once."""
    whole = model.model_json_schema()
    return _simplify(whole, whole.get("$defs", {}))


def _simplify(schema: Mapping[str, Any], models: Mapping[str, Schema]) -> Schema:
    if "anyOf" in schema:  # null is what was not given
        (inner,) = (one for one in schema["anyOf"] if one != {"type": "null"})
        schema = {**inner, **schema}
    if "$ref" in schema:
        schema = {**models[schema["$ref"].rpartition("/")[2]], **schema}
    simple = {name: schema[name] for name in _KEYWORDS if schema.get(name) is not None}
    if "examples" in schema and schema["type"] == "string":
        simple["description"] = f"{schema['description']} E.g. {schema['examples'][0]}."
    if schema["type"] == "array":
        simple["items"] = _simplify(schema["items"], models)
    if schema["type"] == "object":
        simple["properties"] = {name: _simplify(one, models) for name, one in schema["properties"].items()}
        simple |= {"required": schema.get("required", []), "additionalProperties": False}
    return simple


def read_arguments(model: type[BaseModel], given: Mapping[str, Any]) -> Any:
    """The arguments of a tool, checked; null is what was not given. An error has the words that REST has."""
    try:
        return model.model_validate({name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        errors = error.errors(include_url=False, include_context=False, include_input=False)
        unknown = any(one["type"] == "extra_forbidden" and len(one["loc"]) == 1 for one in errors)
        names = f"; there are {', '.join(model.model_fields)}" if unknown else ""
        raise InputError(validation_detail(validation_errors(errors)) + names) from None
