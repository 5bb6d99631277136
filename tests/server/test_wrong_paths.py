"""Wrong addresses: a client of the OpenAI API is told its base_url, everybody else what there is."""

from collections.abc import Callable
from typing import Any

import openai
import pytest

from lamina.server.wrong_paths import is_openai
from tests.http_proxy import proxied
from tests.server.rest.test_errors import refused

HELLO: Any = [{"role": "user", "content": "Hello."}]
WRONG = [
    "",
    "/v1",
    "/openai",
    "/api/v1",
    "/openai/v1/v1",
    "/openai/v1/openai/v1",
    "/v1/openai",
    "/openai/v1/chat/completions",
    "/openai/deployments/gpt",
    "/openai/v2",
]


@pytest.fixture(scope="module")
def wrong(tmp_path_factory):
    """A proxy, with how to make a client for any base_url at it."""
    with proxied(tmp_path_factory.mktemp("wrong") / "chat.db") as proxy:
        yield proxy


@pytest.mark.parametrize("path", WRONG)
def test_a_wrong_base_url_is_answered_with_the_right_one(wrong, path):
    """In the shape that the official client shows, for every API that the proxy has."""
    origin = str(wrong.service.client.base_url).rstrip("/")
    right = f"set the client's base_url to {origin}/openai/v1"
    with openai.OpenAI(base_url=f"{origin}{path}", api_key="any", max_retries=0) as client:
        calls: list[Callable[[], Any]] = [
            lambda: client.chat.completions.create(model="m", messages=HELLO),
            lambda: client.chat.completions.create(model="m", messages=HELLO, stream=True),
            lambda: client.responses.create(model="m", input="Hello."),
        ]
        if not path.endswith("/completions"):
            calls += [lambda: client.embeddings.create(model="m", input="a"), client.models.list]
        for call in calls:
            with pytest.raises(openai.NotFoundError) as raised:
                call()
            assert right in str(raised.value)
            assert raised.value.code == "not-found"
    assert wrong.upstream.asked() == []


def test_the_base_url_itself_says_what_is_below_it(wrong):
    for path in ("/openai/v1", "/openai/v1/"):
        answer = wrong.service.client.get(path)
        assert answer.status_code == 404
        assert "this is the base_url itself; there are chat/completions" in answer.json()["error"]["message"]


def test_what_the_proxy_does_not_have_is_said(wrong):
    for path in ("/openai/v1/files", "/v1/files", "/images/generations"):
        answer = wrong.service.client.get(path)
        assert "ask the endpoint itself for anything else" in answer.json()["error"]["message"]


SAID = {
    ("GET", "/foo"): "there are the inspector at /, the REST API at /v1 (all its routes: /openapi.json)",
    ("GET", "/docs"): "/openapi.json",
    ("GET", "/v1"): "the REST API at /v1",
    ("GET", "/v1/session"): "did you mean /v1/sessions?",
    ("POST", "/v1/serach"): "did you mean /v1/search?",
    ("GET", "/v1/user/alex/facts"): "did you mean /v1/users/{user_id}/facts?",
    ("POST", "/v1/memories"): "addresses of mem0's API end in a slash",
    ("POST", "/v1/messages"): "Anthropic's API is not offered",
    ("POST", "/api/chat"): "Ollama's own API is not offered",
    ("POST", "/mcp"): "MCP is not installed here: pip install 'lamina[server]'",
}


@pytest.mark.parametrize(("method", "path"), SAID)
def test_any_other_wrong_address_is_answered_with_what_there_is(wrong, method, path):
    answer = wrong.service.client.request(method, path, **({} if method == "GET" else {"json": {}}))
    assert SAID[method, path] in refused(answer, 404, "not-found")["detail"]


def test_a_long_wrong_address_is_not_repeated_in_full(wrong):
    told = refused(wrong.service.client.get("/v1/" + "x" * 10_000), 404, "not-found")
    assert len(told["detail"]) < 500


def test_where_keys_are_needed_a_wrong_address_tells_no_more(tmp_path):
    """In the shape of the client that asks: first the key, then the address."""
    with proxied(tmp_path / "chat.db") as proxy:
        key = proxy.service.key("write")
        answer = proxy.service.client.get("/v1/models", headers={"Authorization": "Bearer sk-any"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "key-needed")
        assert "X-API-Key: lam_..." in answer.json()["error"]["message"]
        both = {"Authorization": "Bearer sk-any", "X-API-Key": key}
        assert proxy.service.client.get("/v1/models", headers=both).status_code == 404


def test_no_address_of_the_service_looks_like_one_of_openai(wrong):
    paths = wrong.service.client.get("/openapi.json").json()["paths"]
    assert [path for path in paths if is_openai(path)] == []
