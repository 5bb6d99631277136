"""What may go into a context."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from lamina.values.message import Message, Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """Something that may go into a context."""

    section: str
    kind: str
    tokens: int
    reason: str
    text: str = ""
    id: str | None = None
    session_id: str | None = None
    messages: tuple[Message, ...] = ()
    equal: tuple[Message, ...] = ()  # messages that are not shown, since these say the same
    message_ids: tuple[str, ...] = ()  # where it comes from, or which stand in it, beside the messages that are shown
    span: Span | None = None
    label: str = ""
    times: str = ""  # how often it was said: behind who said it, or behind a turn's first message
    end: str = ""  # until when it held: behind its words
    quote: str = ""  # of a fact: the words in which it was said
    verbatim: bool = False  # of a fact: a statement in the words of its message, not a value under a key
    heading: str = ""  # under which it stands with others
    value: float = 0.0  # how much speaks for it beside others of its section
    score: float | None = None
    parts: Mapping[str, float] = field(default_factory=dict)
    required: bool = False
    spare: bool = False  # wanted only where room is left: nobody is warned without it
    cut: bool = False
