"""Nobody can take the service away from others: by half a request, by large bodies, by listening."""

import socket
from contextlib import ExitStack, contextmanager

import httpx2
import pytest

from lamina.settings import Settings
from tests.http_service import serving
from tests.server.rest.test_errors import refused
from tests.waiting import CEILING, wait_until

AT_ONCE, EACH, LISTENERS, HELD = 8, 5, 3, 400_000


@pytest.fixture(scope="module")
def small():
    """A service with room for few."""
    settings = Settings(
        database=":memory:",
        max_concurrent_requests=AT_ONCE,
        max_concurrent_requests_per_key=EACH,
        max_listeners_per_key=LISTENERS,
        max_body_bytes=150_000,
        max_held_bytes=HELD,
    )
    with serving(settings, worker=False) as service:
        yield service


@pytest.fixture
def crowded(small, tmp_path):
    """Nothing of the test before is under way any more."""
    with small.over(tmp_path / "chat.db") as service:
        wait_until(lambda: not any(taken(service, name) for name in ("requests", "listeners", "open", "bytes")))
        yield service


def connected(service):
    url = service.client.base_url
    return socket.create_connection((url.host, url.port), timeout=CEILING)


def half(service, secret, path="/v1/search", *, said=b"{", told=100_000, method="POST"):
    """A request of which only a part was sent."""
    line = connected(service)
    key = f"X-API-Key: {secret}\r\n" if secret else ""
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{key}Content-Type: application/json\r\n"
    line.sendall(head.encode() + f"Content-Length: {told}\r\n\r\n".encode() + said)
    return line


def statuses(client, *calls):
    return [client.request(*call).status_code for call in calls]


def taken(service, name):
    """How much is taken of what is shared."""
    layer = service.app.middleware_stack
    while not hasattr(layer, "_bodies"):
        layer = getattr(layer, "_app", None) or layer.app
    shares = {"requests": layer._requests, "listeners": layer._listeners, "open": layer._open}
    return (shares.get(name) or layer._bodies._held)._taken


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/version", "/openapi.json", "/", "/assets/none.js"])
def test_half_requests_on_open_paths_take_nothing_from_others(crowded, path):
    secret = crowded.key("read")
    with ExitStack() as stack:
        for _ in range(2 * AT_ONCE):
            stack.enter_context(half(crowded, None, path, method="GET"))
        assert crowded.with_key(secret).get("/v1/sessions").status_code == 200


def test_half_requests_of_one_key_leave_room_for_others(crowded):
    one, other = crowded.key("read"), crowded.key("read", tenant="acme")
    with ExitStack() as stack:
        wait_until(lambda: taken(crowded, "requests") == 0)  # those that made the keys are over
        for _ in range(EACH):
            stack.enter_context(half(crowded, one))
        wait_until(lambda: taken(crowded, "requests") == EACH)
        told = refused(crowded.with_key(one).get("/v1/sessions"), 429, "too-many-requests")
        assert f"up to {EACH} requests under way" in told["detail"]
        assert crowded.with_key(other).get("/v1/sessions").status_code == 200
    wait_until(lambda: taken(crowded, "requests") == 0)
    assert crowded.with_key(one).get("/v1/sessions").status_code == 200


