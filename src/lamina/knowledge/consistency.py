"""Whether summaries agree with the facts."""

from collections.abc import Iterator, Sequence

from lamina.knowledge.fact_words import describe_fact, normalise_value, plain_text
from lamina.values.fact import Fact
from lamina.values.summary import Divergence, Summary

_IMPORTANT = 0.8
_MIN_LENGTH = 3  # characters of a value that can be looked for in a text


def divergences(facts: Sequence[Fact], summaries: Sequence[Summary]) -> Iterator[Divergence]:
    """Live summaries that state what no longer holds, or that lack an important fact from what they cover.

    A summary of the past may have what held then; it is stale only if it goes on past the change.
    """
    active = {(fact.category, fact.slot): fact for fact in facts if fact.status == "active" and fact.holds}
    for summary in summaries:
        text = f" {plain_text(summary.text)} "
        for fact in facts:
            if not _speakable(fact):
                continue
            current = active.get((fact.category, fact.slot))
            if fact.status == "superseded" and _knows_of(summary, fact) and _stale(fact, current, text):
                yield _divergence("stale", fact, summary, f"it has {describe_fact(fact)!r}; {_now(current)}")
            elif fact.status == "active" and _covers(summary, fact) and not _has(text, fact.value):
                yield _divergence(
                    "missing", fact, summary, f"it lacks {describe_fact(fact)!r}, said in messages that it covers"
                )


def _speakable(fact: Fact) -> bool:
    """Whether a summary can be expected to have the value: it is important and was said in these words."""
    own_words = normalise_value(fact.value) in plain_text(fact.quote)
    return (
        fact.holds and fact.importance >= _IMPORTANT and own_words and len(normalise_value(fact.value)) >= _MIN_LENGTH
    )


def _stale(fact: Fact, current: Fact | None, text: str) -> bool:
    """Whether a text has the old value and not the new one; one that has both tells the change."""
    return _has(text, fact.value) and (current is None or not _has(text, current.value))


def _knows_of(summary: Summary, fact: Fact) -> bool:
    """Whether a summary goes on past the end of a fact."""
    return fact.valid_until is not None and summary.updated_at >= fact.valid_until


def _has(text: str, value: str) -> bool:
    return normalise_value(value) in text


def _covers(summary: Summary, fact: Fact) -> bool:
    return summary.session_id == fact.session_id and summary.covers is not None and fact.seq in summary.covers


def _now(current: Fact | None) -> str:
    return "that ended" if current is None else f"now {describe_fact(current)!r} is current"


def _divergence(kind: str, fact: Fact, summary: Summary, text: str) -> Divergence:
    return Divergence(
        kind="stale" if kind == "stale" else "missing",
        fact_id=fact.id,
        summary_id=summary.id,
        session_id=summary.session_id,
        text=text,
    )
