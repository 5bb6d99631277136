"""What is new in a conversation that a client sends again and again, against the log that has most of it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Literal, NamedTuple

from lamina.log.messages import text_of


class Sign(NamedTuple):
    """By what a message is known again, though clients trim it or renumber tool calls."""

    role: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Resent:
    """Which of the sent messages are new, and from where on the log was sent again, by their places."""

    new: tuple[int, ...]
    seen: int | None  # place in what is kept; None: nothing was sent again
    answered: bool  # the newest was kept before, with a reply: this is another try


def sign(body: Mapping[str, Any]) -> Sign:
    return Sign(str(body.get("role")), " ".join(text_of(body).split()))


def join(
    sent: Sequence[Sign], kept: Sequence[Sign], *, gone: Collection[int] = (), retried: bool = False
) -> Literal["end", "earlier"] | None:
    """Where a conversation that a client sent goes on from a log: from its end, from an earlier message, or nowhere.

    What was asked last before the newest message must be in the log; from an earlier message, all that was asked. A
    conversation without a reply in it begins: the log has it only if it was never answered, or the client tries again.
    """
    last = len(sent) - 1
    asked = [place for place in range(last) if sent[place].role == "user"]
    if not asked or all(one.role != "assistant" for one in sent[:last]):
        rest = kept[len(sent) :]
        is_known = bool(sent) and [*kept[: len(sent)]] == [*sent] and all(one.role == "assistant" for one in rest)
        return "end" if is_known and (retried or not rest) else None
    places = _places(sent, kept, gone)
    if asked[-1] not in places:
        return None
    reached = max(places.values())
    if reached + 1 == len(kept) or kept[reached + 1] == sent[last]:
        return "end"
    return "earlier" if all(place in places for place in asked) else None


def compare(sent: Sequence[Sign], kept: Sequence[Sign], *, gone: Collection[int] = (), retried: bool = False) -> Resent:
    """Compare what a client sent with the end of the log, where the words at the places in `gone` were forgotten.

    In doubt a message is new: one that is kept twice does less harm than one that is lost. So one message alone is
    known only if the log ends with it, or if the client said that it tries again. But what stands where something was
    forgotten is what was forgotten.
    """
    if not sent:
        return Resent(new=(), seen=None, answered=False)
    last = len(sent) - 1
    places = _places(sent, kept, gone)
    known = max(places, default=-1)
    new = [i for i in range(last) if i not in places and (i > known or sent[i].role == "user")]
    again = _again(sent, kept, places, retried=retried)
    if again is None:
        new.append(last)
    else:
        places[last] = again
    return Resent(
        new=tuple(new),
        seen=_first_seen(kept, set(places.values())),
        answered=again is not None and again + 1 < len(kept),
    )


def _places(sent: Sequence[Sign], kept: Sequence[Sign], gone: Collection[int]) -> dict[int, int]:
    """Where the log has what was sent before the newest message; the latest place if there are several."""
    earlier = sent[:-1]
    places: dict[int, int] = {}
    backwards = SequenceMatcher(None, earlier[::-1], kept[::-1], autojunk=False)
    for block in backwards.get_matching_blocks():
        for i in range(block.size):
            places[len(earlier) - 1 - block.a - i] = len(kept) - 1 - block.b - i
    _place_forgotten(sent, kept, places, set(gone))
    for place, one in enumerate(earlier):  # a reply that the client shortened is the same reply
        before = places.get(place - 1)
        if place in places or one.role != "assistant" or before is None:
            continue
        if before + 1 < len(kept) and kept[before + 1].role == "assistant" and before + 1 not in places.values():
            places[place] = before + 1
    return places


def _place_forgotten(sent: Sequence[Sign], kept: Sequence[Sign], places: dict[int, int], gone: set[int]) -> None:
    """Find what was forgotten by its neighbours, or by the end of the log, since its words say nothing any more."""

    def find(place: int, at: int) -> None:
        if place not in places and at in gone and kept[at].role == sent[place].role:
            places[place] = at
            gone.discard(at)

    last = len(sent) - 1
    for place in range(1, last):
        if place - 1 in places:
            find(place, places[place - 1] + 1)
    end = len(kept) - 1 if kept[-1:] == sent[-1:] else len(kept)
    for place in reversed(range(last)):
        if place + 1 == last or place + 1 in places:
            find(place, (end if place + 1 == last else places[place + 1]) - 1)


def _again(sent: Sequence[Sign], kept: Sequence[Sign], places: Mapping[int, int], *, retried: bool) -> int | None:
    """Where the log has the newest message already."""
    newest = sent[-1]
    if len(sent) > 1:
        before = places.get(len(sent) - 2)
        following = None if before is None else before + 1
        return following if following is not None and kept[following : following + 1] == [newest] else None
    if kept and kept[-1] == newest:
        return len(kept) - 1
    if not retried:
        return None
    said = [place for place, one in enumerate(kept) if one.role == newest.role]
    return said[-1] if said and kept[said[-1]] == newest else None


def _first_seen(kept: Sequence[Sign], sent: set[int]) -> int | None:
    """From where on the client sent all that users said; replies may have been made or dropped on the way."""
    first, place = None, max(sent, default=-1)
    while place >= 0 and (place in sent or kept[place].role != "user"):
        first = place if place in sent else first
        place -= 1
    return first
