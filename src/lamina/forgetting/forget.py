"""Forget: find what is meant, erase it with all that was derived from it, scrub the files, write the rest again."""

import json
import logging
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from lamina.counts import count
from lamina.errors import DoesNotFit, InputError, NotFound, StoreError
from lamina.forgetting import find, receipts, redact
from lamina.forgetting.standing_summaries import standing
from lamina.knowledge import fact_words, told
from lamina.knowledge.extract import Reader
from lamina.log import erased
from lamina.log.messages import text_of
from lamina.log.pages import every_session, require_session, single
from lamina.parts import Parts, Progress, SettlingSessions
from lamina.protocols.store import Contents, Erased, Erasure, Rewrite, SummaryCut, TitleCut
from lamina.values.fact import Fact
from lamina.values.message import Json, Message, Span
from lamina.values.receipt import Receipt, Scrub
from lamina.values.session import Session
from lamina.values.summary import Summary

logger = logging.getLogger("lamina.forget")

_SALT_BYTES = 16
_MIN_LENGTH = 2  # characters of a text to forget


@dataclass(slots=True)
class Plan:
    """What one forgetting is about to take."""

    user_id: str
    target: str
    nothing: str = "there was nothing to forget"  # what to say if nothing is found
    rewrites: list[Rewrite] = field(default_factory=list)
    sessions: list[str] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)
    episodes: list[str] = field(default_factory=list)
    milestones: list[str] = field(default_factory=list)
    titles: list[TitleCut] = field(default_factory=list)
    unfold: dict[str, int] = field(default_factory=dict)
    stands: dict[str, int] = field(default_factory=dict)
    cuts: list[SummaryCut] = field(default_factory=list)
    mentions: list[str] = field(default_factory=list)
    digests: bool = False
    user: bool = False
    derived: bool = True
    unless_touched: dict[str, datetime] = field(default_factory=dict)
    live: list[str] | None = None  # live summaries of the affected sessions; None: not read yet
    retold: bool = True  # an episode may have to be told again
    digest_due: bool = True  # the user's digest may have to be renewed
    vectors: bool = False  # all vectors of the user go
    block: bool = True  # values of facts that go are not extracted again
    renew: bool = True  # what was derived is written again from what is left

    @property
    def affected(self) -> set[str]:
        """Sessions of which something stays, though not all that was made of them."""
        return {change.session_id for change in self.rewrites} | set(self.unfold)

    @property
    def empty(self) -> bool:
        named = (self.rewrites, self.sessions, self.facts, self.episodes, self.milestones, self.titles, self.unfold)
        return not self.user and not self.digests and not any(named)


