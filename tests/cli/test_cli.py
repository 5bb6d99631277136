"""The command line: in this process, and as its users run it."""

import io
import json
import logging
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from lamina import Memory
from lamina.cli import command, demo, serve_commands
from lamina.logs import JsonLines
from lamina.server.mcp import mcp_process
from lamina.settings import load_settings
from tests.command_line import LAMINA, plain_environ


def lines(number: int) -> str:
    return "\n".join(
        json.dumps(
            {
                "role": "user" if n % 2 == 0 else "assistant",
                "content": f"Message {n} about the harbour at Porto and plan {n}",
            }
        )
        for n in range(number)
    )


@pytest.mark.also_postgres
def test_a_conversation_from_end_to_end(cli, place):
    """add → context → search → summaries → zoom → end → export → import elsewhere → digest → verify."""

    def told(*words, db="chat.db", **given):
        done = cli("--db", str(place(db)), *words, "--json", **given)
        assert (done.code, done.stderr) == (0, "")
        return json.loads(done.stdout)

    added = told("add", "-", "--user", "alex", "--session", "s1", given=lines(60), LAMINA_PROFILE="project")
    assert len(added["ids"]) == 60
    built = told("context", "which plan?", "-u", "alex", "-s", "s1", "-b", "900")
    assert built["tokens"] <= 900
    assert built["manifest"]["profile"] == "project"
    sources = ["--source", "Open 9 to 5.", "--source", "Closed in May."]
    first = told("context", "Hi", "-u", "new", "--system", "You are brief.", *sources)
    assert [one["content"] for one in first["messages"]] == ["You are brief.", "Open 9 to 5.", "Closed in May.", "Hi"]
    assert told("search", "harbour Porto", "-u", "alex")
    summaries = told("summaries", "s1")
    assert [item["covers"] for item in summaries] == [{"first": f, "last": f + 9} for f in (1, 11, 21, 31)]
    assert len(told("zoom", summaries[0]["id"])) == 10
    assert told("end", "s1", "--outcome", "Plan chosen")["status"] == "ended"
    assert told("session", "s1")["milestones"][0]["title"] == "Plan chosen"
    told("export", "all.jsonl")
    told("export", "s1.md", "--session", "s1")
    assert Path("s1.md").read_text("utf-8").startswith("# Session: s1")
    taken, again = (told("import", "all.jsonl", db="other.db") for _ in range(2))
    assert (taken["messages"], taken["duplicates"]) == (60, 0)
    assert (again["messages"], again["duplicates"]) == (0, 60)
    digest = told("digest", "-u", "alex", db="other.db")
    assert digest["sources"][0]["session_id"] == "s1"
    assert told("verify", db="other.db")["ok"] is True


def test_what_one_process_adds_the_next_one_finds(lamina, tmp_path):
    """With its logs as JSON lines with stable actions, which never have what was said."""
    done = lamina("-v", "add", "-", "-s", "s1", given=lines(40), LAMINA_PROFILE="project")
    assert done.returncode == 0, done.stderr
    records = [json.loads(line) for line in done.stderr.splitlines() if not line.startswith("made ")]
    folds = [record for record in records if record["action"] == "folded"]
    assert folds
    assert {"tokens_before", "tokens_after", "turns_folded", "seconds"} <= set(folds[0])
    assert "harbour" not in done.stderr
    found = lamina("context", "which plan?", "-s", "s1", "--json")
    assert (found.returncode, found.stderr) == (0, "")
    assert "harbour" in json.loads(found.stdout)["text"]


def test_unknown_session_is_not_found(cli):
    """A session that is not there gives exit code 1 and its name."""
    cli("add", "hello", "-s", "s1", "--no-settle")
    done = cli("summaries", "s9")
    assert (done.code, done.stdout, done.err) == (1, "", "error: no session 's9'; `lamina sessions` lists them")


def test_blank_lines_between_messages_are_passed_over(cli):
    done = cli("add", "-", "--json", given="\n" + lines(3).replace("\n", "\n \n"))
    assert len(json.loads(done.stdout)["ids"]) == 3


def test_an_import_may_leave_the_folding_to_others(cli):
    """With --no-settle it is due."""
    project = {"LAMINA_PROFILE": "project"}
    cli("add", "-", "-s", "s1", "--no-settle", given=lines(40), **project)
    cli("export", "all.jsonl")
    for words, pending in (([], 0), (["--no-settle"], 1)):
        base = ["--db", f"other{pending}.db"]
        assert cli(*base, "import", "all.jsonl", *words, **project).code == 0
        assert json.loads(cli(*base, "workers", "--json").stdout)["backlog"]["pending"] == pending


def test_an_import_of_a_path_that_is_not_there(cli):
    """Bad input: the error is on standard error, says what would work, and no memory is made."""
    done = cli("import", "old.zip", "older.json")
    assert (done.code, done.stdout) == (2, "")
    assert done.err.startswith("error: there is no file or folder 'old.zip' in ")
    assert "older.json" in done.err
    assert "give the path of a file, a folder or a .zip archive" in done.err
    assert not Path("lamina.db").exists()


