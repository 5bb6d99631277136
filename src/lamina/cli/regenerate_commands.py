"""Commands for writing summaries and facts anew, beside the old ones."""

from collections.abc import Callable
from typing import Annotated

import typer

from lamina import Memory
from lamina.cli import display_knowledge
from lamina.cli.command import JsonOption, SessionName, out, settled, with_progress
from lamina.cli.short_ids import ProposalName, proposal_named
from lamina.values.summary import Proposal

commands = typer.Typer()


@commands.command()
def regenerate(
    context: typer.Context,
    session_id: SessionName,
    first: Annotated[int, typer.Option("--from", help="The message number to begin at.")] = 1,
    accept: Annotated[bool, typer.Option("--accept", help="Put it in place at once.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Write the summaries and facts of a session anew and compare; nothing changes until it is accepted."""
    with context.obj.existing().memory() as memory:
        made = with_progress("writing anew", as_json, lambda tell: memory.regenerate(session_id, first, progress=tell))
        if accept:
            made = memory.accept(made.id)
            settled(memory, as_json)
    out(made, as_json, display_knowledge.proposal)


@commands.command()
def proposals(
    context: typer.Context,
    session: Annotated[str | None, typer.Option("--session", "-s", help="Only of this conversation.")] = None,
    as_json: JsonOption = False,
) -> None:
    """List what was regenerated."""
    with context.obj.existing().memory() as memory:
        found = memory.proposals(session)
    out(found, as_json, lambda f: display_knowledge.proposals_table(f) if f else "no proposals")


def _decide(context: typer.Context, proposal_id: str, as_json: bool, decide: Callable[[Memory, str], Proposal]) -> None:
    with context.obj.existing().memory() as memory:
        decided = decide(memory, proposal_named(memory, proposal_id))
        settled(memory, as_json)
    out(decided, as_json, lambda one: display_knowledge.proposals_table([one]))


@commands.command()
def accept(context: typer.Context, proposal_id: ProposalName, as_json: JsonOption = False) -> None:
    """Put what was regenerated in place of what there is; the old versions are kept."""
    _decide(context, proposal_id, as_json, Memory.accept)


@commands.command("roll-back")
def roll_back(context: typer.Context, proposal_id: ProposalName, as_json: JsonOption = False) -> None:
    """Discard what was regenerated, or take its acceptance back."""
    _decide(context, proposal_id, as_json, Memory.roll_back)
