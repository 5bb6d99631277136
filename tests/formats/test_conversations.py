"""Conversations of Claude.ai, Claude Code, Codex and WhatsApp, by files like those that people have."""

import copy
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from lamina import InputError
from lamina.formats import detect, whatsapp
from lamina.formats.json_lines import Conversion
from tests.formats.test_foreign import FOLDER, of_type, sample


def said(found: Conversion) -> list[tuple[str, Any]]:
    return [(record["role"], record["content"]) for record in of_type(found, "message")]


def titles(found: Conversion) -> list[str | None]:
    return [record.get("title") for record in of_type(found, "session")]


# Claude.ai


def test_claude_conversations_with_tools_and_attachments() -> None:
    """Names are titles, else the first words; a file's text is the result of opening it; reasoning is left out."""
    found = detect.convert(sample("claude_conversations.json"), "conversations.json")
    assert titles(found) == ["Balcony herb garden", "Name three rivers in Portugal."]
    assert [role for role, _ in said(found)][:10] == [
        "user", "assistant", "user", "assistant", "tool", "assistant", "tool", "assistant", "user", "assistant",
    ]  # fmt: skip
    assert said(found)[2] == ("user", "Here are my notes from last year.\n[file: balcony.jpg]")
    assert said(found)[4] == ("tool", "2024: basil died in June, chives were eaten by snails twice.")
    messages = of_type(found, "message")
    assert messages[0]["created_at"] == "2025-03-02T08:14:05.120311+00:00"
    assert messages[6]["tool_call_id"] == messages[5]["tool_calls"][0]["id"]
    assert found.skipped == {"reasoning": 1, "conversation without a message": 1}


def test_claude_without_content_blocks() -> None:
    """Older exports have the text alone."""
    data = sample("claude_conversations.json")
    for message in data[1]["chat_messages"]:
        del message["content"]
    assert said(detect.convert(data[1:2], "f")) == said(detect.convert(sample("claude_conversations.json")[1:2], "f"))


def test_claude_shows_the_branch_that_was_seen_last() -> None:
    """Messages that name the one before them may be a tree; what was not on the last path is counted."""
    data = sample("claude_conversations.json")[1:2]
    first, answer = data[0]["chat_messages"]
    other = {**answer, "uuid": "m-0103", "content": [{"type": "text", "text": "The Mondego."}]}
    for one in (answer, other):
        one["parent_message_uuid"] = first["uuid"]
    data[0]["chat_messages"].append(other)
    found = detect.convert(copy.deepcopy(data), "f")
    assert said(found)[1:] == [("assistant", "The Mondego.")]
    assert found.skipped == {"on another branch": 1}
    data[0]["current_leaf_message_uuid"] = answer["uuid"]
    assert said(detect.convert(data, "f"))[1:] == [("assistant", "The Douro, the Tagus and the Guadiana.")]


# Claude Code and Codex


def test_claude_code_transcripts() -> None:
    """Blocks of one answer are one message; results find their calls; what the program wrote itself is left out."""
    found = detect.convert(sample("claude_code.jsonl"), "0f6a.jsonl")
    assert titles(found) == ["Fix the Sunday tide table test"]
    assert [role for role, _ in said(found)] == ["user", "assistant", "tool", "tool", "assistant", "user", "assistant"]
    messages = of_type(found, "message")
    assert messages[1]["content"] == "I'll read the test and the module."
    assert [call["function"]["name"] for call in messages[1]["tool_calls"]] == ["Read", "Bash"]
    assert [one["tool_call_id"] for one in messages[2:4]] == [call["id"] for call in messages[1]["tool_calls"]]
    assert (messages[0]["metadata"], messages[1]["model"]) == (
        {"cwd": "/home/mara/harbour"}, "claude-sonnet-4-5-20250929"
    )  # fmt: skip
    assert found.skipped == {"hidden": 2, "message of a subagent": 1, "reasoning": 1}


