"""Finds the moments that mattered in a conversation by cue phrases; the same messages give the same episodes."""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from lamina.language.sentences import Sentence, sentences
from lamina.language.words import WORD, fold, terms
from lamina.models.offline.episode_extraction.episode_cues import Cue, Language, languages
from lamina.protocols.models import EpisodeDraft
from lamina.values.message import Message

MAX_TITLE = 70
MAX_SUMMARY = 300
MAX_CONTEXT = 160
MIN_SIGNIFICANCE, MAX_SIGNIFICANCE = 0.3, 0.95
_MAX_BEFORE = 4  # earlier messages in which the context of a moment is looked for
_MAX_CHARACTERS = 100_000  # of a message
_MAX_SENTENCES = 60  # of a message; its last ones are read too
_LAST_SENTENCES = 20
_FIRST_OF_ASSISTANT = 3
_MIN_TERMS = 3  # that say what happened
_MIN_OTHER_TERMS = 2  # besides the cue
_MIN_TITLE = 25
_NUMBER, _MARK, _STRESS, _REASON = 0.03, 0.03, 0.08, 0.06
_TONE = 0.2  # of one good or bad word
_NEGATION_REACH = 3  # words
_WITH_OUTCOME = frozenset(("decision_made", "problem_solved", "task_completed"))

_QUOTED = re.compile(
    r"(?<!\w)\"(?=\S)[^\"\n]{1,900}(?:\"(?!\w)|(?=\n)|\Z)|“[^“”\n]{1,900}(?:”|(?=\n)|\Z)|«[^«»\n]{1,900}»|`[^`\n]{1,300}`"
)
_BREAK = re.compile(r"[,:.]\s|[;()!?…—]|\s[-\u2013]{1,2}\s|\n")
_ASKED = re.compile(r"[?\uff1f؟][\"'”\u2019»)\]\s]*\Z")
_SYMBOLS = re.compile(r"[{}()\[\]<>=;|&+*/\\_#$@^~]")
_MAX_SYMBOLS = 0.12
_DIGIT = re.compile(r"\d")
_EMPHASIS = re.compile(r"\*+")
_EDGE = " ,;:-\u2013—"


class OfflineEpisodeExtractor:
    """Finds decisions, solutions, breakthroughs, issues, completed tasks and changes of direction."""

    name = "offline-episodes-1"

    async def extract_episodes(self, messages: Sequence[Message], before: Sequence[Message]) -> list[EpisodeDraft]:
        everything = [*before, *messages]
        drafts = (
            episode_in(message, everything[max(0, at - _MAX_BEFORE) : at])
            for at, message in enumerate(messages, start=len(before))
        )
        return [draft for draft in drafts if draft]


def episode_in(message: Message, before: Sequence[Message]) -> EpisodeDraft | None:
    """The strongest moment of a message, if there is one."""
    if message.role not in {"user", "assistant"}:
        return None
    read = _sentences(message)
    found: list[EpisodeDraft] = []
    for language in languages():
        statements = [_statement(text, masked, language) for text, masked in read]
        for at in range(len(statements)):
            found.extend(_moments(statements, at, message.role))
    best = max(found, key=lambda draft: draft.significance, default=None)
    return replace(best, message_id=message.id, context=_context(message, before)) if best else None


# What a sentence states


@dataclass(frozen=True, slots=True)
class _Clause:
    start: int
    end: int
    line: str  # its words without those that only lead to it, each with a space behind it, after a space
    places: tuple[int, ...]  # where each word of the line begins
    conjunction: str  # the word like "but" or "because" that it begins with


@dataclass(frozen=True, slots=True)
class _Statement:
    text: str  # the sentence without what it asks at its end
    clauses: tuple[_Clause, ...]
    language: Language
    mark: str  # at the end of the sentence

    def gives_reason(self) -> bool:
        return self.language.lists["leads"].match(_line(self.text), 1) is not None


def _sentences(message: Message) -> list[tuple[str, str]]:
    """The sentences to look at, each also with its quotations masked by a word that no phrase has."""
    masked = _QUOTED.sub(lambda quote: "q" * len(quote.group()), message.text[:_MAX_CHARACTERS])
    found = _prose(message.text)
    if message.role == "assistant":
        found = [sentence for sentence in found[:_FIRST_OF_ASSISTANT] if sentence.kind == "prose"]
    return [(sentence.text, masked[sentence.start : sentence.end]) for sentence in found]


