"""The people around a user: who is meant by a name or a relation, and what is known of each."""

from collections.abc import Iterable, Sequence

from lamina.knowledge.fact_words import fact_label, names, normalise_value
from lamina.values.fact import Fact


def is_about(fact: Fact, person: str, known: Sequence[Fact], user_id: str) -> bool:
    """Whether a fact is about a person, by name ("Lena", "Lena Berg") or relation ("sister"), in whatever case."""
    wanted = normalise_value(person)
    if wanted in {normalise_value(one) for one in (user_id, *names(known))}:
        return fact.about is None
    if fact.about is None:
        return False
    own = normalise_value(fact.about)
    alike = {own, own.partition(" ")[0]} if " " not in wanted else {own}
    return wanted in alike or not {wanted, *_also(wanted, known)}.isdisjoint({own, *_also(own, known)})


def _also(person: str, known: Iterable[Fact]) -> set[str]:
    """What else a person is called: the name of "sister", by `sister: Lena`, or what Lena is."""
    pairs = [
        (normalise_value(fact_label(fact)), normalise_value(fact.value))
        for fact in known
        if fact.about is None and fact.key is not None and fact.holds and fact.status == "active"
    ]
    return {name for label, name in pairs if label == person} | {label for label, name in pairs if name == person}


def by_person(facts: Sequence[Fact], known: Sequence[Fact]) -> dict[str, list[Fact]]:
    """The facts about others by whom they are about, in order of names; a relation under the one name it has."""
    called: dict[str, set[str]] = {}
    for fact in known:
        if fact.about is None and fact.key is not None:
            called.setdefault(normalise_value(fact_label(fact)), set()).add(fact.value)
    groups: dict[str, list[Fact]] = {}
    written: dict[str, str] = {}
    for fact in facts:
        if fact.about is not None:
            found = called.get(normalise_value(fact.about), set())
            name = next(iter(found)) if len(found) == 1 else fact.about
            groups.setdefault(written.setdefault(normalise_value(name), name), []).append(fact)
    return {name: groups[name] for name in sorted(groups, key=lambda name: (normalise_value(name), name))}
