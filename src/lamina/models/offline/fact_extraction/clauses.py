"""Splits a sentence into clauses; a clause without a subject inherits that of the one before."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from lamina.models.offline.fact_extraction.grammar import ClauseWords
from lamina.models.offline.fact_extraction.tokens import Token

COMMAS = frozenset(",、،\uff0c")
BREAKS = frozenset(";():—\u2013-…·•/\uff1b\uff1a.!?¿¡")
_ANY_NUMBER = "#"
_MAX_PRELUDE_WORDS = 9
_MAX_FRONT_WORDS = 7  # before a verb and the subject behind it
_MAX_TAG_WORDS = 3
_MAX_OPENER_WORDS = 10
_MAX_SHORT_CLAUSE = 7  # words of a clause whose verb may go on in the next
_MAX_NEGATION_PLACE = 8
_MAX_CHANGE_PLACE = 6
_RUN_ON = 25  # words of a sentence in which clauses may follow each other without a mark
_MAX_ASKED_WORDS = 5  # of a question without a verb
_MAX_SUBJECT = 6  # words up to the verb


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """A piece of a sentence with one subject."""

    tokens: tuple[Token, ...]
    lead: str = ""  # the word that joins it to what comes before
    inherited: bool = False
    asks: bool = False


def clauses(tokens: Sequence[Token], words: ClauseWords, *, question: bool) -> list[Clause]:
    """The clauses of a sentence in order; `question` says that the sentence ends with a question mark."""
    found = _find_clauses(tokens, words, question=question)
    marked = _mark_questions(found, words, question=question)
    end = _question_start(tokens, words) if question and found and all(clause.asks for clause in marked) else 0
    if not end or any(_asks(clause, words) for clause in found):
        return marked
    asked = Clause(tokens=tuple(tokens[end + 1 :]), lead=tokens[end].word, asks=True)
    return [*_mark_questions(_find_clauses(tokens[:end], words, question=False), words, question=False), asked]


def _question_start(tokens: Sequence[Token], words: ClauseWords) -> int:
    """Where a few words that ask stand behind a comma and a statement ("..., anything similar?"); else 0."""
    own = [token for token in tokens if token.word[0].isalnum() or token.word in COMMAS]
    at = max((place for place, token in enumerate(tokens) if token.word in COMMAS), default=0)
    behind = [token.word for token in own if at and token.start > tokens[at].start]
    if not 0 < len(behind) <= _MAX_ASKED_WORDS or behind[0] in words.tags or _is_conjunction(behind[0], words):
        return 0
    asked = (words.first_person | words.others).isdisjoint(behind)
    return at if asked and not words.subjects.isdisjoint(token.word for token in tokens[:at]) else 0


def _find_clauses(tokens: Sequence[Token], words: ClauseWords, *, question: bool) -> list[Clause]:
    found: list[Clause] = []
    for lead, part in _split(tokens, words):
        kept = without_opener([token for token in part if token.word not in words.fillers], words)
        if kept:
            plain = Clause(tokens=tuple(kept), lead=lead)
            asks = question and lead in COMMAS and kept[0].word in words.question_words
            found.append(plain if asks else _inherit_subject(plain, found, words))
    return found


def _split(tokens: Sequence[Token], words: ClauseWords) -> Iterator[tuple[str, list[Token]]]:
    lead, part = "", list[Token]()
    start: tuple[str, ...] = ()
    at = 0
    while at < len(tokens):
        after = _boundary(tokens, at, part, start, words)
        if after:
            start = _subject_and_verb(part, start, words)
            yield lead, part
            lead, part = ("", [tokens[at]]) if after == at else (tokens[after - 1].word, [])
            at = max(after, at + 1)
        else:
            part.append(tokens[at])
            at += 1
    yield lead, part


def _subject_and_verb(part: Sequence[Token], before: tuple[str, ...], words: ClauseWords) -> tuple[str, ...]:
    """The first two words of the clause, or those of the one before if this one has no subject of its own."""
    kept = without_opener([token for token in part if token.word not in words.fillers], words)
    if kept and kept[0].word in words.subjects:
        return tuple(token.word for token in kept[:2])
    return before


def _boundary(
    tokens: Sequence[Token], at: int, part: Sequence[Token], before: tuple[str, ...], words: ClauseWords
) -> int:
    """Where the next clause begins if this token ends the present one, else 0."""
    word = tokens[at].word
    if word in words.breaks or word in BREAKS:
        return at + 1
    if _runs_on(tokens, at, part, words):
        return at
    if word in words.links:
        return at + 1 if _begins_clause(tokens, at + 1, (), words) else 0
    if not _is_conjunction(word, words) or (part and part[-1].word in words.first_person):
        return 0
    after = at
    while after < len(tokens) and (_is_conjunction(tokens[after].word, words) or tokens[after].word in words.fillers):
        after += 1
    return after if _begins_clause(tokens, after, _subject_and_verb(part, before, words), words) else 0


def _runs_on(tokens: Sequence[Token], at: int, part: Sequence[Token], words: ClauseWords) -> bool:
    """Whether a new clause begins without any mark, in a sentence that is as long as spoken ones are."""
    if len(tokens) < _RUN_ON or not part or tokens[at].word not in words.first_person:
        return False
    following = tokens[at + 1].word if at + 1 < len(tokens) else ""
    return following in words.verbs and part[-1].word not in words.complements


def _is_conjunction(word: str, words: ClauseWords) -> bool:
    return word in COMMAS or word in words.conjunctions


def _begins_clause(tokens: Sequence[Token], at: int, start: tuple[str, ...], words: ClauseWords) -> bool:
    """Whether a clause begins here, after a joining word."""
    if at >= len(tokens):
        return False
    word = tokens[at].word
    if word in words.subjects or word in words.verbs or word in words.question_words or word in words.breaks:
        return True
    if word in words.articles and not words.finite.isdisjoint(
        token.word for token in tokens[at + 1 : at + _MAX_SUBJECT]
    ):
        return True
    if word in words.preludes and at + 1 < len(tokens) and tokens[at + 1].word in words.first_person:
        return True
    return bool(_continues(word, start, words)) or (words.inverts and _is_inverted(tokens, at, words))


def _is_inverted(tokens: Sequence[Token], at: int, words: ClauseWords) -> bool:
    """Whether a clause begins here whose first-person subject stands behind its verb."""
    for one, other in pairwise(tokens[at : at + _MAX_FRONT_WORDS]):
        if not one.word[0].isalnum() or _is_conjunction(one.word, words):
            return False
        if one.word in words.verbs and other.word in words.first_person:
            return True
    return False


def _continues(word: str, start: tuple[str, ...], words: ClauseWords) -> tuple[str, ...]:
    """The beginning of the clause before that this word goes on from; empty if it does not."""
    for begin in (start, start[:1]):
        taken = words.continues.get(begin, frozenset())
        if word in taken or (_ANY_NUMBER in taken and word[0].isdigit()):
            return begin
    return ()


def without_opener(tokens: list[Token], words: ClauseWords) -> list[Token]:
    """The tokens without greetings and the like at their front."""
    first = 0
    while first < len(tokens):
        word = tokens[first].word
        if word in words.openers:
            sequence = tuple([token.word for token in tokens[first : first + _MAX_OPENER_WORDS]])
            length = next((len(opener) for opener in words.openers[word] if sequence[: len(opener)] == opener), 0)
        else:
            length = 0
        if not length and not _is_conjunction(word, words):
            break
        first += length or 1
    return tokens[first:] if first else tokens


def _inherit_subject(plain: Clause, before: Sequence[Clause], words: ClauseWords) -> Clause:
    tokens, lead = plain.tokens, plain.lead
    if not before or lead in words.skipped or lead in BREAKS or tokens[0].word in words.subjects:
        return plain
    asked = len(tokens) > 1 and tokens[0].word in words.question_words and tokens[1].word in words.subjects
    if asked and tokens[1].word not in words.orders:
        return plain
    last = before[-1].tokens
    if last[0].word not in words.first_person or any(token.word in words.others for token in last[1:]):
        return plain
    start = tuple(token.word for token in last[:2])
    begin = _continues(tokens[0].word, start, words)
    if begin and len(last) <= _MAX_SHORT_CLAUSE:
        taken = last[: len(begin)]
    elif tokens[0].word in words.verbs and tokens[0].word not in start:
        taken = last[:1]
    else:
        return plain
    place = tokens[0].start
    return replace(plain, tokens=(*(Token(one.word, place, place) for one in taken), *tokens), inherited=True)


def _mark_questions(found: list[Clause], words: ClauseWords, *, question: bool) -> list[Clause]:
    """Marks the clauses that ask."""
    asking = [place for place, clause in enumerate(found) if _asks(clause, words)]
    if question and (not asking or (asking[-1] == len(found) - 1 and _is_tag(found[-1], words))):
        return [replace(clause, asks=True) for clause in found]
    marked = []
    for place, clause in enumerate(found):
        asks = place in asking
        if question and asking and place > asking[0]:
            asks = clause.lead not in words.reasons
        marked.append(replace(clause, asks=True) if asks else clause)
    return marked


def _is_tag(clause: Clause, words: ClauseWords) -> bool:
    """Whether it is a question tag ("don't I?")."""
    tokens = clause.tokens
    if clause.lead in words.question_words or len(tokens) > _MAX_TAG_WORDS:
        return False
    pronouns = words.first_person | words.others if words.others else words.subjects
    return tokens[-1].word in pronouns or (len(tokens) == 1 and (not words.tags or tokens[0].word in words.tags))


def _asks(clause: Clause, words: ClauseWords) -> bool:
    if clause.lead in words.question_words:
        return True
    first, second = [*(token.word for token in clause.tokens[:2]), ""][:2]
    return first in words.question_words and not clause.inherited and second not in words.orders


def without_prelude(clause: Clause, words: ClauseWords) -> Clause | None:
    """The clause without the adverbials before its first-person subject; behind it, if the verb stands between."""
    plain = _plain_order(clause, words) if words.inverts else None
    if plain or clause.tokens[0].word not in words.preludes:
        return plain
    for at, token in enumerate(clause.tokens[:_MAX_PRELUDE_WORDS]):
        if token.word in words.question_words or token.word in words.breaks:
            return None
        if at and token.word in words.first_person:
            return replace(clause, tokens=clause.tokens[at:])
    return None


def _plain_order(clause: Clause, words: ClauseWords) -> Clause | None:
    """`Since May I live in Rome` of a language that says `since May live I in Rome`: `I live in Rome since May`."""
    if clause.tokens[0].word in words.question_words:
        return None
    for at, token in enumerate(clause.tokens[:_MAX_PRELUDE_WORDS]):
        if at > 1 and token.word in words.first_person:
            verb, front = clause.tokens[at - 1], clause.tokens[: at - 1]
            plain = (token, verb, *clause.tokens[at + 1 :], *front)
            return replace(clause, tokens=plain) if verb.word in words.verbs else None
    return None


def with_subject(clause: Clause, words: ClauseWords) -> Clause | None:
    """The clause with the subject that its writer left out ("moved to Turku"), None where nothing is left out."""
    sequence = tuple([token.word for token in clause.tokens])
    if clause.inherited or len(sequence) == 1 or not words.never_elided.isdisjoint(sequence[1:]):
        return None
    start = next((start for first, start in words.elided if sequence[: len(first)] == first), None)
    participle = words.participles.get(sequence[0])
    if start is None and participle is None:
        return None
    first = clause.tokens[0]
    own = () if participle else (first._replace(capital=False),)  # it begins a sentence, and is no name
    given = (Token(word, first.start, first.start) for word in participle or start or ())
    return replace(clause, tokens=(*given, *own, *clause.tokens[1:]))


def without_change(clause: Clause, words: ClauseWords) -> Clause | None:
    """The clause without the adverb behind its verb that says that something changed ("am now"), None without one."""
    for at, token in enumerate(clause.tokens[:_MAX_CHANGE_PLACE]):
        if at and token.word in words.changes and token.word in words.preludes:  # so not "no longer"
            return replace(clause, tokens=(*clause.tokens[:at], *clause.tokens[at + 1 :]))
    return None


def without_negation(clause: Clause, words: ClauseWords) -> Clause | None:
    """The clause without its negation, None where it has none."""
    sequence = tuple([token.word for token in clause.tokens])
    for negation, left in words.negations:
        if negation[-1] not in sequence:
            continue
        for at in range(min(len(sequence) - len(negation) + 1, _MAX_NEGATION_PLACE)):
            if sequence[at : at + len(negation)] == negation:
                place = clause.tokens[at]
                kept = tuple(Token(word, place.start, place.end) for word in left)
                return replace(clause, tokens=(*clause.tokens[:at], *kept, *clause.tokens[at + len(negation) :]))
    return None
