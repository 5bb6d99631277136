"""How far a session was read for facts."""

from lamina.protocols.store import Store
from lamina.testing.samples import a_fact, a_reading, a_rewrite, a_turn, an_episode, an_erasure, some_facts
from lamina.testing.suites.checks_suite import Suite, everything, four_turns, row_of, session_of


class Unread(Suite):
    """Reading is committed with what was found, by compare-and-set."""

    async def unread_seqs(self, store: Store, limit: int = 99) -> list[int]:
        return [message.seq for message in await store.messages("s1", unread=True, limit=limit)]

    async def read_upto(self, store: Store, upto: int, again: tuple[int, ...] = ()) -> bool:
        return await store.commit_facts(some_facts(reading=a_reading(await session_of(store, "s1"), upto, again)))

    async def partly_forgotten(self, store: Store, *seqs: int, receipt_id: str = "r1") -> None:
        """Forget a word of messages in which episodes were found."""
        rows = [await row_of(store, "s1", seq) for seq in seqs]
        await store.commit_facts(some_facts(episodes=tuple(an_episode(f"e{row.seq}", row.id) for row in rows)))
        rewrites = [a_rewrite(row, "I like it.", whole=False, words=("tea",)) for row in rows]
        await store.erase(an_erasure(*rewrites, receipt_id=receipt_id))

    async def test_messages_are_read_in_order(self, store: Store) -> None:
        """From the first that was not read yet, so many at the most."""
        await four_turns(store)
        assert await self.unread_seqs(store, 3) == [1, 2, 3]
        assert await self.read_upto(store, 3)
        assert await self.unread_seqs(store) == [4, 5, 6, 7, 8]
        assert await self.read_upto(store, 8)
        assert await self.unread_seqs(store) == []
        assert (await session_of(store, "s1")).counters.extracted == len(a_turn(1)) * 4
        assert await store.messages("nowhere", unread=True, limit=9) == []

    async def test_a_reading_is_committed_with_what_it_found(self, store: Store) -> None:
        """Facts, episodes and how far was read, all together."""
        await four_turns(store)
        reading = a_reading(await session_of(store, "s1"), 4)
        assert await store.commit_facts(some_facts(a_fact("f1"), episodes=(an_episode("e1"),), reading=reading))
        assert [fact.id for fact in await store.facts("ann")] == ["f1"]
        assert await self.unread_seqs(store, 1) == [5]

    async def test_the_second_of_two_readings_is_discarded(self, store: Store) -> None:
        """If another read the session meanwhile, nothing of the late commit is kept."""
        await four_turns(store)
        reading = a_reading(await session_of(store, "s1"), 4)
        assert await self.read_upto(store, 2)
        before = await everything(store)
        late = some_facts(a_fact("f1"), drop=("f2",), episodes=(an_episode("e1"),), reading=reading)
        assert not await store.commit_facts(late)
        assert await everything(store) == before

    async def test_a_reading_of_what_was_forgotten_is_discarded(self, store: Store) -> None:
        """What was read before something was erased may not come in afterwards, nor if the session is gone."""
        await four_turns(store)
        reading = a_reading(await session_of(store, "s1"), 8)
        await store.erase(an_erasure(a_rewrite(await row_of(store, "s1", 1))))
        assert not await store.commit_facts(some_facts(a_fact("f1"), reading=reading))
        assert await store.facts("ann") == []
        reading = a_reading(await session_of(store, "s1"), 8)
        await store.erase(an_erasure(sessions=("s1",), receipt_id="r2"))
        assert not await store.commit_facts(some_facts(a_fact("f1"), reading=reading))
        assert await store.facts("ann") == []

    async def test_a_reading_does_not_go_back(self, store: Store) -> None:
        """One that only read earlier messages again leaves how far was read."""
        await four_turns(store)
        await self.read_upto(store, 6)
        assert await self.read_upto(store, 2)
        assert (await session_of(store, "s1")).counters.extracted == 2 * 3

    async def test_a_moment_in_part_forgotten_is_read_again(self, store: Store) -> None:
        """Its messages first, in order, until a reading says that they were; one that was forgotten whole is not."""
        await four_turns(store)
        await self.read_upto(store, 6)
        await self.partly_forgotten(store, 5, 3)
        await store.erase(an_erasure(a_rewrite(await row_of(store, "s1", 2)), receipt_id="r2"))
        assert await self.unread_seqs(store) == [3, 5, 7, 8]
        assert await self.unread_seqs(store, 1) == [3]
        assert await self.unread_seqs(store, 3) == [3, 5, 7]
        assert await self.read_upto(store, 3, (3,))
        assert await self.unread_seqs(store) == [5, 7, 8]
        assert await self.read_upto(store, 8, (5,))
        assert await self.unread_seqs(store) == []

    async def test_a_message_in_part_forgotten_before_it_was_read_is_read_once(self, store: Store) -> None:
        """Reading it for the first time is enough."""
        await four_turns(store)
        await self.partly_forgotten(store, 3)
        assert await self.unread_seqs(store) == [1, 2, 3, 4, 5, 6, 7, 8]
        assert await self.read_upto(store, 8)
        assert await self.unread_seqs(store) == []

    async def test_what_is_left_of_a_message_is_forgotten_whole(self, store: Store) -> None:
        """Then there is nothing in it to read again."""
        await four_turns(store)
        await self.read_upto(store, 8)
        await self.partly_forgotten(store, 3)
        await store.erase(an_erasure(a_rewrite(await row_of(store, "s1", 3)), receipt_id="r2"))
        assert await self.unread_seqs(store) == []
