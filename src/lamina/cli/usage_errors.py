"""Errors of the words typed, in the form that all errors have."""

import re
from collections.abc import Iterable
from typing import Any

import typer

from lamina.cli.command import say_error
from lamina.cli.help_pages import argument_name
from lamina.errors import InputError, LaminaError

_CALLED = {
    "session": "session_id",
    "user": "user_id",
    "top": "top_k",
    "message": "message_id",
    "fact": "fact_id",
    "min_significance": "min_importance",
    "kind": "kinds",
    "type": "types",
    "status": "statuses",
}  # fmt: skip - parameters that the verbs of the memory call otherwise
_LISTS = {
    "session": "`lamina sessions` lists them",
    "message": "`lamina messages SESSION_ID --json` shows the ids",
    "key": "`lamina keys list` lists them",
    "fact": "`lamina facts` lists them",
    "memory": "`lamina facts` and `lamina episodes` list them",
    "summary": "`lamina summaries SESSION_ID` lists them",
    "proposal": "`lamina proposals` lists them",
}  # what shows the ids of what there is
_TEXTS = frozenset({"query", "text", "title", "value"})  # arguments that may be several words
_LEFT_OVER = re.compile(r"unexpected extra argument.*? \((.*)\)")
_KINDS = {int: "a whole number", float: "a number"}


def explain(error: typer.TyperException) -> int:
    """Print what is wrong and where to read on; the exit code."""
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        typer.echo(error.format_message(), err=True)
        return error.exit_code
    path = context.command_path if context is not None else "lamina"
    text = describe(error)
    say_error(f"{text}{'' if text.endswith('?') else ';'} see `{path} --help`")
    return error.exit_code


def report(error: LaminaError, params: Iterable[Any] = ()) -> int:
    """Print an error of the memory in the words of a command with these parameters; the exit code."""
    say_error(in_options(str(error), params))
    return 2 if isinstance(error, InputError) else 1


def describe(error: Any) -> str:
    """What is wrong, in one clause."""
    kind, param = type(error).__name__, getattr(error, "param", None)
    if kind == "NoSuchOption":
        near = " or ".join((error.possibilities or [])[:2])
        return f"no option {error.option_name}" + (f"; did you mean {near}?" if near else "")
    if kind == "MissingParameter" and param is not None:
        return f"{_name(param)} is missing" + (
            f": {param.help[0].lower()}{param.help[1:].rstrip('.')}" if param.help else ""
        )
    if kind == "BadParameter" and param is not None:
        return f"{_name(param)} {_accepts(param)}"
    if kind == "BadOptionUsage":
        return f"{error.option_name} needs a value"
    text = error.format_message().rstrip(".")
    if left_over := _LEFT_OVER.search(text):
        return _too_many(left_over[1], error.ctx.command.params)
    return f"{text[0].lower()}{text[1:]}"


def _too_many(words: str, params: Iterable[Any]) -> str:
    """That words are left over, and how they may be meant."""
    arguments = [one for one in params if one.param_type_name == "argument"]
    text = next((one.name.upper() for one in arguments if one.name in _TEXTS), None)
    if text is not None:
        return f"too many words: {words!r} is left over; put quotes around {text} if it has spaces"
    takes = f"it takes only {' '.join(one.name.upper() for one in arguments)}" if arguments else "it takes only options"
    hint = ", such as --user NAME" if not arguments and any(one.name == "user" for one in params) else ""
    return f"too many words: {words!r} is left over; {takes}{hint}"


def _name(param: Any) -> str:
    return argument_name(param).strip("[]") if param.param_type_name == "argument" else str(param.opts[0])


def _accepts(param: Any) -> str:
    """What a parameter takes."""
    what = _KINDS.get(param.type_descriptor.annotation, "another value")
    if param.min is not None and param.max is not None:
        return f"takes {what} from {param.min:,} to {param.max:,}"
    if param.min is not None:
        return f"takes {what} of at least {param.min:,}"
    return f"takes {what}"


def in_options(text: str, params: Iterable[Any] = ()) -> str:
    """An error of the memory in the words of the command line: its parameters, and what lists what is there."""
    text = text.replace("user_id (on the command line --user)", "--user")
    for param in params:
        name = _CALLED.get(param.name, param.name)
        text = re.sub(rf"^{name}(?= must |: | '.*' is no )", _name(param), text)
        if "_" in name:
            text = re.sub(rf"(?<!['\"\w]){name}(?!['\"\w])", _name(param), text)
    text = re.sub(r"\[('[\w-]+'(?:, '[\w-]+')*)\]$", lambda found: found[1].replace("'", ""), text)
    if found := re.match(r"no (\w+) '[^']*'(?= over messages$|; give the id|; see proposals|$)", text):
        return f"{found[0]}; {_LISTS[found[1]]}" if found[1] in _LISTS else text
    return text
