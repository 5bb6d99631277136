"""Reads messages and earlier summaries into single statements with their speakers."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from lamina.language.dates import with_dates
from lamina.language.sentences import LONGEST, Sentence, sentences
from lamina.language.words import fold, tokenise
from lamina.models.offline.summarisation.lexicon import labels, lexicon, match_start
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
    unclear: bool = False  # it leans on words that were not found
    tokens: tuple[str, ...] = ()  # in lower case, with plain apostrophes


SPEAKERS = {"user": "User", "assistant": "Assistant", "tool": "Tool", "system": "System", "developer": "System"}
_ROLES = {speaker: role for role, speaker in SPEAKERS.items() if role != "developer"}

_MAX_CHARACTERS = 300_000  # of all messages together
_MAX_MESSAGE_CHARACTERS = 12_000
_MIN_MESSAGE_CHARACTERS = 600
_WINDOW = 1_200
_MAX_WINDOWS = 64
_MAX_LINE = 160  # of code or of a tool's result
_MAX_CODE_LINES = 40  # of code
_CLUE = re.compile(r"\d|\b(?:I|[Mm]y|[Ww]e|[Ee]rror|[Dd]ecided|[Pp]refer)\b")
_NUMBER = re.compile(r"\d")
_SYMBOLS = frozenset("{}()[]<>=;|&+*/\\_#$@^~`")
_MAX_SYMBOLS = 0.16
_QUESTION = re.compile(r"[?\uff1f؟;][\"'”\u2019»)\]」』\s]*\Z")
_EMPHASIS = re.compile(r"\*\*|__(?=\w)|(?<=\w)__|`{1,3}")
_MAX_OPENER_WORDS = 3
_MIN_NAME = 3
_MIN_QUESTION_WORDS = 3
_MAX_ANSWER = 12  # characters of a first word that answers
ANSWERS = frozenset((word,) for word in ("yes", "no", "yep", "nope", "yeah", "nah", "yup"))


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
    before: Sentence | None = None
    for place, sentence in enumerate(_usable(excerpt(message.text, share), message.role)):
        text = _flat(sentence.text)
        if place or not asked or tokenise(text[:_MAX_ANSWER])[:1] not in ANSWERS:
            text = without_opener(text, names)
        tokens = tokenise(text)
        asks = message.role != "tool" and is_question(text, tokens)
        if sentence.kind != "code" and message.role != "tool":
            text = with_dates(text, message.created_at)
        yield Statement(
            text=text,
            speaker=speaker,
            role=message.role,
            source=source,
            line=line,
            place=place,
            asks=asks,
            joined=before is not None and _goes_on(before, sentence),
            tokens=tokens,
        )
        before = sentence


def _goes_on(before: Sentence, sentence: Sentence) -> bool:
    """Whether a sentence is the end of one that was too long."""
    beside = before.kind == sentence.kind and 0 <= sentence.start - before.end <= 1
    return beside and len(before.text) >= LONGEST // 3 and (before.text[-1].isalnum() or before.text[-1] in ",;:")


def speaker_of(message: Message) -> str:
    """How a summary calls the speaker of a message."""
    name = " ".join(str(message.name or "").replace(":", " ").split())[:40]
    return name or SPEAKERS.get(message.role, "User")


def _usable(text: str, role: str) -> Iterator[Sentence]:
    """Sentences; of code and tool results only short lines with a value or an error in them."""
    for sentence in sentences(text):
        if sentence.kind == "code" or (role != "tool" and _is_code(sentence.text)):
            lines = [line.strip() for line in sentence.text.splitlines()[:_MAX_CODE_LINES]]
            yield from (replace(sentence, text=line) for line in lines if len(line) <= _MAX_LINE and _fails(line))
        elif role != "tool" or (
            len(sentence.text) <= _MAX_LINE and (_NUMBER.search(sentence.text) or _fails(sentence.text))
        ):
            yield sentence


def _is_code(text: str) -> bool:
    symbols = sum(character in _SYMBOLS for character in text)
    return symbols > _MAX_SYMBOLS * len("".join(text.split()))


def _fails(line: str) -> bool:
    return "problem" in labels(tokenise(line), lexicon().cues) or "Error" in line


def _flat(text: str) -> str:
    return " ".join(_EMPHASIS.sub("", text).split())


def without_opener(text: str, names: frozenset[str] = frozenset()) -> str:
    """The sentence without "Well," or "Hey Ana," at its front."""
    for _ in range(3):
        head, comma, rest = text.partition(", ")
        tokens = [fold(word) for word in head.split()]
        if not comma or not tokens or len(tokens) > _MAX_OPENER_WORDS or not rest:
            return text
        skipped = match_start(tokens, lexicon().openers)
        if not all(_is_name(token, names) for token in tokens[skipped:]):
            return text
        text = rest
    return text


def _is_name(token: str, names: frozenset[str]) -> bool:
    """Whether it is one of the names, or the beginning of one."""
    return token in names or (len(token) >= _MIN_NAME and any(name.startswith(token) for name in names))


def is_question(text: str, tokens: Sequence[str]) -> bool:
    """Whether the sentence asks: by its mark, or by its first words where the mark was forgotten."""
    if _QUESTION.search(text):
        return True
    if len(tokens) < _MIN_QUESTION_WORDS or text[-1] in ".!:。":
        return False
    return tokens[0] in lexicon().question_first and tokens[1] in lexicon().question_second


def excerpt(text: str, max_characters: int) -> str:
    """The text, or of a very long one its beginning, its end and the pieces between with the most clues."""
    if len(text) <= max_characters:
        return text
    count = min(_MAX_WINDOWS, len(text) // _WINDOW + 1)
    stride = max(_WINDOW, len(text) // count)
    starts = [*range(0, len(text) - _WINDOW + 1, stride)][: count - 1]
    starts.append(max(0, len(text) - _WINDOW))
    ranked = sorted(
        range(1, len(starts) - 1), key=lambda at: (-len(_CLUE.findall(text, starts[at], starts[at] + _WINDOW)), at)
    )
    chosen = sorted({0, len(starts) - 1, *ranked[: max(0, max_characters // _WINDOW - 2)]})
    return "\n".join(_piece(text, starts[at]) for at in chosen)


def _piece(text: str, start: int) -> str:
    """A window, without the words that are cut at its edges."""
    piece = text[start : start + _WINDOW]
    if start and " " in piece[:80]:
        piece = piece[piece.index(" ", 0, 80) + 1 :]
    if start + _WINDOW < len(text) and " " in piece[-80:]:
        piece = piece[: piece.rindex(" ")]
    return piece


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
_BULLET = re.compile(r"\A\s*(?:[-*+•]|\d{1,3}[.)])\s+")
_SPEAKER = re.compile(
    r"(?P<speaker>[^\W\d_][\w.\u2019'-]*(?: [\w.\u2019'-]+){0,3})(?: \(to \"(?P<question>[^\n]*?)\"\))?: (?=\S)"
)
_LAYOUT = re.compile(r"\s*(?:-{3,}|={3,}|\*?Updated: .*|\(nothing yet\)|[-*] \(nothing yet\)|# .*)\s*")
_JOINER = re.compile(r"\A\s*(?:[-*•]\s+)?(?:(?:Earlier|Then):\s*)+")
OPEN = "Open: "
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
            heading = _flat(title["heading"])
            continue
        found.extend(_line_statements(raw, source, line, heading))
    return found


def summary_headings(text: str) -> tuple[str, ...]:
    """The second-level headings of a summary, each once, in order."""
    lines = [line.strip() for line in text.splitlines() if line.startswith("## ")]
    return tuple(dict.fromkeys(_flat(line[3:]) for line in lines if line[3:].strip()))


def _line_statements(raw: str, source: int, line: int, heading: str) -> Iterator[Statement]:
    body = _flat(_BULLET.sub("", _JOINER.sub("", raw, count=1), count=1))
    is_open = body.startswith(OPEN)
    body = body.removeprefix(OPEN)
    label = _SPEAKER.match(body)
    speaker = label["speaker"] if label and label["speaker"][:1].isupper() else ""
    body = body[label.end() :] if label and speaker else body
    asked = label["question"] or "" if label and speaker else ""
    parts = [part.removeprefix(LATER) for sentence in sentences(body) for part in sentence.text.split(JOINT)]
    for place, text in enumerate(part for part in parts if part):
        tokens = tokenise(DATE.sub("", text))
        asks = is_question(text, tokens)
        yield Statement(
            text=text,
            speaker=speaker,
            role=_ROLES.get(speaker, "user" if speaker else ""),
            source=source,
            line=line,
            place=place,
            old=True,
            asks=asks,
            open=is_open and asks,
            heading=heading,
            question="" if place else asked,
            tokens=tokens,
        )
