"""Passages recalled for a context: which are worth their tokens, and what to keep of a long one."""

import re
from collections.abc import Callable, Sequence

from lamina.context.budget import CUT_MARK
from lamina.context.candidates import Draft, Hits
from lamina.context.items import Item
from lamina.language.trim import trim
from lamina.language.words import query_terms, terms

_MAX_TOKENS = 240  # a passage longer than this, and than half of the budget, is cut
_CUT_TOKENS = 120  # to about this
_LINE_TOKENS = 1  # of a passage's line beside its words and who said them
_SENTENCE = re.compile(r"(?<=[.!?\u3002\uff01\uff1f])\s+|\n+")
_READ = 40_000  # characters of a passage that are looked at


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
        if hit.until is not None and hit.kind != "fact":  # a fact's own words have it
            times += f" (until {hit.until:%Y-%m-%d})"
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
            tokens=tokens + lengths[who] + _LINE_TOKENS + count(times),
            reason="",  # in the manifest, of what is taken
            id=hit.id,
            session_id=hit.session_id,
            message_ids=hit.message_ids,
            span=hit.span if hit.kind in {"message", "summary"} else None,
            label=who,
            times=times,
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

    '' if not even one fits.
    """
    sentences = [part.strip() for part in _SENTENCE.split(text[:_READ]) if part.strip()]
    wanted = frozenset(asked)
    worth = [(len(wanted.intersection(terms(sentence))), -place) for place, sentence in enumerate(sentences)]
    mark = count(CUT_MARK)
    room, kept = tokens - mark, set[int]()
    for shared, place in sorted(worth, reverse=True):
        price = count(sentences[-place]) + mark
        if price <= room and (shared or not kept):
            kept.add(-place)
            room -= price
    parts: list[str] = []
    for place in sorted(kept):
        if place and place - 1 not in kept:
            parts.append(CUT_MARK.strip())
        parts.append(sentences[place])
    if parts and (max(kept) < len(sentences) - 1 or len(text) > _READ):
        parts.append(CUT_MARK.strip())
    return " ".join(parts)
