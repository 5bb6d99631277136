"""Output for a terminal: what a search has found, each hit with the sentences that matter."""

from collections.abc import Mapping, Sequence

from rich.text import Text

from lamina.cli.display import day, short
from lamina.cli.output import Card, Cards, listing
from lamina.context.passages import excerpt
from lamina.language.trim import trim
from lamina.language.words import query_terms
from lamina.values.hit import Explained, Hit

_PARTS = 5  # of a score
_MAX_TEXT = 210  # characters of a hit; three lines in 80 columns
_FOOT = "in brackets: how likely it answers, from 0 to 1"
_WORDS = ((0.6, "very likely"), (0.3, "likely"), (0.1, "perhaps"), (0.0, "unlikely"))  # that it answers


def hits_cards(query: str, hits: Sequence[Hit], titles: Mapping[str, str], *, weighted: bool, full: bool) -> Cards:
    """Each hit with what it is, when and where it was said, and how likely it answers the query."""
    cards, rows = [], []
    for rank, hit in enumerate(hits, 1):
        score = f"score {hit.score:.2f}" if weighted else likelihood(hit.score)
        text = hit.text if full else passage(hit.text, query)
        facts = [_what(hit), day(hit.created_at), _where(hit, titles), *_repeats(hit), score]
        note = _largest(hit.parts) if hit.parts else ""
        cards.append(Card(head=f"{rank:>2}. " + " · ".join(part for part in facts if part), text=Text(text), note=note))
        row = (str(rank), f"{hit.score:.2f}", hit.kind, day(hit.created_at), _where(hit, titles), text)
        rows.append((*row, note) if any(hit.parts for hit in hits) else row)
    columns = ("rank", "score", "kind", "when", "where", "text")
    all_columns = (*columns, "parts") if any(hit.parts for hit in hits) else columns
    return Cards(cards, listing(all_columns, rows), "" if weighted else _FOOT)


def likelihood(score: float) -> str:
    """How likely something answers, in words and as the number that --min-score takes."""
    word = next(word for least, word in _WORDS if score >= least)
    return f"{word} ({score:.2f})"


def passage(text: str, query: str) -> str:
    """The sentences of a text that have the words of a query; of a short text, all of it."""
    one_line = " ".join(text.split())
    if len(one_line) <= _MAX_TEXT:
        return one_line
    found = excerpt(text, query_terms(query), _MAX_TEXT, len)
    return " ".join((found or f"{trim(text, _MAX_TEXT, len)} […]").split())


def search_line(explained: Explained) -> Text:
    """How many items matched, and the time of each step."""
    times = ", ".join(f"{stage.name} {stage.ms:.1f} ms" for stage in explained.stages)
    return Text(f"{explained.related:,} of {explained.considered:,} matched; {times}", style="dim")


def _what(hit: Hit) -> str:
    if hit.kind == "message":
        return f"{hit.name or hit.role or 'message'} said" if hit.role != "tool" else "tool result"
    return f"{hit.kind} {short(hit.id)}"


def _where(hit: Hit, titles: Mapping[str, str]) -> str:
    """The session by its title, if it has one, and the number of the message."""
    if hit.session_id is None:
        return ""
    title = titles.get(hit.session_id)
    place = f"{title} ({hit.session_id})" if title else hit.session_id
    return f"{place} #{hit.span.first}" if hit.kind == "message" and hit.span else place


def _repeats(hit: Hit) -> list[str]:
    return [f"said {hit.count:,} times"] if hit.count > 1 else []


def _largest(parts: Mapping[str, float]) -> str:
    """The parts with the largest share in a score, and the similarity of the vectors."""
    named = sorted(((name, part) for name, part in parts.items() if name != "cosine"), key=lambda pair: -abs(pair[1]))
    parts_ = [f"{name.replace('_', ' ')} {part:.2f}" for name, part in named[:_PARTS] if round(part, 2)]
    return "  ".join([*parts_, f"cosine {parts.get('cosine', 0.0):.2f}"])
