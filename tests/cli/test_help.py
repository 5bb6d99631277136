"""Help: one screen for everything, a page for each command; every example on them runs."""

import json
import re
import shlex
import subprocess
from typing import Any

import pytest
import typer.main

from lamina import Memory
from lamina.cli.examples import EXAMPLES
from lamina.cli.help_pages import EVERYDAY, GROUPS
from lamina.cli.main import app
from tests.command_line import LAMINA, plain_environ
from tests.waiting import CEILING, wait_until

SCREEN = 45  # lines
ID = "4f1c9a2b"  # stands for an id on the pages


def commands(group, words=()):
    """The words of every command."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*words, name))
        else:
            yield " ".join((*words, name))


ROOT: Any = typer.main.get_command(app)
COMMANDS = sorted(commands(ROOT))


def examples(page: str) -> list[str]:
    """The commands that a page of help shows."""
    return re.findall(r"^ +(lamina .+)$", page, re.MULTILINE)


def test_all_commands_fit_on_a_screen(cli):
    """The everyday ones first, each with a line; the others by group, each group with an example."""
    page = cli("--help", COLUMNS="80").stdout
    assert len(page.splitlines()) <= SCREEN
    assert max(map(len, page.splitlines())) <= 80
    names = re.findall(r"[a-z]+(?:-[a-z]+)*", page)
    assert set(ROOT.commands) <= set(names)
    assert page.index("Every day") < page.index("More")
    assert "Other" not in page
    assert len(examples(page)) == len(GROUPS)
    assert set(EVERYDAY) <= set(ROOT.commands)


def test_without_a_command_the_help_is_shown(cli):
    """On standard error, and the exit code says that nothing was done."""
    done = cli()
    assert (done.code, done.stdout) == (2, "")
    assert done.stderr.strip() == cli("--help").stdout.strip()


@pytest.mark.parametrize("words", COMMANDS)
def test_the_page_of_a_command_ends_with_examples(cli, words):
    """The options of every command are named in one line, and not described again."""
    page = cli(*words.split(), "-h").stdout
    assert page.startswith(f"Usage: lamina {words} ")
    assert examples(page) == list(EXAMPLES[words])
    assert page.rstrip().endswith(EXAMPLES[words][-1])
    assert "And those of every command: --db, --user, --tenant, --config, --verbose" in page
    assert not re.search(r"^ +(-\w, )?--(db|config|verbose)", page, re.MULTILINE)


def test_the_page_of_a_group_has_an_example_of_each_command(cli):
    page = cli("keys", "--help").stdout
    assert len(examples(page)) == len(ROOT.commands["keys"].commands)


def test_no_example_is_of_a_command_that_is_not_there():
    assert sorted(EXAMPLES) == COMMANDS


# every example runs


@pytest.fixture
def folder(cli, tmp_path):
    """A folder with a memory and files, as the examples have them."""
    chat = '{"role": "user", "content": "My editor is Helix.", "id": "m9"}\n'
    (tmp_path / "chat.jsonl").write_text(chat, "utf-8")
    (tmp_path / "old.jsonl").write_text(chat.replace("m9", "m10"), "utf-8")
    (tmp_path / "conversations.json").write_text(
        json.dumps(
            [{"id": "g1", "conversations": [{"from": "human", "value": "hello"}, {"from": "gpt", "value": "hi"}]}]
        ),
        "utf-8",
    )
    turns = [{"id": 1, "sess": "a", "date": "2025-03-14", "speaker": "Ines", "text": "My canoe is called Heron."}]
    gold = {"answer": "Heron", "gold": [1], "gold_sess": ["a"]}
    asked = [{"qid": "q1", "cat": "names", "q": "What is the canoe called?", **gold}]
    (tmp_path / "boats.jsonl").write_text(json.dumps({"conv_id": "c1", "turns": turns, "questions": asked}), "utf-8")
    for text in ("I live in Ghent. My editor is Helix.", "We fly on 12 May.", "Let's take the early flight.", "Good."):
        assert cli("add", text, "--user", "alex", "--session", "trip").code == 0
    return tmp_path


def id_for(words: str, folder) -> str:
    """An id of the kind that a command takes."""
    with Memory(folder / "lamina.db", worker=False) as memory:
        if words == "zoom":
            memory.end("trip")
            memory.settle()
            return memory.summaries("trip")[0].id[-8:]
        if words in {"accept", "roll-back"}:
            return memory.regenerate("trip").id[-8:]
        fact = next(fact for fact in memory.facts("alex") if fact.key == "location")
        if words == "promote":
            memory.demote(fact.id)
        return fact.id[-8:]


@pytest.mark.parametrize("words", [one for one in COMMANDS if one not in {"serve", "worker", "mcp", "grants"}])
def test_every_example_runs(cli, words, folder):
    """As it stands on the page, but for ids."""
    for example in examples(cli(*words.split(), "--help").stdout):
        line = example
        if f"key_{ID}" in line:
            line = line.replace(f"key_{ID}", json.loads(cli("keys", "create", "one", "--json").stdout)["id"])
        if ID in line:
            line = line.replace(ID, id_for(words, folder))
        done = cli(*shlex.split(line)[1:])
        assert done.code == 0, (line, done.stderr)
        assert done.stdout, line


def test_the_example_of_grants_names_a_server(cli):
    """There is none of that name here; the command needs only its address to say what to run on it."""
    done = cli(*shlex.split(EXAMPLES["grants"][0])[1:])
    assert (done.code, "GRANT" in done.stdout.upper()) == (0, True), done.stderr


@pytest.mark.parametrize("example", [*EXAMPLES["serve"], *EXAMPLES["worker"][1:], *EXAMPLES["mcp"][1:]])
def test_an_example_that_runs_until_it_is_told_to_stop(example, folder):
    """It is up, and ends well when it is told to."""
    words = shlex.split(example.replace("8640", "0"))[1:]
    log = folder / "log"
    with log.open("w", encoding="utf-8") as errors:
        process = subprocess.Popen(
            [LAMINA, *words],
            cwd=folder,
            env=plain_environ(),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )
    try:
        if words[0] != "mcp":
            wait_until(lambda: log.read_text("utf-8") or process.poll() is not None)
            process.terminate()
        assert process.stdin
        process.stdin.close()
        assert process.wait(CEILING) == 0, log.read_text("utf-8")
    finally:
        process.kill()
        process.wait()


def test_the_first_example_of_worker_ends_by_itself(cli, folder):
    assert cli(*shlex.split(EXAMPLES["worker"][0])[1:]).code == 0


def test_the_first_example_of_mcp_only_prints(cli, folder):
    assert "alex" in cli(*shlex.split(EXAMPLES["mcp"][0])[1:]).stdout
