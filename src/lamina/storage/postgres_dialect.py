"""The common SQL in PostgreSQL's words, and names of tables with their schema and prefix."""

import hashlib
import re
from dataclasses import dataclass
from functools import lru_cache

TABLES = (
    "sessions", "messages", "summaries", "message_words", "summary_words", "facts", "milestones", "episodes", "links",
    "forgotten", "proposals", "receipts", "appends", "settings", "changes", "vectors", "embedded",
    "workers", "tenants", "api_keys", "costs",
)  # fmt: skip

_REWRITES = tuple(
    (re.compile(pattern), new)
    for pattern, new in (
        (r"%", "%%"),
        (r"\bnot in \(select value from json_each\((\?|:\w+)\)\)", r"<> all(\1)"),
        (r"\bin \(select value from json_each\((\?|:\w+)\)\)", r"= any(\1)"),
        (
            r"json_each\(case when json_valid\(result\) then result else '\{\}' end, '\$\.ids'\) as told",
            "jsonb_array_elements_text(result -> 'ids') as told(value)",
        ),
        # a key of a record is never inside of one of its texts, where every quotation mark has a backslash before it
        (
            r"json_extract\(case when json_valid\(record\) then record end, '\$\.(?:\w+\.)*(\w+)'\)",
            r"""substring(record from '[{,]"\1":"{0,1}([^",}]+)')""",
        ),
        # the day of a time in UTC; null if it is none
        (
            r"\bdate\((\w+)\)",
            (
                r"case when \1 ~ '^[0-9-]{10}T[0-9:.]+[+-][0-9:]+$'"
                r" then to_char(cast(\1 as timestamptz) at time zone 'utc', 'YYYY-MM-DD') end"
            ),
        ),
        (r"\binstr\(", "strpos("),
        # hints for SQLite's planner
        (r" indexed by \w+", ""),
        (r"(\band|\bby) \+id\b", r"\1 id"),
        # long texts are looked up by their hash
        (r"\b(\w+\.)?slot = :slot\b", r"\1slot_hash = md5(cast(:slot as text)) and \1slot = :slot"),
        (r"(?<![:\w]):([a-z]\w*)", r"%(\1)s"),
        (r"\?", "%s"),
    )
)
_TABLE = "|".join(TABLES)
_AFTER_KEYWORD = re.compile(rf"\b(from|join|into|update) ({_TABLE})\b")
_QUALIFIER = re.compile(rf"\b({_TABLE})\.(?=\w)")


@lru_cache(maxsize=1024)
def translated(sql: str, prefix: str = "") -> str:
    """SQL as psycopg wants it."""
    for pattern, new in _REWRITES:
        sql = pattern.sub(new, sql)
    if prefix:
        sql = _AFTER_KEYWORD.sub(rf"\1 {prefix}\2", sql)
        sql = _QUALIFIER.sub(rf"{prefix}\1.", sql)
    return sql


@dataclass(frozen=True, slots=True)
class Names:
    """Names in one schema, with one prefix; both are checked identifiers."""

    schema: str
    prefix: str

    def table(self, name: str) -> str:
        return f'"{self.schema}"."{self.prefix}{name}"'

    @property
    def channel(self) -> str:
        return f"{self.prefix}lamina_work"

    def filled(self, script: str) -> str:
        """A script with its names in place of the marks that the first migration explains."""
        script = re.sub(r"@@schema\b", f'"{self.schema}"', script)
        script = re.sub(r"@(\w+)", lambda mark: self.table(mark[1]), script)
        script = re.sub(r"#(\w+)", rf'"{self.prefix}\1"', script)
        return re.sub(r"\^(\w+)", rf"{self.prefix}\1", script)

    def lock(self, *what: str) -> int:
        """A number for a lock that stands for this; two things may share one, which only makes them wait."""
        told = "\0".join((self.schema, self.prefix, *what)).encode()
        return int.from_bytes(hashlib.sha256(told).digest()[:8], "big", signed=True)
