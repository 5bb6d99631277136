"""What every store does alike with what it keeps."""

import hashlib
import logging
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from lamina.errors import Conflict, OptedOut, Stale
from lamina.log import chain, records
from lamina.log.erased import says_something
from lamina.protocols.store import (
    Append,
    Appended,
    EpisodeRow,
    Erased,
    FactRow,
    FactsCommit,
    FoldCommit,
    MessageRow,
    SummaryRow,
    Swap,
)
from lamina.values.fact import Episode, Fact
from lamina.values.message import Message
from lamina.values.session import Session
from lamina.values.summary import Summary

Row = TypeVar("Row", MessageRow, SummaryRow, FactRow, EpisodeRow)
Value = TypeVar("Value")

logger = logging.getLogger("lamina.storage")

REASON = 500  # characters that are kept of why work failed
FAILING = 100  # sessions that a backlog names
FORGOTTEN_APPEND = "forgotten"  # the fingerprint of an append of which something was forgotten


def append_fingerprint(append: Append) -> str:
    """What an idempotency key was used for."""
    content = [append.session_id, append.user_id]
    for draft in append.drafts:
        given = (draft.id if draft.named else "", draft.created_at.isoformat() if draft.timed else "")
        content += [*given, draft.role, draft.body, draft.metadata, draft.model or ""]
    return hashlib.sha256("\0".join(content).encode()).hexdigest()


@dataclass(slots=True)
class Gone:
    """What one erasure has taken so far."""

    messages: list[str] = field(default_factory=list)
    redacted: list[str] = field(default_factory=list)
    sessions: list[str] = field(default_factory=list)
    summaries: list[str] = field(default_factory=list)
    digests: list[str] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)  # those that could be read
    fact_ids: list[str] = field(default_factory=list)
    episodes: list[str] = field(default_factory=list)
    milestones: int = 0
    titles: int = 0

    def outcome(self, blocked: int) -> Erased:
        return Erased(
            messages=tuple(dict.fromkeys(self.messages)),
            redacted=tuple(self.redacted),
            sessions=tuple(self.sessions),
            summaries=tuple(dict.fromkeys(self.summaries)),
            digests=tuple(self.digests),
            facts=tuple(self.fact_ids),
            episodes=tuple(dict.fromkeys(self.episodes)),
            milestones=self.milestones,
            titles=self.titles,
            values_blocked=blocked,
        )


def whole_messages(found: Iterable[MessageRow]) -> Iterator[Message]:
    """The messages whose rows are undamaged; the others are skipped with a warning."""
    return _whole("messages", chain.decode_message, found)


def whole_summaries(found: Iterable[SummaryRow]) -> Iterator[Summary]:
    return _whole("summaries", records.decode_summary, found)


def whole_facts(found: Iterable[FactRow]) -> Iterator[Fact]:
    return _whole("facts", records.fact_of, found)


def whole_episodes(found: Iterable[EpisodeRow]) -> Iterator[Episode]:
    return _whole("episodes", records.episode_of, found)


def _whole(table: str, decoded: Callable[[Row], Value], found: Iterable[Row]) -> Iterator[Value]:
    for row in found:
        try:
            yield decoded(row)
        except chain.Damaged as damage:
            log_skip(table, row.id, damage)


def text_of_row(row: MessageRow) -> str | None:
    """What a message says; None if its row is damaged."""
    for message in whole_messages([row]):
        return message.text
    return None


def weights(documents: int, frequency: Mapping[str, int]) -> dict[str, int]:
    """How much each term that was found counts: the rarer, the more; whole numbers, so that no sum is rounded."""
    return {
        term: 1 + round(1_000 * math.log1p((max(documents, count) - count + 0.5) / (count + 0.5)))
        for term, count in frequency.items()
        if count
    }


def needs_vector(item: Message | Summary | Fact | Episode) -> bool:
    """Whether there are words to make a vector of."""
    if isinstance(item, Message):
        return says_something(item)
    return not isinstance(item, Summary) or bool(item.text.strip())


