"""Numbered migrations, each a .sql file, applied in order when a store is opened."""

import re
import sqlite3
from importlib import resources
from pathlib import Path

from lamina.errors import NotALaminaFile, SchemaTooNew

APPLICATION_ID = 0x4C4D4E41  # "LMNA"


def steps(dialect: str) -> list[tuple[int, str, str]]:
    """The migrations of a dialect: number, name, SQL."""
    folder = resources.files("lamina.storage").joinpath(dialect, "migrations")
    files = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return [(int(name.split("_", 1)[0]), name, folder.joinpath(name).read_text("utf-8")) for name in files]


def inspect(connection: sqlite3.Connection, path: Path) -> int:
    """The schema of a SQLite file, 0 if it is new; refuses files that are not ours without touching them."""
    ours = connection.execute("pragma application_id").fetchone()[0]
    version = connection.execute("pragma user_version").fetchone()[0]
    tables = connection.execute("select count(*) from sqlite_schema").fetchone()[0]
    if ours != APPLICATION_ID and (tables or version):
        raise NotALaminaFile(
            f"{path} is a SQLite file of something else; give the path of a Lamina file or of a new one"
        )
    newest = steps("sqlite")[-1][0]
    if version > newest:
        raise SchemaTooNew(f"{path} has schema {version}, this Lamina knows up to {newest}: upgrade Lamina to open it")
    return int(version)


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Bring a SQLite file to this schema, inside the transaction that is open."""
    version = inspect(connection, path)
    for number, _name, sql in steps("sqlite"):
        if number > version:
            for statement in statements(sql):
                connection.execute(statement)
            connection.execute(f"pragma user_version = {number}")
    if version == 0:
        connection.execute(f"pragma application_id = {APPLICATION_ID}")


def statements(sql: str) -> list[str]:
    """The statements of a script; semicolons inside of ours are only those of triggers."""
    found, begun = [], ""
    for part in re.sub(r"--[^\n]*", "", sql).split(";"):
        begun += part
        if begun.strip() and sqlite3.complete_statement(begun + ";"):
            found.append(begun.strip())
            begun = ""
        elif begun.strip():
            begun += ";"
    return found
