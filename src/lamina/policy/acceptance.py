"""Whether a summary may stand for what it was made from."""

import re

from lamina.policy.words import terms
from lamina.ports import SummaryTask

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
_ENOUGH = 6  # terms below which groundedness says nothing


def inputs_of(task: SummaryTask) -> str:
    """Everything a summary of this task may be made from, as one text."""
    said = (f"{message.name or ''} {message.text}" for message in task.messages)
    return "\n".join((*said, task.previous or "", *task.summaries))


def objection(task: SummaryTask, text: str) -> str | None:
    """Why a summary must not be taken, or None."""
    if not text.strip():
        return "it is empty"
    if _REFUSAL.match(text):
        return "it is a refusal or a greeting"
    own = set(terms(" ".join(line for line in text.splitlines() if not line.startswith("#"))))
    given = set(terms(inputs_of(task)))
    if len(own) >= _ENOUGH and given and len(own & given) / len(own) < _GROUNDED:
        return "it shares too little with what it was made from"
    missing = [section for section in task.sections if f"## {section}".casefold() not in text.casefold()]
    if missing:
        return f"it lacks the section {missing[0]!r}"
    lost = [word for word in task.keep if word.casefold() not in text.casefold()]
    if lost:
        return f"it lost {len(lost)} of the values it had to keep"
    return None
