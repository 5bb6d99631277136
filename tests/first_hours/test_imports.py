"""The first hour of someone who brings their years: each real format, from an empty folder, by the real command."""

import json
import shutil
import zipfile
from pathlib import Path

import pytest

DATA = Path(__file__).parents[1] / "data" / "imports"
HERE = {"TZ": "Europe/Stockholm"}


def pack(path: Path, **names: str) -> None:
    """An archive with samples under other names."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for sample, name in names.items():
            archive.write(DATA / sample.replace("__", "."), name)
        archive.writestr("user.json", "{}")


def bring(folder: Path) -> dict[str, list[str]]:
    """What people have, as they have it: how each is imported."""
    pack(folder / "chatgpt.zip", openai_export__json="conversations.json")
    pack(folder / "claude.zip", claude_conversations__json="conversations.json")
    transcripts = folder / "projects" / "-home-mara-harbour"
    transcripts.mkdir(parents=True)
    shutil.copy(DATA / "claude_code.jsonl", transcripts / "0f6a1d52.jsonl")
    shutil.copy(DATA / "codex_rollout.jsonl", folder / "rollout-2025-11-05.jsonl")
    shutil.copy(DATA / "whatsapp_android.txt", folder / "WhatsApp Chat with Tomas.txt")
    pack(folder / "WhatsApp Chat - Harbour crew.zip", whatsapp_ios__txt="_chat.txt")
    shutil.copy(DATA / "mem0.json", folder / "mem0.json")
    return {
        "chatgpt": ["chatgpt.zip"],
        "claude": ["claude.zip"],
        "claude-code": ["projects"],
        "codex": ["rollout-2025-11-05.jsonl"],
        "whatsapp-android": ["WhatsApp Chat with Tomas.txt", "--me", "Mara"],
        "whatsapp-ios": ["WhatsApp Chat - Harbour crew.zip", "--me", "Mara Lindqvist"],
        "mem0": ["mem0.json"],
    }


EXPECTED = {  # title of a session, a search and a word of its answer, a word of the facts
    "chatgpt": ("Sourdough", "lighthouse trip", "lighthouse", ""),
    "claude": ("Balcony herb garden", "what keeps snails away?", "Copper tape", "Ghent"),
    "claude-code": ("Fix the Sunday tide table test", "why did the tide test fail?", "Sunday", "Thursdays"),
    "codex": ("Rename the ferry timetable module to sailings.", "ferry module", "sailings", ""),
    "whatsapp-android": ("WhatsApp: Tomas", "who brings the tent?", "blue tent", ""),
    "whatsapp-ios": ("WhatsApp: Harbour crew", "what is my dog called?", "Bosun", "Bosun"),
    "mem0": ("", "marathon", "marathon", "hazelnuts"),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_each_format_is_found_again(lamina, tmp_path, name):
    """After the import there are titles, answers, facts and a context; a second import adds nothing."""
    words, (title, question, answer, fact) = bring(tmp_path)[name], EXPECTED[name]
    done = lamina("import", *words, "--user", "mara", **HERE)
    assert done.returncode == 0, done
    assert done.stdout.startswith("imported ")
    sessions = json.loads(lamina("sessions", "--json").stdout)
    assert title in {session["title"] or "" for session in sessions} | {""}
    assert answer in lamina("search", question, "-u", "mara", "--json").stdout
    assert fact in lamina("facts", "-u", "mara", "--json").stdout
    assert answer in lamina("context", question, "-u", "mara", "--json").stdout
    again = json.loads(lamina("import", *words, "--user", "mara", "--json", **HERE).stdout)
    assert (again["messages"], again["facts"]) == (0, 0)
    assert json.loads(lamina("sessions", "--json").stdout) == sessions


def test_everything_at_once_with_a_broken_file_among_it(lamina, tmp_path):
    """One command for a folder: what cannot be read is named, the rest is imported, and the exit code tells."""
    (tmp_path / "years").mkdir()
    bring(tmp_path / "years")
    (tmp_path / "years" / "broken.json").write_text('[{"mapping": {"a": ')
    done = lamina("import", "years", "--user", "mara", "--me", "Mara", "--zone", "Europe/Stockholm")
    assert done.returncode == 1
    assert "not imported broken.json\n  broken.json is damaged: it ends in the middle of item 1" in done.stdout
    assert "42 new messages in 8 sessions, 0 already stored" in done.stdout
    assert "not imported, or not as a whole: 1 of 8 files" in done.stdout
    listed = lamina("sessions", "--user", "mara", COLUMNS="200").stdout
    for title, *_ in EXPECTED.values():
        assert title in listed
    again = lamina("import", "years", "--user", "mara", "--me", "Mara", "--zone", "Europe/Stockholm")
    assert "0 new messages in 8 sessions, 42 already stored" in again.stdout


def test_a_chat_asks_who_the_user_is(lamina, tmp_path):
    """And says in which zone its times are taken."""
    path = bring(tmp_path)["whatsapp-android"][0]
    asked = lamina("import", path, "--user", "mara")
    assert asked.returncode == 1
    assert "a WhatsApp chat of 'Mara Lindqvist', 'Tomas'; say which of them is the user: --me NAME" in asked.stdout
    done = lamina("import", path, "--user", "mara", "--me", "mara", **HERE)
    assert "times are taken as those of this machine's zone, Europe/Stockholm (--zone)" in done.stdout
    (session,) = json.loads(lamina("sessions", "--json").stdout)
    assert session["started_at"] == "2024-10-12T18:02:00+02:00"
