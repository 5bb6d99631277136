"""The command line: in this process, and as its users run it."""

import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.interfaces.conftest import plain_environ


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
    records = [json.loads(line) for line in done.stderr.splitlines()]
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
    assert (done.code, done.stdout, done.err) == (1, "", "error: no session 's9'")


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
        pytest.param(["add", "--file", "missing.jsonl"], "cannot be read", id="no-input-file"),
        pytest.param(["profiles", "nope"], "there are", id="profile"),
        pytest.param(["import", "missing.jsonl"], "cannot be read", id="import"),
    ],
)
def test_mistakes_are_said_in_one_line(cli, words, said):
    """What goes wrong is an `error:` line on standard error, exit code 2, no traceback."""
    done = cli(*words)
    assert done.code == 2
    assert "error:" in done.err
    assert said in done.err
    assert "Traceback" not in done.err


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
