"""The first hour of an operator: PostgreSQL, a role that owns nothing, keys for two tenants, a service, a worker.

Every step is a command of the documentation, against a real server, with real processes.
"""

import json
import os
import re
import signal
import socket
import subprocess
from contextlib import contextmanager

import httpx2
import openai
import pytest
from psycopg import sql

from lamina.testing.llm_server import LlmServer, Said
from tests.command_line import LAMINA, plain_environ, service_process
from tests.waiting import CEILING, wait_until

pytestmark = pytest.mark.xdist_group("operator")  # one database for all of them

ROLE = "lamina_clerk"


@pytest.fixture(scope="module")
def server(servers):
    return servers()


@pytest.fixture(scope="module")
def urls(server):
    """The operator's key, and a database as the service's role sees it, which has what `lamina grants` prints."""
    name = server.new_database()
    owner, clerk = server.url(name), server.url(name, ROLE)
    with server.connect("postgres") as connection:
        connection.execute(sql.SQL("create role {} login").format(sql.Identifier(ROLE)))
    key = run("--db", owner, "keys", "create", "operator", "--role", "admin").stdout.split()[0]  # makes the tables
    printed = run("--db", owner, "grants", ROLE).stdout
    assert f'grant usage on schema "lamina" to "{ROLE}";' in printed
    with server.connect(name) as connection:
        connection.execute(printed.encode())
    yield key, clerk
    with server.connect(name) as connection:
        connection.execute(sql.SQL("drop owned by {}").format(sql.Identifier(ROLE)))
        connection.execute(sql.SQL("drop role {}").format(sql.Identifier(ROLE)))


