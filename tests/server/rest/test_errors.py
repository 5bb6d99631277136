"""What is refused, how it is said, and that nothing breaks."""

import asyncio
import json
import socket

import httpx2
import pytest
from fastapi.responses import StreamingResponse

from lamina.errors import (
    BudgetTooSmall,
    Conflict,
    InputError,
    LaminaError,
    ModelError,
    NotFound,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreReadOnly,
)
from lamina.server.app import create_app
from lamina.settings import Settings
from tests.http_service import serving


def refused(response, status, kind):
    """A problem as RFC 9457 has it."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    body = response.json()
    assert (body["type"], body["status"]) == (f"urn:lamina:{kind}", status)
    assert body["title"]
    return body


SECRET = "/srv/disk7"
ERRORS = [
    (InputError("no such colour"), 400, "input", "no such colour"),
    (BudgetTooSmall(10, 200), 400, "budget-too-small", "200"),
    (NotFound("no session 's1'"), 404, "not-found", "no session 's1'"),
    (Conflict("taken"), 409, "conflict", "taken"),
    (StoreBusy(SECRET), 503, "store-busy", "trying again is safe"),
    (StoreFull(SECRET), 507, "store-full", ""),
    (StoreReadOnly(SECRET), 503, "store-read-only", ""),
    (StoreError(SECRET), 503, "store", ""),
    (ModelError(SECRET), 502, "model", ""),
    (TimeoutError(), 408, "timeout", "stays due"),
    (LaminaError("closed"), 500, "failed", "closed"),
    (RuntimeError(SECRET), 500, "internal", "fault of the service"),
]


@pytest.fixture(scope="module")
def failing():
    """A service that fails in every way there is."""
    with serving(Settings(database=":memory:"), worker=False, failing=[error for error, *_ in ERRORS]) as service:
        yield service


@pytest.mark.parametrize(("error", "status", "kind", "detail"), ERRORS, ids=lambda value: type(value).__name__)
def test_every_kind_of_error_is_a_problem(failing, caplog, error, status, kind, detail):
    """With a stable type; what tells of the machine goes to the log, not to the caller."""
    response = failing.get(f"/v1/fail/{type(error).__name__}", headers={"X-Request-ID": "r7"})
    body = refused(response, status, kind)
    assert detail in body.get("detail", "")
    assert SECRET not in response.text
    assert ("retry-after" in response.headers) == isinstance(error, StoreBusy)
    assert body.get("smallest") == (200 if isinstance(error, BudgetTooSmall) else None)
    hidden = SECRET in str(error)
    assert (
        "r7" in [getattr(record, "request", None) for record in caplog.records if record.name == "lamina.http"]
    ) == hidden


def test_an_answer_that_fails_half_way_does_not_look_whole(failing, caplog):
    """Its head is out: the line is cut off, and the log has the reason."""

    async def half():
        yield b"the first half"
        raise RuntimeError(SECRET)

    async def answer() -> StreamingResponse:
        return StreamingResponse(half())

    failing.app.add_api_route("/v1/fail/half-way", answer)
    with pytest.raises(httpx2.RemoteProtocolError):
        failing.get("/v1/fail/half-way", headers={"X-Request-ID": "r8"})
    told = [record for record in caplog.records if record.name == "lamina.http"]
    assert [(record.getMessage(), record.request) for record in told] == [("request_failed", "r8")]


@pytest.mark.parametrize("path", ["/v1/sessions", "/readyz", "/openai/v1/models"])
def test_a_service_that_has_not_begun_says_so(path):
    """An application that was put into another one, which does not begin it."""

    async def ask():
        app = httpx2.ASGITransport(create_app(Settings(database=":memory:")))
        async with httpx2.AsyncClient(transport=app, base_url="http://localhost") as client:
            return await client.get(path)

    answer = asyncio.run(ask())
    assert answer.status_code == 503
    assert "starting or stopping" in answer.text
    assert ("error" in answer.json()) == path.startswith("/openai")


MESSAGES = "/v1/sessions/s1/messages"
DEEP = "[" * 50_000 + "]" * 50_000


@pytest.mark.parametrize(
    ("call", "status", "kind", "detail"),
    [
        pytest.param(("GET", "/v1/sessions/none"), 404, "not-found", "no session 'none'", id="no-session"),
        pytest.param(("GET", "/v1/sessions/none/messages"), 404, "not-found", "no session", id="no-messages"),
        pytest.param(("GET", "/v1/facts/none"), 404, "not-found", "none", id="no-fact"),
        pytest.param(("GET", "/v1/facts/none/why"), 404, "not-found", "none", id="no-why"),
        pytest.param(("DELETE", "/v1/facts/none"), 404, "not-found", "none", id="no-retract"),
        pytest.param(("GET", "/v1/users/none/digest"), 404, "not-found", "no digest yet", id="no-digest"),
        pytest.param(("GET", "/v2/sessions"), 404, "not-found", "", id="no-route"),
        pytest.param(("PUT", "/v1/sessions"), 405, "method", "", id="method"),
        pytest.param(("GET", "/v1/sessions/%FF"), 400, "input", "not UTF-8", id="address-bytes"),
        pytest.param(("GET", f"/v1/sessions/{'x' * 257}"), 422, "shape", "256", id="long-id"),
        pytest.param(("GET", "/v1/sessions?limit=0"), 422, "shape", "query.limit", id="limit-0"),
        pytest.param(("GET", "/v1/sessions?limit=9999"), 422, "shape", "query.limit", id="limit-9999"),
        pytest.param(("GET", "/v1/sessions?limit=two"), 422, "shape", "query.limit", id="limit-word"),
        pytest.param(("GET", "/v1/sessions?state=ended"), 422, "shape", "query.state: no such field", id="query"),
        pytest.param(("GET", "/v1/sessions?status=lost"), 422, "shape", "query.status", id="status"),
        pytest.param(("GET", "/v1/users/a/facts?as_of=soon"), 400, "input", "is no time", id="time"),
        pytest.param(("GET", "/v1/users/a/facts?min_importance=nan"), 422, "shape", "min_importance", id="nan"),
        pytest.param(("POST", MESSAGES, b""), 422, "shape", "body: Field required", id="empty"),
        pytest.param(("POST", MESSAGES, b"{"), 422, "shape", "JSON", id="half"),
        pytest.param(("POST", MESSAGES, b"\xff\xfe"), 400, "input", "not UTF-8", id="bytes"),
        pytest.param(("POST", MESSAGES, b'"\\ud800"'), 400, "input", "surrogate", id="surrogate"),
        pytest.param(("POST", MESSAGES, DEEP.encode()), 400, "input", "levels deep", id="deep"),
        pytest.param(("POST", MESSAGES, b'{"messages": ' + b'{"a":' * 20_000), 400, "input", "levels", id="unclosed"),
        pytest.param(("POST", MESSAGES, b" " * 200_001), 413, "too-large", "200000 bytes", id="large"),
        pytest.param(("POST", MESSAGES, b"[1]"), 422, "shape", "body", id="list"),
        pytest.param(("POST", MESSAGES, b'{"messages": 1e999}'), 422, "shape", "messages", id="infinity"),
        pytest.param(("POST", MESSAGES, b'{"messages": ' + b"9" * 5000 + b"}"), 400, "input", "", id="long-number"),
        pytest.param(("POST", MESSAGES, {"messages": "hi", "who": "a"}), 422, "shape", "no such field", id="field"),
        pytest.param(("POST", MESSAGES, {"messages": "hi", "user_id": 7}), 422, "shape", "user_id", id="type"),
        pytest.param(("POST", MESSAGES, {"messages": {"role": "robot"}}), 400, "input", "robot", id="role"),
        pytest.param(("POST", MESSAGES, {"messages": "a\0b"}), 400, "input", "NUL", id="nul"),
        pytest.param(("POST", "/v1/context", {"budget": 0}), 422, "shape", "body.budget", id="budget-0"),
        pytest.param(("POST", "/v1/context", {"profile": "none"}), 400, "input", "none", id="profile"),
        pytest.param(("POST", "/v1/search", {"query": "a", "weights": {"x": 1}}), 400, "input", "x", id="weights"),
        pytest.param(("POST", "/v1/search", {"query": "a", "top_k": True}), 422, "shape", "top_k", id="top-k"),
        pytest.param(("PATCH", "/v1/facts/f", {}), 400, "input", "give what changes", id="no-change"),
        pytest.param(
            ("PATCH", "/v1/facts/f", {"value": "a", "standing": "promoted"}), 400, "input", "not both", id="both"
        ),
        pytest.param(
            ("PATCH", "/v1/sessions/s1", {"status": "paused", "outcome": "a"}), 400, "input", "ended", id="outcome"
        ),
        pytest.param(("POST", "/v1/forget", {}), 400, "input", "say what to forget", id="forget-what"),
        pytest.param(("POST", "/v1/forget", {"fact_id": "f", "text": "a"}), 400, "input", "one thing", id="forget-two"),
        pytest.param(("POST", "/v1/settle", {"timeout": -1}), 422, "shape", "timeout", id="timeout"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_with_what_would_work(service, call, status, kind, detail):
    verb, path, *given = call
    body = given[0] if given else None
    content = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    headers = {} if content is None else {"Content-Type": "application/json"}
    response = service.request(verb, path, content=content, headers=headers)
    assert detail in refused(response, status, kind).get("detail", "")
    assert service.get("/v1/sessions").json()["items"] == []


def test_an_address_says_what_may_be_done_there(service):
    """All of it, though each method has a route of its own."""
    assert service.put("/v1/facts/f").headers["allow"] == "DELETE, GET, PATCH"
    assert service.delete(MESSAGES).headers["allow"] == "GET, POST"


def test_a_body_without_a_length_is_cut_off_too(service):
    """It is counted while it comes."""

    def pieces():
        for _ in range(300):
            yield b" " * 1000

    refused(service.post(MESSAGES, content=pieces(), headers={"Content-Type": "application/json"}), 413, "too-large")


def test_a_session_of_another_user_is_a_conflict(service):
    service.post(MESSAGES, json={"messages": "hi", "user_id": "ann"})
    other = {"messages": "hi", "user_id": "bo"}
    for path, session in ((MESSAGES, MESSAGES.split("/")[3]), ("/v1/sessions/carol:main/messages", "carol:main")):
        problem = refused(service.post(path, json=other), 409, "conflict")
        assert problem["detail"] == f"session {session!r} is taken; choose another session_id"


def test_a_missing_user_is_asked_for_in_the_words_of_the_interface(service):
    """The field of the request, nothing of the command line."""
    service.post(MESSAGES, json={"messages": "hi", "user_id": "ann"})
    for path, body in (
        ("/v1/search", {"query": "hi"}),
        ("/v1/context", {"query": "hi"}),
        ("/v1/forget", {"text": "hi"}),
    ):
        problem = refused(service.post(path, json=body), 400, "input")
        assert "give user_id." in problem["detail"]
        assert "--" not in problem["detail"]


def test_the_request_id_is_echoed_or_made(service):
    assert service.get("/healthz", headers={"X-Request-ID": "abc-1"}).headers["x-request-id"] == "abc-1"
    made = {service.get("/v1/none", headers={"X-Request-ID": "a b"}).headers["x-request-id"] for _ in range(2)}
    assert len(made) == 2
    assert all(one.startswith("req_") for one in made)


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8640", "127.0.0.1.evil.example", "", "[", "localhost@e"]
)
def test_a_page_of_another_site_cannot_call_this_machine(service, host):
    """A browser that was led here by another name is turned away, before anything is read."""
    refused(service.get("/v1/sessions", headers={"Host": host}), 421, "host")


@pytest.fixture(scope="module")
def named():
    """A service that has names of its own."""
    settings = Settings(database=":memory:", service_hosts="memory.lan, other.lan")
    with serving(settings, worker=False) as service:
        yield service


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:80", "memory.lan"])
def test_names_of_this_machine_and_those_of_the_settings_are_answered(named, host):
    assert named.get("/v1/sessions", headers={"Host": host}).status_code == 200


def test_a_caller_who_hangs_up_half_way_does_no_harm(service):
    url = service.client.base_url
    with socket.create_connection((url.host, url.port)) as line:
        line.sendall(b"POST /v1/sessions/s1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999\r\n\r\n{")
    assert service.get("/v1/sessions").json()["items"] == []
