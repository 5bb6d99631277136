"""Output: for people in a terminal, and for programs that read it."""

import json
import os
import pty
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from lamina import Memory
from lamina.cli.display_search import likelihood, passage
from tests.command_line import LAMINA, plain_environ
from tests.waiting import CEILING

LONG = " ".join(f"Sentence number {n} is about something else entirely." for n in range(40))


@pytest.fixture
def filled(tmp_path):
    """A folder with a memory that has long messages, long names and a title."""
    with Memory(tmp_path / "lamina.db", worker=False) as memory:
        text = f"{LONG} The physio is called Berta.\n{LONG}"
        memory.add(
            {"role": "user", "content": text}, user_id="ana", session_id="a-session-with-a-rather-long-name-2025-03-14"
        )
        memory.add(
            {"role": "user", "content": "I live in Ghent and my editor is Helix."}, user_id="ana", session_id="s2"
        )
        memory.rename("s2", "Where I live")
        memory.settle()
    return tmp_path


def run(folder: Path, words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """A command in a shell, into a pipe of no known width."""
    env = {name: value for name, value in plain_environ().items() if name != "COLUMNS"}
    return subprocess.run(
        ["bash", "-c", words.replace("lamina ", f"{LAMINA} ")],
        cwd=folder,
        env={**env, **environ},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("words", "records"),
    [
        ("sessions", 2),
        ("facts -u ana -s s2", 2),
        ("search physio -u ana -k 2", 2),
        ("messages s2", 1),
        ("search Ghent -u ana --full", None),
    ],
)
def test_a_program_reads_one_record_a_line(filled, words, records):
    """Under a line with the names of the columns; without colours, however long."""
    done = run(filled, f"lamina {words}")
    head, *lines = done.stdout.splitlines()
    assert done.stderr == ""
    assert re.fullmatch(r"[a-z#. ]+", head)
    assert "\x1b" not in done.stdout
    assert all(line == line.rstrip() for line in lines)
    assert records in {None, len(lines)}


def test_an_error_is_one_line_however_long(filled):
    done = run(filled, "lamina search x -u ana --weight surprisingly-unknown-part-of-a-score=1")
    assert len(done.stderr.splitlines()) == 1
    assert len(done.stderr) > 80


def test_the_width_is_that_of_columns(filled):
    """Also in a pipe, if it is set."""
    lines = run(
        filled, "lamina messages a-session-with-a-rather-long-name-2025-03-14", COLUMNS="60"
    ).stdout.splitlines()
    assert len(lines) > 20
    assert max(map(len, lines)) <= 60


def test_the_head_of_a_column_is_never_broken(filled):
    """However long what stands beside it is."""
    run(filled, "lamina forget --text Berta --user ana --yes")
    head = run(filled, "lamina receipts", COLUMNS="80").stdout.splitlines()[0]
    assert head.split() == ["id", "when", "what", "messages", "summaries", "facts", "hash"]


def test_a_context_in_a_pipe_is_nothing_but_the_context(filled):
    """Its figures are on standard error."""
    done = run(filled, "lamina context 'where do I live?' -u ana -s s2")
    with Memory(filled / "lamina.db", worker=False) as memory:
        built = memory.context("where do I live?", user_id="ana", session_id="s2")
    assert done.stdout == f"{built.text}\n"
    assert "tokens" in done.stderr


@pytest.mark.parametrize(
    "words", [["messages", "s2"], ["messages", "s2", "--json"], ["sessions"], ["user-profile", "ana"]]
)
def test_a_reader_that_goes_is_no_error_to_speak_of(filled, words):
    """No traceback; the exit code is that of a program whose pipe was closed."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [LAMINA, *words], cwd=filled, env=plain_environ(), stdout=writer, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


def in_terminal(folder: Path, *words: str, **environ: str) -> str:
    """What a command writes to a real terminal of 80 columns."""
    leader, follower = pty.openpty()
    env = plain_environ(COLUMNS="80", TERM="xterm-256color", **environ)
    process = subprocess.Popen([LAMINA, *words], cwd=folder, stdout=follower, stderr=follower, env=env)
    os.close(follower)
    drawn = b""
    while True:
        try:
            drawn += os.read(leader, 65536) or b""
        except OSError:
            break
    os.close(leader)
    assert process.wait(CEILING) == 0
    return drawn.decode()


def test_no_color_takes_the_colours_away(filled):
    colour = re.compile(r"\x1b\[[0-9;]*3[0-9]m")
    assert colour.search(in_terminal(filled, "facts", "-u", "ana"))
    assert not colour.search(in_terminal(filled, "facts", "-u", "ana", NO_COLOR="1"))


def test_a_hit_is_two_to_four_lines(filled):
    """What it is, when, in which session, and the sentences that matter."""
    drawn = re.sub(r"\x1b\[[0-9;]*m", "", in_terminal(filled, "search", "physio", "-u", "ana", "--kind", "message"))
    head, *text, _ = [line.strip() for line in drawn.splitlines()]
    assert head.startswith("1. user said · ")
    assert 1 <= len(text) <= 3
    assert "The physio is called Berta." in " ".join(text)


def test_a_session_is_shown_by_its_title(cli, filled):
    assert (
        "· Where I live (s2) #1 ·" in cli("search", "which editor?", "-u", "ana", "--role", "user", COLUMNS="120").out
    )


def test_the_whole_text_of_a_hit_can_be_asked_for(cli, filled):
    assert "number 39" not in cli("search", "physio", "-u", "ana").out
    assert "number 39" in cli("search", "physio", "-u", "ana", "--full").out


@pytest.mark.parametrize(
    ("text", "query", "shown"),
    [
        pytest.param("Short.\nAnd sweet.", "anything", "Short. And sweet.", id="short"),
        pytest.param(f"{LONG} Berta is the physio.", "physio", "[…] Berta is the physio.", id="sentence"),
        pytest.param("x" * 500, "physio", "x" * 209 + " […]", id="no-sentence"),
    ],
)
def test_of_a_long_text_the_sentences_with_the_words_of_the_query_are_shown(text, query, shown):
    found = passage(text, query)
    assert len(found) <= 220
    assert found == shown or (set(shown) == set(found) and "x" in shown)


@pytest.mark.parametrize(
    ("score", "words"), [(0.9, "very likely (0.90)"), (0.3, "likely (0.30)"), (0.0, "unlikely (0.00)")]
)
def test_a_score_is_in_words(score, words):
    assert likelihood(score) == words


# the file that is made


def test_a_new_file_is_named_where_it_is_made(cli, tmp_path):
    """On standard error, once; not beside JSON."""
    assert cli("add", "hello", "-s", "s1").stderr == f"made lamina.db in {tmp_path}\n"
    assert cli("add", "hello", "-s", "s1").stderr == ""
    assert cli("remember", "x", "--db", "other.db", "--json").stderr == ""
    assert cli("keys", "create", "k", "--db", "third.db").stderr == f"made third.db in {tmp_path}\n"


@pytest.mark.parametrize(
    "words",
    [
        "search x", "facts", "sessions", "session s1", "messages s1", "summaries s1", "zoom sum_1",
        "digest", "user-profile", "why location", "history location", "episodes", "arc s1", "graph location", "stats",
        "verify", "repair", "consistency", "consolidate", "settle", "proposals", "receipts", "workers", "costs",
        "keys list", "export all.jsonl", "forget --session s1 --yes", "end s1", "copy lamina.db other.db",
    ],
)  # fmt: skip
def test_a_command_that_reads_makes_no_file(cli, words, tmp_path):
    """It names the file that is not there, and what makes one."""
    done = cli(*words.split())
    assert done.code == 2
    assert "`lamina add`, `lamina import` and `lamina demo` make one" in done.stderr
    assert f"there is no memory at {tmp_path / 'lamina.db'}; " in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_context_without_a_memory_is_the_question_alone(cli, tmp_path):
    """As in Python; a note names the file, which is not made."""
    done = cli("context", "where do I live?", "--system", "Be brief.", "--json")
    assert done.code == 0
    assert [one["content"] for one in json.loads(done.stdout)["messages"]] == ["Be brief.", "where do I live?"]
    assert f"note: there is no memory at {tmp_path / 'lamina.db'} yet" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [
        "import report.pdf", "import report.pdf cut.json", "import chat.txt", "remember x --type none",
        "add x --session " + "s" * 999, "keys create k --role none",
    ],
)  # fmt: skip
def test_a_command_that_is_refused_leaves_no_file(cli, words, tmp_path):
    """Nor does it say that one was made; a file that was there stays."""
    (tmp_path / "report.pdf").write_bytes(b"%PDF-1.7")
    (tmp_path / "cut.json").write_text('[{"mapping": ')
    (tmp_path / "chat.txt").write_text("1/2/24, 9:00 - A: x\n1/2/24, 9:00 - B: y")
    done = cli(*words.split())
    assert done.code in {1, 2}
    assert "made" not in done.stderr
    assert {one.name for one in tmp_path.iterdir()} == {"report.pdf", "cut.json", "chat.txt"}
    cli("add", "hello", "-s", "s1")
    assert cli(*words.split()).code in {1, 2}
    assert cli("messages", "s1").code == 0


def test_a_copied_file_is_warned_of_in_one_line(tmp_path):
    """Without the place in the source."""
    Memory(tmp_path / "lamina.db", worker=False).close()
    with Memory(tmp_path / "lamina.db", worker=False) as memory:
        memory.add("there", session_id="s1")
        shutil.copy(tmp_path / "lamina.db", tmp_path / "copy.db")
    words = [LAMINA, "sessions", "--db", "copy.db"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False, env=plain_environ())
    warned = done.stderr
    assert (done.returncode, warned[:59]) == (0, "warning: copy.db was copied while a memory had it open, or ")
    assert (warned.count("\n"), "`lamina backup`" in warned) == (1, True)


# completion, in a real bash


def completions(folder: Path, *typed: str) -> list[str]:
    """What bash offers behind these words, by the script that the command line gives it."""
    script = subprocess.run(
        [LAMINA, "--show-completion"],
        env=plain_environ(_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION=""),
        capture_output=True, text=True, check=False, cwd=folder,
    )  # fmt: skip
    source = (
        script.stdout
        or subprocess.run(
            [LAMINA], env=plain_environ(_LAMINA_COMPLETE="source_bash"), capture_output=True, text=True, check=True
        ).stdout
    )
    words = " ".join(f"'{word}'" for word in ("lamina", *typed))
    ask = f"COMP_WORDS=({words}); COMP_CWORD={len(typed)}; _lamina_completion lamina"
    lines = f"{source}\n{ask}\nprintf '%s\\n' \"${{COMPREPLY[@]}}\""
    path = f"{Path(LAMINA).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "--norc", "-c", lines],
        cwd=folder,
        env=plain_environ(PATH=path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (["sea"], ["search"]),
        (["keys", "re"], ["revoke"]),
        (["search", "--us"], ["--user"]),
        (["search", "x", "--user", "a"], ["ana"]),
        (["--user", ""], ["ana"]),
        (["messages", "s"], ["s2"]),
        (["context", "x", "-s", "a-"], ["a-session-with-a-rather-long-name-2025-03-14"]),
        (["messages", "--db", "missing.db", ""], []),
        (["messages", "--db", "broken.db", ""], []),
        (["user-profile", ""], ["ana"]),
    ],
    ids=" ".join,
)
def test_bash_completes_commands_options_users_and_sessions(filled, typed, offered):
    """From the memory that is named; where it cannot be read, nothing is offered, and nothing is said or made."""
    (filled / "broken.db").write_text("no database", "utf-8")
    assert completions(filled, *typed) == offered
    assert not (filled / "missing.db").exists()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_there_is_a_script_for_each_shell(filled, shell):
    environ = plain_environ(_LAMINA_COMPLETE=f"source_{shell}")
    done = subprocess.run([LAMINA], env=environ, capture_output=True, text=True, check=True, cwd=filled)
    assert "_LAMINA_COMPLETE" in done.stdout


def test_completion_is_installed_for_bash(filled):
    """In the home of the user, by the shell that runs it."""
    command = f"SHELL=/bin/bash {LAMINA} --install-completion"
    done = subprocess.run(
        ["bash", "-c", f"{command}; true"],
        env=plain_environ(HOME=str(filled)),
        capture_output=True,
        text=True,
        check=True,
    )
    assert "bash completion installed" in done.stdout, done.stderr
    assert "lamina" in (filled / ".bashrc").read_text("utf-8")


def test_json_is_the_whole_value(cli, filled):
    """Whatever is shown to people."""
    assert (
        "number 39" in json.loads(cli("search", "physio", "-u", "ana", "--kind", "message", "--json").stdout)[0]["text"]
    )
