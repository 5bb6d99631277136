"""Names of tables with their schema and prefix, and statements as psycopg takes them."""

import hashlib
import re
from dataclasses import dataclass
from functools import lru_cache

TABLES = (
    "sessions", "messages", "summaries", "message_words", "summary_words", "facts", "milestones", "episodes", "links",
    "forgotten", "proposals", "receipts", "appends", "settings", "changes", "vectors", "embedded",
    "workers", "tenants", "api_keys", "costs",
)  # fmt: skip

_TABLE = "|".join(TABLES)
_MARK = re.compile(
    rf"'(?:[^']|'')*'|%|\?|(?<![:\w]):(?P<name>[a-z]\w*)"
    rf"|(?P<before>\b(?:from|join|into|update) )(?P<table>(?:{_TABLE})\b)|\b(?P<owner>(?:{_TABLE})\.)(?=\w)"
)


@lru_cache(maxsize=1024)
def adapt(sql: str, prefix: str = "") -> bytes:
    """A statement with psycopg's marks for values, and with the prefix of its tables."""

    def replace(found: re.Match[str]) -> str:
        if found["name"]:
            return f"%({found['name']})s"
        if table := found["table"] or found["owner"]:
            return f"{found['before'] or ''}{prefix}{table}"
        return "%s" if found[0] == "?" else found[0].replace("%", "%%")

    return _MARK.sub(replace, sql).encode()


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

    def fill(self, script: str) -> str:
        """A script with its names in place of the marks that the first migration explains."""
        script = re.sub(r"@@schema\b", f'"{self.schema}"', script)
        script = re.sub(r"@(\w+)", lambda mark: self.table(mark[1]), script)
        script = re.sub(r"#(\w+)", rf'"{self.prefix}\1"', script)
        return re.sub(r"\^(\w+)", rf"{self.prefix}\1", script)

    def lock(self, *what: str) -> int:
        """A number for a lock that stands for this; two things may share one, which only makes them wait."""
        name = "\0".join((self.schema, self.prefix, *what)).encode()
        return int.from_bytes(hashlib.sha256(name).digest()[:8], "big", signed=True)
