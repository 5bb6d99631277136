"""What is known: facts at any time and why, memories told by hand, links between them, episodes."""

import functools
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from lamina.errors import DoesNotFit, InputError, NotFound, Stale
from lamina.knowledge import conflicts, consistency, fact_words, people, projects, tellings, told, user_profile
from lamina.knowledge import episodes as episode_policy
from lamina.knowledge.circular_links import ORDERED, circles
from lamina.knowledge.extract import Reader
from lamina.knowledge.fact_filter import Filter
from lamina.knowledge.told import Told, check_share, check_tags, check_value, check_word
from lamina.language.times import moment
from lamina.log.messages import EVERY_PROJECT
from lamina.log.pages import every_session, require_session, single
from lamina.parts import Parts, beside_loop
from lamina.protocols.models import Statement
from lamina.protocols.store import FactsCommit
from lamina.values.fact import (
    FACT_TYPES,
    LINK_TYPES,
    Arc,
    Episode,
    EpisodeKind,
    Fact,
    Graph,
    Link,
    Memorable,
    Remembered,
    UserProfile,
    Verdict,
    Why,
)
from lamina.values.message import Span
from lamina.values.opt_out import PREFIX, opt_out_of
from lamina.values.summary import Divergence, Summary

_MAX_DEPTH = 10


