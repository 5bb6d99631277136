"""The clauses of a message that are the writer's own, with what the model sees of each."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lamina.language.sentences import Sentence
from lamina.models.offline.fact_extraction.grammar import markers
from lamina.models.offline.fact_extraction.masking import mask, own_sentences, quotations
from lamina.models.offline.statement_extraction.cues import Cues, Split, choose_cues
from lamina.models.offline.statement_extraction.features import Seen, cue_features, word_features
from lamina.models.offline.statement_extraction.predicates import predicate_features
from lamina.models.offline.statement_extraction.segments import Segment, segments

MAX_CHARACTERS = 20_000  # of a message; what follows is mostly pasted
_ORDERS = frozenset(("cue instruct", "cue always", "cue limit"))
_LONGEST = 400  # characters of a sentence; a longer one is read in pieces
SAID_SHARE = 0.5  # of a clause, from which facts say it
MIN_ALONE = 4  # words that a clause must have to be understood alone

Span = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """A clause: text[start:end] of the message."""

    start: int
    end: int
    segment: Segment
    language: str
    features: list[str]  # that every language has
    word_features: list[str]  # for English only

    @property
    def has_cues(self) -> bool:
        """Whether any word says what kind of clause it is."""
        return any(feature.startswith("cue ") for feature in self.features)

    @property
    def hedges(self) -> bool:
        """Whether it begins with a word such as "maybe"."""
        return "early hedge" in self.features

    @property
    def supposes(self) -> bool:
        """Whether it begins with a word such as "if"."""
        return "early suppose" in self.features

    @property
    def orders(self) -> bool:
        """Whether it has a word such as "please" or "always"."""
        return not _ORDERS.isdisjoint(self.features)

    @property
    def changes(self) -> bool:
        """Whether it says that something is no longer as it was."""
        return "cue change" in self.features


def clauses_of(text: str, *, asked: bool = False, facts: Sequence[Span] = ()) -> list[Clause]:
    """The clauses of a message in order; `asked` says that it answers a question.

    Of a clause of which `facts` say the smaller part, what they leave of it.
    """
    text = text[:MAX_CHARACTERS]
    known = markers()
    own = list(own_sentences(mask(text, known.quoted), known, longest=_LONGEST))
    quoted = quotations(text)
    cues = choose_cues([sentence.text for sentence in own])
    found: list[Clause] = []
    before: Seen | None = None
    for number, (sentence, chosen) in enumerate(zip(own, cues, strict=True)):
        whole = segments(text, sentence, number, chosen.split, quoted)
        rests = [_rests(text, segment, sentence, chosen.split, facts) for segment in whole]
        for segment in (one for rest in rests for one in rest):
            seen = Seen(segment=segment, classes=chosen.classes(segment.words))
            found.append(_clause(text, seen, before, sentence, chosen, asked=asked and number == 0, own=own))
            before = seen
    return found


def _rests(text: str, whole: Segment, sentence: Sentence, split: Split, facts: Sequence[Span]) -> list[Segment]:
    """A segment, or what facts leave of it if they say the smaller part, without what is too short to say anything."""
    own = [(start, end) for start, end in facts if start < whole.end and end > whole.start]
    if not own or said_share(text, whole.start, whole.end, own) >= SAID_SHARE:
        return [whole]
    return [
        replace(one, asks=whole.asks)
        for start, end in without_facts(whole.start, whole.end, own)
        for one in segments(text, replace(sentence, text=text[start:end], start=start, end=end), whole.sentence, split)
        if len(one.words) >= MIN_ALONE
    ]


def _clause(
    text: str,
    seen: Seen,
    before: Seen | None,
    sentence: Sentence,
    cues: Cues,
    *,
    asked: bool,
    own: Sequence[Sentence],
) -> Clause:
    segment, words = seen.segment, seen.segment.words
    last = segment.sentence == len(own) - 1
    item = sentence.kind == "item"
    predicates = predicate_features(words, seen.classes, cues.predicates) if cues.predicates else []
    return Clause(
        start=segment.start,
        end=segment.end,
        segment=segment,
        language=cues.language,
        features=cue_features(text, seen, before, cues.density, answers=asked, last=last, item=item),
        word_features=word_features(words) + predicates if cues.language == "en" else [],
    )


def said_share(text: str, start: int, end: int, facts: Sequence[Span]) -> float:
    """The share of the letters of text[start:end] that facts have."""
    letters = sum(map(str.isalnum, text[start:end]))
    left = sum(map(str.isalnum, "".join(text[first:last] for first, last in without_facts(start, end, facts))))
    return 1 - left / max(1, letters)


def without_facts(start: int, end: int, facts: Sequence[Span]) -> list[Span]:
    """What facts leave of text[start:end], in order."""
    left, at = [], start
    for first, last in sorted(facts):
        if first > at:
            left.append((at, min(first, end)))
        at = max(at, last)
    return [(first, last) for first, last in [*left, (at, end)] if last > first]