class Forgetting:
    """Forgets, and shows what it did."""

    def __init__(self, parts: Parts, reader: Reader, settle: SettlingSessions) -> None:
        self._parts = parts
        self._reader = reader
        self._settle = settle

    # what is meant: each gives a plan to execute

    async def messages(self, ids: Sequence[str]) -> Plan:
        """Whole messages, of one user."""
        known = {message.id: message for message in await self._parts.store.messages(ids=ids)}
        for message_id in ids:
            if message_id not in known:
                raise NotFound(f"no message {message_id!r}")
        found = [known[message_id] for message_id in dict.fromkeys(ids)]
        ids_ = dict.fromkeys(message.session_id for message in found)
        sessions = [await require_session(self._parts.store, session_id) for session_id in ids_]
        users = {session.user_id for session in sessions}
        if len(users) != 1:
            raise DoesNotFit("give messages of one user at a time")
        plan = Plan(user_id=users.pop(), target=count(len(found), "message"))
        plan.nothing = "these messages are forgotten already"
        self._empty(plan, found, sessions)
        return plan

    def _empty(self, plan: Plan, found: Sequence[Message], sessions: Sequence[Session]) -> None:
        """Plan to empty messages; a title goes if it has words of them."""
        plan.rewrites = [self.empty_message(message, erased.FORGOTTEN) for message in found if not _is_gone(message)]
        for session in sessions:
            texts = [message.text for message in found if message.session_id == session.id]
            if session.title and redact.shares_words(session.title, texts):
                plan.titles.append(TitleCut(session.id, session.title, erased.FORGOTTEN))

    async def span(self, session_id: str, span: Span) -> Plan:
        """Consecutive messages of a session."""
        session = await require_session(self._parts.store, session_id)
        found = await self._parts.store.messages(session_id, span)
        plan = Plan(user_id=session.user_id, target=f"messages {span.first} to {span.last} of a session")
        plan.nothing = (
            f"session {session_id!r} has {count(session.counters.messages, 'message')}; "
            f"of {span.first} to {span.last}, none is left to forget"
        )
        self._empty(plan, found, [session])
        return plan

    async def session(self, session_id: str) -> Plan:
        session = await require_session(self._parts.store, session_id)
        return Plan(user_id=session.user_id, target="a session", sessions=[session_id])

    async def project(self, user_id: str, project_id: str) -> Plan:
        """The sessions of a project of a user, and the facts that belong to it."""
        plan = Plan(user_id=user_id, target="a project", nothing=f"user {user_id!r} has nothing in {project_id!r}")
        plan.sessions = [one.id async for one in every_session(self._parts.store, user_id, project_id=project_id)]
        facts = await self._parts.store.facts(user_id)
        plan.facts = [fact.id for fact in facts if fact.project_id == project_id]
        if not (plan.sessions or facts or await self._parts.store.sessions(user_id=user_id, limit=1)):
            plan.nothing = await self._say_who_is_missing(plan)
        return plan

    async def fact(self, fact_id: str) -> Plan:
        """One value: wherever it was said as this fact, its words are taken out of the message.

        The receipt names the messages that have the value elsewhere.
        """
        fact = single(await self._parts.store.facts(ids=[fact_id]))
        if fact is None:
            raise NotFound(f"no fact {fact_id!r}")
        plan = Plan(user_id=fact.user_id, target=f"fact {fact_id}")
        words, known, said_in = fact_words.own_words(fact), list[Fact](), list[str | None]()
        async for page in self._pages(fact.user_id):
            if page.sessions or page.facts:
                known = list(page.facts)
                same = [one for one in known if _same_value(one, fact)]
                same += [text for text in known if any(_was_read_from(one, text) for one in same)]
                plan.facts, said_in = [one.id for one in same], [one.message_id for one in same]
                titled = [one for one in page.sessions if redact.mentions({"content": one.title}, {}, words)]
                plan.titles = [TitleCut(one.id, one.title, erased.FORGOTTEN) for one in titled if one.title]
            for message in page.messages:
                body, metadata = message.body, message.metadata
                if message.id in said_in and not _is_gone(message):
                    change = self._without(message, [one for one in known if one.message_id == message.id], plan.facts)
                    body, metadata = json.loads(change.body), json.loads(change.metadata)
                    plan.rewrites.append(change)
                if redact.mentions(body, metadata, words):
                    plan.mentions.append(message.id)
        plan.rewrites.sort(key=lambda change: said_in.index(change.message_id))
        return plan

    async def text(self, wanted: str, user_id: str, session_id: str | None) -> Plan:
        """Every message of a user or a session that has the words, and whatever else has them, however written."""
        if not isinstance(wanted, str) or len(find.needle(wanted)) < _MIN_LENGTH:
            raise InputError(f"text must have at least {_MIN_LENGTH} characters, so that not everything matches")
        if session_id is not None:
            user_id = (await require_session(self._parts.store, session_id)).user_id
        plan = Plan(user_id=user_id, target="messages that have a text")
        where = f"the memory of user {user_id!r}" if session_id is None else f"session {session_id!r} of {user_id!r}"
        plan.nothing = f"nothing in {where} has this text"
        first: Contents | None = None
        dropped, emptied = dict[str, int](), dict[str, dict[int, str]]()
        async for page in self._pages(user_id, session_id):
            first = first or page
            for message in page.messages:
                if erased.is_dropped(message):
                    dropped[message.session_id] = message.seq
                if redact.message_has(message, wanted) and not _is_gone(message):
                    plan.rewrites.append(self.empty_message(message, erased.FORGOTTEN))
                    emptied.setdefault(message.session_id, {})[message.seq] = message.text
        if first is not None:
            _match_derived(plan, wanted, first)
            self._keep_standing(plan, wanted, first, dropped, emptied)
            plan.digest_due = plan.digest_due or session_id is not None
            if not (session_id or first.sessions or first.facts):
                plan.nothing = await self._say_who_is_missing(plan)
        return plan

    def _keep_standing(
        self,
        plan: Plan,
        wanted: str,
        stored: Contents,
        dropped: Mapping[str, int],
        emptied: Mapping[str, Mapping[int, str]],
    ) -> None:
        """Plan to cut the words out of summaries of messages that are not here any more, and to keep the rest."""
        for session in stored.sessions:
            if session.id not in plan.affected or session.id not in dropped:
                continue
            own = [one for one in stored.summaries if one.session_id == session.id]
            said = emptied.get(session.id, {})
            kept = standing(own, dropped[session.id], wanted, said, self._parts.counter.count)
            if kept is not None:
                plan.stands[session.id] = kept.last
                plan.cuts += kept.cuts
                spans = [one.covers for one in own if one.covers and _has_words(one, wanted)]
                ends = session.counters.messages
                later = (span.first for span in spans if span.last > kept.last)
                plan.unfold[session.id] = min(later, default=ends + 1)

    async def _say_who_is_missing(self, plan: Plan) -> str:
        """Why there is nothing of a user: a misspelt name, unless nobody has said anything yet."""
        others = await self._parts.store.users(limit=1)
        return f"there is no user {plan.user_id!r}" if others else plan.nothing

    async def _pages(self, user_id: str, session_id: str | None = None) -> AsyncIterator[Contents]:
        """All that is stored of a user or a session, page by page."""
        page = await self._parts.store.contents(user_id, session_id)
        yield page
        while page.next is not None:
            page = await self._parts.store.contents(user_id, session_id, after=page.next)
            yield page

    # carrying it out

    async def execute(self, plan: Plan, *, dry_run: bool = False, progress: Progress | None = None) -> Receipt:
        """Erase, scrub the files, then write again what is left of what was derived, in the affected sessions only."""
        erasure = Erasure(
            user_id=plan.user_id,
            rule=self._reader.rule,
            receipt_id=self._parts.new_id("rcpt"),
            at=self._parts.now(),
            target=plan.target,
            secret=await self._secret(plan, dry_run=dry_run),
            rewrites=tuple(plan.rewrites),
            sessions=tuple(plan.sessions),
            unless_touched=plan.unless_touched,
            facts=tuple(plan.facts),
            episodes=tuple(plan.episodes),
            milestones=tuple(plan.milestones),
            titles=tuple(plan.titles),
            unfold=plan.unfold,
            stands=plan.stands,
            cuts=tuple(plan.cuts),
            user=plan.user,
            vectors=plan.vectors,
            derived=plan.derived,
            dry_run=dry_run,
        )
        if plan.empty:
            nothing = receipts.build_receipt(erasure, Erased())
            return replace(nothing, mentions_left=tuple(plan.mentions), nothing=plan.nothing)
        if plan.live is None:
            plan.live = await self._live(plan.affected)
        row = (await self._parts.store.erase(erasure)).receipt
        assert row is not None
        done = replace(receipts.receipt_of(row), dry_run=dry_run, mentions_left=tuple(plan.mentions))
        if done.empty:
            done = replace(done, nothing=plan.nothing)
        return done if dry_run else await self._finish(plan, done, progress)

    async def _secret(self, plan: Plan, *, dry_run: bool) -> bytes | None:
        """What marks values as not to be extracted again."""
        if not plan.block:
            return None
        return await self._reader.secret() if plan.facts and not dry_run else b""

    async def _finish(self, plan: Plan, done: Receipt, progress: Progress | None) -> Receipt:
        """What follows once it is erased. What a failing store leaves undone stays due to the worker."""
        scrub: Scrub = "dead"
        try:
            await self._hear_again(plan)
            scrub = await self._parts.store.scrub()
            if plan.derived and plan.renew and not plan.user and (done.summaries or done.digests or plan.retold):
                live = await self._settle(plan.user_id, sorted(plan.affected), progress, digest=plan.digest_due)
                cut = {one.after.id for one in plan.cuts}
                done = replace(done, rewritten=tuple(one for one in live if one in cut or one not in (plan.live or ())))
        except StoreError as error:
            logger.warning("forget_unfinished", extra={"receipt": done.id, "scrub": scrub, "reason": str(error)})
        logger.info(
            "forgot",
            extra={"receipt": done.id, "messages": len(done.messages), "redacted": len(done.redacted),
                   "sessions": len(done.sessions), "summaries": len(done.summaries), "facts": len(done.facts),
                   "episodes": len(done.episodes), "scrub": scrub},
        )  # fmt: skip
        return receipts.with_scrub(done, scrub)

    async def _hear_again(self, plan: Plan) -> None:
        """Where what others said is kept, one of them may have been forgotten: say anew whose it is."""
        for session_id in sorted(plan.affected if plan.derived else ()):
            facts = await self._parts.store.facts(plan.user_id, session_id)
            if any(fact.about is not None for fact in facts):
                await self._reader.hear_again(await require_session(self._parts.store, session_id))

    async def _live(self, sessions: Collection[str]) -> list[str]:
        found = [await self._parts.store.summaries(session_id) for session_id in sorted(sessions)]
        return [summary.id for summaries in found for summary in summaries]

    async def documents(self, found: Sequence[Session], *, unless_used: bool = False) -> int:
        """Forget sessions that tell nothing to any digest; how many. With `unless_used`, those not used since then."""
        gone = 0
        for user_id, own in _by_user(found).items():
            touched = {session.id: session.touched_at for session in own} if unless_used else {}
            plan = Plan(user_id=user_id, target="documents", sessions=[one.id for one in own], derived=False)
            plan.unless_touched = touched
            receipt = await self.execute(plan)
            gone += len(receipt.sessions)
        return gone

    # pieces

    def empty_message(self, message: Message, placeholder: str) -> Rewrite:
        """A message with nothing but a placeholder."""
        return self._rewrite(message, redact.empty_body(message, placeholder), {}, whole=True)

    def _without(self, message: Message, said: Sequence[Fact], forgotten: Sequence[str]) -> Rewrite:
        """A message without what is forgotten of the facts that were said in it."""
        gone = [fact for fact in said if fact.id in forgotten]
        others = [fact for fact in said if fact.id not in forgotten]
        words = redact.words_of(gone, others)
        left = redact.without(message, words)
        change = self._rewrite(message, *left, whole=False) if left else self.empty_message(message, erased.FORGOTTEN)
        telling = [told for fact in gone for told in fact_words.telling(fact) or [fact.value]]
        return replace(change, words=tuple(words), telling=tuple(telling))

    def _rewrite(self, message: Message, body: Json, metadata: Json, *, whole: bool) -> Rewrite:
        tokens, salt = self._parts.counter.count(text_of(body)), self._parts.random_bytes(_SALT_BYTES)
        return redact.rewrite(message, body, metadata, tokens=tokens, salt=salt, whole=whole)


