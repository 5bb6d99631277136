"""How much a caller may ask for, and how slowly."""

import socket
import threading
from contextlib import suppress

import pytest

from lamina.server import rate_limit
from lamina.server.rate_limit import RateLimiter
from lamina.settings import Settings
from tests.http_service import serving
from tests.server.rest.test_errors import refused
from tests.waiting import CEILING, wait_until

HEAD = b"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def test_requests_come_back_evenly():
    """All of a minute's at once, then one at a time; who was away has no more than that."""
    rates = RateLimiter(6)
    first = [rates.take("a", 0.0) for _ in range(7)]
    assert [one.left for one in first] == [5, 4, 3, 2, 1, 0, 0]
    assert [one.wait_s for one in first] == [0] * 6 + [10]
    assert rates.take("a", 9.0).wait_s == 1
    assert rates.take("a", 10.0).wait_s == 0
    assert rates.take("a", 10.0).wait_s == 10
    assert rates.take("b", 10.0).left == 5
    assert (rates.take("a", 1000.0).left, rates.take("a", 1000.0).full_s) == (5, 20)


def test_of_many_callers_those_who_were_away_longest_are_not_remembered(monkeypatch):
    """However many addresses somebody has, what is kept of them has an end."""
    monkeypatch.setattr(rate_limit, "_MAX_CALLERS", 2)
    rates = RateLimiter(6)
    assert [rates.take(caller, 0.0).left for caller in "abacab"] == [5, 5, 4, 5, 3, 5]


@pytest.fixture
def limited(tmp_path, standing_still):
    with serving(Settings(database=str(tmp_path / "a.db"), max_requests_per_minute=3), worker=False) as service:
        yield service


def test_beyond_its_rate_a_key_is_told_when_to_come_again(limited):
    """Each key has its own; what is about the service itself is free."""
    one, other = (limited.with_key(limited.key("read")) for _ in range(2))
    answers = [one.get("/v1/sessions") for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert answers[0].headers["ratelimit-policy"] == '"minute";q=3;w=60'
    assert answers[0].headers["ratelimit"] == '"minute";r=2;t=20'
    assert "3 requests a minute" in refused(answers[3], 429, "too-many-requests")["detail"]
    assert answers[3].headers["retry-after"] == "20"
    assert answers[3].headers["ratelimit"].startswith('"minute";r=0;t=')
    assert other.get("/v1/sessions").status_code == 200
    assert one.get("/healthz").status_code == 200
    assert "ratelimit" not in one.get("/healthz").headers


def test_who_has_no_key_is_counted_by_address(limited):
    """Also who tries keys."""
    limited.key("read")
    tried = [limited.get("/v1/sessions", headers={"X-API-Key": f"lam_{n}"}).status_code for n in range(4)]
    assert tried == [401, 401, 401, 429]


def test_without_a_limit_there_are_no_such_headers(service):
    assert "ratelimit" not in service.get("/v1/sessions").headers


def begun(service, body=b"", told=9):
    """A request of which not all has come."""
    url = service.client.base_url
    line = socket.create_connection((url.host, url.port), timeout=CEILING)
    line.sendall(HEAD + f"Content-Length: {told}\r\n\r\n".encode() + body)
    return line


def test_a_body_that_does_not_arrive_is_given_up(tmp_path):
    """However often a byte of it comes."""
    settings = Settings(database=str(tmp_path / "a.db"), request_seconds=0.4)
    with serving(settings, worker=False) as service, begun(service, b"{", told=1000) as line:
        stop = threading.Event()

        def drip():
            with suppress(OSError):  # the line may be closed before we are told to stop
                while not stop.wait(0.05):
                    line.sendall(b" ")

        thread = threading.Thread(target=drip)
        thread.start()
        answer = b""
        while (part := line.recv(4096)) and b"slow-request" not in (answer := answer + part):
            pass
        stop.set()
        thread.join(CEILING)
        assert answer.startswith(b"HTTP/1.1 408")
        assert b"connection: close" in answer.lower()
        assert b"slow-request" in answer


def test_beyond_so_many_at_once_a_request_is_put_off(tmp_path):
    """As soon as one of the others is answered, there is room again; health is always told."""
    settings = Settings(database=str(tmp_path / "a.db"), max_concurrent_requests=2)
    with serving(settings, worker=False) as service, begun(service) as one, begun(service):

        def answered(status):
            answer = service.get("/v1/sessions")
            return answer if answer.status_code == status else None

        answer = wait_until(lambda: answered(503))  # once both halves have arrived
        refused(answer, 503, "busy")
        assert answer.headers["retry-after"] == "1"
        assert service.get("/healthz").status_code == 200
        one.close()
        wait_until(lambda: answered(200))


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/version", "/openapi.json", "/", "/assets/nothing.js"])
def test_what_anybody_may_ask_is_answered_without_reading_a_body(service, path):
    """However long it is said to be: half a request holds nobody up, and what comes later is no second request."""
    url = service.client.base_url
    with socket.create_connection((url.host, url.port), timeout=CEILING) as line:
        line.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 30000000\r\n\r\n[".encode())
        answer = b"".join(iter(lambda: line.recv(65536), b""))
    assert answer.split(b" ")[1] in {b"200", b"404"}
    assert b"connection: close" in answer.lower()


def test_a_body_that_goes_too_deep_is_refused_before_it_is_whole(service):
    """It is looked at while it comes."""
    url = service.client.base_url
    with socket.create_connection((url.host, url.port), timeout=CEILING) as line:
        line.sendall(HEAD + b"Content-Length: 190000\r\n\r\n" + b"[" * 200)
        assert b"400" in line.recv(65536).split(b"\r\n")[0]
