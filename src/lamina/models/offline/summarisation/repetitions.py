"""What was said again, and what was said anew with another value. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from lamina.models.offline.summarisation.salience import Scored

_NEAR = 0.8  # overlap from which two statements say the same
_MAX_POSTINGS = 30  # a stem in more statements than this says nothing about sameness
_MIN_OVERLAP = 3
_NEGATIONS = frozenset(("no", "not", "never", "cannot", "without", "nor", "neither", "stopped", "quit"))


def consolidate(items: Sequence[Scored]) -> tuple[list[Scored], dict[int, int]]:
    """The statements, what recurs only once; and for each that a newer one corrects, which.

    Of two that say the same the newer stays, unless it says less, or others lean on the older one.
    """
    heads = {one for item in items for one in item.needs}
    bound = heads | {at for at, item in enumerate(items) if item.needs}
    kept: dict[int, Scored] = {}
    instead: dict[int, int] = {}  # which statement stands for one that was left out
    corrected: dict[int, int] = {}
    postings: dict[str, list[int]] = {}
    for at, said in enumerate(items):
        item, keys = said, _keys(said)
        near = _nearest(keys, kept, postings)
        if near is not None and (at not in heads or _is_read_again(item, kept[near])) and _same(item, kept[near]):
            if at in bound or near in bound or not _says_as_much(item, kept[near]):
                instead[at] = near
                continue
            item = _newer(item, kept.pop(near))
            instead[near] = at
        elif near is not None and _corrects(item, kept[near]):
            corrected[near] = at
        for key in keys:
            postings.setdefault(key, []).append(at)
        kept[at] = item
    return _renumber(kept, instead, corrected)


def _renumber(
    kept: Mapping[int, Scored], instead: Mapping[int, int], corrected: Mapping[int, int]
) -> tuple[list[Scored], dict[int, int]]:
    places = {at: place for place, at in enumerate(kept)}

    def place(at: int) -> int:
        while at in instead:
            at = instead[at]
        return places[at]

    items = [
        replace(item, needs=tuple(sorted({place(one) for one in item.needs} - {places[at]}))) if item.needs else item
        for at, item in kept.items()
    ]
    return items, {place(old): place(new) for old, new in corrected.items() if place(old) != place(new)}


def _newer(new: Scored, old: Scored) -> Scored:
    """The newer wording with the standing that the older one had."""
    statement = replace(new.statement, heading=new.statement.heading or old.statement.heading)
    return replace(new, statement=statement, factor=max(new.factor, old.factor), lasting=max(new.lasting, old.lasting))


def _keys(item: Scored) -> dict[str, None]:
    return dict.fromkeys(item.stems) or dict.fromkeys(item.statement.tokens or (item.statement.text,))


def _nearest(keys: Mapping[str, None], kept: Mapping[int, Scored], postings: Mapping[str, list[int]]) -> int | None:
    shared = Counter[int]()
    for key in keys:
        listed = postings.get(key, ())
        if len(listed) <= _MAX_POSTINGS or len(keys) <= _MIN_OVERLAP:
            shared.update(one for one in listed[-_MAX_POSTINGS:] if one in kept)
    best = max(
        shared.items(),
        key=lambda entry: (entry[1] / max(len(_keys(kept[entry[0]])), len(keys)), entry[0]),
        default=None,
    )
    return best[0] if best and (best[1] >= _MIN_OVERLAP or best[1] == len(keys)) else None


def _same(new: Scored, old: Scored) -> bool:
    keys, others = _keys(new), _keys(old)
    if (
        _numbers(keys) != _numbers(others)
        or _is_negated(new) != _is_negated(old)
        or new.statement.asks != old.statement.asks
    ):
        return False
    if new.statement.speaker != old.statement.speaker and "first_person" in new.cues and "first_person" in old.cues:
        return False
    shared = sum(key in others for key in keys)
    return shared >= _NEAR * max(len(keys), len(others)) or shared == len(keys)


def _is_read_again(new: Scored, old: Scored) -> bool:
    """Whether it is the same sentence: an update may read messages that the summary before it has read."""
    return (new.statement.text, new.statement.speaker) == (old.statement.text, old.statement.speaker)


def _says_as_much(new: Scored, old: Scored) -> bool:
    """Whether the newer wording may stand for the older: the same person's, and no word less."""
    if new.statement.speaker != old.statement.speaker or new.statement.open != old.statement.open:
        return False
    keys, others = _keys(new), _keys(old)
    return len(keys) >= len(others) and not new.statement.unclear


def _is_negated(item: Scored) -> bool:
    return any(token in _NEGATIONS or token.endswith("n't") for token in item.statement.tokens)


def _numbers(keys: Iterable[str]) -> list[str]:
    return sorted(key for key in keys if key[:1].isdigit())


def _corrects(new: Scored, old: Scored) -> bool:
    """The same thing said with another value or denied, without a word that it has changed."""
    if new.statement.speaker != old.statement.speaker or "change" in new.cues or new.statement.asks:
        return False
    keys, others = _keys(new), _keys(old)
    plain = [key for key in keys if not key[:1].isdigit()]
    shared = sum(key in others for key in plain)
    if not plain or shared < _NEAR * len(plain):
        return False
    numbers, other_numbers = _numbers(keys), _numbers(others)
    has_another = bool(numbers and other_numbers) and numbers != other_numbers
    return _is_negated(new) != _is_negated(old) or has_another