@pytest.mark.parametrize("words", [[], ["--json"]], ids=["text", "json"])
def test_an_import_goes_on_without_paths_that_are_not_there(cli, words):
    """What is there is imported and told; what is not is named on standard error, and the exit code is 1."""
    Path("a.jsonl").write_text('{"session_id": "s1", "role": "user", "content": "I live in Porto."}')
    done = cli("import", "gone.zip", "a.jsonl", *words)
    assert done.code == 1
    assert "a.jsonl" in done.stdout
    assert "gone.zip" not in done.stdout
    assert "error: there is no file or folder 'gone.zip'" in done.err
    assert [one["id"] for one in json.loads(cli("sessions", "--json").stdout)] == ["s1"]


def test_a_context_says_what_did_not_fit(cli):
    cli("add", "-", "-s", "s1", given=lines(60))
    assert "did not fit the budget" in cli("context", "which plan?", "-s", "s1", "-b", "150").out


def test_progress_is_shown_at_a_terminal_only(cli, monkeypatch):
    """On standard error, and not beside JSON."""
    monkeypatch.setattr(command.errors, "is_interactive", True)
    cli("add", "-", "-s", "s1", "--no-settle", given=lines(30))
    terminal = {"FORCE_COLOR": "1", "TERM": "xterm"}
    assert "folding" in cli("settle", **terminal).stderr
    assert cli("settle", "--json", **terminal).stderr == cli("settle").stderr == ""


def test_folding_after_an_import_shows_how_many_sessions_are_left(cli, monkeypatch):
    """The bar knows its total as soon as it is there: the sessions that are pending."""
    monkeypatch.setattr(command.errors, "is_interactive", True)
    for number in range(4):
        cli("add", "-", "-s", f"s{number}", "--no-settle", given=lines(30))
    cli("export", "all.jsonl")
    terminal = {"FORCE_COLOR": "1", "TERM": "xterm"}
    shown = cli("--db", "other.db", "import", "all.jsonl", **terminal).stderr
    assert "4/4" in shown.partition("folding")[2]


READS = [
    ["sessions"], ["session", "s1"], ["messages", "s1", "--first", "2", "--last", "3"], ["summaries", "s1", "--all"],
    ["digest"], ["facts"], ["context", "plan?", "-s", "s1"], ["search", "harbour"], ["settle"], ["verify"], ["repair"],
    ["profiles"], ["profiles", "chunked"], ["config"], ["version"], ["pause", "s1"], ["resume", "s1"],
    ["archive", "s1"], ["user-profile"], ["episodes"], ["arc", "s1"], ["consolidate"], ["consistency"], ["stats"],
    ["remember", "The quay closes at 18:00"], ["regenerate", "s1", "--from", "3"], ["proposals"], ["receipts"],
    ["workers"], ["workers", "--retry", "all"],
    ["add-episode", "s1", "First plan", "--kind", "task_completed"], ["forget", "--session", "s1", "--dry-run"],
]  # fmt: skip


def test_every_command_speaks_text_and_json(cli):
    """Each command prints something for people, and valid JSON with --json."""
    assert cli("add", "-", "-s", "s1", given=lines(30)).code == 0
    for words in READS:
        text, data = cli(*words), cli(*words, "--json")
        assert text.code == 0, (words, text.stderr)
        assert text.stdout.strip(), words
        json.loads(data.stdout)
        assert not data.stderr, words


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(["sessions"], "there is no memory at", id="no-file"),
        pytest.param(["add"], "nothing to add", id="nothing"),
        pytest.param(["add", "hi", "--role", "narrator"], "a role is one of", id="role"),
        pytest.param(["add", "--file", "missing.jsonl"], "there is no file missing.jsonl", id="no-input-file"),
        pytest.param(["add", " "], "the message is empty; nothing was added", id="empty"),
        pytest.param(["profiles", "nope"], "there are", id="profile"),
    ],
)
def test_mistakes_are_said_in_one_line(cli, words, said):
    """What goes wrong is an `error:` line on standard error, exit code 2, no traceback."""
    done = cli(*words)
    assert done.code == 2
    assert "error:" in done.err
    assert said in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(["messages", "s1", "--first", "9"], "has 1 message; --first 9 is behind the newest", id="behind"),
        pytest.param(["messages", "s1", "--first", "3", "--last", "2"], "--first 3 --last 2 has none", id="none"),
        pytest.param(["messages", "s1", "--first", "-1"], "messages are numbered from 1", id="negative"),
        pytest.param(["search", "x", "--top", "0"], "error: --top must be", id="option"),
        pytest.param(["search", "x", "--as-of", "never"], "error: --as-of 'never' is no time", id="time"),
    ],
)
def test_a_mistake_is_said_in_the_words_of_the_options(cli, words, said):
    cli("add", "hello", "-s", "s1", "--no-settle")
    done = cli(*words)
    assert (done.code, done.stdout) == (2, "")
    assert said in done.err


