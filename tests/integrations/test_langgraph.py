"""The store for LangGraph, beside LangGraph's own store and inside a graph."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.store.base import BaseStore, GetOp, InvalidNamespaceError, ListNamespacesOp, Op, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from lamina import InputError, Memory
from lamina.documents import documents
from lamina.integrations.langgraph import LaminaStore
from tests.growth import calls
from tests.sizes import examples
from tests.waiting import wait_until

# beside LangGraph's own

labels = st.sampled_from(["users", "ana", "bo", "notes", "a/b", "a|b", "a%2Fb", "a", "日本"])
namespaces = st.lists(labels, min_size=1, max_size=3).map(tuple)
keys = st.sampled_from(["k1", "k2", "a|b", "x/y", "%25", "日本", "k1#999999", "k1#"])
scalars = st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["red", "blue", ""])
values = st.dictionaries(
    st.sampled_from(["color", "size", "more"]),
    scalars | st.lists(scalars, max_size=2) | st.dictionaries(st.sampled_from("xy"), scalars, max_size=2),
    max_size=3,
)
numbered = values.map(lambda value: {**value, "n": len(value)})
puts = st.tuples(namespaces, keys, st.none() | numbered).map(lambda given: PutOp(*given))
plain_filters = st.dictionaries(st.sampled_from(["color", "size", "more"]), scalars, max_size=2)
operators = st.dictionaries(
    st.sampled_from(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"]), st.integers(0, 3), min_size=1
)
filters = plain_filters | st.builds(lambda one: {"n": one}, operators) | st.none()
prefixes = st.lists(labels, max_size=2).map(tuple)
paths = st.lists(labels | st.just("*"), min_size=1, max_size=2).map(tuple)


def memory_of(store):
    return store._documents._loop_for.__self__


def known(items):
    return {(item.namespace, item.key): item.value for item in items}


@given(
    batches=st.lists(st.lists(puts, max_size=4), max_size=5),
    prefix=prefixes,
    wanted=filters,
    begin=st.none() | paths,
    end=st.none() | paths,
    depth=st.none() | st.integers(1, 3),
    page=st.tuples(st.integers(0, 4), st.integers(1, 4)),
)
@examples(80)
def test_it_answers_as_the_store_of_langgraph_does(batches, prefix, wanted, begin, end, depth, page):
    """After any puts and deletes: each item, each search without words, each list of namespaces, page by page."""
    with Memory(":memory:", worker=False, embedder="none") as memory:
        ours, theirs = LaminaStore(memory), InMemoryStore()
        for batch in batches:
            assert ours.batch(batch) == theirs.batch(batch)
        for op in (op for batch in batches for op in batch):
            mine, other = ours.get(op.namespace, op.key), theirs.get(op.namespace, op.key)
            assert (mine and mine.dict()["value"]) == (other and other.dict()["value"])
        found = ours.search(prefix, filter=wanted, limit=1000)
        assert known(found) == known(theirs.search(prefix, filter=wanted, limit=1000))
        offset, limit = page
        some = ours.search(prefix, filter=wanted, limit=limit, offset=offset)
        assert known(some) == known(found[offset : offset + limit])
        full = InMemoryStore()  # theirs lists namespaces of which everything was deleted
        for item in theirs.search((), limit=1000):
            full.put(item.namespace, item.key, item.value)
        listing: dict[str, Any] = {"prefix": begin, "suffix": end, "max_depth": depth, "limit": limit, "offset": offset}
        assert ours.list_namespaces(**listing) == full.list_namespaces(**listing)


@pytest.mark.parametrize(
    ("wanted", "keys"),
    [
        pytest.param({"more": {"x": 1}}, ["a"], id="part-of-a-mapping"),
        pytest.param({"more": [1, "red"]}, ["b"], id="list"),
        pytest.param({"more": [1]}, [], id="shorter-list"),
        pytest.param({"more": [1, {"x": 2}]}, [], id="mapping-in-a-list"),
        pytest.param({"n": {"$eq": 2}}, ["b"], id="equal"),
        pytest.param({"n": {"$ne": 2}}, ["a", "c"], id="other"),
        pytest.param({"n": {"$gt": 1, "$lte": "3"}}, ["b", "c"], id="between"),
    ],
)
def test_filters_mean_what_they_mean_to_langgraph(wanted, keys):
    """Mappings by the parts that are named, lists as a whole, numbers by their order."""
    with Memory(":memory:", worker=False, embedder="none") as memory:
        for store in (LaminaStore(memory), InMemoryStore()):
            store.put(("i",), "a", {"n": 1, "more": {"x": 1, "y": 2}})
            store.put(("i",), "b", {"n": 2, "more": [1, "red"]})
            store.put(("i",), "c", {"n": 3, "more": None})
            assert sorted(item.key for item in store.search(("i",), filter=wanted)) == keys


def test_what_is_no_number_is_in_no_order():
    """LangGraph's own store fails there."""
    with Memory(":memory:", worker=False, embedder="none") as memory:
        store = LaminaStore(memory)
        for key, value in (("a", "red"), ("b", None), ("c", 3)):
            store.put(("i",), key, {"n": value})
        assert [item.key for item in store.search(("i",), filter={"n": {"$gt": 1}})] == ["c"]


