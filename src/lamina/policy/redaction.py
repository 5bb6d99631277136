"""Forgetting, decided: which messages are meant, what is left of them, and receipts that tell nothing of it."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

from lamina.policy import matching
from lamina.policy.facts import said
from lamina.policy.messages import text_of
from lamina.ports import ReceiptRow, Rewrite
from lamina.types import Fact, Json, Message, Receipt

FORGOTTEN = "[forgotten]"
DROPPED = "[dropped]"  # by a retention rule: what was derived from it stays
# Names of fields that chat messages have, whatever they say.
_FORMAT = frozenset(
    ("role", "content", "name", "type", "text", "refusal", "image_url", "url", "detail", "input_audio", "data",
     "format", "file", "file_id", "file_data", "filename", "tool_calls", "tool_call_id", "id", "index", "function",
     "arguments", "function_call", "audio", "annotations", "input_text", "input_image", "input_file")
)  # fmt: skip
FIRST_RECEIPT = hashlib.sha256(b"lamina receipts").hexdigest()


def strings(value: Any) -> Iterator[str]:
    """Every text and number in a value as text, names of fields too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield json.dumps(value)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from strings(key)
            yield from strings(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from strings(item)


def has(value: Any, wanted: str) -> bool:
    """Whether some text in a value has the wanted words, however they are written."""
    needle = matching.needle(wanted)
    return any(matching.is_in(needle, text) for text in strings(value))


def message_has(message: Message, wanted: str) -> bool:
    return _message_has(message.body, message.metadata, wanted) or has(message.model, wanted)


def _message_has(body: Json, metadata: Json, wanted: str) -> bool:
    """Whether a message has the words: as it is shown, in its parts, or in parts that were said in one breath."""
    parts = body.get("content")
    run_on = "".join(map(_part, parts)) if isinstance(parts, list | tuple) else ""
    return has((text_of(body), run_on, _said(body), metadata), wanted)


def _part(part: Any) -> str:
    return part if isinstance(part, str) else str(part.get("text") or "") if isinstance(part, Mapping) else ""


def _said(value: Any) -> Any:
    """What a message's body says: without its role, and without the names that the format gives to fields and parts."""
    if isinstance(value, Mapping):
        own = [item for name, item in value.items() if name not in {"role", "type"}]
        return [name for name in value if name not in _FORMAT] + [_said(item) for item in own]
    return [_said(item) for item in value] if isinstance(value, list | tuple) else value


def fact_words(fact: Fact) -> tuple[Any, ...]:
    """Everything that a fact tells."""
    return said(fact), fact.value, fact.key, fact.slot, fact.quote, fact.reason, fact.category, fact.tags


def emptied(message: Message, placeholder: str) -> dict[str, Any]:
    """The body of a message of which nothing is left but its place: tool calls and results still find each other."""
    body: dict[str, Any] = {"role": message.role, "content": placeholder}
    calls = message.body.get("tool_calls")
    if calls and message.calls:
        body["tool_calls"] = [_bare_call(call) for call in calls]
    if message.answers is not None:
        body["tool_call_id"] = message.answers
    return body


def _bare_call(call: Json) -> dict[str, Any]:
    function = call.get("function")
    name = function.get("name") if isinstance(function, Mapping) else None
    return {"id": call.get("id"), "type": "function", "function": {"name": name or "forgotten", "arguments": "{}"}}


def is_dropped(message: Message) -> bool:
    return message.body.get("content") == DROPPED


def is_emptied(message: Message) -> bool:
    """Whether nothing but a placeholder is left of a message, here or where it was imported from."""
    return message.body.get("content") in (DROPPED, FORGOTTEN)


def says_something(message: Message) -> bool:
    """Whether there are words in it that are its own."""
    return bool(message.text.strip()) and not is_emptied(message)


def without(message: Message, pieces: Sequence[str]) -> tuple[Json, Json] | None:
    """Body and metadata with each piece taken out; None if that cannot be done without taking all."""
    body, metadata = _replaced(message.body, pieces), _replaced(message.metadata, pieces)
    left = "\n".join((text_of(body), *strings(body), *strings(metadata)))
    if any(piece in left for piece in pieces) or body.get("role") != message.role:
        return None
    return body, metadata


def _replaced(value: Any, pieces: Sequence[str]) -> Any:
    if isinstance(value, str):
        for piece in pieces:
            value = value.replace(piece, FORGOTTEN)
        return value
    if isinstance(value, Mapping):
        return {_replaced(key, pieces): _replaced(item, pieces) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_replaced(item, pieces) for item in value]
    return value


def rewrite(message: Message, body: Json, metadata: Json, *, tokens: int, salt: bytes, whole: bool) -> Rewrite:
    """A message with another body in its place, if it still says what it says now."""
    return Rewrite(
        session_id=message.session_id,
        seq=message.seq,
        message_id=message.id,
        expect=bytes.fromhex(message.leaf),
        body=json.dumps(body, ensure_ascii=False, separators=(",", ":")),
        metadata=json.dumps(metadata, ensure_ascii=False, separators=(",", ":")),
        tokens=tokens,
        salt=salt,
        whole=whole,
    )


# receipts


def hashed(item: str, salt: str) -> str:
    """An id that was erased, so that who knows it can check that it was."""
    return hashlib.sha256(f"{salt}\0{item}".encode()).hexdigest()[:32]


def signed(receipt: Receipt, previous: str) -> Receipt:
    return replace(receipt, previous=previous, digest=chained(previous, receipt_record(receipt)))


def receipt_record(receipt: Receipt) -> str:
    """What is signed: what was erased, and when."""
    values = asdict(receipt)
    for name in ("previous", "digest", "rewritten", "scrubbed", "mentions_left", "rehearsal"):
        del values[name]
    values["at"] = receipt.at.isoformat()
    return json.dumps(values, sort_keys=True, ensure_ascii=False)


def receipt_row(receipt: Receipt) -> ReceiptRow:
    return ReceiptRow(receipt.id, receipt.at, receipt_record(receipt), receipt.previous, receipt.digest)


def receipt_of(row: ReceiptRow) -> Receipt:
    values = json.loads(row.record)
    lists = {name: tuple(item) for name, item in values.items() if isinstance(item, list)}
    return Receipt(
        **{**values, **lists, "at": datetime.fromisoformat(values["at"])},
        rehearsal=False,
        rewritten=(),
        mentions_left=(),
        scrubbed=True,
        previous=row.previous,
        digest=row.digest,
    )


def chained(previous: str, record: str) -> str:
    return hashlib.sha256(f"{previous}\0{record}".encode()).hexdigest()


def broken_receipts(rows: Sequence[ReceiptRow]) -> Iterator[str]:
    """Ids of receipts that do not follow from the one before, or were changed."""
    previous = FIRST_RECEIPT
    for row in rows:
        if row.previous != previous or row.digest != chained(row.previous, row.record):
            yield row.id
        previous = row.digest
