"""What becomes of memories that are told: facts in the place of what they change, and what has ended."""

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from lamina.knowledge import changes, conflicts, told
from lamina.knowledge.restatements import end_restated
from lamina.knowledge.told import MAX_VALUE, Told
from lamina.language.dates import windows
from lamina.language.words import terms
from lamina.protocols.models import FactDraft, Statement, StatementReader
from lamina.values.fact import ConflictRule, Fact

_MOMENT = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Telling:
    """What one memory adds and changes."""

    facts: tuple[Fact, ...]
    rests: tuple[Fact, ...]  # older texts without what has ended
    changed: tuple[Fact, ...]  # the same texts as they were, ended


def read_telling(
    given: Told,
    statement: Statement | None,
    known: Sequence[Fact],
    in_first_person: Callable[[str], str],
    *,
    now: datetime,
    new_id: Callable[[], str],
    model: str,
) -> Telling:
    """A memory as facts, with the known ones that it changes; without a statement, the text as it is."""
    reads = statement is not None and given.key is None and given.category is None
    ended = changes.changed_words(given.text, known, in_first_person) if reads else frozenset[str]()
    facts = told.facts_of(given, statement, known, now=now, new_id=new_id, model=model, ended=ended)
    if facts[-1].key is None and facts[-1].model is None:
        facts[-1] = told.join_repeat(facts[-1], known, in_first_person)
    if reads:
        placed = changes.place_changes(facts, known, in_first_person)
        facts = placed if given.valid_from else [_dated(fact, known, now) for fact in placed]
    facts = end_restated(facts, known, flags=False)
    changed, rests = told.leftovers(facts, known, now=now, new_id=new_id)
    return Telling(facts=tuple(facts), rests=tuple(rests), changed=tuple(changed))


def _dated(fact: Fact, known: Sequence[Fact], now: datetime) -> Fact:
    """A text that took the place of a known fact, since the day that it names: "died in May 2024"."""
    if fact.key is not None or not any(conflicts.place_of(one) == conflicts.place_of(fact) for one in known):
        return fact
    start = next((window.start for window in windows(fact.value, now) if window.start < now), None)
    return fact if start is None else replace(fact, valid_from=start)


def worth_keeping(read: Statement, text: str, as_wanted: Callable[[FactDraft], FactDraft | None]) -> Statement:
    """A statement with the drafts that are wanted, as they are; the others are left unread."""
    kept = tuple(draft for one in read.drafts if (draft := as_wanted(one)) is not None)
    return replace(read, drafts=kept, unread=read.unread if len(kept) == len(read.drafts) else frozenset(terms(text)))


def read_texts(
    texts: Sequence[Fact],
    known: Iterable[Fact],
    reader: StatementReader,
    rule: ConflictRule,
    as_wanted: Callable[[FactDraft], FactDraft | None],
) -> tuple[list[Fact], list[Fact]]:
    """Memories of another tool, read one after the other as if they were told when they were learnt.

    The facts that they make, and the known facts that they change. The first fact of each has the id of the memory.
    """
    users = {fact.id: fact for fact in known}
    before = set(users)
    last: datetime | None = None
    changed: dict[str, Fact] = {}
    for text in sorted(texts, key=lambda one: one.learnt_at):
        at = text.learnt_at if last is None or text.learnt_at > last else last + _MOMENT
        last = at
        current = [fact for fact in users.values() if fact.status in {"active", "conflicted"}]
        telling = _read_text(replace(text, learnt_at=at), current, reader, as_wanted)
        changed |= {fact.id: fact for fact in telling.changed}
        users |= {fact.id: fact for fact in (*telling.changed, *telling.facts, *telling.rests)}
        places = {conflicts.place_of(fact) for fact in (*telling.changed, *telling.facts, *telling.rests)}
        family = [fact for fact in users.values() if conflicts.place_of(fact) in places]
        for some in conflicts.by_family(family).values():
            users |= {fact.id: fact for fact in conflicts.resolve(some, rule)}
    new = [fact for fact in users.values() if fact.id not in before]
    return new, [fact for fact in changed.values() if fact.id in before]


def _read_text(
    text: Fact, current: Sequence[Fact], reader: StatementReader, as_wanted: Callable[[FactDraft], FactDraft | None]
) -> Telling:
    if len(text.value) > MAX_VALUE:
        return Telling(facts=(text,), rests=(), changed=())
    names = told.names_of(text.user_id, current)
    ids = _ids(text.id)
    telling = read_telling(
        Told(user_id=text.user_id, text=text.value, tags=text.tags, valid_until=text.until),
        worth_keeping(reader.read(text.value, names, text.learnt_at), text.value, as_wanted),
        current,
        functools.partial(reader.in_first_person, names=names),
        now=text.learnt_at,
        new_id=lambda: next(ids),
        model=reader.name,
    )
    return replace(telling, facts=tuple(_as_imported(fact, text) for fact in telling.facts))


def _ids(first: str) -> Iterator[str]:
    yield first
    number = 2
    while True:
        yield f"{first}:{number}"
        number += 1


def _as_imported(fact: Fact, text: Fact) -> Fact:
    """A fact with what the other tool says of its memory, where the words do not say it better."""
    fact = replace(fact, created_at=text.created_at, importance=max(fact.importance, text.importance))
    if fact.key is None and fact.model is None and fact.slot.startswith("="):
        return replace(fact, type=text.type, category=text.category, valid_from=text.valid_from)
    return fact
