"""What mem0's clients send. Fields that only tune mem0's own machinery are ignored."""

import json
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from lamina.errors import InputError
from lamina.memory import DEFAULT_USER
from lamina.server.input_types import Id
from lamina.server.mem0.filters import (
    ENTITIES,
    EVERYTHING,
    NO_APPS,
    Filter,
    both,
    only_entities,
    parsed,
    plainly,
)
from lamina.server.mem0.literals import LONGEST_OBJECT, as_object

_MOST = 1000  # items of a list or of a page, fields of an object
_LONGEST_QUERY = 20_000  # characters
_EVERYBODY = dict.fromkeys((*ENTITIES, "app_id"), "*")


def _few(given: Any) -> Any:
    """Count before anything is looked at: what is wrong with a million items need not be told of each."""
    if isinstance(given, list | dict) and len(given) > _MOST:
        raise PydanticCustomError("too_long", "up to {most} items are allowed", {"most": _MOST})
    return given


def _writable(given: dict[str, Any]) -> dict[str, Any]:
    if len(json.dumps(given)) > LONGEST_OBJECT:
        raise PydanticCustomError("too_long", "as JSON, it has up to {most} characters", {"most": LONGEST_OBJECT})
    return given


Item = TypeVar("Item")
Few = Annotated[list[Item], Field(max_length=_MOST), BeforeValidator(_few)]
Short = Annotated[str, Field(max_length=64)]
Word = Annotated[str, Field(max_length=1000)]
Text = Annotated[str, Field(max_length=4 * 1024 * 1024)]  # as long as a message may be
Metadata = Annotated[dict[str, Any], Field(max_length=_MOST), AfterValidator(_writable)]
Filters = Annotated[dict[str, Any], Field(max_length=_MOST)] | Annotated[str, Field(max_length=LONGEST_OBJECT)]
Page = Annotated[int, Field(ge=1, le=1_000_000)]
PageSize = Annotated[int, Field(ge=1, le=_MOST)]

_INSTEAD = {
    "custom_instructions": "what is extracted is up to the extractor of the settings",
    "agent_custom_instructions": "what is extracted is up to the extractor of the settings",
    "custom_categories": "categories are Lamina's own; give your own labels as metadata",
    "structured_data_schema": "Lamina extracts no structures; give what you know as metadata",
    "includes": "what is extracted is up to the extractor of the settings",
    "excludes": "what is extracted is up to the extractor of the settings; `forget` erases",
    "immutable": "memories can always be changed; their history tells",
}


class Sent(BaseModel):
    """What every request may have: any other field is ignored, as the hosted platform does."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)

    output_format: Short | None = None

    @model_validator(mode="before")
    @classmethod
    def _few_fields(cls, given: Any) -> Any:
        return _few(given)


class Scoped(Sent):
    """Whose memories: by ids, by filters, or both."""

    user_id: Id | None = None
    agent_id: Id | None = None
    run_id: Id | None = None
    app_id: Id | None = None
    filters: Filters | None = None

    def wanted(self) -> Filter:
        """All that was said of which memories are meant."""
        given = [part for part in (self._ids(), as_object(self.filters)) if part]
        return both(*(parsed(part) for part in given)) if given else EVERYTHING

    def _ids(self) -> dict[str, str]:
        ids = {name: getattr(self, name) for name in (*ENTITIES, "app_id")}
        return {name: value for name, value in ids.items() if value is not None}


class Added(Scoped):
    """Messages, and what is told with them."""

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

    def scopes(self) -> tuple[str | None, str | None, str | None]:
        """Whose it will be: user, agent, run."""
        if self.app_id is not None:
            raise InputError(NO_APPS)
        named = only_entities(self.wanted())
        if not named:
            raise InputError("say whose memory it is: user_id, agent_id or run_id")
        return named.get("user_id"), named.get("agent_id"), named.get("run_id")

    def check(self) -> None:
        for name, why in _INSTEAD.items():
            if getattr(self, name):
                raise InputError(f"Lamina has no {name}: {why}")


class Listed(Scoped):
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

    def wanted(self) -> Filter:
        more = {
            "created_at": {k: v for k, v in (("gte", self.start_date), ("lte", self.end_date)) if v is not None},
            "categories": self.categories,
            "keywords": self.keywords,
            "metadata": self.metadata,
        }
        given = {name: value for name, value in more.items() if value}
        before = Scoped.wanted(self)
        return both(before, parsed(given)) if given else before

    @property
    def also_past(self) -> bool:
        return bool(self.show_expired) or self.latest_only is False


class Searched(Listed):
    """What to look for, and where."""

    query: Annotated[str, Field(min_length=1, max_length=_LONGEST_QUERY)]
    threshold: Annotated[float, Field(allow_inf_nan=False)] | None = None
    reference_date: Short | int | float | None = None


class Changed(Sent):
    """What of a memory shall be different."""

    text: Annotated[Text, Field(min_length=1)] | None = None
    memory: Annotated[Text, Field(min_length=1)] | None = None
    metadata: Metadata | None = None
    expiration_date: Short | None = None
    timestamp: Any = None


class ChangedOne(Changed):
    memory_id: Id


class NamedOne(Sent):
    memory_id: Id


class ManyChanged(Sent):
    memories: Annotated[Few[ChangedOne], Field(min_length=1)]


class ManyNamed(Sent):
    memories: Annotated[Few[NamedOne], Field(min_length=1)]


class Feedback(Sent):
    memory_id: Id
    feedback: Literal["POSITIVE", "NEGATIVE", "VERY_NEGATIVE"] | None = None
    feedback_reason: Text | None = None


class Erased(Scoped):
    """Which memories shall go, in the query of an address."""

    metadata: Annotated[str, Field(max_length=LONGEST_OBJECT)] | None = None

    def wanted(self) -> Filter:
        about = as_object(self.metadata, "metadata is")
        if not about and plainly({**as_object(self.filters), **self._ids()}) == _EVERYBODY:
            return parsed({"user_id": "*"})
        before = Scoped.wanted(self)
        return both(before, parsed({"metadata": about})) if about else before


class ErasedOne(Sent):
    delete_linked: bool | None = None


class EntitiesQuery(Sent):
    page: Page = 1
    page_size: PageSize | None = None


class EventsListed(Sent):
    """Which adds."""

    page: Page = 1
    page_size: PageSize = 50
    event_type: Short | None = None


def default_user(user_id: str | None) -> str:
    return DEFAULT_USER if user_id is None else user_id
