"""The demo: it shows what it says, of the story it tells, and leaves a clean file."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from lamina import Memory
from lamina.interfaces.cli.demo_known import CARD, WISH
from lamina.interfaces.story import USER, questions, story

LAMINA = str(Path(sys.executable).with_name("lamina"))

pytestmark = pytest.mark.xdist_group("demo")


class Demo(NamedTuple):
    text: str
    data: dict[str, Any]
    file: Path


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The demo run twice in one folder: for people, then for scripts."""
    folder = tmp_path_factory.mktemp("demo")
    plain = {name: value for name, value in os.environ.items() if not name.startswith("LAMINA")}
    told = [
        subprocess.run(
            [LAMINA, "demo", *words],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            env=plain | {"COLUMNS": "100"},
        )
        for words in ([], ["--json"])
    ]
    assert [(one.returncode, one.stderr) for one in told] == [(0, "")] * 2
    return Demo(told[0].stdout, json.loads(told[1].stdout), folder / "lamina-demo.db")


def test_the_demo_runs_and_leaves_a_clean_file(demo):
    """`lamina demo` ends within 30 s, without a blind message, and its file verifies clean."""
    assert "of 30" in demo.text
    assert "0 blind" in demo.text
    assert float(demo.text.split("Ready in ")[1].split(" s")[0]) < 30
    assert (demo.data["clean"], demo.data["messages"], demo.data["questions"]) == (True, 1516, 30)
    with Memory(demo.file, worker=False) as memory:
        assert memory.verify().ok


def test_the_demo_ends_with_how_to_open_the_inspector(demo):
    *_, words, last = demo.text.splitlines()
    assert "inspector" in words
    assert last.strip() == "lamina --db lamina-demo.db serve   # then open http://127.0.0.1:8640/"


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
    """Found in the files before, rehearsed, erased of both users with a receipt, and then in no file any more."""
    done = demo.data["forgotten"]
    assert sum(done["before"].values()) >= 2
    assert set(done["after"]) == {"lamina-demo.db", "lamina-demo.db-wal"}
    assert not any(done["after"].values())
    assert done["hits"] == 0
    assert done["rehearsed"]["rehearsal"] is True
    assert [receipt["messages"] for receipt in done["receipts"]] == [["m0270"], ["one-m0270"]]
    assert all(receipt["scrubbed"] and not receipt["rehearsal"] for receipt in done["receipts"])
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


def test_the_story_has_every_answer():
    """Each question's answer stands word for word in one of the messages it names."""
    told = {message["id"]: json.dumps(message, ensure_ascii=False).casefold() for message in story()}
    for question in questions():
        answer = json.dumps(question["answer"], ensure_ascii=False)[1:-1].casefold()
        assert any(answer in told[evidence] for evidence in question["evidence"]), question["question"]


def test_the_demo_never_overwrites_another_memory(cli):
    """A file that is no demo is left as it is."""
    cli("--db", "own.db", "add", "precious words", "-s", "s1")
    done = cli("demo", "--file", "own.db")
    assert done.code == 2
    assert "is no demo" in done.err
    assert "precious words" in cli("--db", "own.db", "messages", "s1").out


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
