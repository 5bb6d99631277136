"""What may be sent: the shapes of bodies and of queries. Fields that are not here are refused."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, TypeVar, get_args
from urllib.parse import unquote

from fastapi import Path, Query
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from lamina.log.messages import EARLIEST, latest_year
from lamina.memory import DEFAULT_USER, MAX_PARTS
from lamina.profiles import PROFILES
from lamina.search.filters import FILTERS, MAX_SHARE, MIN_SHARE
from lamina.search.weights import MIXED
from lamina.tenancy.keys import NAME as KEY_NAME
from lamina.values.access_key import KeyRole
from lamina.values.fact import FACT_TYPES, EpisodeKind, FactStatus, FactType, LinkType
from lamina.values.message import ROLES, Role
from lamina.values.session import Status

_LONGEST_ID = 256
_MOST = 1000  # items of a page, or hits
_MOST_KNOWN = 10_000  # items of a page of what is known of a user, which is read as a whole for every page
_DEEPEST_GRAPH = 10  # steps
_MOST_WORDS = 100  # of one filter
_MOST_MESSAGES = 1_000_000  # in one request; the setting `max_append_messages` may say less
_LONGEST_BODY = 2**30  # the setting `max_message_bytes` says less
_MOST_UNKNOWN = 20  # names that are no fields, and are told one by one


def _whole(given: Any) -> Any:
    """JSON has one kind of numbers: 2.0 is 2."""
    return int(given) if isinstance(given, float) and given.is_integer() else given


# For the schema.
NO_NUL = r"^[^\x00]*$"
NOT_BLANK = r"^[^\x00]*[^\s\x00][^\x00]*$"
_SHOWN_NOT_BLANK: dict[str, Any] = {"pattern": NOT_BLANK}
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
Id = Annotated[str, Field(min_length=1, max_length=_LONGEST_ID, json_schema_extra=_SHOWN_NOT_BLANK), NotBlank]
PathId = Annotated[
    str,
    BeforeValidator(unquote),
    Path(min_length=1, max_length=_LONGEST_ID, json_schema_extra=_SHOWN_NOT_BLANK),
    NotBlank,
]
TenantPathId = Annotated[
    str,
    BeforeValidator(unquote),
    Path(min_length=1, max_length=_LONGEST_ID, json_schema_extra={**_SHOWN_NOT_BLANK, "not": {"const": "*"}}),
]
Rehearsal = Annotated[bool, Query(description="only to look: no use of what is found")]
Time = Annotated[
    str,
    Field(max_length=64, examples=["2025-03-14T09:30:00Z"], json_schema_extra={"format": "date-time"}),
]
Share = Annotated[float, Field(ge=MIN_SHARE, le=MAX_SHARE)]
Place = Annotated[int, Field(ge=1, le=100_000_000), BeforeValidator(_whole)]  # of a message or turn, by its number
Budget = Annotated[int, Field(ge=1, le=1_000_000, description="tokens"), BeforeValidator(_whole)]
Limit = Annotated[int, Field(ge=1, le=_MOST, description="Most items of the page.")]
Cursor = Annotated[str, Field(min_length=1, max_length=2000, description="`next` of the page before.")]
HitKind = Literal["message", "summary", "fact", "episode"]
_HOURS = "[1-9][0-9]{0,4}|[1-7][0-9]{5}|8[0-6][0-9]{4}|87[0-5][0-9]{3}"
_DAYS = "[1-9][0-9]{0,3}|[12][0-9]{4}|3[0-5][0-9]{3}|36[0-4][0-9]{2}"
_WEEKS = "[1-9][0-9]{0,2}|[1-4][0-9]{3}|5[01][0-9]{2}"
Lasting = Annotated[  # up to 100 years, as the schema says; how long it may be is checked where it is used
    str,
    Field(
        pattern=r"^[1-9][0-9]{0,5}[hdw]$",
        examples=["12h", "90d", "52w"],
        json_schema_extra={"pattern": f"^(?:(?:{_HOURS})h|(?:{_DAYS})d|(?:{_WEEKS})w)$"},
    ),
]
EventType = Literal["message.added", "session.folded", "fact.changed", "forgotten"]
Word = Annotated[str, Field(min_length=1, max_length=1000, json_schema_extra=_SHOWN_NOT_BLANK), NotBlank]
Line = Annotated[str, Field(max_length=20_000)]
FilledLine = Annotated[str, Field(min_length=1, max_length=20_000, json_schema_extra=_SHOWN_NOT_BLANK)]
Text = Annotated[str, Field(max_length=1_000_000)]
Item = TypeVar("Item")
Some = Annotated[list[Item], Field(max_length=_MOST_WORDS, fail_fast=True)]  # the first that is wrong is told, not all
_PROMPTS = sorted({name for profile in PROFILES.values() for name in profile.prompts.values()})
ProfileName = Annotated[str, Field(max_length=_LONGEST_ID, json_schema_extra={"enum": sorted(PROFILES)})]
Weights = Annotated[
    dict[Word, Annotated[float, Field(le=1e100)]],
    Field(max_length=20),
    WithJsonSchema(
        {
            "type": "object",
            "description": "How much each part of the score counts; at least one is above 0.",
            "properties": {name: {"type": "number", "minimum": 0, "maximum": 1e100} for name in MIXED},
            "additionalProperties": False,
            "anyOf": [{"required": [name], "properties": {name: {"exclusiveMinimum": 0}}} for name in MIXED],
        }
    ),
]

_ID_SHOWN = {"type": ["string", "null"], "minLength": 1, "maxLength": _LONGEST_ID, "pattern": NOT_BLANK}
_ANYTHING = {"$ref": f"#/components/schemas/{PLAIN_NAME}"}
_YEARS = "|".join(map(str, range(EARLIEST.year, latest_year(datetime.now(UTC)) + 1)))
_MESSAGE = {
    "type": "object",
    "required": ["role"],
    "properties": {
        "role": {"type": "string", "enum": list(ROLES)},
        "content": {
            "description": "text, a list of parts, or null",
            "anyOf": [{"type": ["string", "null"], "pattern": NO_NUL}, {"type": "array", "items": _ANYTHING}],
        },
        "id": _ID_SHOWN,
        "model": _ID_SHOWN,
        "name": {"type": ["string", "null"], "pattern": NO_NUL},
        "tool_calls": {"type": ["array", "null"], "items": _ANYTHING},
        "created_at": {"type": ["string", "null"], "format": "date-time", "pattern": f"^(?:{_YEARS})-"},
        "metadata": {
            "type": ["object", "null"],
            "properties": {"model_variant": _ID_SHOWN},
            "propertyNames": {"pattern": NO_NUL},
            "additionalProperties": _ANYTHING,
        },
    },
    "propertyNames": {"pattern": NO_NUL},
    "additionalProperties": _ANYTHING,
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
MessageText = Annotated[str, Field(max_length=_LONGEST_BODY, json_schema_extra={"pattern": NO_NUL})]


class Body(BaseModel):
    """A body of JSON: nothing unknown, and no guessing of types."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _few_unknown(cls, given: Any) -> Any:
        """One error for very many names that are no fields."""
        if isinstance(given, dict) and len(given) > len(cls.model_fields) + _MOST_UNKNOWN:
            raise ValueError(f"too many fields; there are {', '.join(cls.model_fields)}")
        return given


