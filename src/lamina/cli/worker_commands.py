"""Commands for worker processes, and for what there is to do for them."""

import asyncio
import logging
import os
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table

from lamina.cli.command import AllTenants, Face, JsonOption, errors, named_tenant, out
from lamina.cli.worker_processes import Plan, serve, supervise
from lamina.errors import InputError
from lamina.memory import AsyncMemory
from lamina.tenancy.open_tenants import open_worker_pool
from lamina.values.cost import Cost
from lamina.values.report import Backlog, WorkerNote

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
    before = named_tenant(context)
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
    async with open_worker_pool(plan.location, tenants=plan.tenants, **plan.options) as workers:
        return await workers.tenants()


@commands.command()
def workers(
    context: typer.Context,
    retry: Annotated[
        str | None, typer.Option("--retry", help="Free this session that was set aside, or `all` of them.")
    ] = None,
    all_tenants: AllTenants = False,
    as_json: JsonOption = False,
) -> None:
    """Show who is at work, what there is to do, and what fails."""
    face: Face = context.obj.existing()
    if all_tenants and retry not in {None, "all"}:
        raise InputError(f"whose session {retry!r} is meant? Give --tenant with it, or `--retry all`")
    names = face.whose(context, all_tenants)
    if retry is not None:
        freed = sum(face.of_each(names, lambda engine: engine.retry(None if retry == "all" else retry)).values())
        out({"retried": freed}, as_json, lambda _: f"{freed} set aside, due again")
        return
    found, now = face.of_each(names, _load), datetime.now(UTC)
    if all_tenants:
        out(found, as_json, lambda _: _all_shown(found, now) if found else "no tenant has written anything")
    else:
        out(found[face.settings.tenant], as_json, lambda load: _shown(load, now))


@dataclass(frozen=True, slots=True)
class _Load:
    """Who works for a tenant, and at what."""

    workers: list[WorkerNote]
    backlog: Backlog


async def _load(engine: AsyncMemory) -> _Load:
    return _Load(await engine.workers(), await engine.backlog())


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


def _all_shown(found: Mapping[str, _Load], now: datetime) -> RenderableType:
    """A line for each tenant, the longest behind first; then who is at work, and what fails."""
    table = _table("tenant", "workers", "pending", "leased", "waiting", "set aside", "lag", "no vectors")
    for tenant, load in sorted(found.items(), key=lambda item: item[1].backlog.oldest or now):
        backlog = load.backlog
        counts = (len(load.workers), backlog.pending, backlog.leased, backlog.waiting, backlog.aside)
        table.add_row(escape(tenant), *map(str, counts), _lag(backlog, now), str(backlog.unembedded))
    parts: list[RenderableType] = [table]
    for tenant, load in found.items():
        if load.workers:
            parts += [f"[bold]{escape(tenant)}[/] has", _notes(load.workers, now)]
        if load.backlog.failing:
            parts += [f"[bold]{escape(tenant)}[/] fails in", _failing(load.backlog, now)]
    return Group(*parts)


def _shown(load: _Load, now: datetime) -> RenderableType:
    backlog = load.backlog
    parts: list[RenderableType] = [_notes(load.workers, now) if load.workers else "no worker has told of itself"]
    parts.append(
        f"{backlog.pending} pending, {backlog.leased} leased, {backlog.waiting} waiting, {backlog.aside} set aside; "
        f"lag {_lag(backlog, now)}; {backlog.unembedded} users without vectors"
    )
    if backlog.failing:
        parts.append(_failing(backlog, now))
    return Group(*parts)


def _lag(backlog: Backlog, now: datetime) -> str:
    return "none" if backlog.oldest is None else _age(backlog.oldest, now)


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
