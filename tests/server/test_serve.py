"""`lamina serve` and `lamina keys` as their users run them."""

import json
import re
import signal
import socket

import httpx2
import pytest

from tests.command_line import service_process
from tests.waiting import CEILING, wait_until


def test_serve_answers_folds_and_ends_with_a_signal(cli, tmp_path):
    """Keys made by the command line open it; the log has who did what, and no key and no content."""
    secret = json.loads(cli("keys", "create", "app", "--role", "write", "--expires", "90d", "--json").stdout)["key"]
    with service_process(tmp_path) as (process, address):
        with httpx2.Client(base_url=address, headers={"X-API-Key": secret}, timeout=CEILING) as client:
            said = {"messages": "I live in Porto.", "user_id": "alex"}
            assert client.post("/v1/sessions/s1/messages", json=said).status_code == 201
            wait_until(lambda: client.get("/v1/backlog").json()["pending"] == 0)
        process.send_signal(signal.SIGTERM)
        assert process.wait(CEILING) == 0
    log = (tmp_path / "log").read_text("utf-8")
    assert log.splitlines()[:2] == [f"serving on {address}", f"inspector: {address}/"]
    lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    assert next(line["verb"] for line in lines if line["action"] == "audit") == "add_messages"
    assert secret not in log
    assert "Porto" not in log
    assert "Porto" in cli("facts", "-u", "alex").stdout


def listens(host, port):
    try:
        socket.create_connection((host, port)).close()
    except ConnectionRefusedError:
        return False
    return True


def test_a_request_that_is_under_way_is_answered_before_the_end(tmp_path):
    """Half of it comes before the signal, the rest behind it."""
    body = b'{"messages": "last words"}'
    head = f"POST /v1/sessions/s1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
    with service_process(tmp_path, "--no-worker") as (process, address):
        host, port = address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=CEILING) as line:
            line.sendall(head.encode() + b"Content-Type: application/json\r\n\r\n" + body[:5])
            assert (
                httpx2.get(f"{address}/healthz", timeout=CEILING).status_code == 200
            )  # by now the first half has come
            process.send_signal(signal.SIGTERM)
            wait_until(lambda: not listens(host, int(port)))
            line.sendall(body[5:])
            assert line.recv(4096).startswith(b"HTTP/1.1 201")
        assert process.wait(CEILING) == 0


def test_a_public_address_without_a_key_is_refused_in_one_line(cli):
    done = cli("serve", "--host", "0.0.0.0", "--port", "0")
    assert (done.code, done.stdout) == (1, "")
    assert "lamina keys create NAME" in done.err
    assert "Traceback" not in done.err


def test_a_port_that_is_taken_is_a_failure(cli):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = cli("serve", "--port", str(taken.getsockname()[1]))
    assert done.code == 1
    assert "address already in use" in done.err


def test_keys_are_made_listed_and_revoked(cli):
    made = cli("keys", "create", "phone", "--role", "read")
    found = re.match(r"(lam_\S+)\s+(key_\w+): keep", made.stdout)
    assert found
    secret, key_id = found.groups()
    cli("--tenant", "other", "keys", "create", "elsewhere")
    listed = cli("keys", "list")
    assert "phone" in listed.out
    assert "elsewhere" not in listed.out
    assert secret not in listed.out
    assert (cli("keys", "revoke", key_id).code, cli("keys", "revoke", "key_none").code) == (0, 1)
    assert "read revoked phone until revoked, last used never" in cli("keys", "list").out
    shown = json.loads(cli("keys", "list", "--json").stdout)
    assert [(one["id"], one["role"], "hash" in one) for one in shown] == [(key_id, "read", False)]


def test_a_key_is_rotated(cli):
    """Its successor is shown once; without an overlap the old one is revoked."""
    old = json.loads(cli("keys", "create", "phone", "--role", "read", "--expires", "90d", "--json").stdout)
    new = json.loads(cli("keys", "rotate", old["id"], "--overlap", "24h", "--json").stdout)
    assert (new["name"], new["role"]) == ("phone", "read")
    found = re.match(r"(lam_\S+)\s+(key_\w+): keep", cli("keys", "rotate", new["id"]).stdout)
    assert found
    shown = {one["id"]: one for one in json.loads(cli("keys", "list", "--json").stdout)}
    assert [shown[one]["revoked_at"] is None for one in (old["id"], new["id"], found[2])] == [True, False, True]
    assert cli("keys", "rotate", new["id"]).code == 1
    assert cli("keys", "rotate", "key_none").code == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("create", "a", "--role", "root"), "there are"),
        (("create", "a", "--expires", "soon"), "e.g. 90d"),
        (("create", "a", "--expires", "999999w"), "e.g. 90d"),
        (("create", "a", "--expires", "0d"), "e.g. 90d"),
        (("create", ""), "a name"),
        (("list",), "there is no memory"),
    ],
)
def test_mistakes_with_keys_are_said_in_one_line(cli, words, said):
    done = cli("keys", *words)
    assert (done.code, done.stdout) == (2, "")
    assert said in done.err
