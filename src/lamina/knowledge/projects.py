"""Projects: which facts of a session belong to its project, and which memories are seen in it.

What is true of the person is true in every project. A fact of a project has the project in its slot, so that each
project has its own value; in a project, that value comes before the one that is true everywhere.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from urllib.parse import quote

from lamina.knowledge.fact_words import family_of
from lamina.log.messages import EVERY_PROJECT
from lamina.values.fact import Fact

PERSONAL = frozenset(("identity", "relation", "health", "preference"))  # categories of what is true of a person
# Keys of constraints that are a person's own, by their first word.
_PERSONAL_KEYS = frozenset(("allergy", "allergies", "intolerance", "diet", "disability", "health", "availability"))


def is_personal(fact: Fact) -> bool:
    """Whether a fact is true of the person, in whichever project it was said."""
    return fact.category in PERSONAL or (fact.key or "").split(" ")[0] in _PERSONAL_KEYS


def place(facts: Iterable[Fact], project_id: str | None) -> list[Fact]:
    """Facts that were said in a session of a project: those that are not the person's own belong to it."""
    return [fact if is_personal(fact) else in_project(fact, project_id) for fact in facts]


def in_project(fact: Fact, project_id: str | None) -> Fact:
    """A fact of a project, or of none, wherever it was before."""
    return replace(fact, project_id=project_id, slot=slot_in(plain_slot(fact), project_id))


def without_project(fact: Fact) -> Fact:
    """A fact as if there were no projects: facts of one project can be compared like this."""
    return fact if fact.project_id is None else in_project(fact, None)


def slot_in(slot: str, project_id: str | None) -> str:
    """A slot in a project; each of those beside it is in the project, too."""
    family = family_of(slot)
    return slot if project_id is None else f"{family}{_mark(project_id)}{slot[len(family) :]}"


def plain_slot(fact: Fact) -> str:
    """The slot of a fact without its project."""
    if fact.project_id is None:
        return fact.slot
    family, mark = family_of(fact.slot), _mark(fact.project_id)
    return family.removesuffix(mark) + fact.slot[len(family) :] if family.endswith(mark) else fact.slot


def _mark(project_id: str) -> str:
    """A project as the end of a slot: nothing comparable ends with a bracket, so that no key looks like this."""
    return f" (in {quote(project_id, safe='')})"


def said_in(facts: Iterable[Fact], project_id: str | None) -> list[Fact]:
    """The facts whose place one may take that is said in a session of a project, as if there were no projects."""
    own = [fact for fact in facts if fact.project_id == project_id or (fact.project_id is None and is_personal(fact))]
    return [without_project(fact) for fact in own]


def is_seen(project_id: str | None, asked: str | None) -> bool:
    """Whether what belongs to a project, or to none, is seen in the project that is asked for."""
    return project_id is None or asked in {EVERY_PROJECT, project_id}


def seen(facts: Sequence[Fact], asked: str | None) -> list[Fact]:
    """The facts that are seen in a project, of which its own take the place of those that are true elsewhere."""
    found = [fact for fact in facts if is_seen(fact.project_id, asked)]
    if asked in {None, EVERY_PROJECT}:
        return found
    own = {(fact.category, plain_slot(fact)) for fact in found if fact.project_id is not None and _holds(fact)}
    return [fact for fact in found if fact.project_id is not None or (fact.category, fact.slot) not in own]


def _holds(fact: Fact) -> bool:
    return fact.status in {"active", "conflicted"} and fact.holds
