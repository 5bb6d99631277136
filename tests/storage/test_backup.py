"""Backups of a file in use, and copies of it without its write-ahead log."""

import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from lamina import InputError, LaminaError, Memory
from tests.command_line import LAMINA, plain_environ
from tests.places import Place
from tests.waiting import wait_until

WRITER = """
import sys
from lamina import Memory
with Memory(sys.argv[1], worker=False) as memory:
    number = 0
    while True:
        number += 1
        memory.add(f"Ship {number} sails.", user_id="ann", session_id="s1")
        print(number, flush=True)
"""


@pytest.fixture
def writer(tmp_path):
    """A process that adds messages as fast as it can, until it is killed; its file, and how many it has added."""
    path = tmp_path / "chat.db"
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    yield path, process
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_backup_is_one_moment_while_others_write(writer, tmp_path):
    """It is whole, and has what was acknowledged before it began; then the writer is killed, and loses nothing."""
    path, process = writer
    for _ in range(30):
        known = int(process.stdout.readline())
    seen: list[tuple[int, int]] = []
    with Memory(path, worker=False) as memory:
        written = memory.backup(tmp_path / "backup.db", progress=lambda done, of: seen.append((done, of)))
    assert written.messages >= known
    assert written.size == (tmp_path / "backup.db").stat().st_size
    assert seen[-1][0] == seen[-1][1] > 0
    assert sorted(file.name for file in tmp_path.glob("*backup*")) == ["backup.db"]
    process.kill()
    process.wait()
    with Memory(tmp_path / "backup.db", worker=False) as memory:
        assert memory.verify().ok
        assert memory.session("s1").messages == written.messages
    with Memory(path, worker=False) as memory:
        assert memory.session("s1").messages >= written.messages


def test_a_file_that_is_there_stays(tmp_path):
    """Unless it is to be overwritten; nothing else is left behind, and errors say what would work."""
    with Memory(tmp_path / "chat.db", worker=False) as memory:
        memory.add("Hello.", user_id="ann", session_id="s1")
        (tmp_path / "old.db").write_text("old")
        for target, words in (
            ("old.db", "is there already; give another name, or overwrite it"),
            (".", "is a folder; give the path of a file"),
            ("chat.db", "is this memory; give another place"),
            ("none/a.db", "none/a.db cannot be made: there is no folder .*none; make it, or give another path"),
        ):
            with pytest.raises(InputError, match=words):
                memory.backup(tmp_path / target)
        for target in ("postgresql://localhost/lamina", "sqlite:///a.db"):
            with pytest.raises(InputError, match=r"a backup is a file, and .* is a database; `lamina copy` copies"):
                memory.backup(target)
        with pytest.raises(InputError, match="is this memory"):
            memory.backup(tmp_path / "chat.db", overwrite=True)
        assert (tmp_path / "old.db").read_text() == "old"
        assert memory.backup(tmp_path / "old.db", overwrite=True).messages == 1
    assert sorted(file.name for file in tmp_path.iterdir()) == ["chat.db", "old.db"]


def test_a_memory_in_the_process_can_be_kept(tmp_path):
    """A backup of `:memory:` is a file."""
    with Memory(":memory:", worker=False) as memory:
        memory.add("Hello.", user_id="ann", session_id="s1")
        memory.backup(tmp_path / "kept.db")
    with Memory(tmp_path / "kept.db", worker=False) as memory:
        assert memory.messages("s1")[0].text == "Hello."


@pytest.mark.also_postgres
def test_postgresql_is_told_how(place: Place, tmp_path):
    """The error has the command, without the password; a file is written."""
    location = place()
    with Memory(location, worker=False) as memory:
        memory.add("Hello.", user_id="ann", session_id="s1")
        if str(location).startswith("postgres"):
            with pytest.raises(InputError, match=r"pg_dump --format=custom --file=\S+ 'postgresql://[^:]*@?[^']*'"):
                memory.backup(tmp_path / "b.dump")
        else:
            assert memory.backup(tmp_path / "b.db").messages == 1