class Parameters(BaseModel):
    """The query of an address: nothing unknown."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class EmptyBody(Body):
    """EmptyBody is to be said."""


class ListQuery(Parameters):
    """Which page of a list."""

    cursor: Cursor | None = None
    limit: Limit = 100


class KnowledgeQuery(ListQuery):
    """Which page of what is known of a user."""

    limit: Annotated[int, Field(ge=1, le=_MOST_KNOWN, description="Most items of the page.")] = 100


class MessagesQuery(ListQuery):
    first: Annotated[Place | None, Field(description="the number of the message to begin at, without a cursor")] = None


class NewMessages(Body):
    """One or many messages for a session."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"user_id": "alex", "messages": [{"role": "user", "content": "I'm Alex. I prefer Python."}]}]
        }
    )

    messages: (
        MessageText
        | ChatMessage
        | Annotated[list[MessageText | ChatMessage], Field(min_length=1, max_length=_MOST_MESSAGES, fail_fast=True)]
    )
    user_id: Id = DEFAULT_USER
    agent_id: Id | None = None


class SessionsQuery(ListQuery):
    user_id: Id | None = None
    status: Status | None = None


class SessionChange(Body):
    """Another status; `outcome`, with `ended`, becomes a milestone."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"status": "ended", "outcome": "Chose Lisbon"}],
            "anyOf": [{"properties": {"status": {"const": "ended"}}}, {"properties": {"outcome": {"type": "null"}}}],
        }
    )

    status: Status
    outcome: Line | None = None


class SummariesQuery(Parameters):
    live: Annotated[bool, Field(description="false: also those that were folded into others")] = True


class OutlineQuery(Parameters):
    parts: Annotated[int, Field(ge=1, le=MAX_PARTS, description="most stretches of the log")] = 200


class ContextRequest(Body):
    """For which message, under which budget."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"query": "which language do I like?", "user_id": "alex", "session_id": "s1", "budget": 2000}]
        }
    )

    query: Annotated[Text | None, Field(description="the current user message")] = None
    user_id: Id = DEFAULT_USER
    session_id: Id | None = None
    budget: Budget | None = None
    profile: ProfileName | None = None
    system: Annotated[Text | None, Field(description="your own system prompt")] = None
    sources: Annotated[
        list[Text], Field(max_length=1000, fail_fast=True, description="texts of your own, before the question")
    ] = []
    at: Time | None = None
    seen_from: Annotated[Place | None, Field(description="you send the messages from here on yourself")] = None
    rehearsal: Annotated[bool, Field(description="only to look: no use of what is in it")] = False


