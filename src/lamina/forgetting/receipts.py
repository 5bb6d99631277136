"""Receipts of what was forgotten: chained by hashes, with ids that do not tell whose they were."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from datetime import datetime

from lamina.knowledge.fact_words import mark
from lamina.protocols.store import Erased, Erasure, ReceiptRow
from lamina.values.fact import Fact
from lamina.values.receipt import Receipt, Scrub

FIRST_RECEIPT = hashlib.sha256(b"lamina receipts").hexdigest()


def names(item: str, user_id: str) -> bool:
    """Whether an id has the user's id in it, as a word of its own."""
    return re.search(rf"(?<![^\W_]){re.escape(user_id)}(?![^\W_])", item) is not None


def anonymise(item: str, user_id: str, salt: str) -> str:
    """An id as it may stay when the user is forgotten: hashed if it tells who that was."""
    return hash_id(item, salt) if names(item, user_id) else item


def hash_id(item: str, salt: str) -> str:
    """An id that was erased, so that who knows it can check that it was."""
    return hashlib.sha256(f"{salt}\0{item}".encode()).hexdigest()[:32]


def build_receipt(erasure: Erasure, erased: Erased) -> Receipt:
    """What an erasure took, not signed yet. No id in it tells whose it was, should the user be forgotten, too."""

    def hidden(ids: tuple[str, ...]) -> tuple[str, ...]:
        if erasure.user or erasure.sessions:
            return tuple(hash_id(item, erasure.receipt_id) for item in ids)
        return tuple(anonymise(item, erasure.user_id, erasure.receipt_id) for item in ids)

    return Receipt(
        id=erasure.receipt_id,
        at=erasure.at,
        target=erasure.target,
        dry_run=erasure.dry_run,
        messages=hidden(erased.messages),
        redacted=hidden(erased.redacted),
        sessions=hidden(erased.sessions),
        summaries=erased.summaries,
        digests=erased.digests,
        facts=erased.facts,
        episodes=erased.episodes,
        milestones=erased.milestones,
        titles=erased.titles,
        values_blocked=erased.values_blocked,
        rewritten=(),
        mentions_left=(),
        scrubbed=False,
        previous="",
        digest="",
    )


def marks_to_block(erasure: Erasure, gone: Iterable[Fact]) -> list[bytes]:
    """Marks of the values that are not to be extracted again: those of facts that were to go, if the user stays."""
    if erasure.user or erasure.secret is None:
        return []
    return [mark(erasure.secret, fact) for fact in gone if fact.id in erasure.facts]


def sign(receipt: Receipt, previous: str) -> Receipt:
    return replace(receipt, previous=previous, digest=chain_hash(previous, receipt_record(receipt)))


def receipt_record(receipt: Receipt) -> str:
    """What is signed: what was erased, and when."""
    values = asdict(receipt)
    for name in ("previous", "digest", "rewritten", "scrub", "scrubbed", "mentions_left", "dry_run", "nothing"):
        del values[name]
    values["at"] = receipt.at.isoformat()
    return json.dumps(values, sort_keys=True, ensure_ascii=False)


def scrub_state(setting: str | None, clean: Scrub) -> Scrub:
    """How far a store is with old bytes, by its setting `scrub`; it has none once it is as clean as it gets."""
    return clean if setting is None else "vacuumed" if setting == "vacuumed" else "dead"


def with_scrub(receipt: Receipt, scrub: Scrub) -> Receipt:
    """A receipt that says what was done with the old bytes."""
    return replace(receipt, scrub=scrub, scrubbed=scrub in {"rewritten", "overwritten"})


def receipt_row(receipt: Receipt) -> ReceiptRow:
    return ReceiptRow(receipt.id, receipt.at, receipt_record(receipt), receipt.previous, receipt.digest)


def receipt_of(row: ReceiptRow) -> Receipt:
    values = json.loads(row.record)
    lists = {name: tuple(item) for name, item in values.items() if isinstance(item, list)}
    return Receipt(
        **{**values, **lists, "at": datetime.fromisoformat(values["at"])},
        dry_run=False,
        rewritten=(),
        mentions_left=(),
        scrubbed=False,
        previous=row.previous,
        digest=row.digest,
    )


def chain_hash(previous: str, record: str) -> str:
    return hashlib.sha256(f"{previous}\0{record}".encode()).hexdigest()


def broken_receipts(rows: Sequence[ReceiptRow]) -> Iterator[str]:
    """Ids of receipts that do not follow from the one before, or were changed."""
    previous = FIRST_RECEIPT
    for row in rows:
        if row.previous != previous or row.digest != chain_hash(row.previous, row.record):
            yield row.id
        previous = row.digest