def test_a_postgresql_that_is_not_reached_is_named_with_the_command(tmp_path):
    """What is wrong, and what makes the backup once it runs again; without the password."""
    url = "postgresql://ann:secret@127.0.0.1:9/lamina"  # nobody listens there
    refused = subprocess.run(
        [LAMINA, "--db", url, "backup", "b.dump"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env=plain_environ(),
    )
    assert refused.returncode == 1
    assert "refused" in refused.stderr
    assert "pg_dump --format=custom --file=b.dump 'postgresql://ann@127.0.0.1:9/lamina'" in refused.stderr
    assert "secret" not in refused.stderr
    assert not (tmp_path / "b.dump").exists()


def test_an_empty_copy_without_the_log_is_refused(tmp_path):
    """All of a new memory is in the log at first: the file alone is no empty memory."""
    with Memory(tmp_path / "chat.db", worker=False) as memory:
        memory.add("Hello.", user_id="ann", session_id="s1")
        shutil.copy(tmp_path / "chat.db", tmp_path / "copy.db")
        for _ in range(2):  # it stays as it is
            with pytest.raises(LaminaError, match=r"in use, and is empty.*copy.db-wal.*lamina backup"):
                Memory(tmp_path / "copy.db", worker=False)
        shutil.copy(tmp_path / "chat.db", tmp_path / "both.db")
        shutil.copy(tmp_path / "chat.db-wal", tmp_path / "both.db-wal")
        with Memory(tmp_path / "both.db", worker=False) as both:
            assert both.session("s1").messages == 1


def test_a_copy_without_the_log_is_opened_with_a_warning(tmp_path):
    """What was written last may be missing; a closed memory, and a copy of both files, give none."""
    path = tmp_path / "chat.db"
    Memory(path, worker=False).close()
    with Memory(path, worker=False) as memory:
        memory.add([f"Ship {number} sails." for number in range(50)], user_id="ann", session_id="s1")
        shutil.copy(path, tmp_path / "copy.db")
        for end in ("", "-wal"):
            shutil.copy(f"{path}{end}", tmp_path / f"both.db{end}")
        Memory(path, worker=False).close()  # a second one beside it
    for name in ("chat.db", "both.db"):
        with Memory(tmp_path / name, worker=False) as whole:
            assert whole.session("s1").messages == 50
    with pytest.warns(UserWarning, match=r"copy.db was copied while a memory had it open.*lamina backup"):
        Memory(tmp_path / "copy.db", worker=False).close()
    Memory(tmp_path / "copy.db", worker=False).close()  # said once


def test_a_memory_that_others_open_and_close_is_no_copy(tmp_path):
    """Whoever opens it at that moment gets no warning."""
    path = tmp_path / "chat.db"
    Memory(path, worker=False).close()
    code = f"from lamina import Memory\nfor _ in range(40):\n    Memory({str(path)!r}, worker=False).close()"
    with subprocess.Popen([sys.executable, "-W", "error", "-c", code]) as other:
        while other.poll() is None:
            Memory(path, worker=False).close()
    assert other.returncode == 0


def test_a_killed_memory_is_opened_without_a_warning(writer):
    """Its log is still beside it, and nothing is missing."""
    path, process = writer
    for _ in range(3):
        process.stdout.readline()
    process.kill()
    process.wait()
    for _ in range(2):
        with Memory(path, worker=False) as memory:
            assert memory.session("s1").messages >= 3


def test_an_idle_worker_brings_the_log_into_the_file(tmp_path):
    """A copy of the file alone then has everything."""
    path = tmp_path / "chat.db"
    with Memory(path) as memory:
        memory.add("Hello.", user_id="ann", session_id="s1")

        def is_whole() -> bool:
            shutil.copy(path, tmp_path / "copy.db")
            return _messages(tmp_path / "copy.db") == 1

        wait_until(is_whole)


def test_a_closed_memory_is_one_file(tmp_path):
    """Nothing is beside it, and a copy has everything."""
    path = tmp_path / "chat.db"
    with Memory(path, worker=False) as memory:
        memory.add("Hello.", user_id="ann", session_id="s1")
    assert [file.name for file in tmp_path.iterdir()] == ["chat.db"]
    assert _messages(path) == 1


def _messages(path: Path) -> int:
    connection = sqlite3.connect(f"{path.as_uri()}?immutable=1", uri=True)
    try:
        return int(connection.execute("select count(*) from messages").fetchone()[0])
    except sqlite3.DatabaseError:
        return 0  # no table yet, or it was copied in the middle of a write
    finally:
        connection.close()
