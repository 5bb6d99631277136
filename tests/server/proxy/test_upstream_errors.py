"""An endpoint that is down or refuses is named, in the words that the official client shows, and in the log."""

import socket
from contextlib import contextmanager

import openai
import pytest

from lamina.settings import Settings, without_password
from lamina.testing.llm_server import Fault, LlmServer
from tests.http_service import made_key, serving
from tests.waiting import CEILING

HELLO = [{"role": "user", "content": "I live in Porto."}]
URL, KEY = "LAMINA_PROXY_BASE_URL", "LAMINA_PROXY_API_KEY"


@contextmanager
def client_of(tmp_path, key="any", **settings):
    """The official client, through a proxy with these settings."""
    chosen = Settings(database=str(tmp_path / "chat.db"), **settings)
    with serving(chosen, worker=False) as service:
        url = f"{service.client.base_url}/openai/v1"
        with openai.OpenAI(base_url=url, api_key=key, max_retries=0, timeout=CEILING) as client:
            yield client


def closed_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


def failure_of(client):
    with pytest.raises(openai.APIStatusError) as raised:
        client.chat.completions.create(model="m", messages=HELLO)
    return raised.value


def test_an_endpoint_that_does_not_run_is_named(tmp_path, caplog):
    """With what to change; what was said is kept, and the log has the same without it."""
    url = f"http://127.0.0.1:{closed_port()}/v1"
    with client_of(tmp_path, proxy_base_url=url) as client:
        error = failure_of(client)
        for word in (url, "refuses connections", URL):
            assert word in str(error)
        assert (error.status_code, error.code, error.response.headers["x-lamina-user"]) == (502, "upstream", "default")
        with pytest.raises(openai.APIStatusError, match="refuses connections"):
            client.embeddings.create(model="e", input="one")
    lines = [one for one in caplog.records if one.getMessage() == "upstream_not_reached"]
    assert [(line.endpoint, line.reason) for line in lines] == [(url, "refuses connections: nothing listens there")] * 2
    assert "Porto" not in str([line.__dict__ for line in lines])


def test_a_name_that_nobody_knows_is_said(tmp_path):
    with client_of(tmp_path, proxy_base_url="http://nowhere.invalid/v1") as client:
        assert "http://nowhere.invalid/v1, cannot be found: its name is not known here" in str(failure_of(client))


def test_tls_where_there_is_none_is_said(tmp_path):
    with LlmServer() as endpoint, client_of(tmp_path, proxy_base_url=endpoint.url.replace("http:", "https:")) as client:
        error = failure_of(client)
        assert error.status_code == 502
        assert "does not speak TLS" in str(error)


def test_an_endpoint_that_takes_too_long_is_said(tmp_path):
    with LlmServer() as endpoint:
        endpoint.then(Fault(seconds=CEILING))
        with client_of(tmp_path, proxy_base_url=endpoint.url, proxy_seconds=0.2) as client:
            error = failure_of(client)
        assert error.status_code == 504
        assert "did not answer in 0.2 seconds (proxy_seconds)" in str(error)


def test_without_a_setting_the_answer_says_that_openai_is_asked(tmp_path, monkeypatch):
    """Whatever prevents it: here a name that is not known."""
    monkeypatch.setattr("lamina.settings.OPENAI", "http://openai.invalid/v1")
    with client_of(tmp_path) as client:
        error = str(failure_of(client))
    assert "http://openai.invalid/v1, cannot be found" in error
    assert f"No setting names an endpoint, so OpenAI's is asked; for another one, set proxy_base_url ({URL})" in error


WHOSE = {
    "the caller's": ({}, "with the key that you sent"),
    "the operator's": ({"proxy_api_key": "sk-old"}, "with the key in proxy_api_key"),
}


@pytest.mark.parametrize("whose", WHOSE)
@pytest.mark.parametrize("stream", [True, False])
def test_a_key_that_the_endpoint_refuses_is_said_to_be_whose(tmp_path, caplog, whose, stream):
    """After the endpoint's own words; no key is in the log."""
    settings, said = WHOSE[whose]
    with LlmServer(key="sk-good") as endpoint, client_of(tmp_path, proxy_base_url=endpoint.url, **settings) as client:
        with pytest.raises(openai.AuthenticationError) as raised:
            client.chat.completions.create(model="m", messages=HELLO, stream=stream)
        for word in ("Incorrect API key provided", endpoint.url, said, KEY):
            assert word in str(raised.value)
        (line,) = [one for one in caplog.records if one.getMessage() == "upstream_refused"]
        assert (line.endpoint, line.status) == (endpoint.url, 401)
        assert "sk-" not in str(line.__dict__)


def test_a_request_without_a_key_for_the_endpoint_is_said_to_be_so(tmp_path):
    """A key of Lamina's opens the proxy, and goes no further."""
    _, key = made_key(Settings(database=str(tmp_path / "chat.db")))
    with (
        LlmServer(key="sk-good") as endpoint,
        client_of(tmp_path, key, proxy_base_url=endpoint.url) as client,
        pytest.raises(openai.AuthenticationError, match=rf"asked without a key: set proxy_api_key \({KEY}\)"),
    ):
        client.chat.completions.create(model="m", messages=HELLO, user="ann")


def test_an_address_without_its_v1_is_said(tmp_path):
    """An endpoint that does not know the address answers in its own way; a client would show nothing of it."""
    with LlmServer() as endpoint, client_of(tmp_path, proxy_base_url=endpoint.url.removesuffix("/v1")) as client:
        endpoint.then(Fault(status=404, body="404 page not found"))
        error = failure_of(client)
    assert error.status_code == 404
    assert "has no chat/completions. Its address mostly ends in /v1" in str(error)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://me:secret@host:8/v1?key=secret#secret", "https://host:8/v1"),
        ("http://[::1]:8/v1", "http://[::1]:8/v1"),
        ("postgresql://me:secret@/memory?host=/tmp&password=secret", "postgresql:///memory"),
        ("postgresql://me@db1,db2:5/memory", "postgresql://db1,db2:5/memory"),
    ],
)
def test_no_password_of_an_address_is_shown(url, shown):
    assert without_password(url) == shown
