"""What the model sees of a sentence: cues of the kinds of moments, signs of how it is told, and what came before."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lamina.models.offline.episode_extraction.moment_clauses import Clause, Statement, line_of, read_sentences, state
from lamina.models.offline.episode_extraction.moment_cues import ANY, STEM, Cue, Cues, Language, language_of
from lamina.values.fact import EpisodeKind
from lamina.values.message import Message

_MAX_BEFORE = 1_000  # characters of what the assistant said
_LENGTHS = (1, 3, 5, 8, 12, 18, 28)
_SHOUT = re.compile(r"\b[A-Z]{2,}\b(?:\W+[A-Z]{2,}\b)+|\b[A-Z]{4,}\b")
_DIGIT = re.compile(r"\d")
_MANY = re.compile(r"[!]{2,}")
_REPORT = re.compile(r"\b\w+(?:Error|Exception|Detected)\b|\b(?:ERROR|FATAL|Traceback|panic)\b")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_NAME = re.compile(r"(?<=[\w,] )[A-ZÀ-ÖØ-Þ][a-zà-öø-ÿ]+")


@dataclass(frozen=True, slots=True)
class Match:
    """A cue of a kind that was found in a clause."""

    kind: EpisodeKind
    strength: str
    personal: bool
    veto: str  # '' where nothing takes it back
    clause: Clause
    found: re.Match[str]


@dataclass(frozen=True, slots=True)
class Context:
    """What was said before a message."""

    asked: bool = False  # the assistant ended with a question
    before: frozenset[str] = frozenset()  # signs in what the assistant said
    troubled: bool = False  # the user had told of an issue

    def features(self, kinds: Sequence[str]) -> Iterator[str]:
        if self.asked:
            yield "answers"
        names = [*(f"after {name}" for name in sorted(self.before)), *(["after trouble"] if self.troubled else [])]
        yield from names
        if self.asked:
            yield from (f"answers {kind}" for kind in kinds)
        if self.troubled:
            yield from (f"trouble then {kind}" for kind in kinds)


@dataclass(frozen=True, slots=True)
class Observation:
    """The sentences of a message, with the cues in them."""

    language: Language
    sentences: tuple[tuple[Statement | None, tuple[Match, ...]], ...]  # None: it only asks
    context: Context

    def features(self, at: int) -> list[str]:
        """The features of one sentence."""
        return _features(self.sentences, at, self.language, self.context)


def observe(message: Message, before: Sequence[Message]) -> Observation:
    """A message as the model sees it, after the messages before it."""
    language = language_of(line_of(message.text).split())
    near = [one for one in before if one.session_id == message.session_id]
    context = _context(near, language) if message.role == "user" else Context()
    return Observation(language, _sentences(message, language), context)


def _sentences(message: Message, language: Language) -> tuple[tuple[Statement | None, tuple[Match, ...]], ...]:
    stated = (state(text, masked, language) for text, masked in read_sentences(message))
    return tuple((one, tuple(_matches(one, language, message.role)) if one else ()) for one in stated)


def _context(before: Sequence[Message], language: Language) -> Context:
    last = before[-1] if before and before[-1].role == "assistant" else None
    text = last.text[-_MAX_BEFORE:] if last else ""
    return Context(
        asked=text.rstrip().endswith("?"),
        before=frozenset(cue.name for cue, _ in search(f" {line_of(text)}", language.before)),
        troubled=any(tells_trouble(one, language) for one in before if one.role == "user"),
    )


def tells_trouble(message: Message, language: Language) -> bool:
    """Whether the user tells of an issue there."""
    found = (one for _, matched in _sentences(message, language) for one in matched)
    return any(one.kind == "issue_identified" and not one.veto for one in found)


def _matches(statement: Statement, language: Language, role: str) -> list[Match]:
    """The cues of kinds in a sentence."""
    return [
        Match(cue.kind, cue.name, cue.personal, _veto(clause, clause.line, cue, found, language), clause, found)
        for clause in statement.clauses
        for cue, found in search(clause.line, language.cues)
        if cue.kind is not None and (cue.name == "assistant") == (role == "assistant")
    ]


def search(line: str, cues: Cues) -> Iterator[tuple[Cue, re.Match[str]]]:
    """The cues of a line of words, with where they stand."""
    words = line.split()
    for trigger in dict.fromkeys((ANY, *words, *(word[:STEM] + "*" for word in words))):
        for cue in cues.get(trigger, ()):
            found = cue.phrase.search(line)
            if found:
                yield cue, found


def signs(statement: Statement, language: Language) -> list[str]:
    """The names of the signs in a sentence, each with what takes it back."""
    names: set[str] = set()
    for clause in statement.clauses:
        for cue, found in search(clause.full, language.signs):
            veto = _veto(clause, clause.full, cue, found, language)
            names.add(f"{veto} {cue.name}" if veto in _TAKES_BACK else cue.name)
        names.update(cue.name for cue, _ in search(clause.full, language.manner))
    return sorted(names)


_TAKES_BACK = frozenset(("denied", "supposed", "wanted", "asked"))


def _veto(clause: Clause, line: str, cue: Cue, found: re.Match[str], language: Language) -> str:
    """What takes a phrase back: a word before it, or just behind it."""
    if clause.conjunction in language.sets["background"]:
        return "background"
    start = max(found.start(), 1)
    for name, words in language.vetoes.items():
        if words.search(line, 0, start):
            return name
    if cue.personal and language.lists["mentions"].search(line, 0, start):
        return "mentioned"
    following = " ".join(line[found.end() :].split()[:2])
    return "behind" if language.lists["after"].match(f" {following} ", 1) else ""


def _features(
    sentences: Sequence[tuple[Statement | None, Sequence[Match]]], at: int, language: Language, context: Context
) -> list[str]:
    """The features of one sentence of a message."""
    statement, own = sentences[at]
    if statement is None:
        return []
    cues = sorted({f"{one.kind} {one.strength}" if not one.veto else f"{one.veto} {one.kind}" for one in own})
    cues += sorted({f"{one.kind} personal" for one in own if one.personal and not one.veto})
    kinds = sorted({one.kind for one in own if not one.veto})
    names = signs(statement, language)
    shape = list(_shape(statement))
    found = [*cues, *names, *shape]
    if not kinds:
        found += ["no cue", *(f"{name} without cue" for name in names)]
    found += context.features(kinds) if at == 0 else ()
    found += _neighbours(sentences, at)
    return found


def _neighbours(sentences: Sequence[tuple[Statement | None, Sequence[Match]]], at: int) -> Iterator[str]:
    yield f"sentences {min(len(sentences), 4)}"
    if at == 0:
        yield "first"
    for name, place in (("before", at - 1), ("behind", at + 1)):
        if not 0 <= place < len(sentences):
            continue
        statement, matched = sentences[place]
        if statement is None:
            yield f"asks {name}"
        yield from sorted({f"{name} {one.kind} {one.strength}" for one in matched if not one.veto})


def _shape(statement: Statement) -> Iterator[str]:
    count = sum(len(clause.line.split()) for clause in statement.clauses)
    yield f"words {sum(count > length for length in _LENGTHS)}"
    if statement.whole.rstrip().endswith("!"):
        yield "exclaims"
    patterns = (
        ("many", _MANY),
        ("shouts", _SHOUT),
        ("number", _DIGIT),
        ("report", _REPORT),
        ("name", _NAME),
        ("year", _YEAR),
    )
    for name, pattern in patterns:
        if pattern.search(statement.whole):
            yield name
    if len(statement.text) < len(statement.whole.rstrip(" ,;:.!?")):
        yield "asks at its end"
