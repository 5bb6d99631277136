"""Reads a statement about the user, in whichever person it is put."""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache

from lamina.language import date_words
from lamina.language.words import STOP_WORDS, stem, words
from lamina.models.offline.fact_extraction.fact_extractor import facts_in, language_hits, read_message
from lamina.models.offline.fact_extraction.grammar import Grammar, grammars
from lamina.models.offline.fact_extraction.third_person import Rewritten, begins_with_verb, rewrite, speaks_of_user
from lamina.models.offline.fact_extraction.tokens import fold
from lamina.protocols.models import FactDraft, Statement
from lamina.values.message import Message

_MAX_FRAGMENT = 10  # words
_THE = frozenset(("the", "this", "that", "my", "our", "your", "his", "her", "their", "new"))
_OF_FRAGMENTS = frozenset(("job", "employer", "age", "hometown", "birthplace", "birthday"))
_NAMES = frozenset(("name", "nickname"))
_LINE = re.compile(
    r"(?:the )?(?:user(?:'s)? )?(?P<label>[^\W\d_][\w' -]{1,38}?)\s*[:=]\s*(?P<value>\S[^\n]{0,159})", re.IGNORECASE
)
_LINE_CONFIDENCE, _LINE_IMPORTANCE = 0.85, 0.6
_MAX_LABEL = 3  # words
_FAVOURED = frozenset(("favourite", "favorite", "preferred"))
_PHONES, _NUMBER = frozenset(("phone", "mobile")), re.compile(r"[+\d][\d ()./-]{4,}")
_NO_TOPIC = frozenset(("note", "todo", "reminder", "warning", "next", "last", "new", "old"))
_SLOT = re.compile(r"\{[^}]*\}|<[^>]*>")
_LITERAL = re.compile(r"[^\W\d_]+")
_DATES = frozenset((*date_words.MONTHS, *date_words.WEEKDAYS, *date_words.UNITS, *date_words.WHICH, *date_words.AGO))


class OfflineStatementReader:
    """Reads a statement about the user as if the user had made it, with the grammars."""

    name = "offline-2"

    def read(self, text: str, names: Sequence[str], at: datetime) -> Statement:
        """The facts of a text that is told at a time; `names` are what the user is called."""
        found = _read(text, names, at)
        new = [draft.value for draft in found.drafts if draft.key in _NAMES and draft.holds]
        return _read(text, [*names, *new], at) if set(new) - set(names) else found

    def in_first_person(self, text: str, names: Sequence[str]) -> str:
        """The text as the user would say it."""
        return rewrite(text, _grammar(text).third_person, names).text

    def names_user(self, text: str, names: Sequence[str]) -> bool:
        """Whether the text speaks of the user by a name or as "the user"."""
        return speaks_of_user(text, _grammar(text).third_person, names)


def _read(text: str, names: Sequence[str], at: datetime) -> Statement:
    grammar = _grammar(text)
    rewritten = rewrite(text, grammar.third_person, names)
    drafts = _drafts(rewritten, text, grammar, at)
    if not drafts and (fragment := _fragment(text, grammar, at)) is not None:
        return fragment
    if not drafts and (line := _labelled(text, grammar)) is not None:
        return Statement(drafts=(line,), unread=frozenset())
    return Statement(drafts=drafts, unread=_unread(rewritten.text, drafts, grammar))


def _drafts(rewritten: Rewritten, text: str, grammar: Grammar, at: datetime) -> tuple[FactDraft, ...]:
    """The facts of a text that was rewritten, with their places in the text as it was told."""
    message = Message(
        id="", session_id="", seq=1, turn=1, role="user", body={}, created_at=at, metadata={}, model=None, tokens=0,
        text=rewritten.text, digest="",
    )  # fmt: skip
    drafts = []
    for draft in read_message(message).facts if grammar.fallback else facts_in(message, grammar):
        start, end = rewritten.place(draft.start), rewritten.place(draft.end, end=True)
        drafts.append(replace(draft, start=start, end=end, quote=text[start:end]))
    return tuple(drafts)


