"""The demo: an example conversation replayed, shown, and asked about."""

import json
import shlex
import shutil
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from lamina import Memory
from lamina.cli import display, display_knowledge
from lamina.cli.command import progress_bar
from lamina.errors import InputError
from lamina.story import CARD, ENDLESS, USER, parts, questions
from lamina.values.fact import Fact
from lamina.values.manifest import Context
from lamina.values.receipt import Receipt

_BUDGET = 2_000
_PICTURES = (1, 7, 14)  # sessions after which the layers are shown
_MAX_SHOWN = 8  # questions
DAYS = ("2025-04-01", "2025-07-15", "2025-11-01")  # before the move, with the new job, after the move
BETWEEN = "2025-08-01"  # after the move, which is mentioned later
CHANGING, ASKED = "editor", "location"
WISH = "m0505"


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the demo showed of facts, for scripts."""

    history: tuple[str, ...]  # the values of one fact, in order
    quote: str | None  # the words behind a fact
    profiles: Mapping[str, Mapping[str, str]]  # day -> key -> value
    told_late: Mapping[str, str | None]  # the place at one day, as known then and as known now


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """What the demo showed of forgetting, for scripts."""

    before: Mapping[str, int]  # file -> how often the bytes are in it
    dry_run: Receipt
    receipts: tuple[Receipt, ...]
    after: Mapping[str, int]
    hits: int  # of a search for it afterwards


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoResult:
    """What the demo did, for scripts."""

    file: str
    sessions: int
    messages: int
    summaries: int
    questions: int
    answered: int  # questions whose answer is in a context of the budget
    budget: int
    known: Known
    forgotten: Forgotten
    clean: bool
    seconds: float


def run_demo(console: Console, file: Path) -> DemoResult:
    """Replay, show, ask, forget; leaves the memory in `file`."""
    started = time.perf_counter()
    _clear(file)
    with Memory(file) as memory:
        console.rule("[bold]Lamina: a conversation of eight months, replayed")
        _replay(console, memory)
        _show_endless(console, memory)
        asked, answered = _ask(console, memory)
        known = _show_facts(console, memory, USER)
        forgotten = _forget_card(console, memory, file, (USER, ENDLESS))
        report = memory.verify()
        console.rule("[bold]Proof")
        display.report(console, report)
    seconds = time.perf_counter() - started
    console.print(f"\nReady in {seconds:.1f} s. The memory is in [bold]{file}[/]; try:")
    _show_next(console, file)
    return DemoResult(
        file=str(file),
        sessions=report.sessions,
        messages=report.messages,
        summaries=report.summaries,
        questions=asked,
        answered=answered,
        budget=_BUDGET,
        known=known,
        forgotten=forgotten,
        clean=report.ok,
        seconds=round(seconds, 2),
    )


def _show_next(console: Console, file: Path) -> None:
    """Commands to try next, as they can be typed in this folder with what is installed."""
    lamina = [_program("lamina"), "--db", str(file)]
    commands = [
        ["search", "physio", "--user", USER],
        ["context", "when is the wedding?", "--user", USER, "--budget", "1500"],
        ["sessions", "--user", USER],
        ["session", "2025-09-30-launch-week"],
        ["facts", "--user", USER, "--status", "active", "--status", "superseded"],
        ["user-profile", USER, "--as-of", DAYS[0]],
        ["receipts"],
        ["verify"],
    ]
    lines = [f"  {shlex.join([*lamina, *words])}" for words in commands]
    lines.append("or in a browser, with the inspector, at http://127.0.0.1:8640/:")
    if find_spec("uvicorn") is None:
        lines.append(f"  {_install('server')}")
    lines.append(f"  {shlex.join([*lamina, 'serve'])}")
    for line in lines:
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def _program(name: str) -> str:
    """How to call a program of this environment: by its name if the shell finds it, else by its path."""
    path = Path(sys.executable).with_name(name)
    if shutil.which(name) == str(path) or not path.exists():
        return name
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def _install(extra: str) -> str:
    """The command that installs an extra from where this package came from."""
    found = json.loads(distribution("lamina").read_text("direct_url.json") or "{}")
    url = str(found.get("url", ""))
    if not url.startswith("file://") or not Path(url.removeprefix("file://")).is_dir():
        return shlex.join([_program("pip"), "install", f"lamina[{extra}]"])
    words = ["install", *(["-e"] if found.get("dir_info", {}).get("editable") else [])]
    return shlex.join([_program("pip"), *words, f"{url.removeprefix('file://')}[{extra}]"])


def _clear(file: Path) -> None:
    """Delete an earlier demo; any other file stays."""
    if not file.exists():
        return
    with Memory(file, worker=False) as memory:
        earlier = any(session.id == ENDLESS for session in memory.sessions(ENDLESS))
    if not earlier:
        raise InputError(f"{file} exists and is no demo; give another file with --db")
    for old in (file, file.with_name(file.name + "-wal"), file.with_name(file.name + "-shm")):
        with suppress(FileNotFoundError):
            old.unlink()


def _replay(console: Console, memory: Memory) -> None:
    replayed = [part for part in parts() if part.user_id == USER]
    with progress_bar(console, transient=not console.is_terminal) as progress:
        task = progress.add_task("replaying", total=sum(len(part.messages) for part in replayed))
        for number, part in enumerate(replayed, 1):
            for message in part.messages:
                memory.add(message, user_id=part.user_id, session_id=part.session_id)
                progress.advance(task)
            memory.rename(part.session_id, part.title)
            if number in _PICTURES:
                memory.settle()
                context = memory.context(user_id=USER, session_id=part.session_id, budget=_BUDGET)
                progress.console.print(f"\n[bold]Session {number} of {len(replayed)}: {part.title}[/]")
                _picture(progress.console, memory, part.session_id, context)
            memory.end(part.session_id)
        memory.settle()


def _picture(console: Console, memory: Memory, session_id: str, context: Context) -> None:
    session = memory.session(session_id)
    history = memory.summaries(session_id, live=False)
    console.print(display.strata(session, history, context.manifest.coverage.verbatim))
    console.print(display.budget_bar(context))
    console.print(display.coverage_line(context.manifest.coverage))


def _show_endless(console: Console, memory: Memory) -> None:
    """The same messages as one long session, to see the layers grow."""
    (part,) = (part for part in parts() if part.user_id == ENDLESS)
    memory.add(list(part.messages), user_id=part.user_id, session_id=part.session_id)
    memory.rename(part.session_id, part.title)
    memory.settle()
    console.rule("[bold]The same conversation as one long session")
    context = memory.context(user_id=ENDLESS, session_id=ENDLESS, budget=_BUDGET * 2)
    _picture(console, memory, ENDLESS, context)
    full = memory.session(ENDLESS).counters.tokens
    ratio = full / context.tokens
    console.print(f"{full:,} tokens of history in a context of {context.tokens:,} tokens ({ratio:.1f} to 1)\n")


def _ask(console: Console, memory: Memory) -> tuple[int, int]:
    """Ask every question; returns how many there are, and how many answers are in their context."""
    console.rule(f"[bold]Questions about long ago, each within {_BUDGET:,} tokens")
    asked = list(questions())
    answered = 0
    for number, question in enumerate(asked):
        context = memory.context(question["question"], user_id=USER, session_id="today", budget=_BUDGET)
        sources = _sources(context, question)
        answered += bool(sources)
        if number < _MAX_SHOWN:
            _show_answer(console, question, context, sources)
    console.print(
        f"\n[bold]{answered} of {len(asked)}[/] answers are in a context of {_BUDGET:,} tokens, "
        "found by words and meaning, offline."
    )
    return len(asked), answered


def _sources(context: Context, question: dict[str, Any]) -> list[str]:
    """What in the context has the answer: passages with the expected messages, or other text with its words."""
    found = [
        f"{piece.kind} {piece.id} of {piece.session_id}"
        for piece in context.manifest.items
        if piece.id in question["evidence"] or set(piece.message_ids) & set(question["evidence"])
    ]
    if not found and question["answer"].casefold() in context.text.casefold():
        found = ["another passage, summary or fact"]
    return found


def _show_answer(console: Console, question: dict[str, Any], context: Context, sources: list[str]) -> None:
    body = Text()
    answer = question["answer"].casefold()
    for line in context.text.splitlines():
        if answer in line.casefold():
            body.append(line[:400] + "\n")
            break
    body.highlight_regex(f"(?i){_pattern(question['answer'])}", "bold green")
    body.append(f"found in {sources[0]}" if sources else "not in the context", style="dim" if sources else "red")
    body.append(f" · {context.tokens:,} tokens", style="dim")
    console.print(Panel(body, title=Text(question["question"]), title_align="left"))


def _pattern(text: str) -> str:
    return "".join(character if character.isalnum() or character.isspace() else f"\\{character}" for character in text)


# what is known, and forgetting


def _show_facts(console: Console, memory: Memory, user: str) -> Known:
    """A fact that changes, the source of another, and the profile at three dates."""
    console.rule("[bold]What is known, since when, and why")
    values = memory.history(_fact(memory, user, CHANGING).id)
    console.print(f"All values of the fact {CHANGING!r}:")
    console.print(display_knowledge.history_table(values))
    why = memory.why(_fact(memory, user, ASKED).id)
    console.print(display_knowledge.why(why))
    profiles = {}
    for day in DAYS:
        page = memory.user_profile(user, as_of=day)
        console.print(Panel(Text(page.markdown.strip()), title=f"the profile as of {day}", title_align="left"))
        profiles[day] = {fact.key: fact.value for fact in page.facts if fact.key}
    late = {
        "known then": _value(memory.facts(user, as_of=BETWEEN, known_at=BETWEEN)),
        "known now": _value(memory.facts(user, as_of=BETWEEN)),
    }
    console.print(
        f"Location on {BETWEEN}: {late['known now']}, as known now; {late['known then']}, as known on that day."
    )
    return Known(history=tuple(fact.value for fact in values), quote=why.fact.quote, profiles=profiles, told_late=late)


def _fact(memory: Memory, user: str, key: str) -> Fact:
    return next(fact for fact in memory.facts(user) if fact.key == key)


def _value(facts: list[Fact]) -> str | None:
    return next((fact.value for fact in facts if fact.key == ASKED), None)


def _forget_card(console: Console, memory: Memory, file: Path, users: tuple[str, ...]) -> Forgotten:
    """Forget a number for every user who has it, and count its bytes in the files before and after."""
    console.rule("[bold]Forgetting")
    console.print(Panel(Text(memory.message(WISH).text), title="the user's request, in July", title_align="left"))
    before = _count_bytes(console, file, "before")
    planned = memory.forget(text=CARD, user_id=users[0], dry_run=True)
    console.print(display_knowledge.receipt(planned))
    receipts = tuple(memory.forget(text=CARD, user_id=user) for user in users)
    for receipt in receipts:
        console.print(display_knowledge.receipt(receipt))
    after = _count_bytes(console, file, "after")
    hits = sum(CARD in hit.text for user in users for hit in memory.search(CARD, user_id=user, top_k=100))
    return Forgotten(before=before, dry_run=planned, receipts=receipts, after=after, hits=hits)


def _count_bytes(console: Console, file: Path, when: str) -> dict[str, int]:
    """How often the number's bytes are in each file of the database."""
    counts = {}
    for part in (file, file.with_name(f"{file.name}-wal")):
        data = part.read_bytes() if part.exists() else b""
        counts[part.name] = data.count(CARD.encode())
        result = f"found {counts[part.name]} times" if counts[part.name] else "not found"
        console.print(f"{when}: the bytes of “{CARD}” in {part.name} ({len(data):,} bytes): [bold]{result}[/]")
    return counts
