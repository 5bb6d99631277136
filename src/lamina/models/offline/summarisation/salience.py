"""How much a statement is worth: what it says of the speaker, and the words it brings. Pure."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lamina.language.words import fold, is_unspaced, stem, tokenise
from lamina.models.offline.summarisation.lexicon import labels, lexicon
from lamina.models.offline.summarisation.rarity import rarity
from lamina.models.offline.summarisation.statements import DATE, SPEAKERS, Statement
from lamina.models.offline.summarisation.wording import has_content


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A statement with its worth apart from words, and the words it brings."""

    statement: Statement
    cues: tuple[str, ...]
    factor: float  # how much it looks like something to remember
    lasting: float  # what it is worth in however few words
    stems: Mapping[str, float]  # content stems and what each is worth
    essential: bool = False  # left out only where there is no room
    required: bool = False  # it has words that must survive
    barred: bool = False  # left out unless another needs it: it cannot be understood, or says nothing
    needs: tuple[int, ...] = ()  # indexes of the statements that it cannot be understood without


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """The numbers behind a score, found on half of a development set."""

    base: float = 1.7
    name: float = 4.0
    number: float = 2.3
    date: float = 1.9  # a date that was worked out
    common: float = 0.27
    pair: float = 0.5
    frequent: float = 0.3  # what is left of a word that most lines have
    central: float = 0.15
    question: float = 0.45
    answered: float = 0.3
    opening: float = 0.9
    request: float = 0.5  # what a user's question gains when the assistant does most of the writing
    tool: float = 0.35
    system: float = 0.2
    assistant: float = 0.6
    equal: float = 0.25  # what an assistant gains when it writes no more than the user
    accepted: float = 1.35
    open: float = 1.6
    old: float = 1.15
    earliest: float = 0.2
    first: float = 0.05
    superseded: float = 0.4
    unclear: float = 0.5  # it leans on words that are not there
    addressed: float = 0.5  # what words lose that are about who is spoken to, when both write as much
    asked: float = 0.5  # words of the question that it answers
    lasting: float = 0.85
    lasting_old: float = 2.5
    max_value: float = 6.0
    min_value: float = 0.05


WEIGHTS = Weights()

_MIN_LINES = 8
_MAX_LINE_SHARE = 0.35  # share of the lines that makes a word frequent
_MIN_WORDS = 4
_MIN_ESSENTIAL = 2  # content words
_MAX_POLITE = 3  # content words with which an assistant's small talk says nothing
_MAX_BARE_TERMS = 2  # content words with which a sentence only announces the next
_VERSION = re.compile(r"\b[vV]?\d+(?:\.\d+)+\b|\b[a-z]+_[a-z_]+\b|[a-z][A-Z]|\w+\.(?:py|js|ts|json|toml|yml|sql|md)\b")
_CAPITAL = re.compile(r"(?<=[^.!?:\s] )[^\W\d_a-z]\w*")  # not at the beginning of a sentence
_INTRODUCED = re.compile(r"\bI(?:['\u2019]m| am) [^\W\d_a-z]\w+(?:[.,!]|\Z)")
_VERSE = re.compile(r"[A-Za-z0-9,;'-]\Z|\A[A-Z]{3,}(?: [A-Z]+)?: ")
_QUOTED = re.compile(r"[\"“][^\"”]{2,60}[\"”]")


