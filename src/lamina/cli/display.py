"""Output for a terminal: tables, the layers of a session, the budget as a bar."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.text import Text

from lamina.cli.output import Box, Listing, listing
from lamina.counts import count
from lamina.values.codec import READABLE, encode
from lamina.values.manifest import Context, Coverage
from lamina.values.message import Message, Span
from lamina.values.report import Report, Settled
from lamina.values.session import Brief, Session
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
_DAYS = 14  # in statistics
_ID_LENGTH = 8  # characters of an id in tables: the last ones, which are random; the first are a time


def as_json(value: Any) -> str:
    return json.dumps(encode(value, READABLE), ensure_ascii=False, indent=2)


def short(memory_id: str) -> str:
    return memory_id[-_ID_LENGTH:]


def day(at: datetime | None) -> str:
    return "" if at is None else f"{at:%Y-%m-%d}"


def minute(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M}"


def sessions_table(sessions: Sequence[Session]) -> Listing:
    is_titled = any(session.title for session in sessions)
    columns = ("session", "user", "status", "messages", "tokens", "last message")
    rows: list[tuple[Any, ...]] = []
    for session in sessions:
        counts = session.counters
        row = (session.id, session.user_id, session.status, counts.messages, counts.tokens, minute(session.last_at))
        rows.append((*row, Text(session.title or "")) if is_titled else row)
    return listing((*columns, "title") if is_titled else columns, rows, one_line={"status", "last message"})


def summaries_table(summaries: Sequence[Summary]) -> Group:
    parts: list[RenderableType] = []
    for summary in summaries:
        covers = "" if summary.covers is None else f"messages {summary.covers.first}-{summary.covers.last} · "
        standing = "" if summary.status == "live" else f" · {summary.status}"
        version = f"{summary.kind} · layer {summary.layer} · version {summary.version}"
        title = f"{version} · {covers}{count(summary.tokens, 'token')}"
        subtitle = f"{summary.id} · {summary.recipe.model}" + (" · fallback" if summary.recipe.fallback else "")
        parts.append(Box(Text(summary.text), title + standing, subtitle))
    return Group(*parts)


def brief(found: Brief) -> Group:
    """A session's older messages as one text, and how far it reaches."""
    reach = found.last_summarized_message_id
    last = "nothing is folded yet" if reach is None else f"up to message {reach}"
    return Group(Text(found.global_summary), Text(last, style="dim"))


def messages_table(messages: Sequence[Message]) -> Listing:
    rows = ((str(one.seq), minute(one.created_at), one.name or one.role, Text(one.text)) for one in messages)
    return listing(("#", "time", "who", "text"), rows, one_line={"#", "time", "who"})


def budget_bar(context: Context) -> Group:
    """The tokens of each section of a context, as one bar, against the budget."""
    bar, legend = Text(), Text()
    total = context.budget.total
    total_tokens = sum(context.manifest.sections.values())
    scale = context.tokens / total_tokens if total_tokens else 0  # headings and fences belong to their sections
    for section, tokens in context.manifest.sections.items():
        share = tokens * scale
        bar.append("█" * max(1, round(share / total * _WIDTH)), style=COLOURS.get(section, "white"))
        legend.append(f"■ {section} {tokens:,}  ", style=COLOURS.get(section, "white"))
    free = max(0, _WIDTH - len(bar))
    bar.append("░" * free, style="bright_black")
    bar.append(f" {context.tokens:,} of {total:,} tokens")
    return Group(bar, legend)


def coverage_line(coverage: Coverage) -> Text:
    """How many messages of the session the context has, and how."""
    text = Text(f"{count(coverage.messages, 'message')}: ")
    for label, spans, style in (
        ("word for word", coverage.verbatim, "green"),
        ("in summaries", coverage.summarised, "blue"),
        ("left out", coverage.left_out, "yellow"),
        ("not visible", coverage.blind, "red"),
    ):
        text.append(f"{sum(map(len, spans))} {label}", style=style)
        text.append("  ")
    return text


