"""The verbs over what is known: facts, memories, episodes, consolidation, forgetting, making anew."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from lamina.errors import InputError
from lamina.folding.regenerate import Regeneration
from lamina.forgetting import redact
from lamina.forgetting.forget import Forgetting
from lamina.knowledge.accesses import Accesses
from lamina.knowledge.consolidate import Consolidation
from lamina.knowledge.facts import Knowledge
from lamina.knowledge.standing import Filter
from lamina.language.times import moment
from lamina.log.messages import checked_id
from lamina.parts import Parts, Progress
from lamina.protocols.models import Extractor, Prompt, Summariser
from lamina.tracing import traced
from lamina.values.fact import (
    EPISODE_KINDS,
    FACT_STATUSES,
    FACT_TYPES,
    Arc,
    Consolidated,
    Episode,
    EpisodeKind,
    Fact,
    FactType,
    Fading,
    Graph,
    Link,
    UserProfile,
    Why,
)
from lamina.values.message import Span
from lamina.values.receipt import Receipt
from lamina.values.summary import Divergence, Proposal

DEFAULT_USER = "default"


class KnownVerbs:
    """What a memory knows, and forgets."""

    _parts: Parts
    _accesses: Accesses
    _knowledge: Knowledge
    _consolidation: Consolidation
    _forgetting: Forgetting
    _regeneration: Regeneration

    async def _note_profile(self) -> None:
        """Remember the profile with the data, before something is written by its rules."""

    @property
    def tenant(self) -> str:
        """Whose memory it is."""
        return self._parts.store.tenant

    # facts in time

    async def facts(
        self,
        user_id: str = DEFAULT_USER,
        *,
        as_of: Any = None,
        known_at: Any = None,
        session_id: str | None = None,
        statuses: Sequence[str] = (),
        types: Sequence[str] = (),
        categories: Sequence[str] = (),
        tags: Sequence[str] = (),
        since: Any = None,
        until: Any = None,
        min_importance: float = 0.0,
    ) -> list[Fact]:
        """What holds of a user now, or at `as_of`, by what was known at `known_at`; the most important first.

        With `statuses`, all facts that have one of them, whether they hold or not. The rest are filters.
        """
        return await self._knowledge.facts(
            checked_id(user_id, "user_id"),
            as_of=None if as_of is None else moment(as_of, "as_of"),
            known_at=None if known_at is None else moment(known_at, "known_at"),
            session_id=session_id,
            wanted=as_filter(
                types=types,
                categories=categories,
                tags=tags,
                statuses=statuses,
                since=since,
                until=until,
                min_importance=min_importance,
            ),
        )

    async def fact(self, fact_id: str, *, rehearsal: bool = False) -> Fact:
        """One fact. To read it counts as a use, which keeps it fresh, unless it is a `rehearsal`: only to look at."""
        found = await self._knowledge.fact(fact_id)
        if not rehearsal:
            self._accesses.note([fact_id])
        return found

    async def history(self, fact_id: str) -> list[Fact]:
        """Every value of what a fact is about, in the order they were learnt."""
        return await self._knowledge.history(fact_id)

    async def why(self, fact_id: str) -> Why:
        """Where a fact comes from, word for word, and why it stands as it does."""
        return await self._knowledge.why(fact_id)

    async def user_profile(
        self, user_id: str = DEFAULT_USER, *, as_of: Any = None, known_at: Any = None
    ) -> UserProfile:
        """What is known of a user, as a page (`markdown`) and as data (`to_dict()`), now or at another time."""
        return await self._knowledge.user_profile(
            checked_id(user_id, "user_id"),
            None if as_of is None else moment(as_of, "as_of"),
            None if known_at is None else moment(known_at, "known_at"),
        )

    # memories by hand

    @traced("create_memory")
    async def remember(
        self,
        text: str,
        *,
        user_id: str = DEFAULT_USER,
        type: FactType = "fact",  # noqa: A002 - the word of the glossary
        category: str | None = None,
        key: str | None = None,
        tags: Sequence[str] = (),
        importance: float | None = None,
        confidence: float = 1.0,
        valid_from: Any = None,
        valid_until: Any = None,
    ) -> Fact:
        """Store a memory by hand. With a `key`, it takes the place of what that key had; told twice, it is one."""
        await self._note_profile()
        told = self._knowledge.told(
            text,
            user_id=checked_id(user_id, "user_id"),
            type=type,
            category=category,
            key=key,
            tags=tags,
            importance=importance,
            confidence=confidence,
            valid_from=valid_from,
            valid_until=valid_until,
        )
        return await self._knowledge.remember(told)

    @traced("update_memory")
    async def update(
        self,
        fact_id: str,
        value: str | None = None,
        *,
        tags: Sequence[str] | None = None,
        importance: float | None = None,
        valid_until: Any = None,
        expect: str | None = None,
    ) -> Fact:
        """A new version of a memory; the old one stays in its history.

        `expect` is the tag that the fact had when it was read; if it has another by now, nothing changes.
        """
        await self._note_profile()
        return await self._knowledge.update(
            fact_id, value, tags=tags, importance=importance, valid_until=valid_until, expect=expect
        )

    @traced("update_memory")
    async def promote(self, fact_id: str, *, expect: str | None = None) -> Fact:
        """Make a candidate, or one side of a conflict, the value that holds."""
        await self._note_profile()
        return await self._knowledge.judge(fact_id, "promoted", expect)

    @traced("update_memory")
    async def demote(self, fact_id: str, *, expect: str | None = None) -> Fact:
        """Make a fact a candidate; what held before holds again."""
        await self._note_profile()
        return await self._knowledge.judge(fact_id, "demoted", expect)

    @traced("update_memory")
    async def retract(self, fact_id: str, *, expect: str | None = None) -> Fact:
        """Say that a fact never held; what held before holds again. Its history tells."""
        await self._note_profile()
        return await self._knowledge.judge(fact_id, "retracted", expect)

    async def link(self, source: str, target: str, type: str = "related_to", strength: float = 1.0) -> Link:  # noqa: A002
        """Link two memories of a user, facts or episodes."""
        return await self._knowledge.link(source, target, type, strength)

    async def graph(self, memory_id: str, depth: int = 2, types: Sequence[str] = ()) -> Graph:
        """The memories that can be reached from one in so many steps, with the links between them."""
        return await self._knowledge.graph(memory_id, depth, _words(types, "types"))

    # episodes

    async def episodes(
        self,
        user_id: str = DEFAULT_USER,
        *,
        session_id: str | None = None,
        kinds: Sequence[str] = (),
        since: Any = None,
        until: Any = None,
        min_significance: float = 0.0,
    ) -> list[Episode]:
        """The moments that mattered, in the order they happened."""
        return await self._knowledge.episodes(
            checked_id(user_id, "user_id"),
            session_id=session_id,
            kinds=one_of(kinds, EPISODE_KINDS, "kind"),
            wanted=as_filter(since=since, until=until, min_importance=min_significance),
        )

    async def add_episode(
        self,
        session_id: str,
        kind: EpisodeKind,
        title: str,
        *,
        summary: str = "",
        context: str = "",
        participants: Sequence[str] = (),
        outcome: str | None = None,
        valence: float = 0.0,
        significance: float = 0.7,
        turns: tuple[int, int] | None = None,
        linked: Sequence[str] = (),
    ) -> Episode:
        """Store an episode by hand; `turns` are the first and last turn, by default the newest."""
        one_of([kind], EPISODE_KINDS, "kind")
        return await self._knowledge.add_episode(
            session_id,
            kind,
            title,
            summary=summary,
            context=context,
            participants=participants,
            outcome=outcome,
            valence=valence,
            significance=significance,
            turns=None if turns is None else _span(*turns),
            linked=linked,
        )

    async def arc(self, session_id: str) -> Arc:
        """The course of a session in episodes: beginning, middle, end, and the moments that mattered most."""
        return await self._knowledge.arc(session_id)

    # keeping what is known in order

    async def consolidate(self, user_id: str | None = None, *, progress: Progress | None = None) -> Consolidated:
        """Let memories decay, archive the faded ones, merge what is the same; of one user, or of all.

        For all, the profile's retention rules are applied too.
        """
        await self._accesses.flush()
        dropped = await self._forgetting.retain() if user_id is None else 0
        return replace(await self._consolidation.consolidate(user_id, progress), messages_dropped=dropped)

    async def fading(self, user_id: str = DEFAULT_USER) -> list[Fading]:
        """How fresh each fact that holds and each episode is, the most faded first, and when it would be archived."""
        return await self._consolidation.fading(checked_id(user_id, "user_id"))

    async def consistency(self, user_id: str = DEFAULT_USER) -> list[Divergence]:
        """Where summaries do not agree with the facts: values that no longer hold, or that are missing."""
        return await self._knowledge.divergences(checked_id(user_id, "user_id"))

    async def regenerate(
        self,
        session_id: str,
        first: int = 1,
        *,
        summariser: Summariser | None = None,
        extractor: Extractor | None = None,
        prompts: Mapping[str, str] | None = None,
        progress: Progress | None = None,
    ) -> Proposal:
        """Write the summaries and facts of a session anew, from a message on, beside the old ones.

        Nothing changes until `accept`. `summariser` and `extractor` are other models, `prompts` other prompts by name.
        """
        parts = self._parts
        texts = {name: Prompt(name=name, version=0, text=text) for name, text in (prompts or {}).items()}
        if unknown := sorted(set(texts) - set(parts.prompts)):
            raise InputError(f"no prompts {unknown}; there are {sorted(parts.prompts)}")
        recipe = replace(
            parts,
            summariser=summariser or parts.summariser,
            extractor=extractor or parts.extractor,
            prompts={**parts.prompts, **texts},
        )
        return await self._regeneration.propose(session_id, first, recipe, progress)

    async def proposals(self, session_id: str | None = None) -> list[Proposal]:
        """What was regenerated, the oldest first."""
        return await self._regeneration.proposals(session_id)

    async def accept(self, proposal_id: str) -> Proposal:
        """Put what was regenerated in place of what there is; the old versions are kept."""
        return await self._regeneration.accept(proposal_id)

    async def roll_back(self, proposal_id: str) -> Proposal:
        """Discard what was regenerated, or take its acceptance back."""
        return await self._regeneration.roll_back(proposal_id)

    # forgetting

    @traced("delete_memory")
    async def forget(
        self,
        *,
        user_id: str | None = None,
        session_id: str | None = None,
        message_id: str | Sequence[str] | None = None,
        first: int | None = None,
        last: int | None = None,
        fact_id: str | None = None,
        text: str | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> Receipt:
        """Erase for good, with all that was derived, and write the rest anew; the receipt says what was done.

        Give one of: `message_id` (one or several); `session_id` with `first` and `last`; `session_id` alone; `fact_id`;
        `text`, with `user_id` or `session_id`; or `user_id` alone, for everything of a user.
        """
        named = [name for name, given in (("message_id", message_id), ("fact_id", fact_id), ("text", text)) if given]
        if len(named) > 1 or (named and named != ["text"] and (session_id or user_id)):
            raise InputError(f"forget one thing at a time; {named} with {session_id=}, {user_id=} is not clear")
        if (first is None) != (last is None) or (first is not None and (session_id is None or named)):
            raise InputError("first and last are given together, with the session_id they count in")
        forget, how = self._forgetting, {"dry_run": dry_run, "progress": progress}
        if message_id:
            ids = [message_id] if isinstance(message_id, str) else list(message_id)
            return await forget.messages(ids, **how)  # type: ignore[arg-type]
        if fact_id:
            return await forget.fact(fact_id, **how)  # type: ignore[arg-type]
        if text is not None:
            return await forget.text(text, user_id or DEFAULT_USER, session_id, **how)  # type: ignore[arg-type]
        if session_id is not None and first is not None and last is not None:
            return await forget.span(session_id, _span(first, last), **how)  # type: ignore[arg-type]
        if session_id is not None:
            if user_id is not None:
                raise InputError("give session_id for one session, or user_id for everything of a user, not both")
            return await forget.session(session_id, **how)  # type: ignore[arg-type]
        if user_id is not None:
            return await forget.user(checked_id(user_id, "user_id"), **how)  # type: ignore[arg-type]
        raise InputError("say what to forget: message_id, session_id, fact_id, text or user_id")

    async def receipts(self) -> list[Receipt]:
        """What was forgotten so far, the oldest first: how much and when, never what."""
        store = self._parts.store
        scrub = redact.scrub_state(await store.setting("scrub"), store.clean)
        return [redact.with_scrub(redact.receipt_of(row), scrub) for row in await store.receipts()]


def as_filter(
    *,
    types: Sequence[str] = (),
    categories: Sequence[str] = (),
    tags: Sequence[str] = (),
    statuses: Sequence[str] = (),
    since: Any = None,
    until: Any = None,
    min_importance: float = 0.0,
) -> Filter:
    """A filter from what a caller gave, checked."""
    if isinstance(min_importance, bool) or not isinstance(min_importance, int | float) or not 0 <= min_importance <= 1:
        raise InputError(f"the least importance is a number from 0 to 1, not {min_importance!r}")
    return Filter(
        types=one_of(types, tuple(FACT_TYPES), "type"),
        categories=_words(categories, "categories"),
        tags=_words(tags, "tags"),
        statuses=one_of(statuses, FACT_STATUSES, "status"),
        since=None if since is None else moment(since, "since"),
        until=None if until is None else moment(until, "until"),
        min_importance=float(min_importance),
    )


def _span(first: Any, last: Any) -> Span:
    numbers = isinstance(first, int) and isinstance(last, int)
    if not numbers or not 1 <= first <= last:
        raise InputError(f"first and last are numbers from 1 on, first before last, not {first!r} and {last!r}")
    return Span(first=first, last=last)


def one_of(given: Any, known: Sequence[str], name: str) -> frozenset[str]:
    words = _words(given, f"{name}s")
    if unknown := sorted(words - set(known)):
        raise InputError(f"no {name} {unknown[0]!r}; there are {list(known)}")
    return words


def _words(given: Any, name: str) -> frozenset[str]:
    if isinstance(given, str):
        return frozenset((given,))
    try:
        words = frozenset(given)
    except TypeError:
        raise InputError(f"{name} must be a list of words, not {type(given).__name__}") from None
    if not all(isinstance(word, str) for word in words):
        raise InputError(f"{name} must be a list of words")
    return words
