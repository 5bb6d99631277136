"""The command line, run as its users run it."""

import json
import os
import pty
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

LAMINA = str(Path(sys.executable).with_name("lamina"))


@pytest.fixture
def lamina(tmp_path):
    """Runs `lamina` in an empty folder; gives the finished process."""

    def run(*words: str, given: str | None = None, **environ: str) -> subprocess.CompletedProcess[str]:
        plain = {
            key: value for key, value in os.environ.items() if not key.startswith(("LAMINA", "MEMORY_", "PROMPT_"))
        }
        return subprocess.run(
            [LAMINA, *words],
            cwd=tmp_path,
            input=given,
            capture_output=True,
            text=True,
            check=False,
            env={**plain, "COLUMNS": "100", **environ},
        )

    return run


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
    ["archive", "s1"],
]  # fmt: skip


def test_every_command_speaks_text_and_json(lamina):
    """Each command prints something for people, and valid JSON with --json."""
    assert lamina("add", "-", "-s", "s1", given=lines(30)).returncode == 0
    for words in READS:
        text, data = lamina(*words), lamina(*words, "--json")
        assert text.returncode == 0, (words, text.stderr)
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


def test_the_demo_runs_and_leaves_a_clean_file(lamina, tmp_path):
    """`lamina demo` ends within 30 s, without a blind message, and its file verifies clean."""
    done = lamina("demo")
    assert done.returncode == 0, done.stderr
    assert "clean" in done.stdout
    assert "of 30" in done.stdout
    assert "0 blind" in done.stdout
    seconds = float(done.stdout.split("Ready in ")[1].split(" s")[0])
    assert seconds < 30
    assert lamina("--db", "lamina-demo.db", "verify").returncode == 0
    again = json.loads(lamina("demo", "--json").stdout)
    assert (again["clean"], again["messages"], again["questions"]) == (True, 1516, 30)


def test_the_demo_never_overwrites_another_memory(lamina, tmp_path):
    """A file that is no demo is left as it is."""
    lamina("--db", "own.db", "add", "precious words", "-s", "s1")
    done = lamina("demo", "--file", "own.db")
    assert done.returncode == 2
    assert "is no demo" in " ".join(done.stderr.split())
    assert "precious words" in lamina("--db", "own.db", "messages", "s1").stdout


def test_progress_is_shown_in_a_terminal(tmp_path):
    """In a real terminal the demo draws a progress bar."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [LAMINA, "demo"], cwd=tmp_path, stdout=follower, stderr=follower, env={**os.environ, "TERM": "xterm"}
    )
    os.close(follower)
    seen = b""
    while True:
        try:
            chunk = os.read(leader, 65536)
        except OSError:
            break
        if not chunk:
            break
        seen += chunk
    assert process.wait() == 0
    os.close(leader)
    assert b"replaying" in seen