def strata(session: Session, history: Sequence[Summary], shown: Iterable[Span] = ()) -> Group:
    """The session as a picture: messages from left to right, layers from top to bottom, the raw log last."""
    lines: list[RenderableType] = []
    messages = session.counters.messages
    summaries = [summary for summary in history if summary.status != "replaced"]
    for layer in sorted({summary.layer for summary in summaries}, reverse=True):
        line = Text(f"layer {layer}  ", style="bold")
        cells: list[tuple[str, str]] = [(" ", "")] * _WIDTH
        spans = [(summary, summary.covers) for summary in summaries if summary.layer == layer and summary.covers]
        for number, (summary, covers) in enumerate(spans):
            for cell in _cells(covers, messages):
                cells[cell] = ("▓" if number % 2 else "█", "blue" if summary.status == "live" else "bright_black")
        for character, style in cells:
            line.append(character, style=style)
        live = [summary for summary, _ in spans if summary.status == "live"]
        line.append(f" {len(live)} live, {count(sum(s.tokens for s in live), 'token')}")
        lines.append(line)
    raw = Text("raw log  ", style="bold")
    verbatim = {cell for span in shown for cell in _cells(span, messages)}
    for cell in range(_WIDTH):
        raw.append("█" if cell in verbatim else "▒", style="green" if cell in verbatim else "white")
    raw.append(f" {count(messages, 'message')}, {'some words forgotten' if session.erasures else 'complete'}")
    lines.append(raw)
    return Group(*lines)


def _cells(span: Span, messages: int) -> range:
    """The cells of the picture that a span of messages fills."""
    first = (span.first - 1) * _WIDTH // messages
    return range(first, max(first + 1, -(-span.last * _WIDTH // messages)))


def stats(found: Stats) -> RenderableType:
    """How much is stored: a line, then summaries, facts and the last days if there are any."""
    total = (
        f"{count(found.sessions, 'session')}, {count(found.messages, 'message')} with {count(found.tokens, 'token')}"
    )
    current = f"{count(found.at_hand_tokens, 'token')} in live summaries and unfolded messages"
    parts: list[RenderableType] = [f"{total}; {current}; {count(found.episodes, 'episode')}"]
    if found.summaries:
        rows = [(one.kind, f"{one.layer}", one.status, one.count, one.tokens) for one in found.summaries]
        parts.append(listing(("summaries", "layer", "status", "count", "tokens"), rows))
    if found.facts:
        parts.append(listing(("facts", "count"), [(one.status, one.count) for one in found.facts]))
    if found.growth:
        days = found.growth[-_DAYS:]
        growth = [(f"{one.day}", one.messages, one.message_tokens, one.summaries, one.facts) for one in days]
        parts.append(listing(("day", "messages", "tokens", "summaries", "facts"), growth))
    return Group(*parts)


def settle_line(done: Settled) -> str:
    """What was done, without what was not."""
    parts = [
        count(number, noun)
        for number, noun in (
            (done.folds, "fold"), (done.facts, "new fact"), (done.vectors, "vector"), (done.digests, "digest"),
            (done.archived, "archived session"), (len(done.failed), "failed session"),
        )
        if number
    ]  # fmt: skip
    return ", ".join(parts) or "nothing was due"


def report(console: Console, found: Report) -> None:
    console.print(
        f"{count(found.sessions, 'session')}, {count(found.messages, 'message')}, "
        f"{count(found.summaries, 'summary')}, {count(found.facts, 'fact')}"
    )
    for text in found.mended:
        console.print(f"[green]repaired[/] {escape(text)}")
    for problem in found.problems:
        hint = "can be repaired" if problem.derived else "cannot be rebuilt"
        console.print(f"[red]{problem.kind}[/] {escape(problem.where)}: {escape(problem.text)} [dim]({hint})[/]")
    console.print("[green]clean[/]" if found.ok else f"[red]{count(len(found.problems), 'problem')}[/]")