def score_statements(statements: Sequence[Statement]) -> list[Scored]:
    """Every statement with its worth, in the same order."""
    names = _names(statements)
    keys = [tuple(dict.fromkeys(content_stems(one.tokens))) for one in statements]
    lines = _lines_with(statements, keys)
    count = len({(one.source, one.line) for one in statements})
    worths = {key: _worth(key, times, count, key in names) for key, times in lines.items()}
    balance = _balance(statements)
    priors = _priors(balance)
    oldest = sum(one.old for one in statements)
    found = []
    seen_old = 0
    carried: tuple[tuple[int, int], tuple[str, ...]] = ((-1, -1), ())
    for statement, own in zip(statements, keys, strict=True):
        cues = labels(statement.tokens, lexicon().cues)
        if "identity" not in cues and _INTRODUCED.search(statement.text):
            cues = (*cues, "identity")
        line = (statement.source, statement.line)
        if carried[0] == line and not statement.asks:
            cues = tuple(dict.fromkeys(cues + carried[1]))
        carried = (line, _announcement(cues) if len(own) <= _MAX_BARE_TERMS else ())
        factor = _factor(statement, cues, balance) * priors.get(statement.role, 1.0)
        if statement.old:
            factor *= WEIGHTS.old + WEIGHTS.earliest * (1 - seen_old / oldest)
            seen_old += 1
        worth = _asked(statement, worths) | {key: worths[key] for key in own}
        worth |= dict.fromkeys(DATE.findall(statement.text), WEIGHTS.date)
        if statement.unclear:
            factor *= WEIGHTS.unclear
        factor = max(factor, WEIGHTS.min_value)
        lasting = _lasting(statement, cues) * (WEIGHTS.lasting_old if statement.old else WEIGHTS.lasting)
        found.append(
            Scored(
                statement=statement,
                cues=cues,
                factor=factor,
                lasting=lasting,
                stems=worth,
                essential=_is_essential(statement, cues, own, names),
                barred=_is_barred(statement, cues),
            )
        )
    return found


def _asked(statement: Statement, worths: Mapping[str, float]) -> dict[str, float]:
    """The words of the question that a statement answers, and what they add to it."""
    if not statement.question:
        return {}
    return {key: WEIGHTS.asked * worths.get(key, 1.0) for key in content_stems(tokenise(statement.question))}


def content_stems(tokens: Sequence[str]) -> list[str]:
    """The stems of all words that are not stop words."""
    stop = lexicon().stop
    return [
        stem(token)
        for token in tokens
        if token not in stop and (len(token) > 1 or not token.isascii() or token.isdigit())
    ]


def _announcement(cues: Sequence[str]) -> tuple[str, ...]:
    """What a sentence such as "I've changed my mind." says of the next one."""
    kept = tuple(cue for cue in cues if cue in {"decision", "change", "instruction"})
    return (*kept, "first_person") if kept else ()


def _factor(statement: Statement, cues: Sequence[str], balance: float) -> float:
    total = WEIGHTS.base + sum(lexicon().weights[cue] for cue in cues)
    if statement.place == 0:
        total += WEIGHTS.first
    if _VERSION.search(statement.text):
        total += 0.4
    if _QUOTED.search(statement.text):
        total += 0.3
    total = min(total, WEIGHTS.max_value)
    if len(statement.tokens) < _MIN_WORDS and "identity" not in cues and not statement.question:
        total *= 0.5
    if statement.open:
        total = max(total, WEIGHTS.base) * WEIGHTS.open
    elif statement.asks and not (statement.role == "user" and "instruction" in cues):
        total *= _asking(statement, balance)
    elif statement.tokens and statement.tokens[0] in lexicon().addresses and "instruction" not in cues:
        total *= 1 - WEIGHTS.addressed * balance
    return total * (WEIGHTS.accepted if statement.accepted else 1.0)


def _is_essential(statement: Statement, cues: Sequence[str], own: Sequence[str], names: frozenset[str]) -> bool:
    """Whether it is something that the user would miss: what they are, want, decide, must; dates, names, numbers."""
    if statement.open:
        return any(key not in lexicon().common for key in own)
    if statement.role not in {"user", ""} or statement.unclear or len(own) < _MIN_ESSENTIAL:
        return False
    if statement.asks:
        return "instruction" in cues  # "would you write in full sentences?"
    if sum(key not in lexicon().common for key in own) < _MIN_ESSENTIAL and "first_person" not in cues:
        return False
    told = not lexicon().essential.isdisjoint(cues) or bool(DATE.search(statement.text))
    return told or any(key[0].isdigit() or key in names for key in own)


