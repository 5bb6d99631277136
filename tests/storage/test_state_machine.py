"""Whatever is done to them, in whatever order, the SQLite store and the reference store show the same."""

import tempfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from lamina.errors import LaminaError
from lamina.policy.words import terms
from lamina.ports import Reach
from lamina.storage.memory import MemoryStore
from lamina.storage.sqlite import SqliteStore
from lamina.testing.samples import (
    a_digest,
    a_draft,
    a_fact,
    a_fold,
    a_milestone,
    a_summary,
    an_append,
    at,
)
from lamina.types import STATUSES, Span

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


class Stores(RuleBasedStateMachine):
    @initialize()
    def begin(self):
        self.folder = tempfile.TemporaryDirectory()
        self.sqlite = SqliteStore(Path(self.folder.name) / "lamina.db")
        self.memory = MemoryStore()
        driven(self.sqlite.open())
        self.minutes = 10
        self.made = 0
        self.claims = []
        self.words = {"tea"}

    def teardown(self):
        with suppress(AttributeError):
            driven(self.sqlite.close())
            self.folder.cleanup()

    def both(self, verb):
        one, other = driven(verb(self.memory)), driven(verb(self.sqlite))
        assert one == other
        return one

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
        append = an_append(session, *drafts, user_id=user, minutes=self.minutes, key=key, due=lambda *_: due)
        self.both(lambda store: store.append(append))

    @rule(session=SESSIONS)
    def append_the_same_again(self, session):
        stored = driven(self.memory.messages(session, ALL))
        owner = driven(self.memory.session(session))
        drafts = [a_draft(m.id, m.text, role=m.role, minutes=0) for m in stored[-3:]]
        drafts = [draft._replace(created_at=m.created_at) for draft, m in zip(drafts, stored[-3:], strict=True)]
        if drafts:
            append = an_append(session, *drafts, user_id=owner.user_id, minutes=self.minutes)
            assert self.both(lambda store: store.append(append)).span is None

    # sessions

    @rule(session=SESSIONS, status=st.sampled_from(STATUSES))
    def set_status(self, session, status):
        self.both(lambda store: store.set_status(session, status, at(self.minutes)))

    @rule(session=SESSIONS, number=st.integers(0, 3))
    def add_milestone(self, session, number):
        self.both(lambda store: store.add_milestone(a_milestone(f"mile{number}", session, number)))

    @rule(minutes=st.integers(0, 60))
    def time_passes(self, minutes):
        self.minutes += minutes

    @rule(ago=st.integers(0, 60))
    def end_idle(self, ago):
        self.both(lambda store: store.end_idle(at(self.minutes - ago), at(self.minutes)))

    @rule(ago=st.integers(0, 60))
    def archive_ended(self, ago):
        self.both(lambda store: store.archive_ended(at(self.minutes - ago), at(self.minutes)))

    # folding

    @rule(owner=OWNERS, minutes=st.integers(0, 30), impatient=st.booleans(), skip=st.lists(SESSIONS, max_size=2))
    def claim(self, owner, minutes, impatient, skip):
        now, until = at(self.minutes), at(self.minutes + minutes)
        claim = self.both(lambda store: store.claim(owner, now, until, impatient=impatient, skip=skip))
        if claim is not None:
            self.claims.append(claim)

    @precondition(lambda self: self.claims)
    @rule(data=st.data(), what=st.sampled_from(["renew", "release", "fail"]), minutes=st.integers(0, 30))
    def use_a_claim(self, data, what, minutes):
        claim = data.draw(st.sampled_from(self.claims))
        if what == "release":
            self.both(lambda store: store.release(claim))
        else:
            self.both(lambda store: getattr(store, what)(claim, at(self.minutes + minutes)))

    @rule(session=SESSIONS, size=st.integers(1, 4), late=st.booleans(), text=TEXTS, quotes=st.lists(TEXTS, max_size=2))
    def fold_messages(self, session, size, late, text, quotes):
        held = driven(self.memory.session(session))
        if held is None or not held.counters.unfolded:
            return
        self.words.update(terms(text))
        first = held.counters.cursor + 1
        last = min(first + size - 1, held.counters.messages)
        summary = a_summary(self.new_id("sum"), session, Span(first=first, last=last), text, user_id=held.user_id)
        facts = tuple(
            a_fact(self.new_id("fact"), quote, user_id=held.user_id, session_id=session, importance=len(quote) / 100)
            for quote in quotes
        )
        expect = held.counters.version - late
        fold = a_fold(session, summary, expect=expect, cursor=last, facts=facts)
        assert self.both(lambda store: store.commit(fold)) is not late

    @rule(session=SESSIONS, text=TEXTS)
    def fold_summaries(self, session, text):
        held, live = driven(self.memory.session(session)), driven(self.memory.summaries(session))
        if not live:
            return
        span = Span(first=live[0].covers.first, last=live[-1].covers.last)
        retire = tuple(summary.id for summary in live)
        summary = a_summary(self.new_id("sum"), session, span, text, user_id=held.user_id, inputs=retire)
        fold = a_fold(session, summary, expect=held.counters.version, cursor=held.counters.cursor, retire=retire)
        assert self.both(lambda store: store.commit(fold)) is True

    @rule(user=USERS, version=st.integers(1, 5), text=TEXTS)
    def commit_digest(self, user, version, text):
        digest = replace(a_digest(user, version, text), id=self.new_id("digest"))
        self.both(lambda store: store.commit_digest(digest))

    @rule(owner=OWNERS)
    def revoke(self, owner):
        self.both(lambda store: store.revoke(owner))

    @rule()
    def mark_pending(self):
        self.both(lambda store: store.mark_pending())

    # keeping house

    @rule(session=SESSIONS, what=st.sampled_from(["recount", "unfold"]))
    def mend(self, session, what):
        self.both(lambda store: getattr(store, what)(session))

    @rule()
    def reindex(self):
        self.both(lambda store: store.reindex())

    @rule(user=USERS)
    def drop_digests(self, user):
        self.both(lambda store: store.drop_digests(user))

    @rule(user=USERS, data=st.data())
    def find_words(self, user, data):
        wanted = data.draw(st.lists(st.sampled_from(sorted(self.words)), unique=True, max_size=5))
        one, other = (driven(store.find_words(user, wanted, 1_000)) for store in (self.memory, self.sqlite))
        assert found(one) == found(other)

    # whatever was done

    @invariant()
    def they_show_the_same(self):
        if not hasattr(self, "memory"):
            return
        for session in self.both(lambda store: store.sessions()):
            self.both(lambda store, s=session: store.audit(s.id))
            self.both(lambda store, s=session: store.messages(s.id, ALL))
            self.both(lambda store, s=session: store.summaries(s.id, live=False))
            self.both(lambda store, s=session: store.milestones(s.id))
            self.both(lambda store, s=session: store.view(s.user_id, s.id, Reach(turns=2, tokens=5)))
        for user in ("ann", "bob"):
            self.both(lambda store, u=user: store.digests(u))
            self.both(lambda store, u=user: store.newest_sessions(u, 2))
        self.both(lambda store: store.pending())
        self.both(lambda store: store.leases())
        self.both(lambda store: store.check())


TestStores = Stores.TestCase
TestStores.settings = settings(
    max_examples=60,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
