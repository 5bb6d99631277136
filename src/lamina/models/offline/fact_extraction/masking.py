"""Masks and drops what is not the writer's own statement: code, quotations, pasted talk and mail, secrets."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lamina.language.sentences import Sentence, sentences
from lamina.models.offline.fact_extraction.tokens import MASK, fold

MAX_SENTENCE = 600  # characters; what is longer is pasted, or nothing that a fact could be read from
_MIN_LABELS = 2
_MAX_LABEL_WORDS = 3
_MAX_LINES = 400
_MAX_TITLE_WORDS = 4

# An opening mark stands before a word and a closing one behind one, so that inches and apostrophes are left alone.
_QUOTED = re.compile(
    r"(?<![\w\"])\"(?=\S)[^\"]{1,3000}(?<=\S)\"(?!\w)|“[^“”]{1,3000}”|„[^“”„]{1,3000}[“”]|«[^«»]{1,3000}»"
    r"|»[^«»]{1,3000}«|「[^「」]{1,3000}」|『[^『』]{1,3000}』|\u2018[^\u2018\n]{1,300}\u2019(?!\w)"
    r"|(?<![\w'])'(?=\w)[^'\n]{1,200}(?:'\w{1,3}\b[^'\n]{1,200}){0,4}'(?!\w)|`[^`\n]{1,400}`"
)
_ASIDE = re.compile(r"\[[^\[\]\n]{0,600}\]|<[^<>\n]{1,300}>|https?://\S{1,2000}")
_SPEAKER = re.compile(r"(?m)^([ \t]*)<([^<>\n]{1,30})>(?=[ \t])")
_RULE = re.compile(r"(?m)^[ \t]*(?:-{3,}|={3,}|\*{3,}|_{3,}|~{4,}|\"{3}|'{3}|<{3,}|>{4,})[ \t]*$")
_SIGNED = re.compile(r"(?m)^.{10,600}[.!?”\"][ \t]*[—\u2013~-]{1,2}[ \t]?[A-Z][\w.'-]+(?: [A-Z][\w.'-]+){0,3}[ \t]*$")
_EMPHASIS = re.compile(r"\*{1,3}(?=\w)|(?<=\w)\*{1,3}|(?<!\w)_{1,2}(?=\w)|(?<=\w)_{1,2}(?!\w)")
_WORDS = re.compile(r"[^\W_][\w'\u2019-]*")
_LABEL = re.compile(
    r"[ \t;]*(?:[(\d][\d/.,:() -]{2,30}(?:[AaPp][Mm])?[ \t)-]*)?"
    r"(?P<label>[^\W\d_][\w .'\u2019()-]{0,30}?)[ \t]?[:>][ \t]"
)
_HEADER = re.compile(r"(?m)^[ \t]*(?P<label>[^\W\d_][\w-]{1,12}):[ \t]\S")
_MAYBE_KEY = re.compile(r"\d|-----|://")
_KEYLIKE = re.compile(
    r"(?:\b\d{4}[ -]?){3}\d{1,7}\b|\b\d{13,19}\b|\b\d{3}-\d{2}-\d{4}\b"
    r"|\b(?:sk|pk|rk|ghp|gho|ghs|glpat|xox[abprs]|akia|asia|eyj|aiza|hf|npm|ya29)[-_.a-z0-9]{12,}"
    r"|\b[a-z]{2}\d{2}(?: ?[a-z0-9]{4}){3,7}(?: ?[a-z0-9]{1,4})?\b"
    r"|-----begin|\b\w+://[^\s:/@]+:[^\s@/]+@"
    r"|(?<![\w/.])(?=[\w+/=-]{0,60}?\d)(?=[\w+/=-]{0,60}?[a-z])[\w+/=-]{28,}",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Markers:
    """Words that tell pasted text by its layout."""

    labels: frozenset[str]  # may stand before a colon in the writer's own words
    headers: frozenset[str]  # of a mail
    greetings: frozenset[str]  # first words of a letter
    farewells: frozenset[str]  # its last line
    quoted: frozenset[str]  # a quotation with one of these is not the writer's own


def mask(text: str, quoted: frozenset[str]) -> str:
    """The text with quotations, asides and addresses masked; every other character keeps its place."""
    if "<" in text:
        text = _SPEAKER.sub(r"\1\2: ", text)
    text = _ASIDE.sub(lambda match: ";" + " " * (len(match.group()) - 1), text)
    text = _SIGNED.sub(lambda match: MASK * len(match.group()), text)
    if "*" in text or "_" in text:
        text = _EMPHASIS.sub(lambda match: " " * len(match.group()), text)

    def mask_quote(match: re.Match[str]) -> str:
        inner = match.group()[1:-1]
        words = [fold(word).partition("'")[0] for word in _WORDS.findall(inner)]
        is_title = 0 < len(words) <= _MAX_TITLE_WORDS and quoted.isdisjoint(words)
        return f" {inner} " if is_title else MASK * len(match.group())

    return _QUOTED.sub(mask_quote, text)


def quotations(text: str) -> list[tuple[int, int]]:
    """Where quotations stand, with their marks."""
    return [match.span() for match in _QUOTED.finditer(text)]


def own_sentences(text: str, markers: Markers, longest: int = MAX_SENTENCE * 4) -> Iterator[Sentence]:
    """The sentences of the writer, as far as the layout tells them from pasted text; those over `longest` in pieces."""
    text = text[: _paste_start(text, markers)]
    for sentence in sentences(text, longest):
        if sentence.kind in {"code", "quote", "heading"} or len(sentence.text) > MAX_SENTENCE:
            continue
        if sentence.text.count('"') % 2 or is_secret(sentence.text):
            continue
        yield sentence


def is_secret(text: str) -> bool:
    """Whether a key, a card, an account or the like stands in the text."""
    return _MAYBE_KEY.search(text) is not None and _KEYLIKE.search(text) is not None


def _paste_start(text: str, markers: Markers) -> int:
    """Where a pasted mail or talk begins; the length of the text if there is none."""
    starts = [_letter_start(text, markers)] if "\n" in text else []
    rule = _RULE.search(text)
    if rule:
        starts.append(rule.start())
    if ":" in text or ">" in text:
        heads = [match.start() for match in _HEADER.finditer(text) if fold(match["label"]) in markers.headers]
        starts += [*(heads[:1] if len(heads) > 1 else ()), *_transcript_lines(text, markers.labels)]
    return min(starts, default=len(text))


def _letter_start(text: str, markers: Markers) -> int:
    """Where a letter begins that ends with a line such as "Kind regards,": at its greeting, or at a new paragraph.

    A message that greets nobody by name at its beginning, or ends with such a line and no name below it, is no letter.
    """
    at = 0
    greeting = paragraph = len(text)
    for line in text.splitlines(keepends=True)[:_MAX_LINES]:
        words = fold(line).strip().rstrip(",.!")
        if words in markers.farewells and at:
            signed = text[at + len(line) :].strip() != ""
            return min(greeting, paragraph) if greeting < len(text) or signed else len(text)
        if greeting == len(text) and line.rstrip().endswith(",") and words.partition(" ")[0] in markers.greetings:
            if not at and " " not in words:
                return len(text)
            greeting = at
        if not words and paragraph == len(text):
            paragraph = at
        at += len(line)
    return len(text)


def _transcript_lines(text: str, labels: frozenset[str]) -> list[int]:
    """Where lines with the label of a speaker start, if these are a talk; a single one counts if it has capitals."""
    found: list[int] = []
    named = False
    at = 0
    for line in text.splitlines(keepends=True)[:_MAX_LINES]:
        match = _LABEL.match(line)
        if match and fold(match["label"]).strip() not in labels:
            words = match["label"].split()
            if len(words) <= _MAX_LABEL_WORDS:
                named = named or all(word[:1].isupper() for word in words)
                found.append(at)
        at += len(line)
    return found if len(found) >= _MIN_LABELS or named else []
