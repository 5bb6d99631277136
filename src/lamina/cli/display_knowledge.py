"""How what is known looks in a terminal: facts, where they come from, moments, links, versions, receipts."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from lamina.cli.display import short
from lamina.knowledge.fact_words import describe_fact
from lamina.values.fact import Arc, Consolidated, Episode, Fact, Graph, Why
from lamina.values.receipt import Receipt, Scrub
from lamina.values.summary import Change, Divergence, Proposal

__all__ = ["describe_fact"]  # the commands say facts as contexts do

STYLES = {
    "active": "green",
    "superseded": "bright_black",
    "archived": "bright_black",
    "evidence": "bright_black",
    "retracted": "red",
    "conflicted": "yellow",
    "candidate": "cyan",
}
_UNBROKEN = frozenset({"id", "since", "until", "when", "made", "status", "digest"})  # columns
_LISTED = 6  # ids of one kind in a receipt
_OLD_BYTES: Mapping[Scrub, str] = {
    "dead": "not yet gone from the files: others still read them, or the right to vacuum is missing",
    "vacuumed": "in unused parts of the database's files, until they are used again",
    "rewritten": "in no table or index: all were written anew",
    "overwritten": "gone from the files",
}
_MADE = re.compile(r"[a-z]+_[0-9a-f]{32}")  # an id that was not given by the user
_DIFF = {"-": "red", "+": "green"}


def _day(at: datetime | None) -> str:
    return "" if at is None else f"{at:%Y-%m-%d}"


def _table(*columns: str) -> Table:
    table = Table(box=None, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column in _UNBROKEN)
    return table


def facts_table(facts: Sequence[Fact]) -> Table:
    table = _table("id", "category", "fact", "status", "since", "until", "sure")
    for fact in facts:
        table.add_row(
            short(fact.id),
            escape(fact.category),
            Text(describe_fact(fact)),
            Text(fact.status, style=STYLES[fact.status]),
            _day(fact.valid_from),
            _day(fact.valid_until),
            f"{fact.confidence:.2f}",
        )
    return table


def history_table(facts: Sequence[Fact]) -> Table:
    """Every value of one thing, with the words that said so."""
    table = _table("id", "value", "status", "since", "until", "in these words")
    for fact in facts:
        where = "told by hand" if fact.message_id is None else f"{fact.session_id} #{fact.seq}"
        words = Text(f"{fact.quote}\n" if fact.quote else "")
        table.add_row(
            short(fact.id),
            Text(fact.value),
            Text(fact.status if fact.holds else "ended", style=STYLES[fact.status]),
            _day(fact.valid_from),
            _day(fact.valid_until),
            words.append(f"{where}, {_day(fact.learnt_at)}", style="dim"),
        )
    return table


def why(found: Why) -> Panel:
    """A fact, the message it is from with its words marked, and the reasons why it stands as it does."""
    body: list[RenderableType] = []
    if found.message is not None:
        fact, text = found.fact, Text(found.message.text)
        text.stylize("bold magenta", fact.start, fact.end)
        body += [text, Text()]
    body += [Text(f"- {reason}") for reason in found.reasons]
    title = Text(f"{found.fact.category} · {describe_fact(found.fact)} · {found.fact.status}")
    return Panel(Group(*body), title=title, title_align="left", subtitle=found.fact.id, subtitle_align="left")


def episodes_table(episodes: Iterable[Episode]) -> Table:
    table = _table("id", "when", "kind", "what", "where", "weight")
    for one in episodes:
        turns = f"{one.turns.first}" if one.turns.first == one.turns.last else f"{one.turns.first}-{one.turns.last}"
        table.add_row(
            short(one.id),
            _day(one.happened_at),
            one.kind.replace("_", " "),
            Text(one.title),
            escape(f"{one.session_id}, turn {turns}"),
            f"{one.significance:.2f}",
        )
    return table


def arc(found: Arc) -> Group:
    """The thirds of a session one below the other; the moments that mattered most have a star."""
    key = {one.id for one in found.key_moments}
    lines: list[RenderableType] = []
    for title, episodes in (("beginning", found.beginning), ("middle", found.middle), ("end", found.end)):
        lines.append(Text(title, style="bold"))
        for one in episodes:
            mark = "★" if one.id in key else "·"
            lines.append(Text(f"  {mark} turn {one.turns.first}, {one.kind.replace('_', ' ')}: {one.title}"))
        if not episodes:
            lines.append(Text("  nothing", style="dim"))
    return Group(*lines)


def graph(found: Graph) -> Group:
    lines: list[RenderableType] = []
    for node in found.nodes:
        text = describe_fact(node) if isinstance(node, Fact) else node.title
        lines.append(Text(f"{short(node.id)}  {type(node).__name__.lower()}  {text}"))
    for link in found.links:
        line = f"{short(link.source)} {link.type.replace('_', ' ')} {short(link.target)} ({link.strength:g})"
        lines.append(Text(line, style="cyan"))
    return Group(*lines)


def consolidated(done: Consolidated) -> str:
    return (
        f"{done.decayed:,} decayed, {len(done.archived):,} archived, {len(done.merged):,} merged, "
        f"{len(done.merged_episodes):,} episodes merged, {len(done.dropped_episodes):,} dropped, "
        f"{done.tokens_reclaimed:,} tokens reclaimed, {done.messages_dropped:,} messages past their time"
    )


def divergences_table(found: Sequence[Divergence]) -> Table:
    table = _table("kind", "summary", "session", "what")
    for one in found:
        table.add_row(one.kind, one.summary_id, escape(one.session_id or "digest"), Text(one.text))
    return table


def proposal(found: Proposal) -> Group:
    """What was written anew against what there is, sentence by sentence."""
    head = f"{found.id} · {found.session_id} · {found.status.replace('_', ' ')} · {found.recipe}"
    lines: list[RenderableType] = [
        Text(head, style="bold"),
        Text(f"{len(found.changes)} changes, drift {found.drift:.2f} of 1"),
    ]
    lines += [Panel(_diff(change), title=_change_title(change), title_align="left") for change in found.changes]
    return Group(*lines)


def _change_title(change: Change) -> str:
    where = "" if change.span is None else f" · messages {change.span.first}-{change.span.last}"
    what = "new" if change.before is None else "gone" if change.after is None else "changed"
    return f"{change.kind}{where} · {what} · drift {change.drift:.2f}"


def _diff(change: Change) -> Text:
    text = Text()
    for line in change.diff.splitlines():
        text.append(f"{line}\n", style=_DIFF.get(line[:1], ""))
    text.rstrip()
    return text


def proposals_table(found: Sequence[Proposal]) -> Table:
    table = _table("id", "made", "session", "status", "changes", "drift", "by")
    for one in found:
        table.add_row(
            short(one.id),
            _day(one.created_at),
            escape(one.session_id),
            one.status.replace("_", " "),
            str(len(one.changes)),
            f"{one.drift:.2f}",
            escape(one.recipe),
        )
    return table


def receipt(found: Receipt) -> Panel:
    """What was forgotten, in numbers and ids; never what it was."""
    body = Table(box=None, show_header=False, padding=(0, 1, 0, 0))
    body.add_column(no_wrap=True)
    body.add_column(overflow="fold")
    for name, ids in _erased(found):
        if ids:
            listed = [short(one) if _MADE.fullmatch(one) else one for one in ids[:_LISTED]]
            body.add_row(f"{len(ids):,} {name}", Text(", ".join(listed) + (", …" if len(ids) > _LISTED else "")))
    for name, number in (("milestones", found.milestones), ("values that stay out", found.values_blocked)):
        if number:
            body.add_row(f"{number:,} {name}", "")
    if not body.row_count:
        body.add_row("nothing that has it was found", "")
    elif not found.dry_run:
        body.add_row("old bytes", _OLD_BYTES[found.scrub or "dead"])
        body.add_row("digest", Text(found.digest))
    title = f"would forget {found.target}" if found.dry_run else f"forgot {found.target}"
    return Panel(body, title=Text(title), title_align="left", subtitle=Text(found.id), subtitle_align="left")


def _erased(found: Receipt) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return (
        ("messages", found.messages),
        ("messages in part", found.redacted),
        ("sessions", found.sessions),
        ("summaries", found.summaries),
        ("digests", found.digests),
        ("facts", found.facts),
        ("episodes", found.episodes),
        ("summaries written anew", found.rewritten),
        ("messages that still have the value", found.mentions_left),
    )


def is_empty(found: Receipt) -> bool:
    return not (any(ids for _, ids in _erased(found)) or found.milestones)


def receipts_table(found: Sequence[Receipt]) -> Table:
    table = _table("id", "when", "what", "messages", "summaries", "facts", "digest")
    for one in found:
        table.add_row(
            short(one.id),
            f"{one.at:%Y-%m-%d %H:%M}",
            escape(one.target),
            f"{len(one.messages) + len(one.redacted):,}",
            f"{len(one.summaries) + len(one.digests):,}",
            f"{len(one.facts):,}",
            one.digest[:12],
        )
    return table
