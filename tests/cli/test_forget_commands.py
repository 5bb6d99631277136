"""The command that cannot be undone: asked for, tried, confirmed, certified."""

import json
import os
import pty
import shutil
import subprocess
from pathlib import Path

import pytest

from lamina import Memory
from tests.command_line import LAMINA
from tests.waiting import CEILING

SECRET = "4000 1234"


@pytest.fixture(scope="module")
def secretive(tmp_path_factory):
    """A memory of a user with a secret in one of three messages, and of another user."""
    path = tmp_path_factory.mktemp("secretive") / "lamina.db"
    lines = [
        {"role": "user", "content": "I live in Ghent.", "id": "m1"},
        {"role": "user", "content": f"My card is {SECRET}.", "id": "m2"},
        {"role": "assistant", "content": "Better not say that here.", "id": "m3"},
    ]
    with Memory(path, worker=False) as memory:
        memory.add(lines, user_id="alex", session_id="s1")
        memory.add("I live in Oslo.", user_id="bea", session_id="s2")
        memory.settle()
    return path


@pytest.fixture
def told(cli, secretive):
    """The command line over a copy of it."""
    shutil.copy(secretive, "lamina.db")
    return cli


def data(done):
    assert (done.code, done.stderr) == (0, ""), done
    return json.loads(done.stdout)


def words_of(cli, session="s1"):
    return [message["body"]["content"] for message in data(cli("messages", session, "--json"))]


def home(cli):
    """The facts about where alex lives."""
    return [fact for fact in data(cli("facts", "-u", "alex", "--json")) if fact["key"] == "location"]


def everything():
    """All bytes in the folder: the database, its log, and whatever else was written."""
    return b"".join(path.read_bytes() for path in Path().iterdir() if path.is_file())


def test_a_text_is_forgotten_with_a_receipt(told):
    """Gone from the messages and from the files; the receipt is printed, written and kept."""
    assert SECRET.encode() in everything()
    done = data(told("forget", "--text", SECRET, "-u", "alex", "--yes", "--receipt", "receipt.json", "--json"))
    assert (done["messages"], done["dry_run"], done["scrubbed"]) == (["m2"], False, True)
    assert words_of(told) == ["I live in Ghent.", "[forgotten]", "Better not say that here."]
    assert SECRET.encode() not in everything()
    assert json.loads(Path("receipt.json").read_text("utf-8")) == done
    (kept,) = data(told("receipts", "--json"))
    assert (kept["id"], kept["digest"]) == (done["id"], done["digest"])
    assert done["digest"][:12] in told("receipts").out
    assert told("verify").code == 0


def test_a_dry_run_changes_nothing_and_needs_no_yes(told):
    """It says what would go."""
    done = told("forget", "--text", SECRET, "-u", "alex", "--dry-run")
    assert done.code == 0
    assert "would forget messages that have a text" in done.out
    assert "messages 1 m2" in done.out
    assert told("receipts").out == "nothing was forgotten yet"
    assert SECRET in words_of(told)[1]


def test_without_a_terminal_it_refuses(told):
    """And says how to go on; nothing is touched."""
    done = told("forget", "--user", "alex")
    assert done.code == 2
    assert done.err == "error: forgetting cannot be undone; give --yes, or look first with --dry-run"
    assert len(words_of(told)) == 3


def test_at_a_terminal_it_asks(told):
    """No, or nothing, leaves all as it is; yes goes on. What would go is shown before, on standard error."""
    for keys in ("n\n", "\n", "", "yes please\n"):
        refused = told("forget", "--text", SECRET, "-u", "alex", keys=keys)
        assert refused.code == 1
        assert "would forget" in refused.err
        assert refused.err.endswith("nothing was forgotten")
        assert refused.stdout == ""
    assert SECRET in words_of(told)[1]
    agreed = told("forget", "--text", SECRET, "-u", "alex", "--json", keys="y\n")
    assert json.loads(agreed.stdout)["messages"] == ["m2"]


def test_nothing_to_forget_is_not_asked_about(told):
    """Neither at a terminal nor with --yes is there a receipt."""
    nothing = "nothing in the memory of user 'alex' has this text"
    words = ("forget", "--text", "no such words", "-u", "alex")
    assert told(*words, keys="").err == f"nothing to forget: {nothing}"
    assert told(*words, "--dry-run").out == f"nothing to forget: {nothing}"
    assert told(*words, "--yes").out == f"nothing was forgotten: {nothing}"
    assert data(told("receipts", "--json")) == []


def test_words_may_come_from_standard_input(told):
    """So that they do not stay in the shell's history; then it needs --yes, since nobody can answer."""
    assert told("forget", "--text", "-", "-u", "alex", keys="y\n").code == 2
    done = data(told("forget", "--text", "-", "-u", "alex", "--yes", "--json", given=f"{SECRET}\n"))
    assert done["messages"] == ["m2"]


