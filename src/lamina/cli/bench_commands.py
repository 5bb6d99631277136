"""Benchmarks on your own data; what they need is loaded when one is run."""

import importlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from lamina.cli import options
from lamina.cli.command import console, errors, out, say, with_progress
from lamina.errors import InputError
from lamina.open import Price

commands = typer.Typer()
bench = typer.Typer(help="Benchmarks on your own data.", no_args_is_help=True)
commands.add_typer(bench, name="bench")

_FILES = "LoCoMo, BEAM or RealMem; LongMemEval as questions.jsonl.gz,sessions.jsonl.gz; or as published."
_BASELINES = ("history", "rag", "none")
_STOPPED = "stopped; the answers so far are in {}; --resume continues from there"

Embedder = Annotated[str | None, typer.Option("--embedder", help="auto, static, minilm or none.")]
Limit = Annotated[
    int | None, typer.Option("--limit", help="Maximum number of conversations, and of questions in each.")
]
Seed = Annotated[int, typer.Option("--seed", help="Seed for the choice that --limit makes.")]
Resume = Annotated[bool, typer.Option("--resume", help="Continue the run in the folder.")]


def _part(module: str) -> Any:
    """A part of the bench package, which no other command needs."""
    return importlib.import_module(f"lamina.bench.{module}")


@bench.command()
def recall(
    file: Annotated[list[str], typer.Argument(help=_FILES)],
    budgets: Annotated[str, typer.Option("--budgets", help="Token budgets of the contexts.")] = "500,1000,2000,4000",
    folder: Annotated[Path, typer.Option("--out", help="Folder for the results.")] = Path("lamina-bench"),
    embedder: Embedder = None,
    profile: options.Profile = None,
    limit: Limit = None,
    seed: Seed = 0,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Number of processes.")] = 1,
    resume: Resume = False,
    as_json: options.Json = False,
) -> None:
    """Ask the questions of data sets, and count the answers found by search and in contexts."""
    plan = _part("recall_run").Plan(budgets=_numbers(budgets), profile=profile, embedder=embedder)
    measuring = _part("measure")
    bounds = measuring.Bounds(limit=limit, seed=seed, jobs=jobs, resume=resume)
    try:
        report = with_progress("asking", as_json, lambda report: measuring.measure(file, folder, plan, bounds, report))
    except KeyboardInterrupt:
        say(_STOPPED.format(folder))
        raise
    for warning in report.warnings:
        errors.print(Text(warning, style="yellow"))
    _show(report, as_json, report.text)


