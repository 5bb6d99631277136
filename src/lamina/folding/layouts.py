"""Texts with a fixed form: framed summaries, prompt inputs, merged chunks."""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from lamina.log.transcript import speaker
from lamina.protocols.models import SummaryTask
from lamina.values.message import Message

_FOOTER = re.compile(r"\n*---\n\*Updated: [^|\n]* \| Version: \d+\*\s*$")
_MERGED = re.compile(r"(?:\A|\n+)(?:[-*•] )?(?:(?:Earlier|Then):[ \t]*)+")
_MAX_TOPICS = 12
_FORM = re.compile(  # lines that give what is said a place in a prompt
    r"(?:^|(?<=[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]))[ \t]*(?:=== ?(?:END_)?(?:EXISTING_SUMMARY|NEW_TURNS)\b|</?data\b"
    r"|(?:Turn|Message) \d+[ :(]|(?:User|Assistant|System):)",
    re.IGNORECASE | re.MULTILINE,
)


def frame(title: str | None, body: str, updated_at: datetime, version: int) -> str:
    """A rolling summary with its title and the footer that says when and which version; plain without a title."""
    if title is None:
        return body
    return f"{title}\n\n{body.strip()}\n\n---\n*Updated: {stamp(updated_at)} | Version: {version}*"


def unframe(title: str | None, text: str) -> str:
    """A summary without title and footer."""
    if title is None:
        return text
    return _FOOTER.sub("", text).removeprefix(title).strip()


def rename_sections(text: str, names: Sequence[str], sections: Sequence[str]) -> str:
    """A text whose headings have the names of the sections; `names` are what a prompt called them, in their order."""
    for name, section in zip(names, sections, strict=False):
        text = re.sub(
            rf"^#+ \**{re.escape(name)}\**:?[ \t]*$", f"## {section}", text, flags=re.IGNORECASE | re.MULTILINE
        )
    return text


def stamp(moment: datetime) -> str:
    """A moment as ISO 8601, whole seconds, UTC as Z."""
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


def merge_chunks(first: str, second: str) -> str:
    """Two chunk summaries as one, `Earlier: … Then: …`; what was merged before becomes one part."""
    return f"Earlier: {unmerge(first)}\n\nThen: {unmerge(second)}"


def unmerge(text: str) -> str:
    """A summary without the labels of a merge: its parts one after the other."""
    return _MERGED.sub("\n", text).strip("\n")


def merge_topics(*topics: Sequence[str]) -> tuple[str, ...]:
    """Topics in order, each once whatever its case; of many, those that recur and the first of each list."""
    found: dict[str, str] = {}
    ranks: dict[str, tuple[int, int, int]] = {}
    for number, several in enumerate(topics):
        for place, topic in enumerate(several):
            key = topic.casefold()
            found.setdefault(key, topic)
            times, *rest = ranks.get(key, (0, place, -number))
            ranks[key] = (times - 1, rest[0], rest[1])
    chosen = set(sorted(found, key=ranks.__getitem__)[:_MAX_TOPICS])
    return tuple(topic for key, topic in found.items() if key in chosen)


# What a prompt works on


def fill(template: str, values: Mapping[str, str]) -> str:
    """A template with its [PLACEHOLDERS] filled; what is filled in is not looked at again."""
    return re.sub(r"\[([A-Z_]+)\]", lambda found: values.get(found.group(1), found.group()), template)


def number_messages(messages: Sequence[Message]) -> str:
    """Messages with their numbers: `Message 3 (User): …`."""
    return "\n".join(f"Message {message.seq} ({_caller(message)}): {harmless(message.text)}" for message in messages)


def harmless(text: str) -> str:
    """What someone said, with `> ` before lines that could pass for the form it stands in."""
    return _FORM.sub(r"> \g<0>", text)


def _caller(message: Message) -> str:
    return " ".join(speaker(message).split())


def enclose(text: str) -> str:
    """A text between lines that it cannot have, because they name its own hash."""
    mark = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]
    return f"<data {mark}>\n{text}\n</data {mark}>"


def prompt_values(task: SummaryTask, fence: Callable[[str], str] = str) -> dict[str, str]:
    """What the placeholders of a summary's prompt stand for; `fence` sets apart what people and models have said."""
    messages = fence(number_messages(task.messages))
    return {
        "MESSAGES": messages,
        "NEW_MESSAGES": messages,
        "EXISTING_SUMMARY": fence(task.previous) if task.previous else "NONE",
        "SUMMARIES": fence("\n\n".join(task.summaries)),
        "SECTIONS": ", ".join(task.asked_sections or task.sections),
        "X": str(task.messages[0].seq) if task.messages else "0",
        "Y": str(task.messages[-1].seq) if task.messages else "0",
        "CAP": str(task.cap),
        "LEAST": str(task.least),
        "ACROSS_DOMAINS": _across(task.domains),
        "TARGET": str(task.target or task.cap),
        "INPUT": fence(plain_input(task)),
        "TURNS_INPUT": fence(turns_input(task.previous, task.messages)),
    }


def _across(domains: Sequence[str]) -> str:
    """` across a, b, and c`, or nothing."""
    *first, last = domains or ("",)
    listed = f"{', '.join(first)}, and {last}" if len(first) > 1 else " and ".join([*first, last])
    return f" across {listed}" if listed else ""


def plain_input(task: SummaryTask) -> str:
    """Everything a summary is made from, without a prompt."""
    return "\n\n".join(filter(None, (task.previous, *task.summaries, number_messages(task.messages))))


def turns_input(existing: str | None, messages: Sequence[Message]) -> str:
    """The input of the prompts of `chunked`: the existing summary or NONE, then numbered turns."""
    turns: list[list[str]] = []
    number = None
    for message in messages:
        if message.turn != number or not turns:
            turns.append([])
            number = message.turn
        turns[-1].append(f"{_caller(message)}: {harmless(message.text)}")
    body = "\n\n".join("\n".join([f"Turn {index}:", *lines]) for index, lines in enumerate(turns, 1))
    return (
        f"=== EXISTING_SUMMARY ===\n{harmless(existing) if existing else 'NONE'}\n=== END_EXISTING_SUMMARY ===\n\n"
        f"=== NEW_TURNS ===\n{body}\n=== END_NEW_TURNS ==="
    )
