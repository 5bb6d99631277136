"""What a sentence needs to be understood: sentences around it, or the words it answers. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lamina.models.offline.summarisation.leaning import (
    adds_on,
    is_addition,
    is_fragment,
    is_slight,
    is_vague,
    lacks_verb,
    means_nobody,
    names_person,
    turns_back,
)
from lamina.models.offline.summarisation.lexicon import lexicon
from lamina.models.offline.summarisation.quotations import join_quotations
from lamina.models.offline.summarisation.replies import goes_on_from_own, on_remark, on_request, with_question
from lamina.models.offline.summarisation.statements import SPEAKERS, Statement
from lamina.models.offline.summarisation.talk import LOOK_BACK, PERSON_LOOK_BACK, Talk, read_talk
from lamina.models.offline.summarisation.wording import ANSWERS

_ENGLISH = 0.2  # share of English stop words from which a talk is in English


@dataclass(frozen=True, slots=True)
class Thoughts:
    """Statements, each with the indexes of the others that it cannot be understood without."""

    statements: list[Statement]
    needs: list[tuple[int, ...]]


def bind(statements: Sequence[Statement]) -> Thoughts:
    """The statements with what each of them needs; `unclear` where nothing was found that it leans on."""
    statements = join_quotations(statements)
    talk = read_talk(statements)
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
            reply = answer or on_request(talk, at) or (on_remark(talk, at) if english else None)
            found[at] = reply or _alone(talk, at, english=english)
        if one.head:  # what only announces goes with what it announces
            follows = at + 1 < len(talk.said) and talk.starts[at + 1] == talk.starts[at]
            needs[at] = (*needs[at], at + 1) if follows else needs[at]
            said = follows and any(map(str.isalnum, talk.said[at + 1].text))
            found[at] = found[at] if said or one.old else replace(found[at], unclear=True)
    return Thoughts(_open_together(_unclear_together(found, needs), needs), needs)


def _link(one: Statement, at: int, head: int, needs: list[tuple[int, ...]]) -> None:
    """Note that a statement needs its head; who keeps an offer keeps the refusal."""
    if not adds_on(one):
        needs[at] = (*needs[at], head)
    if turns_back(one) and not is_addition(one):
        needs[head] = (*needs[head], at)


def _alone(talk: Talk, at: int, *, english: bool) -> Statement:
    """A statement that has nothing to lean on: unclear where it leans."""
    one = talk.said[at]
    if not english or one.old or turns_back(one):
        return one
    title = one.speaker == SPEAKERS["assistant"] and not one.head and lacks_verb(one)
    return replace(one, unclear=talk.is_helpless(at) or title or (at > 0 and is_slight(one)))


def _unclear_together(found: Sequence[Statement], needs: Sequence[tuple[int, ...]]) -> list[Statement]:
    """The statements; what an assistant says is not clear where what it goes on from is not."""
    return [
        replace(one, unclear=True)
        if one.speaker == SPEAKERS["assistant"] and not one.question and any(found[head].unclear for head in needed)
        else one
        for one, needed in zip(found, closures(needs), strict=True)
    ]


def _open_together(found: Sequence[Statement], needs: Sequence[tuple[int, ...]]) -> list[Statement]:
    """The statements; what an open question needs stays in its line."""
    waiting = {one for at, needed in enumerate(closures(needs)) if found[at].open for one in needed}
    return [replace(one, open=True) if at in waiting else one for at, one in enumerate(found)]


def _is_english(statements: Sequence[Statement]) -> bool:
    """Whether the words tell which sentences lean on others: they are known in English only."""
    tokens = [token for one in statements for token in one.tokens]
    return sum(token in lexicon().stop for token in tokens) >= _ENGLISH * len(tokens)


def _support(talk: Talk, at: int) -> tuple[int | None, Statement | None]:
    """What a statement leans on: another one, or the words of another speaker, which it then has beside it."""
    one = talk.said[at]
    back = turns_back(one)
    if talk.parts[at]:
        head = _list_head(talk, at)
        return (head, None) if head is not None else (None, with_question(talk, at))
    before = _before(talk, at)
    if not (talk.is_helpless(at) or back):
        if before is not None and is_vague(one):
            return before, None
        return None, with_question(talk, at) if _begins_bare(one) and _is_first(talk, at) else None
    if means_nobody(one.text) and not one.old:
        return _person_before(talk, at, before)
    return (before, None) if before is not None else _elsewhere(talk, at)


def _is_first(talk: Talk, at: int) -> bool:
    """Whether a sentence is the first of its message, or stands behind a word that answers: "Two. One for each"."""
    words = [token for place in range(talk.starts[at], at) for token in talk.said[place].tokens]
    return not words or (len(words) == 1 and words[0] not in lexicon().reactions)


def _before(talk: Talk, at: int) -> int | None:
    """The sentence that a sentence goes on from; for an item of a list in a summary, the first words of its line."""
    one, begin = talk.said[at], talk.starts[at]
    if one.old and one.joined and begin < at and ": " in talk.said[begin].text:
        return begin
    return next((place for place in range(at - 1, begin - 1, -1) if talk.tells[place]), None)


def _elsewhere(talk: Talk, at: int) -> tuple[int | None, Statement | None]:
    """What the first words of a message lean on: the question before it, or the speaker's own words."""
    one = talk.said[at]
    if one.old or not (talk.tells[at] or turns_back(one) or _is_answer(one)):
        return None, None
    answer = with_question(talk, at)
    if answer is not None or one.speaker == SPEAKERS["assistant"]:
        return None, answer
    return _own_head(talk, at), None


def _person_before(talk: Talk, at: int, before: int | None) -> tuple[int | None, Statement | None]:
    """What says whom a "he" or "she" means: a sentence of the same speaker, or the question."""
    one = talk.said[at]
    begin = talk.starts[at]
    head = next((place for place in range(at - 1, begin - 1, -1) if names_person(talk.said[place].text)), None)
    if head is not None:
        return head, None
    answer = with_question(talk, at)
    if answer is not None and names_person(answer.question):
        return None, answer
    for place in range(begin - 1, -1, -1):
        other = talk.said[place]
        if other.old or other.source != one.source or one.line - other.line > PERSON_LOOK_BACK:
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


def _list_head(talk: Talk, at: int) -> int | None:
    """The words that announce the list an item is of."""
    heads = (place for place in range(at - 1, talk.starts[at] - 1, -1) if talk.said[place].head)
    head = next(heads, None)
    return head if head is not None and talk.tells[head] else None


def _own_head(talk: Talk, at: int) -> int | None:
    """What the same speaker said last before; where others said something between, only for words that go on."""
    one, goes_on = talk.said[at], goes_on_from_own(talk.said[at])
    for before in range(talk.starts[at] - 1, -1, -1):
        head = talk.said[before]
        if head.old or head.source != one.source or one.line - head.line > LOOK_BACK:
            return None
        if talk.tells[before] and head.speaker == one.speaker:
            return None if head.asks and one.role == "assistant" else before
        if talk.tells[before] and not goes_on:
            return None
    return None


def _begins_bare(one: Statement) -> bool:
    """Whether it begins without saying of what: "two of them", "8k in all, and it's Joris who pays"."""
    return is_fragment(one) or (bool(one.tokens) and one.tokens[0][0].isdigit())


def _is_answer(one: Statement) -> bool:
    return not one.place and one.tokens[:1] in ANSWERS
