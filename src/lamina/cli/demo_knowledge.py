"""The second half of the demo: what is known when and why, and a card number that is forgotten."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from lamina import Memory
from lamina.cli import display_knowledge
from lamina.values.fact import Fact
from lamina.values.receipt import Receipt

DAYS = ("2025-04-01", "2025-07-15", "2025-11-01")  # before the move, with the new job, after the move
BETWEEN = "2025-08-01"  # after the move, which is mentioned later
CHANGING, ASKED = "editor", "location"
CARD = "0000 0000 0000 4242"
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


def show_facts(console: Console, memory: Memory, user: str) -> Known:
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


def forget_card(console: Console, memory: Memory, file: Path, users: tuple[str, ...]) -> Forgotten:
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