def _filter(name: str, default: Any) -> Any:
    return Field(default=default, description=FILTERS[name].about)


class ExplainedSearchRequest(Body):
    """What to look for, and filters."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"query": "programming languages", "user_id": "alex", "top_k": 5}]}
    )

    query: Line
    user_id: Id = DEFAULT_USER
    top_k: Annotated[int, Field(ge=1, le=_MOST), BeforeValidator(_whole)] = 10
    kinds: Some[HitKind] = _filter("kinds", list(get_args(HitKind)))
    types: Some[FactType] = _filter("types", [])
    categories: Some[Word] = _filter("categories", [])
    tags: Some[Word] = _filter("tags", [])
    since: Time | None = _filter("since", None)
    until: Time | None = _filter("until", None)
    min_importance: Share = _filter("min_importance", 0.0)
    session_id: Id | None = _filter("session_id", None)
    role: Role | None = _filter("role", None)
    as_of: Time | None = _filter("as_of", None)
    archived: bool = _filter("archived", False)
    weights: Weights | None = _filter("weights", None)
    min_score: Share = _filter("min_score", 0.0)
    at: Time | None = _filter("at", None)


class SearchRequest(ExplainedSearchRequest):
    """What to look for, filters, and whether to give the parts of the scores."""

    explain: bool = False


class FactsQuery(KnowledgeQuery):
    as_of: Time | None = _filter("as_of", None)
    known_at: Time | None = None
    session_id: Id | None = _filter("session_id", None)
    statuses: Some[FactStatus] = _filter("statuses", [])
    types: Some[FactType] = _filter("types", [])
    categories: Some[Word] = _filter("categories", [])
    tags: Some[Word] = _filter("tags", [])
    since: Time | None = _filter("since", None)
    until: Time | None = _filter("until", None)
    min_importance: Share = 0.0


class NewFact(Body):
    """A memory told by hand."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"text": "We ship on Fridays", "type": "constraint", "tags": ["release"]}]}
    )

    text: FilledLine
    type: FactType = next(iter(FACT_TYPES))
    category: Word | None = None
    key: Word | None = None
    tags: Some[Word] = []
    importance: Share | None = None
    confidence: Share = 1.0
    valid_from: Time | None = None
    valid_until: Time | None = None


class FactChange(Body):
    """A new version of a fact, or (`standing`) whether it is the value that holds."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"value": "Rust"}, {"standing": "promoted"}],
            "oneOf": [
                {"required": ["standing"], "maxProperties": 1, "properties": {"standing": {"type": "string"}}},
                {"minProperties": 1, "properties": {"standing": False}},
            ],
        }
    )

    value: FilledLine | None = None
    tags: Some[Word] | None = None
    importance: Share | None = None
    valid_until: Time | None = None
    standing: Literal["promoted", "demoted"] | None = None


class EpisodesQuery(ListQuery):
    session_id: Id | None = None
    kinds: Some[EpisodeKind] = []
    since: Time | None = None
    until: Time | None = None
    min_significance: Share = 0.0


class ProfileQuery(Parameters):
    as_of: Time | None = None
    known_at: Time | None = None


_TARGETS = ("user_id", "session_id", "message_ids", "first", "last", "fact_id", "text")


def _named(*given: str, also: Sequence[str] = ()) -> dict[str, Any]:
    """A schema of what has these targets, may have others also, and has no more."""
    some = {name: {"not": {"type": "null"}} for name in given}
    none = {name: {"type": "null"} for name in _TARGETS if name not in {*given, *also}}
    return {"required": list(given), "properties": {**some, **none}}


class ForgetRequest(Body):
    """One of: message_ids; session_id with first and last; session_id; fact_id; text; user_id."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"text": "4242", "user_id": "alex", "dry_run": True}],
            "oneOf": [
                _named("message_ids"),
                _named("fact_id"),
                _named("text", also=("user_id", "session_id")),
                _named("session_id", "first", "last", also=("user_id",)),
                _named("session_id"),
                _named("user_id"),
            ],
        }
    )

    user_id: Id | None = None
    session_id: Id | None = None
    message_ids: Annotated[list[Id], Field(min_length=1, max_length=10_000, fail_fast=True)] | None = None
    first: Place | None = None
    last: Place | None = None
    fact_id: Id | None = None
    text: (
        Annotated[str, Field(min_length=1, max_length=20_000, json_schema_extra={"pattern": r"^\S[\s\S]*\S$"})] | None
    ) = None
    dry_run: bool = False


