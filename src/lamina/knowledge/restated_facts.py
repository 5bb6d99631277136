"""Statements that say what a keyed fact of the same words says: they end when its value does."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from lamina.knowledge.conflicts import order
from lamina.knowledge.fact_words import normalise_value, plain_text
from lamina.values.fact import Fact


def end_restated(new: Sequence[Fact], known: Iterable[Fact], *, flags: bool) -> list[Fact]:
    """New facts, and an end for every statement that says the value which one of them takes the place of.

    With `flags`, a new value is a conflict and takes the place of none; only what ends a value does.
    """
    every = sorted([*known, *new], key=order)
    found = []
    for fact in new:
        found.append(fact)
        if fact.key is not None and not (flags and fact.holds):
            found += [_end(fact, one, number) for number, one in enumerate(_restated(fact, every))]
    return found


def _restated(fact: Fact, every: Sequence[Fact]) -> Iterator[Fact]:
    """The statements that say the value before this one."""
    values = [one for one in every if _is_before(one, fact)]
    if not values or (normalise_value(values[-1].value) == normalise_value(fact.value)) is fact.holds:
        return
    ended = [one for one in values if normalise_value(one.value) == normalise_value(values[-1].value)]
    for statement in every:
        if statement.key is None and statement.holds and any(_says(statement, one) for one in ended):
            yield statement


def _is_before(one: Fact, fact: Fact) -> bool:
    same = (one.category, one.slot) == (fact.category, fact.slot) and one.key is not None and one.holds
    return same and order(one) < order(fact)


def _says(statement: Fact, fact: Fact) -> bool:
    """Whether a statement has the words of a fact."""
    together = fact.message_id is not None and statement.message_id == fact.message_id
    overlap = statement.start < fact.end and fact.start < statement.end
    return together and overlap and normalise_value(fact.value) in plain_text(statement.value)


def _end(fact: Fact, statement: Fact, number: int) -> Fact:
    return replace(
        fact,
        id=f"{fact.id}-s{number}",
        type=statement.type,
        category=statement.category,
        key=None,
        slot=statement.slot,
        value=statement.value,
        about=statement.about,
        scope=statement.scope,
        reason=None,
        holds=False,
    )
