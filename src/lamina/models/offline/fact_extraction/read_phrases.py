"""Reads one sentence with a phrase book: which phrases its clauses say, and what facts they make."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from lamina.language.dates import period
from lamina.language.sentences import Sentence
from lamina.models.offline.fact_extraction.grammar import Emission
from lamina.models.offline.fact_extraction.phrase_book import Phrase, PhraseBook
from lamina.models.offline.fact_extraction.tokens import MASK
from lamina.protocols.models import FactDraft
from lamina.values.message import Message

_AHEAD = frozenset(("commitment", "goal", "constraint", "decision"))
_QUESTION = re.compile(r"[?\uff1f؟]\W*\Z")
_EDGES = " \t\n,.;:!?~…、，。；：！？؛،।「」『』“”\"'()（）"  # noqa: RUF001 - marks of these scripts
_QUOTES = (("“", "”"), ("「", "」"), ("『", "』"), ("«", "»"))
_MAX_CLAUSE = 160  # characters; what is longer is no chat
Span = tuple[int, int]


def read_phrases(
    sentence: Sentence, book: PhraseBook, message: Message, before: Sequence[FactDraft]
) -> list[FactDraft]:
    """The facts so far with those of this sentence; their quotes are still empty."""
    found = list(before)
    spans = _clauses(sentence.text, book)
    asks = _QUESTION.search(sentence.text) is not None
    about_others = False
    whole = (0, len(sentence.text))
    if not (asks and len(spans) == 1):
        found = _read_span(whole, sentence, book, message, found, about_others=False, whole=True)
    for place, span in enumerate(spans):
        clause = sentence.text[slice(*span)]
        if book.others.search(clause):
            about_others = True
        elif book.first_person.search(clause):
            about_others = False
        if (asks and place == len(spans) - 1) or book.asks.search(clause):
            continue
        found = _read_span(span, sentence, book, message, found, about_others=about_others, whole=False)
    return found


def _clauses(text: str, book: PhraseBook) -> list[Span]:
    """Where the clauses stand."""
    ends = [match.span() for match in book.clause_end.finditer(text)]
    starts = [0, *(end for _, end in ends)]
    spans = zip(starts, [*(start for start, _ in ends), len(text)], strict=True)
    return [(start, end) for start, end in spans if text[start:end].strip(_EDGES)]


def _allows(emission: Emission, clause: str, sentence: str, book: PhraseBook) -> bool:
    """Whether no guard says that this is no fact."""
    return not any(
        emission.category not in guard.spares and guard.pattern.search(sentence if guard.whole else clause)
        for guard in book.guards
    )


def _is_quoted(place: int, text: str) -> bool:
    """Whether a quotation has begun before this place and ends behind it."""
    return any(text.rfind(opening, 0, place + 1) > text.rfind(closing, 0, place + 1) for opening, closing in _QUOTES)


def _read_span(
    span: Span, sentence: Sentence, book: PhraseBook, message: Message, found: list[FactDraft], *,
    about_others: bool, whole: bool,
) -> list[FactDraft]:  # fmt: skip
    clause = sentence.text[slice(*span)].rstrip(_EDGES)
    if len(clause) > _MAX_CLAUSE:
        return found
    for phrase in book.phrases:
        if phrase.whole is not whole or (about_others and not phrase.others):
            continue
        match = phrase.pattern.search(clause)
        if match is None or MASK in match.group():
            continue
        if _is_quoted(sentence.start + span[0] + match.start(), message.text):
            continue
        for emission, filled in _fillings(match, phrase, book):
            if _allows(emission, clause, sentence.text, book):
                found = _add(found, _draft(emission, filled, phrase, (span, clause), sentence, message))
    return found


def _fillings(match: re.Match[str], phrase: Phrase, book: PhraseBook) -> Iterator[tuple[Emission, Mapping[str, str]]]:
    """What the match says: every emission, with each item of its lists."""
    choices: dict[str, list[str]] = {}
    for label, text in match.groupdict().items():
        items = book.items.split(text or "") if phrase.lists else [text or ""]
        refused = phrase.refused.get(label)
        kept = [item.strip(_EDGES) for item in items]
        choices[label] = [item for item in kept if item and not (refused and refused.search(item))]
        if not choices[label]:
            return
    for emission in phrase.emissions:
        for filled in product(*choices.values()):
            yield emission, dict(zip(choices, filled, strict=True))


def _draft(
    emission: Emission, filled: Mapping[str, str], phrase: Phrase, place: tuple[Span, str], sentence: Sentence,
    message: Message,
) -> FactDraft:  # fmt: skip
    key, value = emission.key, emission.value
    for label, text in filled.items():
        value = value.replace(f"{{{label}}}", text)
        key = key.replace(f"{{{label}}}", text) if key else key
    (start, _), clause = place
    left = start + len(clause) - len(clause.lstrip(_EDGES))
    end = start + len(clause)
    since, until = period(sentence.text, message.created_at, [(left, end)], ahead=emission.category in _AHEAD)
    ended = since is None and until is not None and until <= message.created_at
    return FactDraft(
        message_id=message.id,
        category=emission.category,
        key=" ".join(key.lower().split()) if key else None,
        value=" ".join(value.split()),
        quote="",
        start=sentence.start + left,
        end=sentence.start + end,
        confidence=phrase.confidence,
        importance=emission.importance,
        holds=phrase.holds and not ended,
        since=since,
        until=None if ended else until,
    )


def _add(found: list[FactDraft], draft: FactDraft) -> list[FactDraft]:
    """The facts with one more: the first reading counts, and a new value takes the place of one that ended."""
    for one in found:
        same = (one.category, one.key) == (draft.category, draft.key)
        if same and (one.value == draft.value or (one.start, one.end) == (draft.start, draft.end)):
            return found
    if draft.key and draft.holds:
        found = [one for one in found if one.holds or (one.category, one.key) != (draft.category, draft.key)]
    return [*found, draft]
