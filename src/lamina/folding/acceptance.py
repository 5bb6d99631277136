"""Whether a summary may stand for what it was made from."""

import re

from lamina.language.languages import is_foreign
from lamina.language.words import terms
from lamina.protocols.models import SummaryTask

_REFUSAL = re.compile(
    r"""^\W*(
        i'?m\ sorry | i\ am\ sorry | sorry, | as\ an\ ai\b | unfortunately,\ i\b
      | i\ (can'?t | cannot | can\ not | am\ unable | won'?t)\b
      | (hello | hi | hey)\b [^.\n]{0,40} (how\ can\ i | how\ may\ i | what\ can\ i)
      | (sure | of\ course | certainly) [,!.]\ (here | i)\b [^\n]{0,80} $
      | how\ can\ i\ (help | assist)
      | there\ is\ no\ conversation | no\ (messages | content)\ (were | was)\ provided
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_GROUNDED = 0.35  # share of a summary's terms that its inputs must have
_TAKEN = 0.8  # share from which on a summary is in the words of its inputs, and so in their language
_ENOUGH = 6  # terms below which groundedness says nothing


def inputs_of(task: SummaryTask) -> str:
    """Everything a summary of this task may be made from, as one text."""
    messages = (f"{message.name or ''} {message.text}" for message in task.messages)
    return "\n".join((*messages, task.previous or "", *task.summaries))


def is_refusal(text: str) -> bool:
    """Whether a text declines, greets or asks for something to do instead of answering."""
    return _REFUSAL.match(text) is not None


def objection(task: SummaryTask, text: str, *, cut: bool = False) -> str | None:
    """Why a summary must not be taken, or None; `cut` if its model was stopped before the end."""
    if not text.strip():
        return "it is empty"
    if is_refusal(text):
        return "it is a refusal or a greeting"
    if cut:
        return "it was cut off before its end"
    return _strangeness(task, text) or _lack(task, text)


def _strangeness(task: SummaryTask, text: str) -> str | None:
    """How a text is not of its inputs."""
    inputs = inputs_of(task)
    prose = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    own, given = set(terms(prose)), set(terms(inputs))
    shared = len(own & given) / len(own) if own and given else 1.0
    if shared < _TAKEN and is_foreign(prose, inputs):
        return "it is in another language than what it was made from"
    if len(own) >= _ENOUGH and shared < _GROUNDED:
        return "it shares too little with what it was made from"
    return None


def _lack(task: SummaryTask, text: str) -> str | None:
    """What a text should have and has not."""
    missing = [section for section in task.sections if f"## {section}".casefold() not in text.casefold()]
    if missing:
        return f"it lacks the section {missing[0]!r}"
    lost = [word for word in task.keep if word.casefold() not in text.casefold()]
    return f"it lost {len(lost)} of the values it had to keep" if lost else None
