"""Every route, on a file and on a real PostgreSQL, as a client sees it."""

import json
import tempfile
from datetime import datetime
from typing import Any

import pytest

from lamina import Memory
from lamina.settings import Settings
from tests.http_service import serving

SAID = "I'm Alex and I live in Porto. I prefer Python. My password is kingfisher kingfisher."


@pytest.fixture
def told(service):
    """A service that knows of Alex."""
    return tell(service)


def tell(service):
    body = {"user_id": "alex", "messages": [{"role": "user", "content": SAID, "id": "m1"}, "And tea, please."]}
    assert service.post("/v1/sessions/s1/messages", json=body).status_code == 201
    assert service.post("/v1/settle", json={}).status_code == 200
    return service


def good(response, status=200):
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    return response.json()


def the_fact(service, key):
    return next(fact for fact in good(service.get("/v1/users/alex/facts"))["items"] if fact["key"] == key)


@pytest.mark.also_postgres
def test_every_route_answers(place):
    """One pass over all of them, on each kind of store."""
    with serving(Settings(database=str(place())), worker=True) as served:
        service = tell(served.with_key(served.key("admin")))
        fact = the_fact(service, "location")["id"]
        remembered = good(service.post("/v1/users/alex/facts", json={"text": "Ships on Fridays"}), 201)["id"]
        spare = good(service.post("/v1/keys", json={"name": "spare"}), 201)["id"]
        other = good(service.post("/v1/users/alex/facts", json={"text": "Likes rain"}), 201)["id"]
        proposed = good(service.post("/v1/sessions/s1/regenerate", json={}), 201)["id"]
        names = {
            "message_id": "m1",
            "memory_id": fact,
            "summary_id": "none",
            "proposal_id": proposed,
            "session_id": "s1",
            "user_id": "alex",
            "fact_id": fact,
            "key_id": spare,
            "tenant": "acme",
            "job_id": "none",
        }
        schema = service.get("/openapi.json").json()["paths"]
        called: dict[tuple[str, str], dict[str, Any]] = {
            ("post", "/v1/sessions/{session_id}/messages"): {
                "session_id": "s2",
                "json": {"messages": "Hello", "user_id": "default"},
            },
            ("patch", "/v1/sessions/{session_id}"): {"json": {"status": "paused"}},
            ("post", "/v1/context"): {"json": {"user_id": "alex", "session_id": "s1", "query": "where?"}},
            ("post", "/v1/search/explained"): {"json": {"query": "Porto", "user_id": "alex"}},
            ("post", "/v1/search"): {"json": {"query": "tea", "user_id": "alex"}},
            ("post", "/v1/users/{user_id}/facts"): {"json": {"text": "Likes rain"}},
            ("patch", "/v1/facts/{fact_id}"): {"json": {"value": "Lisbon"}},
            ("delete", "/v1/facts/{fact_id}"): {"fact_id": remembered},
            ("get", "/v1/users/{user_id}/digest"): {"status": 404},
            ("post", "/v1/forget"): {"json": {"text": "kingfisher", "user_id": "alex"}},
            ("post", "/v1/consolidate"): {"json": {}},
            ("post", "/v1/verify"): {"json": {}},
            ("post", "/v1/settle"): {"json": {}},
            ("post", "/v1/sessions/{session_id}/milestones"): {"json": {"title": "Half way"}},
            ("post", "/v1/sessions/{session_id}/episodes"): {"json": {"kind": "pivot", "title": "To Lisbon"}},
            ("get", "/v1/summaries/{summary_id}/messages"): {"status": 404},
            ("post", "/v1/links"): {"json": {"source": fact, "target": other}},
            ("post", "/v1/repair"): {"json": {}},
            ("post", "/v1/retry"): {"json": {}},
            ("post", "/v1/sessions/{session_id}/regenerate"): {"json": {"first": 1}},
            ("post", "/v1/proposals/{proposal_id}/accept"): {"status": 404},  # something of its session was forgotten
            ("post", "/v1/proposals/{proposal_id}/roll-back"): {"status": 404},
            ("post", "/v1/import"): {
                "json": {"session_id": "s3", "role": "user", "content": "Hello", "user_id": "default"}
            },
            ("post", "/v1/jobs/import"): {
                "json": {"session_id": "s4", "role": "user", "content": "Hello", "user_id": "default"}
            },
            ("get", "/v1/jobs/{job_id}"): {"status": 404},
            ("put", "/v1/users/{user_id}/opt-out"): {"json": {}, "user_id": "kim"},
            ("delete", "/v1/users/{user_id}/opt-out"): {"user_id": "kim"},
            ("post", "/v1/keys"): {"json": {"name": "phone"}},
            ("post", "/v1/keys/{key_id}/rotate"): {"json": {}, "status": 409},
            ("post", "/v1/tenants/{tenant}/keys"): {"json": {"name": "acme"}},
        }
        for path, operations in schema.items():
            for verb in operations:
                how = {**names, **called.get((verb, path), {})}
                given = {"json": how.pop("json")} if "json" in how else {}
                with service.stream(verb.upper(), path.format(**how), **given) as response:
                    told = "" if path == "/v1/events" else response.read()  # which has no end
                assert response.status_code == how.get("status", response.status_code)
                assert response.status_code < 400 or "status" in how, f"{verb} {path}: {told!r}"
        assert good(service.post("/v1/verify", json={}))["problems"] == []
        assert "kingfisher" not in service.get("/v1/export").text


