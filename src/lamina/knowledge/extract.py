"""Facts and episodes: read from each message once, in the background, and committed with how far was read."""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from lamina.knowledge import conflicts, draft_selection, fact_drafts, fact_words, projects, restatements, speakers
from lamina.knowledge.changes import place_changes
from lamina.knowledge.speakers import Speakers
from lamina.log.erased import is_emptied, is_emptied_episode
from lamina.log.pages import cuts_of
from lamina.model_calls import call, call_with_fallback
from lamina.parts import Parts
from lamina.protocols.models import EpisodeDraft, EpisodeExtractor, Extractor, FactDraft
from lamina.protocols.store import FactsCommit, Reading
from lamina.values.fact import FACT_TYPES, ConflictRule, Episode, Fact
from lamina.values.message import Message, Span
from lamina.values.session import Session

Found = TypeVar("Found", FactDraft, EpisodeDraft)
Model = TypeVar("Model", Extractor, EpisodeExtractor)

logger = logging.getLogger("lamina.facts")

_BATCH = 200  # messages read at once
_BEFORE = 4  # messages before them, so that a moment can be told apart from what it came out of
_SECRET_BYTES = 32
_MAX_HEARD = 1_000  # sessions whose speakers are kept in mind
_HEARD = frozenset(("user", "assistant"))  # whose messages are read