def _prose(text: str) -> list[Sentence]:
    found = [
        sentence
        for sentence in sentences(text[:_MAX_CHARACTERS], MAX_SUMMARY)
        if sentence.kind in {"prose", "item"}
        and len(_SYMBOLS.findall(sentence.text)) <= _MAX_SYMBOLS * len(sentence.text)
    ]
    return [*found[:_MAX_SENTENCES], *found[max(_MAX_SENTENCES, len(found) - _LAST_SENTENCES) :]]


def _statement(text: str, masked: str, language: Language) -> _Statement | None:
    """What the sentence states, without the question at its end; None if it only asks."""
    stated: list[_Clause] = []
    for clause in _clauses(masked, language):
        if language.lists["asks"].search(clause.line):
            end = clause.start
            break
        stated.append(clause)
    else:
        if _ASKED.search(text):
            return None
        end = len(text)
    return _Statement(text[:end].rstrip(_EDGE), tuple(stated), language, text[-1]) if stated else None


def _clauses(text: str, language: Language) -> Iterator[_Clause]:
    found = [(match.start(), match.end(), fold(match.group())) for match in WORD.finditer(text)]
    first = 0
    for at in range(1, len(found) + 1):
        if at == len(found) or _begins(text, found, at, language):
            end = len(text) if at == len(found) else found[at][0]
            yield _clause(found[first:at], end, language, begins=first == 0)
            first = at


def _begins(text: str, found: Sequence[tuple[int, int, str]], at: int, language: Language) -> bool:
    """Whether a new clause begins with a word."""
    if _BREAK.search(text, found[at - 1][1], found[at][0]) or found[at][2] in language.conjunctions:
        return True
    return found[at][2] == "and" and at + 1 < len(found) and found[at + 1][2] in language.subjects


def _clause(found: Sequence[tuple[int, int, str]], end: int, language: Language, *, begins: bool) -> _Clause:
    leading = next((at for at, (_, _, word) in enumerate(found[:-1]) if word not in language.openers), 0)
    kept = found[leading:]
    line = " " * begins + "".join(f" {word}" for _, _, word in kept) + " "
    conjunction = found[0][2] if found[0][2] in language.conjunctions else ""
    return _Clause(found[0][0], end, line, tuple(start for start, _, _ in kept), conjunction)


# Moments


def _moments(statements: Sequence[_Statement | None], at: int, role: str) -> Iterator[EpisodeDraft]:
    statement = statements[at]
    if statement is None:
        return
    for clause in statement.clauses:
        found = max(_matches(clause, statement.language, role), key=lambda one: one[0].weight, default=None)
        summary = _summary(statements, at, found[1].group()) if found else ""
        if found and summary:
            yield _moment(statement, summary, clause, *found)


def _matches(clause: _Clause, language: Language, role: str) -> Iterator[tuple[Cue, re.Match[str]]]:
    if clause.conjunction in language.background:
        return
    for word in dict.fromkeys(clause.line.split()):
        for cue in language.cues.get(word, ()):
            match = cue.phrase.search(clause.line) if cue.role == role else None
            if match and not _is_vetoed(clause.line, cue, match, language):
                yield cue, match


def _is_vetoed(line: str, cue: Cue, match: re.Match[str], language: Language) -> bool:
    vetoes = ("before", "mentions") if cue.personal else ("before",)
    if any(language.lists[name].search(line, 0, max(match.start(), 1)) for name in vetoes):
        return True
    following = " ".join(line[match.end() :].split()[:2])
    return language.lists["after"].match(f" {following} ", 1) is not None