# conversations


def test_messages_come_back_as_they_came(told):
    """With their place in the log, and any key that was not known."""
    odd = {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "x": 1}], "mood": "é 🙂"}
    good(told.post("/v1/sessions/s1/messages", json={"user_id": "alex", "messages": odd}), 201)
    page = good(told.get("/v1/sessions/s1/messages"))
    assert [message["seq"] for message in page["items"]] == [1, 2, 3]
    assert page["items"][0]["body"] == {"role": "user", "content": SAID}
    assert page["items"][2]["body"] == odd
    assert page["next"] is None


def test_messages_are_listed_from_any_number_on(told):
    """And a cursor leads on from there, whatever the number is."""
    good(told.post("/v1/sessions/s1/messages", json={"user_id": "alex", "messages": ["a", "b", "c", "d"]}), 201)
    page = good(told.get("/v1/sessions/s1/messages?first=3&limit=2"))
    assert [message["seq"] for message in page["items"]] == [3, 4]
    rest = good(told.get("/v1/sessions/s1/messages", params={"cursor": page["next"]}))
    assert [message["seq"] for message in rest["items"]] == [5, 6]
    assert good(told.get("/v1/sessions/s1/messages?first=7"))["items"] == []
    both = good(told.get("/v1/sessions/s1/messages", params={"cursor": page["next"], "first": 2}))
    assert both == rest


@pytest.mark.parametrize("session_id", ["a/b", "100%", "%2F", "s 1?#", "ü", "..", "a//b"])
def test_every_id_can_be_named_in_an_address(service, session_id):
    path = "/v1/sessions/" + "".join(f"%{byte:02X}" for byte in session_id.encode())
    added = good(service.post(f"{path}/messages", json={"messages": "hi"}), 201)
    assert added["session_id"] == good(service.get(path))["id"] == session_id


def test_times_are_rfc_3339(told):
    message = good(told.get("/v1/sessions/s1/messages"))["items"][0]
    assert message["created_at"].endswith("Z")
    assert datetime.fromisoformat(message["created_at"]).tzinfo is not None


def test_what_is_sent_twice_with_one_key_is_stored_once(service):
    """And the same key with other content is a conflict."""
    headers, body = {"Idempotency-Key": "k1"}, {"messages": "hello"}
    first = good(service.post("/v1/sessions/s1/messages", json=body, headers=headers), 201)
    again = good(service.post("/v1/sessions/s1/messages", json=body, headers=headers), 201)
    assert again["ids"] == again["duplicates"] == first["ids"]
    assert len(good(service.get("/v1/sessions/s1/messages"))["items"]) == 1
    other = service.post("/v1/sessions/s1/messages", json={"messages": "else"}, headers=headers)
    assert (other.status_code, other.json()["type"]) == (409, "urn:lamina:conflict")


def pages(service, path, limit):
    found, cursor = [], None
    while True:
        page = good(service.get(path, params={"limit": limit, **({"cursor": cursor} if cursor else {})}))
        found.append([item.get("seq") or item["id"] for item in page["items"]])
        cursor = page["next"]
        if cursor is None:
            return found