class Reader:
    """Reads messages for what is worth knowing."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._secret: bytes | None = None
        self._heard: dict[str, tuple[int, int, frozenset[str]]] = {}  # session -> erasures, messages, names in them

    @property
    def rule(self) -> ConflictRule:
        """By which facts of one slot stand."""
        return conflicts.rule_of(self._parts.profile)

    @property
    def batch(self) -> int:
        """How many messages are read at once: fewer where a model is slow and says so by its `batch`."""
        if not fact_drafts.reads(self._parts.profile):
            return 0
        return min(getattr(model, "batch", _BATCH) for model in (self._parts.extractor, self._parts.episode_extractor))

    async def read(self, session: Session, messages: Sequence[Message]) -> int:
        """Read messages of a session; how many facts were found. Raises ModelError to be tried again."""
        done = session.counters.extracted
        reading = Reading(
            session_id=session.id,
            expect=done,
            erasures=session.erasures,
            upto=max((message.seq for message in messages), default=session.counters.messages),
            again=tuple(message.seq for message in messages if message.seq <= done),
        )
        fresh = [message for message in messages if message.seq > done]
        facts = await self.facts(session, fresh, await self._hear(session, fresh))
        known = await self._episodes_to_retell(session, {message.id for message in messages if message.seq <= done})
        found = {one.id: one for one in await self._find_episodes(session, messages, facts, known)}
        episodes = tuple(one for one in found.values() if one.id not in known)
        commit = FactsCommit(
            user_id=session.user_id,
            rule=self.rule,
            put=facts,
            marks=await self.marks(facts),
            episodes=episodes,
            change_episodes=tuple(one for one in found.values() if one.id in known),
            drop_episodes=tuple(one.id for one in known.values() if one.id not in found and is_emptied_episode(one)),
            most_episodes=self._parts.profile.max_episodes,
            reading=reading,
        )
        if not await self._parts.store.commit_facts(commit):
            logger.info("reading_overtaken", extra={"session": session.id, "extracted": done})
            return 0
        if facts or episodes:
            logger.info(
                "extracted", extra={"session": session.id, "upto": reading.upto, "facts": len(facts),
                                    "episodes": len(episodes)}
            )  # fmt: skip
        return len(facts)

    async def marks(self, facts: Sequence[Fact]) -> dict[str, bytes]:
        """What would be kept of each fact if it were forgotten."""
        if not facts:
            return {}
        secret = await self.secret()
        return {fact.id: fact_words.mark(secret, fact) for fact in facts}

    async def secret(self) -> bytes:
        """What marks are made with."""
        if self._secret is None:
            fresh = self._parts.random_bytes(_SECRET_BYTES).hex()
            self._secret = bytes.fromhex(await self._parts.store.put_setting("secret", fresh, keep=True))
        return self._secret

    # facts

    async def facts(
        self, session: Session, messages: Sequence[Message], heard: Speakers | None = None
    ) -> tuple[Fact, ...]:
        """The facts in messages of a session; without `heard`, all are the user's own words."""
        extractor, profile = self._parts.extractor, self._parts.profile
        talk = [message for message in messages if message.role in _HEARD and not is_emptied(message)]
        by_id = {message.id: message for message in talk if message.role == "user"}
        if extractor is None or not profile.facts or not by_id:
            return ()
        talk = [*await self._asked_before(talk[0]), *talk]
        found: dict[tuple[object, ...], Fact] = {}
        changes: set[str] = set()  # statements that say that something changed
        for selected, model in await self._select(session, extractor, talk):
            if (draft := self.as_wanted(selected)) is not None:
                message = by_id[draft.message_id]
                other = None if heard is None else heard.other(message)
                said = replace(draft, about=speakers.about_whom(draft.about, message, other))
                fact = self._fact(said, message, session.user_id, model)
                same = (fact.message_id, fact.category, fact.slot, fact.holds, fact_words.normalise_value(fact.value))
                found.setdefault(same, fact)
                if draft.key is None and draft.stands == "instead":
                    changes.add(fact.id)
        return await self._place(session, list(found.values()), changes)

    async def _place(self, session: Session, facts: Sequence[Fact], changes: set[str]) -> tuple[Fact, ...]:
        """The facts, of which those that repeat or change an older one have its slot, each in its project."""
        if not facts:
            return ()
        known = projects.said_in(await self._parts.store.facts(session.user_id, current=True), session.project_id)
        placed = place_changes(facts, known, str)
        flags = self.rule.conflicts == "flag"
        placed = restatements.place(placed, known, changes, flags=flags)
        placed = restatements.end_restated(placed, known, flags=flags)
        return tuple(projects.place(placed, session.project_id))

    async def _select(
        self, session: Session, extractor: Extractor, talk: Sequence[Message]
    ) -> Sequence[tuple[FactDraft, str]]:
        """The drafts in a talk that are to be believed, each with the name of the model that found it."""
        offline, messages = self._parts.offline_extractor, {one.id: one for one in talk if one.role == "user"}
        model, drafts = await self._answer(session, extractor, offline, lambda one: one.extract(talk))
        check, join = _checks(extractor, offline, model), _joins(extractor, offline, model)
        beside: Sequence[FactDraft] = ()
        if offline is not None and (join or (check and drafts)):
            _, beside = await self._answer(session, offline, offline, lambda one: one.extract(talk))
        known = await self._parts.store.facts(session.user_id, current=True) if check and drafts else ()
        current = projects.said_in(known, session.project_id)
        selection = draft_selection.select(
            drafts,
            model,
            messages,
            offline=beside,
            offline_model=offline.name if offline else "",
            current=draft_selection.current_values(current, self._parts.profile.category_names),
            check=check,
            join=join,
        )
        for draft, reason in selection.refused:
            _log_refusal(session, model, draft.category, reason)
        return selection.taken

    async def _asked_before(self, message: Message) -> list[Message]:
        """The assistant's message before another: it may have asked what that one answers."""
        if message.seq <= 1 or message.role != "user":
            return []
        before = await self._parts.store.messages(message.session_id, Span(first=message.seq - 1, last=message.seq - 1))
        return [one for one in before if one.role == "assistant" and not is_emptied(one)]

    def as_wanted(self, draft: FactDraft) -> FactDraft | None:
        """A draft with the profile's name of its category; None if the profile does not want facts like this."""
        profile = self._parts.profile
        category = profile.category_names.get(draft.category, draft.category)
        wanted = not profile.categories or category in profile.categories
        sure = draft.confidence >= profile.least_confidence and draft.importance >= profile.least_importance
        return replace(draft, category=category) if wanted and sure else None

    def _fact(self, draft: FactDraft, message: Message, user_id: str, model: str) -> Fact:
        parts = self._parts
        fact_id, now = parts.new_id("fact"), parts.now()
        fact = fact_drafts.fact_from_draft(draft, message, user_id=user_id, fact_id=fact_id, model=model, now=now)
        if parts.profile.importance_by_type:
            fact = replace(fact, importance=FACT_TYPES[fact.type])
        return self._with_tokens(fact)

    def _with_tokens(self, fact: Fact) -> Fact:
        return replace(fact, tokens=self._parts.counter.count(fact_words.describe_fact(fact)))

    # who speaks

    async def _hear(self, session: Session, messages: Sequence[Message]) -> Speakers | None:
        """Who speaks in a session up to these messages; None if nobody there has a name.

        If they are the first to bring a second name, what was read before is said by whom it names.
        """
        if not speakers.names_in(messages):
            return None
        first, last = messages[0].seq, messages[-1].seq
        before = await self._names(session, first - 1)
        names = before | speakers.names_in(messages)
        if len(self._heard) >= _MAX_HEARD:
            self._heard.clear()
        self._heard[session.id] = (session.erasures, last, names)
        heard = Speakers(names=names)
        if heard.is_group:
            known = await self._parts.store.facts(session.user_id, current=True)
            heard = replace(heard, own=speakers.own_names(session.user_id, known, session.id))
            if len(before) == 1:
                await self._reattribute(session, heard)
        return heard

    async def _names(self, session: Session, upto: int) -> frozenset[str]:
        """The names in the first messages of a session."""
        erasures, read, names = self._heard.get(session.id, (session.erasures, 0, frozenset[str]()))
        if erasures != session.erasures or read > upto:
            read, names = 0, frozenset()
        while read < upto:
            span = Span(first=read + 1, last=min(upto, read + _BATCH))
            names |= speakers.names_in(await self._parts.store.messages(session.id, span))
            read = span.last
        return names

    async def hear_again(self, session: Session) -> None:
        """Say anew whose the facts of a session are, since some who spoke in it were forgotten."""
        self._heard.pop(session.id, None)
        names = await self._names(session, session.counters.extracted)
        known = await self._parts.store.facts(session.user_id, current=True)
        own = speakers.own_names(session.user_id, known, session.id)
        await self._reattribute(session, Speakers(names=names, own=own))

    async def _reattribute(self, session: Session, heard: Speakers) -> None:
        store = self._parts.store
        for _ in range(self._parts.patience.attempts):
            cuts = await cuts_of(store, session.user_id)
            facts = await store.facts(session.user_id, session.id)
            ids = sorted({fact.message_id for fact in facts if fact.message_id is not None})
            moved = speakers.reattributed(facts, await store.messages(ids=ids), heard)
            commit = FactsCommit(
                user_id=session.user_id,
                rule=self.rule,
                drop=tuple(fact.id for fact in moved),
                put=tuple(self._with_tokens(fact) for fact in moved),
                marks=await self.marks(moved),
                cuts=cuts,
            )
            if not moved or await store.commit_facts(commit):
                return

    # episodes

    async def _episodes_to_retell(self, session: Session, again: set[str]) -> dict[str, Episode]:
        """The episodes that were found in messages that are read again, since something of them was forgotten."""
        found = await self._parts.store.episodes(session.user_id, session.id) if again else []
        return {one.id: one for one in found if one.origin == "said" and one.message_ids[0] in again}

    async def _find_episodes(
        self, session: Session, messages: Sequence[Message], facts: Sequence[Fact], known: Mapping[str, Episode]
    ) -> list[Episode]:
        """The episodes in messages of a session; one that was known there keeps its id, its links and its use."""
        whole = [message for message in messages if not is_emptied(message)]
        if not whole:
            return []
        before = {(one.message_ids[0], one.kind): one for one in known.values()}
        own_facts = [*facts, *(await self._parts.store.facts(session.user_id, session.id) if known else ())]
        found = []
        for episode in await self._episodes(session, whole):
            old = before.get((episode.message_ids[0], episode.kind))
            found.append(_link_facts(episode, own_facts) if old is None else _again(episode, old))
        return found

    async def _episodes(self, session: Session, messages: Sequence[Message]) -> tuple[Episode, ...]:
        episode_extractor = self._parts.episode_extractor
        if episode_extractor is None or not self._parts.profile.episodes:
            return ()
        first = messages[0].seq
        before = await self._parts.store.messages(session.id, Span(first=max(1, first - _BEFORE), last=first - 1))
        known = {message.id: message for message in (*before, *messages)}
        found = await self._select_episodes(session, episode_extractor, messages, before)
        return tuple(
            self._episode(draft, known[draft.message_id], list(known.values()), session, model)
            for draft, model in found
        )

    async def _select_episodes(
        self, session: Session, extractor: EpisodeExtractor, messages: Sequence[Message], before: Sequence[Message]
    ) -> Sequence[tuple[EpisodeDraft, str]]:
        """The episodes in messages that are to be believed, each with the name of the model that found it."""

        def ask(one: EpisodeExtractor) -> Awaitable[Sequence[EpisodeDraft]]:
            return one.extract_episodes(messages, before)

        offline = self._parts.offline_episode_extractor
        model, drafts = await self._answer(session, extractor, offline, ask)
        check, join = _checks(extractor, offline, model), _joins(extractor, offline, model)
        beside: Sequence[EpisodeDraft] = ()
        if offline is not None and join:
            _, beside = await self._answer(session, offline, offline, ask)
        selection = draft_selection.select_episodes(
            drafts,
            model,
            messages,
            before,
            offline=beside,
            offline_model=offline.name if offline else "",
            known=await self._parts.store.episodes(session.user_id, session.id) if check and drafts else (),
            check=check,
        )
        for draft, reason in selection.refused:
            _log_refusal(session, model, draft.kind, reason)
        return selection.taken

    def _episode(
        self, draft: EpisodeDraft, message: Message, known: Sequence[Message], session: Session, model: str
    ) -> Episode:
        near = [one for one in known if message.seq - _BEFORE <= one.seq < message.seq]
        sources = [one.id for one in near if draft.context and draft.context.rstrip("… ") in one.text]
        speakers = (message, *(one for one in near if one.turn == message.turn))
        return Episode(
            id=self._parts.new_id("epi"),
            user_id=session.user_id,
            project_id=session.project_id,
            kind=draft.kind,
            title=draft.title,
            summary=draft.summary,
            context=draft.context if sources else "",
            participants=tuple(dict.fromkeys(one.name or one.role for one in speakers)),
            outcome=draft.outcome,
            valence=draft.valence,
            significance=draft.significance,
            session_id=message.session_id,
            turns=Span(first=message.turn, last=message.turn),
            message_ids=(message.id, *sources),
            happened_at=message.created_at,
            created_at=self._parts.now(),
            model=model,
            tokens=self._parts.counter.count(f"{draft.title}\n{draft.summary}"),
        )

    async def _answer(
        self, session: Session, model: Model, offline: Model | None, ask: Callable[[Model], Awaitable[Sequence[Found]]]
    ) -> tuple[str, Sequence[Found]]:
        """What a model found, and its name; nothing if the offline one fails too, so that no session waits for ever."""
        patience = self._parts.patience
        answer = await call_with_fallback(
            model,
            offline,
            lambda one: call(ask(one), patience.model_seconds),
            retry=session.attempts + 1 < patience.attempts,
        )
        failed = {"session": session.id, "reason": answer.failure}
        if answer.failure and offline is not None and offline is not model:
            logger.warning("facts_fallback", extra={**failed, "model": answer.model})
        if answer.value is None:
            logger.warning("facts_skipped", extra=failed)
        return answer.model, answer.value or ()


def _checks(extractor: Model, offline: Model | None, model: str) -> bool:
    """Whether what was found must be supported by the words: all but what the offline one, or a trusted one, found."""
    return extractor is not offline and model == extractor.name and not getattr(extractor, "trusted", False)


def _joins(extractor: Model, offline: Model | None, model: str) -> bool:
    """Whether what only the offline one finds is taken as well."""
    return extractor is not offline and model == extractor.name and bool(getattr(extractor, "with_offline", False))


def _log_refusal(session: Session, model: str, category: str, reason: str) -> None:
    extra = {"session": session.id, "model": model, "category": category, "reason": reason}
    logger.warning("draft_refused", extra=extra)


def _again(episode: Episode, old: Episode) -> Episode:
    """A known episode in its new words."""
    return replace(
        episode,
        id=old.id,
        created_at=old.created_at,
        linked=old.linked,
        merged=old.merged,
        accesses=old.accesses,
        accessed_at=old.accessed_at,
        decay=old.decay,
    )


def _link_facts(episode: Episode, facts: Sequence[Fact]) -> Episode:
    """An episode with the facts that were said in the same message."""
    return replace(episode, linked=tuple(fact.id for fact in facts if fact.message_id == episode.message_ids[0]))
