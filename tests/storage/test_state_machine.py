"""Whatever is done to them, in whatever order, the databases and the reference store show the same."""

import asyncio
import json
import tempfile
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from lamina.errors import LaminaError
from lamina.forgetting.receipts import broken_receipts
from lamina.knowledge.conflicts import by_slot, resolve
from lamina.knowledge.fact_words import mark
from lamina.language.words import terms
from lamina.log.pages import single
from lamina.maintenance import integrity
from lamina.protocols.store import Access, Erased, Reach, TitleCut
from lamina.storage.sqlite.sqlite_store import SqliteStore
from lamina.testing.oracle import OracleStore
from lamina.testing.samples import (
    RULE,
    SECRET,
    a_digest,
    a_draft,
    a_fact,
    a_fold,
    a_link,
    a_milestone,
    a_proposal,
    a_reading,
    a_rewrite,
    a_summary,
    a_swap,
    a_told_fact,
    an_append,
    an_episode,
    an_erasure,
    at,
    some_facts,
)
from lamina.values.fact import EPISODE_KINDS
from lamina.values.message import Span
from lamina.values.session import STATUSES
from lamina.values.summary import Source
from tests.sizes import share

SESSIONS = st.sampled_from(["s1", "s2", "s3", "é"])
USERS = st.sampled_from(["ann", "bob"])
OWNERS = st.sampled_from(["w1", "w2"])
WORDS = st.sampled_from(["tea", "Tea!", "green", "O'Brien", "café", "日本", "ß", "don't", "\u00b2", "x_y", "été"])
TEXTS = st.lists(WORDS, max_size=4).map(" ".join) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12
)
DRAFTS = st.builds(
    lambda number, text, role, minutes, timed: a_draft(f"m{number}", text, role=role, minutes=minutes)._replace(
        timed=timed
    ),
    st.integers(0, 30),
    TEXTS,
    st.sampled_from(["user", "assistant", "system"]),
    st.integers(0, 3),
    st.booleans(),
)
EMBEDDERS = st.sampled_from(["e1", "e2"])
VALUES = st.sampled_from(["tea", "Tea!", "milk", "rum"])
KEYS = st.sampled_from(["drink", "Drink", "meal", None])
VERDICTS = st.sampled_from([None, "promoted", "demoted", "retracted", "archived", "merged"])
UNITS = st.sampled_from([0.1, 0.5, 0.9])
ALL = Span(first=1, last=10_000)


def driven(work):
    """The result of a verb that waits for nothing, or the error it raised."""
    try:
        work.send(None)
    except StopIteration as stop:
        return stop.value
    except LaminaError as error:
        return type(error), str(error)
    raise AssertionError("a store waited for an event loop")


def found(matches):
    """Word matches without their order, which stores are free to choose."""
    items = sorted(item.id for item in matches.matches)
    return matches.documents, matches.frequency, items


def unordered(erased):
    """What was erased, without its order, which stores are free to choose."""
    if not isinstance(erased, Erased):
        return erased
    values = {**asdict(erased), "receipt": None if erased.receipt is None else signed(erased.receipt)}
    return {name: sorted(item) if type(item) is tuple else item for name, item in values.items()}


def signed(receipt):
    """What a receipt says, without the order of ids; its place in the chain follows from the order."""
    record = json.loads(receipt.record)
    return {name: sorted(item) if isinstance(item, list) else item for name, item in record.items()}


class Blocking:
    """A store that waits for a server, as one that waits for nothing."""

    def __init__(self, store):
        self.store = store
        self.loop = asyncio.new_event_loop()

    def __getattr__(self, name):
        async def verb(*args, **options):
            return self.loop.run_until_complete(getattr(self.store, name)(*args, **options))

        return verb

    async def close(self):
        self.loop.run_until_complete(self.store.close())
        self.loop.close()


