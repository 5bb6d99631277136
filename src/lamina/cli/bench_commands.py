"""Benchmarks on data of your own; what they need is loaded when one is run."""

import importlib
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from lamina.cli.command import JsonOption, console, errors, out, with_progress
from lamina.errors import InputError

commands = typer.Typer()
bench = typer.Typer(help="Measure recall on data of your own.", no_args_is_help=True)
commands.add_typer(bench, name="bench", rich_help_panel="Measuring")

_FILES = "LoCoMo, BEAM or RealMem; LongMemEval as questions.jsonl.gz,sessions.jsonl.gz."


def _part(module: str) -> Any:
    """A part of the bench package, which no other command needs."""
    return importlib.import_module(f"lamina.bench.{module}")


@bench.command()
def recall(
    file: Annotated[list[str], typer.Argument(help=_FILES)],
    budgets: Annotated[str, typer.Option("--budgets", help="Tokens of the contexts.")] = "500,1000,2000,4000",
    folder: Annotated[Path, typer.Option("--out", help="Where to leave the results.")] = Path("lamina-bench"),
    embedder: Annotated[str | None, typer.Option("--embedder", help="static, minilm or none.")] = None,
    profile: Annotated[str | None, typer.Option("--profile", "-p", help="Name of the profile.")] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", help="At most so many conversations, and questions of each.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Which ones `--limit` chooses.")] = 0,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="How many processes work.")] = 1,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run that is in the folder.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Ask the questions of data sets, and count what search finds and what contexts hold."""
    plan = _part("recall_run").Plan(budgets=_numbers(budgets), profile=profile, embedder=embedder)
    measuring = _part("measure")
    bounds = measuring.Bounds(limit=limit, seed=seed, jobs=jobs, resume=resume)
    try:
        report = with_progress("asking", as_json, lambda tell: measuring.measure(file, folder, plan, bounds, tell))
    except KeyboardInterrupt:
        errors.print(f"stopped; what is answered is in {folder}, and --resume goes on from there", markup=False)
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
        raise InputError(f"budgets are whole numbers with commas, e.g. 500,1000,2000,4000, not {given!r}") from None
