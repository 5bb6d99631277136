"""How values meet: by each rule, with what is said again, ended, judged by hand, and run out."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lamina.knowledge import conflicts, fact_words
from lamina.knowledge.fact_filter import Filter
from lamina.values.fact import ConflictRule, Fact

START = datetime(2025, 3, 1, tzinfo=UTC)


def day(number: int) -> datetime:
    return START + timedelta(days=number)


def a_fact(number: int, value: str, confidence: float = 0.9, **changes: Any) -> Fact:
    """A fact about the user's location, said on that day."""
    values: dict[str, Any] = {
        "id": f"f{number}",
        "user_id": "ann",
        "type": "fact",
        "category": "identity",
        "key": "location",
        "slot": "location",
        "value": value,
        "origin": "said",
        "confidence": confidence,
        "importance": 0.8,
        "learnt_at": day(number),
        "valid_from": day(number),
        "created_at": START,
        "quote": f"I live in {value}",
        "seq": number,
    }
    return Fact(**{**values, **changes})


def statuses(rule: ConflictRule, *facts: Fact) -> list[str]:
    return [fact.status for fact in conflicts.resolve(facts, rule)]


NEWEST, CONFIDENCE, FLAG = ConflictRule(), ConflictRule(conflicts="confidence"), ConflictRule(conflicts="flag")


@pytest.mark.parametrize(
    ("rule", "second", "want"),
    [
        pytest.param(NEWEST, a_fact(2, "Porto"), ["superseded", "active"], id="newest-wins"),
        pytest.param(NEWEST, a_fact(2, "Porto", 0.65), ["superseded", "active"], id="newest-a-little-less-sure"),
        pytest.param(NEWEST, a_fact(2, "Porto", 0.5), ["active", "conflicted"], id="newest-clearly-less-sure"),
        pytest.param(NEWEST, a_fact(2, " berlin."), ["active", "evidence"], id="said-again"),
        pytest.param(CONFIDENCE, a_fact(2, "Porto", 0.9), ["superseded", "active"], id="confidence-equal"),
        pytest.param(CONFIDENCE, a_fact(2, "Porto", 0.8), ["active", "candidate"], id="confidence-lower"),
        pytest.param(FLAG, a_fact(2, "Porto", 1.0), ["active", "conflicted"], id="flag-keeps-both"),
        pytest.param(FLAG, a_fact(2, "Berlin", holds=False), ["superseded", "evidence"], id="flag-ended"),
        pytest.param(NEWEST, a_fact(2, "Berlin", holds=False), ["superseded", "evidence"], id="ended"),
        pytest.param(NEWEST, a_fact(2, "Porto", holds=False), ["active", "evidence"], id="something-else-ended"),
        pytest.param(CONFIDENCE, a_fact(2, "Porto", 0.1, origin="told"), ["superseded", "active"], id="told-by-hand"),
        pytest.param(
            FLAG, a_fact(2, "Porto", verdict="promoted", verdict_at=day(3)), ["superseded", "active"], id="promoted"
        ),
        pytest.param(
            NEWEST, a_fact(2, "Porto", verdict="demoted", verdict_at=day(3)), ["active", "candidate"], id="demoted"
        ),
        pytest.param(
            NEWEST, a_fact(2, "Porto", verdict="retracted", verdict_at=day(3)), ["active", "retracted"], id="retracted"
        ),
        pytest.param(
            NEWEST, a_fact(2, "Porto", verdict="archived", verdict_at=day(3)), ["superseded", "archived"], id="archived"
        ),
        pytest.param(ConflictRule(promote=0.7), a_fact(2, "Porto", 0.6), ["active", "candidate"], id="not-sure-enough"),
    ],
)
def test_two_values_meet(rule: ConflictRule, second: Fact, want: list[str]) -> None:
    """What becomes of a first value, sure to 0.9, and of a second, by the rule."""
    assert statuses(rule, a_fact(1, "Berlin"), second) == want
    assert statuses(rule, second, a_fact(1, "Berlin")) == want, "the order of writing does not matter"


def beside(number: int, value: str, **changes: Any) -> Fact:
    """A fact that stands beside other values of its key."""
    return a_fact(number, value, slot=f"location ={value.casefold()}", **changes)


def instead(number: int, value: str, **changes: Any) -> Fact:
    """A fact that takes the place of all values of its key."""
    return a_fact(number, value, slot="location =", **changes)


