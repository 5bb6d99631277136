"""Documents that are kept under names."""

from datetime import datetime, timedelta
from typing import Any, ClassVar

from lamina.frozen import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """What a name stands for now, with the texts that it is found by."""

    _shown: ClassVar = ("name", "user_id", "text")

    name: str
    user_id: str
    value: Any  # as JSON has it
    text: str  # the only, or the last one
    message_id: str  # that has value and text
    more: tuple[str, ...] = ()  # messages that have the other texts
    created_at: datetime  # of its first version
    updated_at: datetime
    used_at: datetime  # when it was last put, or its time to live was renewed
    ttl: timedelta | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentPut:
    """A document to store in place of what its name stands for."""

    name: str
    user_id: str
    value: Any
    texts: tuple[str, ...] = ()  # what it is found by, each by itself
    agent_id: str | None = None
    ttl: timedelta | None = None  # None: it does not expire
    versions: bool = False  # keep what it was before, where no search finds it
