"""Facts and statements by a language model: what it finds counts only where the user said it, word for word."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from lamina.knowledge.fact_words import CATEGORIES, TYPES, normalise_value
from lamina.models.llm.ask import InvalidAnswer, ask_for_list, gather
from lamina.models.llm.endpoint import Endpoint
from lamina.models.llm.json_answers import find_quote, items_in, moment_in, number_in, place_in, text_in, words_or_none
from lamina.models.llm.openai_api import BOOLEAN, INTEGER, TEXT, TEXT_OR_NULL, Reply, list_schema
from lamina.models.offline.offline_extractor import last_question
from lamina.protocols.models import FactDraft
from lamina.values.fact import FACT_TYPES
from lamina.values.message import Message

_MAX_CHARACTERS = 20_000  # of a message, as the offline extractor reads
_MAX_TOKENS = 4_000  # of messages in one question
_MAX_ANSWER_TOKENS = 3_000
_MAX_VALUE = 300
_MAX_KEY = 60
_SHORT_ANSWER = 12  # words of a message that may need the question that it answers
_CONFIDENCE, _IMPORTANCE = 0.9, 0.8  # of a fact of which the model does not say how sure and how important it is
_PROPERTIES = {  # in the order in which a model best decides them; few, for small models write each of them slowly
    "message": INTEGER, "quote": TEXT, "category": {**TEXT, "enum": list(CATEGORIES)}, "key": TEXT_OR_NULL,
    "value": TEXT, "about": TEXT_OR_NULL, "scope": TEXT_OR_NULL, "holds": BOOLEAN,
}  # fmt: skip


_SCHEMA = list_schema("facts", _PROPERTIES)
_CATEGORIES: Mapping[str, str] = {
    "biography": "identity", "personal": "identity", "profile": "identity", "fact": "identity",
    "like": "preference", "dislike": "preference", "rule": "instruction", "workflow": "procedure", "habit": "procedure",
    "limit": "constraint", "restriction": "constraint", "plan": "goal", "objective": "goal", "choice": "decision",
    "promise": "commitment", "obligation": "commitment", "appointment": "commitment", "person": "relation",
    "relationship": "relation", "family": "relation", "people": "relation", "medical": "health", "condition": "health",
    "allergy": "health", "experience": "event", "moment": "event", "project": "entity", "thing": "entity",
}  # fmt: skip
_KEYS: Mapping[str, str] = {  # as the offline extractor names them
    "city": "location", "residence": "location", "home": "location", "lives in": "location", "home city": "location",
    "current location": "location", "occupation": "job", "profession": "job", "job title": "job", "role": "job",
    "company": "employer", "workplace": "employer", "works at": "employer", "timezone": "time zone",
    "programming language": "language", "preferred language": "language", "language preference": "language",
    "date of birth": "birthday", "birth date": "birthday", "dietary restriction": "diet", "dietary preference": "diet",
    "dietary restrictions": "diet", "marital status": "relationship status", "os": "operating system",
    "first name": "name", "user name": "name", "mother tongue": "native language", "code style": "coding style",
}  # fmt: skip
_USER = frozenset(("user", "the user", "me", "i", "myself", "self", "speaker", "author", "they"))
_SECRET = re.compile(
    r"\b(?:pass ?(?:word|code|phrase)|pwd|pin(?: code| number)?|cvv|cvc|api[ -]?key|(?:access|secret|private) key"
    r"|credentials?|iban|ssn|social security|(?:account|card|passport) number|credit card|seed phrase|otp)s?\b",
    re.IGNORECASE,
)
_LONG_NUMBER = re.compile(r"(?:\d[ -]?){12,}")


class LlmFactExtractor:
    """Finds what users say of themselves and of others; a fact whose quote nobody said is dropped."""

    batch = 10  # messages that are read between two commits, and in one question

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.name = endpoint.model
        self.with_offline = endpoint.llm.with_offline

    async def extract(self, messages: Sequence[Message]) -> list[FactDraft]:
        spoken = [message for message in messages if message.role == "user" and message.text.strip()]
        asked = _questions(messages)
        found = await gather(self._ask(group, asked) for group in _groups(spoken))
        return [_with_question(draft, asked) for drafts in found for draft in drafts]

    async def _ask(self, messages: Sequence[Message], asked: Mapping[str, tuple[str, str]]) -> list[FactDraft]:
        numbered = dict(enumerate(messages, 1))
        return await ask_for_list(
            self.endpoint,
            "facts",
            _SCHEMA,
            _MAX_ANSWER_TOKENS,
            [_line(number, message, asked.get(message.id)) for number, message in numbered.items()],
            lambda reply: _drafts(reply, numbered),
            CATEGORIES=", ".join(CATEGORIES),
        )


def _line(number: int, message: Message, asked: tuple[str, str] | None) -> dict[str, Any]:
    who = {} if message.name is None else {"speaker": message.name}
    question = {} if asked is None else {"asked": asked[0]}
    day = message.created_at.date().isoformat()
    return {"message": number, "sent": day, **who, **question, "text": message.text[:_MAX_CHARACTERS]}


def _questions(messages: Sequence[Message]) -> dict[str, tuple[str, str]]:
    """For each short message of a user, what the assistant had asked just before, and the message that asked."""
    found: dict[str, tuple[str, str]] = {}
    for before, message in pairwise(messages):
        question = last_question(before.text) if before.role == "assistant" else None
        if question and message.role == "user" and len(message.text.split()) <= _SHORT_ANSWER:
            found[message.id] = (question, before.id)
    return found


def _with_question(draft: FactDraft, asked: Mapping[str, tuple[str, str]]) -> FactDraft:
    question, question_id = asked.get(draft.message_id, (None, None))
    return replace(draft, question=question, question_id=question_id)


def _groups(messages: Sequence[Message]) -> Iterator[list[Message]]:
    group: list[Message] = []
    tokens = 0
    for message in messages:
        if group and (len(group) >= LlmFactExtractor.batch or tokens + message.tokens > _MAX_TOKENS):
            yield group
            group, tokens = [], 0
        group.append(message)
        tokens += message.tokens
    if group:
        yield group


def _drafts(reply: Reply, numbered: Mapping[int, Message]) -> list[FactDraft]:
    items = items_in(reply, "facts")
    found: dict[tuple[object, ...], FactDraft] = {}
    for item in items:
        draft = _draft(item, numbered)
        if draft is not None:
            same = (draft.message_id, draft.category, draft.key, draft.holds, normalise_value(draft.value))
            if same not in found or found[same].confidence < draft.confidence:
                found[same] = draft
    drafts = list(found.values())
    if items and not drafts:
        problem = "none of its quotes is a piece of the message that it names"
        raise InvalidAnswer(problem, drafts)
    return drafts


def _draft(item: Mapping[str, Any], numbered: Mapping[int, Message]) -> FactDraft | None:
    """A fact that the user said; None if its category is unknown, it is a secret, or nobody said it."""
    category, key = category_of(text_in(item, "category")), key_of(words_or_none(item, "key"))
    number = place_in(item, list(numbered))
    if category is None or number is None:
        return None
    message = numbered[number]
    value = value_of(text_in(item, "value"))
    place = _place(item, value, message.text[:_MAX_CHARACTERS])
    quote = "" if place is None else message.text[place[0] : place[1]]
    value = quote if key is None and len(quote) <= _MAX_VALUE else value  # a statement is the words as they were said
    if place is None or not value or _SECRET.search(quote) or _is_secret(key, value):
        return None
    reason = words_or_none(item, "reason")
    return FactDraft(
        message_id=message.id,
        category=category,
        key=key,
        value=value,
        quote=quote,
        start=place[0],
        end=place[1],
        confidence=number_in(item, "confidence", _CONFIDENCE),
        importance=number_in(item, "importance", _IMPORTANCE if key else FACT_TYPES[TYPES[category]]),
        holds=item.get("holds") is not False,
        since=moment_in(item, "since"),
        until=moment_in(item, "until"),
        reason=reason if reason and find_quote(reason, message.text) else None,
        about=about_of(words_or_none(item, "about")),
        scope=words_or_none(item, "scope"),
    )


def _place(item: Mapping[str, Any], value: str, text: str) -> tuple[int, int] | None:
    """Where the quote of an item stands in its message; without a quote, its value."""
    quote = item.get("quote")
    return find_quote(quote if isinstance(quote, str) and quote.strip() else value, text)


def about_of(name: str | None) -> str | None:
    """The person that a fact is about; None if that is the user."""
    plain = " ".join((name or "").split()).removeprefix("my ").removeprefix("My ").removeprefix("the user's ")
    return None if plain.casefold() in _USER or not plain else plain[:_MAX_KEY]


def category_of(name: str) -> str | None:
    """One of our categories; others' names for them are understood."""
    plain = name.casefold().replace("_", " ").strip()
    for one in (plain, plain.removesuffix("s"), f"{plain.removesuffix('ies')}y"):
        if one in CATEGORIES:
            return one
        if one in _CATEGORIES:
            return _CATEGORIES[one]
    return None


def key_of(name: str | None) -> str | None:
    """A key as the offline extractor would name it."""
    if name is None:
        return None
    plain = " ".join(re.sub(r"[_\-.]+", " ", name).casefold().split())[:_MAX_KEY].strip()
    plain = plain.removeprefix("user ").removeprefix("preferred ") if plain not in _KEYS else plain
    return _KEYS.get(plain, plain) or None


def value_of(text: str) -> str:
    """A value without quotation marks around it and a full stop behind; '' if it is too long for one."""
    bare = text.rstrip(".,;:! \t\n").strip(" \"'\u201c\u201d\u2018\u2019").rstrip(".,;:! ")
    return bare if len(bare) <= _MAX_VALUE else ""


def _is_secret(key: str | None, value: str) -> bool:
    return bool(_SECRET.search(key or "") or _SECRET.search(value) or _LONG_NUMBER.search(value))
