"""Benchmarks on your own data; what they need is loaded when one is run."""

import importlib
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from lamina.cli import options
from lamina.cli.command import console, errors, out, say, with_progress
from lamina.errors import InputError

commands = typer.Typer()
bench = typer.Typer(help="Benchmarks on your own data.", no_args_is_help=True)
commands.add_typer(bench, name="bench")

_FILES = "LoCoMo, BEAM or RealMem; LongMemEval as questions.jsonl.gz,sessions.jsonl.gz."


def _part(module: str) -> Any:
    """A part of the bench package, which no other command needs."""
    return importlib.import_module(f"lamina.bench.{module}")


@bench.command()
def recall(
    file: Annotated[list[str], typer.Argument(help=_FILES)],
    budgets: Annotated[str, typer.Option("--budgets", help="Token budgets of the contexts.")] = "500,1000,2000,4000",
    folder: Annotated[Path, typer.Option("--out", help="Folder for the results.")] = Path("lamina-bench"),
    embedder: Annotated[str | None, typer.Option("--embedder", help="static, minilm or none.")] = None,
    profile: options.Profile = None,
    limit: Annotated[
        int | None, typer.Option("--limit", help="Maximum number of conversations, and of questions in each.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed for the choice that --limit makes.")] = 0,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Number of processes.")] = 1,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in the folder.")] = False,
    as_json: options.Json = False,
) -> None:
    """Ask the questions of data sets, and count the answers found by search and in contexts."""
    plan = _part("recall_run").Plan(budgets=_numbers(budgets), profile=profile, embedder=embedder)
    measuring = _part("measure")
    bounds = measuring.Bounds(limit=limit, seed=seed, jobs=jobs, resume=resume)
    try:
        report = with_progress("asking", as_json, lambda report: measuring.measure(file, folder, plan, bounds, report))
    except KeyboardInterrupt:
        say(f"stopped; the answers so far are in {folder}; --resume continues from there")
        raise
    for warning in report.warnings:
        errors.print(Text(warning, style="yellow"))
    if as_json:
        out(report, as_json, str)
    else:
        console.print(report.text(), soft_wrap=True, markup=False, highlight=False)


def _numbers(given: str) -> tuple[int, ...]:
    try:
        return tuple(sorted({int(part) for part in given.split(",")}))
    except ValueError:
        raise InputError(
            f"budgets are whole numbers separated by commas, e.g. 500,1000,2000,4000, not {given!r}"
        ) from None