class Stores(RuleBasedStateMachine):
    """SQLite beside the reference store."""

    def other(self):
        self.folder = tempfile.TemporaryDirectory()
        return SqliteStore(Path(self.folder.name) / "lamina.db")

    @initialize()
    def begin(self):
        self.database = self.other()
        self.memory = OracleStore()
        driven(self.database.open())
        self.minutes = 10
        self.made = 0
        self.claims = []
        self.late = []  # folds and readings that were begun and are not committed yet
        self.words = {"tea"}
        self.counted = {}  # user -> count and cuts

    def teardown(self):
        with suppress(AttributeError):
            driven(self.database.close())
            self.folder.cleanup()

    def both(self, verb):
        one, other = driven(verb(self.memory)), driven(verb(self.database))
        assert unordered(one) == unordered(other)
        return one

    def session_of(self, session_id) -> Any:
        return single(driven(self.memory.sessions(ids=[session_id])))

    def one_of(self, data, items, most=1):
        """Up to so many of what there is, and an id that there is not."""
        return tuple(data.draw(st.lists(st.sampled_from([*items, "nothing"]), max_size=most, unique=True)))

    def new_id(self, prefix):
        self.made += 1
        return f"{prefix}{self.made}"

    # the log

    @rule(
        session=SESSIONS,
        user=USERS,
        drafts=st.lists(DRAFTS, min_size=1, max_size=5),
        key=st.none() | st.sampled_from(["k1", "k2"]),
        due=st.booleans(),
    )
    def append(self, session, user, drafts, key, due):
        for draft in drafts:
            self.words.update(terms(draft.text))
        append = an_append(session, *drafts, user_id=user, minutes=self.minutes, key=key, due=due)
        self.both(lambda store: store.append(append))

    @rule(session=SESSIONS)
    def append_the_same_again(self, session):
        stored = driven(self.memory.messages(session, ALL))
        owner = self.session_of(session)
        drafts = [a_draft(m.id, m.text, role=m.role, minutes=0) for m in stored[-3:]]  # some may be forgotten
        drafts = [draft._replace(created_at=m.created_at) for draft, m in zip(drafts, stored[-3:], strict=True)]
        if drafts:
            append = an_append(session, *drafts, user_id=owner.user_id, minutes=self.minutes)
            assert self.both(lambda store: store.append(append)).span is None

    # sessions

    @rule(session=SESSIONS, status=st.sampled_from(STATUSES))
    def set_status(self, session, status):
        self.both(lambda store: store.update_session(session, at(self.minutes), status=status))

    @rule(session=SESSIONS, title=st.sampled_from(["", "Tea", "Milk and tea"]))
    def rename(self, session, title):
        self.both(lambda store: store.update_session(session, at(self.minutes), title=title))

    @rule(session=SESSIONS, before=st.sampled_from(["Tea", "Milk and tea"]))
    def forget_title(self, session, before):
        held = self.session_of(session)
        if held is not None:
            titles = (TitleCut(session, before, "[forgotten]"),)
            self.forget(an_erasure(user_id=held.user_id, titles=titles, receipt_id=self.new_id("r")))

    @rule(session=SESSIONS, number=st.integers(0, 3))
    def add_milestone(self, session, number):
        self.both(lambda store: store.add_milestone(a_milestone(f"mile{number}", session, number)))

    @rule(minutes=st.integers(0, 60))
    def time_passes(self, minutes):
        self.minutes += minutes

    @rule(ago=st.integers(0, 60))
    def end_idle(self, ago):
        self.both(lambda store: store.age_sessions("ended", at(self.minutes - ago), at(self.minutes)))

    @rule(ago=st.integers(0, 60))
    def archive_ended(self, ago):
        self.both(lambda store: store.age_sessions("archived", at(self.minutes - ago), at(self.minutes)))

    # folding

    @rule(owner=OWNERS, minutes=st.integers(0, 30), impatient=st.booleans(), skip=st.lists(SESSIONS, max_size=2))
    def claim(self, owner, minutes, impatient, skip):
        now, until = at(self.minutes), at(self.minutes + minutes)
        claim = self.both(lambda store: store.claim(owner, now, until, impatient=impatient, skip=skip))
        if claim is not None:
            self.claims.append(claim)

    @precondition(lambda self: self.claims)
    @rule(data=st.data(), what=st.sampled_from(["renew", "release", "fail", "aside"]), minutes=st.integers(0, 30))
    def use_a_claim(self, data, what, minutes):
        claim = data.draw(st.sampled_from(self.claims))
        if what == "release":
            self.both(lambda store: store.release(claim))
        elif what == "renew":
            self.both(lambda store: store.renew(claim, at(self.minutes + minutes)))
        else:
            retry_at = None if what == "aside" else at(self.minutes + minutes)
            self.both(lambda store: store.release(claim, failed="broken", retry_at=retry_at))

    @rule(session=st.none() | SESSIONS)
    def retry(self, session):
        self.both(lambda store: store.requeue(session, set_aside=True))

    @rule(session=SESSIONS, size=st.integers(1, 4), when=st.sampled_from(["now", "late", "later"]), text=TEXTS)
    def fold_messages(self, session, size, when, text):
        held = self.session_of(session)
        if held is None or not held.counters.unfolded:
            return
        self.words.update(terms(text))
        first = held.counters.cursor + 1
        last = min(first + size - 1, held.counters.messages)
        summary = a_summary(self.new_id("sum"), session, Span(first=first, last=last), text, user_id=held.user_id)
        fold = a_fold(session, summary, expect=held.counters.version - (when == "late"), cursor=last)
        if when == "later":
            self.late.append(lambda store: store.commit(fold))
        else:
            assert self.both(lambda store: store.commit(fold)) is (when == "now")

    @precondition(lambda self: self.late)
    @rule()
    def commit_what_was_begun(self):
        self.both(self.late.pop())

    @rule(session=SESSIONS, text=TEXTS)
    def fold_summaries(self, session, text):
        held, live = self.session_of(session), driven(self.memory.summaries(session))
        if not live:
            return
        span = Span(first=live[0].covers.first, last=live[-1].covers.last)
        retire = tuple(summary.id for summary in live)
        summary = a_summary(self.new_id("sum"), session, span, text, user_id=held.user_id, inputs=retire)
        fold = a_fold(session, summary, expect=held.counters.version, cursor=held.counters.cursor, retire=retire)
        assert self.both(lambda store: store.commit(fold)) is True

    @rule(user=USERS, version=st.integers(1, 5), text=TEXTS, data=st.data())
    def commit_digest(self, user, version, text, data):
        held = driven(self.memory.sessions(user_id=user))
        sources = tuple(
            Source(session_id=session.id, messages=1, version=session.counters.version - data.draw(st.booleans()))
            for session in held[: data.draw(st.integers(0, 2))]
        )
        digest = replace(a_digest(user, version, text, sources=sources), id=self.new_id("digest"))
        self.both(lambda store: store.commit(digest))

    @rule(session=SESSIONS, back=st.booleans(), text=TEXTS)
    def swap(self, session, back, text):
        held, known = (
            self.session_of(session),
            driven(self.memory.summaries(session, live=False)),
        )
        live = [summary for summary in known if summary.status == "live"]
        if not live:
            return
        self.words.update(terms(text))
        cursor = held.counters.cursor
        spans = [summary.covers for summary in live]
        old = [s for s in known if s.status == "replaced" and back and s.covers in spans]
        put = {summary.covers.first: replace(summary, status="live", folded_into=None) for summary in old}
        for span in spans:
            made = a_summary(self.new_id("sum"), session, span, text, user_id=held.user_id)
            put.setdefault(span.first, made)
        swap = a_swap(session, *put.values(), expect=held.counters.version, cursor=cursor,
                      retire=tuple(summary.id for summary in live))  # fmt: skip
        if back:
            assert self.both(lambda store: store.commit(swap)) is True
        else:
            self.late.append(lambda store: store.commit(swap))

    @rule(session=SESSIONS, number=st.integers(0, 2), status=st.sampled_from(["open", "accepted"]))
    def put_proposal(self, session, number, status):
        held = self.session_of(session)
        user = "ann" if held is None else held.user_id
        proposal = replace(a_proposal(f"{session}-{number}", session, user_id=user, minutes=number), status=status)
        self.both(lambda store: store.put_proposal(proposal))

    # facts and episodes

    @rule(
        session=SESSIONS,
        said=st.lists(st.tuples(VALUES, KEYS, UNITS, st.booleans(), st.integers(0, 3)), max_size=3),
        seen=st.lists(st.tuples(st.sampled_from(EPISODE_KINDS[:2]), UNITS), max_size=2),
        most=st.none() | st.integers(1, 3),
        later=st.booleans(),
        data=st.data(),
    )
    def read_messages(self, session, said, seen, most, later, data):
        held, unread = self.session_of(session), driven(self.memory.messages(session, unread=True, limit=3))
        if not unread:
            return
        places = st.sampled_from(unread)
        facts = [
            replace(
                a_fact(
                    self.new_id("fact"), value, user_id=held.user_id, session_id=session, key=key, minutes=minutes,
                    confidence=sure, holds=holds, message_id=data.draw(places).id,
                ),
                start=data.draw(st.integers(0, 1)),
            )
            for value, key, sure, holds, minutes in said
        ]  # fmt: skip
        episodes = tuple(
            an_episode(
                self.new_id("epi"), data.draw(places).id, user_id=held.user_id, session_id=session, kind=kind,
                significance=worth,
            )
            for kind, worth in seen
        )  # fmt: skip
        done = held.counters.extracted
        again = tuple(message.seq for message in unread if message.seq <= done)
        reading = a_reading(held, unread[-1].seq, again)
        commit = some_facts(*facts, user_id=held.user_id, episodes=episodes, most_episodes=most, reading=reading)
        if later:
            self.late.append(lambda store: store.commit_facts(commit))
        else:
            assert self.both(lambda store: store.commit_facts(commit)) is True

    @rule(user=USERS, value=VALUES, key=KEYS, minutes=st.integers(0, 3), blocked=st.booleans())
    def tell(self, user, value, key, minutes, blocked):
        fact = a_told_fact(self.new_id("told"), value, user_id=user, key=key, minutes=minutes)
        unblock = () if blocked else (mark(SECRET, fact),)
        self.both(lambda store: store.commit_facts(some_facts(fact, user_id=user, unblock=unblock)))

    @rule(user=USERS, verdict=VERDICTS, decay=UNITS, late=st.booleans(), data=st.data())
    def judge(self, user, verdict, decay, late, data):
        facts, episodes = driven(self.memory.facts(user)), driven(self.memory.episodes(user))
        change = tuple(
            replace(fact, verdict=verdict, verdict_at=at(self.minutes), decay=decay)
            for fact in data.draw(st.lists(st.sampled_from(facts), max_size=2, unique=True) if facts else st.just([]))
        )
        ids = [episode.id for episode in episodes]
        merged = [episode for episode in episodes[:1] if data.draw(st.booleans())]
        drop = tuple(name for name in self.one_of(data, ids, 2) if name not in [episode.id for episode in merged])
        joined = tuple(replace(episode, title="Joined", merged=drop, decay=decay) for episode in merged)
        ends = [*(fact.id for fact in facts), *ids]
        links = (a_link(ends[0], ends[-1], strength=decay, minutes=self.minutes),) if ends else ()
        commit = some_facts(
            user_id=user, change=change, drop=self.one_of(data, [fact.id for fact in facts]), links=links,
            change_episodes=joined, drop_episodes=drop,
        )  # fmt: skip
        if late:
            self.late.append(lambda store: store.commit_facts(commit))
        else:
            self.both(lambda store: store.commit_facts(commit))

    @rule(user=USERS, times=st.integers(1, 3), data=st.data())
    def use(self, user, times, data):
        known = [*driven(self.memory.facts(user)), *driven(self.memory.episodes(user))]
        used = [
            Access(id=name, times=times, at=at(self.minutes)) for name in self.one_of(data, [x.id for x in known], 3)
        ]
        self.both(lambda store: store.note_accesses(used))

    # meaning

    @rule(user=USERS, embedder=EMBEDDERS, limit=st.integers(1, 9), when=st.sampled_from(["now", "now", "later"]))
    def embed(self, user, embedder, limit, when):
        todo = self.both(lambda store: store.to_embed(user, embedder, limit))
        assert {item.id for item in todo.items}.isdisjoint(
            row.item_id for row in driven(self.memory.vectors(user, embedder, 0))
        )
        self.made += 1
        vectors = {item.id: f"{item.id} {self.made}".encode() for item in todo.items}
        upto = todo.count if todo.done else None
        if when == "later":
            self.late.append(lambda store: store.put_vectors(user, embedder, todo.cuts, vectors, upto))
        else:
            assert self.both(lambda store: store.put_vectors(user, embedder, todo.cuts, vectors, upto)) is True

    @rule(user=USERS, since=st.integers(0, 60))
    def changes(self, user, since):
        self.both(lambda store: store.changes(user, since))

    # forgetting

    def forget(self, erasure):
        """Try it, and see that nothing changed; then do it."""
        before = [self.shown(store) for store in (self.memory, self.database)]
        planned = self.both(lambda store: store.erase(replace(erasure, dry_run=True)))
        assert [self.shown(store) for store in (self.memory, self.database)] == before
        erased = self.both(lambda store: store.erase(erasure))
        assert unordered(erased) == unordered(planned)

    @rule(session=SESSIONS, derived=st.sampled_from([True, True, False]), text=TEXTS, data=st.data())
    def forget_messages(self, session, derived, text, data):
        held = self.session_of(session)
        if held is None:
            return
        self.words.update(terms(text))
        rows = driven(self.memory.audit(session)).rows
        chosen = data.draw(st.lists(st.sampled_from(rows), max_size=2, unique=True))
        parts = [data.draw(st.booleans()) and derived for _ in chosen]
        rewrites = [
            a_rewrite(row, text, whole=False) if part else a_rewrite(row)
            for row, part in zip(chosen, parts, strict=True)
        ]
        unfold = {session: data.draw(st.integers(1, 9))} if data.draw(st.booleans()) else {}
        self.forget(
            an_erasure(*rewrites, user_id=held.user_id, receipt_id=self.new_id("r"), unfold=unfold, derived=derived)
        )

    @rule(session=SESSIONS, mine=st.booleans())
    def forget_session(self, session, mine):
        held = self.session_of(session)
        owner = held.user_id if held is not None and mine else "bob"
        self.forget(an_erasure(user_id=owner, receipt_id=self.new_id("r"), sessions=(session,)))

    @rule(user=USERS, data=st.data())
    def forget_facts(self, user, data):
        facts = [fact.id for fact in driven(self.memory.facts(user))]
        episodes = [episode.id for other in ("ann", "bob") for episode in driven(self.memory.episodes(other))]
        self.forget(
            an_erasure(
                user_id=user, receipt_id=self.new_id("r"), facts=self.one_of(data, facts, 2),
                episodes=self.one_of(data, episodes), milestones=self.one_of(data, ["mile0", "mile1"]),
            )
        )  # fmt: skip

    @rule(user=USERS)
    def forget_user(self, user):
        self.forget(an_erasure(user_id=user, receipt_id=self.new_id("r"), user=True))

    @rule()
    def scrub(self):
        self.both(lambda store: store.scrub())

    @rule(owner=OWNERS)
    def drop_worker(self, owner):
        self.both(lambda store: store.drop_worker(owner))

    @rule()
    def mark_pending(self):
        self.both(lambda store: store.requeue())

    # keeping house

    @rule(session=SESSIONS, what=st.sampled_from(["rebuild", "unfold"]))
    def mend(self, session, what):
        more = (RULE,) if what == "unfold" else ()
        self.both(lambda store: getattr(store, what)(session, *more))

    @rule()
    def reindex(self):
        self.both(lambda store: store.rebuild())

    @rule(user=USERS)
    def drop_digests(self, user):
        self.both(lambda store: store.drop_digests(user))

    @rule(user=USERS, data=st.data())
    def find_words(self, user, data):
        wanted = data.draw(st.lists(st.sampled_from(sorted(self.words)), unique=True, max_size=5))
        one, other = (driven(store.find_words(user, wanted, 1_000)) for store in (self.memory, self.database))
        assert found(one) == found(other)

    # whatever was done

    def shown(self, store):
        """All that the reading verbs give, in the order that every store must give it."""
        read = {name: driven(getattr(store, name)()) for name in SHOWN}
        read["receipts"] = [(row.id, row.created_at, signed(row)) for row in read["receipts"]]
        for user in ("ann", "bob"):
            read[user] = [driven(getattr(store, name)(user)) for name in SHOWN_OF_USERS]
            read[user].append(driven(store.sessions(user_id=user, newest=True, limit=2)))
            read[user].append(driven(store.changes(user, 0)))
            read[user].append(driven(store.summaries(user_id=user)))
            read[user].append(driven(store.summaries(user_id=user, digests=True, live=False)))
            for embedder in ("e1", "e2"):  # in order of their places, which are the store's to choose
                read[user].append([row[1:] for row in driven(store.vectors(user, embedder, 0))])
        read["backlog"] = driven(store.backlog(at(self.minutes), "e1"))
        read["due"] = [driven(store.users(unembedded=embedder, limit=9)) for embedder in ("e1", "e2")]
        for session in read["sessions"]:
            read[f"session {session.id}"] = [
                driven(store.audit(session.id)),
                driven(store.messages(session.id, ALL)),
                driven(store.summaries(session.id, live=False)),
                driven(store.milestones(session.id)),
                driven(store.messages(session.id, unread=True, limit=3)),
                driven(store.view(session.user_id, session.id, Reach(turns=2, tokens=5))),
            ]
        return read

    @invariant()
    def they_show_the_same(self):
        if hasattr(self, "memory"):
            one, other = self.shown(self.memory), self.shown(self.database)
            assert one == other

    @invariant()
    def everything_is_whole(self):
        """Log, counters, coverage and provenance; the quotes of these facts are made up."""
        if hasattr(self, "memory"):
            for session in driven(self.memory.sessions()):
                problems = integrity.problems(driven(self.database.audit(session.id)))
                assert [problem for problem in problems if problem.kind != "fact"] == []
            assert driven(self.database.check()) == []
            assert list(broken_receipts(driven(self.database.receipts()))) == []

    @invariant()
    def changes_never_go_back(self):
        if hasattr(self, "memory"):
            for user in ("ann", "bob"):
                found = driven(self.memory.changes(user, 0))
                count, cuts = self.counted.get(user, (0, 0))
                assert (found.count, found.cuts) >= (count, cuts)
                assert found.cuts >= cuts
                self.counted[user] = (found.count, found.cuts)

    @invariant()
    def every_vector_is_of_something_there(self):
        if hasattr(self, "memory"):
            for user in ("ann", "bob"):
                there = {summary.id for summary in driven(self.memory.summaries(user_id=user))}
                there |= {one.id for one in (*driven(self.memory.facts(user)), *driven(self.memory.episodes(user)))}
                for session in driven(self.memory.sessions(user_id=user)):
                    there |= {message.id for message in driven(self.memory.messages(session.id, ALL))}
                assert {row.item_id for row in driven(self.database.vectors(user, "e1", 0))} <= there

    @invariant()
    def every_fact_stands_as_its_slot_says(self):
        if hasattr(self, "memory"):
            for user in ("ann", "bob"):
                for slot in by_slot(driven(self.database.facts(user))).values():
                    assert resolve(slot, RULE) == slot
                    assert sum(fact.status == "active" for fact in slot) <= 1


SHOWN = ("sessions", "users", "pending", "leases", "proposals", "receipts")
SHOWN_OF_USERS = ("facts", "episodes", "links")

TestStores = Stores.TestCase
TestStores.settings = settings(max_examples=share(60), stateful_step_count=30)


class PostgresStores(Stores):
    """PostgreSQL beside the reference store."""

    databases: Any = None

    def other(self):
        return Blocking(PostgresStores.databases().store())


@pytest.fixture(scope="module")
def on_databases(databases):
    PostgresStores.databases = databases


TestPostgresStores = pytest.mark.usefixtures("on_databases")(PostgresStores.TestCase)
TestPostgresStores.settings = settings(max_examples=share(6), stateful_step_count=20)
