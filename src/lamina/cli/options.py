"""Arguments and options that several commands share."""

from typing import Annotated, Any

import typer

from lamina.cli.complete import session_ids
from lamina.search.filters import FILTERS
from lamina.values.fact import EPISODE_KINDS, FACT_TYPES


def filter_option(name: str, *flags: str, **more: Any) -> Any:
    """The option for a search filter."""
    field = FILTERS[name]
    several = field.kind in {"choices", "words", "weights"}
    help_ = f"{field.about} {'May be repeated. ' if several else ''}"
    choices = f"One of {', '.join(field.choices)}." if field.choices else ""
    return typer.Option(*flags, help=(help_ + choices).rstrip(), **more)


User = Annotated[str | None, typer.Option("--user", "-u", hidden=True, help="Whose memory.")]  # of every command
OnlyUser = Annotated[str | None, typer.Option("--user", "-u", help="Only of this user; default: of all users.")]
Owner = Annotated[
    str | None, typer.Option("--user", "-u", hidden=True, help="Its user, if only a part of the id is given.")
]
Session = Annotated[
    str | None,
    typer.Option("--session", "-s", metavar="ID", help="Id of the session.", autocompletion=session_ids),
]
OnlySession = Annotated[
    str | None,
    typer.Option("--session", "-s", metavar="ID", help="Only of this session.", autocompletion=session_ids),
]
Project = Annotated[
    str | None, typer.Option("--project", metavar="ID", help="The project that it belongs to; default: none.")
]
InProject = Annotated[str | None, filter_option("project_id", "--project", metavar="ID")]
OnlyProject = Annotated[str | None, typer.Option("--project", metavar="ID", help="Only of this project.")]
SessionId = Annotated[str, typer.Argument(help="Id of the session.", autocompletion=session_ids)]
FactId = Annotated[
    str, typer.Argument(help="Key of the fact, e.g. location; or its id, or the beginning or end of it.")
]
MemoryId = Annotated[
    str, typer.Argument(help="Key of a fact, or the id of a fact or episode, or the beginning or end of it.")
]
ProposalId = Annotated[str, typer.Argument(help="Id of the proposal, or its beginning or end.")]
KeyId = Annotated[str, typer.Argument(help="Id of the key, as `keys list` shows it.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
AllTenants = Annotated[bool, typer.Option("--all-tenants", help="For all tenants of the store, not for one.")]
NoSettle = Annotated[bool, typer.Option("--no-settle", help="Do not fold now; a later command or a worker will.")]
First = Annotated[int | None, typer.Option("--first", help="Number of the first message.")]
Last = Annotated[int | None, typer.Option("--last", help="Number of the last message.")]

Types = Annotated[list[str] | None, filter_option("types", "--type")]
Categories = Annotated[list[str] | None, filter_option("categories", "--category")]
Tags = Annotated[list[str] | None, filter_option("tags", "--tag")]
Since = Annotated[str | None, filter_option("since", "--since")]
Until = Annotated[str | None, filter_option("until", "--until")]
MinImportance = Annotated[float, filter_option("min_importance", "--min-importance")]
AboutWhom = Annotated[
    str | None, typer.Option("--about", help="Only facts about this person, by name or relation: Lena, sister.")
]
AsOf = Annotated[str | None, filter_option("as_of", "--as-of")]
At = Annotated[str | None, filter_option("at", "--at")]
KnownAt = Annotated[str | None, typer.Option("--known-at", help="With what was known at this time; default: now.")]

NewTags = Annotated[list[str] | None, typer.Option("--tag", help="A word to find it by; may be repeated.")]
NewType = Annotated[
    str | None, typer.Option("--type", help=f"One of {', '.join(FACT_TYPES)}; default: what the text says.")
]
NewKind = Annotated[str, typer.Option("--kind", help=f"One of {', '.join(EPISODE_KINDS)}.")]
Importance = Annotated[float | None, typer.Option("--importance", help="From 0 to 1; default: by its type.")]
ValidUntil = Annotated[str | None, typer.Option("--valid-until", help="Until when it is valid.")]
Profile = Annotated[str | None, typer.Option("--profile", "-p", help="Name of the profile; see `lamina profiles`.")]
Expires = Annotated[str | None, typer.Option("--expires", help="How long the new key is valid: 12h, 90d, 52w.")]
