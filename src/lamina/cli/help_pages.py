"""Help: the page of the whole command line, which fits on a screen, and a page for each command, with examples."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from lamina.cli.examples import EXAMPLES

EVERYDAY: Mapping[str, str] = {
    "demo": "Replay an example conversation, and look into its memory.",
    "add": "Append a message, or many, to a session.",
    "search": "Find messages, facts, summaries and episodes.",
    "context": "Build the context for the next message.",
    "facts": "Show what is known of a user, now or at another time.",
    "sessions": "List sessions.",
    "messages": "Show the messages of a session.",
    "remember": "Store a fact by hand.",
    "forget": "Erase for good, with everything that came of it.",
    "import": "Read ChatGPT, Claude and other histories, or an export.",
    "export": "Write everything, or one session, to a file.",
    "serve": "Serve the web page, the REST API, the proxy and MCP.",
}
GROUPS: Mapping[str, tuple[str, ...]] = {
    "Sessions": (
        *("session", "brief", "summaries", "zoom", "digest", "arc"),
        *("rename", "end", "pause", "resume", "archive"),
        *("regenerate", "proposals", "accept", "roll-back"),
    ),
    "Facts": (
        *("user-profile", "why", "history", "update", "promote", "demote", "retract"),
        *("opt-out", "opt-in", "opt-outs"),
    ),
    "Episodes": ("episodes", "add-episode", "link", "graph"),
    "Care": ("stats", "verify", "repair", "backup", "copy", "settle", "consolidate", "consistency", "receipts"),
    "Service": ("mcp", "keys", "worker", "workers", "costs", "grants"),
    "About": ("profiles", "config", "version", "bench"),
}
_TYPE = re.compile(r"<([a-z]+)[^>]*>")
_TAKES = {"int": "N", "float": "N", "path": "FILE", "file": "FILE"}
_BRIEF = ("version", "install_completion", "show_completion", "help")  # options in one line


def write_root(group: Any, ctx: Any, formatter: Any) -> None:
    """The everyday commands with a line each, the others by group with an example, the options of every command."""
    formatter.write(f"Usage: {ctx.command_path} COMMAND [ARGUMENTS] [OPTIONS]\n\n{group.help}\n")
    with formatter.section("Every day"):
        formatter.write_dl(list(EVERYDAY.items()))
    with formatter.section("More"):
        for title, names in _groups(group.commands).items():
            formatter.write_dl([(title, ", ".join(names))], col_max=10, col_spacing=12 - len(title))
            example = next((EXAMPLES[name][0] for name in names if name in EXAMPLES), None)
            if example:
                formatter.write(f"{'':14}{example}\n")
    options = [one for one in group.get_params(ctx) if one.name not in _BRIEF]
    with formatter.section("Options, before or after the command"):
        formatter.write_dl(_records(options, ctx))
        brief = [one.opts[0] for one in group.get_params(ctx) if one.name in _BRIEF]
        formatter.write(f"  {', '.join(brief)}\n")
    formatter.write(f"\n`{ctx.command_path} COMMAND --help` shows the options of a command, with examples.\n")


def _groups(commands: Mapping[str, Any]) -> dict[str, list[str]]:
    """The names of the other commands by group; those of no group are last."""
    groups = {title: [name for name in names if name in commands] for title, names in GROUPS.items()}
    known = {*EVERYDAY, *(name for names in groups.values() for name in names)}
    groups["Other"] = [name for name in commands if name not in known]
    return {title: names for title, names in groups.items() if names}


def write_group(group: Any, ctx: Any, formatter: Any) -> None:
    """The commands of a group, with a line and an example each."""
    formatter.write(f"Usage: {ctx.command_path} COMMAND [ARGUMENTS] [OPTIONS]\n\n{group.help}\n")
    with formatter.section("Commands"):
        formatter.write_dl([(name, _short(command)) for name, command in group.commands.items()])
    words = ctx.command_path.split()[1:]
    _write_end(formatter, [one for name in group.commands for one in EXAMPLES.get(" ".join([*words, name]), ())[:1]])


def write_command(command: Any, ctx: Any, formatter: Any) -> None:
    """What a command does, its arguments, its own options, and examples."""
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    usage = " ".join([ctx.command_path, *map(argument_name, arguments), "[OPTIONS]"])
    formatter.write(f"Usage: {usage}\n\n")
    formatter.write_text(command.help)
    if arguments:
        with formatter.section("Arguments"):
            formatter.write_dl([(one.name.upper(), one.help or "") for one in arguments])
    options = [one for one in command.params if one.param_type_name == "option"]
    if any(not one.hidden for one in options):
        with formatter.section("Options"):
            formatter.write_dl(_records(options, ctx))
    _write_end(formatter, EXAMPLES.get(" ".join(ctx.command_path.split()[1:]), ()))


def _write_end(formatter: Any, examples: Iterable[str]) -> None:
    formatter.write("\nAnd those of every command: --db, --user, --tenant, --config, --verbose; see `lamina --help`.\n")
    listed = list(examples)
    if listed:
        formatter.write("\nExamples:\n" + "".join(f"  {example}\n" for example in listed))


def _records(options: Iterable[Any], ctx: Any) -> list[tuple[str, str]]:
    """Options with what they take, and what they do."""
    found = [one.get_help_record(ctx) for one in options if not one.hidden]
    return [(_TYPE.sub(lambda type_: _TAKES.get(type_[1], "TEXT"), name), text) for name, text in found]


def argument_name(argument: Any) -> str:
    """An argument as usage lines show it."""
    name = argument.name.upper() + ("..." if argument.nargs != 1 else "")
    return name if argument.required else f"[{name}]"


def _short(command: Any) -> str:
    """The first clause of what a command does."""
    return str(command.help or "").partition("\n")[0]
