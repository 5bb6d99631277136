"""What the reference store keeps: dictionaries, and the rows that several parts touch."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from lamina.errors import NotFound
from lamina.knowledge import conflicts, fact_words
from lamina.knowledge.episodes import cap_episodes
from lamina.log import records
from lamina.protocols.store import (
    Access,
    Appended,
    FactsCommit,
    Lease,
    MessageRow,
    ProposalRow,
    Reading,
    ReceiptRow,
    SummaryRow,
)
from lamina.storage.shared import (
    at_stored_place,
    episodes_to_join,
    is_reworded,
    refuse_facts,
    searchable,
    stale,
    whole_messages,
)
from lamina.values.fact import ConflictRule, Episode, Fact, Link
from lamina.values.message import Message, Span
from lamina.values.opt_out import PREFIX
from lamina.values.session import Milestone, Session


@dataclass(slots=True)
class Kept:
    """A session with its log and its standing in the queue of work."""

    session: Session
    digest: bytes
    rows: list[MessageRow] = field(default_factory=list)
    unread: set[int] = field(default_factory=set)  # messages to read for facts again
    pending: bool = True
    touch: int = 0
    retry_at: datetime | None = None
    aside: bool = False
    reason: str | None = None
    lease: Lease | None = None
    changed: int = 0  # the user's count of changes when its messages were last added or changed


def touched(kept: Kept) -> None:
    """Have a session looked at, whatever was wrong with it before."""
    kept.pending = True
    kept.aside = False
    kept.touch += 1


def mended(kept: Kept) -> None:
    """Forget that work on a session has failed."""
    kept.session = replace(kept.session, attempts=0)
    kept.retry_at = kept.reason = None
    kept.aside = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedding:
    """A vector, and what it was made of if that is a message or a summary."""

    place: int
    user_id: str
    vector: bytes
    words: str | None


class OracleTables:
    """One tenant's memory in this process: facts, episodes and links; sessions and summaries are beside them."""

    def __init__(self, *, tenant: str = "default") -> None:
        self.tenant = tenant
        self._sessions: dict[str, Kept] = {}
        self._by_id: dict[str, MessageRow] = {}
        self._summaries: dict[str, SummaryRow] = {}
        self._facts: dict[str, Fact] = {}
        self._episodes: dict[str, Episode] = {}
        self._anchors: dict[str, tuple[str, str]] = {}  # episode -> the message it was first seen at, and its kind
        self._links: dict[tuple[str, str, str], tuple[str, Link]] = {}  # with the user
        self._forgotten: set[tuple[str, bytes]] = set()
        self._proposals: dict[str, ProposalRow] = {}
        self._receipts: list[ReceiptRow] = []
        self._milestones: list[Milestone] = []
        self._appends: dict[str, tuple[str, Appended]] = {}
        self._settings: dict[str, str] = {}
        self._generation = 0  # where the versions of a new session begin: past those of all that were erased
        self._changes: dict[str, tuple[int, int]] = {}  # count and cuts of each user
        self._derived: dict[str, int] = {}  # the count of each when anything but messages changed last
        self._beginning = 0  # where the counts of a new user begin: past those of all that were forgotten
        self._vectors: dict[str, dict[str, Embedding]] = {}  # item -> embedder -> vector
        self._embedded: dict[tuple[str, str], tuple[int, int]] = {}  # embedder and user -> count and cuts then
        self._place = 0

    def _require(self, session_id: str) -> Kept:
        if session_id not in self._sessions:
            raise NotFound(f"no session {session_id!r}")
        return self._sessions[session_id]

    def _own_summaries(self, session_id: str) -> list[SummaryRow]:
        own = [row for row in self._summaries.values() if row.session_id == session_id]
        return sorted(own, key=lambda row: row.first or 0)

    def _set_cursor(self, kept: Kept, cursor: int) -> None:
        covered = [row for row in kept.rows if row.seq <= cursor]
        counters = replace(
            kept.session.counters,
            cursor=cursor,
            cursor_turn=max((row.turn for row in covered), default=0),
            cursor_tokens=sum(row.tokens for row in covered),
            tokens=sum(row.tokens for row in kept.rows),
            version=kept.session.counters.version + 1,
        )
        kept.session = replace(kept.session, counters=counters)
        touched(kept)

    # changes

    def _counted(self, user_id: str) -> tuple[int, int]:
        return self._changes.get(user_id, (self._beginning, self._beginning))

    def _changed(self, user_id: str, *, derived: bool = True) -> int:
        """Note that something was added to a user's memory, or stands otherwise in it; the new count.

        Unless `derived`, it is nothing but messages.
        """
        count, cuts = self._counted(user_id)
        self._changes[user_id] = (count + 1, cuts)
        self._derived[user_id] = count + 1 if derived else self._derived_at(user_id)
        return count + 1

    def _derived_at(self, user_id: str) -> int:
        """The count when anything but messages changed last."""
        return self._derived.get(user_id, self._beginning)

    def _cut(self, user_id: str, sessions: Iterable[str] = ()) -> None:
        """Note that words were taken away or rewritten, and in which sessions messages were."""
        if user_id in self._changes:
            count, cuts = self._changes[user_id]
            self._changes[user_id] = (count + 1, cuts + 1)
            self._derived[user_id] = count + 1
        for session_id in self._sessions.keys() & sessions:
            self._sessions[session_id].changed = self._counted(user_id)[0]

    def _words(self, item_id: str) -> str | None:
        """What a message or a live summary is made of, as it lies in the store."""
        if (message := self._by_id.get(item_id)) is not None:
            return message.body
        row = self._summaries.get(item_id)
        return row.record if row is not None and row.status == "live" else None

    def _sweep(self) -> None:
        """Drop the vectors of messages and summaries that are gone, rewritten, or no longer live."""
        for item_id in [key for key, made in self._vectors.items() if any(x.words is not None for x in made.values())]:
            words = self._words(item_id)
            if any(made.words != words for made in self._vectors[item_id].values()):
                del self._vectors[item_id]

    # reading

    async def facts(
        self,
        user_id: str | None = None,
        session_id: str | None = None,
        *,
        span: Span | None = None,
        ids: Sequence[str] | None = None,
        current: bool = False,
    ) -> list[Fact]:
        own = [
            fact
            for fact in self._facts.values()
            if user_id in {None, fact.user_id}
            and session_id in {None, fact.session_id}
            and (span is None or fact.seq in span)
            and (ids is None or fact.id in ids)
            and (not current or fact.status in {"active", "conflicted"})
        ]
        return sorted(own, key=conflicts.order)

    async def episodes(
        self, user_id: str | None = None, session_id: str | None = None, *, ids: Sequence[str] | None = None
    ) -> list[Episode]:
        own = [
            one
            for one in self._episodes.values()
            if user_id in {None, one.user_id}
            and session_id in {None, one.session_id}
            and (ids is None or one.id in ids)
        ]
        return sorted(own, key=lambda one: (one.happened_at, one.id))

    async def links(self, user_id: str) -> list[Link]:
        own = [link for owner, link in self._links.values() if owner == user_id]
        return sorted(own, key=lambda link: (link.created_at.isoformat(), link.source, link.target, link.type))

    async def users(self, *, limit: int = 1000, after: str | None = None, unembedded: str | None = None) -> list[str]:
        known = {kept.session.user_id for kept in self._sessions.values()}
        known |= {fact.user_id for fact in self._facts.values()}
        if unembedded is not None:
            known = set(self._users_without_vectors(unembedded))
        return sorted(user_id for user_id in known if user_id > (after or ""))[:limit]

    def _users_without_vectors(self, embedder: str) -> list[str]:
        return [
            user_id
            for user_id, (count, _) in sorted(self._changes.items())
            if count > self._embedded.get((embedder, user_id), (0, 0))[0] and not self._has_opted_out(user_id)
        ]

    def _has_opted_out(self, user_id: str) -> bool:
        return bool(self._settings.get(PREFIX + user_id))

    def _unread(self, session_id: str, limit: int | None) -> list[Message]:
        kept = self._sessions.get(session_id)
        if kept is None:
            return []
        again = [row for row in kept.rows if row.seq in kept.unread][:limit]
        fresh = [row for row in kept.rows if row.seq > kept.session.counters.extracted][:limit]
        wanted = sorted({row.seq: row for row in (*again, *fresh)}.values(), key=lambda row: row.seq)
        return list(whole_messages(wanted[:limit]))

    # writing

    async def commit_facts(self, commit: FactsCommit) -> bool:
        self._check_expected(commit)
        if self._has_opted_out(commit.user_id):
            return refuse_facts(commit)
        cuts = self._counted(commit.user_id)[1]
        if (
            commit.cuts not in {None, cuts}
            or not episodes_to_join(commit).issubset(self._episodes)
            or (commit.reading is not None and not self._read_on(commit.reading))
        ):
            return False
        for session_id in {fact.session_id for fact in commit.put} | {one.session_id for one in commit.episodes}:
            if session_id is not None:
                self._require(session_id)
        self._forgotten -= {(commit.user_id, mark) for mark in commit.unblock}
        touched = {(fact.category, fact.slot) for fact in commit.put}
        self._drop_facts(commit.user_id, commit.drop, commit.rule)
        for fact in commit.put:
            forgotten = (commit.user_id, commit.marks.get(fact.id, b"")) in self._forgotten
            if not forgotten and fact.id not in self._facts and not self._said_before(fact):
                self._facts[fact.id] = fact
        reworded_ones = [self._change_fact(commit.user_id, fact) for fact in commit.change]
        reworded_ones.append(not {fact.id for fact in commit.put}.isdisjoint(commit.drop))
        touched |= {(fact.category, fact.slot) for fact in commit.change}
        self._resolve(commit.user_id, touched, commit.rule)
        reworded_ones.append(self._put_episodes(commit))
        for link in commit.links:
            key = (link.source, link.target, link.type)
            user_id, known = self._links.get(key, (commit.user_id, link))
            self._links[key] = (user_id, replace(known, strength=link.strength))
        if any(reworded_ones):
            self._cut(commit.user_id)
        elif searchable(commit):
            self._changed(commit.user_id)
        return True

    def _check_expected(self, commit: FactsCommit) -> None:
        if commit.expect is not None:
            fact = self._facts.get(commit.expect[0])
            if fact is None or fact.tag != commit.expect[1]:
                raise stale("fact", commit.expect[0])

    def _read_on(self, reading: Reading) -> bool:
        kept = self._sessions.get(reading.session_id)
        if kept is None or (kept.session.counters.extracted, kept.session.erasures) != (
            reading.expect,
            reading.erasures,
        ):
            return False
        counters = replace(kept.session.counters, extracted=max(reading.expect, reading.upto))
        kept.session = replace(kept.session, counters=counters)
        kept.unread -= {*reading.again, *range(reading.expect + 1, reading.upto + 1)}
        return True

    def _change_fact(self, user_id: str, fact: Fact) -> bool:
        """Change a known fact; whether it is told in other words now."""
        old = self._facts.get(fact.id)
        if old is None or old.user_id != user_id:
            return False
        fact = at_stored_place(old, fact)
        if records.fact_row(old).record != records.fact_row(fact).record:
            self._vectors.pop(fact.id, None)
        self._facts[fact.id] = replace(fact, accesses=old.accesses, accessed_at=old.accessed_at)
        return is_reworded(old, fact)

    def _said_before(self, fact: Fact) -> bool:
        return fact.message_id is not None and any(
            fact_words.claim(known) == fact_words.claim(fact) for known in self._facts.values()
        )

    def _drop_facts(self, user_id: str, ids: Iterable[str], rule: ConflictRule) -> list[Fact]:
        named = [self._facts[fact_id] for fact_id in dict.fromkeys(ids) if fact_id in self._facts]
        gone = [fact for fact in named if fact.user_id == user_id]
        for fact in gone:
            del self._facts[fact.id]
            self._vectors.pop(fact.id, None)
        self._resolve(user_id, {(fact.category, fact.slot) for fact in gone}, rule)
        return gone

    def _resolve(self, user_id: str, slots: Iterable[tuple[str, str]], rule: ConflictRule) -> None:
        families = conflicts.by_family(fact for fact in self._facts.values() if fact.user_id == user_id)
        for category, family in {(category, fact_words.family_of(slot)) for category, slot in slots}:
            own = families.get((category, family), ())
            self._facts.update({fact.id: fact for fact in conflicts.resolve(own, rule)})

    def _put_episodes(self, commit: FactsCommit) -> bool:
        """Put, change and drop episodes; whether a known one is told in other words now."""
        cut = False
        self._drop_episodes(commit.user_id, commit.drop_episodes)
        self._unlink(commit.drop_episodes)
        for episode in commit.episodes:
            anchor = _anchor(episode)
            if episode.id not in self._episodes and (anchor is None or anchor not in self._anchors.values()):
                self._episodes[episode.id] = episode
                if anchor is not None:
                    self._anchors[episode.id] = anchor
        for episode in commit.change_episodes:
            if (old := self._episodes.get(episode.id)) is not None and old.user_id == commit.user_id:
                if records.episode_row(old).record != records.episode_row(episode).record:
                    self._vectors.pop(episode.id, None)
                    cut = True
                self._episodes[episode.id] = replace(episode, accesses=old.accesses, accessed_at=old.accessed_at)
        if commit.most_episodes is not None and commit.episodes:
            own = [one for one in self._episodes.values() if one.user_id == commit.user_id]
            dropped = self._drop_episodes(
                commit.user_id, [one.id for one in cap_episodes(own, commit.most_episodes)[1]]
            )
            self._unlink(dropped)
        return cut

    def _drop_episodes(self, user_id: str, ids: Iterable[str]) -> list[str]:
        gone = [key for key in dict.fromkeys(ids) if key in self._episodes and self._episodes[key].user_id == user_id]
        for episode_id in gone:
            del self._episodes[episode_id]
            self._vectors.pop(episode_id, None)
            self._anchors.pop(episode_id, None)
        return gone

    def _unlink(self, ids: Iterable[str]) -> None:
        gone = set(ids)
        self._links = {key: link for key, link in self._links.items() if not gone & {key[0], key[1]}}

    async def note_accesses(self, accesses: Sequence[Access]) -> None:
        for access in accesses:
            if (fact := self._facts.get(access.id)) is not None:
                used = replace(fact, accesses=fact.accesses + access.times, accessed_at=access.at, decay=1.0)
                self._facts[access.id] = used
            if (one := self._episodes.get(access.id)) is not None:
                recalled = replace(one, accesses=one.accesses + access.times, accessed_at=access.at, decay=1.0)
                self._episodes[access.id] = recalled


def _anchor(episode: Episode) -> tuple[str, str] | None:
    """Where a moment was found: another of the same kind there is the same one."""
    return (episode.message_ids[0], episode.kind) if episode.origin == "said" and episode.message_ids else None
