"""Reads messages and earlier summaries into single statements with their speakers."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from lamina.folding.summary_lines import read_line
from lamina.language.dates import with_dates
from lamina.language.sentences import sentences
from lamina.language.words import fold, tokenise
from lamina.models.offline.summarisation.lexicon import labels, lexicon, match_start
from lamina.models.offline.summarisation.message_sentences import LONGEST, excerpt, flat, pieces
from lamina.models.offline.summarisation.wording import shorten
from lamina.values.message import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One sentence that a summary may keep, in its speaker's words."""

    text: str
    speaker: str  # "" where a summary does not say
    role: str  # of the speaker; "" where a summary does not say
    source: int  # which input it comes from: the previous summary, each summary, the messages
    line: int  # message, or line of a summary
    place: int  # sentence in that line
    old: bool = False  # read back from an earlier summary
    asks: bool = False
    open: bool = False  # a user's question that nothing has answered yet
    accepted: bool = False  # the user agreed to it
    heading: str = ""  # where a summary had it
    question: str = ""  # what it answers, in the words of who asked
    joined: bool = False  # the end of a long sentence that was cut
    head: bool = False  # it announces what follows: a heading, words before a colon
    item: bool = False  # the beginning of an item of a list
    unclear: bool = False  # it leans on words that were not found
    tokens: tuple[str, ...] = ()  # in lower case, with plain apostrophes


SPEAKERS = {"user": "User", "assistant": "Assistant", "tool": "Tool", "system": "System", "developer": "System"}
_ROLES = {speaker: role for role, speaker in SPEAKERS.items() if role != "developer"}

_MAX_CHARACTERS = 300_000  # of all messages together
_MAX_MESSAGE_CHARACTERS = 12_000
_MIN_MESSAGE_CHARACTERS = 600
_QUESTION = re.compile(r"[?\uff1f؟;][\"'”\u2019»)\]」』\s]*\Z")
_MIN_QUESTION_WORDS = 3