def test_cursors_lead_through_everything_once(service):
    for number in range(5):
        good(
            service.post(
                f"/v1/sessions/s{number}/messages", json={"messages": ["one", "two", "three"], "user_id": "bo"}
            ),
            201,
        )
        good(service.post("/v1/users/bo/facts", json={"text": f"Fact {number}"}), 201)
    assert pages(service, "/v1/sessions", 2) == [["s0", "s1"], ["s2", "s3"], ["s4"]]
    assert pages(service, "/v1/sessions/s1/messages", 2) == [[1, 2], [3]]
    assert pages(service, "/v1/sessions/s1/messages", 3) == [[1, 2, 3]]
    facts = pages(service, "/v1/users/bo/facts", 2)
    assert [len(page) for page in facts] == [2, 2, 1]
    assert len({fact for page in facts for fact in page}) == 5


def test_a_cursor_of_another_list_is_refused(service):
    good(service.post("/v1/sessions/a/messages", json={"messages": ["one", "two"]}), 201)
    cursor = good(service.get("/v1/sessions/a/messages", params={"limit": 1}))["next"]
    for path, given in (("/v1/sessions", cursor), ("/v1/sessions", "x"), ("/v1/sessions/a/messages", "messages:x")):
        response = service.get(path, params={"cursor": given})
        assert (response.status_code, response.json()["type"]) == (400, "urn:lamina:input"), path


def test_a_list_does_not_go_on_from_what_is_gone(service):
    """It would begin somewhere else: the caller is told to begin again."""
    for number in range(3):
        good(service.post("/v1/users/bo/facts", json={"text": f"Fact {number}"}), 201)
    page = good(service.get("/v1/users/bo/facts", params={"limit": 1}))
    good(service.post("/v1/forget", json={"fact_id": page["items"][0]["id"]}))
    response = service.get("/v1/users/bo/facts", params={"cursor": page["next"]})
    assert (response.status_code, response.json()["type"]) == (404, "urn:lamina:not-found")
    assert "begin again without it" in response.json()["detail"]


def test_sessions_are_filtered_by_user_and_status(told):
    good(told.post("/v1/sessions/s2/messages", json={"messages": "hi", "user_id": "bo"}), 201)
    good(told.patch("/v1/sessions/s2", json={"status": "ended", "outcome": "Chose tea"}))
    listed = {
        query: [one["id"] for one in good(told.get(f"/v1/sessions?{query}"))["items"]]
        for query in ("user_id=alex", "status=ended", "status=paused")
    }
    assert listed == {"user_id=alex": ["s1"], "status=ended": ["s2"], "status=paused": []}


@pytest.mark.parametrize("status", ["paused", "ended", "archived", "active"])
def test_a_session_takes_a_status(told, status):
    assert good(told.patch("/v1/sessions/s1", json={"status": status}))["status"] == status


def test_a_session_takes_a_title(told):
    """Alone or with a status; null takes it away; a list has it."""
    assert good(told.patch("/v1/sessions/s1", json={"title": " Moving\nto Porto "}))["title"] == "Moving to Porto"
    assert good(told.get("/v1/sessions"))["items"][0]["title"] == "Moving to Porto"
    both = good(told.patch("/v1/sessions/s1", json={"title": None, "status": "paused"}))
    assert (both["title"], both["status"]) == (None, "paused")
    assert told.patch("/v1/sessions/s1", json={"title": "x" * 201}).status_code == 422
    problem = told.patch("/v1/sessions/s1", json={}).json()
    assert "`title`" in problem["detail"]


def test_a_context_stays_under_its_budget_and_says_what_is_in_it(told):
    context = good(
        told.post("/v1/context", json={"user_id": "alex", "session_id": "s1", "query": "where?", "budget": 300})
    )
    assert context["tokens"] <= 300
    assert "Porto" in context["text"]
    assert context["manifest"]["coverage"]["blind"] == []
    assert sum(context["manifest"]["sections"].values()) > 0


def test_the_context_of_somebody_new_is_what_the_caller_gives(told):
    """System prompt, sources and question, though nothing is remembered: the first turn of a chat works."""
    given = {"user_id": "new", "query": "Hi", "system": "You are brief.", "sources": ["Open from 9 to 5."]}
    context = good(told.post("/v1/context", json=given))
    contents = [(one["role"], one["content"]) for one in context["messages"]]
    assert contents == [("system", "You are brief."), ("system", "Open from 9 to 5."), ("user", "Hi")]
    assert context["manifest"]["items"] == []


