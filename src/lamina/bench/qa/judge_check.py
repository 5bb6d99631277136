"""Answers that are right or wrong by definition, to see how often a judge is mistaken."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from lamina.bench.gold import Gold
from lamina.bench.readers import Question


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """An answer to judge of which it is known whether it is right."""

    question: Question
    gold: Gold
    is_right: bool
    answer: str


def probes(questions: Sequence[Question], most: int, seed: int) -> list[Probe]:
    """For some questions the right answer, and the one that is right for another question."""
    chance = random.Random(seed)  # noqa: S311 - a sample, no secret
    known = [(question, question.answer) for question in questions if question.answer is not None]
    chosen = known if len(known) <= most else chance.sample(known, most)
    found: list[Probe] = []
    for question, gold in chosen:
        if gold.reply is not None:
            found.append(Probe(question=question, gold=gold, is_right=True, answer=gold.reply))
        wrong = gold.trap or _other_answer(question, gold, known, chance)
        if wrong is not None:
            found.append(Probe(question=question, gold=gold, is_right=False, answer=wrong))
    return found


def _other_answer(
    question: Question, gold: Gold, known: Sequence[tuple[Question, Gold]], chance: random.Random
) -> str | None:
    """The answer to another question, of the same category if there is one; never "that is not known"."""
    lent = [
        (one.category, other.text)
        for one, other in known
        if other.form != "unknown"
        and one.category != "abstention"
        and other.reply is not None
        and other.text.casefold() != gold.text.casefold()
    ]
    alike = [text for category, text in lent if category == question.category]
    texts = alike or [text for _, text in lent]
    return chance.choice(texts) if texts else None