def test_what_is_asked_in_a_batch_is_answered_before_it_puts():
    with Memory(":memory:") as memory:
        ours, theirs = LaminaStore(memory), InMemoryStore()
        put = PutOp(("a",), "k", {"n": 1})
        for store in (ours, theirs):
            later = put._replace(value={"n": 2})
            ops: list[Op] = [put, ListNamespacesOp(), GetOp(("a",), "k"), later, SearchOp(("a",))]
            assert store.batch(ops) == [None, [], None, None, []]
            item = store.get(("a",), "k")
            assert item is not None
            assert item.value == {"n": 2}


# many at once


@pytest.fixture
def shared(any_place):
    with Memory(any_place(), embedder="none") as memory:
        yield LaminaStore(memory)


@pytest.mark.also_postgres
def test_a_hundred_clients_on_one_key_end_with_one_value(shared):
    """And none of them has an error: one of the values is there, once, and none of the others is found."""
    with ThreadPoolExecutor(16) as clients:
        puts = [clients.submit(shared.put, ("a",), "k", {"text": f"heron {n}"}) for n in range(100)]
        for put in puts:
            put.result()
    item = shared.get(("a",), "k")
    assert item.value["text"] in {f"heron {n}" for n in range(100)}
    memory = memory_of(shared)
    assert [message.text for message in memory.messages("langgraph:a/|k")] == [f"text: {item.value['text']}"]
    assert [hit.text for hit in memory.search("heron", user_id="langgraph")] == [f"text: {item.value['text']}"]
    assert [one.value for one in shared.search(("a",), query="heron")] == [item.value]
    assert memory.verify().ok


@pytest.mark.also_postgres
def test_clients_that_put_get_delete_and_list_at_once_have_no_errors(shared):
    """What each reads is a value that somebody put, whole, or nothing."""

    def client(number):
        for turn in range(4):
            key = f"k{(number + turn) % 3}"
            shared.put(("a", str(number % 2)), key, {"n": number})
            got = shared.get(("a", str(turn % 2)), key)
            assert got is None or 0 <= got.value["n"] < 8
            assert all(0 <= item.value["n"] < 8 for item in shared.search(("a",), filter={"n": {"$gte": 0}}))
            assert all(item.score == 0 for item in shared.search(("a",), query="nothing of that"))
            assert set(shared.list_namespaces()) <= {("a", "0"), ("a", "1")}
            if turn % 2:
                shared.delete(("a", str(number % 2)), key)

    with ThreadPoolExecutor(8) as clients:
        for done in [clients.submit(client, number) for number in range(8)]:
            done.result()
    assert memory_of(shared).verify().ok


@pytest.mark.anyio
async def test_a_large_batch_of_awaited_operations_ends(tmp_path):
    """Whichever order they come in."""
    with Memory(tmp_path / "a.db", embedder="none") as memory:
        store = LaminaStore(memory)
        work: list[Any] = []
        for number in range(40):
            namespace = ("a", "b", str(number % 2))
            work += [store.aput(namespace, "k", {"n": number}), store.aget(namespace, "k"), store.asearch(("a",))]
            work += [store.alist_namespaces(max_depth=2), store.adelete(namespace, "k")]
        assert len(await asyncio.gather(*work)) == 200


# what it costs


