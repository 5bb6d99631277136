"""The facts of a user that were or are true, by id, by slot and by the message in which they were said."""

from collections import defaultdict
from collections.abc import Iterable

from lamina.knowledge.conflicts import place_of
from lamina.values.fact import Fact

SlotKey = tuple[str, str, str | None, str | None]  # category, slot, person, project


class FactTable:
    """Made once for all questions that are asked until something changes."""

    def __init__(self, facts: Iterable[Fact]) -> None:
        self.by_id: dict[str, Fact] = {}
        self.by_slot: dict[SlotKey, list[Fact]] = defaultdict(list)
        self.by_message: dict[str, list[Fact]] = defaultdict(list)
        for fact in facts:
            if fact.holds and fact.status in {"active", "superseded", "conflicted"}:
                self.by_id[fact.id] = fact
                self.by_slot[slot_key(fact)].append(fact)
                if fact.message_id:
                    self.by_message[fact.message_id].append(fact)
        self.shared = [slot for slot in self.by_slot.values() if len(slot) > 1]


def slot_key(fact: Fact) -> SlotKey:
    """Where a fact has its place: one value of it is true at a time."""
    return (*place_of(fact), fact.about, fact.project_id)
