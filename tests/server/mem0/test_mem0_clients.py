"""The clients of mem0's hosted platform, unchanged, against a running service."""

import asyncio
import base64
import importlib
import sqlite3
from contextlib import closing, contextmanager
from typing import Any

import pytest

from lamina.server.mem0 import writes
from lamina.settings import Settings
from tests.http_service import serving
from tests.knowledge.test_circular_links import rewritten

UNKNOWN = "fact_" + 32 * "0"
INTRO = {"role": "user", "content": "I'm Alex. I live in Porto and I love hiking."}


@pytest.fixture(scope="session")
def mem0(tmp_path_factory):
    """The real package, which tells nobody of it and writes into no home folder."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("MEM0_TELEMETRY", "False")
        patched.setenv("MEM0_DIR", str(tmp_path_factory.mktemp("mem0")))
        yield importlib.import_module("mem0")


@pytest.fixture(scope="module")
def begun():
    with serving(Settings(database=":memory:", embedder="none"), worker=False) as service:
        yield service


@pytest.fixture
def served(begun, tmp_path):
    """The service on an empty file."""
    with begun.over(tmp_path / "chat.db") as service:
        yield service


@pytest.fixture
def client(mem0, served):
    with closed(mem0.MemoryClient(api_key=served.key("admin"), host=str(served.client.base_url))) as client:
        yield client


@contextmanager
def closed(client):
    """A client whose connections are closed in the end."""
    with closing(client.client):
        yield client


def kept(client, text, **more):
    """The id of a memory that was stored as it is."""
    (made,) = client.add(text, infer=False, **{"user_id": "alex", **more})["results"]
    return made["id"]


def texts(answer):
    return [one["memory"] for one in answer["results"]]


# the main flow, on each store


@pytest.mark.also_postgres
def test_a_client_adds_finds_changes_and_erases(mem0, place):
    with serving(Settings(database=str(place()))) as served:
        key = served.key("admin")
        with closed(mem0.MemoryClient(api_key=key, host=str(served.client.base_url))) as client:
            made = client.add([INTRO], user_id="alex", metadata={"topic": "intro", "n": 3}, async_mode=False)["results"]
            assert [(one["memory"], one["event"]) for one in made] == [
                ("name: Alex", "ADD"), ("location: Porto", "ADD"), ("likes hiking", "ADD"),
            ]  # fmt: skip
            (moved,) = client.add("I moved to Lisbon.", user_id="alex", run_id="r1", async_mode=False)["results"]
            assert (moved["event"], moved["previous_memory"]) == ("UPDATE", "location: Porto")

            everything = client.get_all(filters={"user_id": "alex"})
            assert texts(everything) == ["location: Lisbon", "likes hiking", "name: Alex"]
            assert (everything["count"], everything["next"]) == (3, None)
            assert everything["results"][1]["metadata"] == {"topic": "intro", "n": 3}
            assert (everything["results"][0]["run_id"], everything["results"][1]["run_id"]) == ("r1", None)
            best, *_ = client.search("Lisbon", filters={"user_id": "alex"}, top_k=3)["results"]
            assert (best["id"], best["categories"]) == (moved["id"], ["identity"])
            assert best["score"] > 0

            liked = made[2]["id"]
            changed = client.update(liked, text="likes sailing", metadata={"topic": "sport"})
            assert (changed["id"], changed["memory"]) == (liked, "likes sailing")
            assert client.get(liked)["metadata"] == {"topic": "sport"}
            steps = [(one["event"], one["old_memory"], one["new_memory"]) for one in client.history(liked)]
            assert steps == [("ADD", None, "likes hiking"), ("UPDATE", "likes hiking", "likes sailing")]

            assert client.delete(liked)["receipts"]
            with pytest.raises(Exception, match="no memory"):
                client.get(liked)
            assert client.delete_all(user_id="alex")["message"] == "Memory deleted successfully!"
            assert client.get_all(filters={"user_id": "alex"})["results"] == []
            assert client.search("Lisbon", filters={"user_id": "alex"})["results"] == []
        report = served.with_key(key).post("/v1/verify", json={}).json()
        assert report["problems"] == []
    for word in (b"sailing", b"lisbon", b"hiking"):
        assert word not in place.every_byte()


def test_the_awaited_client_does_the_same(mem0, served):
    key, host = served.key("admin"), str(served.client.base_url)

    async def used():
        async with mem0.AsyncMemoryClient(api_key=key, host=host) as client:
            (made,) = (await client.add("I live in Porto.", user_id="alex", async_mode=False))["results"]
            assert texts(await client.search("Porto", filters={"user_id": "alex"})) == ["location: Porto"]
            assert texts(await client.get_all(filters={"user_id": "alex"})) == ["location: Porto"]
            await client.update(made["id"], text="lives in Faro")
            assert (await client.get(made["id"]))["memory"] == "lives in Faro"
            assert len(await client.history(made["id"])) == 2
            await client.delete(made["id"])
            await client.add("I like tea.", user_id="bob")
            await client.reset()
            assert (await client.users())["results"] == []

    asyncio.run(used())


# adding


def test_an_add_is_not_waited_for_unless_it_shall_be(client, served):
    """The event tells how far it is."""
    pending = client.add("I live in Porto.", user_id="alex")
    assert (pending["status"], [one["status"] for one in pending["results"]]) == ("PENDING", ["PENDING"])
    assert pending["results"][0]["event_id"] == pending["event_id"]
    address = f"/v1/event/{pending['event_id']}/"
    assert client.client.get(address).json()["status"] == "PENDING"
    served.with_key(served.key()).post("/v1/settle", json={})
    done = client.client.get(address).json()
    assert (done["status"], [one["memory"] for one in done["results"]]) == ("SUCCEEDED", ["location: Porto"])
    assert client.client.get("/v1/event/evt_made-up/").status_code == 400
    unknown = base64.urlsafe_b64encode(b"1:1:nowhere").decode().rstrip("=")
    assert client.client.get(f"/v1/event/evt_{unknown}/").status_code == 404


def test_an_add_that_takes_too_long_goes_on_in_the_background(client, monkeypatch):
    monkeypatch.setattr(writes, "_WAIT_S", 0)
    done = client.add("I live in Porto.", user_id="alex", async_mode=False)
    assert (done["status"], [one["status"] for one in done["results"]]) == ("PENDING", ["PENDING"])
    assert client.client.get(f"/v1/event/{done['event_id']}/").status_code == 200


def test_a_memory_by_hand_keeps_its_words_and_metadata(client):
    about = {"team": "blue", "size": 3, "odd": "=1", "deep": {"a": [None, True]}, "blank": " "}
    memory_id = kept(client, "We ship on Fridays: always", agent_id="bot", run_id="r9", metadata=about)
    found = client.get(memory_id)
    assert (found["memory"], found["metadata"]) == ("We ship on Fridays: always", about)
    assert (found["user_id"], found["agent_id"], found["run_id"]) == ("alex", "bot", "r9")
    client.update(memory_id, text="We ship on Mondays")
    found = client.get(memory_id)
    assert (found["metadata"], found["agent_id"]) == (about, "bot")
    assert texts(client.get_all(filters={"AND": [{"agent_id": "bot"}, {"run_id": "r9"}]})) == ["We ship on Mondays"]


def test_tags_of_our_own_are_metadata(client, served):
    """A word is among the `tags`, and stays when the memory is changed."""
    told = {"text": "We ship on Fridays", "tags": ["release", "mood:=fine"]}
    memory_id = served.with_key(served.key()).post("/v1/users/alex/facts", json=told).json()["id"]
    assert client.get(memory_id)["metadata"] == {"tags": ["release"], "mood": "fine"}
    client.update(memory_id, metadata={"team": "blue"})
    assert client.get(memory_id)["metadata"] == {"tags": ["release"], "team": "blue"}


def test_what_expires_is_listed_on_request_only(client):
    kept(client, "The gate code is new", timestamp=1_700_000_000, expiration_date="2024-01-01")
    assert client.get_all(filters={"user_id": "alex"})["results"] == []
    kept(client, "The lamp is old", expiration_date="2999-01-01")
    assert [one["expiration_date"] for one in client.get_all(filters={"user_id": "alex"})["results"]] == ["2999-01-01"]


def test_runs_and_agents_have_sessions_of_their_own(client):
    client.add("I live in Porto.", user_id="alex", agent_id="guide", async_mode=False)
    client.add("I like tea.", user_id="alex", agent_id="cook", run_id="lunch", async_mode=False)
    client.add("I like figs.", run_id="lunch", async_mode=False)  # the run knows whose it is
    assert texts(client.get_all(filters={"agent_id": "guide"})) == ["location: Porto"]
    assert texts(client.get_all(filters={"run_id": "lunch"})) == ["likes figs", "likes tea"]
    named = [(one["type"], one["name"]) for one in client.users()["results"]]
    assert named == [("user", "alex"), ("agent", "cook"), ("agent", "guide"), ("run", "lunch")]
    with pytest.raises(Exception, match="runs of its own"):
        client.add("I like tea.", user_id="alex", agent_id="guide", run_id="lunch")
    for run in ("lunch", "carol:main"):
        with pytest.raises(Exception, match=f"session '{run}' is taken; choose another session_id"):
            client.add("I like tea.", user_id="bob", agent_id="guide", run_id=run)
    client.delete_users(agent_id="cook")
    assert texts(client.get_all(filters={"user_id": "alex"})) == ["location: Porto"]


def test_agents_go_on_in_the_sessions_they_had(served, client):
    """Those of older files end otherwise; nobody else gets into either."""
    service = served.with_key(served.key("admin"))
    client.add("I live in Porto.", user_id="alex", agent_id="guide", async_mode=False)
    client.add("I live in Ghent.", user_id="alex/guide", async_mode=False)
    assert [one["id"] for one in service.get("/v1/sessions").json()["items"]] == ["alex/guide:main", "alex:main@guide"]
    with sqlite3.connect(served.settings.database) as connection:
        connection.execute("update sessions set user_id = 'alex', agent_id = 'cook' where id = 'alex/guide:main'")
        connection.execute("update sessions set id = 'alex/cook:main' where id = 'alex/guide:main'")
    client.add("I like figs.", user_id="alex", agent_id="cook", async_mode=False)
    assert {one["id"] for one in service.get("/v1/sessions").json()["items"]} == {"alex/cook:main", "alex:main@guide"}


# finding


def test_messages_are_found_where_facts_are_few(client):
    """They say that they are messages; the message of a fact that was found is not found again."""
    client.add(["I live in Porto.", "The harbour of Porto was full of ships."], user_id="alex", async_mode=False)
    fact, message = client.search("Porto", filters={"user_id": "alex"})["results"]
    assert (fact["memory"], "lamina_kind" in fact["metadata"]) == ("location: Porto", False)
    assert (message["memory"], message["metadata"]["lamina_kind"]) == (
        "The harbour of Porto was full of ships.",
        "message",
    )
    assert len(client.search("Porto", filters={"user_id": "alex"}, top_k=1)["results"]) == 1
    assert client.get(message["id"])["memory"] == message["memory"]
    (step,) = client.history(message["id"])
    assert (step["event"], step["old_memory"], step["new_memory"]) == ("ADD", None, message["memory"])
    with pytest.raises(Exception, match="is a message"):
        client.update(message["id"], text="other words")
    client.delete(message["id"])
    assert texts(client.search("Porto harbour", filters={"user_id": "alex"})) == ["location: Porto"]


FILTERED = [
    ({"user_id": "alex"}, {"tea", "figs", "nuts"}),
    ({"user_id": {"in": ["alex", "bob"]}}, {"tea", "figs", "nuts", "rice"}),
    ({"user_id": "*"}, {"tea", "figs", "nuts", "rice"}),
    ({"AND": [{"user_id": "alex"}, {"metadata": {"kind": "drink"}}]}, {"tea"}),
    ({"OR": [{"user_id": "bob"}, {"metadata": {"price": {"gt": 4}}}]}, {"figs", "rice"}),
    ({"AND": [{"user_id": "alex"}, {"NOT": [{"metadata": {"kind": "drink"}}, {"keywords": "NUT"}]}]}, {"figs"}),
    ({"AND": [{"user_id": "alex"}, {"created_at": {"gte": "2001-09-01", "lte": "2001-09-30"}}]}, set()),
    ({"AND": [{"user_id": "alex"}, {"created_at": {"gte": "2020-01-01T00:00:00"}}]}, {"tea", "figs", "nuts"}),
    ({"AND": [{"user_id": "alex"}, {"categories": {"in": ["fact"]}}]}, {"tea", "figs", "nuts"}),
    ({"AND": [{"user_id": "alex"}, {"categories": {"contains": "identity"}}]}, set()),
    ({"AND": [{"user_id": "alex"}, {"created_at": {"lt": "2020-01-01T00:00:00Z"}}]}, set()),
    ({"AND": [{"user_id": "alex"}, {"agent_id": "*"}]}, {"nuts"}),
    ({"user_id": "alex", "agent_id": None, "app_id": None}, {"tea", "figs", "nuts"}),
    ({"AND": [{"user_id": {"ne": "alex"}}, {"metadata": {"kind": "*"}}]}, {"rice"}),
]


@pytest.mark.parametrize(
    ("filters", "wanted"), FILTERED, ids=lambda one: None if isinstance(one, set) else str(one)[:60]
)
def test_filters_choose(foods, filters, wanted):
    assert {text.split()[-1] for text in texts(foods.get_all(filters=filters))} == wanted
    found = foods.search("tea figs nuts rice", filters=filters, top_k=50)
    assert {text.split()[-1] for text in texts(found)} == wanted


@pytest.fixture(scope="module")
def foods(mem0, tmp_path_factory):
    path = tmp_path_factory.mktemp("foods") / "chat.db"
    with (
        serving(Settings(database=str(path), embedder="none"), worker=False) as served,
        closed(mem0.MemoryClient(api_key=served.key("admin"), host=str(served.client.base_url))) as client,
    ):
        kept(client, "We have tea", metadata={"kind": "drink", "price": 2})
        kept(client, "We have figs", metadata={"kind": "fruit", "price": 5})
        kept(client, "We have nuts", metadata={"kind": "fruit"}, agent_id="cook")
        kept(client, "We have rice", user_id="bob", metadata={"kind": "grain"})
        yield client


DEEP: dict[str, Any] = {"user_id": "alex"}
for _ in range(20):
    DEEP = {"AND": [DEEP]}


@pytest.mark.parametrize(
    ("filters", "said"),
    [
        ({"colour": "red"}, "no filter 'colour'"),
        ({"user_id": {"like": "a%"}}, "no operator 'like'"),
        ({"app_id": "shop"}, "Lamina has no apps"),
        ({"created_at": {"gte": "soon"}}, "is no time"),
        ({"created_at": {"gte": "at Ten"}}, "is no time"),
        ({"created_at": {"gte": 1e30}}, "is no time"),
        ({"user_id": 5}, "needs a text, not int"),
        ({"user_id": {"in": [f"user{n}" for n in range(201)]}}, "memories of 201 users; name up to 200"),
        (DEEP, "20 levels deep"),
        ({"user_id": {"in": "alex"}}, "needs a list"),
        ({"metadata": "drink"}, "is an object"),
        ({"AND": "alex"}, "filters are an object"),
        ({"metadata": {"kind": "drink"}}, "whose memories to search"),
    ],
    ids=lambda one: str(one)[:60],
)
def test_what_a_filter_cannot_say_is_refused_with_what_it_can(foods, filters, said):
    with pytest.raises(Exception, match=said):
        foods.search("tea", filters=filters)


def test_lists_come_in_pages_and_with_chosen_fields(foods):
    first = foods.get_all(filters={"user_id": "alex"}, page=1, page_size=2)
    rest = foods.get_all(filters={"user_id": "alex"}, page=2, page_size=2)
    assert (first["count"], len(first["results"]), len(rest["results"])) == (3, 2, 1)
    assert (first["next"], rest["previous"]) == (
        "/v3/memories/?page=2&page_size=2",
        "/v3/memories/?page=1&page_size=2",
    )
    assert rest["next"] is None
    (found,) = foods.search("figs", filters={"user_id": "alex"}, fields=["score"], threshold=0.01)["results"]
    assert set(found) == {"id", "memory", "score"}
    assert foods.search("figs", filters={"user_id": "alex"}, threshold=1.1)["results"] == []


def test_scores_are_what_thresholds_of_mem0_expect(foods):
    """An answer passes the default of version 3 (0.1) and that of its command line (0.3); noise does not."""
    foods.add([{"role": "user", "content": "I live in Oslo."}], user_id="ida", async_mode=False)
    asked = {"filters": {"user_id": "ida"}}
    best, *_ = foods.search("Where do I live?", **asked, threshold=0.3)["results"]
    assert best["memory"] == "location: Oslo"
    assert best["score"] > 0.5
    assert foods.search("What is the capital of Peru?", **asked, threshold=0.3)["results"] == []
    assert foods.search("Who painted the kitchen wall?", **asked)["results"] == []
    every = foods.search("Where is the town hall?", **asked, threshold=0.0)["results"]
    assert foods.search("Where is the town hall?", **asked)["results"] == [one for one in every if one["score"] >= 0.1]
    body = {"query": "Where is the town hall?", "filters": {"user_id": "ida"}}
    assert [one["score"] for one in foods.client.post("/v1/memories/search/", json=body).json()] == [
        one["score"] for one in every
    ]


@pytest.mark.parametrize("params", [{"page": -1}, {"page_size": 1001}, {"page": 1, "page_size": -5}])
def test_a_page_that_cannot_be_is_refused(foods, params):
    answer = foods.client.post("/v3/memories/", json={"filters": {"user_id": "alex"}}, params=params)
    assert (answer.status_code, "should be" in answer.json()["detail"]) == (400, True)


@pytest.mark.parametrize("filters", ["alex", "[1]", "('user_id', 'alex')", "{'user_id': alex}"])
def test_filters_in_an_address_are_an_object(foods, filters):
    """As JSON, or as Python shows it."""
    answer = foods.client.get("/v1/memories/", params={"filters": filters})
    assert (answer.status_code, "filters are an object" in answer.json()["detail"]) == (400, True)
    assert len(foods.client.get("/v1/memories/", params={"filters": "{'user_id': 'alex'}"}).json()) == 3


def test_older_clients_get_the_forms_that_they_know(foods, mem0):
    """Version 1 and 2 answer with lists unless the later form is asked for."""
    http = foods.client
    assert len(http.get("/v1/memories/", params={"user_id": "alex"}).json()) == 3
    paged = http.post("/v2/memories/", json={"filters": {"user_id": "bob"}}, params={"page": 1, "page_size": 5}).json()
    assert texts(paged) == ["We have rice"]
    assert len(http.post("/v2/memories/", json={"filters": {"user_id": "bob"}}).json()) == 1
    asked = {"query": "tea", "user_id": "alex"}
    assert http.post("/v1/memories/search/", json=asked).json()[0]["memory"] == "We have tea"
    assert texts(http.post("/v2/memories/search/", json={**asked, "output_format": "v1.1"}).json()) == ["We have tea"]
    said = {"messages": [{"role": "user", "content": "I live in Faro."}], "user_id": "eve"}
    (made,) = http.post("/v1/memories/", json=said).json()
    assert (made["memory"], made["event"]) == ("location: Faro", "ADD")


# changing and erasing


def test_many_are_changed_and_erased_at_once_or_not_at_all(client):
    one, other = kept(client, "We have tea"), kept(client, "We have figs")
    changes = [{"memory_id": one, "text": "We have mint"}, {"memory_id": other, "metadata": {"ripe": True}}]
    assert client.batch_update(changes)["message"] == "Successfully updated 2 memories"
    assert (client.get(one)["memory"], client.get(other)["metadata"]) == ("We have mint", {"ripe": True})
    with pytest.raises(Exception, match=f"no memory '{UNKNOWN}'"):
        client.batch_delete([{"memory_id": one}, {"memory_id": UNKNOWN}])
    assert client.get(one)
    client.batch_delete([{"memory_id": one}, {"memory_id": other}])
    assert client.get_all(filters={"user_id": "alex"})["results"] == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"text": "We have mint", "timestamp": 1_700_000_000}, "leave timestamp out"),
        ({"expiration_date": None}, "cannot be taken away"),
    ],
)
def test_what_cannot_be_changed_stays(client, change, said):
    memory_id = kept(client, "We have tea", expiration_date="2999-01-01")
    with pytest.raises(Exception, match=said):
        client.update(memory_id, **change)
    assert (client.get(memory_id)["memory"], client.get(memory_id)["expiration_date"]) == ("We have tea", "2999-01-01")


def test_a_change_of_nothing_makes_no_version(client):
    memory_id = kept(client, "We have tea")
    assert client.update(memory_id, expiration_date=None)["memory"] == "We have tea"
    assert len(client.history(memory_id)) == 1


def test_what_held_before_holds_again_unless_it_goes_too(client):
    def moved():
        client.add("I live in Porto.", user_id="alex", async_mode=False)
        client.add("I moved to Lisbon.", user_id="alex", async_mode=False)
        (now,) = client.get_all(filters={"user_id": "alex"})["results"]
        return now["id"]

    client.delete(moved())
    assert texts(client.get_all(filters={"user_id": "alex"})) == ["location: Porto"]
    client.delete_all(user_id="alex")
    client.delete(moved(), delete_linked=True)
    assert client.get_all(filters={"user_id": "alex"})["results"] == []


def test_feedback_decides_whether_a_memory_holds(client):
    memory_id = kept(client, "We have tea")
    assert client.feedback(memory_id, "NEGATIVE")["message"] == "the memory is now candidate"
    assert client.feedback(memory_id, "POSITIVE")["message"] == "the memory is now active"
    client.feedback(memory_id, "VERY_NEGATIVE", "we never had any")
    assert client.get_all(filters={"user_id": "alex"})["results"] == []
    assert [one["event"] for one in client.history(memory_id)] == ["ADD", "DELETE"]
    with pytest.raises(Exception, match="feedback is one of"):
        client.feedback(memory_id)


@pytest.mark.parametrize(
    ("asked", "left"),
    [
        ({"user_id": "alex"}, {"bob"}),
        ({"run_id": "r1"}, {"alex", "bob"}),
        ({"filters": {"user_id": "bob"}}, {"alex"}),
        ({"user_id": "*"}, set()),
        ({"user_id": "*", "agent_id": "*", "app_id": "*", "run_id": "*"}, set()),
        ({"filters": {"AND": [{"user_id": "*"}, {"agent_id": "*"}, {"app_id": "*"}, {"run_id": "*"}]}}, set()),
        ({"user_id": "*", "run_id": "*"}, {"alex", "bob"}),
        ({"user_id": "alex", "metadata": '{"kind": "none"}'}, {"alex", "bob"}),
        ({"user_id": "bob", "metadata": '{"kind": "grain"}'}, {"alex"}),
    ],
)
def test_everything_of_somebody_is_erased(client, asked, left):
    client.add("I like tea.", user_id="alex", async_mode=False)
    client.add("I like figs.", user_id="alex", run_id="r1", async_mode=False)
    kept(client, "We have rice", user_id="bob", metadata={"kind": "grain"})
    client.delete_all(**asked)
    assert {one["name"] for one in client.users()["results"] if one["type"] == "user"} == left
    if asked.get("run_id") in {"r1", "*"} and "app_id" not in asked:
        assert texts(client.get_all(filters={"user_id": "alex"})) == ["likes tea"]
    with pytest.raises(Exception, match="whose memories to delete"):
        client.delete_all()


IDS = {"user_id": "*", "agent_id": "*", "run_id": "*"}


@pytest.mark.parametrize("asked", [{**IDS, "app_id": "shop"}, {"user_id": "alex", "app_id": "*"}])
def test_apps_are_refused_unless_everything_shall_go(client, asked):
    kept(client, "We have tea")
    with pytest.raises(Exception, match="Lamina has no apps"):
        client.delete_all(**asked)
    assert len(client.get_all(filters={"user_id": "alex"})["results"]) == 1


def test_a_star_is_no_entity(client):
    kept(client, "We have tea")
    assert client.client.delete("/v2/entities/user/*/").status_code == 400
    assert len(client.get_all(filters={"user_id": "alex"})["results"]) == 1


def test_profiles_and_summaries_come_from_what_is_known(client):
    assert client.get_profile("alex")["status"] == "insufficient_data"
    client.add([INTRO], user_id="alex", async_mode=False)
    found = client.get_profile("alex")
    assert found["status"] == "succeeded"
    assert [one["value"] for one in found["profile"]["identity"]] == ["Alex", "Porto"]
    assert "Porto" in client.get_summary({"user_id": "alex"})["summary"]
    with pytest.raises(Exception, match="of one user"):
        client.get_summary({"user_id": {"in": ["alex", "bob"]}})


# refusals


def test_a_key_is_needed_and_its_role_counts(mem0, served):
    host, reader, writer = str(served.client.base_url), served.key("read"), served.key("write")
    with importlib.import_module("httpx").Client() as http, pytest.raises(ValueError, match="a key that is known"):
        mem0.MemoryClient(api_key="lam_wrong", host=host, client=http)
    with closed(mem0.MemoryClient(api_key=reader, host=host)) as client:
        with pytest.raises(Exception, match="role write"):
            client.add("I like tea.", user_id="alex")
        assert client.get_all(filters={"user_id": "alex"})["results"] == []
        with pytest.raises(Exception, match="role write"):
            client.delete("any")
    with closed(mem0.MemoryClient(api_key=writer, host=host)) as client:
        memory_id = kept(client, "We have tea")
        client.delete(memory_id)
        with pytest.raises(Exception, match="no memory"):
            client.get(memory_id)


def test_a_service_without_keys_takes_any_word_as_a_key(mem0, served):
    """The client insists on one; with a key, the word is refused."""
    host = str(served.client.base_url)
    with closed(mem0.MemoryClient(api_key="dummy", host=host)) as client:
        assert client.get(kept(client, "We have tea"))["memory"] == "We have tea"
    served.key()
    with importlib.import_module("httpx").Client() as http, pytest.raises(ValueError, match="a key that is known"):
        mem0.MemoryClient(api_key="dummy", host=host, client=http)


def test_another_tenants_memories_are_not_there(mem0, served, client):
    memory_id = kept(client, "We have tea")
    client.add("I like tea.", user_id="alex", run_id="r1", async_mode=False)
    with closed(mem0.MemoryClient(api_key=served.key("admin", tenant="b"), host=str(served.client.base_url))) as other:
        for verb in (other.get, other.delete, other.history):
            with pytest.raises(Exception, match="no memory"):
                verb(memory_id)
        assert other.users()["results"] == []
        assert other.search("tea", filters={"user_id": "*"})["results"] == []
        other.delete_users(user_id="alex")
        other.delete_all(run_id="r1")
    assert len(client.get_all(filters={"user_id": "alex"})["results"]) == 2


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda client: client.project.get(), "a key belongs to a tenant"),
        (lambda client: client.get_webhooks("p"), "Lamina has no webhooks: listen to `GET /v1/events`"),
        (lambda client: client.create_memory_export("{}"), "lamina export"),
        (lambda client: client.generate_profile("alex"), "get_profile answers at once"),
        (lambda client: client.get(UNKNOWN), f"no memory '{UNKNOWN}'"),
        (lambda client: client.get("none"), "'none' is no id of a memory"),
        (lambda client: client.add("hello"), "user_id, agent_id or run_id"),
        (lambda client: client.add("hello", user_id="a", app_id="b"), "Lamina has no apps"),
        (lambda client: client.add("hello", user_id="a", custom_instructions="x"), "no custom_instructions"),
        (lambda client: client.add("hello", user_id="a", expiration_date="2030-01-01"), "goes with infer=False"),
        (lambda client: client.add("x", user_id="a", infer=False, metadata={"a:b": 1}), "without ':'"),
        (lambda client: client.add("x", user_id="a", metadata={"lamina_kind": "fact"}), "marks messages"),
        (lambda client: client.add(" ", user_id="a", infer=False), "a text as its content"),
        (lambda client: client.add([{"role": "king", "content": "x"}], user_id="a"), "role"),
    ],
)
def test_what_lamina_has_not_is_a_readable_error(foods, ask, said):
    with pytest.raises(Exception, match=said) as told:
        ask(foods)
    assert type(told.value).__module__ == "mem0.exceptions"


def test_memories_that_replace_each_other_are_shown(served, client, tmp_path):
    """A file that was damaged so that versions go in a circle is listed like any other."""
    old = kept(client, "I drink tea")
    client.update(old, text="I drink coffee")
    (new,) = (
        one
        for one in served.with_key(served.key("admin")).get("/v1/users/alex/facts").json()["items"]
        if one["replaces"]
    )
    rewritten(tmp_path / "chat.db", "facts", old, replaces=new["id"])
    assert texts(client.get_all(filters={"user_id": "alex"})) == ["I drink coffee"]
    assert client.get(old)["memory"]
    assert client.history(old)
