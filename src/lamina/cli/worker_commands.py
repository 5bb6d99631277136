"""Commands for worker processes, their backlog, and what language models cost."""

import asyncio
import functools
import logging
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.markup import escape

from lamina.cli import options
from lamina.cli.command import Opener, ask, out, say
from lamina.cli.output import Listing, listing
from lamina.cli.worker_processes import Plan, run_worker, supervise
from lamina.counts import count
from lamina.errors import InputError
from lamina.memory import AsyncMemory
from lamina.settings import without_password
from lamina.tenancy.open_tenants import open_worker_pool
from lamina.values.cost import Cost
from lamina.values.report import Backlog, WorkerNote

commands = typer.Typer()


@commands.command()
def worker(
    context: typer.Context,
    tenant: Annotated[list[str] | None, typer.Option("--tenant", help="Only for this tenant; may be repeated.")] = None,
    processes: Annotated[int, typer.Option("--processes", min=1, help="Number of processes.")] = 1,
    concurrency: Annotated[int, typer.Option("--concurrency", min=1, help="Sessions at once in each process.")] = 1,
    once: Annotated[bool, typer.Option("--once", help="Stop when nothing is due.")] = False,
    grace: Annotated[
        float, typer.Option("--grace", min=0, help="Seconds to finish the current work after a signal.")
    ] = 30.0,
) -> None:
    """Do the background work (fold, extract facts, make vectors) for all tenants, until SIGTERM or Ctrl-C."""
    opener: Opener = context.obj
    plan = Plan(
        location=opener.settings.database,
        options=opener.settings.options(),
        tenants=tuple(tenant or ()),
        concurrency=concurrency,
        grace=grace,
        once=once,
        log_level=logging.getLevelName(logging.getLogger("lamina").level).lower(),
    )
    is_new = opener.is_missing()
    found = asyncio.run(_tenants(plan))
    opener.announce(is_new)
    location = without_password(plan.location)
    who = f"tenants {', '.join(plan.tenants)}" if plan.tenants else f"all tenants, {len(found)} now"
    shape = f"{count(processes, 'process')}, {concurrency} at once in each"
    line = f"worker {socket.gethostname()}/{os.getpid()} on {location} for {who}; {shape}"
    announce = functools.partial(say, line)
    raise typer.Exit(run_worker(plan, announce) if processes == 1 else supervise(plan, processes, announce))


async def _tenants(plan: Plan) -> list[str]:
    """The tenants with data; wrong settings or an unreachable store raise here, before any work."""
    async with open_worker_pool(plan.location, tenants=plan.tenants, **plan.options) as workers:
        return await workers.tenants()


@commands.command()
def workers(
    context: typer.Context,
    retry: Annotated[
        str | None, typer.Option("--retry", help="Try this session again that failed too often, or `all` of them.")
    ] = None,
    all_tenants: options.AllTenants = False,
    as_json: options.Json = False,
) -> None:
    """Show the workers, the backlog, and what fails."""
    opener: Opener = context.obj.check_exists()
    if all_tenants and retry not in {None, "all"}:
        raise InputError(
            f"session {retry!r} is of one tenant; give --tenant instead of --all-tenants, or `--retry all`"
        )
    names = opener.tenant_names(all_tenants)
    if retry is not None:
        count = sum(opener.for_each(names, lambda engine: engine.retry(None if retry == "all" else retry)).values())
        out({"retried": count}, as_json, lambda _: f"sessions to try again: {count}")
        return
    found, now = opener.for_each(names, _load), datetime.now(UTC)
    if all_tenants:
        out(found, as_json, lambda _: _tenants_view(found, now), "no tenant has any data")
    else:
        out(found[opener.settings.tenant], as_json, lambda load: _tenant_view(load, now))


@dataclass(frozen=True, slots=True)
class _Load:
    """The workers of a tenant, and what there is to do."""

    workers: list[WorkerNote]
    backlog: Backlog


async def _load(engine: AsyncMemory) -> _Load:
    return _Load(await engine.workers(), await engine.backlog())


@commands.command()
def costs(
    context: typer.Context,
    since: Annotated[str | None, typer.Option("--since", help="From this day on, e.g. 2026-01-31.")] = None,
    as_json: options.Json = False,
) -> None:
    """Show what language models have cost."""
    ask(context, as_json, lambda memory: memory.costs(since), _bill, "no model has been called")


def _bill(found: list[Cost]) -> Listing:
    rows = (
        (one.day.isoformat(), one.purpose, one.model, one.calls, one.tokens_in, one.tokens_out, f"{one.cost:,.4f}")
        for one in found
    )
    return listing(("day", "purpose", "model", "calls", "tokens in", "tokens out", "cost"), rows)


def _tenants_view(found: Mapping[str, _Load], now: datetime) -> RenderableType:
    """A line for each tenant, the longest lag first; then the workers and failures of each."""
    columns = ("tenant", "workers", "pending", "in work", "retry", "set aside", "lag", "no vectors")
    rows = []
    for tenant, load in sorted(found.items(), key=lambda item: item[1].backlog.oldest or now):
        backlog = load.backlog
        counts = (len(load.workers), backlog.pending, backlog.leased, backlog.waiting, backlog.aside)
        rows.append((tenant, *counts, _lag(backlog, now), backlog.unembedded))
    parts: list[RenderableType] = [listing(columns, rows)]
    for tenant, load in found.items():
        if load.workers:
            parts += [f"workers of [bold]{escape(tenant)}[/]", _workers_table(load.workers, now)]
        if load.backlog.failing:
            parts += [f"failures of [bold]{escape(tenant)}[/]", _failures_table(load.backlog, now)]
    return Group(*parts)


def _tenant_view(load: _Load, now: datetime) -> RenderableType:
    backlog = load.backlog
    parts: list[RenderableType] = [_workers_table(load.workers, now) if load.workers else "no workers"]
    parts.append(
        f"sessions: {backlog.pending} pending, {backlog.leased} in work, {backlog.waiting} to retry, "
        f"{backlog.aside} set aside; lag {_lag(backlog, now)}; {count(backlog.unembedded, 'user')} without vectors"
    )
    if backlog.failing:
        parts.append(_failures_table(backlog, now))
    return Group(*parts)


def _lag(backlog: Backlog, now: datetime) -> str:
    return "none" if backlog.oldest is None else _age(backlog.oldest, now)


def _workers_table(notes: list[WorkerNote], now: datetime) -> Listing:
    rows = []
    for note in notes:
        since = "-" if note.since is None else _age(note.since, now)
        alive, session = "yes" if note.alive else "no", note.session_id or "-"
        name = note.id.rpartition("/")[2]
        rows.append((name, note.host, note.pid, alive, session, since, note.done, note.failed))
    return listing(("worker", "host", "pid", "alive", "session", "since", "done", "failed"), rows)


def _failures_table(backlog: Backlog, now: datetime) -> Listing:
    rows = []
    for one in backlog.failing:
        when = "set aside" if one.retry_at is None else f"in {_duration((one.retry_at - now).total_seconds())}"
        rows.append((one.session_id, one.user_id, one.attempts, when, one.reason))
    return listing(("session", "user", "attempts", "next", "reason"), rows)


def _age(moment: datetime, now: datetime) -> str:
    return _duration((now - moment).total_seconds())


def _duration(seconds: float) -> str:
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(0, seconds):.0f} s"
