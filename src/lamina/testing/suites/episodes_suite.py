"""Episodes: once per place and kind, in order, capped, joined."""

from dataclasses import replace

from lamina.log.pages import single
from lamina.protocols.store import Store
from lamina.testing.samples import a_draft, a_told_episode, a_turn, an_append, an_episode, an_erasure, at, some_facts
from lamina.testing.suites.checks_suite import Suite, everything
from lamina.values.fact import Episode
from lamina.values.message import Span


class Episodes(Suite):
    """Moments that mattered."""

    async def put_episodes(self, store: Store, *episodes: Episode, most: int | None = None) -> None:
        if single(await store.sessions(ids=["s1"])) is None:
            await store.append(an_append("s1", *a_turn(1), *a_turn(2), *a_turn(3)))
        assert await store.commit_facts(some_facts(episodes=episodes, most_episodes=most))

    async def episode_ids(self, store: Store, user_id: str = "ann", session_id: str | None = None) -> list[str]:
        return [episode.id for episode in await store.episodes(user_id, session_id)]

    async def test_an_episode_comes_back_whole(self, store: Store) -> None:
        """With its turns, people, links and times."""
        episode = replace(
            an_episode("e1"),
            turns=Span(first=1, last=3),
            message_ids=("m1", "m2"),
            participants=("Zoë", "assistant"),
            outcome="tea 🍵",
            linked=("f1",),
            merged=("e0",),
            valence=-0.75,
        )
        await self.put_episodes(store, episode)
        assert single(await store.episodes(ids=["e1"])) == episode
        assert single(await store.episodes(ids=["nothing"])) is None

    async def test_episodes_come_in_the_order_they_happened(self, store: Store) -> None:
        """Of one user, or of one session."""
        await store.append(an_append("s2", a_draft("x")))
        await store.append(an_append("b1", a_draft("b"), user_id="bob"))
        await self.put_episodes(store, an_episode("e1", "m2", minutes=5), an_episode("e2", minutes=1))
        await self.put_episodes(store, an_episode("e3", "x", session_id="s2", minutes=3))
        other = an_episode("e4", "b", user_id="bob", session_id="b1")
        await store.commit_facts(some_facts(episodes=(other,), user_id="bob"))
        assert await self.episode_ids(store) == ["e2", "e3", "e1"]
        assert await self.episode_ids(store, session_id="s1") == ["e2", "e1"]
        assert await self.episode_ids(store, "bob") == ["e4"]
        assert await self.episode_ids(store, "bob", "s1") == []

    async def test_a_moment_is_put_once(self, store: Store) -> None:
        """Per message and kind, in one commit and later; those told by hand are not tied to a message."""
        await self.put_episodes(store, an_episode("e1"), an_episode("e2", significance=0.9))
        await self.put_episodes(store, an_episode("e3"), an_episode("e4", kind="pivot"), an_episode("e5", "m2"))
        await self.put_episodes(
            store, a_told_episode("e6"), a_told_episode("e7"), replace(an_episode("e5"), title="Else")
        )
        assert sorted(await self.episode_ids(store)) == ["e1", "e4", "e5", "e6", "e7"]
        kept = single(await store.episodes(ids=["e5"]))
        assert kept is not None
        assert kept.title == an_episode("e5").title

    async def test_the_most_significant_are_kept(self, store: Store) -> None:
        """Beyond the cap the least significant go, the older first; told ones count too, other users' do not."""
        await store.append(an_append("b1", a_draft("b"), user_id="bob"))
        other = an_episode("e9", "b", user_id="bob", session_id="b1", significance=0.0)
        await store.commit_facts(some_facts(episodes=(other,), user_id="bob"))
        await self.put_episodes(
            store, an_episode("e1", significance=0.4), an_episode("e2", "m2", significance=0.8), most=3
        )
        await self.put_episodes(store, a_told_episode("e3", significance=0.1, minutes=1), most=3)
        await self.put_episodes(store, an_episode("e4", "m3", significance=0.1, minutes=2), most=3)
        assert sorted(await self.episode_ids(store)) == ["e1", "e2", "e4"]
        await self.put_episodes(store, an_episode("e5", "m3", kind="pivot", significance=0.9), most=1)
        assert await self.episode_ids(store) == ["e5"]
        assert await self.episode_ids(store, "bob") == ["e9"]

    async def test_without_a_cap_all_are_kept(self, store: Store) -> None:
        """And a cap counts only when an episode comes."""
        await self.put_episodes(store, an_episode("e1"), an_episode("e2", "m2"))
        await self.put_episodes(store, most=1)
        assert await self.episode_ids(store) == ["e1", "e2"]

    async def test_episodes_are_changed_and_dropped(self, store: Store) -> None:
        """What is gone stays gone; uses are kept, and the moment is still the same."""
        await self.put_episodes(store, an_episode("e1"), an_episode("e2", "m2"), an_episode("e3", "m3"))
        joined = replace(an_episode("e1", minutes=9), message_ids=("m2", "m1"), merged=("e2",), significance=0.75)
        gone = replace(an_episode("e4"), title="Gone")
        assert await store.commit_facts(some_facts(change_episodes=(joined, gone), drop_episodes=("e2", "nothing")))
        assert await store.episodes("ann") == [an_episode("e3", "m3"), joined]
        await self.put_episodes(store, an_episode("e5"), an_episode("e6", "m2"))
        assert sorted(await self.episode_ids(store)) == ["e1", "e3", "e6"]

    async def test_episodes_are_not_joined_with_one_that_was_forgotten(self, store: Store) -> None:
        """A consolidation that began before would bring its words back; nothing of it is committed."""
        await self.put_episodes(store, an_episode("e1"), an_episode("e2", "m2"), an_episode("e3", "m3"))
        joined = replace(an_episode("e1"), summary="Tea. Rain.", message_ids=("m1", "m2", "m3"), merged=("e2", "e3"))
        await store.erase(an_erasure(episodes=("e2",)))
        before = await everything(store)
        assert not await store.commit_facts(some_facts(change_episodes=(joined,), drop_episodes=("e2", "e3")))
        assert await everything(store) == before

    async def test_an_episode_happened_when_its_record_says(self, store: Store) -> None:
        """Also after a change."""
        await self.put_episodes(store, an_episode("e1", minutes=1), an_episode("e2", "m2", minutes=2))
        await store.commit_facts(some_facts(change_episodes=(an_episode("e1", minutes=3),)))
        assert [(e.id, e.happened_at) for e in await store.episodes("ann")] == [("e2", at(2)), ("e1", at(3))]
