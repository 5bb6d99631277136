"""Output for a terminal: facts and their sources, episodes, links, new versions, receipts."""

import re
from collections.abc import Iterable, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from lamina.cli.display import day, minute, short
from lamina.cli.output import Box, Card, Cards, Listing, listing
from lamina.counts import count
from lamina.knowledge.fact_words import describe_fact
from lamina.values.fact import Arc, Consolidated, Episode, Fact, Graph, Link, Why
from lamina.values.opt_out import OptOut
from lamina.values.receipt import Receipt, Scrub
from lamina.values.summary import Change, Divergence, Proposal

__all__ = ["describe_fact"]  # facts look as in contexts

STYLES = {
    "active": "green",
    "superseded": "bright_black",
    "archived": "bright_black",
    "evidence": "bright_black",
    "retracted": "red",
    "conflicted": "yellow",
    "candidate": "cyan",
}
_ONE_LINE = frozenset({"id", "since", "until", "when", "created", "status", "hash"})  # columns
_MAX_IDS = 6  # of one kind in a receipt
_OLD_BYTES: Mapping[Scrub, str] = {
    "dead": "still in the files: another transaction reads them, or the role may not VACUUM",
    "vacuumed": "in unused parts of the database files, until these are used again",
    "rewritten": "in no table or index: all were rewritten",
    "overwritten": "overwritten in the files",
}
_GENERATED_ID = re.compile(r"[a-z]+_[0-9a-f]{32}")  # not given by the user
_DIFF = {"-": "red", "+": "green"}


def facts_table(facts: Sequence[Fact]) -> Listing:
    columns = ("id", "category", "fact", "status", "since", "until", "conf.")
    rows = (
        (
            short(fact.id),
            fact.category,
            Text(describe_fact(fact)),
            Text(fact.status, style=STYLES[fact.status]),
            day(fact.valid_from),
            day(fact.valid_until),
            f"{fact.confidence:.2f}",
        )
        for fact in facts
    )
    return listing(columns, rows, one_line=_ONE_LINE)


def history_table(facts: Sequence[Fact]) -> Listing:
    """All values of one fact, each with the words that it comes from."""
    rows = []
    for fact in facts:
        where = "stored by hand" if fact.message_id is None else f"{fact.session_id} #{fact.seq}"
        words = Text(f"{fact.quote}\n" if fact.quote else "").append(f"{where}, {day(fact.learnt_at)}", style="dim")
        status = Text(fact.status if fact.holds else "ended", style=STYLES[fact.status])
        rows.append((short(fact.id), Text(fact.value), status, day(fact.valid_from), day(fact.valid_until), words))
    return listing(("id", "value", "status", "since", "until", "source"), rows, one_line=_ONE_LINE)


def why(found: Why) -> Box:
    """A fact, its message with the words marked, and the reasons for its status."""
    body: list[RenderableType] = []
    if found.message is not None:
        fact, text = found.fact, Text(found.message.text)
        text.stylize("bold magenta", fact.start, fact.end)
        body += [text, Text()]
    body += [Text(f"- {reason}") for reason in found.reasons]
    title = f"{found.fact.category} · {describe_fact(found.fact)} · {found.fact.status}"
    return Box(Group(*body), title, found.fact.id)


def episodes_cards(episodes: Iterable[Episode]) -> Cards:
    cards, rows = [], []
    for one in episodes:
        turns = f"{one.turns.first}" if one.turns.first == one.turns.last else f"{one.turns.first}-{one.turns.last}"
        where, kind = f"{one.session_id}, turn {turns}", one.kind.replace("_", " ")
        head = f"{day(one.happened_at)} · {kind} · {where} · {short(one.id)}"
        cards.append(Card(head=head, text=Text(one.title)))
        rows.append((short(one.id), day(one.happened_at), kind, one.title, where, f"{one.significance:.2f}"))
    return Cards(cards, listing(("id", "when", "kind", "what", "where", "weight"), rows))


def arc(found: Arc) -> Group:
    """The episodes in each third of a session; the most important ones have a star."""
    key = {one.id for one in found.key_moments}
    lines: list[RenderableType] = []
    for title, episodes in (("beginning", found.beginning), ("middle", found.middle), ("end", found.end)):
        lines.append(Text(title, style="bold"))
        for one in episodes:
            mark = "★" if one.id in key else "·"
            lines.append(Text(f"  {mark} turn {one.turns.first}, {one.kind.replace('_', ' ')}: {one.title}"))
        if not episodes:
            lines.append(Text("  no episodes", style="dim"))
    return Group(*lines)


