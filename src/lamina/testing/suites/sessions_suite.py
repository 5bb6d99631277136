"""Sessions, milestones and settings."""

from collections.abc import Awaitable, Callable
from datetime import timedelta, timezone

import pytest

from lamina.errors import NotFound, Stale
from lamina.log.pages import single
from lamina.protocols.store import ChangedSession, Store
from lamina.testing.samples import (
    RULE,
    a_draft,
    a_fact,
    a_milestone,
    a_proposal,
    an_append,
    an_episode,
    an_erasure,
    at,
    some_facts,
)
from lamina.testing.suites.checks_suite import Suite


class Sessions(Suite):
    async def test_sessions_come_in_pages_by_id(self, store: Store) -> None:
        """`after` goes on behind the last id; filters hold on every page."""
        for number in range(5):
            user = "ann" if number % 2 == 0 else "bob"
            await store.append(an_append(f"s{number}", a_draft(f"m{number}"), user_id=user))
        await store.update_session("s2", at(1), status="ended")
        first = await store.sessions(limit=2)
        assert [s.id for s in first] == ["s0", "s1"]
        assert [s.id for s in await store.sessions(limit=2, after="s1")] == ["s2", "s3"]
        assert [s.id for s in await store.sessions(user_id="ann")] == ["s0", "s2", "s4"]
        assert [s.id for s in await store.sessions(status="ended")] == ["s2"]
        assert [s.id for s in await store.sessions(user_id="ann", status="active", after="s0")] == ["s4"]
        assert await store.sessions(after="s4") == []
        assert single(await store.sessions(ids=["s9"])) is None

    async def test_a_status_is_set_only_on_the_session_that_was_read(self, store: Store) -> None:
        """Its tag is another one after a message or a status; with an old one nothing changes."""
        await store.append(an_append("s1", a_draft("m1")))
        first = single(await store.sessions(ids=["s1"]))
        assert first is not None
        await store.append(an_append("s1", a_draft("m2")))
        with pytest.raises(Stale, match="read it again"):
            await store.update_session("s1", at(5), status="ended", expect=first.tag)
        second = single(await store.sessions(ids=["s1"]))
        assert second is not None
        assert second.status == "active"
        third = await store.update_session("s1", at(5), status="ended", expect=second.tag)
        with pytest.raises(Stale):
            await store.update_session("s1", at(6), status="paused", expect=second.tag)
        assert single(await store.sessions(ids=["s1"])) == third

    async def test_a_session_begins_and_ends_in_the_zones_of_its_messages(self, store: Store) -> None:
        """Said before midnight in the west and after it in the east: each day is the one that was said there."""
        west, east = timezone(timedelta(hours=-7)), timezone(timedelta(hours=5, minutes=30))
        said = [at().replace(hour=23, tzinfo=west), at().replace(hour=0, tzinfo=east) + timedelta(days=9)]
        drafts = [a_draft(f"m{number}")._replace(created_at=moment) for number, moment in enumerate(said)]
        await store.append(an_append("s1", *drafts))
        for found in (await store.sessions(ids=["s1"]), await store.sessions(user_id="ann", newest=True)):
            assert [found[0].started_at.isoformat(), found[0].last_at.isoformat()] == [one.isoformat() for one in said]

    async def test_newest_sessions_began_last(self, store: Store) -> None:
        """By the time of their first message, whatever came later; of one user."""
        for number, minutes in enumerate((5, 1, 9)):
            await store.append(an_append(f"s{number}", a_draft(f"m{number}", minutes=minutes)))
        await store.append(an_append("s1", a_draft("late", minutes=99)))
        await store.append(an_append("other", a_draft("o", minutes=50), user_id="bob"))
        assert [s.id for s in await store.sessions(user_id="ann", newest=True, limit=2)] == ["s2", "s0"]
        assert [s.id for s in await store.sessions(user_id="ann", newest=True, limit=9)] == ["s2", "s0", "s1"]

    async def test_a_session_without_a_turn_is_no_conversation(self, store: Store) -> None:
        """Notes that nobody said or answered are not among the newest sessions, until someone speaks."""
        await store.append(an_append("s1", a_draft("m1")))
        await store.append(an_append("notes", a_draft("m2", role="developer", minutes=9)))
        assert [s.id for s in await store.sessions(user_id="ann", newest=True, limit=9)] == ["s1"]
        await store.append(an_append("notes", a_draft("m3", minutes=10)))
        assert [s.id for s in await store.sessions(user_id="ann", newest=True, limit=9)] == ["notes", "s1"]

    async def test_status_keeps_its_times(self, store: Store) -> None:
        """Ending twice keeps the first time; archiving keeps the end; resuming forgets both."""
        await store.append(an_append("s1", a_draft("m1")))
        ended = await store.update_session("s1", at(1), status="ended")
        assert (ended.status, ended.ended_at, ended.touched_at) == ("ended", at(1), at(1))
        assert (await store.update_session("s1", at(2), status="ended")).ended_at == at(1)
        archived = await store.update_session("s1", at(3), status="archived")
        assert (archived.ended_at, archived.archived_at) == (at(1), at(3))
        resumed = await store.update_session("s1", at(4), status="active")
        assert (resumed.ended_at, resumed.archived_at) == (None, None)
        assert resumed == single(await store.sessions(ids=["s1"]))

    async def test_a_title_is_kept_until_another_is_given(self, store: Store) -> None:
        """It changes the tag and the user's changes, but gives no worker anything to do; "" takes it away."""
        await store.append(an_append("s1", a_draft("m1")))
        first = single(await store.sessions(ids=["s1"]))
        assert first is not None
        assert first.title is None
        count = (await store.change_counts())["ann"]
        pending = await store.pending()
        named = await store.update_session("s1", at(3), title="Tea \u8336", expect=first.tag)
        assert (named.title, named.touched_at, named.status) == ("Tea \u8336", at(3), "active")
        assert named == single(await store.sessions(ids=["s1"]))
        assert (await store.changes("ann", count)).sessions == (ChangedSession("s1", 1),)
        assert await store.pending() == pending
        assert await store.update_session("s1", at(4), title="Tea \u8336") == named
        with pytest.raises(Stale):
            await store.update_session("s1", at(5), title="Milk", expect=first.tag)
        await store.append(an_append("s1", a_draft("m2")))
        both = await store.update_session("s1", at(6), title="Milk", status="ended")
        assert (both.title, both.status) == ("Milk", "ended")
        assert (await store.update_session("s1", at(7), title="")).title is None

    async def test_milestones_are_kept_by_turn(self, store: Store) -> None:
        """In order of turn, each id once."""
        await store.append(an_append("s1", a_draft("m1")))
        for milestone in (a_milestone("b", "s1", 4), a_milestone("a", "s1", 2), a_milestone("b", "s1", 4)):
            await store.add_milestone(milestone)
        assert await store.milestones("s1") == [a_milestone("a", "s1", 2), a_milestone("b", "s1", 4)]
        assert await store.milestones("s2") == []

    @pytest.mark.parametrize(
        "verb",
        [
            pytest.param(lambda store: store.update_session("s9", at(1), status="ended"), id="update_session"),
            pytest.param(lambda store: store.add_milestone(a_milestone("a", "s9")), id="add_milestone"),
            pytest.param(lambda store: store.audit("s9"), id="audit"),
            pytest.param(lambda store: store.rebuild("s9"), id="recount"),
            pytest.param(lambda store: store.unfold("s9", RULE), id="unfold"),
            pytest.param(lambda store: store.commit_facts(some_facts(a_fact("f", session_id="s9"))), id="facts"),
            pytest.param(
                lambda store: store.commit_facts(some_facts(episodes=(an_episode("e", session_id="s9"),))),
                id="episodes",
            ),
            pytest.param(lambda store: store.put_proposal(a_proposal("p", "s9")), id="put_proposal"),
            pytest.param(lambda store: store.erase(an_erasure(sessions=("s9",))), id="erase"),
        ],
    )
    async def test_an_unknown_session_is_not_found(
        self, store: Store, verb: Callable[[Store], Awaitable[object]]
    ) -> None:
        """Verbs that change or examine a session say that there is none."""
        with pytest.raises(NotFound, match="s9"):
            await verb(store)

    async def test_settings_are_kept(self, store: Store) -> None:
        """The newest value wins; what was never set is None."""
        assert await store.setting("profile") is None
        await store.put_setting("profile", "a")
        await store.put_setting("profile", "b")
        assert await store.setting("profile") == "b"
