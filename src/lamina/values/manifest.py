"""A context, and the list of what is in it and why."""

import importlib
from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar

from lamina.frozen import dataclass
from lamina.values.message import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenBudget:
    """Where the tokens of a context may go and where they went."""

    total: int
    system_prompt: int
    working_memory: int
    retrieved_context: int
    recent_messages: int
    used: int
    available: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One thing in a context: what, from where, why, at what cost."""

    _shown: ClassVar = ("section", "kind", "id", "tokens", "reason")

    section: str
    kind: str
    id: str | None
    session_id: str | None
    message_ids: tuple[str, ...]
    span: Span | None
    tokens: int
    reason: str
    score: float | None = None
    parts: Mapping[str, float] = field(default_factory=dict)
    cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Omission:
    """One thing that was left out of a context, and why."""

    _shown: ClassVar = ("section", "kind", "id", "tokens", "reason")

    section: str
    kind: str
    id: str | None
    session_id: str | None
    span: Span | None
    tokens: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """Where each message of the session is: every one is in exactly one of the four lists."""

    messages: int
    verbatim: tuple[Span, ...]  # word for word in the context
    summarised: tuple[Span, ...]  # covered by a summary in the context
    left_out: tuple[Span, ...]  # covered by a live summary that did not fit
    blind: tuple[Span, ...]  # in no summary and not in the context

    @property
    def blind_messages(self) -> int:
        return sum(len(span) for span in self.blind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What is in a context and what is not."""

    _shown: ClassVar = ("profile", "items", "omitted")

    profile: str
    counter: str  # the token counter that was used
    exact: bool  # whether it counts exactly
    items: tuple[Piece, ...]
    omitted: tuple[Omission, ...]
    coverage: Coverage
    warnings: tuple[str, ...]
    sections: Mapping[str, int]  # tokens by section


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What the model should see: as chat messages, and the same as one string."""

    _shown: ClassVar = ("tokens", "text")

    messages: list[dict[str, Any]]
    text: str
    tokens: int
    budget: TokenBudget
    manifest: Manifest

    def to_anthropic(self) -> dict[str, Any]:
        """`system` and `messages` for Anthropic's API: `client.messages.create(**context.to_anthropic(), ...)`.

        `system` is left out if there is none. What was recalled for the current message stands in its turn, so that
        all before it stays the same and can be cached.
        """
        request: dict[str, Any] = importlib.import_module("lamina.values.anthropic_form").anthropic_request(
            self.messages
        )
        return request

    def _repr_html_(self) -> str:
        html: str = importlib.import_module("lamina.values.notebook").context_html(self)
        return html