def _fragment(text: str, grammar: Grammar, at: datetime) -> Statement | None:
    """A few words without subject and verb, if they say who the user is: "Nurse at UZ Leuven", "34 years old"."""
    heads = fold(text).split()
    table = grammar.third_person
    if not 1 < len(heads) <= _MAX_FRAGMENT or heads[0] in _THE or table.known.union(table.verbs).intersection(heads):
        return None
    if speaks_of_user(text, table):
        return None
    for beginning in table.fragments:
        said = f"{beginning} {text[:1].lower()}{text[1:]}" if text[1:2].islower() else f"{beginning} {text}"
        moved = Rewritten(said, ((0, 0, False), (len(said) - len(text), 0, True)))
        drafts = _drafts(moved, text, grammar, at)
        if drafts and all(draft.key in _OF_FRAGMENTS for draft in drafts) and not _unread(said, drafts, grammar):
            return Statement(drafts=drafts, unread=frozenset())
    return None


def _labelled(text: str, grammar: Grammar) -> FactDraft | None:
    """A line such as "shoe size: 43" as a fact with this key, if the label names something that people have."""
    match = _LINE.fullmatch(text.strip().rstrip("."))
    if match is None or match["value"].endswith("?"):
        return None
    label, table = fold(match["label"]).split(), grammar.third_person
    named = table.topics if len(label) == 1 else table.kinds
    if len(label) > _MAX_LABEL or label[-1] not in named or _NO_TOPIC.intersection(label):
        return None
    is_favoured = label[0] in _FAVOURED
    key = " ".join(["favourite" if word == "favorite" else word for word in label])
    if key in _PHONES and not _NUMBER.fullmatch(match["value"]):
        key = "phone model"  # "phone" is its number
    return FactDraft(
        message_id="",
        category="preference" if is_favoured else "identity",
        key=key,
        value=match["value"].strip(),
        quote=text,
        start=0,
        end=len(text),
        confidence=_LINE_CONFIDENCE,
        importance=_LINE_IMPORTANCE,
    )


def _grammar(text: str) -> Grammar:
    """The grammar for a text about the user: one that knows how it names the user, or the verb before
    which it is left out, and most of its words.
    """
    named = [one for one in grammars() if speaks_of_user(text, one.third_person)]
    known = named or [one for one in grammars() if begins_with_verb(text, one.third_person)] or list(grammars())
    hits = language_hits(text, known)
    return max(zip(hits, known, strict=True), key=lambda pair: (pair[0], pair[1].fallback))[1]


def _unread(text: str, drafts: Sequence[FactDraft], grammar: Grammar) -> frozenset[str]:
    """The stems of words that tell something and are in no fact."""
    told = " ".join(f"{draft.category} {draft.key} {draft.value} {draft.reason} {draft.about}" for draft in drafts)
    read = {stem(word) for word in words(told)}
    dated = any(draft.since or draft.until for draft in drafts)
    slots = {(draft.category, draft.key) for draft in drafts}
    common = _common_words(grammar.language).union(*(_words_of_slot(grammar.language, *slot) for slot in slots))
    left = {
        stem(word)
        for word in words(text)
        if word not in STOP_WORDS and word not in common and not (dated and (word in _DATES or word[0].isdigit()))
    }
    return frozenset(left - read)


@cache
def _common_words(language: str) -> frozenset[str]:
    """Verbs and little words of a language, which say nothing beside a fact."""
    grammar = _grammar_of(language)
    table = grammar.third_person
    lists = (table.finite, table.known, table.states, table.adverbs, table.reports, grammar.evidence,
             grammar.clauses.verbs, grammar.clauses.fillers, grammar.clauses.subjects, grammar.trailing)  # fmt: skip
    forms = (table.verbs.values(), (word for phrase in table.phrases for word in phrase), table.labels)
    return frozenset().union(*lists, *forms)


@cache
def _words_of_slot(language: str, category: str, key: str | None) -> frozenset[str]:
    """The words by which a language says a fact of one category and key: "called" of a name."""
    said = (
        pattern.source
        for index in _grammar_of(language).templates.values()
        for pattern, template in index.entries
        if any(one.category == category and _may_be(key or "", one.key or "") for one in template.emissions)
    )
    return frozenset().union(*(_LITERAL.findall(_SLOT.sub(" ", source)) for source in said))


def _may_be(key: str, template: str) -> bool:
    """Whether a template of keys such as "speaks {x}" can make a key."""
    parts = (".+" if part.startswith("{") else re.escape(part) for part in re.split(r"(\{[^}]*\})", template))
    return re.fullmatch("".join(parts), key) is not None


@cache
def _grammar_of(language: str) -> Grammar:
    return next(one for one in grammars() if one.language == language)
