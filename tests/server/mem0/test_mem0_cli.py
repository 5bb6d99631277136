"""What the command line and the Node client of mem0 send, word for word, and what they need to show a result.

The requests are those of `mem0-cli` 0.2.13 (Python and Node) and of `mem0ai` 3.3.1 for Node.
"""

import pytest

from lamina.settings import Settings
from tests.http_service import serving

CLI = {"source": "CLI"}
UNKNOWN = "fact_" + 32 * "0"


@pytest.fixture(scope="module")
def begun():
    with serving(Settings(database=":memory:", embedder="none"), worker=False) as service:
        yield service


@pytest.fixture
def client(begun, tmp_path):
    """Whoever has a key that may do everything."""
    with begun.over(tmp_path / "chat.db") as service:
        yield service.with_key(service.key("admin"))


def added(client, text="I live in Porto.", **more):
    said = {"messages": [{"role": "user", "content": text}], "user_id": "alex", **more, **CLI}
    answer = client.post("/v3/memories/add/", json=said)
    assert answer.status_code == 200, answer.text
    return answer.json()


def known(client, text="We ship on Fridays", **more):
    """The id of a memory."""
    return added(client, text, infer=False, **more)["results"][0]["id"]


def listed(client, **filters):
    answer = client.post(
        "/v3/memories/",
        params={"page": "1", "page_size": "100"},
        json={**({"filters": filters} if filters else {}), **CLI},
    )
    assert answer.status_code == 200, answer.text
    return [one["memory"] for one in answer.json()["results"]]


def test_add_shows_what_is_queued(client):
    """The command counts `results`: one entry that is pending says `1 event pending`."""
    (queued,) = added(client)["results"]
    assert (queued["status"], queued["event_id"][:4]) == ("PENDING", "evt_")
    (made,) = added(client, "We ship on Fridays", infer=False)["results"]
    assert (made["event"], made["memory"]) == ("ADD", "We ship on Fridays")


def test_events_are_listed_and_told(client):
    """`event status` shows the memory that is under `data`."""
    added(client)
    (event,) = client.get("/v1/events/").json()["results"]
    assert (event["event_type"], event["status"]) == ("ADD", "PENDING")
    assert client.get("/v1/events/", params={"event_type": "SEARCH"}).json()["results"] == []
    client.post("/v1/settle", json={})
    told = client.get(f"/v1/event/{event['id']}/").json()
    assert (told["status"], told["updated_at"]) == ("SUCCEEDED", event["updated_at"])
    (made,) = told["results"]
    assert (made["event"], made["user_id"], made["data"]) == ("ADD", "alex", {"memory": "location: Porto"})


def test_list_search_get_update_and_delete_say_where_they_come_from(client):
    memory_id = known(client)
    assert listed(client, user_id="alex") == listed(client) == ["We ship on Fridays"]
    asked = {"query": "Fridays", "top_k": 10, "threshold": 0.0, "filters": {"user_id": "alex"}, **CLI}
    more = {"rerank": True, "keyword_search": True, "fields": ["memory"], "show_expired": True, "latest_only": True}
    for body in (asked, {**asked, **more}):
        (found,) = client.post("/v3/memories/search/", json=body).json()["results"]
        assert found["memory"] == "We ship on Fridays"
    assert client.get(f"/v1/memories/{memory_id}/", params=CLI).json()["id"] == memory_id
    changed = client.put(f"/v1/memories/{memory_id}/", json={"text": "We ship on Mondays", **CLI})
    assert (changed.status_code, changed.json()["memory"]) == (200, "We ship on Mondays")
    assert client.delete(f"/v1/memories/{memory_id}/", params={**CLI, "delete_linked": "true"}).status_code == 200
    assert listed(client) == []


@pytest.mark.parametrize(
    "ids", [{"user_id": "alex"}, {"user_id": "*", "agent_id": "*", "app_id": "*", "run_id": "*"}], ids=["one", "all"]
)
def test_delete_all(client, ids):
    known(client)
    assert client.delete("/v1/memories/", params={**CLI, **ids}).json()["message"] == "Memory deleted successfully!"
    assert listed(client) == []


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_delete_an_entity(client, version):
    known(client)
    answer = client.delete(f"/{version}/entities/user/alex/", params=CLI)
    assert answer.json()["message"] == "Entity deleted successfully!"
    assert client.get("/v1/entities/").json()["results"] == []


def test_what_is_not_known_to_us_is_ignored_as_by_the_platform(client):
    """Also what the Node client sends as null."""
    added(client, colour="red", metadata=None)
    asked = {"query": "Porto", "filters": {"user_id": "alex"}, "something_new": {"deep": [1]}, "source": "OPENCLAW"}
    assert client.post("/v3/memories/search/", json={**asked, "output_format": "v1.1"}).status_code == 200
    assert client.get("/v1/memories/", params={"user_id": "alex", "colour": "red"}).status_code == 200


@pytest.mark.parametrize(
    ("verb", "path", "body"),
    [
        ("GET", "/v1/memories/{}/", None),
        ("GET", "/v1/memories/{}/history/", None),
        ("PUT", "/v1/memories/{}/", {"text": "x"}),
        ("DELETE", "/v1/memories/{}/", None),
        ("PUT", "/v1/batch/", {"memories": [{"memory_id": "{}", "text": "x"}]}),
        ("DELETE", "/v1/batch/", {"memories": [{"memory_id": "{}"}]}),
        ("POST", "/v1/feedback/", {"memory_id": "{}", "feedback": "POSITIVE"}),
    ],
)
def test_a_malformed_id_is_a_bad_request_and_an_unknown_one_is_not_found(client, verb, path, body):
    def asked(memory_id):
        sent = None if body is None else _filled(body, memory_id)
        return client.request(verb, path.format(memory_id), json=sent).status_code

    assert [asked(one) for one in ("nonsense", "1", "fact_12", UNKNOWN[:-1])] == [400] * 4
    assert [asked(one) for one in (UNKNOWN, "0d9b21ee-6f3c-4f83-9e1f-2d4f1c0b8a11")] == [404] * 2


def _filled(body, memory_id):
    if isinstance(body, dict):
        return {name: _filled(value, memory_id) for name, value in body.items()}
    if isinstance(body, list):
        return [_filled(one, memory_id) for one in body]
    return memory_id if body == "{}" else body


def test_a_message_with_an_id_of_its_own_is_still_found(client):
    client.post(
        "/v1/sessions/s1/messages",
        json={"user_id": "alex", "messages": [{"role": "user", "content": "Hi", "id": "m1"}]},
    )
    assert client.get("/v1/memories/m1/").json()["memory"] == "Hi"


@pytest.mark.parametrize(
    ("verb", "path", "sent"),
    [
        ("POST", "/v3/memories/search/", {"json": {"query": 5, "filters": {"user_id": "alex"}}}),
        ("POST", "/v3/memories/search/", {"json": {"query": "x", "top_k": 0, "filters": {"user_id": "alex"}}}),
        ("POST", "/v3/memories/", {"json": {}, "params": {"page": "0"}}),
        ("POST", "/v3/memories/", {"content": "no JSON", "headers": {"Content-Type": "application/json"}}),
        ("DELETE", "/v2/entities/planet/earth/", {}),
    ],
)
def test_what_has_another_shape_is_a_bad_request_with_a_reason(client, verb, path, sent):
    """The command line shows the `detail` of no other status."""
    answer = client.request(verb, path, **sent)
    assert (answer.status_code, answer.headers["content-type"]) == (400, "application/json")
    assert answer.json()["status"] == 400
    assert answer.json()["detail"]
