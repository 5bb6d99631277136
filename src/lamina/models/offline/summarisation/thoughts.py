"""What a sentence needs to be understood: sentences around it, or the words it answers. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lamina.language.words import fold, stem
from lamina.models.offline.summarisation.lexicon import labels, lexicon, match_start
from lamina.models.offline.summarisation.statements import ANSWERS, Statement

_MAX_QUESTION = 220  # characters of a question that is shown with its answer
_MAX_REMARK = 160  # characters of a remark that is shown with its reply
_BARE_WORDS = 5  # a sentence of no more words, without a verb, only goes on
_FRAGMENT = 4  # words without a verb, after which a sentence is an answer
_LOOK_BACK = 3  # messages


@dataclass(frozen=True, slots=True)
class Thoughts:
    """Statements, each with the indexes of the others that it cannot be understood without."""

    statements: list[Statement]
    needs: list[tuple[int, ...]]


def bind(statements: Sequence[Statement]) -> Thoughts:
    """The statements with what each of them needs; `unclear` where nothing was found that it leans on."""
    found = list(statements)
    needs: list[tuple[int, ...]] = [() for _ in found]
    starts = _line_starts(found)
    tells = _telling(statements)
    for at, one in enumerate(statements):
        turns_back = _turns_back(one)
        if one.question or not (one.joined or turns_back or leans(one)):
            if at == starts[at] and _is_fragment(one):
                found[at] = _with_question(statements, starts, tells, at) or one
            continue
        head = next((before for before in range(at - 1, starts[at] - 1, -1) if tells[before]), None)
        alone = head is not None or one.old or not (tells[at] or turns_back or _is_answer(one))
        answer = None if alone else _with_question(statements, starts, tells, at)
        if head is None and not alone and answer is None:
            head = _own_head(statements, starts, tells, at)
        if answer is not None:
            found[at] = answer
        elif head is None:
            found[at] = replace(one, unclear=not turns_back)
        else:
            found[at] = replace(one, line=found[head].line)
            needs[at] = (*needs[at], head)
            if turns_back:  # who keeps an offer keeps the refusal
                needs[head] = (*needs[head], at)
    return Thoughts(found, needs)


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


def _with_question(
    statements: Sequence[Statement], starts: Sequence[int], tells: Sequence[bool], at: int
) -> Statement | None:
    """The statement with the words of another speaker that it answers, if there are some."""
    one, before = statements[at], starts[at] - 1
    if one.old or before < 0 or not _is_beside(statements[before], one) or statements[before].speaker == one.speaker:
        return None
    said = [statements[place] for place in range(starts[before], before + 1) if tells[place]]
    asked = [statement for statement in said if statement.asks and _fits(statement, _MAX_QUESTION)]
    if asked:
        return replace(one, question=asked[-1].text)
    if not leans(one) or _goes_on_from_own(one):
        return None
    plain = [statement for statement in said if not statement.asks and _fits(statement, _MAX_REMARK)]
    return replace(one, question=plain[-1].text) if plain else None


def _fits(one: Statement, characters: int) -> bool:
    """Whether words may be shown beside their answer: not too many, no small talk, nothing that ends the label."""
    cues = labels(one.tokens, lexicon().cues)
    return len(one.text) <= characters and '"): ' not in one.text and not {"pleasantry", "meta"} & set(cues)


def _goes_on_from_own(one: Statement) -> bool:
    """Whether words lean rather on what the same speaker said before: "she said yes", "9.4"."""
    return _is_bare(one.tokens) or one.tokens[0] in lexicon().persons


def _own_head(statements: Sequence[Statement], starts: Sequence[int], tells: Sequence[bool], at: int) -> int | None:
    """What the same speaker said last before; where others said something between, only for words that go on."""
    one, goes_on = statements[at], _goes_on_from_own(statements[at])
    for before in range(starts[at] - 1, -1, -1):
        head = statements[before]
        if head.old or head.source != one.source or one.line - head.line > _LOOK_BACK:
            return None
        if tells[before] and head.speaker == one.speaker:
            return before
        if tells[before] and not goes_on:
            return None
    return None


def _is_beside(before: Statement, one: Statement) -> bool:
    return not before.old and before.source == one.source and one.line - before.line <= 1


def _telling(statements: Sequence[Statement]) -> list[bool]:
    """Which of the statements have anything that another could lean on: more than reactions and speakers' names."""
    lex = lexicon()
    empty = lex.reactions | {fold(part) for one in statements for part in one.speaker.split()}
    return [any(_has_content(token) and token not in empty for token in one.tokens) for one in statements]


def _is_answer(one: Statement) -> bool:
    return not one.place and one.tokens[:1] in ANSWERS


# How a sentence shows that it leans on another


def leans(one: Statement) -> bool:
    """Whether a sentence cannot be understood without the words before it."""
    tokens, lex = one.tokens, lexicon()
    if not tokens:
        return False
    if one.asks:
        return len(tokens) <= _BARE_WORDS and _refers_back(one)
    if match_start(tokens, lex.leaning) and not match_start(tokens, lex.standing):
        return not _says_what_follows(tokens)
    return _is_bare(tokens) or _refers_back(one)


def _says_what_follows(tokens: Sequence[str]) -> bool:
    """Whether, as in "It's hard to say goodbye", the pronoun stands for what comes after it."""
    return tokens[0].startswith("it") and any(
        token in {"to", "that", "when", "if", "how"} or token.endswith("ing") for token in tokens[2:7]
    )


def _is_bare(tokens: Sequence[str]) -> bool:
    """A few words without a verb or a person."""
    lex = lexicon()
    if len(tokens) > _BARE_WORDS:
        return False
    return not any(token in lex.verbs or token.endswith(("ed", "ing", "n't")) for token in tokens)


def _is_fragment(one: Statement) -> bool:
    """Whether a sentence begins without a verb or a person, as answers do."""
    return not (one.old or one.asks or one.question) and not any(
        token in lexicon().verbs or token.endswith("n't") for token in one.tokens[:_FRAGMENT]
    )


def _refers_back(one: Statement) -> bool:
    """A pronoun with nothing before it in the sentence that it could stand for."""
    lex, tokens = lexicon(), one.tokens
    at = next((at for at, token in enumerate(tokens) if token in lex.pronouns), None)
    if at is None:
        return tokens[-1] in lex.trailing and not any(_could_be_meant(tokens, place) for place in range(len(tokens)))
    if labels(tokens, lex.settled):
        return False
    thing = tokens[at] not in lex.persons
    subject = "'" in tokens[at]  # it's, they're: what it stands for may be the word just before
    return not any(
        _could_be_meant(tokens, place) or (thing and (subject or at - place > 1) and _has_content(tokens[place]))
        for place in range(at)
    )


def _has_content(token: str) -> bool:
    return token not in lexicon().stop and stem(token) not in lexicon().common


def _could_be_meant(tokens: Sequence[str], at: int) -> bool:
    """Whether a word may be what a later pronoun stands for: a noun by its article, a name, a subject."""
    if not _has_content(tokens[at]):
        return False
    return at == 0 or any(before in lexicon().determiners for before in tokens[max(0, at - 3) : at])


def _turns_back(one: Statement) -> bool:
    """Whether a sentence takes back, refuses or limits what the one before it said."""
    return match_start(one.tokens, lexicon().contrary) > 0
