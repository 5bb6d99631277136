"""What reaches the endpoint behind the proxy: nothing twice, and nothing beside the routes that are passed on."""

import socket
import threading
from contextlib import contextmanager
from http.client import parse_headers
from socketserver import StreamRequestHandler, ThreadingTCPServer

import pytest

from lamina.settings import Settings
from tests.http_proxy import IDS
from tests.http_service import serving

QUESTION = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"


@contextmanager
def endpoint(*answers):
    """Reads whole requests and answers them by turns, where None is to hang up. Gives its URL and what it read."""
    read, left = [], list(answers)

    class Handler(StreamRequestHandler):
        def handle(self):
            while request := self.rfile.readline().decode():
                read.append(tuple(request.split(" ")[:2]))
                self.rfile.read(int(parse_headers(self.rfile).get("Content-Length", 0)))
                answer = left.pop(0) if left else ANSWER
                if answer is None:
                    return
                self.wfile.write(answer)

    with ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.02,)).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/v1", read
        finally:
            server.shutdown()


@pytest.mark.parametrize("before", [0, 1], ids=["fresh-connection", "kept-connection"])
def test_a_request_that_may_have_been_read_is_not_sent_again(tmp_path, before):
    """The endpoint reads it and hangs up: the caller is told, and decides."""
    with endpoint(*[ANSWER] * before, None) as (url, read):
        settings = Settings(database=str(tmp_path / "chat.db"), proxy_base_url=url)
        with serving(settings, worker=False) as service:
            for _ in range(before):
                assert service.post("/openai/v1/chat/completions", json=QUESTION, headers=IDS).status_code == 200
            answer = service.post("/openai/v1/chat/completions", json=QUESTION, headers=IDS)
            assert (answer.status_code, answer.json()["error"]["code"]) == (502, "upstream")
            assert len(read) == before + 1


def test_what_changes_nothing_is_asked_again(tmp_path):
    """A kept connection that the endpoint closes is no reason to fail a look."""
    with endpoint(ANSWER, None, ANSWER) as (url, read):
        with serving(Settings(database=str(tmp_path / "chat.db"), proxy_base_url=url), worker=False) as service:
            assert [service.get("/openai/v1/models").status_code for _ in range(2)] == [200, 200]
        assert read == [("GET", "/v1/models")] * 3


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A proxy that asks with the operator's key, and what its endpoint reads."""
    file = tmp_path_factory.mktemp("proxy") / "chat.db"
    with endpoint() as (url, read):
        settings = Settings(database=str(file), proxy_base_url=url, proxy_api_key="sk-of-the-operator")
        with serving(settings, worker=False) as service:
            yield service, read


@pytest.mark.parametrize(
    "path",
    [
        "models/../../admin/keys",
        "models/..",
        "models/./x",
        "models//x",
        "models/%2e%2e/%2e%2e/admin/keys",
        "models/%2E./admin",
        "models/%252e%252e/admin",
        "models/..%2f..%2fadmin",
        "models/..%5cadmin",
        "models/x%3fkey=1",
        "models/x%23y",
        "models/x%00y",
        "chat/completions/../../files",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_no_address_leaves_the_routes_that_are_passed_on(shared, method, path):
    """However it is written: the endpoint's key is the operator's."""
    service, read = shared
    before, url = len(read), service.client.base_url
    with socket.create_connection((url.host, url.port)) as line:  # a client would tidy the path up
        line.sendall(f"{method} /openai/v1/{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: line.recv(65536), b""))
    assert answer.split(b" ")[1] in {b"400", b"404"}
    assert len(read) == before


@pytest.mark.parametrize("model", ["gpt-4.1", "org%2Fmodel", "a:b", "v1.5..2"])
def test_names_with_dots_and_slashes_are_passed_on(shared, model):
    service, read = shared
    assert service.get(f"/openai/v1/models/{model}").status_code == 200
    assert read[-1] == ("GET", f"/v1/models/{model}")
