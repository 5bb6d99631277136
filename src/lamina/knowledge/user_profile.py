"""The user's profile: what is known at a time, as values and as a page to read."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from lamina.knowledge.fact_words import CATEGORIES, describe_fact
from lamina.knowledge.people import by_person
from lamina.values.fact import Fact, UserProfile
from lamina.values.opt_out import OptOut

_TITLES = {
    "identity": "Who they are",
    "relation": "People around them",
    "health": "Health",
    "preference": "Preferences",
    "constraint": "Constraints",
    "instruction": "Standing instructions",
    "goal": "Goals",
    "decision": "Decisions",
    "procedure": "Procedures",
    "commitment": "Commitments",
    "event": "What happened",
    "entity": "Things and projects",
}


def profile(
    user_id: str, facts: Sequence[Fact], as_of: datetime, known_at: datetime, opt_out: OptOut | None = None
) -> UserProfile:
    """A profile from the facts that held: the user's own, then those about others; the most important first."""
    known = {category: place for place, category in enumerate(CATEGORIES)}
    ordered = sorted(facts, key=lambda fact: (known.get(fact.category, len(known)), fact.category))
    own = [fact for fact in ordered if fact.about is None]
    people = by_person([fact for fact in ordered if fact.about is not None], own)
    return UserProfile(
        user_id=user_id,
        as_of=as_of,
        known_at=known_at,
        facts=(*own, *(fact for found in people.values() for fact in found)),
        people={name: tuple(fact.id for fact in found) for name, found in people.items()},
        markdown=_markdown(user_id, own, people, as_of, opt_out),
        opted_out=None if opt_out is None else opt_out.since,
    )


def _markdown(
    user_id: str,
    own: Sequence[Fact],
    people: Mapping[str, Sequence[Fact]],
    as_of: datetime,
    opt_out: OptOut | None,
) -> str:
    lines = [f"# {' '.join(user_id.split())}", "", f"As of {as_of.date()}."]
    category = None
    for fact in own:
        if fact.category != category:
            category = fact.category
            lines += ["", f"## {_TITLES.get(category, category.capitalize())}"]
        lines.append(f"- {_entry(fact)}")
    lines += ["", "## People"] if people else []
    for name, facts in people.items():
        lines += ["", f"### {' '.join(name.split())}", *(f"- {_entry(fact)}" for fact in facts)]
    if not own and not people:
        lines += ["", "Nothing is known yet." if opt_out is None else f"Opted out on {opt_out.since.date()}."]
    return "\n".join(lines) + "\n"


def _entry(fact: Fact) -> str:
    since = f"since {fact.valid_from.date()}"
    until = f", until {fact.valid_until.date()}" if fact.valid_until is not None else ""
    conflict = ", in conflict with something said before" if fact.status == "conflicted" else ""
    return f"{' '.join(describe_fact(fact).split())} ({since}{until}{conflict})"
