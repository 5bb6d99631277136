"""The command line, run as its users run it."""

import json
import sqlite3
import subprocess
import sys

import pytest


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


def test_a_conversation_from_end_to_end(lamina, tmp_path):
    """add → context → search → summaries → zoom → end → export → import into another file → digest → verify."""
    added = lamina("add", "-", "--user", "alex", "--session", "s1", "--json", given=lines(60), LAMINA_PROFILE="project")
    assert added.returncode == 0, added.stderr
    assert len(json.loads(added.stdout)["ids"]) == 60
    built = json.loads(lamina("context", "which plan?", "-u", "alex", "-s", "s1", "-b", "900", "--json").stdout)
    assert built["tokens"] <= 900
    assert built["manifest"]["profile"] == "project"
    assert json.loads(lamina("search", "harbour Porto", "-u", "alex", "--json").stdout)
    summaries = json.loads(lamina("summaries", "s1", "--json").stdout)
    assert [item["covers"] for item in summaries] == [{"first": f, "last": f + 9} for f in (1, 11, 21, 31)]
    assert len(json.loads(lamina("zoom", summaries[0]["id"], "--json").stdout)) == 10
    assert json.loads(lamina("end", "s1", "--outcome", "Plan chosen", "--json").stdout)["status"] == "ended"
    assert json.loads(lamina("session", "s1", "--json").stdout)["milestones"][0]["title"] == "Plan chosen"
    assert lamina("export", "all.jsonl").returncode == 0
    assert lamina("export", "s1.md", "--session", "s1").returncode == 0
    assert (tmp_path / "s1.md").read_text("utf-8").startswith("# Session: s1")
    taken = json.loads(lamina("--db", "other.db", "import", "all.jsonl", "--json").stdout)
    assert (taken["messages"], taken["duplicates"]) == (60, 0)
    again = json.loads(lamina("--db", "other.db", "import", "all.jsonl", "--json").stdout)
    assert (again["messages"], again["duplicates"]) == (0, 60)
    digest = json.loads(lamina("--db", "other.db", "digest", "-u", "alex", "--json").stdout)
    assert digest["sources"][0]["session_id"] == "s1"
    checked = lamina("--db", "other.db", "verify", "--json")
    assert checked.returncode == 0
    assert json.loads(checked.stdout)["ok"] is True


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
def test_mistakes_are_said_in_one_line(lamina, words, said):
    """What goes wrong is an `error:` line on standard error, exit code 2, no traceback."""
    done = lamina(*words)
    assert done.returncode == 2
    assert "error:" in done.stderr
    assert said in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_bad_settings_stop_every_command_with_all_problems(lamina):
    """All problems of the environment are listed before anything is done."""
    done = lamina("version", LAMINA_LOG_LEVEL="loud", LAMINA_DURABLE="perhaps")
    assert done.returncode == 2
    assert "LAMINA_LOG_LEVEL" in done.stderr
    assert "LAMINA_DURABLE" in done.stderr


def test_the_version_is_told_whatever_the_settings_are(lamina):
    """As an option, where `version` would first read the settings."""
    done = lamina("--version", LAMINA_LOG_LEVEL="loud")
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, lamina("version").stdout.strip(), "")


def test_the_package_is_a_command(tmp_path):
    """`python -m lamina` is the same command line."""
    command = [sys.executable, "-m", "lamina", "--db", str(tmp_path / "m.db"), "add", "hello", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert len(json.loads(done.stdout)["ids"]) == 1


def test_unknown_session_is_not_found(lamina):
    """A session that is not there gives exit code 1 and its name."""
    lamina("add", "hello", "-s", "s1")
    done = lamina("summaries", "s9")
    assert (done.returncode, "no session 's9'" in done.stderr) == (1, True)


def test_logs_are_json_lines_without_user_content(lamina):
    """-v tells of folds and contexts as JSON lines with stable actions, never what was said."""
    done = lamina("-v", "add", "-", "-s", "s1", given=lines(40), LAMINA_PROFILE="project")
    records = [json.loads(line) for line in done.stderr.splitlines()]
    folds = [record for record in records if record["action"] == "folded"]
    assert folds
    assert {"tokens_before", "tokens_after", "turns_folded", "seconds"} <= set(folds[0])
    assert "harbour" not in done.stderr


def test_damage_is_reported_with_exit_code_1(lamina, tmp_path):
    """`verify` fails on a damaged file and says where."""
    lamina("add", "-", "-s", "s1", given=lines(4))
    with sqlite3.connect(tmp_path / "lamina.db") as connection:
        connection.execute("update messages set body = replace(body, 'harbour', 'harbor') where seq = 2")
    connection.close()
    done = lamina("verify")
    assert done.returncode == 1
    assert "does not match its digest" in " ".join(done.stdout.split())
