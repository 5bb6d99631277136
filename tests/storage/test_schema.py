"""The schema that a database really has after all migrations is the one that is written down beside this file.

A change of a migration shows here, in words that can be read. After a change that was meant, write them anew with
`WRITE_SCHEMAS=1 .venv/bin/python -m pytest tests/storage/test_schema.py`, read the difference, and commit it.
"""

import asyncio
import os
import sqlite3
from contextlib import closing
from difflib import unified_diff
from pathlib import Path

import pytest

from lamina.storage import migrations
from lamina.storage.migrations import steps
from lamina.storage.postgres import postgres_migrations
from lamina.storage.sqlite.sqlite_store import SqliteStore
from tests.places import opened_and_closed

FOLDER = Path(__file__).parent
HOW = "WRITE_SCHEMAS=1 .venv/bin/python -m pytest tests/storage/test_schema.py"

COLUMNS = """
select c.relname, concat_ws(' ', quote_ident(a.attname), format_type(a.atttypid, a.atttypmod),
  (select 'collate ' || quote_ident(o.collname) from pg_collation o
    where o.oid = a.attcollation and o.collname <> 'default'),
  case when a.attnotnull then 'not null' end,
  case a.attgenerated when '' then 'default ' else 'generated ' end || pg_get_expr(d.adbin, d.adrelid),
  case when coalesce(a.attstattarget, -1) >= 0 then 'statistics ' || a.attstattarget end)
from pg_attribute a join pg_class c on c.oid = a.attrelid
  left join pg_attrdef d on (d.adrelid, d.adnum) = (a.attrelid, a.attnum)
where c.relnamespace = %(schema)s::text::regnamespace and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped
order by c.relname, a.attnum
"""
PARTS = """
select conrelid::regclass::text, pg_get_constraintdef(oid) from pg_constraint
where connamespace = %(schema)s::text::regnamespace and contype <> 'n'  -- newer servers tell of `not null` there, too
union all
select tablename, indexdef from pg_indexes where schemaname = %(schema)s::text
union all
select tablename, concat_ws(' ', 'policy', policyname, permissive, 'for', cmd, 'to', array_to_string(roles, ','),
  'using ' || qual, 'check ' || with_check) from pg_policies where schemaname = %(schema)s::text
union all
select tgrelid::regclass::text, pg_get_triggerdef(t.oid) from pg_trigger t join pg_class c on c.oid = tgrelid
where relnamespace = %(schema)s::text::regnamespace and not tgisinternal
union all
select relname, 'row level security' || case when relforcerowsecurity then ', forced' else '' end
from pg_class where relnamespace = %(schema)s::text::regnamespace and relrowsecurity
"""
BESIDE = """
select concat_ws(' ', 'sequence', sequencename, data_type, start_value, increment_by, max_value)
from pg_sequences where schemaname = %(schema)s::text
union all
select concat_ws(' ', 'function', proname, 'returns', prorettype::regtype,
  regexp_replace(btrim(prosrc, E'\\n '), '\\s+', ' ', 'g'))
from pg_proc where pronamespace = %(schema)s::text::regnamespace
union all
select concat_ws(' ', 'view', relname, array_to_string(reloptions, ','), '(' || (
  select string_agg(quote_ident(attname) || ' ' || format_type(atttypid, atttypmod), ', ' order by attnum)
  from pg_attribute where attrelid = c.oid and attnum > 0) || ')')
from pg_class c where relnamespace = %(schema)s::text::regnamespace and relkind = 'v'
"""
SQLITE = """
select type, name, sql from sqlite_schema where sql is not null and not (type = 'table' and name glob '*_words_*')
order by type in ('trigger', 'view'), tbl_name, type <> 'table', name
"""


def postgres_schema(database, schema):
    """What the catalogue says, as lines."""

    def found(sql):
        rows = database.run(sql, {"schema": schema})
        return [[str(value).replace(f'"{schema}".', "").replace(f"{schema}.", "") for value in row] for row in rows]

    lines = sorted(line for (line,) in found(BESIDE))
    columns, parts = found(COLUMNS), sorted(found(PARTS))
    for table in sorted({table for table, _ in columns}):
        lines += ["", f"table {table}"]
        lines += [f"  {line}" for rows in (columns, parts) for name, line in rows if name.strip('"') == table]
    return lines


def sqlite_schema(path):
    """The same of a file: each column alone, then the statements as SQLite keeps them."""
    lines = []
    with closing(sqlite3.connect(path)) as connection:
        for kind, name, sql in connection.execute(SQLITE).fetchall():
            if kind == "table":
                lines += ["", f"table {name}"]
                lines += [column(*row) for row in connection.execute(f"pragma table_info({name})")]
            lines.append(("" if kind in {"trigger", "view"} else "  ") + " ".join(sql.split()))
    return lines


def column(_, name, shape, needed, default, key):
    told = ("not null" if needed else "", "" if default is None else f"default {default}", f"key {key}" if key else "")
    return "  " + " ".join(filter(None, (name, shape.lower(), *told)))


def check(name, lines):
    """Compare with what is written down, or write it down."""
    path, text = FOLDER / name, "\n".join(lines).strip() + "\n"
    if os.environ.get("WRITE_SCHEMAS"):
        path.write_text(text, "utf-8")
    written = path.read_text("utf-8")
    found = "".join(
        unified_diff(written.splitlines(True), text.splitlines(True), f"written in {name}", "in the database")
    )
    assert not found, f"the schema is not the one in tests/storage/{name}; if that was meant, run\n  {HOW}\n\n{found}"


def until(monkeypatch, module, number):
    """Have a store know the migrations up to a number only."""
    monkeypatch.setattr(module, "steps", lambda dialect: [step for step in steps(dialect) if step[0] <= number])


def test_a_file_has_the_schema_that_is_written_down(tmp_path):
    path = tmp_path / "new.db"
    asyncio.run(opened_and_closed(SqliteStore(path)))
    check("schema_sqlite.txt", sqlite_schema(path))


@pytest.mark.parametrize("number", [step[0] for step in steps("sqlite")[:-1]])
def test_a_file_of_every_version_comes_to_the_same_schema(tmp_path, monkeypatch, number):
    path = tmp_path / "old.db"
    with monkeypatch.context() as patched:
        until(patched, migrations, number)
        asyncio.run(opened_and_closed(SqliteStore(path)))
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("pragma user_version").fetchone() == (number,)
    asyncio.run(opened_and_closed(SqliteStore(path)))
    assert "\n".join(sqlite_schema(path)).strip() + "\n" == (FOLDER / "schema_sqlite.txt").read_text("utf-8")


def test_a_database_has_the_schema_that_is_written_down_whichever_version_it_came_from(new_database, monkeypatch):
    """One database with a schema for each version that there was."""
    database = new_database(schema="written")
    check("schema_postgres.txt", postgres_schema(database, "written"))
    for number, *_ in steps("postgres")[:-1]:
        name = f"since{number}"
        with monkeypatch.context() as patched:
            until(patched, postgres_migrations, number)
            asyncio.run(opened_and_closed(database.store(schema=name)))
        ((version,),) = database.run(f"select max(version) from {name}.schema_versions")
        assert version == number
        asyncio.run(opened_and_closed(database.store(schema=name)))
        assert postgres_schema(database, name) == postgres_schema(database, "written")
