"""Values as HTML for notebooks: everything is escaped, and nothing is loaded from elsewhere."""

from collections.abc import Iterable
from html import escape
from typing import Any

from lamina.values.fact import Fact
from lamina.values.hit import Hit
from lamina.values.manifest import Context

_CELL = "text-align:left;vertical-align:top"
_TEXT = "white-space:pre-wrap;max-height:20em;overflow:auto;margin:0"


def context_html(context: Context) -> str:
    """The text of a context, and what is in it, why, and what was left out."""
    manifest = context.manifest
    title = f"Context: {context.tokens} of {context.budget.total} tokens, profile {manifest.profile}"
    items = [(one.section, one.kind, one.tokens, one.reason) for one in manifest.items]
    omitted = [(one.section, one.kind, one.tokens, f"left out: {one.reason}") for one in manifest.omitted]
    warnings = "".join(f"<p>{escape(warning)}</p>" for warning in manifest.warnings)
    table = _table(("section", "kind", "tokens", "reason"), [*items, *omitted])
    return f"<b>{escape(title)}</b>{warnings}{_text(context.text)}<details><summary>Manifest</summary>{table}</details>"


def fact_html(fact: Fact) -> str:
    """What is known, since when, how sure, and in which words it was said."""
    until = "" if fact.valid_until is None else f" until {fact.valid_until:%Y-%m-%d}"
    rows = [
        (fact.key or fact.category, fact.value),
        ("status", f"{fact.status}, from {fact.valid_from:%Y-%m-%d}{until}"),
        ("category", fact.category),
        ("confidence, importance", f"{fact.confidence:.2f}, {fact.importance:.2f}"),
        ("quote", fact.quote),
        ("id", fact.id),
    ]
    return _table(("Fact", ""), rows)


def hit_html(hit: Hit) -> str:
    """What was found, where, and the parts of its score."""
    where = "" if hit.session_id is None else f" in {hit.session_id}"
    title = f"{hit.kind}{where}, {hit.created_at:%Y-%m-%d %H:%M}, score {hit.score:.3f}"
    title += f", said {hit.count} times" if hit.count > 1 else ""
    parts = [(name, f"{value:.3f}") for name, value in hit.parts.items()]
    return f"<b>{escape(title)}</b>{_text(hit.text)}{_table(('part', 'value'), parts) if parts else ''}"


def _text(text: str) -> str:
    return f'<pre style="{_TEXT}">{escape(text)}</pre>'


def _table(names: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    head = "".join(f'<th style="{_CELL}">{escape(name)}</th>' for name in names)
    body = "".join(
        "<tr>" + "".join(f'<td style="{_CELL}">{escape(str(cell))}</td>' for cell in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
