"""Which clauses can be understood alone."""

from collections.abc import Iterable, Iterator, Sequence

from lamina.language.numbers import numbers_in
from lamina.language.words import STOP_WORDS
from lamina.models.offline.statement_extraction.clauses import MIN_ALONE, Clause
from lamina.models.offline.statement_extraction.cues import Cues, all_cues

_SHORT = 8  # words; a clause no longer needs the one before if any word points back
_FEW = 3  # words with a meaning that a clause without a verb must have
_NO_CONTENT = frozenset(("time", "quantity", "always", "react", "hedge", "change", "ask"))
_TELLING = frozenset(
    f"cue {name}" for name in ("health", "instruct", "limit", "negation", "always", "prefer", "like", "dislike", "kin")
)
_FIGURES = frozenset(("shape number", "cue time", "cue quantity"))
_VERBS = ("past", "future", "modal", "perfect", "be", "present", "order")
_MIN_VERB = 5  # characters of a word with "-ed" or "-ing"


def leans(clause: Clause) -> bool:
    """Whether a clause needs the one before: it is a fragment, or opens with a word that points back."""
    words = clause.segment.words
    cues = all_cues()[clause.language]
    heads = [word for word in words[:3] if (word,) not in cues.split.joints]
    if len(words) < MIN_ALONE or (bool(heads) and heads[0] in cues.split.pointers):
        return True
    if is_fragment(clause) or (_begins_with_place(words, cues) and not _has_verb(words, cues)):
        return True
    return len(words) <= _SHORT and not cues.split.pointers.isdisjoint(words)


def is_fragment(clause: Clause) -> bool:
    """Whether a clause names too little: "1 October", "a contract", "seven... no, fourteen weeks", "I told you".

    Only where the words of verbs are known.
    """
    words, cues = clause.segment.words, all_cues()[clause.language]
    if not cues.predicates or explains_nothing(clause):
        return bool(cues.predicates)
    features, content = clause.features, sum(1 for _ in _content(words, cues))
    if _has_verb(words, cues) or content >= _FEW or not _TELLING.isdisjoint(features):
        return False
    return _FIGURES.isdisjoint(features) or (content == 1 and _begins_with_place(words, cues))


def explains_nothing(clause: Clause) -> bool:
    """Whether a clause has only numbers, dates, reactions and little words."""
    return next(_content(clause.segment.words, all_cues()[clause.language]), None) is None


def _begins_with_place(words: Sequence[str], cues: Cues) -> bool:
    """Whether the first word says where, when or with whom: "from week four, in a pool"."""
    return words[0] in cues.predicates.get("place", ())


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
    vague = cues.predicates.get("vague", frozenset())
    for word in words:
        kinds = {name for phrase, name in cues.phrases.get(word, ()) if len(phrase) == 1}
        if not (word in STOP_WORDS or word in vague or word[0].isdigit() or kinds & _NO_CONTENT or numbers_in(word)):
            yield word