def test_an_item_that_is_put_again_and_again_stays_one_row(tmp_path):
    """With `versions`, each value stays; no search finds the old ones."""
    with Memory(tmp_path / "a.db", embedder="none") as memory:
        plain, keeping = LaminaStore(memory), LaminaStore(memory, versions=True)
        for number in range(6):
            plain.put(("plain",), "k", {"text": f"heron {number}"})
            keeping.put(("kept",), "k", {"text": f"dove {number}", "more": "x"}, index=["text", "more"])
        (first,) = plain.search(("plain",))
        assert first.created_at < first.updated_at
        assert len(memory.messages("langgraph:plain/|k")) == 1
        assert memory.receipts() == []
        said = memory.messages("langgraph:kept/|k")
        earlier = [message.metadata["earlier"]["value"]["text"] for message in said if "earlier" in message.metadata]
        assert earlier == [f"dove {number}" for number in range(5)]
        assert [hit.text for hit in memory.search("dove", user_id="langgraph") if "dove" in hit.text] == ["dove 5"]
        assert keeping.search(("kept",), query="dove")[0].value["text"] == "dove 5"
        assert memory.verify().ok


def steps(store, run):
    """How many instructions SQLite runs for it."""
    connection, count = memory_of(store)._memory._parts.store._database._connections._connection(), 0

    def note():
        nonlocal count
        count += 1

    connection.set_progress_handler(note, 1)
    run()
    connection.set_progress_handler(None, 1)
    return count


def test_reading_costs_what_an_index_costs(tmp_path):
    """Namespaces cost what there is of them, not of items; a search what is under its prefix."""
    with Memory(tmp_path / "a.db", worker=False, embedder="none") as memory:
        store = LaminaStore(memory)
        reads = [
            store.list_namespaces,
            lambda: store.list_namespaces(prefix=("own",)),
            lambda: store.search(("own",)),
            lambda: store.search(("own",), filter={"color": "red"}),
            lambda: store.search(("own",), query="red"),
            lambda: store.get(("own",), "k1"),
        ]

        def fill(few, many):
            ops = [PutOp(("many", f"n{n % 3}"), f"k{n}", {"color": "blue"}) for n in range(few, many)]
            store.batch(ops)

        store.batch([PutOp(("own",), f"k{n}", {"color": "red" if n == 3 else "green"}) for n in range(10)])
        fill(0, 40)
        before = [(steps(store, read), calls(read)) for read in reads]
        fill(40, 400)
        after = [(steps(store, read), calls(read)) for read in reads]
        assert all(now[0] <= then[0] * 1.2 and now[1] <= then[1] * 1.2 for then, now in zip(before, after, strict=True))


# time to live


class Clock:
    def __init__(self):
        self.now = datetime(2025, 1, 6, 9, tzinfo=UTC)

    def __call__(self):
        self.now += timedelta(microseconds=1)
        return self.now

    def later(self, minutes):
        self.now += timedelta(minutes=minutes)


@pytest.fixture
def clock():
    return Clock()


def keys_of(store):
    listed = [item.key for item in store.search((), refresh_ttl=False)]
    asked = [item.key for item in store.search((), query="heron", refresh_ttl=False)]
    assert sorted(asked) == listed
    assert bool(store.list_namespaces()) == bool(listed)
    return listed


@pytest.mark.also_postgres
def test_items_expire(place, clock):
    """By the default, or what a put says; none of them is returned then, and a sweep erases them."""
    with Memory(place(), now=clock, embedder="none") as memory:
        store = LaminaStore(memory, ttl={"default_ttl": 10, "refresh_on_read": False})
        for key, more in (("default", {}), ("short", {"ttl": 5}), ("forever", {"ttl": None})):
            store.put(("birds",), key, {"text": f"heron {key}"}, **more)
        clock.later(6)
        assert keys_of(store) == ["default", "forever"]
        assert store.get(("birds",), "short") is None
        assert store.sweep_ttl() == 1
        clock.later(6)
        assert keys_of(store) == ["forever"]
        assert store.sweep_ttl() == 1
        assert store.sweep_ttl() == 0
        assert b"heron default" not in place.every_byte()
        store.put(("birds",), "forever", {"text": "heron forever"}, ttl=1)
        clock.later(2)
        assert keys_of(store) == []
        assert memory.verify().ok


