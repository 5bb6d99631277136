"""The demo: it shows what it says, of the story it tells, and leaves a clean file."""

import io
import json
import os
import pty
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from rich.console import Console

from lamina import Memory
from lamina.cli.demo import WISH
from lamina.cli.demo import _show_next as show_next
from lamina.story import CARD, ENDLESS, USER, parts, questions, story
from tests.command_line import LAMINA, plain_environ, service_process
from tests.waiting import CEILING

pytestmark = pytest.mark.xdist_group("demo")


class Demo(NamedTuple):
    drawn: bytes
    data: dict[str, Any]
    file: Path

    @property
    def text(self) -> str:
        """What was drawn, without colours and movements."""
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.drawn.decode().replace("\r\n", "\n"))


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The demo run twice in one folder: in a terminal, for people, then for scripts."""
    folder = tmp_path_factory.mktemp("demo")
    drawn = drawn_by(folder, "demo")
    environ = plain_environ(COLUMNS="100")
    done = subprocess.run(
        [LAMINA, "demo", "--json"], cwd=folder, capture_output=True, text=True, check=False, env=environ
    )
    assert (done.returncode, done.stderr) == (0, "")
    return Demo(drawn, json.loads(done.stdout), folder / "lamina-demo.db")


def drawn_by(folder: Path, *words: str) -> bytes:
    """What a command writes to a real terminal."""
    leader, follower = pty.openpty()
    environ = plain_environ(COLUMNS="100", TERM="xterm")
    process = subprocess.Popen([LAMINA, *words], cwd=folder, stdout=follower, stderr=follower, env=environ)
    os.close(follower)
    drawn = b""
    while True:
        try:
            piece = os.read(leader, 65536)
        except OSError:
            break
        if not piece:
            break
        drawn += piece
    os.close(leader)
    assert process.wait(CEILING) == 0
    return drawn


def test_the_demo_runs_and_leaves_a_clean_file(demo):
    """`lamina demo` ends without a blind message, says how long it took, and its file verifies clean."""
    assert "of 30" in demo.text
    assert "0 not visible" in demo.text
    assert re.search(r"Ready in \d+\.\d s", demo.text)
    assert (demo.data["clean"], demo.data["messages"], demo.data["questions"]) == (True, 1516, 30)
    with Memory(demo.file, worker=False) as memory:
        assert memory.verify().ok


@pytest.mark.full  # benchmarks have timings; it takes a fifth of that on a quiet machine
def test_the_demo_is_ready_within_30_seconds(demo):
    assert demo.data["seconds"] < 30


def next_commands(text: str) -> list[str]:
    """What the demo says to type, from its last lines."""
    return [line.strip() for line in text.split("; try:\n")[1].splitlines() if line.startswith("  ")]


def test_what_the_demo_says_at_its_end_can_be_typed(demo):
    """Each line runs as it stands, in a shell that knows no environment; the last one serves the inspector."""
    *reading, serve = next_commands(demo.text)
    assert len(reading) == 8
    environ = plain_environ(PATH=os.defpath)
    for line in reading:
        done = subprocess.run(
            line, shell=True, cwd=demo.file.parent, capture_output=True, text=True, check=False, env=environ
        )
        assert (done.returncode, bool(done.stdout)) == (0, True), (line, done.stderr)
    assert serve == f"{LAMINA} --db lamina-demo.db serve"
    with service_process(demo.file.parent, *shlex.split(serve)[1:3]) as (process, _):
        assert process.poll() is None


def test_a_name_with_spaces_is_quoted_at_the_end_of_the_demo(monkeypatch, tmp_path):
    """And what is not installed is installed first, from where this package came from."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    console = Console(width=80, file=io.StringIO())
    with console.capture() as seen:
        show_next(console, Path("my demo.db"))
    lines = [line.strip() for line in seen.get().splitlines()]
    assert [shlex.split(line)[1:3] for line in lines if line.startswith(LAMINA)] == [["--db", "my demo.db"]] * 9
    *_, install, _ = map(shlex.split, lines)
    assert install[0].endswith("pip")
    assert install[1] == "install"
    assert install[-1].endswith("[server]")