@pytest.mark.parametrize(
    ("facts", "want"),
    [
        pytest.param([a_fact(1, "Berlin"), beside(2, "Porto")], ["active", "active"], id="beside"),
        pytest.param([beside(1, "Berlin"), beside(2, "Porto")], ["active", "active"], id="both-beside"),
        pytest.param(
            [a_fact(1, "Berlin"), beside(2, "Porto"), a_fact(3, "Rome")],
            ["superseded", "active", "active"],
            id="only-the-first-is-replaced",
        ),
        pytest.param(
            [a_fact(1, "Berlin"), beside(2, "Porto"), a_fact(3, "Porto", holds=False)],
            ["active", "superseded", "evidence"],
            id="one-beside-ended",
        ),
        pytest.param(
            [a_fact(1, "Berlin"), beside(2, "Porto"), beside(3, "Berlin", holds=False)],
            ["superseded", "active", "evidence"],
            id="the-first-ended",
        ),
        pytest.param(
            [beside(1, "Berlin"), beside(2, "Porto"), instead(3, "Rome")],
            ["superseded", "superseded", "active"],
            id="in-place-of-all",
        ),
        pytest.param(
            [beside(1, "Berlin"), instead(2, "Rome"), beside(3, "Porto"), beside(4, "Rome")],
            ["superseded", "active", "active", "evidence"],
            id="said-again-beside",
        ),
        pytest.param(
            [a_fact(1, "Berlin"), beside(2, "Porto"), a_fact(3, "Porto")],
            ["active", "active", "evidence"],
            id="one-beside-said-again",
        ),
        pytest.param(
            [beside(1, "Berlin"), instead(2, "Rome", verdict="retracted", verdict_at=day(3))],
            ["active", "retracted"],
            id="what-was-retracted-replaces-nothing",
        ),
    ],
)
def test_values_beside_each_other(facts: list[Fact], want: list[str]) -> None:
    """Values beside each other hold together, until one is said to have ended, or another to be in place of all."""
    assert statuses(NEWEST, *facts) == want
    assert statuses(NEWEST, *reversed(facts)) == want, "the order of writing does not matter"


@pytest.mark.parametrize(
    ("slot", "key", "want"),
    [
        pytest.param("location =berlin", "location", "location =porto", id="beside"),
        pytest.param("=berlin", None, "=porto", id="no-key"),
    ],
)
def test_a_slot_does_not_tell_a_value_that_is_gone(slot: str, key: str | None, want: str) -> None:
    """Once the first version is erased, later ones get a slot made of their own value."""
    first = a_fact(1, "Berlin", slot=slot, key=key)
    second = a_fact(2, "Porto", slot=slot, key=key, replaces="f1")
    assert conflicts.new_slots([first, second]) == {}
    assert conflicts.new_slots([second]) == {"f2": want}


def test_a_value_ends_when_the_next_begins() -> None:
    """Not when that was said, but since when it holds by the words."""
    late = a_fact(9, "Porto", valid_from=day(5))
    old, new = conflicts.resolve([a_fact(1, "Berlin"), late], NEWEST)
    assert (old.valid_until, old.of, new.version) == (day(5), "f9", 2)
    assert [f.value for f in conflicts.holding([old, new], day(6))] == ["Porto"]
    assert [f.value for f in conflicts.holding([old, new], day(4))] == ["Berlin"]


def test_knowledge_has_its_own_time() -> None:
    """What was said on day 9 of day 5 was not known on day 6."""
    facts = [a_fact(1, "Berlin"), a_fact(9, "Porto", valid_from=day(5))]
    then = conflicts.as_known_at(facts, day(6), NEWEST)
    assert [f.value for f in conflicts.holding(then, day(6))] == ["Berlin"]
    now = conflicts.as_known_at(facts, day(9), NEWEST)
    assert [f.value for f in conflicts.holding(now, day(6))] == ["Porto"]


def test_a_verdict_counts_from_when_it_was_given() -> None:
    """Before it was retracted, the value held."""
    facts = [a_fact(1, "Berlin", verdict="retracted", verdict_at=day(4))]
    assert [f.status for f in conflicts.as_known_at(facts, day(3), NEWEST)] == ["active"]
    assert [f.status for f in conflicts.as_known_at(facts, day(4), NEWEST)] == ["retracted"]