def test_bodies_that_are_not_whole_hold_a_bounded_memory(crowded):
    """One key has half of it; small requests always have room."""
    one, other = crowded.key("read"), crowded.key("read", tenant="acme")
    part = b'{"query": "' + b"a" * 130_000
    wait_until(lambda: taken(crowded, "requests") == 0)  # those that made the keys are over
    with ExitStack() as stack:
        lines = [stack.enter_context(half(crowded, one, said=part, told=140_000)) for _ in range(4)]
        wait_until(lambda: taken(crowded, "bytes") >= HELD // 2 - 150_000 and taken(crowded, "requests") <= 3)
        answers = [line for line in lines if _answer(line)]
        assert answers
        assert taken(crowded, "bytes") <= HELD // 2
        assert crowded.with_key(one).post("/v1/search", json={"query": "figs"}).status_code == 200
        large = {"query": "figs", "system": "a" * 120_000, "budget": 1_000_000}
        assert crowded.with_key(other).post("/v1/context", json=large).status_code == 200
    wait_until(lambda: taken(crowded, "bytes") == 0)


def _answer(line):
    """Whether it was refused for want of memory; the others wait for the rest of their bodies."""
    line.settimeout(0.5)
    try:
        answer = line.recv(65536)
    except TimeoutError:
        return False
    assert answer.startswith(b"HTTP/1.1 503"), answer
    assert b"connection: close" in answer.lower()
    return True


@contextmanager
def listening(service, secret, number):
    """So many who listen for events; gives what they were answered."""
    headers = {"X-API-Key": secret} if secret else {}
    with ExitStack() as stack:
        client = stack.enter_context(httpx2.Client(base_url=service.client.base_url, headers=headers, timeout=CEILING))
        yield [stack.enter_context(client.stream("GET", "/v1/events")) for _ in range(number)]


def test_a_key_listens_so_many_times_and_no_more(crowded):
    """Others may, and listeners take no room from requests."""
    one, other = crowded.key("read"), crowded.key("read", tenant="acme")
    with listening(crowded, one, LISTENERS + 1) as answers:
        assert [answer.status_code for answer in answers] == [200] * LISTENERS + [429]
        answers[-1].read()
        told = refused(answers[-1], 429, "too-many-requests")["detail"]
        assert f"up to {LISTENERS} times" in told
        with listening(crowded, other, LISTENERS) as others:
            assert [answer.status_code for answer in others] == [200] * LISTENERS
            wait_until(lambda: taken(crowded, "requests") == 0)
            assert crowded.with_key(one).get("/v1/sessions").status_code == 200
    wait_until(lambda: taken(crowded, "listeners") == 0)
    with listening(crowded, one, 1) as answers:
        assert answers[0].status_code == 200


def test_without_keys_all_listen_together_so_many_times(crowded):
    with listening(crowded, None, LISTENERS + 1) as answers:
        assert [answer.status_code for answer in answers] == [200] * LISTENERS + [429]


def test_beyond_all_room_for_listeners_the_answer_is_busy(crowded):
    keys = [crowded.key("read") for _ in range(3)]
    with ExitStack() as stack:
        answers = [one for key in keys for one in stack.enter_context(listening(crowded, key, LISTENERS))]
        assert [answer.status_code for answer in answers] == [200] * AT_ONCE + [503]
        assert crowded.with_key(keys[0]).get("/v1/sessions").status_code == 200


# heads that do not come


@pytest.fixture(scope="module")
def impatient():
    settings = Settings(database=":memory:", header_seconds=0.3, max_concurrent_requests=6)
    with serving(settings, worker=False) as service:
        yield service


@pytest.mark.parametrize(
    "sent", [b"", b"GET /healthz HT", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-A: b\r\n"], ids=len
)
def test_a_head_that_does_not_come_ends_the_connection(impatient, sent):
    """Also one that comes a byte at a time."""
    with connected(impatient) as line:
        line.sendall(sent)
        line.settimeout(0.05)
        answer = b""

        def ended():
            nonlocal answer
            try:
                if sent:
                    line.sendall(b"x")
                part = line.recv(4096)
            except TimeoutError:
                return False
            except OSError:
                return True
            answer += part
            return not part

        wait_until(ended)
        assert answer[:12] in {b"HTTP/1.1 408", b""}


def test_the_rest_of_a_refused_body_does_not_keep_a_connection(impatient):
    """However slowly it goes on to come."""
    line = half(impatient, "lam_wrong", told=100_000)
    impatient.key("read")
    with line:
        line.settimeout(0.05)

        def ended():
            try:
                line.sendall(b" ")
                return not line.recv(65536)
            except TimeoutError:
                return False
            except OSError:
                return True

        wait_until(ended)


def test_a_kept_connection_is_used_again_after_a_while(impatient):
    """The time for a head begins with its first byte."""
    with httpx2.Client(base_url=impatient.client.base_url, timeout=CEILING) as client:
        assert {client.get("/healthz").status_code for _ in range(5)} == {200}


def test_of_many_connections_without_a_request_the_oldest_are_closed(tmp_path):
    """They take no more files than there is room for."""
    with (
        serving(Settings(database=str(tmp_path / "a.db"), max_concurrent_requests=6), worker=False) as service,
        ExitStack() as stack,
    ):
        lines = [stack.enter_context(connected(service)) for _ in range(70)]
        assert lines[0].recv(4096).startswith(b"HTTP/1.1 408")
        assert service.get("/healthz").status_code == 200
