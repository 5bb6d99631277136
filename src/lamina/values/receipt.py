"""Receipts of what was forgotten."""

from datetime import datetime
from typing import ClassVar, Literal

from lamina.frozen import dataclass

Scrub = Literal["dead", "vacuumed", "rewritten", "overwritten"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What one forgetting erased, and what was rewritten; signed by a chain of hashes."""

    _shown: ClassVar = ("id", "target", "messages", "redacted", "summaries", "facts", "scrub", "nothing")

    id: str
    at: datetime
    target: str  # what was asked for, without the words that were to be forgotten
    dry_run: bool  # nothing was erased: this is what would be
    messages: tuple[str, ...]  # ids; of whole sessions and users, and where the user's id is in one, hashes of them
    redacted: tuple[str, ...]  # messages of which a part was erased
    sessions: tuple[str, ...]
    summaries: tuple[str, ...]
    digests: tuple[str, ...]
    facts: tuple[str, ...]
    episodes: tuple[str, ...]
    milestones: int
    values_blocked: int  # values that will not be extracted again
    rewritten: tuple[str, ...]  # summaries rewritten from what is left
    mentions_left: tuple[str, ...]  # messages that still have a forgotten fact's value in other words
    scrubbed: bool  # whether no old bytes are left in the files: they were rewritten or overwritten
    previous: str
    digest: str
    titles: int = 0  # titles of sessions of which words were erased
    scrub: Scrub | None = None  # what was done with the old bytes; None: a dry run, or nothing was erased
    nothing: str | None = None  # if nothing was found: where it was looked for

    @property
    def empty(self) -> bool:
        """Whether there was nothing to erase; such a receipt is not stored."""
        lists = (self.messages, self.redacted, self.sessions, self.summaries, self.digests, self.facts, self.episodes)
        return not any(lists) and not self.milestones and not self.titles
