"""What the sentences of a message state: their clauses, without what they ask, quote or show as code."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lamina.language.sentences import Sentence, sentences
from lamina.language.words import WORD, fold
from lamina.models.offline.episode_extraction.moment_cues import Language
from lamina.values.message import Message

MAX_SENTENCE = 300
EDGE = " ,;:-\u2013—"
BREAK = re.compile(r"[,:.]\s|[;()!?…—]|\s[-\u2013]{1,2}\s|\n")
_MAX_CHARACTERS = 100_000  # of a message
_MAX_SENTENCES = 60  # of a message; its last ones are read too
_LAST_SENTENCES = 20
_FIRST_OF_ASSISTANT = 3
_QUOTED = re.compile(
    r"(?<!\w)\"(?=\S)[^\"\n]{1,900}(?:\"(?!\w)|(?=\n)|\Z)|“[^“”\n]{1,900}(?:”|(?=\n)|\Z)|«[^«»\n]{1,900}»|`[^`\n]{1,300}`"
)
_ASKED = re.compile(r"[?\uff1f؟][\"'”\u2019»)\]\s]*\Z")
_MASK = re.compile(r"q{3,}")  # what stands for a quotation
_SYMBOLS = re.compile(r"[{}()\[\]<>=;|&+*/\\_#$@^~]")
_MAX_SYMBOLS = 0.12


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause of a sentence."""

    start: int
    end: int
    line: str  # its words without those that only lead to it, each with a space behind it, after a space
    places: tuple[int, ...]  # where each word of the line begins
    full: str  # all its words
    conjunction: str  # the word like "but" or "because" that it begins with


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence without what it asks at its end."""

    text: str
    clauses: tuple[Clause, ...]
    whole: str  # the sentence as it was said

    @property
    def words(self) -> str:
        """Its words in lower case, without what it quotes."""
        return " ".join(word for clause in self.clauses for word in clause.full.split() if not _MASK.fullmatch(word))

    def gives_reason(self, language: Language) -> bool:
        return language.lists["leads"].match(line_of(self.text), 1) is not None


def read_sentences(message: Message) -> list[tuple[str, str]]:
    """The sentences to look at, each also with its quotations masked by a word that no phrase has."""
    masked = _QUOTED.sub(lambda quote: "q" * len(quote.group()), message.text[:_MAX_CHARACTERS])
    found = prose(message.text)
    if message.role == "assistant":
        found = [sentence for sentence in found[:_FIRST_OF_ASSISTANT] if sentence.kind == "prose"]
    return [(sentence.text, masked[sentence.start : sentence.end]) for sentence in found]


def prose(text: str) -> list[Sentence]:
    """The sentences of a text that are no code, quotation or heading; of a very long one the first and the last."""
    found = [
        sentence
        for sentence in sentences(text[:_MAX_CHARACTERS], MAX_SENTENCE)
        if sentence.kind in {"prose", "item"}
        and len(_SYMBOLS.findall(sentence.text)) <= _MAX_SYMBOLS * len(sentence.text)
    ]
    return [*found[:_MAX_SENTENCES], *found[max(_MAX_SENTENCES, len(found) - _LAST_SENTENCES) :]]


def state(text: str, masked: str, language: Language) -> Statement | None:
    """What the sentence states, without the question at its end; None if it only asks."""
    stated: list[Clause] = []
    for clause in _clauses(masked, language):
        if language.lists["asks"].search(clause.line):
            end = clause.start
            break
        stated.append(clause)
    else:
        if _ASKED.search(text):
            return None
        end = len(text)
    return Statement(text[:end].rstrip(EDGE), tuple(stated), text) if stated else None


def line_of(text: str) -> str:
    """The words of a text as phrases are looked for in them."""
    return "".join(f" {fold(word)}" for word in WORD.findall(text)) + " "


def _clauses(text: str, language: Language) -> Iterator[Clause]:
    found = [(match.start(), match.end(), fold(match.group())) for match in WORD.finditer(text)]
    first = 0
    for at in range(1, len(found) + 1):
        if at == len(found) or _begins(text, found, at, language):
            end = len(text) if at == len(found) else found[at][0]
            yield _clause(found[first:at], end, language, begins=first == 0)
            first = at


def _begins(text: str, found: Sequence[tuple[int, int, str]], at: int, language: Language) -> bool:
    """Whether a new clause begins with a word."""
    if BREAK.search(text, found[at - 1][1], found[at][0]) or found[at][2] in language.sets["conjunctions"]:
        return True
    joins = found[at][2] in language.sets["joints"]
    return joins and at + 1 < len(found) and found[at + 1][2] in language.sets["subjects"]


def _clause(found: Sequence[tuple[int, int, str]], end: int, language: Language, *, begins: bool) -> Clause:
    openers = language.sets["openers"]
    leading = next((at for at, (_, _, word) in enumerate(found[:-1]) if word not in openers), 0)
    kept = found[leading:]
    line, full = (" " * begins + "".join(f" {word}" for _, _, word in part) + " " for part in (kept, found))
    conjunction = found[0][2] if found[0][2] in language.sets["conjunctions"] else ""
    return Clause(found[0][0], end, line, tuple(start for start, _, _ in kept), full, conjunction)