class Best:
    """The items whose vectors are most alike to one, of all that were looked at; of equals the first by id."""

    def __init__(self, vector: bytes, limit: int) -> None:
        self._vector = vector
        self._limit = limit
        self._found: list[tuple[float, str]] = []

    def look(self, kept: Sequence[tuple[str, bytes]]) -> None:
        from lamina.storage.nearness import nearest  # noqa: PLC0415 - numpy is slow to load, and seldom needed here

        self._found = sorted(self._found + nearest(self._vector, kept, self._limit))[: self._limit]

    @property
    def ids(self) -> list[str]:
        return [item_id for _, item_id in self._found]


def is_reworded(old: Fact, new: Fact) -> bool:
    """Whether a fact is told in other words; a verdict on it is not one of them."""
    judged = replace(old, verdict=new.verdict, verdict_at=new.verdict_at, verdict_by=new.verdict_by)
    return records.fact_row(judged).record != records.fact_row(new).record


def at_stored_place(stored: Fact | None, fact: Fact) -> Fact:
    """A fact that was read some time ago, at the place where it stands by now: words before it may be gone."""
    return fact if stored is None else replace(fact, quote=stored.quote, start=stored.start, end=stored.end)


def searchable(commit: FactsCommit) -> bool:
    """Whether a commit changes anything that can be searched; how far was read, links and marks are no such thing."""
    facts, episodes = (commit.put, commit.change, commit.drop), (commit.episodes, commit.change_episodes)
    return any((*facts, *episodes, commit.drop_episodes))


def episodes_to_join(commit: FactsCommit) -> set[str]:
    """The episodes that a commit joins: those that go, and those that they go into; without one of them it is void."""
    gone = set(commit.drop_episodes)
    mains = [episode for episode in commit.change_episodes if not gone.isdisjoint(episode.merged)]
    return {one for episode in mains for one in (episode.id, *gone.intersection(episode.merged))}


def log_skip(table: str, row: str, damage: Exception) -> None:
    """Say that a row could not be read."""
    logger.warning("row_skipped", extra={"table": table, "row": row, "reason": str(damage)})


def stale(kind: str, item_id: str) -> Stale:
    return Stale(f"{kind} {item_id!r} is not as it was when it was read, and was left as it is; read it again")


def key_conflict(append: Append) -> Conflict:
    return Conflict(f"idempotency key {append.key!r} was used for other messages; use a new key")


def behind(prefix: str) -> str:
    """What comes right behind all texts that go on from a prefix."""
    return prefix[:-1] + chr(ord(prefix[-1]) + 1)


def escape(text: str) -> str:
    """A piece of a pattern that stands for itself, where `!` escapes."""
    return re.sub("([!%_])", r"!\1", text)


def outside_digest(newest: Sequence[Session], session_id: str | None, digests: Sequence[Summary]) -> Session | None:
    """The newest of a user's sessions that is not the one in question, unless a digest has it or it is archived."""
    known = {source.session_id for digest in digests for source in digest.sources}
    found = next((one for one in newest if one.id != session_id), None)
    return None if found is None or found.id in known or found.status == "archived" else found


def users_of(commits: Sequence[FoldCommit | Swap | Summary]) -> set[str]:
    """Whose summaries are committed."""
    several = [
        one.put if isinstance(one, Swap) else [one.summary if isinstance(one, FoldCommit) else one] for one in commits
    ]
    return {summary.user_id for summaries in several for summary in summaries}


def refuse_facts(commit: FactsCommit) -> bool:
    """What comes of facts for a user who has opted out: of those read from messages nothing, of others an error."""
    if commit.reading is None and (commit.put or commit.episodes):
        raise OptedOut(commit.user_id)
    return False


def changes_more(append: Append, session: Session) -> bool:
    """Whether an append changes more than messages: which sessions are archived, or which are in a project."""
    begins = not session.counters.messages
    return append.replaces is not None or session.status == "archived" or (begins and session.project_id is not None)


def not_stored(append: Append) -> Appended:
    """What an append comes to for a user who has opted out with their messages: none of it is stored."""
    at = append.drafts[0].created_at
    session = Session(
        id=append.session_id, user_id=append.user_id, status="active", started_at=at, last_at=at, touched_at=append.now
    )
    return Appended(session=session, ids=(), span=None, duplicates=(), due=False)
