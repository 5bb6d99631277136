"""What users say of other people: the clauses whose subject is somebody else, read as if that person had said them.

Whom they are about is said by name ("Lena") or, where no name is given, by relation ("sister").
"""

import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

from lamina.language.sentences import Sentence
from lamina.models.offline.fact_extraction.reported_speech import ReportedSpeech, reported_speech
from lamina.models.offline.fact_extraction.third_person import ThirdPerson, rewrite
from lamina.protocols.models import FactDraft
from lamina.values.message import Message

_ENTRY = re.compile(r"[^,\n]+")
_WORD = re.compile(r"[\w\u2019'-]+")
_LESS_SURE = 0.05
_WEIGHT = 0.8  # of what is known of others beside what is known of the user
_MAX_WORDS = 60  # of a sentence
_OF_NOBODY = frozenset(("instruction",))
_NAMES = frozenset(("name", "full name", "nickname", "pronouns"))
_LOWER_NAME = re.compile(r"[^\W\d_]{3,12}")

ReadFacts = Callable[[Message], list[FactDraft]]


@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    """How a language names the people around a user."""

    subject: re.Pattern[str]  # at the beginning of a clause: "my older sister Lena"
    named: re.Pattern[str]  # a name there, which must be known
    pronoun: re.Pattern[str] | None
    breaks: re.Pattern[str]  # where a clause may begin or end
    opener: re.Pattern[str]
    relative: re.Pattern[str]  # "who", behind somebody who is the subject of what follows
    reports: ReportedSpeech | None
    stops: frozenset[str]
    names: frozenset[str]
    not_names: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Subject:
    """Somebody of whom a clause speaks, and where they are named."""

    about: str
    start: int
    end: int
    says: bool = False  # what follows is what they say of themselves


@cache
def people_of(language: str) -> People | None:
    """What is known of people in a language; None if nothing is."""
    file = files(__package__).joinpath(f"people_{language}.toml")
    if not file.is_file():
        return None
    data: dict[str, Any] = tomllib.loads(file.read_text("utf-8"))
    words = {name: [entry.strip() for entry in _ENTRY.findall(text) if entry.strip()] for name, text in data.items()}
    one = {name: "|".join(map(re.escape, sorted(entries, key=len, reverse=True))) for name, entries in words.items()}
    name = r"[^\W\d_a-z][\w-]+(?:[ ][^\W\d_a-z][\w-]+)?"
    capital = rf"(?-i:(?P<name>{name}))"
    return People(
        subject=re.compile(
            rf"(?:{one['mine']})[ ]+(?:(?:{one['adjectives']})[ ]+){{0,2}}(?P<relation>{one['relations']})\b"
            rf"(?![-\w])(?:[ ]?,?[ ]*{capital}(?!\w)(?P<aside>,)?)?",
            re.IGNORECASE,
        ),
        named=re.compile(
            rf"{capital}(?!\w)(?:,[ ](?:{one['mine']})[ ]+(?:(?:{one['adjectives']})[ ]+){{0,2}}"
            rf"(?P<relation>{one['relations']}),)?",
            re.IGNORECASE,
        ),
        pronoun=re.compile(rf"(?:{one['pronouns']})\b", re.IGNORECASE) if one["pronouns"] else None,
        breaks=re.compile(
            rf"\s*[,;:]\s+(?:(?:{one['breaks']})\s+)?|\s+[-\u2013\u2014]\s+|\s+(?:{one['breaks']})\s+", re.IGNORECASE
        ),
        relative=re.compile(rf",?[ ](?:{one['relative']})\b", re.IGNORECASE),
        reports=reported_speech(words),
        opener=re.compile(rf"(?:(?:{one['openers']})\b[,:]?\s+)+", re.IGNORECASE),
        stops=frozenset(words["stops"]),
        names=frozenset(words["names"]),
        not_names=frozenset(words["not_names"]),
    )


def people_facts(
    message: Message, sentences: Sequence[Sentence], people: People, table: ThirdPerson, read: ReadFacts
) -> Iterator[FactDraft]:
    """What sentences of a message say of other people; `read` reads a text in the first person."""
    for sentence, text, subjects in _people(message, sentences, people):
        for subject, end in _runs(text, subjects, people):
            yield from _drafts(message, sentence.start, text, subject, end, table, read, people)


def subjects_in(message: Message, sentences: Sequence[Sentence], people: People) -> dict[int, str]:
    """Where in a message a clause begins whose subject is somebody else, and who that is."""
    found: dict[int, str] = {}
    for sentence, text, subjects in _people(message, sentences, people):
        found |= {sentence.start + subject.start: subject.about for subject, _ in _runs(text, subjects, people)}
    return found


def _people(
    message: Message, sentences: Sequence[Sentence], people: People
) -> Iterator[tuple[Sentence, str, list[_Subject]]]:
    """The sentences with their text and those of whom they speak."""
    known: set[str] = set()  # names that were introduced
    last: str | None = None  # who was spoken of, and nobody else, just before
    for sentence in sentences:
        text = message.text[sentence.start : sentence.end]
        if len(_WORD.findall(text)) > _MAX_WORDS:
            last = None
            continue
        subjects = _join(text, list(_subjects(text, people, known, last)), people)
        yield sentence, text, subjects
        found = {subject.about for subject in subjects}
        last = found.pop() if len(found) == 1 else None