def test_a_return_is_a_new_value() -> None:
    """Berlin, Porto, Berlin: three versions, of which the last holds."""
    settled = conflicts.resolve([a_fact(1, "Berlin"), a_fact(2, "Porto"), a_fact(3, "Berlin")], NEWEST)
    assert [(f.status, f.version) for f in settled] == [("superseded", 1), ("superseded", 2), ("active", 3)]


def test_what_ran_out_does_not_stand_in_the_way() -> None:
    """A value with an end makes room for any other after it, even where conflicts are flagged."""
    brief = a_fact(1, "Rome", until=day(3))
    settled = conflicts.resolve([brief, a_fact(5, "Porto")], FLAG)
    assert [f.status for f in settled] == ["superseded", "active"]
    assert settled[0].valid_until == day(3)


def test_conflicts_end_when_one_side_is_promoted() -> None:
    """The others are superseded by it."""
    promoted = a_fact(3, "Oslo", verdict="promoted", verdict_at=day(4))
    settled = conflicts.resolve([a_fact(1, "Berlin"), a_fact(2, "Porto"), promoted], FLAG)
    assert [(f.status, f.of) for f in settled] == [("superseded", "f3"), ("superseded", "f3"), ("active", None)]


def test_one_side_of_a_conflict_ends() -> None:
    """What was said against the value that stands is over when the user says that it does not hold."""
    settled = conflicts.resolve([a_fact(1, "Berlin"), a_fact(2, "Porto"), a_fact(3, "porto", holds=False)], FLAG)
    assert [(f.status, f.of) for f in settled] == [("active", None), ("superseded", "f3"), ("evidence", None)]
    assert settled[1].valid_until == day(3)


def test_evidence_makes_a_value_surer() -> None:
    """By the rule of confidence, a value said again surely is not replaced by one less sure."""
    facts = [a_fact(1, "Berlin", 0.5), a_fact(2, "Berlin", 0.95), a_fact(3, "Porto", 0.7)]
    assert statuses(CONFIDENCE, *facts) == ["active", "evidence", "candidate"]


def test_a_mark_tells_nothing_but_equality() -> None:
    """The same value in another writing has the same mark; another user, key or secret gives another."""
    mark = fact_words.mark(b"secret", a_fact(1, "Berlin"))
    assert mark == fact_words.mark(b"secret", a_fact(7, "BERLIN "))
    others = [a_fact(1, "Porto"), a_fact(1, "Berlin", user_id="bob"), a_fact(1, "Berlin", slot="hometown")]
    assert mark not in [fact_words.mark(b"secret", other) for other in others]
    assert mark != fact_words.mark(b"other", a_fact(1, "Berlin"))


@pytest.mark.parametrize(
    ("fact", "want"),
    [
        pytest.param(a_fact(1, "Berlin"), ["Berlin"], id="value"),
        pytest.param(a_fact(1, "likes jazz", category="preference", quote="I love Jazz"), ["Jazz"], id="what-is-liked"),
        pytest.param(a_fact(1, "no", quote="I don't eat pork, no"), [], id="too-short-to-tell"),
    ],
)
def test_what_gives_a_fact_away(fact: Fact, want: list[str]) -> None:
    """The words of its value as they stand in its quote."""
    assert fact_words.telling(fact) == want


@pytest.mark.parametrize(
    ("wanted", "takes"),
    [
        pytest.param(Filter(), True, id="anything"),
        pytest.param(Filter(types=frozenset({"goal"})), False, id="type"),
        pytest.param(Filter(categories=frozenset({"identity", "x"})), True, id="category"),
        pytest.param(Filter(tags=frozenset({"home"})), True, id="tag"),
        pytest.param(Filter(tags=frozenset({"work"})), False, id="other-tag"),
        pytest.param(Filter(min_importance=0.81), False, id="importance"),
        pytest.param(Filter(since=day(1)), True, id="since"),
        pytest.param(Filter(until=day(1)), False, id="until"),
        pytest.param(Filter(statuses=frozenset({"active"})), False, id="status"),
    ],
)
def test_filters(wanted: Filter, takes: bool) -> None:
    """Each restriction by itself; what is left empty restricts nothing."""
    assert wanted.takes(a_fact(1, "Berlin", tags=("home",))) is takes
