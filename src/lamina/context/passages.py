"""Passages recalled for a context: which are worth their tokens, and what to keep of a long one."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from heapq import nlargest

from lamina.context.budget import CUT_MARK
from lamina.context.candidates import Draft, Hits
from lamina.context.items import Item
from lamina.language.trim import trim
from lamina.language.words import WORD, is_unspaced, query_terms, terms

_MAX_TOKENS = 240  # a passage longer than this, and than half of the budget, is cut
_CUT_TOKENS = 120  # to about this
_LINE_TOKENS = 1  # of a passage's line beside its words and who said them
_SENTENCE = re.compile(r"(?<=[.!?\u3002\uff01\uff1f])\s+|\n+")
_TRIED = 200  # sentences of a passage, the best
_ENDLESS = 200  # characters: of a longer sentence without room, a part is kept
_PART = 100  # words of such a part, at the most
_BEFORE = 3  # of the words before what is asked for, one in so many


def passages(draft: Draft, hits: Hits) -> list[Item]:
    """What was recalled, what is worth most for its tokens first."""
    view, count = draft.view, draft.counter.count
    shown = {message.id for message in view.tail if message.turn == view.tail[-1].turn}
    shown |= {view.digest.id} if view.digest else set()
    lengths: dict[str, int] = {}  # of names, which come again and again
    items = []
    for hit, value in hits:
        if hit.id in shown or (hit.span and draft.is_seen(hit.session_id, hit.span.first)):
            continue
        text, tokens, who = hit.text, hit.tokens, hit.name or hit.role or hit.kind
        times = f" ({hit.count} times)" if hit.count > 1 else ""
        over = hit.until is not None and hit.kind != "fact"  # a fact's own words have it
        end = f" (until {hit.until:%Y-%m-%d})" if over else ""
        if who not in lengths:
            lengths[who] = count(who)
        if cut := tokens > max(_MAX_TOKENS, draft.budget // 2):
            text = excerpt(text, query_terms(draft.asked), _CUT_TOKENS, count)
            text = text or f"{trim(hit.text, _CUT_TOKENS, count)} {CUT_MARK.strip()}"
            tokens = count(text)
        item = Item(
            section="recalled",
            kind="passage" if hit.kind == "message" else hit.kind,
            text=" ".join(text.split("\n")),
            tokens=tokens + lengths[who] + _LINE_TOKENS + sum(count(mark) for mark in (times, end) if mark),
            reason="",  # in the manifest, of what is taken
            id=hit.id,
            session_id=hit.session_id,
            message_ids=hit.message_ids,
            span=hit.span if hit.kind in {"message", "summary"} else None,
            label=who,
            times=times,
            end=end,
            heading=str(hit.created_at.date()),
            value=value,
            score=hit.score,
            parts=hit.parts,
            cut=cut,
        )
        items.append(item)
    return items if draft.profile.weights is not None else sorted(items, key=worth, reverse=True)


def worth(item: Item) -> tuple[float, float]:
    """How much a passage is likely to give for what it costs."""
    return item.value / max(item.tokens, 1), item.value


def excerpt(text: str, asked: Sequence[str], tokens: int, count: Callable[[str], int]) -> str:
    """The sentences of a text that have the most of the asked terms, in their order, marked where others are left out.

    Of a long sentence that does not fit, the words around those terms. '' if nothing fits.
    """
    sentences = [part.strip() for part in _SENTENCE.split(text) if part.strip()]
    wanted = frozenset(asked)
    worth = [(len(wanted.intersection(terms(sentence))), -place) for place, sentence in enumerate(sentences)]
    mark = count(CUT_MARK)
    room, kept = tokens - mark, dict[int, str]()
    for shared, place in nlargest(_TRIED, worth):
        if kept and not shared:
            break
        sentence = sentences[-place]
        price = count(sentence) + mark
        if price > room and not kept and shared and len(sentence) > _ENDLESS:
            sentence = _part(sentence, wanted, room - 2 * mark, count)
            price = count(sentence) + mark
        if sentence and price <= room:
            kept[-place] = sentence
            room -= price
    parts: list[str] = []
    for place in sorted(kept):
        if place and place - 1 not in kept:
            parts.append(CUT_MARK.strip())
        parts.append(kept[place])
    if parts and max(kept) < len(sentences) - 1:
        parts.append(CUT_MARK.strip())
    return " ".join(parts)


def _part(sentence: str, wanted: frozenset[str], tokens: int, count: Callable[[str], int]) -> str:
    """The words around the most of the wanted terms, with marks; '' if none is there, or none fits."""
    words = list(_places(sentence))
    each = (wanted.intersection(terms(sentence[start:end])) for start, end in words)
    found = [(place, term) for place, shared in enumerate(each) for term in shared]
    if not found:
        return ""
    centre = _densest(found)
    mark = CUT_MARK.strip()

    def stretch(size: int) -> str:
        first = max(0, centre - size // _BEFORE)
        last = min(len(words), first + size) - 1
        start = words[first][0] if first else 0
        end = words[last][1] if last < len(words) - 1 else len(sentence)
        return f"{f'{mark} ' if first else ''}{sentence[start:end]}{f' {mark}' if end < len(sentence) else ''}"

    size = bisect_right(range(1, _PART + 1), tokens, key=lambda size: count(stretch(size)))
    return stretch(size) if size else ""


def _places(sentence: str) -> Iterator[tuple[int, int]]:
    """Where the words of a sentence are; of scripts without spaces, each character."""
    for word in WORD.finditer(sentence):
        if is_unspaced(word[0]):
            yield from ((at, at + 1) for at in range(*word.span()))
        else:
            yield word.span()


def _densest(found: Sequence[tuple[int, str]]) -> int:
    """The place where the most different terms begin to stand, the closest together of these."""
    within, first, best = Counter[str](), 0, (0, 0, 0)
    for place, term in found:
        within[term] += 1
        while within[found[first][1]] > 1 or found[first][0] <= place - _PART // 2:
            within -= Counter((found[first][1],))
            first += 1
        start = found[first][0]
        best = max(best, (len(within), start - place, -start))
    return -best[2]