def test_a_search_finds_and_explains(told):
    found = good(told.post("/v1/search", json={"query": "Porto", "user_id": "alex", "explain": True, "top_k": 2}))
    assert found["items"][0]["parts"]
    assert any("Porto" in hit["text"] for hit in found["items"])
    facts = good(told.post("/v1/search", json={"query": "Porto", "user_id": "alex", "kinds": ["fact"]}))
    assert {hit["kind"] for hit in facts["items"]} == {"fact"}


def test_a_search_takes_a_least_score(told):
    """A right answer passes it, noise does not; it is a number from 0 to 1."""
    asked = {"query": "Where do I live?", "user_id": "alex", "min_score": 0.5}
    every = good(told.post("/v1/search", json={**asked, "min_score": 0}))["items"]
    likely = good(told.post("/v1/search", json=asked))["items"]
    assert likely == [hit for hit in every if hit["score"] >= 0.5]
    assert likely
    assert good(told.post("/v1/search", json={**asked, "query": "Who won the match yesterday?"}))["items"] == []
    assert good(told.post("/v1/search/explained", json=asked))["least"] == 0.5
    assert told.post("/v1/search", json={**asked, "min_score": 2}).status_code == 422


# what is known


def test_a_search_tells_how_it_went(told):
    asked = {"query": "Porto", "user_id": "alex", "top_k": 2}
    seen = good(told.post("/v1/search/explained", json=asked))
    assert seen["hits"] == good(told.post("/v1/search", json={**asked, "explain": True}))["items"]
    assert set(seen) == {"hits", "least", "considered", "related", "stages", "weights"}
    assert [stage["name"] for stage in seen["stages"]] == ["open", "understand", "embed", "rank", "read"]
    assert seen["considered"] >= seen["related"] >= len(seen["hits"]) > 0
    assert told.post("/v1/search/explained", json={**asked, "explain": True}).status_code == 422


def test_a_fact_is_changed_explained_and_retracted(told):
    fact = the_fact(told, "location")
    newer = good(told.patch(f"/v1/facts/{fact['id']}", json={"value": "Lisbon", "tags": ["home"]}))
    assert (newer["value"], newer["replaces"]) == ("Lisbon", fact["id"])
    history = good(told.get(f"/v1/facts/{newer['id']}/history"))["items"]
    assert [one["value"] for one in history] == ["Porto", "Lisbon"]
    why = good(told.get(f"/v1/facts/{fact['id']}/why"))
    assert why["message"]["id"] == "m1"
    assert why["after"]["value"] == "Lisbon"
    assert good(told.delete(f"/v1/facts/{newer['id']}"))["status"] == "retracted"
    assert the_fact(told, "location")["value"] == "Porto"
    then = good(told.get("/v1/users/alex/facts", params={"as_of": "1999-01-01T00:00:00Z"}))
    assert then["items"] == []
    retracted = good(told.get("/v1/users/alex/facts", params={"statuses": ["retracted", "superseded"]}))
    assert [one["value"] for one in retracted["items"]] == ["Lisbon"]


def test_a_fact_is_demoted_and_promoted(told):
    fact = the_fact(told, "location")["id"]
    assert good(told.patch(f"/v1/facts/{fact}", json={"standing": "demoted"}))["status"] == "candidate"
    assert good(told.patch(f"/v1/facts/{fact}", json={"standing": "promoted"}))["status"] == "active"


def test_the_profile_is_data_and_a_page(told):
    profile = good(told.get("/v1/users/alex/profile"))
    assert "Porto" in profile["markdown"]
    assert {fact["value"] for fact in profile["facts"]} >= {"Alex", "Porto"}


# upkeep


def test_forgetting_gives_a_receipt(told):
    """First without doing it; then the words are gone, and the receipt is in the list."""
    body = {"text": "kingfisher kingfisher", "user_id": "alex"}
    planned = good(told.post("/v1/forget", json={**body, "dry_run": True}))
    assert (planned["dry_run"], planned["redacted"] or planned["messages"]) == (True, ["m1"])
    assert good(told.get("/v1/receipts"))["items"] == []
    receipt = good(told.post("/v1/forget", json=body))
    assert [one["id"] for one in good(told.get("/v1/receipts"))["items"]] == [receipt["id"]]
    assert "kingfisher" not in told.get("/v1/sessions/s1/messages").text


