"""The user's profile: what is known at a time, as values and as a page to read."""

from collections.abc import Sequence
from datetime import datetime

from lamina.knowledge.fact_words import CATEGORIES, describe_fact
from lamina.values.fact import Fact, UserProfile

_TITLES = {
    "identity": "Who they are",
    "preference": "Preferences",
    "constraint": "Constraints",
    "instruction": "Standing instructions",
    "goal": "Goals",
    "decision": "Decisions",
    "procedure": "Procedures",
    "commitment": "Commitments",
    "entity": "Things and projects",
}


def profile(user_id: str, facts: Sequence[Fact], as_of: datetime, known_at: datetime) -> UserProfile:
    """A profile from the facts that held, the most important first."""
    known = {category: place for place, category in enumerate(CATEGORIES)}
    ordered = sorted(facts, key=lambda fact: (known.get(fact.category, len(known)), fact.category))
    return UserProfile(
        user_id=user_id,
        as_of=as_of,
        known_at=known_at,
        facts=tuple(ordered),
        markdown=_markdown(user_id, ordered, as_of),
    )


def _markdown(user_id: str, facts: Sequence[Fact], as_of: datetime) -> str:
    lines = [f"# {' '.join(user_id.split())}", "", f"As of {as_of.date()}."]
    category = None
    for fact in facts:
        if fact.category != category:
            category = fact.category
            lines += ["", f"## {_TITLES.get(category, category.capitalize())}"]
        lines.append(f"- {_entry(fact)}")
    if not facts:
        lines += ["", "Nothing is known yet."]
    return "\n".join(lines) + "\n"


def _entry(fact: Fact) -> str:
    since = f"since {fact.valid_from.date()}"
    until = f", until {fact.valid_until.date()}" if fact.valid_until is not None else ""
    conflict = ", in conflict with something said before" if fact.status == "conflicted" else ""
    return f"{' '.join(describe_fact(fact).split())} ({since}{until}{conflict})"
