"""Keyed facts: what users say of themselves, read with a grammar for each language: precision before recall."""

import functools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import NamedTuple

from lamina.language.languages import script_language
from lamina.language.sentences import Sentence
from lamina.models.offline.fact_extraction.grammar import Grammar, grammars, markers
from lamina.models.offline.fact_extraction.masking import mask, own_sentences
from lamina.models.offline.fact_extraction.people import people_facts, people_of, subjects_in
from lamina.models.offline.fact_extraction.phrase_book import PhraseBook, phrase_books
from lamina.models.offline.fact_extraction.read_phrases import read_phrases
from lamina.models.offline.fact_extraction.read_sentence import MAX_QUOTE, read_sentence
from lamina.models.offline.fact_extraction.tokens import fold
from lamina.protocols.models import FactDraft
from lamina.values.message import Message

_PARAGRAPH = re.compile(r"\n[ \t]*\n|(?<=:)[ \t]*\n")
_MAX_CHARACTERS = 20_000  # of a message; what follows is mostly pasted


class Reading(NamedTuple):
    """What a message says in keyed facts."""

    facts: list[FactDraft]
    sentences: list[tuple[Sentence, Grammar]]  # that were read as the writer's own
    own: int  # where the words end that are the writer's own
    subjects: Mapping[int, str]  # where a sentence or clause begins that is about another person, and who that is


def read_message(message: Message) -> Reading:
    """What a message says of who writes it, then what it says of other people."""
    reading = read_own(message)
    found = reading.facts
    subjects: dict[int, str] = {}
    for grammar in {chosen.language: chosen for _, chosen in reading.sentences}.values():
        people = people_of(grammar.language)
        if people is not None:
            said = [sentence for sentence, chosen in reading.sentences if chosen is grammar]
            again = functools.partial(facts_in, grammar=grammar)
            others = list(people_facts(message, said, people, grammar.third_person, again))
            subjects |= subjects_in(message, said, people)
            found = [*_own(found, others, subjects), *others]
    return reading._replace(facts=found, subjects=subjects)


def _own(found: Sequence[FactDraft], others: Sequence[FactDraft], subjects: Mapping[int, str]) -> Iterator[FactDraft]:
    """What was read as the writer's own; but what another is the subject of is about them, and said once."""
    keyed = {(draft.key, draft.value, draft.start) for draft in others}
    said = {(draft.category, draft.start) for draft in others}
    for draft in found:
        if draft.key is None and draft.start in subjects:
            if (draft.category, draft.start) not in said:
                yield replace(draft, about=subjects[draft.start])
        elif (draft.key, draft.value, draft.start) not in keyed:
            yield draft


def facts_in(message: Message, grammar: Grammar | None = None) -> list[FactDraft]:
    """The facts of one message in order; every quote is a piece of its text. `grammar`: if the language is known."""
    return read_own(message, grammar).facts


def read_own(message: Message, grammar: Grammar | None = None) -> Reading:
    """What a message says of who writes it."""
    text = message.text[:_MAX_CHARACTERS]
    found: list[FactDraft] = []
    read: list[tuple[Sentence, Grammar]] = []
    own = len(text)
    above: int | None = None  # where the paragraph ended that speaks of the text below it
    for sentence, likely in _sentences(mask(text, markers().quoted), grammar):
        if above is not None and _PARAGRAPH.search(text, above, sentence.start):
            own = above
            break
        found, scope = _read(sentence, likely, message, found)
        if scope == "message":
            read.clear()
        if scope in {"rest", "message"}:
            own = sentence.start if scope == "rest" else 0
            break
        if not isinstance(likely, PhraseBook):
            read.append((sentence, likely[0]))
        above = sentence.end if scope == "below" else above
    ends = [min(_with_closing_mark(text, draft.start, draft.end), draft.start + MAX_QUOTE) for draft in found]
    facts = [replace(draft, end=end, quote=text[draft.start : end]) for draft, end in zip(found, ends, strict=True)]
    return Reading(facts, read, own, {})


def _with_closing_mark(text: str, start: int, end: int) -> int:
    """The end of a quote, with the mark that closes a quotation in it."""
    own, behind = text[start:end], text[end : end + 1]
    is_open = (behind == '"' and own.count('"') % 2) or (behind == "”" and own.count("“") > own.count("”"))
    return end + 1 if is_open else end


def _read(
    sentence: Sentence, likely: Sequence[Grammar] | PhraseBook, message: Message, found: list[FactDraft]
) -> tuple[list[FactDraft], str]:
    """The facts so far with those of one sentence, by the first grammar that finds one, and a scope."""
    if isinstance(likely, PhraseBook):
        return read_phrases(sentence, likely, message, found), ""
    results = (read_sentence(sentence, one, message, found) for one in likely)
    first = next(results)
    return first if len(first[0]) > len(found) else next((one for one in results if one[0] != found), first)


def _sentences(text: str, grammar: Grammar | None) -> Iterator[tuple[Sentence, Sequence[Grammar] | PhraseBook]]:
    """The writer's own sentences, each with the grammar or phrase book of its language, unless that is given.

    Where the words are as much of one language as of another, with the grammars of both; English is then enough.
    """
    known = grammars()
    spoken = script_language(text) if grammar is None else None
    whole: list[Hits] = []
    for sentence in own_sentences(text, markers()):
        book = _phrase_book(sentence.text, spoken) if spoken else None
        if grammar is not None or book is not None:
            yield sentence, book or ([grammar] if grammar else [])
            continue
        hits = language_hits(sentence.text, known)
        most = max(hits)
        likely = [at for at, hit in enumerate(hits) if hit == most]
        if len(likely) > 1:
            whole = whole or language_hits(text[:1_000], known)
            likely.sort(key=lambda at: (whole[at], known[at].fallback), reverse=True)
        chosen = [known[at] for at in likely]
        yield sentence, chosen[:1] if any(one.fallback for one in chosen) else chosen


def _phrase_book(text: str, spoken: str) -> PhraseBook | None:
    """The phrase book of a sentence; Chinese characters alone are read in the language of the message."""
    language = script_language(text)
    return phrase_books().get(spoken if (language, spoken) == ("zh", "ja") else language or "")


class Hits(NamedTuple):
    """How many words of a language a text has, and how many of these no other language has."""

    words: int
    own: int


def language_hits(text: str, known: Sequence[Grammar]) -> list[Hits]:
    """The hits of each language; one pass, however many languages there are."""
    found, own = Counter[str](), Counter[str]()
    speakers = _speakers()
    for word in set(fold(text).replace(",", " ").split()) & speakers.keys():
        languages = speakers[word]
        found.update(languages)
        if len(languages) == 1:
            own.update(languages)
    return [Hits(found[grammar.language], own[grammar.language]) for grammar in known]


@cache
def _speakers() -> Mapping[str, tuple[str, ...]]:
    """For each word of evidence, the languages that have it."""
    languages: dict[str, list[str]] = {}
    for grammar in grammars():
        for word in grammar.evidence:
            languages.setdefault(word, []).append(grammar.language)
    return {word: tuple(found) for word, found in languages.items()}