def test_an_export_can_be_read_again(told, tmp_path):
    response = told.get("/v1/export", params={"user_id": "alex"})
    assert response.headers["content-type"] == "application/x-ndjson"
    lines = [json.loads(line) for line in response.text.splitlines()]
    assert lines[0]["messages"] == 2
    (tmp_path / "export.jsonl").write_text(response.text, "utf-8")
    with Memory(tmp_path / "copy.db", worker=False) as memory:
        assert memory.import_(tmp_path / "export.jsonl").messages == 2


def test_an_export_leaves_no_file_behind(told, tmp_path, monkeypatch):
    """Neither one that was sent nor one that failed."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = set(tmp_path.iterdir())
    assert told.get("/v1/export", params={"session_id": "s1"}).status_code == 200
    assert told.get("/v1/export", params={"session_id": "none"}).status_code == 404
    assert set(tmp_path.iterdir()) == before


def test_metrics_name_operations_and_no_users(told):
    told.post("/v1/context", json={"user_id": "alex", "session_id": "s1", "query": "where?"})
    told.get("/v1/facts/none")
    shown = told.get("/metrics").text
    for line in (
        'lamina_request_seconds_count{operation="add_messages"} 1.0',
        'lamina_answers_total{operation="get_fact",status="404"} 1.0',
        'lamina_context_tokens_count{section="facts"} 1.0',
        'lamina_backlog_sessions{state="pending"} 0.0',
        "lamina_lag_seconds 0.0",
    ):
        assert line in shown
    assert "alex" not in shown


def test_the_service_tells_of_itself(service):
    assert good(service.get("/healthz")) == good(service.get("/readyz")) == {"status": "ok"}
    assert list(good(service.get("/version"))) == ["lamina"]


def test_without_opentelemetry_requests_are_answered_too(service, monkeypatch):
    monkeypatch.setattr("lamina.server.spans.tracer", lambda: None)
    assert good(service.get("/healthz")) == {"status": "ok"}


def test_the_schema_names_tags_and_describes_every_operation(service):
    schema = good(service.get("/openapi.json"))
    assert schema["openapi"].startswith("3.1")
    operations = [one for path in schema["paths"].values() for one in path.values()]
    ids = [one["operationId"] for one in operations]
    assert len(ids) == len(set(ids)) >= 27
    assert all(one["tags"] and "default" in one["responses"] for one in operations)
    bodies = [one for one in operations if "requestBody" in one]
    assert len(bodies) >= 10
    assert "HTTPValidationError" not in json.dumps(schema)


def test_messages_of_other_apis_are_read(service):
    """Anthropic's blocks and items of Responses are taken as JSON, too: calls and results find each other."""
    use = {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Ghent"}}
    given = [
        "weather?",
        {"role": "assistant", "content": [{"type": "text", "text": "I'll look."}, use]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "rain"}]},
        {"type": "function_call", "call_id": "call_1", "name": "tell", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_1", "output": "told"},
    ]
    added = good(service.post("/v1/sessions/s1/messages", json={"user_id": "alex", "messages": given}), 201)
    assert len(added["ids"]) == len(given)
    items = good(service.get("/v1/sessions/s1/messages"))["items"]
    assert [one["calls"] for one in items] == [[], ["toolu_1"], [], ["call_1"], []]
    assert [one["answers"] for one in items] == [None, None, "toolu_1", None, "call_1"]
    refused = service.post(
        "/v1/sessions/s1/messages", json={"user_id": "alex", "messages": [{"type": "text", "text": "hi"}]}
    )
    assert refused.status_code == 400
    assert "text without a role" in refused.text


def test_facts_about_one_person(running, place):
    """By name or relation, in the list of facts and in the profile."""
    with running.over(place()) as service:
        said = "My sister Lena is allergic to peanuts. I live in Ghent."
        good(service.post("/v1/sessions/s9/messages", json={"user_id": "eda", "messages": said}), 201)
        good(service.post("/v1/settle", json={}))
        for about in ("Lena", "sister"):
            (fact,) = good(service.get(f"/v1/users/eda/facts?about={about}"))["items"]
            assert (fact["about"], fact["text"]) == ("Lena", "Lena: allergic to peanuts")
        profile = good(service.get("/v1/users/eda/profile"))
        assert profile["people"] == {"Lena": [fact["id"]]}
