"""What operations take: one model for each, from which the REST body, the OpenAPI document and MCP's tools are made.

Fields that are not here are refused.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, model_validator

from lamina.memory import MAX_PARTS
from lamina.search.filters import FILTERS
from lamina.server.input_types import (
    MAX_GRAPH_DEPTH,
    MAX_KNOWLEDGE,
    MAX_WORDS,
    PROMPT_NAMES,
    Budget,
    ChatMessage,
    Count,
    Cursor,
    Duration,
    EventType,
    FilledLine,
    HitKind,
    Id,
    Limit,
    Line,
    MessageIds,
    Messages,
    MessageText,
    Place,
    ProfileName,
    RecordAccess,
    Semantic,
    Share,
    Some,
    Text,
    Time,
    Title,
    TrimmedLine,
    Weights,
    Word,
    about,
)
from lamina.tenancy.keys import NAME as KEY_NAME
from lamina.values.access_key import KeyRole
from lamina.values.fact import EpisodeKind, FactStatus, FactType, LinkType
from lamina.values.message import Role
from lamina.values.session import Status

_WHOSE = "The user. Without one: `default`, if this memory has no other user; else it is an error."
_MAX_UNKNOWN = 20  # names that are no fields, and are named one by one


class Body(BaseModel):
    """A body of JSON: nothing unknown, and no guessing of types."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _few_unknown(cls, given: Any) -> Any:
        """One error for very many names that are no fields."""
        if isinstance(given, dict) and len(given) > len(cls.model_fields) + _MAX_UNKNOWN:
            raise ValueError(f"too many fields; there are {', '.join(cls.model_fields)}")
        return given


