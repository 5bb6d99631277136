"""Commands for worker processes, and for what there is to do for them."""

import asyncio
import logging
import os
import re
import socket
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table

from lamina.interfaces.cli.face import Face, JsonOption, errors, out
from lamina.interfaces.cli.processes import Plan, serve, supervise
from lamina.types import Backlog, Cost, WorkerNote
from lamina.wiring import staff

commands = typer.Typer()


@commands.command()
def worker(
    context: typer.Context,
    tenant: Annotated[list[str] | None, typer.Option("--tenant", help="Only for this tenant; may be repeated.")] = None,
    processes: Annotated[int, typer.Option("--processes", min=1, help="How many processes.")] = 1,
    concurrency: Annotated[int, typer.Option("--concurrency", min=1, help="Sessions at once in each process.")] = 1,
    once: Annotated[bool, typer.Option("--once", help="End when nothing is due.")] = False,
    grace: Annotated[float, typer.Option("--grace", min=0, help="Seconds to finish what is in hand.")] = 30.0,
) -> None:
    """Fold, read and give vectors to what is due, for all tenants, until SIGTERM or Ctrl-C."""
    face: Face = context.obj
    before = context.parent.params.get("tenant") if context.parent else None
    plan = Plan(
        location=face.settings.database,
        options=face.settings.options(),
        tenants=tuple(tenant or ([before] if before else [])),
        concurrency=concurrency,
        grace=grace,
        once=once,
        log_level=logging.getLevelName(logging.getLogger("lamina").level).lower(),
    )
    found = asyncio.run(_tenants(plan))
    whose = f"tenants {', '.join(plan.tenants)}" if plan.tenants else f"all tenants, {len(found)} now"
    shape = f"{processes} process{'es' if processes > 1 else ''}, {concurrency} at once in each"
    errors.print(
        escape(f"worker {socket.gethostname()}/{os.getpid()} on {_place(plan.location)} for {whose}; {shape}"),
        highlight=False,
        soft_wrap=True,
    )
    raise typer.Exit(serve(plan) if processes == 1 else supervise(plan, processes))


def _place(location: str) -> str:
    """A location without the name and password that a URL may have."""
    return re.sub(r"//[^/@]*@", "//", location)


async def _tenants(plan: Plan) -> list[str]:
    """Who there is to work for; what is wrong with the settings or the store comes out here, before any work."""
    async with staff(plan.location, tenants=plan.tenants, **plan.options) as workers:
        return await workers.tenants()


@commands.command()
def workers(
    context: typer.Context,
    retry: Annotated[
        str | None, typer.Option("--retry", help="Free this session that was set aside, or `all` of them.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show who is at work, what there is to do, and what fails."""
    with context.obj.existing().memory() as memory:
        if retry is not None:
            freed = memory.retry(None if retry == "all" else retry)
            out({"retried": freed}, as_json, lambda _: f"{freed} set aside, due again")
            return
        found = {"workers": memory.workers(), "backlog": memory.backlog()}
    out(found, as_json, lambda _: _shown(found["workers"], found["backlog"], datetime.now(UTC)))


@commands.command()
def costs(
    context: typer.Context,
    since: Annotated[str | None, typer.Option("--since", help="From this day on, e.g. 2026-01-31.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Show what language models have cost."""
    with context.obj.existing().memory() as memory:
        found = memory.costs(since)
    out(found, as_json, lambda _: _bill(found) if found else "no model has been called")


def _bill(found: list[Cost]) -> Table:
    table = _table("day", "purpose", "model", "calls", "tokens in", "tokens out", "cost")
    for one in found:
        numbers = (f"{one.calls:,}", f"{one.tokens_in:,}", f"{one.tokens_out:,}", f"{one.cost:,.4f}")
        table.add_row(one.day.isoformat(), one.purpose, escape(one.model), *numbers)
    return table


def _shown(notes: list[WorkerNote], backlog: Backlog, now: datetime) -> RenderableType:
    parts: list[RenderableType] = [_notes(notes, now) if notes else "no worker has told of itself"]
    lag = "none" if backlog.oldest is None else _age(backlog.oldest, now)
    parts.append(
        f"{backlog.pending} pending, {backlog.leased} leased, {backlog.waiting} waiting, {backlog.aside} set aside; "
        f"lag {lag}; {backlog.unembedded} users without vectors"
    )
    if backlog.failing:
        parts.append(_failing(backlog, now))
    return Group(*parts)


def _notes(notes: list[WorkerNote], now: datetime) -> Table:
    table = _table("worker", "host", "pid", "alive", "at", "since", "done", "failed")
    for note in notes:
        table.add_row(
            escape(note.id.rpartition("/")[2]),
            escape(note.host),
            note.pid,
            "yes" if note.alive else "no",
            escape(note.session_id or "-"),
            "-" if note.since is None else _age(note.since, now),
            f"{note.done:,}",
            f"{note.failed:,}",
        )
    return table


def _failing(backlog: Backlog, now: datetime) -> Table:
    table = _table("failing", "user", "attempts", "next", "reason")
    for one in backlog.failing:
        when = "set aside" if one.retry_at is None else f"in {_seconds((one.retry_at - now).total_seconds())}"
        table.add_row(escape(one.session_id), escape(one.user_id), str(one.attempts), when, escape(one.reason))
    return table


def _table(*columns: str) -> Table:
    table = Table(box=None, header_style="bold")
    for column in columns:
        table.add_column(column, justify="right" if column in {"done", "failed", "attempts"} else "left")
    return table


def _age(moment: datetime, now: datetime) -> str:
    return _seconds((now - moment).total_seconds())


def _seconds(seconds: float) -> str:
    """A time that one reads at a glance."""
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(0, seconds):.0f} s"
