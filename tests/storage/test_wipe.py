"""Old bytes in unused parts of a SQLite file: where SQLite leaves them, and that they go."""

import asyncio
import random
import sqlite3
import string
from contextlib import closing
from pathlib import Path

import pytest

from lamina.storage.sqlite.sqlite_connection import Connections
from lamina.storage.sqlite.sqlite_wipe import RawFile

SIZES = (1, 2, 10, 50, 200, 600)  # repetitions of a word: some rows fill a fraction of a page, some need several


def word(chance):
    return "Z" + "".join(chance.choices(string.ascii_lowercase, k=14))


def churned(connection, seed, rounds):
    """A table with rows put in at random places, changed and deleted: the words that are gone, and those there."""
    chance = random.Random(seed)
    connection.execute("create table notes (id text primary key, note text) without rowid")
    there: dict[str, str] = {}
    gone: set[str] = set()
    for _ in range(rounds):
        chosen = chance.random()
        if chosen < 0.7 or not there:
            name, said = word(chance), word(chance)
            connection.execute("insert into notes values (?, ?)", (name, f"{said} " * chance.choice(SIZES)))
            there[name] = said
            continue
        name = chance.choice(list(there))
        gone.add(there.pop(name))
        if chosen < 0.85:
            there[name] = word(chance)
            connection.execute(
                "update notes set note = ? where id = ?", (f"{there[name]} " * chance.choice(SIZES), name)
            )
        else:
            connection.execute("delete from notes where id = ?", (name,))
            gone.add(name)
    return gone, there


def left(path, words):
    files = b"".join(found.read_bytes() for found in Path(path).parent.iterdir())
    return [one for one in words if one.encode() in files]


@pytest.fixture
def connections(tmp_path):
    connections = Connections(tmp_path / "notes.db")
    connections._run(None, lambda connection: connection.execute("pragma journal_mode = wal"))
    yield connections
    connections.close()


def test_rows_that_moved_between_pages_leave_nothing(connections):
    """SQLite leaves copies of them that `secure_delete` does not reach. Other connections do not bring them back."""
    path = connections.path
    gone, there = connections._run("begin immediate", lambda connection: churned(connection, 7, 3_000))
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("pragma secure_delete = on")
        assert other.execute("select count(*) from notes where note <> ''").fetchone() == (len(there),)  # all at hand
        other.execute("pragma wal_checkpoint(truncate)")
        assert left(path, gone), "SQLite left nothing, so that this test says nothing"
        assert asyncio.run(connections.wipe())
        assert left(path, gone) == []
        other.execute("update notes set note = note || ' and more'")
        assert asyncio.run(connections.wipe())
        assert left(path, gone) == []
        assert len(left(path, there.values())) == len(there)
        assert other.execute("pragma integrity_check").fetchall() == [("ok",)]
    rest = connections._run(None, lambda connection: connection.execute("select id, note from notes").fetchall())
    assert {name: note.split(" ")[0] for name, note in rest} == there


def test_free_pages_and_blocks_are_overwritten(connections):
    """Also those of a program that deletes without `secure_delete`."""
    path = connections.path
    with closing(sqlite3.connect(path, isolation_level=None)) as careless:
        careless.execute("pragma secure_delete = off")
        gone, there = churned(careless, 3, 400)
        words = [*gone, *there, *there.values()]
        careless.execute("delete from notes")
        careless.execute("pragma wal_checkpoint(truncate)")
        assert len(left(path, words)) > len(words) / 2
        assert asyncio.run(connections.wipe())
        tails = left(path, words)  # of rows that were in overflow pages, one of which may be in use again
        assert len(tails) == 0
        assert careless.execute("pragma integrity_check").fetchall() == [("ok",)]


def test_a_page_that_makes_no_sense_is_left_alone(tmp_path):
    """As is a file with nothing in it."""
    path = tmp_path / "odd.db"
    path.write_bytes(b"")
    RawFile.begin(path)
    assert RawFile.of(path).pages_to_wipe() == []
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("create table notes (note text)")
        connection.execute("insert into notes values ('tea')")
    data = bytearray(path.read_bytes())
    data[4096 + 3 : 4096 + 7] = b"\xff\xff\xff\xff"  # more cells than a page holds
    path.write_bytes(data)
    RawFile.of(path).clean([2, 99])
    assert path.read_bytes() == data
    RawFile.end(path)


def test_the_file_of_a_closed_database_is_closed(tmp_path):
    """As soon as nobody in the process uses it; until then its locks would be lost."""
    first, second = (Connections(tmp_path / "notes.db") for _ in range(2))
    asyncio.run(first.wipe())
    asyncio.run(second.wipe())
    file = RawFile.of(tmp_path / "notes.db")
    first.close()
    first.close()
    assert RawFile.of(tmp_path / "notes.db") is file
    assert not file._file.closed
    second.close()
    assert file._file.closed