def graph(found: Graph) -> Group:
    lines: list[RenderableType] = []
    for node in found.nodes:
        text = describe_fact(node) if isinstance(node, Fact) else node.title
        lines.append(Text(f"{short(node.id)}  {type(node).__name__.lower()}  {text}"))
    lines += [link_line(link) for link in found.links]
    return Group(*lines)


def link_line(link: Link) -> Text:
    line = f"{short(link.source)} {link.type.replace('_', ' ')} {short(link.target)} ({link.strength:g})"
    return Text(line, style="cyan")


def consolidation_line(done: Consolidated) -> str:
    return (
        f"{count(done.decayed, 'memory')} decayed, {len(done.archived):,} archived, {len(done.merged):,} merged; "
        f"episodes: {len(done.merged_episodes):,} merged, {len(done.dropped_episodes):,} dropped; "
        f"{count(done.tokens_reclaimed, 'token')} freed; {count(done.messages_dropped, 'message')} dropped by retention"
    )


def divergences_table(found: Sequence[Divergence]) -> Listing:
    rows = ((one.kind, one.summary_id, one.session_id or "digest", Text(one.text)) for one in found)
    return listing(("kind", "summary", "session", "what"), rows)


def proposal(found: Proposal) -> Group:
    """The new versions compared with the current ones, sentence by sentence."""
    head = f"{found.id} · {found.session_id} · {found.status.replace('_', ' ')} · {found.recipe}"
    lines: list[RenderableType] = [
        Text(head, style="bold"),
        Text(f"{count(len(found.changes), 'change')}, drift {found.drift:.2f} of 1"),
    ]
    lines += [Box(_diff(change), _change_title(change)) for change in found.changes]
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


def proposals_table(found: Sequence[Proposal]) -> Listing:
    rows = (
        (
            short(one.id),
            day(one.created_at),
            one.session_id,
            one.status.replace("_", " "),
            str(len(one.changes)),
            f"{one.drift:.2f}",
            one.recipe,
        )
        for one in found
    )
    return listing(("id", "created", "session", "status", "changes", "drift", "model"), rows, one_line=_ONE_LINE)


def receipt(found: Receipt) -> Box | Text:
    """What was forgotten, as counts and ids; never the words."""
    body = Table(box=None, show_header=False, padding=(0, 1, 0, 0))
    body.add_column(no_wrap=True)
    body.add_column(justify="right", no_wrap=True)
    body.add_column(overflow="fold")
    for name, ids in _ids(found):
        if ids:
            names = [short(one) if _GENERATED_ID.fullmatch(one) else one for one in ids[:_MAX_IDS]]
            body.add_row(name, f"{len(ids):,}", Text(", ".join(names) + (", …" if len(ids) > _MAX_IDS else "")))
    for name, number in (("milestones", found.milestones), ("values blocked from coming back", found.values_blocked)):
        if number:
            body.add_row(name, f"{number:,}")
    if body.row_count and not found.dry_run:
        body.add_row("old bytes", "", _OLD_BYTES[found.scrub or "dead"])
        body.add_row("hash", "", Text(found.digest))
    if not body.row_count:  # such a receipt is not stored
        return Text(f"nothing {'to forget' if found.dry_run else 'was forgotten'}: {found.nothing or 'nothing found'}")
    return Box(body, f"{'would forget' if found.dry_run else 'forgot'} {found.target}", found.id)


def _ids(found: Receipt) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return (
        ("messages", found.messages),
        ("messages redacted", found.redacted),
        ("sessions", found.sessions),
        ("summaries", found.summaries),
        ("digests", found.digests),
        ("facts", found.facts),
        ("episodes", found.episodes),
        ("summaries rewritten", found.rewritten),
        ("messages that still have the value", found.mentions_left),
    )


def is_empty(found: Receipt) -> bool:
    return not (any(ids for _, ids in _ids(found)) or found.milestones)


def receipts_table(found: Sequence[Receipt]) -> Listing:
    rows = (
        (
            short(one.id),
            minute(one.at),
            one.target,
            len(one.messages) + len(one.redacted),
            len(one.summaries) + len(one.digests),
            len(one.facts),
            one.digest[:12],
        )
        for one in found
    )
    return listing(("id", "when", "what", "messages", "summaries", "facts", "hash"), rows, one_line=_ONE_LINE)


def opt_outs_table(found: Sequence[OptOut]) -> Listing:
    rows = [(one.user_id, day(one.since), "kept" if one.keep_log else "not stored") for one in found]
    return listing(("user", "since", "messages"), rows)
