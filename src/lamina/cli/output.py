"""Where output goes: in a terminal with colours and boxes of its width; else plain, one record a line, however long."""

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console, ConsoleOptions, JustifyMethod, RenderableType, RenderResult
from rich.markup import escape
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

_WIDE = 1_000_000  # columns where nothing limits them


class ClosedPipe(Exception):
    """Whoever read the output has gone."""


class Output(Console):
    """A console that says when its reader has gone."""

    def on_broken_pipe(self) -> None:
        raise ClosedPipe


def is_plain(console: Console) -> bool:
    """Whether output has no width: it is no terminal, and COLUMNS does not say that it should look like one."""
    return not console.is_terminal and not os.environ.get("COLUMNS")


def _lines(console: Console, shown: RenderableType) -> Iterator[Text]:
    """A renderable as wide as it likes to be, without space at the ends of its lines."""
    options = console.options.update(width=_WIDE, no_wrap=False, overflow="fold")
    for line in console.render_lines(shown, options, pad=False):
        yield Text("".join(segment.text for segment in line).rstrip())


@dataclass(frozen=True, slots=True)
class Listing:
    """Rows under columns; numbers are aligned to the right. Long cells are folded, but not those of `one_line`."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    one_line: Collection[str] = ()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if is_plain(console):
            yield from _lines(console, self._table(plain=True))
        else:
            yield self._table(plain=False)

    def _table(self, *, plain: bool) -> Table:
        found = Table(box=None, header_style="bold", pad_edge=not plain)
        for index, column in enumerate(self.columns):
            is_number = bool(self.rows) and all(isinstance(row[index], int) for row in self.rows)
            one_line = plain or column in self.one_line
            side: JustifyMethod = "right" if is_number else "left"
            found.add_column(column, justify=side, overflow="fold", no_wrap=one_line, min_width=len(column))
        for row in self.rows:
            found.add_row(*(_cell(cell, plain=plain) for cell in row))
        return found


def _cell(cell: Any, *, plain: bool) -> Any:
    if isinstance(cell, int):
        return f"{cell:,}"
    if plain:
        return Text(" ".join(str(cell).split()))
    return escape(cell) if isinstance(cell, str) else cell


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """Something found: a line on what it is, and its words."""

    head: str
    text: Text
    note: str = ""


@dataclass(frozen=True, slots=True)
class Cards:
    """Each a head line with the words below it; plain, the columns of a listing."""

    cards: Sequence[Card]
    listing: Listing
    foot: str = ""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if is_plain(console):
            yield self.listing
            return
        for card in self.cards:
            yield Text(card.head, style="bold")
            for line in (card.text, *([Text(card.note, style="dim")] if card.note else [])):
                yield Padding(line, (0, 0, 0, 4))
        if self.foot:
            yield Text(self.foot, style="dim")


@dataclass(frozen=True, slots=True)
class Box:
    """Something with a title above and a line below it."""

    body: RenderableType
    title: str
    subtitle: str = ""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if is_plain(console):
            yield Text(self.title)
            yield from _lines(console, self.body)
            yield Text(self.subtitle) if self.subtitle else Text()
        else:
            title, subtitle = Text(self.title), Text(self.subtitle) if self.subtitle else None
            yield Panel(self.body, title=title, title_align="left", subtitle=subtitle, subtitle_align="left")


def listing(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, one_line: Collection[str] = ()) -> Listing:
    return Listing(columns, [tuple(row) for row in rows], one_line)