def test_claude_code_titles() -> None:
    """A name that the user gave is worth most; a summary of another session is not taken; else the first words."""
    lines = sample("claude_code.jsonl")
    lines[-1]["leafUuid"] = "of another file"
    assert titles(detect.convert(lines, "f")) == [
        "The tide table test fails on Sundays. I always use tabs, never spaces. Please fi…"
    ]
    lines.append({"type": "custom-title", "customTitle": "Tides", "sessionId": lines[1]["sessionId"]})
    assert titles(detect.convert(lines, "f")) == ["Tides"]


def test_long_results_are_cut() -> None:
    """The end of what a tool gave is left out and counted."""
    lines = sample("claude_code.jsonl")
    lines[8]["message"]["content"][0]["content"] = "x" * 50_000
    found = detect.convert(lines, "f")
    assert said(found)[2][1].endswith("x\n[… 30,000 more characters]")
    assert found.skipped["end of a tool result or file with more than 20,000 characters"] == 1


def test_codex_rollouts() -> None:
    """What was said and done; the environment that the program tells, reasoning and events are left out."""
    found = detect.convert(sample("codex_rollout.jsonl"), "rollout.jsonl")
    assert titles(found) == ["Rename the ferry timetable module to sailings."]
    assert [role for role, _ in said(found)] == ["user", "assistant", "tool", "assistant"]
    assert of_type(found, "message")[3]["model"] == "gpt-5-codex"
    assert found.skipped == {"hidden": 1, "reasoning": 1}
    bare = [{"id": "old", "timestamp": "2025-06-01T00:00:00Z", "instructions": None}]
    bare += [line["payload"] for line in sample("codex_rollout.jsonl") if line["type"] == "response_item"]
    assert said(detect.convert(bare, "rollout.jsonl")) == said(found)


# WhatsApp


def chat(name: str, me: str | None = "Mara") -> tuple[Conversion, list[str]]:
    text = (FOLDER / name).read_text("utf-8")
    return whatsapp.convert(text, name, me, lambda moment: moment.replace(tzinfo=UTC))


def test_whatsapp_of_android() -> None:
    """Messages over several lines, media, deleted and edited ones, notices; the user's words are the user's."""
    found, notes = chat("whatsapp_android.txt")
    assert said(found) == [
        ("user", "Are you coming to the harbour on Sunday?"),
        ("assistant", "Yes! I bring:\n- the blue tent\n- coffee: the strong one"),
        ("user", "I moved to Malmö in September, so I take the train."),
        ("assistant", "[media] The pier at dawn"),
        ("user", "Lovely"),
    ]
    messages = of_type(found, "message")
    assert [one["name"] for one in messages[:2]] == ["Mara Lindqvist", "Tomas"]
    assert messages[-1]["created_at"] == "2024-10-13T09:20:00+00:00"
    assert titles(found) == ["WhatsApp: Tomas"]
    assert found.skipped == {"notice of WhatsApp": 2, "media": 1, "deleted": 1}
    assert notes == []


def test_whatsapp_of_ios() -> None:
    """Twelve hours, the month first, signs that do not show, numbers as names."""
    found, notes = chat("whatsapp_ios.txt", "mara lindqvist")
    assert said(found) == [
        ("user", "Hi all, my dog is called Bosun."),
        ("assistant", "Bosun!\nSuch a good name"),
        ("assistant", "Who feeds him in March?"),
        ("user", "My brother Nils does."),
    ]
    assert [one["created_at"][:16] for one in of_type(found, "message")] == [
        "2025-02-03T19:05", "2025-02-03T19:06", "2025-02-03T23:59", "2025-02-14T00:00",
    ]  # fmt: skip
    assert [one["name"] for one in of_type(found, "message")][1:3] == ["Ines", "+46 70 123 45 67"]
    assert notes == []


