"""What mem0's clients send. Fields that only tune mem0's own machinery are ignored."""

import json
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from lamina.errors import InputError
from lamina.log.default_user import DEFAULT_USER
from lamina.server.input_types import Id, Line
from lamina.server.mem0.mem0_filters import (
    ENTITIES,
    EVERYTHING,
    NO_APPS,
    Filter,
    all_of,
    flatten,
    only_entities,
    parse_filter,
)
from lamina.server.mem0.python_literals import MAX_OBJECT, as_object

_MAX_ITEMS = 1000  # items of a list or of a page, fields of an object
_EVERYBODY = dict.fromkeys((*ENTITIES, "app_id"), "*")


def _check_count(given: Any) -> Any:
    """Count before anything is checked: one error for a million wrong items."""
    if isinstance(given, list | dict) and len(given) > _MAX_ITEMS:
        raise PydanticCustomError("too_long", "up to {max} items are allowed", {"max": _MAX_ITEMS})
    return given


def _check_size(given: dict[str, Any]) -> dict[str, Any]:
    if len(json.dumps(given)) > MAX_OBJECT:
        raise PydanticCustomError("too_long", "as JSON, it has up to {max} characters", {"max": MAX_OBJECT})
    return given


Item = TypeVar("Item")
Few = Annotated[list[Item], Field(max_length=_MAX_ITEMS), BeforeValidator(_check_count)]
Short = Annotated[str, Field(max_length=64)]
Word = Annotated[str, Field(max_length=1000)]
Text = Annotated[str, Field(max_length=4 * 1024 * 1024)]  # as long as a message may be
Metadata = Annotated[dict[str, Any], Field(max_length=_MAX_ITEMS), AfterValidator(_check_size)]
Filters = Annotated[dict[str, Any], Field(max_length=_MAX_ITEMS)] | Annotated[str, Field(max_length=MAX_OBJECT)]
Page = Annotated[int, Field(ge=1, le=1_000_000)]
PageSize = Annotated[int, Field(ge=1, le=_MAX_ITEMS)]

_INSTEAD = {
    "custom_instructions": "what is extracted is up to the extractor of the settings",
    "agent_custom_instructions": "what is extracted is up to the extractor of the settings",
    "custom_categories": "categories are Lamina's own; give your own labels as metadata",
    "structured_data_schema": "Lamina extracts no structures; give what you know as metadata",
    "includes": "what is extracted is up to the extractor of the settings",
    "excludes": "what is extracted is up to the extractor of the settings; `forget` erases",
    "immutable": "memories can always be changed; their history tells",
}


class Mem0Request(BaseModel):
    """What every request may have: any other field is ignored, as the hosted platform does."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)

    output_format: Short | None = None

    @model_validator(mode="before")
    @classmethod
    def _few_fields(cls, given: Any) -> Any:
        return _check_count(given)


class ScopedRequest(Mem0Request):
    """Whose memories: by ids, by filters, or all_of."""

    user_id: Id | None = None
    agent_id: Id | None = None
    run_id: Id | None = None
    app_id: Id | None = None
    filters: Filters | None = None

    def filter(self) -> Filter:
        """Which memories are meant, by ids and filters together."""
        given = [part for part in (self._ids(), as_object(self.filters)) if part]
        return all_of(*(parse_filter(part) for part in given)) if given else EVERYTHING

    def _ids(self) -> dict[str, str]:
        ids = {name: getattr(self, name) for name in (*ENTITIES, "app_id")}
        return {name: value for name, value in ids.items() if value is not None}


class AddRequest(ScopedRequest):
    """Messages, and what goes with them."""

    messages: Text | dict[str, Any] | Few[Text | dict[str, Any]]
    metadata: Metadata | None = None
    infer: bool | None = True
    async_mode: bool | None = None
    timestamp: float | None = None
    expiration_date: Short | None = None
    custom_instructions: Any = None
    agent_custom_instructions: Any = None
    custom_categories: Any = None
    structured_data_schema: Any = None
    includes: Any = None
    excludes: Any = None
    immutable: Any = None

    def entities(self) -> tuple[str | None, str | None, str | None]:
        """The user, agent and run of the memories."""
        if self.app_id is not None:
            raise InputError(NO_APPS)
        named = only_entities(self.filter())
        if not named:
            raise InputError("say whose memory it is: user_id, agent_id or run_id")
        return named.get("user_id"), named.get("agent_id"), named.get("run_id")

    def check(self) -> None:
        for name, why in _INSTEAD.items():
            if getattr(self, name):
                raise InputError(f"Lamina has no {name}: {why}")


class ListRequest(ScopedRequest):
    """Which memories, and which page of them."""

    page: Page | None = None
    page_size: PageSize | None = None
    limit: PageSize | None = None
    top_k: PageSize | None = None
    start_date: Short | None = None
    end_date: Short | None = None
    categories: Few[Word] | None = None
    keywords: Word | None = None
    metadata: Metadata | None = None
    fields: Few[Word] | None = None
    show_expired: bool | None = None
    latest_only: bool | None = None

    def filter(self) -> Filter:
        more = {
            "created_at": {k: v for k, v in (("gte", self.start_date), ("lte", self.end_date)) if v is not None},
            "categories": self.categories,
            "keywords": self.keywords,
            "metadata": self.metadata,
        }
        given = {name: value for name, value in more.items() if value}
        before = super().filter()
        return all_of(before, parse_filter(given)) if given else before

    @property
    def also_past(self) -> bool:
        return bool(self.show_expired) or self.latest_only is False


class SearchRequest(ListRequest):
    """What to look for, and where."""

    query: Annotated[Line, Field(min_length=1)]
    threshold: Annotated[float, Field(allow_inf_nan=False)] | None = None
    reference_date: Short | int | float | None = None


class UpdateRequest(Mem0Request):
    """What of a memory shall be different."""

    text: Annotated[Text, Field(min_length=1)] | None = None
    memory: Annotated[Text, Field(min_length=1)] | None = None
    metadata: Metadata | None = None
    expiration_date: Short | None = None
    timestamp: Any = None


class BatchUpdateItem(UpdateRequest):
    memory_id: Id


class BatchDeleteItem(Mem0Request):
    memory_id: Id


class BatchUpdateRequest(Mem0Request):
    memories: Annotated[Few[BatchUpdateItem], Field(min_length=1)]


class BatchDeleteRequest(Mem0Request):
    memories: Annotated[Few[BatchDeleteItem], Field(min_length=1)]


class FeedbackRequest(Mem0Request):
    memory_id: Id
    feedback: Literal["POSITIVE", "NEGATIVE", "VERY_NEGATIVE"] | None = None
    feedback_reason: Text | None = None


class DeleteAllQuery(ScopedRequest):
    """Which memories shall go, in the query of an address."""

    metadata: Annotated[str, Field(max_length=MAX_OBJECT)] | None = None

    def filter(self) -> Filter:
        about = as_object(self.metadata, "metadata is")
        if not about and flatten({**as_object(self.filters), **self._ids()}) == _EVERYBODY:
            return parse_filter({"user_id": "*"})
        before = super().filter()
        return all_of(before, parse_filter({"metadata": about})) if about else before


class DeleteQuery(Mem0Request):
    delete_linked: bool | None = None


class EntitiesQuery(Mem0Request):
    page: Page = 1
    page_size: PageSize | None = None


class EventsQuery(Mem0Request):
    """Which adds."""

    page: Page = 1
    page_size: PageSize = 50
    event_type: Short | None = None


def default_user(user_id: str | None) -> str:
    """The user of memories that belong to an agent or a run alone."""
    return DEFAULT_USER if user_id is None else user_id
