"""What of an export may be restored as it was, and what was forgotten here and must not."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from lamina.forgetting.receipts import hash_id
from lamina.log.erased import is_dropped
from lamina.maintenance.integrity import faults
from lamina.values.fact import Fact
from lamina.values.message import Message
from lamina.values.receipt import Receipt
from lamina.values.summary import Summary


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    """The whole sessions of one receipt, and their messages, all as hashes salted with its id."""

    receipt_id: str
    sessions: frozenset[str]
    messages: frozenset[str]

    def has_session(self, session_id: str) -> bool:
        return hash_id(session_id, self.receipt_id) in self.sessions

    def has_message(self, message_id: object) -> bool:
        return isinstance(message_id, str) and hash_id(message_id, self.receipt_id) in self.messages


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """What was forgotten in this memory, as far as receipts say."""

    ids: frozenset[str]  # of facts, episodes and summaries
    erased: tuple[Erased, ...]

    def of_session(self, session_id: str) -> tuple[Erased, ...]:
        """The erasures of a whole session; a new one may have its id now, with other messages."""
        return tuple(one for one in self.erased if one.has_session(session_id))


def read_receipts(receipts: Iterable[Receipt]) -> Forgotten:
    """What was forgotten, from the receipts of it."""
    known = list(receipts)
    return Forgotten(
        ids=frozenset(one for receipt in known for one in (*receipt.facts, *receipt.episodes, *receipt.summaries)),
        erased=tuple(
            Erased(receipt_id=receipt.id, sessions=frozenset(receipt.sessions), messages=frozenset(receipt.messages))
            for receipt in known
            if receipt.sessions
        ),
    )


def flaw(summaries: Sequence[Summary], cursor: int, messages: int) -> str | None:
    """Why a session's summaries cannot be restored: they must cover its first messages and have their inputs."""
    known = {summary.id for summary in summaries}
    if len(known) < len(summaries):
        return "two summaries have one id"
    if not 0 <= cursor <= messages:
        return f"messages 1 to {cursor} are marked as covered, there are {messages}"
    for summary in summaries:
        covers = summary.covers
        if covers is None or summary.kind == "digest" or not 1 <= covers.first <= covers.last <= messages:
            return "a summary covers no messages of its session"
        if not known.issuperset(summary.inputs) or (summary.status == "folded" and summary.folded_into not in known):
            return "a summary was made from one that is missing"
        if summary.reads is None and not summary.inputs:
            return "a summary was made from nothing"
    live = [summary.covers for summary in summaries if summary.status == "live" and summary.covers is not None]
    return next(faults(live, cursor), None)


def is_said_in(fact: Fact, message: Message | None) -> bool:
    """Whether a message has the words that a fact quotes, or had them before a retention rule dropped them."""
    if message is None or message.session_id != fact.session_id or not fact.quote:
        return False
    return is_dropped(message) or message.text[fact.start : fact.end] == fact.quote


def with_question_of(fact: Fact, message: Message | None) -> Fact:
    """A fact with the question that it answers, if a message of its session still asks it."""
    here = message is not None and message.session_id == fact.session_id
    if here and message is not None and (is_dropped(message) or (fact.question or "") in message.text):
        return fact
    return replace(fact, question=None, question_id=None)