def test_reading_begins_the_time_anew(clock):
    """Unless it says not to; so do puts."""
    with Memory(":memory:", now=clock, embedder="none") as memory:
        store = LaminaStore(memory, ttl={"default_ttl": 10})
        for key in ("got", "searched", "put", "listed", "not"):
            store.put(("a",), key, {"n": key})
        for _ in range(3):
            clock.later(6)
            store.get(("a",), "got")
            store.search(("a",), filter={"n": "searched"}, query="searched")
            store.put(("a",), "put", {"n": "put"})
            store.search(("a",), filter={"n": "listed"})
            store.get(("a",), "not", refresh_ttl=False)
            store.search(("a",), filter={"n": "not"}, refresh_ttl=False)
        assert keys_of(store) == ["got", "listed", "put", "searched"]
        assert store.sweep_ttl() == 1


def test_a_sweep_leaves_what_was_put_or_read_meanwhile(clock, monkeypatch):
    """Between looking for what is over and erasing it."""
    with Memory(":memory:", now=clock, embedder="none") as memory:
        store = LaminaStore(memory)
        for key in ("over", "again"):
            store.put(("a",), key, {"n": 1}, ttl=5)
        clock.later(6)
        erase = memory._memory._parts.store.erase

        async def put_first(erasure):
            monkeypatch.undo()
            await memory._memory.documents.put([store._put(PutOp(("a",), "again", {"n": 2}))])
            return await erase(erasure)

        monkeypatch.setattr(memory._memory._parts.store, "erase", put_first)
        assert store.sweep_ttl() == 1
        assert [(item.key, item.value) for item in store.search(("a",))] == [("again", {"n": 2})]


def test_a_sweeper_sweeps_by_itself(tmp_path):
    """From the start if an interval is configured; until it is stopped, or the memory is closed."""
    with Memory(tmp_path / "a.db", embedder="none") as memory:
        often: Any = {"default_ttl": 0.0001, "sweep_interval_minutes": 0.0002}
        store = LaminaStore(memory, ttl=often)
        store.put(("a",), "k", {"n": 1})
        wait_until(lambda: not memory.sessions())
        assert store.stop_ttl_sweeper()
        store.start_ttl_sweeper(0.0002)
        store.put(("a",), "k", {"n": 1})
        wait_until(lambda: not memory.sessions())
    wait_until(lambda: store._sweeper is not None and not store._sweeper.is_alive())


# searching, forgetting


@pytest.fixture
def store(place):
    with Memory(place()) as memory:
        yield LaminaStore(memory, user_id=lambda namespace: namespace[-1])


def fill(store):
    store.put(("memories", "ana"), "food", {"text": "She likes pizza with olives", "rank": 3})
    store.put(("memories", "ana"), "pet", {"text": "Her dog is called Rex", "rank": 1, "tags": ["animal"]})
    store.put(("memories", "ana"), "home", {"text": "She has a flat in Ghent", "rank": 2})
    store.put(("memories", "bo"), "pet", {"text": "His cat is called Minka", "rank": 5})
    memory_of(store).settle()


def test_items_are_found_by_what_they_say(store):
    """By meaning and words, under a prefix, with filters, limits and offsets; the newest version only."""
    fill(store)
    best, *_ = store.search(("memories", "ana"), query="what is the name of the dog?")
    assert (best.key, best.value["tags"]) == ("pet", ["animal"])
    assert 0 < best.score <= 1
    everyone = store.search(("memories",), query="pets: which animals are there, dog or cat?", limit=2)
    assert {(item.namespace[1], item.key) for item in everyone} == {("ana", "pet"), ("bo", "pet")}
    ranked = store.search(("memories", "ana"), query="dog", filter={"rank": {"$gte": 2}})
    assert "pet" not in [item.key for item in ranked]
    ordered = store.search(("memories", "ana"), query="dog", limit=3)
    assert [item.key for item in store.search(("memories", "ana"), query="dog", limit=2, offset=1)] == [
        item.key for item in ordered[1:3]
    ]
    store.put(("memories", "ana"), "pet", {"text": "Her parrot is called Rex"})
    memory_of(store).settle()
    assert all("dog" not in item.value["text"] for item in store.search(("memories",), query="the dog Rex"))
    assert all("dog" not in hit.text for hit in memory_of(store).search("the dog Rex", user_id="ana"))
    assert store.search(("nobody",), query="dog") == []
    assert store.search(("memories",), query="dog", limit=0) == []