def _match_derived(plan: Plan, wanted: str, stored: Contents) -> None:
    """Plan to erase what has the words though no message of it has: told by hand, or written by a model."""
    changed = {change.message_id for change in plan.rewrites}
    for fact in stored.facts:
        asked = fact.question is not None and fact.question_id not in changed and redact.has(fact.question, wanted)
        if asked or redact.has(redact.fact_words(fact), wanted):
            plan.facts.append(fact.id)
    plan.episodes += [one.id for one in stored.episodes if redact.has(redact.episode_words(one), wanted)]
    plan.milestones += [one.id for one in stored.milestones if redact.has(one.title, wanted)]
    titled = [one for one in stored.sessions if one.title and redact.has(one.title, wanted)]
    plan.titles += [TitleCut(one.id, one.title, redact.cut_title(one.title, wanted)) for one in titled if one.title]
    plan.digests = any(redact.has((digest.text, digest.topics), wanted) for digest in stored.digests)
    for summary in stored.summaries:
        if summary.session_id and summary.covers and _has_words(summary, wanted):
            first = plan.unfold.get(summary.session_id, summary.covers.first)
            plan.unfold[summary.session_id] = min(first, summary.covers.first)
    ends = {session.id: session.counters.messages for session in stored.sessions}
    for row in stored.proposals:
        if redact.has(json.loads(row.record), wanted):
            plan.unfold.setdefault(row.session_id, ends[row.session_id] + 1)
    plan.retold = any(not changed.isdisjoint(one.message_ids) for one in stored.episodes)
    live = [one for one in stored.summaries if one.status == "live" and one.session_id in plan.affected]
    plan.live = [one.id for one in live]
    only = stored.sessions[0] if len(stored.sessions) == 1 else None  # one that goes on is in no digest
    plan.digest_due = bool(stored.digests) or only is None or only.status in {"ended", "archived"}


def _has_words(summary: Summary, wanted: str) -> bool:
    return redact.has((summary.text, summary.topics), wanted)


def _by_user(found: Sequence[Session]) -> dict[str, list[Session]]:
    owned: dict[str, list[Session]] = {}
    for session in found:
        owned.setdefault(session.user_id, []).append(session)
    return owned


def _is_gone(message: Message) -> bool:
    return message.forgotten and message.body.get("content") == erased.FORGOTTEN


def _was_read_from(fact: Fact, text: Fact) -> bool:
    """Whether a text that was told, and is kept whole, is where a fact was read from."""
    return told.is_from_same_telling(text, fact) and redact.has(text.value, fact.value)


def _same_value(one: Fact, fact: Fact) -> bool:
    same_slot = (one.category, one.slot) == (fact.category, fact.slot)
    return same_slot and fact_words.normalise_value(one.value) == fact_words.normalise_value(fact.value)
