"""Facts and episodes: read from each message once, in the background, and committed with how far was read."""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from lamina.knowledge import conflicts, fact_drafts, fact_words
from lamina.log.erased import is_emptied, is_emptied_episode
from lamina.model_calls import call, call_with_fallback
from lamina.parts import Parts
from lamina.protocols.models import EpisodeDraft, EpisodeExtractor, Extractor, FactDraft
from lamina.protocols.store import FactsCommit, Reading
from lamina.values.fact import ConflictRule, Episode, Fact
from lamina.values.message import Message, Span
from lamina.values.session import Session

Found = TypeVar("Found", FactDraft, EpisodeDraft)
Model = TypeVar("Model", Extractor, EpisodeExtractor)

logger = logging.getLogger("lamina.facts")

_BATCH = 200  # messages read at once
_BEFORE = 4  # messages before them, so that a moment can be told apart from what it came out of
_SECRET_BYTES = 32


class Reader:
    """Reads messages for what is worth knowing."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._secret: bytes | None = None

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
        facts = await self.facts(session, [message for message in messages if message.seq > done])
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

    async def facts(self, session: Session, messages: Sequence[Message]) -> tuple[Fact, ...]:
        """The facts in messages of a session."""
        extractor, profile = self._parts.extractor, self._parts.profile
        spoken = [message for message in messages if message.role == "user" and not is_emptied(message)]
        if extractor is None or not profile.facts or not spoken:
            return ()
        model, drafts = await self._answer(
            session, extractor, self._parts.offline_extractor, lambda one: one.extract(spoken)
        )
        by_id = {message.id: message for message in spoken}
        found: dict[tuple[object, ...], Fact] = {}
        for draft in drafts:
            message = by_id.get(draft.message_id)
            if message is None or not fact_drafts.is_faithful(draft, message):
                logger.warning(
                    "draft_refused", extra={"session": session.id, "model": model, "category": draft.category}
                )
            elif self._worth_keeping(draft):
                fact = self._fact(draft, message, session.user_id, model)
                same = (fact.message_id, fact.category, fact.slot, fact.holds, fact_words.normalise_value(fact.value))
                found.setdefault(same, fact)
        return tuple(found.values())

    def _worth_keeping(self, draft: FactDraft) -> bool:
        profile = self._parts.profile
        wanted = not profile.categories or draft.category in profile.categories
        sure = draft.confidence >= profile.least_confidence and draft.importance >= profile.least_importance
        return wanted and sure

    def _fact(self, draft: FactDraft, message: Message, user_id: str, model: str) -> Fact:
        parts = self._parts
        fact_id, now = parts.new_id("fact"), parts.now()
        fact = fact_drafts.fact_from_draft(draft, message, user_id=user_id, fact_id=fact_id, model=model, now=now)
        return replace(fact, tokens=parts.counter.count(fact_words.describe_fact(fact)))

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
        model, drafts = await self._answer(
            session,
            episode_extractor,
            self._parts.offline_episode_extractor,
            lambda one: one.extract_episodes(messages, before),
        )
        known = {message.id: message for message in (*before, *messages)}
        read = {message.id for message in messages}
        return tuple(
            self._episode(draft, known[draft.message_id], list(known.values()), session.user_id, model)
            for draft in drafts
            if draft.message_id in read
        )

    def _episode(
        self, draft: EpisodeDraft, message: Message, known: Sequence[Message], user_id: str, model: str
    ) -> Episode:
        near = [one for one in known if message.seq - _BEFORE <= one.seq < message.seq]
        sources = [one.id for one in near if draft.context and draft.context.rstrip("… ") in one.text]
        speakers = (message, *(one for one in near if one.turn == message.turn))
        return Episode(
            id=self._parts.new_id("epi"),
            user_id=user_id,
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
