"""What a sentence needs to be understood: sentences around it, or the words it answers. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lamina.language.words import fold, stem
from lamina.models.offline.summarisation.leaning import (
    adds_on,
    is_addition,
    is_bare,
    is_fragment,
    is_slight,
    is_vague,
    lacks_verb,
    leans,
    means_nobody,
    names_person,
    turns_back,
)
from lamina.models.offline.summarisation.lexicon import labels, lexicon
from lamina.models.offline.summarisation.quotations import join_quotations
from lamina.models.offline.summarisation.statements import SPEAKERS, Statement
from lamina.models.offline.summarisation.wording import ANSWERS, has_content

_MAX_QUESTION = 220  # characters of a question that is shown with its answer
_MAX_REQUEST = 160  # characters of a request that is shown with what an assistant says to it
_MAX_REMARK = 160  # characters of a remark that is shown with its reply
_ON_TOPIC = 2  # words of a request with which an answer tells itself what it answers
_ENGLISH = 0.2  # share of English stop words from which a talk is in English
_LOOK_BACK = 3  # messages
_CODE = re.compile(r";\s*\Z|\w\(\S*\)|[{}=<>]|\w\.\w+\(")
_ASKING = frozenset((word,) for word in ("please", "pls", "now", "so", "ok", "and", "also", "re"))
_QUOTES = "\"“”'\u2018\u2019 "


@dataclass(frozen=True, slots=True)
class Thoughts:
    """Statements, each with the indexes of the others that it cannot be understood without."""

    statements: list[Statement]
    needs: list[tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class _Talk:
    """Statements; where the message or line of each begins; which of them others could lean on, and which lean."""

    said: Sequence[Statement]
    starts: Sequence[int]
    tells: Sequence[bool]
    leans: Sequence[bool]
    parts: Sequence[bool]  # items of lists that say little without the words that announce the list

    def is_helpless(self, at: int) -> bool:
        """Whether a sentence says nothing without another."""
        return self.said[at].joined or self.leans[at] or self.parts[at]


def bind(statements: Sequence[Statement]) -> Thoughts:
    """The statements with what each of them needs; `unclear` where nothing was found that it leans on."""
    statements = join_quotations(statements)
    talk = _Talk(
        said=statements,
        starts=_line_starts(statements),
        tells=_telling(statements),
        leans=[leans(one) for one in statements],
        parts=[one.item and is_fragment(one) for one in statements],
    )
    found = list(statements)
    needs: list[tuple[int, ...]] = [() for _ in found]
    english = _is_english(statements)
    for at, one in enumerate(statements):
        if one.question:
            continue
        head, answer = _support(talk, at)
        if head is not None:
            found[at] = replace(one, line=found[head].line, open=found[head].open)
            _link(one, at, head, needs)
        else:
            found[at] = answer or _on_request(talk, at) or _alone(talk, at, english=english)
        if one.head:  # what only announces goes with what it announces
            follows = at + 1 < len(talk.said) and talk.starts[at + 1] == talk.starts[at]
            needs[at] = (*needs[at], at + 1) if follows else needs[at]
            found[at] = found[at] if follows or one.old else replace(found[at], unclear=True)
    return Thoughts(_open_together(found, needs), needs)


def _link(one: Statement, at: int, head: int, needs: list[tuple[int, ...]]) -> None:
    """Note that a statement needs its head; who keeps an offer keeps the refusal."""
    if not adds_on(one):
        needs[at] = (*needs[at], head)
    if turns_back(one) and not is_addition(one):
        needs[head] = (*needs[head], at)


def _alone(talk: _Talk, at: int, *, english: bool) -> Statement:
    """A statement that has nothing to lean on: unclear where it leans."""
    one = talk.said[at]
    if not english or one.old or turns_back(one):
        return one
    title = one.speaker == SPEAKERS["assistant"] and not one.head and lacks_verb(one)
    return replace(one, unclear=talk.is_helpless(at) or title or (at > 0 and is_slight(one)))


def _open_together(found: Sequence[Statement], needs: Sequence[tuple[int, ...]]) -> list[Statement]:
    """The statements; what an open question needs stays in its line."""
    waiting = {one for at, needed in enumerate(closures(needs)) if found[at].open for one in needed}
    return [replace(one, open=True) if at in waiting else one for at, one in enumerate(found)]


def _is_english(statements: Sequence[Statement]) -> bool:
    """Whether the words tell which sentences lean on others: they are known in English only."""
    tokens = [token for one in statements for token in one.tokens]
    return sum(token in lexicon().stop for token in tokens) >= _ENGLISH * len(tokens)


def _support(talk: _Talk, at: int) -> tuple[int | None, Statement | None]:
    """What a statement leans on: another one, or the words of another speaker, which it then has beside it."""
    one = talk.said[at]
    back = turns_back(one)
    if talk.parts[at]:
        head = _list_head(talk, at)
        return (head, None) if head is not None else (None, _with_question(talk, at))
    before = _before(talk, at)
    if not (talk.is_helpless(at) or back):
        if before is not None and is_vague(one):
            return before, None
        return None, _with_question(talk, at) if at == talk.starts[at] and _begins_bare(one) else None
    if means_nobody(one.text) and not one.old:
        return _person_before(talk, at, before)
    return (before, None) if before is not None else _elsewhere(talk, at)


def _before(talk: _Talk, at: int) -> int | None:
    """The sentence that a sentence goes on from; for an item of a list in a summary, the first words of its line."""
    one, begin = talk.said[at], talk.starts[at]
    if one.old and one.joined and begin < at and ": " in talk.said[begin].text:
        return begin
    return next((place for place in range(at - 1, begin - 1, -1) if talk.tells[place]), None)


def _elsewhere(talk: _Talk, at: int) -> tuple[int | None, Statement | None]:
    """What the first words of a message lean on: the question before it, or the speaker's own words."""
    one = talk.said[at]
    if one.old or not (talk.tells[at] or turns_back(one) or _is_answer(one)):
        return None, None
    answer = _with_question(talk, at)
    return (None, answer) if answer is not None else (_own_head(talk, at), None)


