"""The form of a line of a summary, `- Open: Ana (to "When do you fly?"): on 14 May`, written and read here. Pure."""

import re
from dataclasses import dataclass

OPEN = "Open: "  # before a question that nothing has answered yet
_ANSWERED = r"(?: \(to \"(?P<question>[^\n]*?)\"\))"
_NAME = r"[^\W\d_][\w.\u2019'-]*(?: [\w.\u2019'-]+){0,3}"
_LONG_NAME = r"[^\W\d_][^:\n]{0,40}?"  # only with a question behind it, since other words before a colon look like it
_LINE = re.compile(
    rf"(?P<bullet>\s*(?:(?:[-*+•]|\d{{1,3}}[.)])\s+)?)(?P<day>\[(?:\d{{4}}-\d\d-\d\d|session \d+)\] )?(?P<open>{OPEN})?"
    rf"(?:(?P<speaker>(?:{_NAME}|{_LONG_NAME}(?={_ANSWERED.replace('?P<question>', '')}: ))){_ANSWERED}?: (?=\S))?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryLine:
    """A line of a summary in its parts; what it does not say is empty."""

    bullet: str = ""  # as it was written, with the spaces around it
    day: str = ""  # of the session, in a digest over sessions
    open: bool = False
    speaker: str = ""
    question: str = ""  # what it answers, in the words of who asked
    text: str = ""

    @property
    def label(self) -> str:
        """What stands before the text: the day, who speaks, and what is answered."""
        day = f"[{self.day}] " if self.day else ""
        asked = f' (to "{self.question}")' if self.question and self.speaker else ""
        return f"{day}{OPEN if self.open else ''}{self.speaker}{asked}{': ' if self.speaker else ''}"

    def __str__(self) -> str:
        return f"{self.bullet}{self.label}{self.text}"


def read_line(line: str) -> SummaryLine:
    """The parts of a line of any summary; a word in lower case before a colon is a speaker only with a question."""
    found = _LINE.match(line)
    assert found is not None  # every part of it may be missing
    speaker, question = found["speaker"] or "", found["question"] or ""
    if speaker[:1].islower() and not question:
        speaker, end = "", found.start("speaker")
    else:
        end = found.end()
    return SummaryLine(
        bullet=found["bullet"],
        day=(found["day"] or "").strip("[] "),
        open=bool(found["open"]),
        speaker=speaker,
        question=question,
        text=line[end:],
    )
