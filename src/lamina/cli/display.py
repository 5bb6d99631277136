"""How things look in a terminal: tables, the layers as strata, the budget as a bar."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from lamina.values.codec import encode
from lamina.values.hit import Explained, Hit
from lamina.values.manifest import Context, Coverage
from lamina.values.message import Message, Span
from lamina.values.report import Report
from lamina.values.session import Session
from lamina.values.statistics import Stats
from lamina.values.summary import Summary

COLOURS: Mapping[str, str] = {
    "system": "bright_black",
    "facts": "magenta",
    "digest": "cyan",
    "summaries": "blue",
    "recalled": "yellow",
    "recent": "green",
    "query": "white",
}
_WIDTH = 44
_DAYS = 14  # that statistics show
_PARTS = 5  # of a score that are shown
_SHOWN = 8  # characters of an id in tables: the last, which are random; the first are a time


def as_json(value: Any) -> str:
    return json.dumps(encode(value), ensure_ascii=False, indent=2)


def short(memory_id: str) -> str:
    return memory_id[-_SHOWN:]


def sessions_table(sessions: Sequence[Session]) -> Table:
    table = Table(box=None, header_style="bold")
    for column in ("session", "user", "status", "messages", "turns", "tokens", "folded", "last message"):
        table.add_column(column, justify="right" if column in {"messages", "turns", "tokens", "folded"} else "left")
    for session in sessions:
        counters = session.counters
        table.add_row(
            escape(session.id),
            escape(session.user_id),
            session.status,
            f"{counters.messages:,}",
            f"{counters.turns:,}",
            f"{counters.tokens:,}",
            f"{counters.cursor:,}",
            f"{session.last_at:%Y-%m-%d %H:%M}",
        )
    return table


def summaries_table(summaries: Sequence[Summary]) -> Group:
    parts: list[RenderableType] = []
    for summary in summaries:
        covers = "" if summary.covers is None else f"messages {summary.covers.first}-{summary.covers.last} · "
        standing = "" if summary.status == "live" else f" · {summary.status}"
        title = f"{summary.kind} · layer {summary.layer} · version {summary.version} · {covers}{summary.tokens} tokens"
        subtitle = f"{summary.id} · {summary.recipe.model}" + (" · fallback" if summary.recipe.fallback else "")
        parts.append(
            Panel(
                Text(summary.text), title=title + standing, subtitle=subtitle, title_align="left", subtitle_align="left"
            )
        )
    return Group(*parts)


def messages_table(messages: Sequence[Message]) -> Table:
    table = Table(box=None, header_style="bold")
    for column in ("#", "time", "who", "text"):
        table.add_column(column, overflow="fold")
    for message in messages:
        who = message.name or message.role
        table.add_row(str(message.seq), f"{message.created_at:%Y-%m-%d %H:%M}", escape(who), Text(message.text))
    return table


def hits_table(hits: Sequence[Hit]) -> Table:
    table = Table(box=None, header_style="bold")
    for column in ("score", "when", "where", "text"):
        table.add_column(column, overflow="fold")
    for hit in hits:
        table.add_row(f"{hit.score:.2f}", f"{hit.created_at:%Y-%m-%d}", escape(_where(hit)), Text(hit.text))
        if hit.parts:
            table.add_row("", "", "", Text(_largest(hit.parts), style="dim"))
    return table


def search_line(explained: Explained) -> Text:
    """How a search went: of how many rows, and the time of each step."""
    took = ", ".join(f"{stage.name} {stage.ms:.1f} ms" for stage in explained.stages)
    return Text(f"{explained.related:,} of {explained.considered:,} related; {took}", style="dim")


def _largest(parts: Mapping[str, float]) -> str:
    """The parts that did most for a score, or against it, and how alike the vectors are."""
    named = sorted(((name, part) for name, part in parts.items() if name != "cosine"), key=lambda pair: -abs(pair[1]))
    told = [f"{name.replace('_', ' ')} {part:.2f}" for name, part in named[:_PARTS] if round(part, 2)]
    return "  ".join([*told, f"cosine {parts.get('cosine', 0.0):.2f}"])


def _where(hit: Hit) -> str:
    if hit.kind == "message" and hit.span:
        return f"{hit.session_id} #{hit.span.first}"
    return f"{hit.kind} {hit.id if hit.kind == 'summary' else short(hit.id)}"


def budget_bar(context: Context) -> Group:
    """Where the tokens of a context went, as one bar against the budget."""
    bar, legend = Text(), Text()
    total = context.budget.total
    listed = sum(context.manifest.sections.values())
    scale = context.tokens / listed if listed else 0  # headings and fences belong to their sections
    for section, tokens in context.manifest.sections.items():
        share = tokens * scale
        bar.append("█" * max(1, round(share / total * _WIDTH)), style=COLOURS.get(section, "white"))
        legend.append(f"■ {section} {tokens:,}  ", style=COLOURS.get(section, "white"))
    free = max(0, _WIDTH - len(bar))
    bar.append("░" * free, style="bright_black")
    bar.append(f" {context.tokens:,} of {total:,} tokens")
    return Group(bar, legend)


def coverage_line(coverage: Coverage) -> Text:
    """Every message of the session in one of four places."""
    text = Text(f"{coverage.messages} messages: ")
    for label, spans, style in (
        ("word for word", coverage.verbatim, "green"),
        ("in summaries", coverage.summarised, "blue"),
        ("left out", coverage.left_out, "yellow"),
        ("blind", coverage.blind, "red"),
    ):
        text.append(f"{sum(map(len, spans))} {label}", style=style)
        text.append("  ")
    return text


def strata(session: Session, history: Sequence[Summary], shown: Iterable[Span] = ()) -> Group:
    """The session as a core sample: messages from left to right, layers from the top down to the raw log."""
    lines: list[RenderableType] = []
    messages = session.counters.messages
    summaries = [summary for summary in history if summary.status != "replaced"]
    for layer in sorted({summary.layer for summary in summaries}, reverse=True):
        line = Text(f"layer {layer}  ", style="bold")
        cells: list[tuple[str, str]] = [(" ", "")] * _WIDTH
        held = [(summary, summary.covers) for summary in summaries if summary.layer == layer and summary.covers]
        for number, (summary, covers) in enumerate(held):
            for cell in _cells(covers, messages):
                cells[cell] = ("▓" if number % 2 else "█", "blue" if summary.status == "live" else "bright_black")
        for character, style in cells:
            line.append(character, style=style)
        live = [summary for summary, _ in held if summary.status == "live"]
        line.append(f" {len(live)} live, {sum(s.tokens for s in live):,} tokens")
        lines.append(line)
    raw = Text("raw log  ", style="bold")
    verbatim = {cell for span in shown for cell in _cells(span, messages)}
    for cell in range(_WIDTH):
        raw.append("█" if cell in verbatim else "▒", style="green" if cell in verbatim else "white")
    raw.append(f" {messages:,} messages, {'some of their words forgotten' if session.erasures else 'all kept'}")
    lines.append(raw)
    return Group(*lines)


def _cells(span: Span, messages: int) -> range:
    """The cells of the picture that a span of messages fills."""
    first = (span.first - 1) * _WIDTH // messages
    return range(first, max(first + 1, -(-span.last * _WIDTH // messages)))


def stats(found: Stats) -> RenderableType:
    """How much there is: a line, then summaries, facts and the last days as far as there are any."""
    total = f"{found.sessions:,} sessions, {found.messages:,} messages of {found.tokens:,} tokens"
    parts: list[RenderableType] = [f"{total}; {found.at_hand_tokens:,} tokens at hand; {found.episodes:,} episodes"]
    if found.summaries:
        rows = [(one.kind, f"{one.layer}", one.status, one.count, one.tokens) for one in found.summaries]
        parts.append(_counts(("summaries", "layer", "status"), ("count", "tokens"), rows))
    if found.facts:
        parts.append(_counts(("facts",), ("count",), [(one.status, one.count) for one in found.facts]))
    if found.growth:
        columns = ("messages", "tokens", "summaries", "facts")
        days = found.growth[-_DAYS:]
        added = [(f"{one.day}", one.messages, one.message_tokens, one.summaries, one.facts) for one in days]
        parts.append(_counts(("day",), columns, added))
    return Group(*parts)


def _counts(names: Sequence[str], numbers: Sequence[str], rows: Iterable[Sequence[str | int]]) -> Table:
    table = Table(box=None, header_style="bold")
    for column in (*names, *numbers):
        table.add_column(column, justify="right" if column in numbers else "left")
    for row in rows:
        table.add_row(*(cell if isinstance(cell, str) else f"{cell:,}" for cell in row))
    return table


def report(console: Console, found: Report) -> None:
    console.print(
        f"{found.sessions:,} sessions, {found.messages:,} messages, "
        f"{found.summaries:,} summaries, {found.facts:,} facts"
    )
    for text in found.mended:
        console.print(f"[green]mended[/] {escape(text)}")
    for problem in found.problems:
        hint = "can be repaired" if problem.derived else "cannot be made anew"
        console.print(f"[red]{problem.kind}[/] {escape(problem.where)}: {escape(problem.text)} [dim]({hint})[/]")
    console.print("[green]clean[/]" if found.ok else f"[red]{len(found.problems)} problems[/]")
