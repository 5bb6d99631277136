"""Which heading of a structured summary a statement belongs under. Pure."""

from collections.abc import Sequence

from lamina.models.offline.lexicon import lexicon
from lamina.models.offline.salience import Scored, contents
from lamina.models.offline.word_overlap import folded, tokens_of

_CATCH_ALL = ("situation", "context", "general", "other", "misc", "note", "background", "summary")
_OVERLAP = 1.5


def placed(item: Scored, headings: Sequence[str]) -> int:
    """Index of the heading that fits best: where the summary had it, else by its cues and words."""
    if item.statement.heading in headings:
        return headings.index(item.statement.heading)
    scores = [_fit(item, heading) for heading in headings]
    best = max(scores)
    return scores.index(best) if best > 0 else _catch_all(headings)


def _stems(heading: str) -> list[str]:
    return contents(tokens_of(heading))


def _fit(item: Scored, heading: str) -> float:
    lex = lexicon()
    stems = _stems(heading)
    wanted = {cue: rank for key in reversed(stems) for rank, cue in enumerate(lex.headings.get(key, ()))}
    fit = sum(abs(lex.weights[cue]) / (1 + 0.35 * wanted[cue]) for cue in item.cues if cue in wanted)
    if item.statement.open and "open" in wanted:
        fit += 2 * _OVERLAP
    return fit + _OVERLAP * sum(key in item.stems for key in stems)


def _catch_all(headings: Sequence[str]) -> int:
    for word in _CATCH_ALL:
        for at, heading in enumerate(headings):
            if word in folded(heading):
                return at
    return 0
