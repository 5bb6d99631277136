"""What a question asks for, read from its words alone: about whom, of which time, first or last, one thing or many."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Literal

from lamina.language.dates import Window, windows
from lamina.language.words import STOP_WORDS, is_unspaced, plain, query_terms, stem, words
from lamina.search import question_patterns as patterns
from lamina.search.answer_form import asks_by_now, looks_back, subject_of

MAX_TERMS = 64
_SEARCHED = 10_000  # characters that are looked at for terms, names and times, nearly 2,000 words
_ASKED = 2_400  # characters that are looked at for how it is asked
_END = 300  # characters
_SHORT_FORM = 3  # letters that a short form of a name has at least
_BORROWED = 8
_BORROWED_OF_ONE = 5
_TURNS = 4
_OF_A_TURN = 2_000  # characters
EMPTY = STOP_WORDS | patterns.ASKING  # words that say nothing of what is asked about
_CAPITAL = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A query and what it asks for."""

    text: str
    subject: str
    """The text without what it says of the form of its answer."""
    terms: tuple[str, ...]
    """Distinct stems to search for, without names and words that only ask."""
    words: tuple[str, ...]
    """The same, unstemmed."""
    names: tuple[str, ...]
    """Which of the known names it mentions, as they were given."""
    windows: tuple[Window, ...]
    whose: Literal["user", "assistant"] | None
    """Whose words or life it is about."""
    order: Literal["first", "last"] | None
    asks_time: bool
    asks_many: bool
    """Whether one passage can hardly answer it."""
    follow_up: bool
    """Whether it needs the turns before it to be understood."""
    gathers: bool = False
    """Whether it wants all of something, many or what somebody has done by now."""
    request: bool = False
    """Whether it asks for help now, and not for what was."""
    tense: Literal["present", "past"] | None = None
    """Whether it asks for what holds now, or for what held before that."""
    fact_keys: tuple[str, ...] = ()
    """Keys of facts that answer it, if it is about the user and asks for no more."""


def understand(query: str, *, at: datetime, names: Sequence[str] = (), own: Sequence[str] = ()) -> Question:
    """Reads a query asked at a moment, by people who may mention these names; `own` are names of the user."""
    text, form = _ends(query, _SEARCHED), _ends(query, _ASKED)
    found = windows(text, at)  # `recently, in May 2022` is May 2022
    mentioned, name_words = _find_names(text, names)
    back, asks_many = looks_back(form), patterns.seeks_many(form)
    subject = subject_of(text) if back else text
    content = _content_of(subject, name_words)
    follow_up = patterns.follows_up(form, len(content), len(mentioned))
    if not content:
        content = {term: term for term in query_terms(text, MAX_TERMS)}
    return Question(
        text=query,
        subject=subject,
        terms=tuple(content),
        words=tuple(content.values()),
        names=mentioned,
        windows=tuple(window for window in found if window.exact) or found,
        whose=patterns.speaker(form),
        order=patterns.order_of(form),
        asks_time=patterns.seeks_time(form),
        asks_many=asks_many,
        follow_up=follow_up,
        gathers=asks_many or asks_by_now(patterns.questions_of(form)),
        request=patterns.seeks_help(form) and not back,
        tense=patterns.tense_of(form),
        fact_keys=patterns.fact_keys(form, own),
    )


def nameless(text: str, names: Sequence[str]) -> str:
    """A text without these names: who speaks is no part of what is meant."""
    for name in names:
        text = re.sub(rf"\b{re.escape(name)}(?:['\u2019]s)?\b", " ", text, flags=re.IGNORECASE)
    return text


def with_context(question: Question, before: Sequence[str]) -> Question:
    """A follow-up with the content terms of the last turns, the most recent first; any other question as it is."""
    if not question.follow_up or not before:
        return question
    own = {term: word for term, word in zip(question.terms, question.words, strict=True) if word not in EMPTY}
    borrowed: dict[str, str] = {}
    for turn in reversed(before[-_TURNS:]):
        found = _weightiest(turn[:_OF_A_TURN])
        borrowed |= {term: word for term, word in found if term not in own and term not in borrowed}
    if not borrowed:
        return question
    content = own | dict(list(borrowed.items())[:_BORROWED])
    return replace(question, terms=tuple(content)[:MAX_TERMS], words=tuple(content.values())[:MAX_TERMS])


def _weightiest(text: str) -> list[tuple[str, str]]:
    """The terms that a turn repeats most, then those it begins with."""
    seen = Counter(stem(word) for word in words(text))
    ranked = sorted(_content(text, frozenset()).items(), key=lambda pair: -seen[pair[0]])
    return ranked[:_BORROWED_OF_ONE]


def _ends(query: str, length: int) -> str:
    """The whole query, or the beginning and the end of a long one: there the question stands."""
    return query if len(query) <= length else f"{query[: length // 2]}\n{query[-length // 2 :]}"


def _content_of(text: str, names: frozenset[str]) -> dict[str, str]:
    """The content of a query; of a long one, that of its end does not fall behind that of its beginning."""
    found = _content(text, names)
    if len(found) < MAX_TERMS:
        return found
    end = _content(text[-_END:], names)
    half = MAX_TERMS // 2
    mixed = dict([*list(found.items())[:half], *list(end.items())[-half:], *found.items()])
    return dict(list(mixed.items())[:MAX_TERMS])


def _content(text: str, names: frozenset[str]) -> dict[str, str]:
    """Distinct terms with the word that each was first written as."""
    found: dict[str, str] = {}
    for whole in words(text):
        word = whole.removesuffix("'s")
        if not word or word in EMPTY or whole in EMPTY or word in names:
            continue
        found.setdefault(stem(word), word)
        if len(found) >= MAX_TERMS:
            break
    return found


@lru_cache(maxsize=64)
def _by_first_word(names: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """The first word of each name, in lower case, with the names that begin with it."""
    known: dict[str, tuple[str, ...]] = {}
    for name in names:
        spelled = plain(name).strip()
        first = spelled if is_unspaced(spelled[:1]) else next(iter(words(name)), "")
        if first:
            known[first] = (*known.get(first, ()), name)
    return known


def _find_names(text: str, names: Sequence[str]) -> tuple[tuple[str, ...], frozenset[str]]:
    """The names that a text mentions, and the words by which it does."""
    if not names:
        return (), frozenset()
    known = _by_first_word(tuple(names))
    found: set[str] = set()
    used: set[str] = set()
    for first, word in _name_words(text, known):
        used.update(word if is_unspaced(word[:1]) else (word,))
        found.update(known[first])
    for name in found:
        used.update(word for word in words(name) if word not in STOP_WORDS)
    return tuple(dict.fromkeys(name for name in names if name in found)), frozenset(used)


def _name_words(text: str, known: dict[str, tuple[str, ...]]) -> Iterator[tuple[str, str]]:
    """Known first names in a text, each with the word that stands for it."""
    spelled = plain(text)
    yield from ((first, first) for first in known if is_unspaced(first[:1]) and first in spelled)
    capitals = {plain(word) for word in _CAPITAL.findall(text) if word[0].isupper()}
    opening = next(iter(words(text[:200])), "")
    for word in dict.fromkeys(whole.removesuffix("'s") for whole in words(text)):
        if word in known:
            if word not in STOP_WORDS or (word in capitals and word != opening):
                yield word, word
        elif len(word) >= _SHORT_FORM and word in capitals and word not in EMPTY:
            yield from ((first, word) for first in known if first.startswith(word))
