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
from lamina.models.offline.fact_extraction.third_person import rewrite, speaks_of_user
from lamina.protocols.models import FactDraft, Statement
from lamina.values.message import Message

_NAMES = frozenset(("name", "nickname"))
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
    message = Message(
        id="", session_id="", seq=1, turn=1, role="user", body={}, created_at=at, metadata={}, model=None, tokens=0,
        text=rewritten.text, digest="",
    )  # fmt: skip
    drafts = []
    for draft in read_message(message).facts if grammar.fallback else facts_in(message, grammar):
        start, end = rewritten.place(draft.start), rewritten.place(draft.end, end=True)
        drafts.append(replace(draft, start=start, end=end, quote=text[start:end]))
    unread = _unread(rewritten.text, drafts, grammar)
    return Statement(drafts=tuple(drafts), unread=unread)


def _grammar(text: str) -> Grammar:
    """The grammar for a text about the user: one that knows how it names the user, and most of its words."""
    known = [one for one in grammars() if speaks_of_user(text, one.third_person)] or list(grammars())
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
