"""Options of every command: the same before and after it, one value each."""

import json
from pathlib import Path
from typing import Any

import pytest
import typer.main

from lamina.cli.main import app

ROOT: Any = typer.main.get_command(app)
SHARED = ("--db", "--user", "--tenant", "--config")
CALLS = {
    "add-episode": ["--kind", "decision_made"],
    "qa": ["--reader", "r", "--judge", "j"],
}  # options that a command cannot do without


def calls(group, words=()):
    """Every command with its required arguments."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from calls(command, (*words, name))
        else:
            required = ["x" for one in command.params if one.param_type_name == "argument" and one.required]
            yield [*words, name, *required, *CALLS.get(name, [])]


@pytest.mark.parametrize("option", SHARED)
def test_every_command_takes_it_before_and_after_and_not_two_values(cli, option):
    """Both places are read: two different values are an error, for every command and subcommand."""
    for words in calls(ROOT):
        if (words[0], option) == ("worker", "--tenant"):
            continue  # works for several tenants
        for typed in ([option, "one", *words, option, "two"], [*words, option, "one", option, "two"]):
            done = cli(*typed)
            assert done.code == 2, typed
            assert done.stderr == f"error: {option} is given twice: 'one' and 'two'; give it once\n", typed


def test_a_subcommand_takes_it_in_three_places(cli):
    """Before the group, behind it, and behind the command."""
    cli("keys", "create", "laptop", "--db", "own.db")
    for words in (
        ["--db", "own.db", "keys", "list"],
        ["keys", "--db", "own.db", "list"],
        ["keys", "list", "--db", "own.db"],
    ):
        assert "laptop" in cli(*words).stdout
    assert cli("--db", "own.db", "keys", "--db", "own.db", "list", "--db", "own.db").code == 0


@pytest.mark.parametrize(
    "words",
    [
        ["search", "harbour"], ["context", "harbour"], ["facts"], ["sessions"], ["episodes"], ["digest"], ["stats"],
        ["user-profile"], ["consistency"], ["why", "location"], ["messages", "s1"], ["verify"], ["config"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_the_answer_is_the_same_wherever_the_options_are(cli, words):
    """Of the memory, the tenant and the user that they name."""
    Path("own.toml").write_text("cache_mb = 64\n", "utf-8")
    given = ["--db", "own.db", "--user", "ana", "--tenant", "north", "--config", "own.toml"]
    cli("add", "I live in Ghent, by the harbour.", "-s", "s1", *given)
    cli("--db", "own.db", "add", "My harbour is Porto.", "-u", "ben", "-s", "s2")
    before, after = cli(*given, *words, "--json"), cli(*words, "--json", *given)
    assert (before.code, after.code) == (0, 0), after.stderr
    assert _steady(before.stdout) == _steady(after.stdout)
    assert "Porto" not in before.stdout


def _steady(text: str) -> object:
    """Without what differs from one call to the next."""
    value = json.loads(text)
    if isinstance(value, dict):
        value = {key: part for key, part in value.items() if key not in {"as_of", "known_at", "manifest", "markdown"}}
    return value


def test_what_is_behind_two_dashes_is_no_option(cli):
    cli("add", "-s", "s1", "--", "--db")
    assert not Path("--db").exists()
    assert "--db" in cli("messages", "s1").stdout
    assert cli("search", "--", "--user").code == 0


def test_the_value_of_another_option_is_no_option(cli):
    """Even if it looks like one."""
    done = cli("remember", "value", "--key", "--user", "--json")
    assert (done.code, json.loads(done.stdout)["key"]) == (0, "--user")


@pytest.mark.parametrize("option", SHARED)
def test_an_option_without_a_value_is_named(cli, option):
    assert cli("search", "word", option).stderr.startswith(f"error: {option} needs a value")
    assert cli("search", "word", option, "").stderr == f"error: {option} is empty; give a value, or leave it out\n"


def test_a_command_that_is_not_about_a_user_says_so(cli):
    """It does its work all the same, so that `alias l='lamina --user me'` is of use."""
    done = cli("--user", "ana", "version")
    assert done.code == 0
    assert done.stderr == "note: `lamina version` is not about one user; --user changes nothing\n"
    assert cli("version").stderr == ""


def test_several_tenants_are_for_workers_only(cli):
    cli("add", "hello", "-s", "s1", "--tenant", "north")
    assert cli("--tenant", "north", "worker", "--once", "--tenant", "south").code == 0


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["serch"], "did you mean `lamina search`"),
        (["find", "x"], "did you mean `lamina search`?"),
        (["keys", "crate"], "did you mean `lamina keys create`"),
        (["qqqq"], "`lamina --help` lists them"),
        (["search", "x", "--usr", "ana"], "did you mean --user? see `lamina search --help`"),
        (["search", "x", "--sesion", "s"], "did you mean --session"),
        (["--dbb", "x", "sessions"], "did you mean --db? see `lamina --help`"),
        (["search"], "QUERY is missing"),
        (["add-episode", "s1", "t"], "--kind is missing"),
        (["search", "x", "--top", "many"], "--top takes a whole number; see"),
        (["search", "x", "--min-score", "much"], "--min-score takes a number; see"),
        (["serve", "--port", "99999"], "--port takes a whole number from 0 to 65,535"),
        (["worker", "--processes", "0"], "--processes takes a whole number of at least 1"),
    ],
)
def test_a_wrong_word_gets_a_hint(cli, words, hint):
    """In one line, with what would work."""
    done = cli(*words)
    assert (done.code, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert len(done.stderr.splitlines()) == 1
    assert hint in done.stderr


def test_a_fact_is_named_by_its_key(cli):
    """Which must be of one user."""
    for user, town in (("ana", "Ghent"), ("ben", "Porto")):
        cli("add", f"I live in {town}.", "-u", user, "-s", user)
    assert "Ghent" in cli("why", "location", "-u", "ana").stdout
    done = cli("why", "location")
    assert (done.code, done.err) == (2, "error: 2 facts have the key 'location'; give --user, one of ana, ben")
    done = cli("why", "shoe size", "-u", "ana")
    assert (done.code, done.err) == (1, "error: no fact with the id or key 'shoe size'; `lamina facts` lists them")