def statements_of_messages(messages: Sequence[Message], source: int) -> list[Statement]:
    """The statements of messages, oldest first; what only instructs the model is left out unless it is all there is."""
    spoken = [message for message in messages if message.role not in {"system", "developer"}] or list(messages)
    share = min(_MAX_MESSAGE_CHARACTERS, max(_MIN_MESSAGE_CHARACTERS, _MAX_CHARACTERS // max(1, len(spoken))))
    names = frozenset(fold(part) for message in spoken for part in str(message.name or "").split())
    found: list[list[Statement]] = []
    for line, message in enumerate(spoken):
        asked = bool(found) and any(one.asks for one in found[-1])
        found.append(list(_message_statements(message, source, line, share, names, asked=asked)))
    return _mark_replies(spoken, found)


def _message_statements(
    message: Message, source: int, line: int, share: int, names: frozenset[str], *, asked: bool
) -> Iterator[Statement]:
    speaker = speaker_of(message)
    for place, piece in enumerate(pieces(message.text, message.role, share)):
        text = shorten(piece.text, names, asked=asked and not place) if piece.plain else piece.text
        tokens = tokenise(text)
        yield Statement(
            text=with_dates(text, message.created_at) if piece.plain else text,
            speaker=speaker,
            role=message.role,
            source=source,
            line=line,
            place=place,
            asks=message.role != "tool" and is_question(text, tokens),
            joined=piece.joined,
            head=piece.head,
            item=piece.item,
            tokens=tokens,
        )


def speaker_of(message: Message) -> str:
    """How a summary calls the speaker of a message."""
    name = " ".join(str(message.name or "").replace(":", " ").split())[:40]
    return name or SPEAKERS.get(message.role, "User")


def is_question(text: str, tokens: Sequence[str]) -> bool:
    """Whether the sentence asks: by its mark, or by its first words where the mark was forgotten."""
    if _QUESTION.search(text):
        return True
    if len(tokens) < _MIN_QUESTION_WORDS or text[-1] in ".!:。":
        return False
    return tokens[0] in lexicon().question_first and tokens[1] in lexicon().question_second


def _mark_replies(messages: Sequence[Message], found: Sequence[Sequence[Statement]]) -> list[Statement]:
    """The statements with what the messages around say: questions still open, proposals accepted."""
    last_answer: dict[str, int] = {}
    for line, statements in enumerate(found):
        if messages[line].role != "tool" and _answers(statements):
            last_answer[speaker_of(messages[line])] = line
    marked: list[Statement] = []
    for line, statements in enumerate(found):
        role, speaker = messages[line].role, speaker_of(messages[line])
        accepted = role == "assistant" and _is_accepted(messages, found, line)
        answered = any(at > line for other, at in last_answer.items() if other != speaker)
        for statement in statements:
            waits = statement.asks and role == "user" and not answered and len(statement.tokens) >= _MIN_QUESTION_WORDS
            marked.append(replace(statement, open=waits, accepted=accepted) if waits or accepted else statement)
    return marked


def _answers(statements: Sequence[Statement]) -> bool:
    plain = [statement for statement in statements if not statement.asks and statement.tokens]
    return bool(plain) and not any(labels(one.tokens, lexicon().deferrals) for one in plain[:2])


def _is_accepted(messages: Sequence[Message], found: Sequence[Sequence[Statement]], line: int) -> bool:
    for later in range(line + 1, min(line + 3, len(messages))):
        if messages[later].role == "user":
            tokens = [fold(word).strip(".,!") for word in messages[later].text[:80].split()[:6]]
            return match_start(tokens, lexicon().acceptances) > 0 and not any(one.asks for one in found[later][:1])
    return False


# Summaries

_TITLE = re.compile(r"#{1,6}\s+(?P<heading>.+?)\s*#*\s*\Z")
_LAYOUT = re.compile(r"\s*(?:-{3,}|={3,}|\*?Updated: .*|\(nothing yet\)|[-*] \(nothing yet\)|# .*)\s*")
_JOINER = re.compile(r"\A\s*(?:[-*•]\s+)?(?:(?:Earlier|Then):\s*)+")
LATER = "Later: "  # before the newer of two values for the same thing
JOINT = "; "  # between sentences of a line where the first has no mark at its end
DATE = re.compile(r" \[~?\d{4}-\d\d-\d\d\]")


def statements_of_summary(text: str, source: int) -> list[Statement]:
    """The statements of a summary that was written before, by this summariser or by a language model."""
    heading = ""
    found: list[Statement] = []
    for line, raw in enumerate(excerpt(text, _MAX_CHARACTERS).splitlines()):
        if _LAYOUT.fullmatch(raw):
            continue
        title = _TITLE.match(raw.strip())
        if title:
            heading = flat(title["heading"])
            continue
        found.extend(_line_statements(raw, source, line, heading))
    return found


def summary_headings(text: str) -> tuple[str, ...]:
    """The second-level headings of a summary, each once, in order."""
    lines = [line.strip() for line in text.splitlines() if line.startswith("## ")]
    return tuple(dict.fromkeys(flat(line[3:]) for line in lines if line[3:].strip()))


def _line_statements(raw: str, source: int, line: int, heading: str) -> Iterator[Statement]:
    read = read_line(flat(_JOINER.sub("", raw, count=1)))
    said = f"[{read.day}] {read.text}" if read.day else read.text
    parts = [
        (part.removeprefix(LATER), at > 0)
        for sentence in sentences(said, LONGEST)
        for at, part in enumerate(sentence.text.split(JOINT))
    ]
    listed = bool(parts) and ": " in parts[0][0]  # a list behind the words that announce it
    for place, (text, joined) in enumerate(part for part in parts if part[0]):
        tokens = tokenise(DATE.sub("", text))
        asks = is_question(text, tokens)
        yield Statement(
            text=text,
            speaker=read.speaker,
            role=_ROLES.get(read.speaker, "user" if read.speaker else ""),
            source=source,
            line=line,
            place=place,
            old=True,
            asks=asks,
            open=read.open and asks,
            joined=listed and place > 0 and (joined or read.speaker == SPEAKERS["assistant"]),
            heading=heading,
            question="" if place else read.question,
            tokens=tokens,
        )
