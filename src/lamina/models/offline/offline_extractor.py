"""Reads users' messages without a language model: keyed facts by a grammar, and statements by a small trained model."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from lamina.language.sentences import sentences
from lamina.models.offline.fact_extraction.fact_extractor import read_message
from lamina.models.offline.fact_extraction.grammar import markers
from lamina.models.offline.fact_extraction.phrase_book import phrase_books
from lamina.models.offline.statement_extraction.statements import Question, read_tables, statements_in
from lamina.parts import load_beside_loop
from lamina.protocols.models import FactDraft
from lamina.values.message import Message

_QUESTION_MARKS = ("?", "\uff1f", "؟")
_MAX_QUESTION = 300  # characters


class OfflineExtractor:
    """Extracts what is worth remembering of what users say."""

    name = "offline-2"
    loaded = False

    def load(self) -> None:
        """Read the grammars and the weights."""
        markers()
        phrase_books()
        read_tables()
        self.loaded = True

    async def extract(self, messages: Sequence[Message]) -> Sequence[FactDraft]:
        await load_beside_loop(self)
        return list(_drafts(messages))


def _drafts(messages: Sequence[Message]) -> Iterator[FactDraft]:
    before: Message | None = None
    for message in messages:
        if message.role == "user":
            yield from drafts_in(message, before)
        before = message


def drafts_in(message: Message, before: Message | None = None) -> list[FactDraft]:
    """The facts and then the statements of one message; `before` is the message before it.

    A statement that says all that a fact without a key does takes its place, and its category.
    """
    reading = read_message(message)
    asked = last_question(before.text) if before is not None and before.role == "assistant" else None
    question = Question(text=asked, message_id=before.id) if asked and before is not None else None
    statements = statements_in(message, reading.own, reading.facts, question)
    inside = {fact: one for fact in reading.facts for one in statements if _says_more(one, fact)}
    typed = {one: replace(one, category=fact.category, importance=fact.importance) for fact, one in inside.items()}
    facts = [fact for fact in reading.facts if fact not in inside]
    return [*facts, *(replace(typed.get(one, one), about=reading.subjects.get(one.start)) for one in statements)]


def _says_more(statement: FactDraft, fact: FactDraft) -> bool:
    """Whether a statement has all the words of a fact without a key, and more: one of them is enough."""
    inside = statement.start <= fact.start and fact.end <= statement.end
    return fact.key is None and inside and fact.holds and statement.confidence >= fact.confidence


def last_question(text: str) -> str | None:
    """The question that a text ends with."""
    if not text.rstrip().endswith(_QUESTION_MARKS):
        return None
    last = sentences(text[-2 * _MAX_QUESTION :])[-1].text
    return last if len(last) <= _MAX_QUESTION else None