@pytest.mark.parametrize(
    ("lines", "days", "is_said"),
    [
        pytest.param(["13/02/24, 9:00 - A: x", "01/03/24, 9:00 - A: y"], ["02-13", "03-01"], False, id="day-over-12"),
        pytest.param(["02/13/24, 9:00 - A: x", "03/01/24, 9:00 - A: y"], ["02-13", "03-01"], False, id="month-first"),
        pytest.param(["10/01/24, 9:00 - A: x", "02/02/24, 9:00 - A: y"], ["01-10", "02-02"], True, id="only-rising"),
        pytest.param(["01/02/24, 9:00 - A: x"], ["02-01"], True, id="24-hours"),
        pytest.param(["1/2/24, 9:00 PM - A: x"], ["01-02"], True, id="12-hours"),
        pytest.param(["2024-02-01 09:00 - A: x"], ["02-01"], False, id="year-first"),
        pytest.param(["[01.02.24, 09:00:01] A: x"], ["02-01"], True, id="dots"),
        pytest.param(["[13.2.2024 klo 9.00.01] A: x"], ["02-13"], False, id="finnish"),
        pytest.param(["13/2/24, 9:00 p. m. - A: x"], ["02-13"], False, id="spanish"),
    ],
)
def test_whatsapp_dates_are_read_over_the_whole_file(lines: list[str], days: list[str], is_said: bool) -> None:
    """Where no date settles the order, the file says which was assumed."""
    found, notes = whatsapp.convert("\n".join(lines), "chat.txt", None, lambda moment: moment.replace(tzinfo=UTC))
    assert [one["created_at"][5:10] for one in of_type(found, "message")] == days
    assert bool(notes) == is_said


@pytest.mark.parametrize(
    ("text", "me", "words"),
    [
        pytest.param("1/2/24, 9:00 - A: x\n1/2/24, 9:00 - B: y", None, "chat of 'A', 'B'; say which .*--me", id="who"),
        pytest.param(
            "1/2/24, 9:00 - A: x\n1/2/24, 9:00 - B: y", "C", "no speaker 'C'; there are 'A', 'B'", id="nobody"
        ),
        pytest.param("1/2/24, 9:00 - Al: x\n1/2/24, 9:00 - Ab: y", "a", "more than one speaker 'a'", id="unclear"),
        pytest.param("13/2/24, 9:00 - A: x\n2/13/24, 9:00 - A: y", None, "in two orders: .*line 1.*line 2", id="mix"),
        pytest.param("31/2/24, 9:00 - A: x", None, "line 1 has no valid time", id="day"),
        pytest.param("1/2/24, 9:00 - A: <Media omitted>", None, "no message with words", id="media-only"),
        pytest.param("1/2/24, 9:00 - You created the group", None, "no message that anybody sent", id="notices"),
    ],
)
def test_whatsapp_that_cannot_be_read(text: str, me: str | None, words: str) -> None:
    """The error says what would work."""
    with pytest.raises(InputError, match=words):
        whatsapp.convert(text, "chat.txt", me, datetime.astimezone)


def test_a_longer_whatsapp_export_has_the_same_ids() -> None:
    """What was imported before is known again; equal messages of the same minute are each their own."""
    lines = ["13/2/24, 9:00 - A: ok", "13/2/24, 9:00 - A: ok", "13/2/24, 9:01 - A: later"]
    short, long = (
        [record["id"] for record in whatsapp.convert("\n".join(some), "f", None, datetime.astimezone)[0].records]
        for some in (lines[:2], lines)
    )
    assert (long[:3], len(set(long))) == (short, 4)


def test_formats_are_told_by_their_content() -> None:
    """A transcript's first line may be a summary, a snapshot or a message."""
    lines = sample("claude_code.jsonl")
    for first in (lines[0], lines[1], lines[-1]):
        assert detect.detect([first], "f") == "claude_code"
    assert detect.detect(sample("codex_rollout.jsonl"), "f") == "codex"
    assert detect.detect(sample("claude_conversations.json"), "f") == "claude"
    assert detect.detect([json.loads('{"type": "summary", "id": "s"}')], "f") == "lamina"
