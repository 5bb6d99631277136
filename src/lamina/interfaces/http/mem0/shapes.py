"""What mem0's clients send. Fields that only tune mem0's own machinery are taken and change nothing."""

import ast
import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from lamina.engine.known import DEFAULT_USER
from lamina.errors import InputError
from lamina.interfaces.http.bodies import Id
from lamina.interfaces.http.mem0.filters import EVERYTHING, NO_APPS, Filter, both, only_entities, parsed

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
    """What every request may have."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    org_id: Any = None
    project_id: Any = None
    api_version: Any = None
    version: Any = None
    output_format: str | None = None


class Scoped(Sent):
    """Whose memories: by ids, by filters, or both."""

    user_id: Id | None = None
    agent_id: Id | None = None
    run_id: Id | None = None
    app_id: Id | None = None
    filters: dict[str, Any] | str | None = None

    def wanted(self) -> Filter:
        """All that was said of which memories are meant."""
        ids = {name: getattr(self, name) for name in ("user_id", "agent_id", "run_id", "app_id")}
        given = {name: value for name, value in ids.items() if value is not None}
        return both(*(parsed(part) for part in (given, _object(self.filters)) if part)) if self._says() else EVERYTHING

    def _says(self) -> bool:
        return any((self.user_id, self.agent_id, self.run_id, self.app_id, self.filters))


class Added(Scoped):
    """Messages, and what is told with them."""

    messages: str | dict[str, Any] | list[str | dict[str, Any]]
    metadata: dict[str, Any] = {}
    infer: bool | None = True
    async_mode: bool | None = None
    timestamp: float | None = None
    expiration_date: str | None = None
    enable_graph: Any = None
    source: Any = None
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

    page: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    page_size: Annotated[int, Field(ge=1, le=1000)] | None = None
    limit: Annotated[int, Field(ge=1, le=1000)] | None = None
    top_k: Annotated[int, Field(ge=1, le=1000)] | None = None
    start_date: str | None = None
    end_date: str | None = None
    categories: list[str] | None = None
    keywords: str | None = None
    metadata: dict[str, Any] | None = None
    fields: list[str] | None = None
    show_expired: bool | None = None
    latest_only: bool | None = None
    enable_graph: Any = None

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

    query: Annotated[str, Field(min_length=1)]
    threshold: float | None = None
    reference_date: str | int | float | None = None
    rerank: Any = None
    keyword_search: Any = None
    filter_memories: Any = None
    only_metadata_based_search: Any = None


class Changed(Sent):
    """What of a memory shall be different."""

    text: Annotated[str, Field(min_length=1)] | None = None
    memory: Annotated[str, Field(min_length=1)] | None = None
    metadata: dict[str, Any] | None = None
    expiration_date: str | None = None
    timestamp: Any = None


class ChangedOne(Changed):
    memory_id: Id


class NamedOne(Sent):
    memory_id: Id


class ManyChanged(Sent):
    memories: Annotated[list[ChangedOne], Field(min_length=1, max_length=1000)]


class ManyNamed(Sent):
    memories: Annotated[list[NamedOne], Field(min_length=1, max_length=1000)]


class Feedback(Sent):
    memory_id: Id
    feedback: Literal["POSITIVE", "NEGATIVE", "VERY_NEGATIVE"] | None = None
    feedback_reason: str | None = None


class Erased(Scoped):
    """Which memories shall go, in the query of an address."""

    metadata: str | None = None

    def wanted(self) -> Filter:
        before = Scoped.wanted(self)
        about = _object(self.metadata)
        return both(before, parsed({"metadata": about})) if about else before


class ErasedOne(Sent):
    delete_linked: bool | None = None


class EntitiesAsked(Sent):
    page: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    page_size: Annotated[int, Field(ge=1)] | None = None


def default_user(user_id: str | None) -> str:
    return DEFAULT_USER if user_id is None else user_id


def _object(given: dict[str, Any] | str | None) -> dict[str, Any]:
    """An object; in an address, clients write it as JSON or as Python shows it."""
    if given is None or isinstance(given, dict):
        return given or {}
    for read in (json.loads, ast.literal_eval):
        try:
            found = read(given)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
        if isinstance(found, dict):
            return found
    raise InputError('filters are an object, e.g. {"user_id": "alex"}')