@bench.command()
def qa(
    file: Annotated[list[str], typer.Argument(help=_FILES)],
    reader: Annotated[str, typer.Option("--reader", metavar="MODEL", help="The model that answers.")],
    judge: Annotated[str, typer.Option("--judge", metavar="MODEL", help="The model that grades the answers.")],
    reader_url: Annotated[
        str | None, typer.Option("--reader-url", metavar="URL", help="Its server; default: OPENAI_BASE_URL, or OpenAI.")
    ] = None,
    judge_url: Annotated[
        str | None, typer.Option("--judge-url", metavar="URL", help="Its server; default: as for the reader.")
    ] = None,
    baseline: Annotated[
        list[str] | None,
        typer.Option("--baseline", help="history, rag, none or mem0; may be repeated. Default: the first three."),
    ] = None,
    no_baseline: Annotated[bool, typer.Option("--no-baseline", help="Lamina alone.")] = False,
    budget: Annotated[int, typer.Option("--budget", help="Tokens of a context of Lamina, rag and mem0.")] = 2000,
    window: Annotated[int, typer.Option("--window", help="Tokens that the reader takes in all.")] = 128_000,
    answer_tokens: Annotated[int, typer.Option("--answer-tokens", help="Maximum tokens of an answer.")] = 300,
    thinking_tokens: Annotated[
        int, typer.Option("--thinking-tokens", help="More tokens for models that think before they write.")
    ] = 0,
    temperature: Annotated[float, typer.Option("--temperature", help="Temperature of the reader.")] = 0.0,
    seeds: Annotated[int, typer.Option("--seeds", help="How often each question is answered.")] = 1,
    check_judge: Annotated[
        int, typer.Option("--check-judge", help="Questions on which the judge itself is tried.")
    ] = 50,
    concurrency: Annotated[int, typer.Option("--concurrency", help="Calls of a model at once.")] = 4,
    seconds: Annotated[float, typer.Option("--seconds", help="Maximum seconds of a call with its retries.")] = 600.0,
    retries: Annotated[int, typer.Option("--retries", help="How often a call that failed is tried again.")] = 3,
    reader_price: Annotated[
        str | None, typer.Option("--reader-price", metavar="IN,OUT", help="Price of a million tokens.")
    ] = None,
    judge_price: Annotated[
        str | None, typer.Option("--judge-price", metavar="IN,OUT", help="Price of a million tokens.")
    ] = None,
    folder: Annotated[Path, typer.Option("--out", help="Folder for the results.")] = Path("lamina-bench-qa"),
    embedder: Embedder = None,
    profile: options.Profile = None,
    limit: Limit = None,
    seed: Seed = 0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be asked, and ask nothing.")] = False,
    resume: Resume = False,
    as_json: options.Json = False,
) -> None:
    """Let a model answer the questions of data sets with Lamina and without, and another grade the answers."""
    models, running = _part("qa.models"), _part("qa.run")
    if baseline and no_baseline:
        raise InputError("give --baseline or --no-baseline, not both")
    shared = {"thinking_tokens": thinking_tokens, "concurrency": concurrency, "seconds": seconds, "retries": retries}
    choices = [
        models.ModelChoice.of(role, model, url, os.environ, price=_price(price, role), temperature=heat, **shared)
        for role, model, url, price, heat in (
            ("reader", reader, reader_url, reader_price, temperature),
            ("judge", judge, judge_url or reader_url, judge_price, 0.0),
        )
    ]
    plan = running.QaPlan(
        reader=choices[0],
        judge=choices[1],
        plan=_part("recall_run").Plan(profile=profile, embedder=embedder),
        baselines=() if no_baseline else tuple(baseline or _BASELINES),
        budget=budget,
        window=window,
        answer_tokens=answer_tokens,
        seeds=seeds,
        check_judge=check_judge,
        limit=limit,
        seed=seed,
        resume=resume,
    )
    loaded = running.load(file, plan)
    if dry_run:
        rows = running.estimates(loaded, plan)
        _show(rows, as_json, lambda: _part("qa.estimate").text(rows, plan.ways))
        return
    try:
        reports = with_progress("answering", as_json, lambda report: running.run(loaded, folder, plan, report))
    except KeyboardInterrupt:
        say(_STOPPED.format(folder))
        raise
    shown = _part("qa.report").text
    _show(reports, as_json, lambda: "\n\n\n".join(map(shown, reports)) + f"\n\nanswers and reports are in {folder}")
    if any(one.failed for one in reports):
        raise typer.Exit(1)


def _show(value: Any, as_json: bool, render: Callable[[], str]) -> None:
    if as_json:
        out(value, as_json, str)
    else:
        console.print(render(), soft_wrap=True, markup=False, highlight=False)


def _price(given: str | None, role: str) -> Price | None:
    if given is None:
        return None
    try:
        into, out_of = map(float, given.split(","))
    except ValueError:
        raise InputError(
            f"--{role}-price is what a million tokens cost, in and out, e.g. 0.25,2, not {given!r}"
        ) from None
    return Price(input=into, output=out_of)


def _numbers(given: str) -> tuple[int, ...]:
    try:
        return tuple(sorted({int(part) for part in given.split(",")}))
    except ValueError:
        raise InputError(
            f"budgets are whole numbers separated by commas, e.g. 500,1000,2000,4000, not {given!r}"
        ) from None