class Knowledge:
    """Asks and changes what is known of users."""

    def __init__(self, parts: Parts, reader: Reader) -> None:
        self._parts = parts
        self._reader = reader

    # facts in time

    async def facts(
        self,
        user_id: str,
        *,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        session_id: str | None = None,
        about: str | None = None,
        project_id: str | None = None,
        wanted: Filter,
    ) -> list[Fact]:
        """The facts that hold at a time, with what was known at another; with statuses, all facts that have them."""
        asked = EVERY_PROJECT if project_id is None and session_id is not None else project_id
        known = [
            fact for fact in await self._parts.store.facts(user_id, None) if projects.is_seen(fact.project_id, asked)
        ]
        if known_at is not None:
            known = conflicts.as_known_at(known, known_at, conflicts.rule_of(self._parts.profile))
        held = known
        if not wanted.statuses:
            held = projects.seen(conflicts.holding(known, as_of or known_at or self._parts.now()), asked)
        found = [fact for fact in held if wanted.takes(fact) and session_id in {None, fact.session_id}]
        if about is not None:
            person = check_word(about, "about")
            found = [fact for fact in found if people.is_about(fact, person, known, user_id)]
        return sorted(found, key=lambda fact: (-fact.importance, *conflicts.order(fact)))

    async def fact(self, fact_id: str) -> Fact:
        found = single(await self._parts.store.facts(ids=[fact_id]))
        if found is None:
            raise NotFound(f"no fact {fact_id!r}")
        return found

    async def _slot(self, fact: Fact) -> list[Fact]:
        """All facts about the same thing."""
        known = await self._parts.store.facts(fact.user_id)
        return [one for one in known if (one.category, one.slot) == (fact.category, fact.slot)]

    async def history(self, fact_id: str) -> list[Fact]:
        """Every value of what a fact is about, in the order they were learnt."""
        known = await self._parts.store.facts((await self.fact(fact_id)).user_id)
        return conflicts.history(fact_id, known)

    async def why(self, fact_id: str) -> Why:
        fact = await self.fact(fact_id)
        slot = await self._slot(fact)
        by_id = {one.id: one for one in slot}
        before = next((one for one in reversed(slot) if one.of == fact.id and one.status == "superseded"), None)
        links = await self._parts.store.links(fact.user_id)
        why = Why(
            fact=fact,
            message=None
            if fact.message_id is None
            else single(await self._parts.store.messages(ids=[fact.message_id])),
            evidence=tuple(one for one in slot if one.status == "evidence" and one.of == fact.id),
            before=before,
            after=by_id.get(fact.of or "") if fact.status in {"superseded", "archived"} else None,
            conflicts=tuple(one for one in slot if one.status == "conflicted" and fact.id in {one.of, one.id})
            if fact.status != "conflicted"
            else tuple(one for one in slot if one.id == fact.of),
            links=tuple(link for link in links if fact.id in {link.source, link.target}),
            reasons=(),
        )
        return replace(why, reasons=tuple(conflicts.reasons(why, conflicts.rule_of(self._parts.profile))))

    async def user_profile(
        self, user_id: str, as_of: datetime | None, known_at: datetime | None, project_id: str | None
    ) -> UserProfile:
        now = self._parts.now()
        facts = await self.facts(user_id, as_of=as_of, known_at=known_at, project_id=project_id, wanted=Filter())
        choice = opt_out_of(PREFIX + user_id, await self._parts.store.setting(PREFIX + user_id))
        return user_profile.profile(user_id, facts, as_of or known_at or now, known_at or now, choice)

    # by hand

    async def remember(self, given: Told, *, verbatim: bool = False) -> list[Remembered]:
        """Store a memory told by hand, read as if the user had said it; with `verbatim`, as it is.

        A value that had been forgotten may be known again.
        """
        store, now, project_id = self._parts.store, self._parts.now(), given.project_id
        current = await store.facts(given.user_id, current=True)
        called = told.names_of(given.user_id, current)
        known = [projects.without_project(fact) for fact in current if fact.project_id == project_id]
        statement = None if verbatim else await self._read(given, called, now)
        reader = self._parts.statement_reader
        telling = tellings.read_telling(
            given,
            statement,
            known,
            str if reader is None else functools.cache(functools.partial(reader.in_first_person, names=called)),
            now=now,
            new_id=lambda: self._parts.new_id("fact"),
            model="" if reader is None else reader.name,
        )
        told_facts = telling.facts
        if self._parts.profile.importance_by_type and given.importance is None:
            told_facts = tuple(replace(fact, importance=FACT_TYPES[fact.type]) for fact in told_facts)
        count = self._parts.counter.count
        facts, rests = (
            [
                projects.in_project(replace(fact, tokens=count(fact_words.describe_fact(fact))), project_id)
                for fact in some
            ]
            for some in (told_facts, telling.rests)
        )
        marks = await self._reader.marks(facts)
        commit = FactsCommit(
            user_id=given.user_id,
            rule=self._reader.rule,
            put=(*facts, *rests),
            change=tuple(projects.in_project(fact, project_id) for fact in telling.changed),
            unblock=tuple(marks.values()),
            newest=True,
        )
        await store.commit_facts(commit)
        return await self._remembered(facts, current)

    async def is_statement(self, text: str, user_id: str) -> bool:
        """Whether a text speaks of the user in the third person, and is no question."""
        reader = self._parts.statement_reader
        if reader is None or len(text) > told.MAX_VALUE or not self._parts.profile.facts:
            return False
        called = told.names_of(user_id, await self._parts.store.facts(user_id, current=True))
        if text.rstrip().endswith("?") or await beside_loop(lambda: reader.in_first_person(text, called)) == text:
            return False
        if await beside_loop(lambda: reader.names_user(text, called)):
            return True
        return bool((await beside_loop(lambda: reader.read(text, called, self._parts.now()))).drafts)

    async def _read(self, given: Told, names: Sequence[str], now: datetime) -> Statement | None:
        """What is read from a telling, as far as the profile wants it."""
        reader, profile = self._parts.statement_reader, self._parts.profile
        if reader is None or not profile.facts:
            return None
        read = await beside_loop(lambda: reader.read(given.text, names, now))
        return tellings.worth_keeping(read, given.text, self._reader.as_wanted)

    async def _remembered(self, facts: Sequence[Fact], known: Sequence[Fact]) -> list[Remembered]:
        """What became of facts that were put just now, in their order."""
        stored = {fact.id: fact for fact in await self._parts.store.facts(ids=[fact.id for fact in facts])}
        by_id = {fact.id: fact for fact in known}
        made: dict[str, Remembered] = {}
        for fact in (stored[one.id] for one in facts):
            if fact.status == "evidence" and fact.of is not None:
                current = await self.fact(fact.of)
                repeated = fact.holds and current.id in by_id
                made.setdefault(current.id, Remembered(fact=current, repeated=repeated, ended=not fact.holds))
            else:
                place = (fact.category, fact.slot)
                before = [one for one in known if (one.category, one.slot) == place and one.status == "active"]
                made[fact.id] = Remembered(fact=fact, before=before[-1] if before else None)
        return list(made.values())

    async def update(
        self,
        fact_id: str,
        value: str | None,
        *,
        tags: Sequence[str] | None,
        importance: float | None,
        valid_until: Any,
        expect: str | None = None,
    ) -> Fact:
        """A new version of a memory; the old one stays in its history."""
        old = _check_tag(await self.fact(fact_id), expect)
        if old.status not in {"active", "candidate", "conflicted"}:
            raise DoesNotFit(f"fact {fact_id!r} is {old.status}; update the current one, see history({fact_id!r})")
        now = self._parts.now()
        new = replace(
            old,
            id=self._parts.new_id("fact"),
            value=old.value if value is None else check_value(value),
            origin="told",
            tags=old.tags if tags is None else check_tags(tags),
            importance=old.importance if importance is None else check_share(importance, "importance"),
            confidence=1.0,
            learnt_at=now,
            valid_from=now,
            created_at=now,
            until=old.until if valid_until is None else moment(valid_until, "valid_until"),
            session_id=None,
            message_id=None,
            seq=0,
            role=None,
            quote="",
            start=0,
            end=0,
            question=None,
            question_id=None,
            model=None,
            replaces=old.id,
            verdict=None,
            verdict_at=None,
            verdict_by=None,
            accesses=0,
            accessed_at=None,
            decay=1.0,
        )
        new = replace(new, tokens=self._parts.counter.count(fact_words.describe_fact(new)))
        link = Link(source=new.id, target=old.id, type="supersedes", strength=1.0, created_at=now)
        marks = await self._reader.marks([new])
        await self._parts.store.commit_facts(
            FactsCommit(
                user_id=old.user_id,
                rule=self._reader.rule,
                put=(new,),
                links=(link,),
                unblock=tuple(marks.values()),
                expect=_expectation(fact_id, expect),
                newest=True,
            )
        )
        return await self.fact(new.id)

    async def judge(self, fact_id: str, verdict: Verdict, expect: str | None = None) -> Fact:
        """Promote, demote or retract a fact."""
        fact = _check_tag(await self.fact(fact_id), expect)
        if fact.status == "evidence":
            raise DoesNotFit(f"fact {fact_id!r} only bears on {fact.of!r}; name that one")
        judged = replace(fact, verdict=verdict, verdict_at=self._parts.now(), verdict_by=None)
        await self._parts.store.commit_facts(
            FactsCommit(
                user_id=fact.user_id,
                rule=self._reader.rule,
                change=(judged,),
                expect=_expectation(fact_id, expect),
            )
        )
        return await self.fact(fact_id)

    # links

    async def link(self, source: str, target: str, kind: str, strength: float) -> Link:
        one, other = await self._memory(source), await self._memory(target)
        if one.user_id != other.user_id:
            raise DoesNotFit("two memories can only be linked if they are of the same user")
        if one.id == other.id:
            raise InputError("a memory cannot be linked to itself")
        if kind not in LINK_TYPES:
            raise InputError(f"no link type {kind!r}; there are {list(LINK_TYPES)}")
        strength = check_share(strength, "strength")
        link = Link(source=source, target=target, type=kind, strength=strength, created_at=self._parts.now())
        if kind in ORDERED:
            links = [*await self._parts.store.links(one.user_id), link]
            if circle := next(circles([each for each in links if each.type == kind]), None):
                raise InputError(f"{circle}; link them the other way round, or by another type")
        await self._parts.store.commit_facts(FactsCommit(user_id=one.user_id, rule=self._reader.rule, links=(link,)))
        known = await self._parts.store.links(one.user_id)
        return next((old for old in known if (old.source, old.target, old.type) == (source, target, kind)), link)

    async def _memory(self, memory_id: str) -> Memorable:
        found = await self._find(memory_id)
        if found is None:
            raise NotFound(f"no memory {memory_id!r}; give the id of a fact or an episode")
        return found

    async def graph(self, memory_id: str, depth: int, types: frozenset[str]) -> Graph:
        """What can be reached from a memory in so many steps."""
        if not isinstance(depth, int) or not 0 <= depth <= _MAX_DEPTH:
            raise InputError(f"depth must be a whole number from 0 to {_MAX_DEPTH}, not {depth!r}")
        if unknown := sorted(types - set(LINK_TYPES)):
            raise InputError(f"no link types {unknown}; there are {list(LINK_TYPES)}")
        start = await self._memory(memory_id)
        links = await self._parts.store.links(start.user_id)
        for episode in await self._parts.store.episodes(start.user_id):
            links.extend(
                Link(source=episode.id, target=linked, type="related_to", strength=1.0, created_at=episode.created_at)
                for linked in episode.linked
            )
        usable = [link for link in links if not types or link.type in types]
        reached, edge = {memory_id}, {memory_id}
        for _ in range(depth):
            edge = {
                end for link in usable for end in (link.source, link.target) if edge & {link.source, link.target}
            } - reached
            reached |= edge
        nodes = [await self._find(node) for node in sorted(reached - {memory_id})]
        kept = [start, *(node for node in nodes if node is not None)]
        ids = {node.id for node in kept}
        within = [link for link in usable if {link.source, link.target} <= ids]
        return Graph(nodes=tuple(kept), links=tuple(within))

    async def _find(self, memory_id: str) -> Memorable | None:
        store = self._parts.store
        found: list[Memorable] = [*await store.facts(ids=[memory_id]), *await store.episodes(ids=[memory_id])]
        return single(found)

    # episodes

    async def episodes(
        self,
        user_id: str,
        *,
        session_id: str | None,
        project_id: str | None,
        kinds: frozenset[str],
        wanted: Filter,
    ) -> list[Episode]:
        found = await self._parts.store.episodes(user_id, session_id)
        asked = EVERY_PROJECT if project_id is None and session_id is not None else project_id
        return [
            one
            for one in found
            if (not kinds or one.kind in kinds)
            and projects.is_seen(one.project_id, asked)
            and one.significance >= wanted.min_importance
            and wanted.in_time(one.happened_at)
        ]

    async def add_episode(
        self,
        session_id: str,
        kind: EpisodeKind,
        title: str,
        *,
        summary: str,
        context: str,
        participants: Sequence[str],
        outcome: str | None,
        valence: float,
        significance: float,
        turns: Span | None,
        linked: Sequence[str],
    ) -> Episode:
        """Store an episode told by hand."""
        session = await require_session(self._parts.store, session_id)
        last = max(1, session.counters.turns)
        span = Span(first=last, last=last) if turns is None else turns
        if not 1 <= span.first <= span.last <= last:
            raise DoesNotFit(f"turns must lie within 1 to {last}, first before last")
        for memory_id in linked:
            await self._memory(memory_id)
        if not isinstance(valence, int | float) or not -1 <= valence <= 1:
            raise InputError(f"valence must be a number from -1 to 1, not {valence!r}")
        now = self._parts.now()
        episode = Episode(
            id=self._parts.new_id("epi"),
            user_id=session.user_id,
            project_id=session.project_id,
            kind=kind,
            title=check_value(title),
            summary=summary or title,
            context=context,
            participants=tuple(participants),
            outcome=outcome,
            valence=float(valence),
            significance=check_share(significance, "significance"),
            session_id=session_id,
            turns=span,
            message_ids=(),
            happened_at=session.last_at,
            created_at=now,
            origin="told",
            linked=tuple(linked),
            tokens=self._parts.counter.count(f"{title}\n{summary}"),
        )
        await self._parts.store.commit_facts(
            FactsCommit(
                user_id=session.user_id,
                rule=self._reader.rule,
                episodes=(episode,),
                most_episodes=self._parts.profile.max_episodes,
            )
        )
        return episode

    async def arc(self, session_id: str) -> Arc:
        session = await require_session(self._parts.store, session_id)
        found = await self._parts.store.episodes(session.user_id, session_id)
        return episode_policy.arc(found, session.counters.turns)

    # agreement

    async def divergences(self, user_id: str) -> list[Divergence]:
        """Where live summaries do not agree with the facts."""
        store = self._parts.store
        by_project: dict[str | None, list[Summary]] = {}
        async for session in every_session(store, user_id):
            by_project.setdefault(session.project_id, []).extend(await store.summaries(session.id))
        for digest in await store.summaries(user_id=user_id, digests=True):
            by_project.setdefault(digest.project_id, []).append(digest)
        facts = await store.facts(user_id)
        return [
            one
            for project_id, summaries in by_project.items()
            for one in consistency.divergences(projects.seen(facts, project_id), summaries)
        ]


def _check_tag(fact: Fact, tag: str | None) -> Fact:
    """The fact, if it is as it was when it was read; the store looks again when it is changed."""
    if tag is not None and fact.tag != tag:
        raise Stale(f"fact {fact.id!r} is not as it was when it was read, and was left as it is; read it again")
    return fact


def _expectation(fact_id: str, tag: str | None) -> tuple[str, str] | None:
    return None if tag is None else (fact_id, tag)