@pytest.mark.parametrize(
    ("words", "left"),
    [
        pytest.param(["--message", "m1", "--message", "m3"], [f"My card is {SECRET}."], id="messages"),
        pytest.param(["--session", "s1", "--first", "2", "--last", "3"], ["I live in Ghent."], id="span"),
    ],
)
def test_messages_and_spans(told, words, left):
    """Each message keeps its place."""
    assert told("forget", *words, "--yes").code == 0
    assert [text for text in words_of(told) if text != "[forgotten]"] == left
    assert len(words_of(told)) == 3


def test_a_fact_by_a_piece_of_its_id(told):
    """Its words are taken out of the message, and it is not found again."""
    fact = home(told)[0]
    done = data(told("forget", "--fact", fact["id"][-8:], "--yes", "--json"))
    assert done["redacted"] == ["m1"] or done["messages"] == ["m1"]
    told("settle")
    assert home(told) == []
    assert b"Ghent" not in everything()


def test_a_receipt_counts_what_it_does_not_name(told):
    """Values that will not be read again, and milestones."""
    fact = home(told)[0]
    assert "values blocked from coming back 1" in told("forget", "--fact", fact["id"], "--yes").out
    told("end", "s1", "--outcome", "Card lost")
    assert "milestones 1" in told("forget", "--session", "s1", "--yes").out


def test_a_receipt_that_cannot_be_written_is_kept(told):
    """What was forgotten is, and the error says where to find the receipt."""
    done = told("forget", "--message", "m2", "--yes", "--receipt", "/dev/full")
    assert done.code == 1
    assert "/dev/full cannot be used: No space left on device" in done.err
    assert "see `lamina receipts`" in done.err
    assert [receipt["messages"] for receipt in data(told("receipts", "--json"))] == [["m2"]]


def test_a_session_and_a_user(told):
    """Whole; others are left alone."""
    assert told("forget", "--session", "s1", "--yes").code == 0
    assert told("messages", "s1").code == 1
    assert told("forget", "--user", "bea", "--yes").code == 0
    assert data(told("sessions", "--json")) == []
    assert b"Oslo" not in everything()
    assert told("verify").code == 0


def test_the_user_of_the_settings_is_only_for_texts(cli):
    """`forget` alone never means everything of the user in the settings."""
    cli("add", f"My card is {SECRET}.", "-s", "s1")
    done = cli("forget", "--yes")
    assert (done.code, "say what to forget" in done.err) == (2, True)
    assert len(data(cli("forget", "--text", SECRET, "--yes", "--json"))["messages"]) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(["--message", "m1", "--text", "x"], "forget one thing at a time", id="two-targets"),
        pytest.param(["--message", "m1", "--session", "s1"], "forget one thing at a time", id="message-and-session"),
        pytest.param(["--session", "s1", "--user", "bea"], "give --session or --user, not both", id="other-user"),
        pytest.param(["--session", "s1", "--first", "1"], "given together", id="half-a-span"),
        pytest.param(["--session", "s1", "--first", "3", "--last", "1"], "is before --first 3", id="backwards"),
        pytest.param(["--user", "alex", "--first", "1", "--last", "2"], "given together", id="span-of-nothing"),
        pytest.param(["--text", "", "--user", "alex"], "at least 2 characters", id="empty-text"),
        pytest.param(["--text", "x", "--user", "alex"], "at least 2 characters", id="short-text"),
        pytest.param(["--fact", "a"], "too short", id="short-fact"),
        pytest.param(["--message", "m1", "--receipt", "no/r.json"], "there is no folder no; nothing", id="receipt"),
    ],
)
def test_an_unclear_target_is_refused(told, words, said):
    """Before anything is touched, also with --yes."""
    done = told("forget", *words, "--yes")
    assert done.code == 2
    assert said in done.err
    assert words_of(told)[1] == f"My card is {SECRET}."


def test_a_real_terminal_is_asked(cli, tmp_path):
    """In a process of its own, with a terminal: an `n` leaves everything."""
    cli("add", f"My card is {SECRET}.", "-s", "s1")
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [LAMINA, "forget", "--session", "s1"], cwd=tmp_path, stdin=follower, stdout=follower, stderr=follower
    )
    os.close(follower)
    seen = b""
    while b"permanently? [y/N]" not in seen:
        seen += os.read(leader, 65536)
    os.write(leader, b"n\n")
    assert process.wait(CEILING) == 1
    os.close(leader)
    assert SECRET in cli("messages", "s1").stdout
    assert cli("forget", "--session", "s1").code == 2
