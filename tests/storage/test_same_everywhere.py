"""The same log gives the same words, changes, vectors and neighbours in every store."""

import asyncio

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.protocols.store import Store
from lamina.search.vectors import pack
from lamina.storage.sqlite.sqlite_store import SqliteStore
from lamina.testing.oracle import OracleStore
from lamina.testing.samples import a_draft, a_fold, a_rewrite, a_summary, an_append, an_erasure
from lamina.values.message import Span
from tests.sizes import examples

WORDS = ["tea", "green", "café", "日本", "rum", "O'Brien", "running", "x" * 90]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join)
LOGS = st.lists(st.tuples(st.sampled_from(["s1", "s2"]), TEXTS), min_size=1, max_size=25)


async def shown(store, log, numbers):
    """What a store makes of a log: two sessions, a fold, vectors of all, one message forgotten."""
    for number, (session, text) in enumerate(log):
        await store.append(an_append(session, a_draft(f"m{number}", text)))
    session = log[0][0]
    summary = a_summary("sum", session, Span(first=1, last=1), log[0][1])
    await store.commit(a_fold(session, summary, expect=0, cursor=1))
    found = await store.to_embed("ann", "e", 999)
    made = dict(zip([item.id for item in found.items], pack(numbers[: len(found.items)]), strict=True))
    await store.put_vectors("ann", "e", found.cuts, made, found.count)
    row = (await store.audit(session)).rows[-1]
    await store.erase(an_erasure(a_rewrite(row)))
    asked = pack(numbers[-3:])
    return [
        [await store.find_words("ann", terms, limit) for terms in (WORDS, WORDS[:2], []) for limit in (2, 5, 99)],
        [await store.changes("ann", since) for since in range(4)],
        [(row.item_id, row.vector) for row in await store.vectors("ann", "e", 0)],
        [await store.nearest("ann", "e", vector, limit) for vector in asked for limit in (1, 7, 99)],
        [item.id for item in (await store.to_embed("ann", "e", 999)).items],
        await store.users(unembedded="e", limit=9),
    ]


@pytest.mark.parametrize("other", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
@examples(24)
@given(log=LOGS, seed=st.integers(0, 2**32 - 1))
def test_every_store_answers_as_the_reference_store(request, tmp_path_factory, other, log, seed):
    """Also which are chosen when there are too many, and in which order."""
    numbers = np.random.default_rng(seed).integers(-2, 3, size=(40, 3)).astype(float)  # small, so that many are equal

    async def answered(store):
        await store.open()
        try:
            return await shown(store, log, numbers)
        finally:
            await store.close()

    store: Store
    if other == "sqlite":
        store = SqliteStore(tmp_path_factory.mktemp("same") / "lamina.db")
    else:
        store = request.getfixturevalue("databases")().store()
    assert asyncio.run(answered(store)) == asyncio.run(answered(OracleStore()))