def test_bad_settings_stop_every_command_with_all_problems(cli):
    """All problems of the environment are listed before anything is done."""
    done = cli("version", LAMINA_LOG_LEVEL="loud", LAMINA_DURABLE="perhaps")
    assert done.code == 2
    assert "LAMINA_LOG_LEVEL" in done.stderr
    assert "LAMINA_DURABLE" in done.stderr


def test_the_version_is_told_whatever_the_settings_are(lamina, cli):
    """As an option, where `version` would first read the settings."""
    done = lamina("--version", LAMINA_LOG_LEVEL="loud")
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, cli("version").out, "")


def test_the_package_is_a_command(tmp_path):
    """`python -m lamina` is the same command line."""
    command = [sys.executable, "-m", "lamina", "--db", str(tmp_path / "m.db"), "add", "hello", "--no-settle", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path, env=plain_environ())
    assert len(json.loads(done.stdout)["ids"]) == 1


def test_damage_is_reported_with_exit_code_1(cli, tmp_path):
    """`verify` fails on a damaged file and says where."""
    cli("add", "-", "-s", "s1", given=lines(4))
    with sqlite3.connect(tmp_path / "lamina.db") as connection:
        connection.execute("update messages set body = replace(body, 'harbour', 'harbor') where seq = 2")
    connection.close()
    done = cli("verify")
    assert done.code == 1
    assert "does not match its digest" in done.out


def test_what_was_mended_is_told(cli, tmp_path):
    """Each thing in a line, and that all is well then."""
    cli("add", "-", "-s", "s1", given=lines(4))
    with sqlite3.connect(tmp_path / "lamina.db") as connection:
        connection.execute("update sessions set tokens = 7")
    connection.close()
    done = cli("repair")
    assert done.code == 0
    assert "repaired" in done.out
    assert done.out.endswith("clean")


# what is not installed


@pytest.mark.parametrize(
    ("command", "package", "extra"),
    [pytest.param("mcp", "mcp", "mcp", id="mcp"), pytest.param("serve", "uvicorn", "server", id="serve")],
)
def test_a_command_whose_packages_are_missing_says_what_to_install(cli, monkeypatch, command, package, extra):
    monkeypatch.delitem(sys.modules, "lamina.server.serve", raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    done = cli(command)
    assert done.code == 1
    assert done.err == f"error: {package} is not installed; get it with: pip install 'lamina[{extra}]'"


def test_the_service_has_no_mcp_where_it_is_not_installed(monkeypatch):
    assert list(serve_commands._mounts(load_settings({}))) == ["/mcp"]
    monkeypatch.setitem(sys.modules, "mcp", None)
    assert serve_commands._mounts(load_settings({})) == {}


def test_whoever_starts_an_mcp_server_at_a_terminal_is_told_that_it_waits(cli, monkeypatch):
    """A client that starts it reads no such line."""
    monkeypatch.setattr(mcp_process, "serve_stdio", lambda _plan: None)
    assert "waiting for an MCP client on standard input" in cli("mcp", keys="").err
    assert cli("mcp").err == ""


# the demo


def printed(show, *values):
    console = Console(width=200, file=io.StringIO())
    with console.capture() as seen:
        show(console, *values)
    return seen.get()


def test_the_demo_names_programs_that_the_shell_finds(monkeypatch, tmp_path):
    """By their names; others by their paths."""
    monkeypatch.chdir(tmp_path)
    for path, name in (("", LAMINA), (str(Path(LAMINA).parent), "lamina")):
        monkeypatch.setenv("PATH", path)
        assert f"  {name} --db demo.db serve" in printed(demo._show_next, Path("demo.db"))


def test_the_demo_says_what_carries_an_answer():
    """A passage with the evidence, other words of the context, or nothing."""
    with Memory(":memory:", worker=False, embedder="none") as memory:
        memory.add({"role": "user", "content": "The wedding is on 14 June.", "id": "m1"})
        context = memory.context("When is the wedding?")
    for answer, evidence, said in (
        ("14 June", "m1", "found in messages"),
        ("14 June", "m9", "found in another passage, summary or fact"),
        ("3 May", "m9", "not in the context"),
    ):
        question = {"question": "When?", "answer": answer, "evidence": [evidence]}
        shown = printed(demo._show_answer, question, context, demo._sources(context, question))
        assert said in shown
        assert ("The wedding is on 14 June" in shown) == (said != "not in the context")


# logs


def test_a_log_line_has_the_error_that_it_is_about():
    """With its traceback and its cause, on the one line; without their texts, which may repeat what a user said."""
    said = "my card is 4242"
    try:
        try:
            int(said)
        except ValueError as error:
            raise ZeroDivisionError(said) from error
    except ZeroDivisionError:
        record = logging.LogRecord("lamina", logging.ERROR, __file__, 1, "failed", None, sys.exc_info())
    line = JsonLines().format(record)
    assert "\n" not in line
    assert json.loads(line)["error"].endswith("ValueError")
    assert "in test_a_log_line_has_the_error_that_it_is_about" in line
    assert "ZeroDivisionError\\ncaused by" in line
    assert said not in line
