"""Commands for new versions of summaries and facts, next to the old ones."""

from collections.abc import Callable
from typing import Annotated

import typer

from lamina import Memory
from lamina.cli import display_knowledge, options
from lamina.cli.command import ask, out, settle_memory, with_progress
from lamina.cli.named import check_named
from lamina.cli.short_ids import find_proposal
from lamina.values.summary import Proposal

commands = typer.Typer()


@commands.command()
def regenerate(
    context: typer.Context,
    session_id: options.SessionId,
    first: Annotated[int, typer.Option("--from", help="Number of the message to begin at.")] = 1,
    accept: Annotated[bool, typer.Option("--accept", help="Use the new versions at once.")] = False,
    as_json: options.Json = False,
) -> None:
    """Write new summaries and facts of a session and compare them; nothing changes until you accept."""
    with context.obj.check_exists().memory() as memory:
        found = with_progress("writing", as_json, lambda report: memory.regenerate(session_id, first, progress=report))
        if accept:
            found = memory.accept(found.id)
            settle_memory(memory, as_json)
    out(found, as_json, display_knowledge.proposal)


@commands.command()
def proposals(context: typer.Context, session: options.OnlySession = None, as_json: options.Json = False) -> None:
    """List what was regenerated."""
    with context.obj.check_exists().memory() as memory:
        found = memory.proposals(session)
        if not found:
            check_named(memory, None, session)
    out(found, as_json, display_knowledge.proposals_table, "no proposals")


@commands.command()
def accept(context: typer.Context, proposal_id: options.ProposalId, as_json: options.Json = False) -> None:
    """Replace summaries and facts by the regenerated ones; the old versions are kept."""
    _decide(context, as_json, lambda memory: memory.accept(find_proposal(memory, proposal_id)))


@commands.command("roll-back")
def roll_back(context: typer.Context, proposal_id: options.ProposalId, as_json: options.Json = False) -> None:
    """Discard what was regenerated, or undo its acceptance."""
    _decide(context, as_json, lambda memory: memory.roll_back(find_proposal(memory, proposal_id)))


def _decide(context: typer.Context, as_json: bool, work: Callable[[Memory], Proposal]) -> None:
    ask(context, as_json, work, lambda one: display_knowledge.proposals_table([one]), settle=True)
