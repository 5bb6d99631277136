"""The word index of the SQLite store: what goes into it, and whether it is whole."""

import hashlib
import sqlite3

from lamina.policy.words import terms
from lamina.ports import MessageRow
from lamina.storage.shared import whole_messages
from lamina.types import Problem


def owner_token(tenant: str, user_id: str) -> str:
    """One word that stands for a tenant's user in the word index."""
    return "o" + hashlib.sha256(f"{tenant}\0{user_id}".encode()).hexdigest()[:20]


def indexed(text: str) -> str:
    """The terms of a text as the word index keeps them."""
    found = " ".join(terms(text))
    return found if found.isascii() and "'" not in found else " ".join(map(token, found.split(" ")))


def token(term: str) -> str:
    """A term as one token, whatever SQLite takes for letters; the first letter keeps it apart from plain terms."""
    return term if term.isascii() and term.isalnum() else "\u00f8" + term.encode().hex()


def has_words(connection: sqlite3.Connection, place: int, owner: str, text: str) -> bool:
    """Whether the word index has this message, with its owner and (a sample of) its words."""
    found = terms(text)
    sample = dict.fromkeys([*found[:1], *found[len(found) // 2 : len(found) // 2 + 1], *found[-1:]])
    match = " AND ".join([f"owner : {owner}", *(f'body : "{token(term)}"' for term in sample)])
    sql = (
        "select 1 from message_words where message_words match ? and rowid = ?"
        " and exists (select 1 from message_words_docsize where id = ?)"
    )
    try:
        return connection.execute(sql, (match, place, place)).fetchone() is not None
    except sqlite3.DatabaseError:  # the index itself is damaged
        return False


def words_of(row: MessageRow) -> str:
    for message in whole_messages([row]):
        return message.text
    return ""


def word_index_problems(connection: sqlite3.Connection) -> list[Problem]:
    problems = []
    for table in ("message_words", "summary_words"):
        try:
            connection.execute(f"insert into {table} ({table}) values ('integrity-check')")
        except sqlite3.DatabaseError as error:
            problems.append(Problem(kind="index", where=table, text=str(error), derived=True))
    return problems