def _moment(statement: _Statement, summary: str, clause: _Clause, cue: Cue, match: re.Match[str]) -> EpisodeDraft:
    language = statement.language
    line = _line(summary)
    lifts = (
        _NUMBER * bool(_DIGIT.search(summary)),
        _MARK * (statement.mark == "!"),
        _STRESS * bool(language.lists["important"].search(line)),
        _REASON * bool(language.lists["reason"].search(line)),
    )
    tone = language.tones[cue.kind] + _TONE * _tone(line.split(), language)
    return EpisodeDraft(
        message_id="",
        kind=cue.kind,
        title=_title(statement, clause, summary),
        summary=summary,
        context="",
        outcome=_outcome(statement, clause, cue, match),
        valence=round(min(max(tone, -1.0), 1.0), 2),
        significance=round(min(max(cue.weight + sum(lifts), MIN_SIGNIFICANCE), MAX_SIGNIFICANCE), 2),
    )


def _line(text: str) -> str:
    return "".join(f" {fold(word)}" for word in WORD.findall(text)) + " "


def _tone(words: Sequence[str], language: Language) -> int:
    """Good words minus bad ones, each turned by a negation shortly before it."""
    tone = 0
    for at, word in enumerate(words):
        sign = (word in language.good) - (word in language.bad)
        if sign:
            denied = any(earlier in language.negations for earlier in words[max(0, at - _NEGATION_REACH) : at])
            tone += -sign if denied else sign
    return tone


def _summary(statements: Sequence[_Statement | None], at: int, cue: str) -> str:
    """The statement, with the reason that follows; one that says little but its cue, with its neighbours. Else ''."""
    statement = statements[at]
    text = statement.text if statement else ""
    others = len(set(terms(text)) - set(terms(cue)))
    following = list(itertools.takewhile(bool, statements[at + 1 : at + 3]))
    if following and others < _MIN_OTHER_TERMS:
        text = _append(text, following.pop(0))
    if following and following[0] and following[0].gives_reason():
        text = _append(text, following[0])
    if at and others and _says_little(text):
        text = _append("", statements[at - 1], text)
    return "" if _says_little(text) else " ".join(text.split())


def _append(text: str, more: _Statement | None, rest: str = "") -> str:
    joined = " ".join(part for part in (text, more.text if more else "", rest) if part)
    return joined if len(joined) <= MAX_SUMMARY else text or rest


def _says_little(text: str) -> bool:
    return len(set(terms(text))) < _MIN_TERMS


def _title(statement: _Statement, clause: _Clause, summary: str) -> str:
    """The words from the clause on, or all of the summary where these say too little."""
    text = statement.text[clause.places[0] :]
    if len(set(terms(text))) < _MIN_OTHER_TERMS:
        text = summary
    title = shorten(_EMPHASIS.sub("", text).strip(_EDGE).rstrip(".!"), MAX_TITLE)
    return title[:1].upper() + title[1:] if title.split(" ", 1)[0].islower() else title


def shorten(text: str, max_characters: int) -> str:
    """The text, or its first clauses, or its first words with an ellipsis."""
    text = " ".join(text.split())
    if len(text) <= max_characters:
        return text
    cut = max((match.start() for match in _BREAK.finditer(text, 0, max_characters)), default=0)
    if cut >= _MIN_TITLE:
        return text[:cut].rstrip(_EDGE)
    space = text.rfind(" ", 0, max_characters)
    return text[: space if space > 0 else max_characters - 1].rstrip(_EDGE) + "…"


def _outcome(statement: _Statement, clause: _Clause, cue: Cue, match: re.Match[str]) -> str | None:
    """What was decided, or the clause that says what is done."""
    if cue.kind not in _WITH_OUTCOME:
        return None
    start, end = clause.places[0], clause.end
    behind = clause.places[len(clause.line[: match.end()].split()) :]  # words after the cue
    if behind and cue.kind == "decision_made" and match.group().split()[-1] in statement.language.objects:
        start = behind[0]
    elif not behind:
        following = statement.clauses[statement.clauses.index(clause) + 1 :]
        end = max((one.end for one in itertools.takewhile(lambda one: not one.conjunction, following)), default=end)
    return shorten(statement.text[start:end].strip(_EDGE).rstrip(".!"), MAX_CONTEXT)


def _context(message: Message, before: Sequence[Message]) -> str:
    """What the user had last spoken of."""
    for earlier in reversed(before):
        if earlier.role == "user" and earlier.session_id == message.session_id:
            texts = (sentence.text for sentence in _prose(earlier.text))
            return next((shorten(text, MAX_CONTEXT) for text in texts if not _says_little(text)), "")
    return ""