def test_an_item_is_found_behind_many_of_other_namespaces():
    """Which may say the same, and better."""
    with Memory(":memory:", worker=False, embedder="none") as memory:
        store = LaminaStore(memory)
        store.batch([PutOp(("other",), f"k{number}", {"text": "harbour"}) for number in range(40)])
        store.put(("own",), "k", {"text": "a long walk along the wall of the harbour in the rain"})
        assert [item.key for item in store.search(("own",), query="harbour", limit=1)] == ["k"]


def test_items_are_listed_page_by_page(monkeypatch):
    """All of them, however many there are."""
    monkeypatch.setattr(documents, "_PAGE", 2)
    with Memory(":memory:", worker=False, embedder="none") as memory:
        store = LaminaStore(memory)
        store.batch([PutOp(("i",), f"k{number}", {"n": number}) for number in range(5)])
        assert [item.value["n"] for item in store.search(("i",))] == [0, 1, 2, 3, 4]


def test_an_item_whose_words_were_forgotten_is_gone():
    """By whichever way: here its message was."""
    with Memory(":memory:", worker=False, embedder="none") as memory:
        store = LaminaStore(memory)
        store.put(("i",), "a", {"text": "a heron"})
        store.put(("i",), "b", {"text": "a dove"})
        memory.forget(text="heron", user_id="langgraph")
        assert store.get(("i",), "a") is None
        assert [item.key for item in store.search(("i",))] == ["b"]


def test_only_the_fields_of_the_index_are_searched(store):
    store.put(("notes", "ana"), "a", {"title": "Harbour", "secret": "kingfisher"}, index=["title"])
    store.put(("notes", "ana"), "b", {"title": "Kingfisher"}, index=False)
    assert [item.key for item in store.search(("notes", "ana"), query="harbour")] == ["a"]
    memory_of(store).settle()
    hits = memory_of(store).search("kingfisher", user_id="ana", weights={"keyword": 1.0})
    assert [hit.text for hit in hits if hit.score > 0] == []


@pytest.mark.also_postgres
def test_what_is_deleted_is_gone_with_its_versions(store, place):
    """And with its user; an item can be put again afterwards."""
    fill(store)
    store.put(("memories", "ana"), "pet", {"text": "Her dachshund is called Rex"})
    store.put(("memories", "ana"), "pet", {"text": "Her cockatiel is called Rex"})
    first = store.get(("memories", "ana"), "pet")
    assert first.created_at < first.updated_at
    store.delete(("memories", "ana"), "pet")
    store.delete(("memories", "ana"), "never")
    assert store.get(("memories", "ana"), "pet") is None
    data = place.every_byte()
    assert b"cockatiel" not in data
    assert b"dachshund" not in data
    memory_of(store).forget(user_id="ana")
    assert store.list_namespaces() == [("memories", "bo")]
    store.put(("memories", "ana"), "pet", {"text": "None"})
    assert store.get(("memories", "ana"), "pet").value == {"text": "None"}


def test_items_are_no_conversation(store):
    """They neither become facts, nor end, nor stand in the digest of the user's conversations."""
    memory = memory_of(store)
    memory.add("The harbour wall is wet.", user_id="ana", session_id="monday")
    memory.end("monday")
    for number in range(5):
        store.put(("memories", "ana"), f"home{number}", {"text": "I live in Ghent and my name is Ana."})
    memory.add("Good day.", user_id="ana", session_id="friday")
    memory.settle()
    assert memory.facts("ana") == []
    assert "harbour" in memory.digest("ana").text
    assert "Ghent" not in memory.digest("ana").text
    statuses = {session.id: session.status for session in memory.sessions("ana")}
    assert statuses["langgraph:memories/ana/|home0"] == "paused"


