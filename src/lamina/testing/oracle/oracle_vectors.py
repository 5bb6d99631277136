"""The reference store's changes and vectors."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice

from lamina.protocols.store import Unembedded, VectorRow
from lamina.storage.shared import Best, needs_vector, whole_messages, whole_summaries
from lamina.testing.oracle.oracle_tables import Embedding, OracleTables
from lamina.values.fact import Episode, Fact
from lamina.values.message import Message
from lamina.values.summary import Summary


class OracleVectors(OracleTables):
    """Vectors of messages, live summaries, facts and episodes."""

    async def change_counts(self) -> dict[str, int]:
        return {user_id: count for user_id, (count, _) in self._changes.items()}

    # reading

    def _live_summaries(self, user_id: str) -> Iterator[Summary]:
        own = [row for row in self._summaries.values() if row.user_id == user_id and row.status == "live"]
        return whole_summaries(sorted(own, key=lambda row: row.id))

    async def vectors(
        self, user_id: str, embedder: str, after: int = 0, *, ids: Sequence[str] | None = None
    ) -> list[VectorRow]:
        found = [
            VectorRow(one.place, item_id, one.vector)
            for item_id, made in self._vectors.items()
            if (one := made.get(embedder)) is not None
            and one.user_id == user_id
            and one.place > after
            and (ids is None or item_id in ids)
        ]
        return sorted(found)

    async def nearest(self, user_id: str, embedder: str, vector: bytes, limit: int) -> list[str]:
        best = Best(vector, limit)
        best.look([(row.item_id, row.vector) for row in await self.vectors(user_id, embedder, 0)])
        return best.ids

    # what needs a vector

    async def to_embed(self, user_id: str, embedder: str, limit: int) -> Unembedded:
        count, cuts = self._counted(user_id)
        lacking = chain(self._items_lacking(user_id, embedder), self._messages_lacking(user_id, embedder, cuts))
        found = list(islice(filter(needs_vector, lacking), limit + 1))
        return Unembedded(count=count, cuts=cuts, items=tuple(found[:limit]), done=len(found) <= limit)

    def _items_lacking(self, user_id: str, embedder: str) -> Iterator[Summary | Fact | Episode]:
        facts = sorted((key, one) for key, one in self._facts.items() if one.status != "evidence")
        episodes = sorted((key, one) for key, one in self._episodes.items())
        derived: Iterable[Summary | Fact | Episode] = chain(
            self._live_summaries(user_id), (one for _, one in facts), (one for _, one in episodes)
        )
        return (one for one in derived if one.user_id == user_id and not self._has_vector(one.id, embedder))

    def _has_vector(self, item_id: str, embedder: str) -> bool:
        return embedder in self._vectors.get(item_id, ())

    def _messages_lacking(self, user_id: str, embedder: str, cuts: int) -> Iterator[Message]:
        """Behind the last one with a vector in each session that has changed; after a cut, wherever they are."""
        since, known = self._embedded.get((embedder, user_id), (0, cuts))
        cut = known != cuts
        own = [kept for kept in self._sessions.values() if kept.session.user_id == user_id]
        for kept in sorted(own, key=lambda kept: (kept.changed, kept.session.id)):
            if cut or kept.changed > since:
                made = {row.seq for row in kept.rows if self._has_vector(row.id, embedder)}
                last = 0 if cut else max(made, default=0)
                yield from whole_messages(row for row in kept.rows if row.seq > last and row.seq not in made)

    # writing

    async def put_vectors(
        self, user_id: str, embedder: str, cuts: int, vectors: Mapping[str, bytes], upto: int | None
    ) -> bool:
        if self._counted(user_id)[1] != cuts:
            return False
        for item_id, vector in vectors.items():
            if user_id == self._owner(item_id):
                self._place += 1
                words = self._words(item_id)
                made = Embedding(place=self._place, user_id=user_id, vector=vector, words=words)
                self._vectors.setdefault(item_id, {})[embedder] = made
        if user_id in self._changes:
            noted = self._embedded.get((embedder, user_id))
            if noted is None or upto is not None:
                done = min(upto or 0, self._changes[user_id][0])
                self._embedded[embedder, user_id] = (max(done, noted[0] if noted else 0), cuts)
        return True

    def _owner(self, item_id: str) -> str | None:
        """Whose an item is that may have a vector."""
        if item_id in self._by_id:
            return self._sessions[self._by_id[item_id].session_id].session.user_id
        if (row := self._summaries.get(item_id)) is not None:
            return row.user_id if row.status == "live" else None
        one = self._facts.get(item_id) or self._episodes.get(item_id)
        return None if one is None else one.user_id

    def _forget_vectors(self, user_id: str) -> None:
        for item_id in [one for one in self._vectors if self._owner(one) == user_id]:
            del self._vectors[item_id]
        self._embedded = {key: noted for key, noted in self._embedded.items() if key[1] != user_id}

    def _forget_changes(self, user_id: str) -> None:
        """Keep nothing of a user, but have all counts of users to come begin past theirs."""
        self._embedded = {key: noted for key, noted in self._embedded.items() if key[1] != user_id}
        if (seen := self._changes.pop(user_id, None)) is not None:
            self._beginning = max(self._beginning, *seen) + 1
            del self._derived[user_id]
