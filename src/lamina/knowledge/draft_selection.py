"""Which drafts become facts and episodes where a model and the offline reader read the same messages.

Of the model, what the words support. Of the offline reader, what the model did not find. Nothing twice.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from lamina.knowledge.episodes import jaccard
from lamina.knowledge.fact_drafts import is_faithful
from lamina.knowledge.fact_words import normalise_value, slot_of
from lamina.knowledge.support import is_same, objection
from lamina.language.words import terms
from lamina.protocols.models import EpisodeDraft, FactDraft
from lamina.values.fact import Episode, Fact
from lamina.values.message import Message

UNFAITHFUL = "it is not word for word in a user's message"
_SPARE = 1  # words of a statement that a keyed fact need not have, to say the same
_ALIKE = 0.6  # share of common terms from which two statements, or two episodes, are the same
_MIN_GROUNDED = 0.4  # share of an episode's terms that its messages must have
_BEFORE = 4  # messages before its own that an episode may speak of

Slot = tuple[str, str]  # category and slot


Draft = TypeVar("Draft", FactDraft, EpisodeDraft)


@dataclass(frozen=True, slots=True)
class Selection(Generic[Draft]):
    """Drafts that are taken, with the model that found each, and those that are not, with the reason."""

    taken: tuple[tuple[Draft, str], ...]
    refused: tuple[tuple[Draft, str], ...]


def current_values(facts: Iterable[Fact], names: Mapping[str, str]) -> dict[Slot, set[str]]:
    """The values that stand now, by slot; also under the categories that a profile keeps by another of these names."""
    found: dict[Slot, set[str]] = {}
    for fact in facts:
        for category in (fact.category, *(other for other, name in names.items() if name == fact.category)):
            if fact.holds:
                found.setdefault((category, fact.slot), set()).add(normalise_value(fact.value))
    return found


def select(
    drafts: Sequence[FactDraft],
    model: str,
    messages: Mapping[str, Message],
    *,
    offline: Sequence[FactDraft] = (),
    offline_model: str = "",
    current: Mapping[Slot, set[str]] | None = None,
    check: bool = True,
    join: bool = False,
) -> Selection[FactDraft]:
    """What to take of a model's drafts. `offline`: what the offline reader found in the same messages.

    With `check`, a draft must be supported by its words, also against the `current` values that it would replace.
    With `join`, what only the offline reader found is taken as well.
    """
    values = {slot: set(known) for slot, known in (current or {}).items()}
    taken: list[FactDraft] = []
    refused: list[tuple[FactDraft, str]] = []
    for draft in drafts:
        message = messages.get(draft.message_id)
        if message is None or not is_faithful(draft, message):
            refused.append((draft, UNFAITHFUL))
            continue
        here = [one for one in offline if one.message_id == draft.message_id]
        reason = objection(draft, message, here, replaces=_replaces(draft, values)) if check else None
        if reason is None:
            taken.append(_complete(draft, here))
            if draft.holds:
                values.setdefault(_slot(draft), set()).add(normalise_value(draft.value))
        else:
            refused.append((draft, reason))
    found = [(draft, model) for draft in taken]
    if join:
        found += [(one, offline_model) for one in offline if not any(_says(draft, one) for draft in taken)]
    keyed = [draft for draft, _ in found if draft.key is not None]
    return Selection(
        tuple((draft, name) for draft, name in found if draft.key is not None or not _is_said(draft, keyed)),
        tuple(refused),
    )


def _complete(draft: FactDraft, offline: Sequence[FactDraft]) -> FactDraft:
    """A draft with what only the offline reader found of the same value: since and until when, and why."""
    for one in offline:
        if is_same(draft, one) and normalise_value(draft.value) == normalise_value(one.value):
            since, until = (draft.since, draft.until) if draft.since or draft.until else (one.since, one.until)
            return replace(draft, since=since, until=until, reason=draft.reason or one.reason)
    return draft


def _slot(draft: FactDraft) -> Slot:
    return draft.category, slot_of(draft.key, draft.value, draft.about, draft.scope)


def _replaces(draft: FactDraft, current: Mapping[Slot, set[str]]) -> bool:
    """Whether a draft has another value than one that stands in its slot."""
    known = current.get(_slot(draft), set())
    return draft.key is not None and draft.holds and bool(known) and normalise_value(draft.value) not in known


def _says(taken: FactDraft, offline: FactDraft) -> bool:
    """Whether a draft that was taken says what the offline reader found."""
    if is_same(taken, offline):
        return True
    statements = taken.key is None and offline.key is None and taken.message_id == offline.message_id
    if not statements or taken.start >= offline.end or offline.start >= taken.end:
        return False
    return _alike(taken.value, offline.value)


def _alike(one: str, other: str) -> bool:
    own, others = frozenset(terms(one)), frozenset(terms(other))
    return own <= others or others <= own or jaccard(own, others) >= _ALIKE


def _is_said(statement: FactDraft, keyed: Sequence[FactDraft]) -> bool:
    """Whether keyed facts of the same words say all that a statement does."""
    near = [
        one
        for one in keyed
        if one.message_id == statement.message_id and one.start < statement.end and statement.start < one.end
    ]
    if not near:
        return False
    said = {term for one in near for term in terms(f"{one.key} {one.value} {one.about or ''} {one.scope or ''}")}
    own = set(terms(statement.value))
    return len(own - said) <= _SPARE < len(own) or own <= said


# episodes


def select_episodes(
    drafts: Sequence[EpisodeDraft],
    model: str,
    messages: Sequence[Message],
    before: Sequence[Message] = (),
    *,
    offline: Sequence[EpisodeDraft] = (),
    offline_model: str = "",
    known: Sequence[Episode] = (),
    check: bool = True,
) -> Selection[EpisodeDraft]:
    """What to take of the episodes that a model found in messages; `known`: episodes of the session found before.

    What the offline reader found, too, is taken where the model found nothing like it.
    """
    taken: list[EpisodeDraft] = []
    refused: list[tuple[EpisodeDraft, str]] = []
    read = {message.id for message in messages}
    for draft in drafts:
        reason = None if draft.message_id in read else "it names no message that was read"
        if reason is None and check:
            reason = _ungrounded(draft, (*before, *messages)) or _repetition(draft, taken, known)
        if reason is None:
            taken.append(draft)
        else:
            refused.append((draft, reason))
    beside = [one for one in offline if _repetition(one, taken, known) is None]
    found = [*((draft, model) for draft in taken), *((draft, offline_model) for draft in beside)]
    return Selection(tuple(found), tuple(refused))


def _ungrounded(draft: EpisodeDraft, messages: Sequence[Message]) -> str | None:
    place = next(at for at, message in enumerate(messages) if message.id == draft.message_id)
    own = set(terms(f"{draft.title} {draft.summary}"))
    here = set(terms(messages[place].text))
    near = here.union(*(terms(message.text) for message in messages[max(0, place - _BEFORE) : place]))
    if not own or not own & here or len(own & near) < _MIN_GROUNDED * len(own):
        return "the words of its messages do not support it"
    title = set(terms(draft.title))
    return "the words of its messages do not support its title" if title and not title & near else None


def _repetition(draft: EpisodeDraft, others: Sequence[EpisodeDraft], known: Sequence[Episode]) -> str | None:
    own = frozenset(terms(f"{draft.title} {draft.summary}"))
    for one in others:
        if one.message_id == draft.message_id and one.kind == draft.kind:
            return "its message has an episode of this kind already"
        if jaccard(own, frozenset(terms(f"{one.title} {one.summary}"))) >= _ALIKE:
            return "another episode says nearly the same"
    for old in known:
        same = old.kind == draft.kind and draft.message_id not in old.message_ids
        if same and jaccard(own, frozenset(terms(f"{old.title} {old.summary}"))) >= _ALIKE:
            return "an earlier episode says nearly the same"
    return None