def _is_barred(statement: Statement, cues: Sequence[str]) -> bool:
    """Whether a line of it alone would tell a reader nothing; what a summary has already stays."""
    if statement.old or (statement.open and not statement.unclear):
        return False
    if _is_verse(statement) or (statement.speaker == SPEAKERS["assistant"] and _is_courtesy(statement, cues)):
        return True
    if statement.question:
        return False
    praise = lexicon().praise
    told = (
        any(has_content(token) and token not in praise for token in statement.tokens)
        or "situation" in cues
        or bool(lexicon().lasting & {*cues})
    )
    return statement.unclear or not told


def _is_courtesy(statement: Statement, cues: Sequence[str]) -> bool:
    """Whether an assistant only cheers, or asks what the user wants next."""
    if statement.asks or any(map(str.isdigit, statement.text)):
        return statement.asks
    polite = (
        not {"pleasantry", "meta"}.isdisjoint(cues)
        and not statement.head
        and sum(map(has_content, statement.tokens)) <= _MAX_POLITE
    )
    return polite or statement.text.endswith("!")


def _is_verse(statement: Statement) -> bool:
    """Whether it is a line of verse, of a play or a title: an assistant's, outside a list, open at its end."""
    plain = statement.role == "assistant" and not (statement.head or statement.item or statement.old)
    return plain and statement.text.isascii() and bool(_VERSE.search(statement.text))


def _lasting(statement: Statement, cues: Sequence[str]) -> float:
    spoken_of = "first_person" in cues or "instruction" in cues
    if (statement.asks and "instruction" not in cues) or statement.role not in {"user", ""} or not spoken_of:
        return 0.0
    return sum(lexicon().weights[cue] for cue in cues if cue in lexicon().lasting)


def _asking(statement: Statement, balance: float) -> float:
    """What is left of an answered question: most of what the user began with, little of an assistant's."""
    if statement.role == "assistant":
        return WEIGHTS.answered
    if statement.line == 0 and not statement.old:
        return WEIGHTS.opening
    return WEIGHTS.question + WEIGHTS.request * (1 - balance)


def _balance(statements: Sequence[Statement]) -> float:
    """How much the user writes against the assistant, at most 1."""
    written = Counter[str]()
    for one in statements:
        written[one.role] += len(one.tokens)
    return min(1.0, written["user"] / written["assistant"]) if written["assistant"] and written["user"] else 1.0


def _priors(balance: float) -> dict[str, float]:
    """What each role's words count for: an assistant that writes much more than the user counts for less."""
    return {
        "user": 1.0,
        "assistant": WEIGHTS.assistant + WEIGHTS.equal * balance,
        "tool": WEIGHTS.tool,
        "system": WEIGHTS.system,
        "developer": WEIGHTS.system,
    }


def _lines_with(statements: Sequence[Statement], keys: Sequence[tuple[str, ...]]) -> Counter[str]:
    """In how many lines each stem is."""
    found: dict[tuple[int, int], dict[str, None]] = {}
    for one, own in zip(statements, keys, strict=True):
        found.setdefault((one.source, one.line), {}).update(dict.fromkeys(own))
    return Counter(key for line in found.values() for key in line)


def _worth(key: str, lines: int, count: int, is_name: bool) -> float:
    if is_unspaced(key):
        worth = WEIGHTS.pair
    elif key[0].isdigit():
        worth = WEIGHTS.number
    elif is_name:
        worth = WEIGHTS.name
    else:
        worth = WEIGHTS.common if key in lexicon().common else rarity(key)
    if count >= _MIN_LINES and lines > _MAX_LINE_SHARE * count:
        return worth * WEIGHTS.frequent
    return worth * (1 + WEIGHTS.central * min(lines - 1, 4))


def _names(statements: Sequence[Statement]) -> frozenset[str]:
    """Stems of words written with a capital inside a sentence, without the speakers' own names."""
    speakers = {fold(part) for one in statements for part in one.speaker.split()}
    found = {fold(word) for one in statements for word in _CAPITAL.findall(one.text)}
    return frozenset(stem(token) for token in found - speakers if token not in lexicon().stop)