@pytest.mark.parametrize(
    ("op", "problem"),
    [
        pytest.param(PutOp(("a",), "k", {"n": 1}, ttl=-5.0), "minutes above 0", id="ttl"),
        pytest.param(PutOp(("a",), "k", {"n": 1}, ttl=True), "minutes above 0", id="ttl-no-number"),
        pytest.param(PutOp(("a",), "k", [1]), "must be a dict", id="no-dict"),  # type: ignore[arg-type]
        pytest.param(PutOp(("a",), "k" * 300, {"n": 1}), "too long", id="long-key"),
        pytest.param(PutOp(("a",), "k", {"n": object()}), "cannot be written as JSON", id="no-json"),
        pytest.param(PutOp(("a",), "k\0", {}), "NUL", id="nul"),
        pytest.param(GetOp(("a",), "k\0"), "NUL", id="get-nul"),
        pytest.param(SearchOp(("a\ud800",)), "surrogates", id="surrogate"),
        pytest.param(SearchOp(("nobody",), filter={"n": {"$in": [1]}}), "no operator '\\$in'", id="operator"),
        pytest.param("get", "no operation str", id="no-op"),
    ],
)
def test_what_cannot_be_done_is_said(op, problem):
    with Memory(":memory:") as memory:
        store = LaminaStore(memory)
        store.put(("b",), "k", {"n": 1})
        with pytest.raises(InputError, match=problem):
            store.batch([PutOp(("a",), "first", {"n": 1}), op])
        assert [item.key for item in store.search(())] == ["k"]


@pytest.mark.parametrize("labels", [("a.b",), ("a", ""), ("a", 1)])
def test_labels_that_langgraph_refuses_are_refused_in_batches_too(labels):
    with Memory(":memory:") as memory:
        store = LaminaStore(memory)
        for op in (GetOp(labels, "k"), PutOp(labels, "k", {}), PutOp(labels, "k", None), SearchOp(labels)):
            with pytest.raises(InvalidNamespaceError):
                store.batch([PutOp(("b",), "k", {}), op])
        with pytest.raises(InvalidNamespaceError):
            store.list_namespaces(suffix=labels)
        with pytest.raises(InvalidNamespaceError):
            store.batch([GetOp((), "k")])
        assert store.search(()) == []


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        pytest.param({"index": {"dims": 3, "embed": len}}, r"only `fields` here, not \['dims', 'embed'\]", id="embed"),
        pytest.param({"index": {"fields": "text"}}, "list of paths", id="fields"),
        pytest.param({"ttl": {"default_ttl": 0}}, "minutes above 0", id="default"),
        pytest.param({"ttl": {"sweep_interval_minutes": "often"}}, "minutes above 0", id="interval"),
        pytest.param({"ttl": {"default": 1}}, r"no \['default'\]; there are \['default_ttl'", id="unknown"),
    ],
)
def test_options_that_cannot_be_honoured_are_refused(options, problem):
    with Memory(":memory:") as memory, pytest.raises(InputError, match=problem):
        LaminaStore(memory, **options)


# inside a graph


def test_a_graph_keeps_and_finds_with_it(place):
    def answer(state: MessagesState, *, store: BaseStore) -> dict[str, Any]:
        said = str(state["messages"][-1].content)
        known = store.search(("memories", "ana"), query=said, limit=1)
        store.put(("memories", "ana"), f"m{len(said)}", {"text": said})
        return {"messages": [("ai", known[0].value["text"] if known else "Noted.")]}

    builder = StateGraph(MessagesState)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    builder.add_edge("answer", END)
    with Memory(place()) as memory:
        graph: Any = builder.compile(store=LaminaStore(memory))
        first = graph.invoke({"messages": [("user", "The boathouse key hangs behind the clock")]})
        memory.settle()
        second = graph.invoke({"messages": [("user", "Where is the key of the boathouse?")]})
    assert first["messages"][-1].content == "Noted."
    assert second["messages"][-1].content == "The boathouse key hangs behind the clock"


@pytest.mark.anyio
async def test_the_awaited_verbs_do_the_same(place):
    with Memory(place()) as memory:
        store = LaminaStore(memory)
        await store.aput(("a", "b"), "k", {"text": "a heron"})
        item = await store.aget(("a", "b"), "k")
        assert item is not None
        assert item.value == {"text": "a heron"}
        assert [one.key for one in await store.asearch(("a",), query="heron")] == ["k"]
        assert await store.alist_namespaces(max_depth=1) == [("a",)]
        await store.adelete(("a", "b"), "k")
        assert await store.aget(("a", "b"), "k") is None
