"""What is asked of a model, and the ways to have its answer structured."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from lamina.values.cost import Purpose

Way = Literal["json_schema", "tools", "json_object", "text"]
WAYS: tuple[Way, ...] = ("json_schema", "tools", "json_object", "text")  # the best first


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """The form that a structured answer must have."""

    name: str
    form: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One question: messages as (role, text), and how many tokens the answer may have."""

    purpose: Purpose
    messages: tuple[tuple[str, str], ...]
    room: int
    schema: Schema | None = None

    @property
    def text(self) -> str:
        return "\n".join(text for _, text in self.messages)


def structured(schema: Schema, way: Way) -> dict[str, Any]:
    """How a structured answer is asked for."""
    if way == "json_schema":
        form = {"name": schema.name, "strict": True, "schema": schema.form}
        return {"response_format": {"type": "json_schema", "json_schema": form}}
    if way == "tools":
        function = {"name": schema.name, "parameters": schema.form, "description": f"Give the {schema.name}."}
        choice = {"type": "function", "function": {"name": schema.name}}
        return {"tools": [{"type": "function", "function": function}], "tool_choice": choice}
    return {"response_format": {"type": "json_object"}} if way == "json_object" else {}
