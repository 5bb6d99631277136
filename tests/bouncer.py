"""A real pgbouncer in front of a real server: it listens on a socket beside the server's."""

import subprocess
from contextlib import contextmanager

import psycopg

from lamina.testing.postgres_server import SERVICE, as_nobody
from tests.waiting import CEILING, wait_until

PORT = 6432  # a part of the socket's name; no port is opened

_SETTINGS = """
[databases]
* = host={folder}
[pgbouncer]
listen_addr =
listen_port = {port}
unix_socket_dir = {folder}
auth_type = trust
auth_file = {folder}/users
pool_mode = {mode}
default_pool_size = 3
max_client_conn = 200
server_login_retry = 1
{more}
"""


class Bouncer:
    """A server whose databases are reached through pgbouncer; `connect` goes past it."""

    def __init__(self, server):
        self.server = server
        self.new_database, self.connect = server.new_database, server.connect

    def url(self, name, user="postgres"):
        return f"{self.server.url(name, user)}&port={PORT}"


@contextmanager
def bouncer(program, server, mode="transaction", **settings):
    """Runs one over a server until the end; no more than three connections serve all of its clients."""
    file = server.folder / "pgbouncer.ini"
    more = "\n".join(f"{name} = {value}" for name, value in settings.items())
    file.write_text(_SETTINGS.format(folder=server.folder, port=PORT, mode=mode, more=more), "utf-8")
    (server.folder / "users").write_text("".join(f'"{user}" ""\n' for user in ("postgres", SERVICE)), "utf-8")
    with (server.folder / "pgbouncer.log").open("ab") as log:
        process = subprocess.Popen([program, str(file)], stdin=subprocess.DEVNULL, stderr=log, cwd="/", **as_nobody())
    try:
        made = Bouncer(server)
        _wait_for(process, made.url("postgres"), server.folder / "pgbouncer.log")
        yield made
    finally:
        process.terminate()
        process.wait(timeout=CEILING)


def _wait_for(process, url, log):
    def answers():
        try:
            psycopg.connect(url, connect_timeout=round(CEILING)).close()
        except psycopg.OperationalError:
            assert process.poll() is None, log.read_text("utf-8")
            return False
        return True

    wait_until(answers, f"pgbouncer answers: {log}")