def _person_before(talk: _Talk, at: int, before: int | None) -> tuple[int | None, Statement | None]:
    """What says whom a "he" or "she" means: a sentence of the same speaker, or the question."""
    one = talk.said[at]
    begin = talk.starts[at]
    head = next((place for place in range(at - 1, begin - 1, -1) if names_person(talk.said[place].text)), None)
    if head is not None:
        return head, None
    answer = _with_question(talk, at)
    if answer is not None and names_person(answer.question):
        return None, answer
    for place in range(begin - 1, -1, -1):
        other = talk.said[place]
        if other.old or other.source != one.source or one.line - other.line > _LOOK_BACK:
            break
        if other.speaker == one.speaker and talk.tells[place] and names_person(other.text):
            return place, None
    return (before, None) if before is not None else (None, answer)


def closures(needs: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """For each statement, all that it needs in the end and itself, in order."""
    found = []
    for at in range(len(needs)):
        reached, waiting = {at}, [*needs[at]]
        while waiting:
            one = waiting.pop()
            if one not in reached:
                reached.add(one)
                waiting.extend(needs[one])
        found.append(tuple(sorted(reached)))
    return found


def _line_starts(statements: Sequence[Statement]) -> list[int]:
    """For each statement, where its message, or line of a summary, begins."""
    starts: list[int] = []
    for at, one in enumerate(statements):
        same = at and (statements[at - 1].source, statements[at - 1].line) == (one.source, one.line)
        starts.append(starts[-1] if same else at)
    return starts


def _list_head(talk: _Talk, at: int) -> int | None:
    """The words that announce the list an item is of."""
    heads = (place for place in range(at - 1, talk.starts[at] - 1, -1) if talk.said[place].head)
    head = next(heads, None)
    return head if head is not None and talk.tells[head] else None


def _with_question(talk: _Talk, at: int) -> Statement | None:
    """The statement with the words of another speaker that it answers, if there are some."""
    one, before = talk.said[at], talk.starts[at] - 1
    if one.old or before < 0 or not _is_beside(talk.said[before], one) or talk.said[before].speaker == one.speaker:
        return None
    said = [talk.said[place] for place in range(talk.starts[before], before + 1) if talk.tells[place]]
    asked = [other for other in said if other.asks and _fits(other, _MAX_QUESTION)]
    if asked:
        return replace(one, question=asked[-1].text.strip(_QUOTES))
    if not talk.leans[at] or _goes_on_from_own(one):
        return None
    plain = [other for other in said if not (other.asks or other.head) and _fits(other, _MAX_REMARK)]
    clear = [other for other in plain if not leans(other)]
    plain = clear if clear or one.speaker == SPEAKERS["assistant"] else plain
    return replace(one, question=plain[-1].text.strip(_QUOTES)) if plain else None


def _on_request(talk: _Talk, at: int) -> Statement | None:
    """What an assistant says with too few words of what it was asked for, with what it was asked for."""
    one = talk.said[at]
    if one.speaker != SPEAKERS["assistant"] or one.old or one.asks:
        return None
    asked = _last_request(talk, at)
    if asked is None:
        return None
    wanted = {stem(token) for token in asked.tokens if has_content(token)}
    if len(wanted & {stem(token) for token in one.tokens}) >= min(_ON_TOPIC, len(wanted)):
        return None
    return replace(one, question=asked.text.strip(_QUOTES))


def _last_request(talk: _Talk, at: int) -> Statement | None:
    """What the user asked for last before an answer, in words that can be understood alone."""
    one, latest = talk.said[at], None
    for place in range(talk.starts[at] - 1, -1, -1):
        other = talk.said[place]
        if other.old or other.source != one.source or one.line - other.line > _LOOK_BACK:
            return None
        if other.role == "user" and talk.tells[place]:
            latest = other.line if latest is None else latest
            if other.line != latest:
                return None  # something else has been said since
        clear = other.role == "user" and talk.tells[place] and not talk.leans[place]
        if clear and _requests(other) and _fits(other, _MAX_REQUEST):
            return other
    return None


def _requests(one: Statement) -> bool:
    if not any(has_content(token) and token not in lexicon().requests for token in one.tokens):
        return False  # "please continue"
    first = one.tokens[1:2] if one.tokens[:1] in _ASKING else one.tokens[:1]
    return one.asks or not lexicon().requests.isdisjoint(first)


def _fits(one: Statement, characters: int) -> bool:
    """Whether words may be shown beside their answer: not too many, no small talk, quotations or code, clear alone."""
    cues = labels(one.tokens, lexicon().cues)
    if len(one.text) > characters or "[" in one.text or "meta" in cues or _CODE.search(one.text):
        return False
    if "pleasantry" in cues and not one.asks:
        return False
    return '"): ' not in one.text and not sum(one.text.count(mark) for mark in '"“”') % 2


def _goes_on_from_own(one: Statement) -> bool:
    """Whether words lean rather on what the same speaker said before: "she said yes", "9.4"."""
    return is_bare(one.tokens) or one.tokens[0] in lexicon().persons


def _own_head(talk: _Talk, at: int) -> int | None:
    """What the same speaker said last before; where others said something between, only for words that go on."""
    one, goes_on = talk.said[at], _goes_on_from_own(talk.said[at])
    for before in range(talk.starts[at] - 1, -1, -1):
        head = talk.said[before]
        if head.old or head.source != one.source or one.line - head.line > _LOOK_BACK:
            return None
        if talk.tells[before] and head.speaker == one.speaker:
            return None if head.asks and one.role == "assistant" else before
        if talk.tells[before] and not goes_on:
            return None
    return None


def _is_beside(before: Statement, one: Statement) -> bool:
    return not before.old and before.source == one.source and one.line - before.line <= 1


def _telling(statements: Sequence[Statement]) -> list[bool]:
    """Which of the statements have anything that another could lean on: more than reactions and speakers' names."""
    lex = lexicon()
    empty = lex.reactions | {fold(part) for one in statements for part in one.speaker.split()}
    return [
        sum(has_content(token) and token not in empty for token in one.tokens) > _is_polite(one) for one in statements
    ]


def _is_polite(one: Statement) -> bool:
    """Whether it is small talk, which tells something only with more than one word that says something."""
    return not one.asks and "pleasantry" in labels(one.tokens, lexicon().cues)


def _begins_bare(one: Statement) -> bool:
    """Whether it begins without saying of what: "two of them", "8k in all, and it's Joris who pays"."""
    return is_fragment(one) or (bool(one.tokens) and one.tokens[0][0].isdigit())


def _is_answer(one: Statement) -> bool:
    return not one.place and one.tokens[:1] in ANSWERS