class NewKey(Body):
    """Who gets in, and how long."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "my app", "role": "write", "expires": "90d"}]})

    name: Annotated[
        str,
        Field(min_length=1, max_length=200, description="what the key is for", json_schema_extra={"pattern": KEY_NAME}),
    ]
    role: KeyRole = "write"
    expires: Annotated[Lasting | None, Field(description="how long it lasts; null: until it is revoked")] = None


class KeyRotation(Body):
    """How the successor of a key takes its place."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"overlap": "24h"}]})

    overlap: Annotated[Lasting | None, Field(description="how long the old key still does; null: no longer")] = None
    expires: Annotated[Lasting | None, Field(description="how long the new key lasts; null: as long as the old")] = None


class StatsQuery(Parameters):
    user_id: Annotated[Id | None, Field(description="only of this user; without it, of all")] = None


class UserSelection(Body):
    user_id: Annotated[Id | None, Field(description="only of this user; null: of all")] = None


class SessionSelection(Body):
    session_id: Annotated[Id | None, Field(description="only this session; null: everything")] = None


class SettleRequest(Body):
    timeout: Annotated[float, Field(gt=0, le=600, description="seconds")] = 60.0


class RegenerateRequest(Body):
    """From which message on, and with which prompts."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"first": 1}]})

    first: Annotated[Place, Field(description="the number of the message to begin at")] = 1
    prompts: Annotated[
        dict[Word, Text] | None,
        Field(
            max_length=_MOST_WORDS,
            description="other prompts by name, in place of those there are",
            json_schema_extra={"propertyNames": {"enum": _PROMPTS}},
        ),
    ] = None


class ProposalsQuery(ListQuery):
    session_id: Id | None = None


class NewMilestone(Body):
    """A title for this point of a session."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"title": "Chose Lisbon"}]})

    title: FilledLine


class NewEpisode(Body):
    """A moment that mattered, told by hand."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"kind": "decision_made", "title": "Chose Lisbon", "significance": 0.8}]}
    )

    kind: EpisodeKind
    title: FilledLine
    summary: Line = ""
    context: Line = ""
    participants: Some[Word] = []
    outcome: Line | None = None
    valence: Annotated[float, Field(ge=-1, le=1)] = 0.0
    significance: Share = 0.7
    turns: Annotated[
        list[Place] | None, Field(min_length=2, max_length=2, description="first and last turn; null: the newest")
    ] = None
    linked: Annotated[Some[Id], Field(description="ids of facts and episodes")] = []


class NewLink(Body):
    """A relation between two memories of a user."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"source": "fact_1", "target": "fact_2", "type": "supports"}]}
    )

    source: Id
    target: Id
    type: LinkType = "related_to"
    strength: Share = 1.0


class GraphQuery(Parameters):
    depth: Annotated[int, Field(ge=0, le=_DEEPEST_GRAPH, description="steps")] = 2
    types: Some[LinkType] = []


class EventsQuery(Parameters):
    user_id: Annotated[Id | None, Field(description="only of this user")] = None
    session_id: Annotated[Id | None, Field(description="only of this session")] = None
    types: Annotated[Some[EventType], Field(description="only these")] = []
    include: Annotated[Some[Literal["content"]], Field(description="`content`: also what was said")] = []


class ImportQuery(Parameters):
    user_id: Annotated[Id | None, Field(description="give what is imported to this user")] = None


class ExportQuery(Parameters):
    user_id: Id | None = None
    session_id: Id | None = None


class CostsQuery(Parameters):
    since: Annotated[Time | None, Field(description="from this day on")] = None