@pytest.mark.parametrize(
    ("day", "known"),
    [
        pytest.param(
            "2025-04-01",
            {"location": "Lisbon", "employer": "Atalaia", "editor": "Helix", "diet": "vegetarian"},
            id="spring",
        ),
        pytest.param(
            "2025-07-15",
            {"location": "Lisbon", "employer": "Nordvind", "editor": "Neovim", "diet": "pescatarian"},
            id="before-the-move",
        ),
        pytest.param(
            "2025-11-01",
            {"location": "Utrecht", "employer": "Nordvind", "editor": "Zed", "diet": "pescatarian"},
            id="autumn",
        ),
    ],
)
def test_the_profile_is_right_at_each_date(demo, day, known):
    """By the story: the move was on 26 July, the new job from 7 July, fish since May."""
    shown = demo.data["known"]["profiles"][day]
    assert {key: shown.get(key) for key in known} == known
    assert shown["name"] == "Mara"
    page = demo.text.split(f"the profile as of {day}")[1].split("╰")[0]
    for key, value in known.items():
        assert f"{key}: {value}" in page


def test_a_fact_has_a_history_and_a_reason(demo):
    """Three editors in a year; the place is shown with the words that said it, and with what it took the place of."""
    known = demo.data["known"]
    assert known["history"] == ["Helix", "Neovim", "Zed"]
    assert known["quote"] == "We've lived in Utrecht since 26 July"
    assert any(known["quote"] in (message["content"] or "") for message in story())
    assert "took the place of 'location: Lisbon'" in demo.text


def test_what_was_told_late_was_not_known_before(demo):
    """On 1 August they lived in Utrecht, which was said two weeks later."""
    assert demo.data["known"]["told_late"] == {"known then": "Lisbon", "known now": "Utrecht"}


def test_the_card_number_is_forgotten_to_the_last_byte(demo):
    """Found in the files before, planned, erased of both users with a receipt, and then in no file any more."""
    done = demo.data["forgotten"]
    assert sum(done["before"].values()) >= 2
    assert set(done["after"]) == {"lamina-demo.db", "lamina-demo.db-wal"}
    assert not any(done["after"].values())
    assert done["hits"] == 0
    assert done["dry_run"]["dry_run"] is True
    assert [receipt["messages"] for receipt in done["receipts"]] == [["m0270"], ["one-m0270"]]
    assert all(receipt["scrubbed"] and not receipt["dry_run"] for receipt in done["receipts"])
    assert done["receipts"][1]["previous"] == done["receipts"][0]["digest"]
    assert "not found" in demo.text
    for part in demo.file.parent.iterdir():
        assert CARD.encode() not in part.read_bytes(), part.name


def test_only_the_card_number_is_gone(demo):
    """The wish to forget it, and everything else, is still there."""
    with Memory(demo.file, worker=False) as memory:
        assert memory.message("m0270").content == "[forgotten]"
        told = {message["id"]: message["content"] for message in story()}
        kept = [m for s in memory.sessions(USER) for m in memory.messages(s.id) if m.id != "m0270"]
        assert [m.id for m in kept if m.content != told[m.id]] == []
        assert len(kept) == len(told) - 1
        assert "forget it" in memory.message(WISH).text


def test_the_sessions_of_the_demo_have_titles(demo):
    """They are shown wherever sessions are listed, and where one of them is drawn."""
    with Memory(demo.file, worker=False) as memory:
        stored = {session.id: session.title for user in (USER, ENDLESS) for session in memory.sessions(user)}
    assert stored == {part.session_id: part.title for part in parts()}
    assert "Session 7 of 14: Nuts, in Dutch" in demo.text


def test_the_story_has_every_answer():
    """Each question's answer stands word for word in one of the messages it names."""
    told = {message["id"]: json.dumps(message, ensure_ascii=False).casefold() for message in story()}
    for question in questions():
        answer = json.dumps(question["answer"], ensure_ascii=False)[1:-1].casefold()
        assert any(answer in told[evidence] for evidence in question["evidence"]), question["question"]


def test_the_demo_never_overwrites_another_memory(cli):
    """A file that is no demo is left as it is."""
    cli("--db", "own.db", "add", "precious words", "-s", "s1")
    done = cli("demo", "--db", "own.db")
    assert done.code == 2
    assert "is no demo" in done.err
    assert "precious words" in cli("--db", "own.db", "messages", "s1").out


def test_progress_is_shown_in_a_terminal(demo):
    """In a real terminal the demo draws a progress bar."""
    assert b"replaying" in demo.drawn
