"""A page of another site makes its reader's browser call a service that needs no key: it is turned away."""

import json

import pytest

from lamina.server.request_checks import is_foreign
from lamina.settings import Settings
from lamina.testing.llm_server import LlmServer, Said
from tests.http_service import serving

FRIEND = "https://memory.example"
SAID = {"role": "user", "content": "planted"}
LINE = json.dumps({"session_id": "s9", "user_id": "alex", **SAID})
CHAT = json.dumps({"model": "m", "messages": [SAID]})
REMEMBER = json.dumps({"messages": [SAID], "user_id": "alex"})
CALLS = [
    pytest.param("POST", "/v1/import", LINE, "application/x-ndjson", id="import"),
    pytest.param("POST", "/v1/jobs/demo", "{}", "application/json", id="demo"),
    pytest.param("POST", "/v1/jobs/demo", "", None, id="demo-without-a-body"),
    pytest.param("POST", "/v1/sessions/s9/messages", json.dumps({"messages": "planted"}), "application/json", id="add"),
    pytest.param("POST", "/openai/v1/chat/completions", CHAT, "application/json", id="chat"),
    pytest.param("POST", "/openai/v1/embeddings", CHAT, "application/json", id="embeddings"),
    pytest.param("GET", "/openai/v1/models", "", None, id="models"),
    pytest.param("GET", "/v1/sessions", "", None, id="list"),
    pytest.param("GET", "/v1/export", "", None, id="export"),
    pytest.param("GET", "/v1/events", "", None, id="events"),
    pytest.param("GET", "/metrics", "", None, id="metrics"),
    pytest.param("GET", "/version", "", None, id="version"),
    pytest.param("DELETE", "/v1/keys/none", "", None, id="delete"),
    pytest.param("OPTIONS", "/v1/search", "", None, id="preflight"),
    pytest.param("POST", "/v1/memories/", REMEMBER, "application/json", id="mem0-add"),
    pytest.param("GET", "/v1/ping/", "", None, id="mem0-ping"),
    pytest.param(
        "POST", "/mcp", json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}), "application/json", id="mcp"
    ),
]
FOREIGN = [
    pytest.param({"Origin": "https://evil.example"}, id="origin"),
    pytest.param({"Origin": "null"}, id="opaque"),
    pytest.param({"Origin": ""}, id="empty"),
    pytest.param({"Origin": "http://127.0.0.1:1"}, id="another-port"),
    pytest.param({"Sec-Fetch-Site": "cross-site"}, id="cross-site"),
    pytest.param({"Sec-Fetch-Site": "same-site"}, id="same-site"),
]


@pytest.fixture(scope="module")
def open_service(tmp_path_factory):
    """A service without keys, and an endpoint behind its proxy that costs the operator money."""
    folder = tmp_path_factory.mktemp("open")
    with LlmServer(lambda asked: Said(text="I see.", plain=True)) as upstream:
        settings = Settings(
            database=str(folder / "a.db"), proxy_base_url=upstream.url, proxy_api_key="sk-ours", service_origins=FRIEND
        )
        with serving(settings, worker=False) as service:
            yield service, upstream


def headers_for(kind, more):
    return {**({} if kind is None else {"Content-Type": kind}), **more}


@pytest.mark.parametrize("told", FOREIGN)
@pytest.mark.parametrize(("verb", "path", "body", "kind"), CALLS)
def test_a_page_of_another_site_is_turned_away_everywhere(open_service, verb, path, body, kind, told):
    service, upstream = open_service
    response = service.request(verb, path, content=body or None, headers=headers_for(kind, told))
    assert response.status_code == 403, response.text
    assert "service_origins" in response.text
    assert not [name for name in response.headers if name.startswith("access-control")]
    assert service.get("/v1/sessions").json()["items"] == []
    assert not upstream.journal


KINDS = [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/json"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("verb", "path", "body", "_"), [one for one in CALLS if one.values[2]])
def test_what_a_page_may_send_without_asking_is_no_body(open_service, verb, path, body, kind, _):
    """Browsers ask first before they send JSON elsewhere; forms, texts and bytes without a kind they just send."""
    service, upstream = open_service
    response = service.request(verb, path, content=body.encode(), headers=headers_for(kind, {}))
    assert response.status_code == 415, response.text
    assert "application/json" in response.text
    assert service.get("/v1/sessions").json()["items"] == []
    assert not upstream.journal


OWN = [
    pytest.param({}, id="no-browser"),
    pytest.param({"Origin": "{own}", "Sec-Fetch-Site": "same-origin"}, id="own-page"),
    pytest.param({"Sec-Fetch-Site": "same-origin"}, id="own-page-reads"),
    pytest.param({"Sec-Fetch-Site": "none"}, id="typed"),
    pytest.param({"Origin": FRIEND, "Sec-Fetch-Site": "cross-site"}, id="in-the-settings"),
]


@pytest.mark.parametrize("told", OWN)
def test_its_own_page_and_programs_are_answered(open_service, told):
    service, _ = open_service
    own = str(service.client.base_url).rstrip("/")
    headers = {name: value.format(own=own) for name, value in told.items()}
    for call in (
        service.get("/v1/sessions", headers=headers),
        service.post("/v1/search", json={"query": "figs"}, headers=headers),
        service.post("/openai/v1/chat/completions", json={"model": "m", "messages": [SAID]}, headers=headers),
        service.post("/v1/accepted", content=b"", headers={**headers, "Content-Type": "text/plain"}),
    ):
        assert call.status_code in {200, 404}, call.text


def test_a_link_on_another_site_leads_to_the_inspector(open_service):
    told = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert open_service[0].get("/", headers=told).status_code in {200, 404}
    assert open_service[0].post("/", headers=told).status_code == 403


@pytest.mark.parametrize(
    ("origin", "host", "foreign"),
    [
        ("https://memory.lan", "memory.lan", False),
        ("https://memory.lan", "memory.lan:443", False),
        ("http://memory.lan:8640", "memory.lan:8640", False),
        ("http://[::1]:8640", "[::1]:8640", False),
        ("HTTP://LOCALHOST:8640", "localhost:8640", False),
        ("http://memory.lan", "memory.lan:8640", True),
        ("http://memory.lan.evil.example", "memory.lan", True),
        ("http://memory.lan@evil.example", "memory.lan", True),
        ("file://memory.lan", "memory.lan", True),
        ("chrome-extension://abc", "abc", True),
        ("http://[", "[", True),
        ("http://memory.lan:99999", "memory.lan:99999", True),
    ],
)
def test_an_origin_is_our_own_if_it_is_where_the_request_went(origin, host, foreign):
    """Whether a proxy before us does TLS or not."""
    assert is_foreign({"origin": origin, "host": host}, ()) is foreign


@pytest.mark.parametrize("name", ["Authorization", "X-API-Key", "Origin", "Content-Type"])
def test_a_header_that_counts_is_sent_once(open_service, name):
    """Two keys, or two origins: whoever stands before us may have looked at the other one."""
    service, _ = open_service
    own = str(service.client.base_url).rstrip("/")
    value = {"Origin": own, "Content-Type": "application/json"}.get(name, "Bearer lam_x")
    response = service.get("/v1/sessions", headers=[(name, value), (name, value)])
    assert response.status_code == 400
    assert f"the header {name.lower()} was sent 2 times" in response.json()["detail"]
