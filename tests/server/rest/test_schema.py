"""Schemathesis calls every operation with what the schema allows, and with what it does not."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from lamina.settings import Settings
from tests.http_service import serving
from tests.sizes import FULL, share
from tests.waiting import CEILING

SCHEMATHESIS = Path(sys.executable).with_name("schemathesis")
# What the schema allows is taken, unless something is not there (404), not in time (408), taken, does not fit what is
# there (409) or is not as it was (412). No schema can say what is 400 for a few operations: that one number or time of
# the body is before another, that two ids differ, what is in the lines of an import, which budget is large enough,
# or that a user must be named where there are several.
RULES = """
[checks]
positive_data_acceptance.expected-statuses = ["2xx", "404", "408", "409", "412"]

[[operations]]
include-operation-id = ["remember", "change_fact", "forget", "add_episode", "link", "import", "build_context",
  "add_messages", "search", "search_explained"]
checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "404", "408", "409", "412"]
"""
# How to write a body of a kind that schemathesis does not know.
HOOKS = """
import schemathesis

@schemathesis.serializer("application/x-ndjson")
def lines(context, value):
    return {"data": value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")}
"""


PHASES = ("examples", *(["coverage"] if FULL else []), "fuzzing")  # coverage makes some 3,000 requests of its own


def test_the_service_does_what_its_schema_says(tmp_path):
    """All checks: no failure of ours, every answer as documented, what is wrong refused, what is right taken."""
    (tmp_path / "rules.toml").write_text(RULES, "utf-8")
    (tmp_path / "json_lines.py").write_text(HOOKS, "utf-8")
    with serving(Settings(database=str(tmp_path / "a.db"), embedder="none"), worker=False) as service:
        secret = service.key("admin")
        service.with_key(secret).post(
            "/v1/sessions/s1/messages", json={"user_id": "alex", "messages": "I live in Porto."}
        )
        done = subprocess.run(
            [SCHEMATHESIS, "--config-file", tmp_path / "rules.toml", "run", f"{service.client.base_url}/openapi.json",
             "--phases", ",".join(PHASES), "--max-examples", str(share(5)), "--seed", "7",
             "--exclude-path", "/v1/events",  # has no end, see test_events.py
             "--generation-database", "none", "--no-color", "--request-timeout", str(CEILING),
             "--header", f"Authorization: Bearer {secret}"],
            cwd=tmp_path,
            env={
                **{key: value for key, value in os.environ.items() if not key.startswith("LAMINA")},
                "SCHEMATHESIS_HOOKS": "json_lines",
            },
            capture_output=True,
            text=True,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
        assert json.loads(service.with_key(secret).get("/v1/export").text.splitlines()[0])["messages"] >= 1


# Of each kind, some that are taken and some that are refused: what the schema says of them is true.
SENT = [
    ("GET", "/v1/sessions", "cursor", ["sessions:a%20b", "sessions:%C3%BC"], ["x", "users:a", "sessions:%00"]),
    ("GET", "/v1/audit", "cursor", ["audit:9"], ["audit:x", "audit:-1", "audit:"]),
    ("GET", "/v1/sessions/{session_id}/messages", "cursor", ["messages:1"], ["messages:x", "messages:" + 30 * "9"]),
    ("GET", "/v1/sessions", "user_id", ["alex", " a"], ["a\0b", ""]),
    ("PATCH", "/v1/sessions/{session_id}", "if-match", ["*", '"a"', '"a", "b"', '""'], ["a", '"a', "W/a", "null"]),
    ("POST", "/v1/sessions/{session_id}/messages", {"user_id": "alex"}, [
        {"messages": "hi"}, {"messages": ["hi", {"role": "user", "content": [{"type": "text", "text": "hi"}]}]},
        {"messages": {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}},
        {"messages": {"role": "tool", "content": "", "tool_call_id": "1"}},
        {"messages": {"role": "user", "content": "hi", "created_at": "2025-03-14T09:30:00Z", "mine": {"a": [1, None]}}},
    ], [
        {"messages": []}, {"messages": "a\0b"}, {"messages": {"role": "user"}},
        {"messages": {"role": "tool", "content": ""}},
        {"messages": {"role": "assistant", "tool_calls": []}}, {"messages": {"role": "user", "content": 5}},
        {"messages": {"role": "user", "content": "hi", "mine": {"a": ["\0"]}}},
        {"messages": {"role": "user", "content": "hi", "created_at": "1677-03-14T09:30:00Z"}},
        {"messages": {"role": "user", "content": "hi", "id": " "}}, {"messages": "hi", "user_id": "a\0b"},
        {"messages": "hi", "agent_id": " "}, {"messages": {"role": "user", "content": "hi", "name": 5}},
    ]),
    ("POST", "/v1/context", {"query": "tea", "user_id": "alex"}, [{"profile": "layered"}, {"profile": None}], [
        {"profile": "none"}, {"user_id": "\0"},
    ]),
    ("POST", "/v1/search", {"query": "tea", "user_id": "alex"}, [
        {"weights": {"semantic": 1}}, {"weights": {"keyword": 0.5, "recency": 0}}, {"weights": None},
    ], [{"weights": {}}, {"weights": {"utf-8": 1}}, {"weights": {"semantic": -1}}, {"weights": {"semantic": 0}}]),
    ("PATCH", "/v1/sessions/{session_id}", {}, [
        {"status": "paused"}, {"status": "ended", "outcome": "Chose Lisbon"}, {"status": "active", "outcome": None},
    ], [{"status": "paused", "outcome": "x"}, {"status": "gone"}]),
    ("POST", "/v1/users/{user_id}/facts", {}, [{"text": "Likes tea", "tags": ["a"]}], [
        {"text": " "}, {"text": "a\0b"}, {"text": "a", "key": " "}, {"text": "a", "tags": [" "]},
        {"text": "a", "category": "\0"},
    ]),
    ("PATCH", "/v1/facts/{fact_id}", {}, [{"standing": "promoted"}, {"tags": ["a"]}], [
        {}, {"standing": "promoted", "value": "a"}, {"standing": None}, {"value": " "},
    ]),
    ("POST", "/v1/forget", {"dry_run": True}, [
        {"text": "4242", "user_id": "alex"}, {"text": "4242", "session_id": "s1"}, {"session_id": "s1"},
        {"user_id": "alex"}, {"session_id": "s1", "first": 1, "last": 1}, {"user_id": "alex", "session_id": None},
    ], [
        {}, {"text": "4"}, {"text": " 4"}, {"fact_id": "f", "user_id": "alex"}, {"session_id": "s1", "user_id": "alex"},
        {"session_id": "s1", "first": 1}, {"message_ids": ["m"], "text": "4242"}, {"first": 1, "last": 2},
    ]),
    ("POST", "/v1/keys", {}, [{"name": "Łódź 東京", "expires": "36499d"}, {"name": "a", "expires": "875999h"}], [
        {"name": " "}, {"name": "a\nb"}, {"name": "a\u202eb"}, {"name": "a", "expires": "36501d"},
        {"name": "a", "expires": "5300w"}, {"name": "a", "expires": "900000h"},
    ]),
    ("POST", "/v1/sessions/{session_id}/regenerate", {}, [{"prompts": {}}], [{"prompts": {"none": "x"}}]),
    ("PATCH", "/v1/sessions/{session_id}", {}, [
        {"title": "Kitchen"}, {"title": None}, {"status": "active", "title": ""}, {"status": None, "title": "a"},
    ], [{}, {"status": None}, {"title": "x" * 201}, {"title": "a", "outcome": "b"}, {"title": "a\0b"}]),
    ("POST", "/v1/sessions/{session_id}/milestones", {}, [{"title": "Chose Lisbon"}], [{"title": " "}]),
]  # fmt: skip


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    path = tmp_path_factory.mktemp("schema") / "a.db"
    with serving(Settings(database=str(path), embedder="none"), worker=False) as served:
        yield served.with_key(served.key("admin"))


@pytest.mark.parametrize(("verb", "path", "about", "taken", "refused"), SENT, ids=lambda one: str(one)[:40])
def test_what_the_schema_says_of_a_request_is_true(service, verb, path, about, taken, refused):
    """What it calls valid is taken, what is refused it calls invalid; `about` is a parameter or the rest of a body."""
    schema = service.get("/openapi.json").json()
    operation = schema["paths"][path][verb.lower()]
    shown = [one for one in operation.get("parameters", ()) if one["name"] == about]
    shape = shown[0]["schema"] if shown else operation["requestBody"]["content"]["application/json"]["schema"]
    check = Draft202012Validator({**shape, "components": schema["components"]})
    service.post("/v1/sessions/s1/messages", json={"user_id": "alex", "messages": "I live in Porto."})
    fact = service.post("/v1/users/alex/facts", json={"text": f"Note {verb} {path}"}).json()["id"]
    address = path.format(session_id="s1", user_id="alex", fact_id=fact)

    def answer(given):
        if not shown:
            return service.request(verb, address, json={**about, **given}).status_code
        if shown[0]["in"] == "header":
            return service.request(verb, address, json={"status": "paused"}, headers={about: given}).status_code
        return service.request(verb, address, params={about: given}).status_code

    for given in refused:
        assert answer(given) in {400, 422}, given
        assert not check.is_valid(given if shown else {**about, **given}), given
    for given in taken:
        assert check.is_valid(given if shown else {**about, **given}), given
        assert answer(given) in {200, 201, 412}, given


def test_the_schema_says_which_tenants_and_kinds_of_bodies_there_are(service):
    paths = service.get("/openapi.json").json()["paths"]
    (tenant,) = paths["/v1/tenants/{tenant}/keys"]["post"]["parameters"]
    assert not Draft202012Validator(tenant["schema"]).is_valid("*")
    assert service.post("/v1/tenants/*/keys", json={"name": "a"}).status_code == 400
    bodies = [
        operation["requestBody"]["content"]
        for one in paths.values()
        for operation in one.values()
        if "requestBody" in operation
    ]
    known = {"application/json", "application/x-ndjson", "application/octet-stream", "text/plain"}
    assert {kind for body in bodies for kind in body} <= known