def run(*words, **environ):
    """A command that must end well."""
    done = subprocess.run(
        [LAMINA, *words], capture_output=True, text=True, check=False, env=plain_environ(COLUMNS="200", **environ)
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def keys(urls):
    """A key of the operator, and one of each of two tenants, whose key has a user of its own."""
    operator, clerk = urls
    made = {"operator": operator}
    for tenant in ("acme", "bolt"):
        words = ("--tenant", tenant, "keys", "create", f"{tenant}'s app", "--user", f"{tenant}-bot")
        made[tenant] = run("--db", clerk, *words).stdout
    return {name: text.split()[0] for name, text in made.items()}


@contextmanager
def worker(folder, clerk):
    """`lamina worker`, until it is told to end."""
    with (folder / "worker.log").open("w", encoding="utf-8") as log:
        process = subprocess.Popen([LAMINA, "--db", clerk, "worker"], stderr=log, env=plain_environ())
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(CEILING) == 0


def client_of(address, secret):
    return httpx2.Client(base_url=address, headers={"Authorization": f"Bearer {secret}"}, timeout=CEILING)


def wait_for_fact(client, words, user="alex"):
    wait_until(lambda: words in client.get(f"/v1/users/{user}/facts").text)


@pytest.fixture(scope="module")
def upstream():
    with LlmServer(lambda asked: Said(text="Porto." if "Porto" in str(asked.body) else "?", plain=True)) as endpoint:
        yield endpoint


def test_two_tenants_a_worker_and_a_restart(urls, keys, upstream, tmp_path):
    """Neither sees the other, facts come from a process of its own, and a restart loses nothing."""
    _, clerk = urls
    settings = {"LAMINA_DATABASE": clerk, "LAMINA_PROXY_BASE_URL": upstream.url}
    with worker(tmp_path, clerk):
        with service_process(tmp_path, "--no-worker", **settings) as (process, address):
            for tenant, city in (("acme", "Porto"), ("bolt", "Ghent")):
                with client_of(address, keys[tenant]) as client:
                    said = {"user_id": "alex", "messages": f"I'm Alex. I live in {city}."}
                    assert client.post("/v1/sessions/s1/messages", json=said).status_code == 201
                    wait_for_fact(client, city)
            process.send_signal(signal.SIGTERM)
            assert process.wait(CEILING) == 0
        banner = (tmp_path / "log").read_text("utf-8")
        assert "worker    none here: start `lamina worker`" in banner
        assert "keys      needed for every request" in banner
        with service_process(tmp_path, "--no-worker", **settings) as (_, address):
            for tenant, city, other in (("acme", "Porto", "Ghent"), ("bolt", "Ghent", "Porto")):
                with client_of(address, keys[tenant]) as client:
                    everything = client.get("/v1/users/alex/facts").text + client.get("/v1/sessions/s1/messages").text
                    assert city in everything
                    assert other not in everything
                    assert client.get("/v1/tenants").status_code == 403
            check_proxy(address, keys, upstream)
            check_doors(address, keys)
            check_operator(address, keys)


def check_proxy(address, keys, upstream):
    """A request that names nobody belongs to the user of its key, and no tenant hears of another's."""
    said = {}
    for tenant, words in (
        ("acme", "I live in Porto."),
        ("bolt", "I live in Ghent."),
        ("acme", "Where?"),
        ("bolt", "Where?"),
    ):
        with openai.OpenAI(base_url=f"{address}/openai/v1", api_key=keys[tenant], timeout=CEILING) as client:
            raw = client.chat.completions.with_raw_response.create(
                model="test-model", messages=[{"role": "user", "content": words}]
            )
        assert (raw.headers["x-lamina-user"], raw.headers["x-lamina-user-from"]) == (f"{tenant}-bot", "key")
        said[tenant] = raw.parse().choices[0].message.content
        if words != "Where?":
            with client_of(address, keys[tenant]) as client:
                wait_for_fact(client, words.split()[-1].strip("."), f"{tenant}-bot")
    assert said == {"acme": "Porto.", "bolt": "?"}
    assert not any("lam_" in str(one.headers) for one in upstream.asked())


def check_doors(address, keys):
    """A wrong key, a dummy and none are refused; health is open."""
    for headers in ({}, {"Authorization": "Bearer dummy"}, {"X-API-Key": keys["acme"] + "x"}):
        answer = httpx2.get(f"{address}/v1/sessions", headers=headers, timeout=CEILING)
        assert (answer.status_code, answer.json()["type"]) == (401, "urn:lamina:key-needed")
    for path in ("/healthz", "/readyz"):
        assert httpx2.get(f"{address}{path}", timeout=CEILING).json() == {"status": "ok"}


def check_operator(address, keys):
    """Sees all tenants and the figures of the process."""
    with client_of(address, keys["operator"]) as client:
        assert {one["tenant"] for one in client.get("/v1/tenants").json()["items"]} >= {"acme", "bolt", "default"}
        figures = client.get("/metrics").text
        assert "lamina_request_seconds_count" in figures
        assert "acme" not in figures
    with client_of(address, keys["acme"]) as client:
        assert "lamina_request_seconds_count" not in client.get("/metrics").text


def test_the_banner_and_the_log_have_no_password(urls, keys, tmp_path):
    """Of the database's URL; nor a key, nor what was said."""
    _, clerk = urls
    secret = re.sub(r"//([^@/]*)@", r"//\1:hunter2@", clerk)
    assert "hunter2" in secret
    with service_process(tmp_path, LAMINA_DATABASE=secret) as (_, address), client_of(address, keys["acme"]) as client:
        assert client.get("/v1/about").json()["tenant"] == "acme"
        log = (tmp_path / "log").read_text("utf-8")
    assert "database  postgresql://" in log
    for word in ("hunter2", keys["acme"]):
        assert word not in log


def test_keys_are_listed_rotated_and_revoked(urls, keys, tmp_path):
    """The successor has the user of the old one; what is revoked is refused."""
    _, clerk = urls
    words = ("--db", clerk, "--tenant", "acme", "keys")
    made = json.loads(run(*words, "create", "spare", "--user", "ann", "--json").stdout)
    new = json.loads(run(*words, "rotate", made["id"], "--json").stdout)
    assert "for ann" in run(*words, "list").stdout
    with (
        service_process(tmp_path, "--no-worker", LAMINA_DATABASE=clerk) as (_, address),
        client_of(address, new["key"]) as client,
    ):
        assert client.get("/v1/about").json()["proxy_default_user"] == "ann"
        run(*words, "revoke", new["id"])
        wait_until(lambda: client.get("/v1/about").status_code == 401)


def test_an_address_of_a_network_needs_a_key_first(tmp_path):
    """In one line, with the command that makes one; a port that is in use is one line, too."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for words, said in (
            (("--host", "0.0.0.0", "--port", "0"), "lamina keys create NAME"),
            (("--port", str(port)), f"port {port} of 127.0.0.1 is in use"),
        ):
            done = subprocess.run(
                [LAMINA, "serve", *words], cwd=tmp_path, capture_output=True, text=True, check=False, env=os.environ
            )
            assert done.returncode == 1
            assert said in " ".join(done.stderr.split())
            assert "Traceback" not in done.stderr
