"""The types of fields that requests and tools take, with their bounds and what the schema says of them."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import unquote

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from lamina.log.messages import EARLIEST, MAX_TITLE, latest_year
from lamina.profiles import PROFILES
from lamina.search.filters import MAX_SHARE, MIN_SHARE, WEIGHT_NAMES
from lamina.values.message import ROLES

MAX_ID = 256
MAX_ITEMS = 1000  # items of a page, or hits
MAX_KNOWLEDGE = 10_000  # items of a page of what is known of a user, which is read as a whole for every page
MAX_GRAPH_DEPTH = 10  # steps
MAX_WORDS = 100  # of one filter
_MAX_MESSAGES = 1_000_000  # in one request; the setting `max_append_messages` may say less
_MAX_TEXT = 2**30  # the setting `max_message_bytes` says less


def as_integer(given: Any) -> Any:
    """JSON has one kind of numbers: 2.0 is 2."""
    return int(given) if isinstance(given, float) and given.is_integer() else given


# For the schema.
NO_NUL = r"^[^\x00]*$"
NOT_BLANK = r"^[^\x00]*[^\s\x00][^\x00]*$"
_NOT_BLANK: dict[str, Any] = {"pattern": NOT_BLANK}
PLAIN_NAME = "Plain"
PLAIN: Mapping[str, Any] = {  # whatever JSON can say, but NUL
    "title": PLAIN_NAME,
    "anyOf": [
        {"type": "string", "pattern": NO_NUL},
        {"type": ["number", "boolean", "null"]},
        {"type": "array", "items": {"$ref": f"#/components/schemas/{PLAIN_NAME}"}},
        {
            "type": "object",
            "propertyNames": {"pattern": NO_NUL},
            "additionalProperties": {"$ref": f"#/components/schemas/{PLAIN_NAME}"},
        },
    ],
}


def _not_blank(given: str) -> str:
    if not given.strip() or "\0" in given:
        raise PydanticCustomError("blank", "it has at least one character that shows, and no NUL")
    return given


NotBlank = AfterValidator(_not_blank)
Id = Annotated[str, Field(min_length=1, max_length=MAX_ID, json_schema_extra=_NOT_BLANK), NotBlank]
PathId = Annotated[
    str,
    BeforeValidator(unquote),
    Field(min_length=1, max_length=MAX_ID, json_schema_extra=_NOT_BLANK),
    NotBlank,
]
TenantPathId = Annotated[
    str,
    BeforeValidator(unquote),
    Field(min_length=1, max_length=MAX_ID, json_schema_extra={**_NOT_BLANK, "not": {"const": "*"}}),
]
RecordAccess = Annotated[bool, Field(description="false: only to look, what is found does not count as used")]
Time = Annotated[
    str,
    Field(max_length=64, examples=["2025-03-14T09:30:00Z"], json_schema_extra={"format": "date-time"}),
]
Share = Annotated[float, Field(ge=MIN_SHARE, le=MAX_SHARE)]
Place = Annotated[int, Field(ge=1, le=100_000_000), BeforeValidator(as_integer)]  # of a message or turn, by its number
Budget = Annotated[
    int,
    Field(
        ge=1,
        le=1_000_000,
        description="Maximum number of tokens, including the current message. Default: set by the profile.",
    ),
    BeforeValidator(as_integer),
]
Count = Annotated[int, Field(ge=1, le=MAX_ITEMS), BeforeValidator(as_integer)]
Limit = Annotated[int, Field(ge=1, le=MAX_ITEMS, description="Maximum number of items.")]
Cursor = Annotated[str, Field(min_length=1, max_length=2000, description="`next` of the page before.")]
HitKind = Literal["message", "summary", "fact", "episode"]
Semantic = Literal["vectors", "tfidf"]
_HOURS = "[1-9][0-9]{0,4}|[1-7][0-9]{5}|8[0-6][0-9]{4}|87[0-5][0-9]{3}"
_DAYS = "[1-9][0-9]{0,3}|[12][0-9]{4}|3[0-5][0-9]{3}|36[0-4][0-9]{2}"
_WEEKS = "[1-9][0-9]{0,2}|[1-4][0-9]{3}|5[01][0-9]{2}"
Duration = Annotated[  # up to 100 years, as the schema says; how long it may be is checked where it is used
    str,
    Field(
        pattern=r"^[1-9][0-9]{0,5}[hdw]$",
        examples=["12h", "90d", "52w"],
        json_schema_extra={"pattern": f"^(?:(?:{_HOURS})h|(?:{_DAYS})d|(?:{_WEEKS})w)$"},
    ),
]
EventType = Literal["message.added", "session.folded", "session.renamed", "fact.changed", "forgotten"]
Word = Annotated[str, Field(min_length=1, max_length=1000, json_schema_extra=_NOT_BLANK), NotBlank]
Title = Annotated[str, Field(max_length=MAX_TITLE, json_schema_extra={"pattern": NO_NUL})]
Line = Annotated[str, Field(max_length=20_000)]
FilledLine = Annotated[str, Field(min_length=1, max_length=20_000, json_schema_extra=_NOT_BLANK)]
TrimmedLine = Annotated[str, Field(min_length=1, max_length=20_000, json_schema_extra={"pattern": r"^\S[\s\S]*\S$"})]
Text = Annotated[str, Field(max_length=1_000_000)]
Item = TypeVar("Item")
Some = Annotated[list[Item], Field(max_length=MAX_WORDS, fail_fast=True)]  # the first error is reported, not all
PROMPT_NAMES = sorted({name for profile in PROFILES.values() for name in profile.prompts.values()})
ProfileName = Annotated[str, Field(max_length=MAX_ID, json_schema_extra={"enum": sorted(PROFILES)})]
Weights = Annotated[
    dict[Word, Annotated[float, Field(le=1e100)]],
    Field(max_length=20),
    WithJsonSchema(
        {
            "type": "object",
            "description": "How much each part of the score counts; at least one is above 0.",
            "properties": {name: {"type": "number", "minimum": 0, "maximum": 1e100} for name in WEIGHT_NAMES},
            "additionalProperties": False,
            "anyOf": [{"required": [name], "properties": {name: {"exclusiveMinimum": 0}}} for name in WEIGHT_NAMES],
        }
    ),
]

_NULLABLE_ID = {"type": ["string", "null"], "minLength": 1, "maxLength": MAX_ID, "pattern": NOT_BLANK}
_ANY = {"$ref": f"#/components/schemas/{PLAIN_NAME}"}
_YEARS = "|".join(map(str, range(EARLIEST.year, latest_year(datetime.now(UTC)) + 1)))
_MESSAGE = {
    "type": "object",
    "required": ["role"],
    "properties": {
        "role": {"type": "string", "enum": list(ROLES)},
        "content": {
            "description": "text, a list of parts, or null",
            "anyOf": [{"type": ["string", "null"], "pattern": NO_NUL}, {"type": "array", "items": _ANY}],
        },
        "id": _NULLABLE_ID,
        "model": _NULLABLE_ID,
        "name": {"type": ["string", "null"], "pattern": NO_NUL},
        "tool_calls": {"type": ["array", "null"], "items": _ANY},
        "created_at": {"type": ["string", "null"], "format": "date-time", "pattern": f"^(?:{_YEARS})-"},
        "metadata": {
            "type": ["object", "null"],
            "properties": {"model_variant": _NULLABLE_ID},
            "propertyNames": {"pattern": NO_NUL},
            "additionalProperties": _ANY,
        },
    },
    "propertyNames": {"pattern": NO_NUL},
    "additionalProperties": _ANY,
    "anyOf": [
        {
            "required": ["content"],
            "properties": {"role": {"not": {"const": "tool"}}, "content": {"type": ["string", "array"]}},
        },
        {
            "required": ["content", "tool_call_id"],
            "properties": {
                "role": {"const": "tool"},
                "content": {"type": ["string", "array"]},
                "tool_call_id": {"type": "string"},
            },
        },
        {
            "required": ["tool_calls"],
            "properties": {"role": {"const": "assistant"}, "tool_calls": {"type": "array", "minItems": 1}},
        },
        {
            "required": ["refusal"],
            "properties": {"role": {"const": "assistant"}, "refusal": {"type": "string", "minLength": 1}},
        },
    ],
    "description": "A chat message as chat APIs have it; other keys are kept as they are.",
    "examples": [{"role": "user", "content": "I'm Alex. I prefer Python."}],
}
ChatMessage = Annotated[dict[str, Any], WithJsonSchema(_MESSAGE)]
MessageText = Annotated[str, Field(max_length=_MAX_TEXT, json_schema_extra={"pattern": NO_NUL})]
Messages = Annotated[list[MessageText | ChatMessage], Field(min_length=1, max_length=_MAX_MESSAGES, fail_fast=True)]
MessageIds = Annotated[list[Id], Field(min_length=1, max_length=10_000, fail_fast=True)]


def about(description: str, default: Any = ...) -> Any:
    """A field with a description."""
    return Field(default, description=description)