class Parameters(BaseModel):
    """The query of an address: nothing unknown."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class EmptyBody(Body):
    """No fields."""


class ListQuery(Parameters):
    """Which page of a list."""

    cursor: Cursor | None = None
    limit: Limit = 100


class KnowledgeQuery(ListQuery):
    """Which page of what is known of a user."""

    limit: Annotated[int, Field(ge=1, le=MAX_KNOWLEDGE, description="Maximum number of items.")] = 100


class MessagesQuery(ListQuery):
    first: Place | None = about("the number of the message to begin at, without a cursor", None)


class NewMessages(
    Body,
    json_schema_extra={
        "examples": [{"user_id": "alex", "messages": [{"role": "user", "content": "I'm Alex. I prefer Python."}]}]
    },
):
    """One or many messages for a session."""

    messages: MessageText | ChatMessage | Messages
    user_id: Id | None = about(_WHOSE, None)
    agent_id: Id | None = None
    project_id: Id | None = about("The project of a new conversation. Default: none.", None)


class SessionsQuery(ListQuery):
    user_id: Id | None = None
    project_id: Id | None = about("Only conversations of this project.", None)
    status: Status | None = about("Only conversations with this status.", None)


_HAS_TITLE = {"required": ["title"]}
_HAS_STATUS = {"required": ["status"], "properties": {"status": {"type": "string"}}}
_ENDS = {"required": ["status"], "properties": {"status": {"const": "ended"}}}
_NO_OUTCOME = {"properties": {"outcome": {"type": "null"}}}


class SessionChange(
    Body,
    json_schema_extra={
        "examples": [{"status": "ended", "outcome": "Chose Lisbon"}, {"title": "A week in Lisbon"}],
        "allOf": [{"anyOf": [_HAS_TITLE, _HAS_STATUS]}, {"anyOf": [_ENDS, _NO_OUTCOME]}],
    },
):
    """Another status or title; `outcome`, with `ended`, becomes a milestone. The title null takes it away."""

    status: Status | None = None
    outcome: Line | None = None
    title: Title | None = None


class SummariesQuery(Parameters):
    live: bool = about("false: also those that were folded into others", True)


class OutlineQuery(Parameters):
    parts: Annotated[int, Field(ge=1, le=MAX_PARTS, description="Maximum number of stretches of the log.")] = 200


class ContextRequest(
    Body,
    json_schema_extra={
        "examples": [{"query": "which language do I like?", "user_id": "alex", "session_id": "s1", "budget": 2000}]
    },
):
    """For which message, under which budget."""

    query: Text | None = about("The user's current message.", None)
    user_id: Id | None = about(_WHOSE, None)
    session_id: Id | None = about("Id of the current conversation. Default: the user's main conversation.", None)
    project_id: Id | None = about(
        "Recall memories of this project, too; `*`: of every project. Default: the project of the conversation.", None
    )
    budget: Budget | None = None
    profile: ProfileName | None = None
    system: Text | None = about("your own system prompt", None)
    sources: Annotated[
        list[Text], Field(max_length=1000, fail_fast=True, description="texts of your own, before the question")
    ] = []
    at: Time | None = None
    seen_from: Place | None = about("you send the messages from here on yourself", None)
    mode: Literal["active", "passive"] = about("passive: the recent conversation alone, nothing is retrieved", "active")
    record_access: RecordAccess = True


def _filter(name: str, default: Any) -> Any:
    return about(FILTERS[name].about, default)


ABOUT_WHOM = "Only facts about this person, by name or relation: `Lena`, `sister`. The user's own name: only the user."


class ExplainedSearchRequest(
    Body, json_schema_extra={"examples": [{"query": "programming languages", "user_id": "alex", "top_k": 5}]}
):
    """What to look for, and filters."""

    query: Line = about("A question, or words to look for.")
    user_id: Id | None = about(_WHOSE, None)
    project_id: Id | None = _filter("project_id", None)
    context: Line | None = _filter("context", None)
    top_k: Count = about("Maximum number of results.", 10)
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
    semantic: Semantic | None = _filter("semantic", None)
    min_score: Share = _filter("min_score", 0.0)
    at: Time | None = _filter("at", None)


class SearchRequest(ExplainedSearchRequest):
    """What to look for, filters, and whether to give the parts of the scores."""

    explain: bool = False


class FactsQuery(KnowledgeQuery):
    as_of: Time | None = _filter("as_of", None)
    known_at: Time | None = None
    session_id: Id | None = _filter("session_id", None)
    about: Word | None = about(ABOUT_WHOM, None)
    project_id: Id | None = _filter("project_id", None)
    statuses: Some[FactStatus] = _filter("statuses", [])
    types: Some[FactType] = _filter("types", [])
    categories: Some[Word] = _filter("categories", [])
    tags: Some[Word] = _filter("tags", [])
    since: Time | None = _filter("since", None)
    until: Time | None = _filter("until", None)
    min_importance: Share = 0.0


class NewFact(
    Body, json_schema_extra={"examples": [{"text": "We ship on Fridays", "type": "constraint", "tags": ["release"]}]}
):
    """A memory stored by hand."""

    text: FilledLine
    project_id: Id | None = about(
        "The project that the memory belongs to. Default: none, it is true in every project.", None
    )
    type: FactType | None = about("Type of the memory. Default: what the text says, else `fact`.", None)
    category: Word | None = None
    key: Word | None = about(
        "What the text is about, in one or two words, e.g. 'editor'. A later memory with the same key replaces it, and"
        " its history has both. Use a key for things that can change.",
        None,
    )
    tags: Some[Word] = about("Tags, which searches can filter by.", [])
    importance: Share | None = None
    confidence: Share | None = None
    valid_from: Time | None = None
    valid_until: Time | None = None


class FactChange(
    Body,
    json_schema_extra={
        "examples": [{"value": "Rust"}, {"standing": "promoted"}],
        "oneOf": [
            {"required": ["standing"], "maxProperties": 1, "properties": {"standing": {"type": "string"}}},
            {"minProperties": 1, "properties": {"standing": False}},
        ],
    },
):
    """A new version of a fact, or (`standing`) whether it is the value that holds."""

    value: FilledLine | None = None
    tags: Some[Word] | None = None
    importance: Share | None = None
    valid_until: Time | None = None
    standing: Literal["promoted", "demoted"] | None = None


class EpisodesQuery(ListQuery):
    session_id: Id | None = None
    project_id: Id | None = _filter("project_id", None)
    kinds: Some[EpisodeKind] = []
    since: Time | None = None
    until: Time | None = None
    min_significance: Share = 0.0


class ProfileQuery(Parameters):
    as_of: Time | None = None
    known_at: Time | None = None
    project_id: Id | None = _filter("project_id", None)


class DigestQuery(Parameters):
    project_id: Id | None = about("Of the conversations of this project. Default: of those of no project.", None)


_TARGETS = ("user_id", "project_id", "session_id", "message_ids", "first", "last", "fact_id", "text")


def _target(*given: str, also: Sequence[str] = ()) -> dict[str, Any]:
    """A schema of what has these targets, may have others also, and has no more."""
    some = {name: {"not": {"type": "null"}} for name in given}
    none = {name: {"type": "null"} for name in _TARGETS if name not in {*given, *also}}
    return {"required": list(given), "properties": {**some, **none}}


class OptOutRequest(Body):
    keep_log: bool = Field(
        True, description="Messages are kept and stored; false: they are erased, and none is stored."
    )


class ForgetRequest(
    Body,
    json_schema_extra={
        "examples": [{"text": "4242", "user_id": "alex", "dry_run": True}],
        "oneOf": [
            _target("message_ids"),
            _target("fact_id"),
            _target("text", also=("user_id", "session_id")),
            _target("session_id", "first", "last", also=("user_id",)),
            _target("session_id"),
            _target("user_id", also=("project_id",)),
        ],
    },
):
    """One of: message_ids; session_id with first and last; session_id; fact_id; text; user_id (with project_id)."""

    user_id: Id | None = None
    project_id: Id | None = about("With `user_id`: only what belongs to this project.", None)
    session_id: Id | None = about("A conversation to delete. With `text`: the conversation to search for it.", None)
    message_ids: MessageIds | None = about("Ids of messages to delete.", None)
    first: Place | None = None
    last: Place | None = None
    fact_id: Id | None = about("Id of a fact to delete, together with the words it was stated in.", None)
    text: TrimmedLine | None = about(
        "Delete every message and memory that contains this text. At least 2 characters.", None
    )
    dry_run: bool = False


class NewKey(Body, json_schema_extra={"examples": [{"name": "my app", "role": "write", "expires": "90d"}]}):
    """The name, role and lifetime of a new key."""

    name: Annotated[
        str,
        Field(min_length=1, max_length=200, description="what the key is for", json_schema_extra={"pattern": KEY_NAME}),
    ]
    role: KeyRole = "write"
    expires: Duration | None = about("how long it lasts; null: until it is revoked", None)
    user_id: Id | None = about("user of proxied requests with this key that name nobody", None)


class KeyRotation(Body, json_schema_extra={"examples": [{"overlap": "24h"}]}):
    """How the successor of a key takes its place."""

    overlap: Duration | None = about("how long the old key still does; null: no longer", None)
    expires: Duration | None = about("how long the new key lasts; null: as long as the old", None)


class StatsQuery(Parameters):
    user_id: Id | None = about("only of this user; without it, of all", None)


class UserSelection(Body):
    user_id: Id | None = about("only of this user; null: of all", None)


class SessionSelection(Body):
    session_id: Id | None = about("only this session; null: everything", None)


class SettleRequest(Body):
    timeout: Annotated[float, Field(gt=0, le=600, description="seconds")] = 60.0


class RegenerateRequest(Body, json_schema_extra={"examples": [{"first": 1}]}):
    """From which message on, and with which prompts."""

    first: Place = about("the number of the message to begin at", 1)
    prompts: Annotated[
        dict[Word, Text] | None,
        Field(
            max_length=MAX_WORDS,
            description="other prompts by name, in place of those there are",
            json_schema_extra={"propertyNames": {"enum": PROMPT_NAMES}},
        ),
    ] = None


class ProposalsQuery(ListQuery):
    session_id: Id | None = None


class NewMilestone(Body, json_schema_extra={"examples": [{"title": "Chose Lisbon"}]}):
    """A title for this point of a session."""

    title: FilledLine


class NewEpisode(
    Body, json_schema_extra={"examples": [{"kind": "decision_made", "title": "Chose Lisbon", "significance": 0.8}]}
):
    """An episode stored by hand."""

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
    linked: Some[Id] = about("ids of facts and episodes", [])


class NewLink(Body, json_schema_extra={"examples": [{"source": "fact_1", "target": "fact_2", "type": "supports"}]}):
    """A relation between two memories of a user."""

    source: Id
    target: Id
    type: LinkType = "related_to"
    strength: Share = 1.0


class GraphQuery(Parameters):
    depth: Annotated[int, Field(ge=0, le=MAX_GRAPH_DEPTH, description="steps")] = 2
    types: Some[LinkType] = []


class EventsQuery(Parameters):
    user_id: Id | None = about("only of this user", None)
    session_id: Id | None = about("only of this session", None)
    types: Some[EventType] = about("only these", [])
    include: Annotated[Some[Literal["content"]], Field(description="`content`: also what was said")] = []


class ImportQuery(Parameters):
    user_id: Id | None = about("give what is imported to this user", None)
    project_id: Id | None = about("give what is imported to this project", None)
    me: Id | None = about("the name that the user has in a chat of several people", None)
    zone: Id | None = about("the zone of times that have none, e.g. Asia/Tokyo; else that of the service", None)


class ExportQuery(Parameters):
    user_id: Id | None = None
    session_id: Id | None = None
    project_id: Id | None = about("only this project", None)
    embeddings: bool = about("true: facts and episodes have their vectors", False)


class CostsQuery(Parameters):
    since: Time | None = about("from this day on", None)