def _subjects(text: str, people: People, known: set[str], last: str | None) -> Iterator[_Subject]:
    """Where a clause begins with somebody."""
    begin = people.opener.match(text)
    starts = [begin.end() if begin else 0, *(match.end() for match in people.breaks.finditer(text))]
    done = 0
    for start in starts:
        if start < done:
            continue
        subject = _subject_at(text, start, people, known, last)
        if subject is not None:
            relative = people.relative.match(text, subject.end)
            done = relative.end() if relative else subject.end
            yield replace(subject, end=done)


def _join(text: str, subjects: Sequence[_Subject], people: People) -> list[_Subject]:
    """Subjects that share a verb, each with the place of all of them: "Tom and Lena live in Berlin"."""
    joined: list[list[_Subject]] = []
    for subject in subjects:
        between = people.breaks.match(text, joined[-1][-1].end) if joined else None
        if between is not None and between.end() == subject.start:
            joined[-1].append(subject)
        else:
            joined.append([subject])
    return [replace(one, start=group[0].start, end=group[-1].end) for group in joined for one in group]


def _subject_at(text: str, start: int, people: People, known: set[str], last: str | None) -> _Subject | None:
    """Who is the subject of the clause that begins here, or says what follows of themselves."""
    reports = people.reports
    if reports is None:
        return _named_at(text, start, people, known, last)
    first = reports.source_end(text, start)
    is_source = first > start
    name = people.named.match(text, first)
    if name is not None and name["name"].casefold() in people.not_names:
        return None if is_source else _named_at(text, start, people, known, last)
    if name is not None and reports.end(text, name.end(), name["name"], is_source=is_source) > 0:
        known.add(name["name"].casefold())  # only people say "she" of themselves
    subject = _named_at(text, first, people, known, last)
    end = 0 if subject is None else reports.end(text, subject.end, subject.about, is_source=is_source)
    if subject is None or end <= 0:
        return None if is_source or end < 0 else subject
    return replace(subject, start=start, end=end, says=True)


def _named_at(text: str, start: int, people: People, known: set[str], last: str | None) -> _Subject | None:
    """Somebody who is named here."""
    if match := people.subject.match(text, start):
        name = match["name"]
        if name is not None and name.casefold().split()[0] in people.not_names:
            name = None
        if name is not None:
            known.add(name.casefold())
            known.add(name.casefold().split()[0])
            return _Subject(name, start, match.end())
        lower = _lower_name(text, match.end("relation"), people)
        if lower is not None:
            known.add(lower[0].casefold())
            return _Subject(lower[0], start, lower[1])
        return _Subject(match["relation"].casefold(), start, match.end("relation"))
    if (match := people.named.match(text, start)) and (match["relation"] or _is_name(match["name"], people, known)):
        known.add(match["name"].casefold())
        return _Subject(match["name"], start, match.end())
    if last is not None and start == 0 and people.pronoun and (match := people.pronoun.match(text)):
        return _Subject(last, 0, match.end())
    return None


def _is_name(name: str, people: People, known: set[str]) -> bool:
    first = name.casefold().split()[0]
    return name.casefold() in known or first in known or first in people.names


def _lower_name(text: str, at: int, people: People) -> tuple[str, int] | None:
    """A first name in lower case behind a relation, where nothing is written with capitals."""
    match = _WORD.match(text, at + 1) if text[at : at + 1] == " " else None
    if match is None or text != text.lower():
        return None
    word = match.group()
    return (word.capitalize(), match.end()) if word in people.names and _LOWER_NAME.fullmatch(word) else None


def _runs(text: str, subjects: Sequence[_Subject], people: People) -> Iterator[tuple[_Subject, int]]:
    """Each subject with the place where what is said of them alone ends."""
    for subject in subjects:
        following = next((one.start for one in subjects if one.start > subject.start), None)
        end = len(text) if following is None else following
        stop = next(
            (
                match.start()
                for match in _WORD.finditer(text, subject.end, end)
                if _plain(match.group()) in people.stops
            ),
            None,
        )
        if stop is not None or following is not None:
            limit = end if stop is None else stop
            breaks = [match.start() for match in people.breaks.finditer(text, subject.end) if match.end() <= limit]
            if not breaks:
                continue
            end = breaks[-1]
        yield subject, end


def _plain(word: str) -> str:
    return word.casefold().replace("\u2019", "'")


def _drafts(
    message: Message,
    offset: int,
    text: str,
    subject: _Subject,
    end: int,
    table: ThirdPerson,
    read: ReadFacts,
    people: People,
) -> Iterator[FactDraft]:
    """What is read from a clause with the user in the place of its subject."""
    stand_in = " ".join(table.subjects[0]) if table.subjects else ""
    if not stand_in:
        return
    if subject.says and people.reports is not None:
        stand_in = f"{stand_in} {people.reports.verb}"
    rewritten = rewrite(stand_in + text[subject.end : end], table)
    if rewritten.text.casefold().startswith(stand_in):
        return  # no verb that is known follows
    shift = offset + subject.end - len(stand_in)
    for draft in read(replace(message, text=rewritten.text)):
        first, behind = rewritten.place(draft.start), rewritten.place(draft.end, end=True)
        start = offset + subject.start if subject.says or first < len(stand_in) else first + shift
        stop = behind + shift
        if draft.key in _NAMES or draft.category in _OF_NOBODY or not start < stop <= len(message.text):
            continue
        if any(_plain(word) in people.stops for word in _WORD.findall(f"{draft.key or ''} {draft.value}")):
            continue
        quote = message.text[start:stop]
        yield replace(
            draft,
            about=subject.about,
            value=quote if draft.key is None and draft.value not in quote else draft.value,
            start=start,
            end=stop,
            quote=quote,
            confidence=round(draft.confidence - _LESS_SURE, 2),
            importance=round(draft.importance * _WEIGHT, 2),
        )
