"""`lamina serve` and `lamina keys` as their users run them."""

import asyncio
import errno
import json
import os
import re
import signal
import socket

import httpx2
import pytest

from lamina.errors import LaminaError
from lamina.server.listen import listen
from lamina.server.mcp.mcp_process import HttpAddress
from tests.command_line import service_process
from tests.waiting import CEILING, wait_until


def test_serve_answers_folds_and_ends_with_a_signal(cli, tmp_path):
    """Keys made by the command line open it; the log has who did what, and no key and no content."""
    secret = json.loads(cli("keys", "create", "app", "--role", "write", "--expires", "90d", "--json").stdout)["key"]
    with service_process(tmp_path) as (process, address):
        with httpx2.Client(base_url=address, headers={"X-API-Key": secret}, timeout=CEILING) as client:
            said = {"messages": "I live in Porto.", "user_id": "alex"}
            assert client.post("/v1/sessions/s1/messages", json=said).status_code == 201
            wait_until(lambda: is_done(client.get("/v1/backlog").json()))
        process.send_signal(signal.SIGTERM)
        assert process.wait(CEILING) == 0
    log = (tmp_path / "log").read_text("utf-8")
    assert log.splitlines()[:2] == [f"serving on {address}", f"  page      {address}/"]
    lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    assert next(line["verb"] for line in lines if line["action"] == "audit") == "add_messages"
    assert secret not in log
    assert "Porto" not in log
    assert "Porto" in cli("facts", "-u", "alex").stdout


def is_done(backlog):
    return backlog["pending"] == backlog["leased"] == 0


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


def test_a_port_that_is_in_use_is_one_line_with_another_one(lamina, tmp_path):
    """Nothing is opened or made before the port is ours."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = lamina("serve", "--port", str(port))
    assert (done.returncode, done.stdout) == (1, "")
    said = " ".join(done.stderr.split())
    assert said.startswith(f"error: port {port} of 127.0.0.1 is in use by another program")
    assert f"--port {port + 1}" in said
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("host", "said"),
    [("no.such.host.invalid", "no host 'no.such.host.invalid' is known here"),
     ("192.0.2.1", "192.0.2.1 is no address of this machine"), ("..", "no host '..' is known here")],
)  # fmt: skip
def test_a_host_that_cannot_be_listened_on_is_said(cli, host, said):
    done = cli("serve", "--host", host, "--port", "0")
    assert (done.code, done.stdout) == (1, "")
    assert said in done.err
    assert "listen on 127.0.0.1" in done.err


@pytest.mark.parametrize(
    ("number", "said"),
    [(errno.EACCES, "choose one above 1023, e.g. --port 8640"), (errno.EADDRINUSE, "--port 81,"),
     (errno.ENOBUFS, "cannot listen on 127.0.0.1, port 80: ")],
)  # fmt: skip
def test_what_the_system_refuses_is_said(monkeypatch, number, said):
    """As it is for an account that may not have the port; the tests may run as root."""

    def refuse(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("socket.socket.bind", refuse)
    with pytest.raises(LaminaError, match=re.escape(said)):
        listen("127.0.0.1", 80)


def test_all_addresses_of_a_host_have_one_port():
    sockets = listen("localhost", 0)
    try:
        assert len({one.getsockname()[1] for one in sockets}) == 1
    finally:
        for one in sockets:
            one.close()


@pytest.mark.parametrize("opened", [lambda: listen("127.0.0.1", 0)[0], HttpAddress(host="127.0.0.1", port=0).open])
def test_a_reply_is_sent_at_once(opened):
    """asyncio sends small writes at once only on sockets that say that they are TCP."""

    async def accepted() -> int:
        option: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        def connected(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            own = writer.get_extra_info("socket")
            option.set_result(own.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        one = opened()
        async with await asyncio.start_server(connected, sock=one):
            _, writer = await asyncio.open_connection(*one.getsockname())
            found = await option
            writer.close()
        return found

    assert asyncio.run(accepted())


def banner(**environ):
    """The lines that `lamina serve` prints, by their names."""
    found = {}

    def run(folder, *words):
        with service_process(folder, *words, **environ) as (_, address):
            text = (folder / "log").read_text("utf-8").replace(address, "ADDRESS")
        for line in text.splitlines()[1:]:
            name, _, rest = line.strip().partition(" ")
            found[name] = rest.strip()
        return found

    return run


def test_serve_prints_what_it_serves(tmp_path):
    """A line each, not wrapped though it is piped; every address can be clicked."""
    (folder := tmp_path / ("folder-" * 15)).mkdir()
    assert banner()(folder) == {
        "page": "ADDRESS/",
        "REST": "ADDRESS/v1 (schema: ADDRESS/openapi.json)",
        "proxy": "ADDRESS/openai/v1 (base_url of OpenAI clients)",
        "asks": "https://api.openai.com/v1 (for another endpoint, set LAMINA_PROXY_BASE_URL)",
        "user": "default, if a request names nobody (LAMINA_PROXY_DEFAULT_USER)",
        "MCP": "ADDRESS/mcp",
        "database": str(folder / "lamina.db"),
        "worker": "in this process",
        "keys": "none, so only programs on this machine may come in",
    }


def test_serve_prints_what_was_chosen(lamina, tmp_path):
    """Without a password of any address."""
    lamina("keys", "create", "app")
    found = banner(
        LAMINA_PROXY_BASE_URL="http://me:secret@localhost:11434/v1",
        LAMINA_TENANT="acme",
        LAMINA_DATABASE="sqlite:///lamina.db",
    )(tmp_path, "--no-worker")
    assert found["asks"] == "http://localhost:11434/v1"
    assert found["user"].startswith("named by each request, or by its key (`lamina keys create NAME --user USER`)")
    assert found["worker"] == "none here: start `lamina worker`"
    assert found["keys"] == "needed for every request"
    assert (found["tenant"], found["database"]) == ("acme", str(tmp_path / "lamina.db"))


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
