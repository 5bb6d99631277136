"""Which clauses can be understood alone."""

from collections.abc import Iterable, Iterator, Sequence

from lamina.language.numbers import numbers_in
from lamina.language.words import STOP_WORDS
from lamina.models.offline.statement_extraction.clauses import MIN_ALONE, Clause
from lamina.models.offline.statement_extraction.cues import Cues, all_cues

_SHORT = 8  # words; a clause no longer needs the one before if any word points back
_FEW = 3  # words with a meaning that a clause without a verb must have
_NO_CONTENT = frozenset(("time", "quantity", "react", "hedge", "change", "ask"))
_TELLING = frozenset(
    f"cue {name}" for name in ("health", "instruct", "limit", "negation", "always", "prefer", "like", "dislike", "kin")
)
_FIGURES = frozenset(("shape number", "cue time", "cue quantity"))
_VERBS = ("past", "future", "modal", "perfect", "be", "present", "order")
_MIN_VERB = 5  # characters of a word with "-ed" or "-ing"


def leans(clause: Clause) -> bool:
    """Whether a clause needs the one before: it is a fragment, or opens with a word that points back."""
    words = clause.segment.words
    split = all_cues()[clause.language].split
    heads = [word for word in words[:3] if (word,) not in split.joints]
    if len(words) < MIN_ALONE or (bool(heads) and heads[0] in split.pointers) or is_fragment(clause):
        return True
    return len(words) <= _SHORT and not split.pointers.isdisjoint(words)


def is_fragment(clause: Clause) -> bool:
    """Whether a clause has no verb and names too little: "1 October", "a contract", "seven... no, fourteen weeks".

    Only where the words of verbs are known.
    """
    cues = all_cues()[clause.language]
    if not cues.predicates or _has_verb(clause.segment.words, cues):
        return False
    content = sum(1 for _ in _content(clause.segment.words, cues))
    return not content or (
        content < _FEW and _FIGURES.isdisjoint(clause.features) and _TELLING.isdisjoint(clause.features)
    )


def explains_nothing(clause: Clause) -> bool:
    """Whether a clause has only numbers, dates, reactions and little words."""
    return next(_content(clause.segment.words, all_cues()[clause.language]), None) is None


def _has_verb(words: Sequence[str], cues: Cues) -> bool:
    lists = cues.predicates
    return any(
        any(word in lists[name] for name in _VERBS)
        or "'" in word
        or (len(word) >= _MIN_VERB and word.endswith(("ed", "ing")))
        for word in words
    )


def _content(words: Iterable[str], cues: Cues) -> Iterator[str]:
    """The words that are no number, date, reaction or little word."""
    for word in words:
        kinds = {name for phrase, name in cues.phrases.get(word, ()) if len(phrase) == 1}
        if not (word in STOP_WORDS or word[0].isdigit() or kinds & _NO_CONTENT or numbers_in(word)):
            yield word
