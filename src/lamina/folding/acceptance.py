"""Whether a summary may stand for what it was made from."""

import re
from collections import Counter
from collections.abc import Sequence

from lamina.folding.summary_lines import read_line
from lamina.language.languages import is_foreign
from lamina.language.sentences import sentences
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
ESSENTIAL_TOKENS = 160  # of what the offline summariser finds most important, which a summary is measured by
_COVERED = 0.3  # share of it that a summary must have, if there is much of it and room for it
_LITTLE, _MUCH = 12, 36  # worth of its terms: below the first nothing is asked, from the second on the whole share
_TELLING = 2  # what a name or a number is worth; another term is worth 1
_COPIED = 0.95  # share of a summary's terms from one message alone that makes it a copy
_COPY_COVERED = 0.5  # share of the essential lines from which a copy will do: the message says it all
_SAID = 0.34  # share of a line's terms from which on it is said
_COMMON = 0.5  # share of the essential lines above which a term says nothing of any of them
_SEVERAL = 3  # messages
_FEW = 3  # terms of a sentence that says too little to be asked for
_ROLES = frozenset(terms("user users assistant agent system ai"))
_SHORT_NUMBER = 2  # digits of a number that may count something, such as messages
_MAX_MISSING = 5  # essential lines that are named when a summary is sent back
_TRIVIAL = 25  # terms of the inputs below which one common term is enough
_DAY = re.compile(r"\s*\[\d{4}-\d{2}(?:-\d{2})?[^\]\n]{0,20}\]")  # written behind its words by the offline summariser
_NAME = re.compile(r"(?<=[^.!?:\s] )[^\W\d_a-z]\w+|\w*\d[\w.,:]*")


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
    return _strangeness(task, text) or _lack(task, text) or _poverty(task, text)


def essential_sentences(text: str) -> tuple[str, ...]:
    """The sentences of an offline summary, each with who said it, as the parts that another text is measured by."""
    found: list[str] = []
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        read = read_line(line)
        speaker = read.bullet + read.label
        parts = [sentence.text for sentence in sentences(read.text)]
        found += _join_short([speaker + part for part in parts], speaker)
    return tuple(found)


def _join_short(parts: Sequence[str], speaker: str) -> list[str]:
    """The parts; one of a few terms stands with the part before it."""
    joined: list[str] = []
    for part in parts:
        if joined and len(set(terms(part.removeprefix(speaker)))) < _FEW:
            joined[-1] += f" {part.removeprefix(speaker)}"
        else:
            joined.append(part)
    return joined


def missing(task: SummaryTask, text: str) -> tuple[str, ...]:
    """The essential lines of which a summary says least, for whoever is to write it again."""
    shares = _line_shares(task, text)
    lacking = sorted((line for line, share in shares.items() if share < _SAID), key=lambda line: shares[line])
    return tuple(lacking[:_MAX_MISSING])


def coverage(task: SummaryTask, text: str) -> tuple[float, float]:
    """The share of what is essential that a summary has, and the share that it must have."""
    worth = _worth(_essential_lines(task))
    total = sum(worth.values())
    if total <= _LITTLE:
        return 1.0, 0.0
    own = set(terms(text))
    ramp = min(1.0, (total - _LITTLE) / (_MUCH - _LITTLE)) * min(1.0, task.cap / ESSENTIAL_TOKENS)
    return sum(value for term, value in worth.items() if term in own) / total, _COVERED * ramp


def _essential_lines(task: SummaryTask) -> list[str]:
    return [_bare_line(line) for line in task.essentials]


def _bare_line(line: str) -> str:
    """A line without its speaker and without days that were written behind its words."""
    return _DAY.sub("", read_line(line).text).strip()


def _names(text: str) -> set[str]:
    """The names and longer numbers of a text; who speaks is no name."""
    return {term for term in _telling(text) - _ROLES if not (term.isdigit() and len(term) <= _SHORT_NUMBER)}


def _worth(lines: Sequence[str]) -> dict[str, int]:
    """What each term of some lines is worth; one that most of them have tells nothing."""
    telling = _telling("\n".join(lines))
    counts = Counter(term for line in lines for term in set(terms(line)))
    common = len(lines) * _COMMON if len(lines) >= _SEVERAL else len(lines)
    return {term: _TELLING if term in telling else 1 for term, count in counts.items() if count <= common}


def _telling(text: str) -> set[str]:
    """The terms of a text that are names or numbers."""
    return {term for name in _NAME.findall(text) for term in terms(name)}


def _line_shares(task: SummaryTask, text: str) -> dict[str, float]:
    """The share of each essential line that a summary has."""
    own, lines = set(terms(text)), _essential_lines(task)
    worth = _worth(lines)
    known = {line: [term for term in dict.fromkeys(terms(line)) if term in worth] for line in lines}
    return {line: sum(one in own for one in found) / len(found) for line, found in known.items() if found}


def _poverty(task: SummaryTask, text: str) -> str | None:
    """How a text says too little of what it was made from."""
    covered, wanted = coverage(task, text)
    if wanted and _is_copy(task, text):
        shares = _line_shares(task, text).values()
        if sum(share >= _SAID for share in shares) < _COPY_COVERED * len(shares):
            return "it only repeats one message"
    return "it leaves out most of what matters" if covered < wanted else None


def _is_copy(task: SummaryTask, text: str) -> bool:
    own = set(terms(text))
    whole = [set(terms(message.text)) for message in task.messages]
    if not own or len(whole) < _SEVERAL:
        return False
    return any(len(own & given) >= _COPIED * len(own) for given in whole)


def _strangeness(task: SummaryTask, text: str) -> str | None:
    """How a text is not of its inputs."""
    inputs = inputs_of(task)
    prose = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    own, given = set(terms(prose)), set(terms(inputs))
    shared = len(own & given) / len(own) if own and given else 1.0
    if shared < _TAKEN and is_foreign(prose, inputs):
        return "it is in another language than what it was made from"
    if own and own <= set(terms(task.template)) and not own & given:
        return "it repeats the prompt"
    named = _names("\n".join(_bare_line(line) for line in prose.splitlines()))
    if len(named) >= _SEVERAL and len(named - given) > len(named) / 2:
        return "it has names or numbers that are not in what it was made from"
    trivial = len(given) < _TRIVIAL and not _telling(inputs) and bool(own & given)
    if len(own) >= _ENOUGH and shared < _GROUNDED and not trivial:
        return "it shares too little with what it was made from"
    return None


def _empty_section(text: str) -> str | None:
    """The first heading that has nothing below it."""
    heading: str | None = None
    for line in (*text.splitlines(), "## "):
        if line.startswith("## "):
            if heading is not None:
                return heading
            heading = line.removeprefix("## ").strip()
        elif line.strip():
            heading = None
    return None


def _lack(task: SummaryTask, text: str) -> str | None:
    """What a text should have and has not."""
    wanted = () if task.kind == "digest" else task.sections  # a digest has the sections that it has something for
    absent = [section for section in wanted if f"## {section}".casefold() not in text.casefold()]
    if absent:
        return f"it lacks the section {absent[0]!r}"
    if task.sections and (empty := _empty_section(text)):
        return f"it has nothing in the section {empty!r}"
    lost = [word for word in task.keep if word.casefold() not in text.casefold()]
    return f"it lost {len(lost)} of the values it had to keep" if lost else None
