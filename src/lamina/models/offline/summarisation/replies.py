"""What a sentence answers: words of another speaker, which it then has beside it. Pure."""

import re
from collections.abc import Sequence
from dataclasses import replace

from lamina.language.words import stem
from lamina.models.offline.summarisation.leaning import is_bare, leans, means_nobody, names_person
from lamina.models.offline.summarisation.lexicon import labels, lexicon
from lamina.models.offline.summarisation.statements import SPEAKERS, Statement
from lamina.models.offline.summarisation.talk import LOOK_BACK, Talk
from lamina.models.offline.summarisation.wording import has_content

_MAX_QUESTION = 220  # characters of a question that is shown with its answer
_MAX_REQUEST = 160  # characters of a request that is shown with what an assistant says to it
_MAX_REMARK = 160  # characters of a remark that is shown with its reply
_ON_TOPIC = 2  # words of a request with which an answer tells itself what it answers
_MAX_SHORT = 7  # content words of a reply that hardly says what it speaks of
_MAX_SAID = 14  # content words of a message that is such a reply as a whole
_MIN_CLEAR = 4  # content words with which a request says enough, though it leans on others
_MIN_ADDED = 2  # content words that a reply must add to what the user said, where the user asked for nothing
_CODE = re.compile(r";\s*\Z|\w\(\S*\)|[{}=<>]|\w\.\w+\(")
_ASKING = frozenset((word,) for word in ("please", "pls", "now", "so", "ok", "and", "also", "re", "next", "then"))
_WISHING = frozenset((("i", "need"), ("i", "want"), ("i'd", "like"), ("we", "need"), ("i'll", "need")))
_WISHED = frozenset(("a", "an", "the", "you", "your", "some", "help", "it"))
_QUOTES = "\"“”'\u2018\u2019 "


def with_question(talk: Talk, at: int) -> Statement | None:
    """The statement with the words of another speaker that it answers, if there are some."""
    one = talk.said[at]
    said = [talk.said[place] for place in talk.said_before(at) if talk.tells[place]]
    if means_nobody(one.text):  # who is meant counts, not what was asked
        said = _naming(said) or said
    asked = [other for other in said if other.asks and _fits(other, _MAX_QUESTION)]
    if asked:  # of several questions, the one with its words, or the last
        return _beside(one, max(asked, key=lambda other: (len(_stems(other) & _stems(one)), other.place)))
    if not talk.leans[at] or goes_on_from_own(one) or one.speaker == SPEAKERS["assistant"]:
        return None
    plain = [other for other in said if not (other.asks or other.head) and _fits(other, _MAX_REMARK)]
    plain = [other for other in plain if not all(key[0].isdigit() for key in _stems(other))]  # "Noted, point 14."
    clear = [other for other in plain if not leans(other)] or plain
    return _beside(one, clear[-1]) if clear else None


def _naming(said: Sequence[Statement]) -> list[Statement]:
    """Those that say who a "she" may be: by a word such as "sister", else by a name."""
    people = lexicon().people
    by_word = [one for one in said if any(token.removesuffix("'s") in people for token in one.tokens)]
    return by_word or [one for one in said if names_person(one.text)]


def on_request(talk: Talk, at: int) -> Statement | None:
    """What an assistant says with too few words of what it was asked for, with what it was asked for."""
    one = talk.said[at]
    if one.speaker != SPEAKERS["assistant"] or one.old or one.asks:
        return None
    asked = _last_request(talk, at)
    if asked is None:
        return None
    shared = len(_stems(asked) & _stems(one))
    clear = shared >= min(_ON_TOPIC, len(_stems(asked)))
    return None if clear or shared == len(_stems(one)) else _beside(one, asked)


def on_remark(talk: Talk, at: int) -> Statement | None:
    """An assistant's short or leaning reply with the user's words that it is about; unclear where it adds nothing."""
    one, own = talk.said[at], _stems(talk.said[at])
    if (
        one.speaker != SPEAKERS["assistant"]
        or one.old
        or one.asks
        or one.head
        or not (talk.leans[at] or _is_short(talk, at))
    ):
        return None
    before = talk.said_before(at)
    known = {key for place in before for key in _stems(talk.said[place])}
    asked = any(_requests(talk.said[place]) for place in before)
    if not known or not _adds(own, known, least=1 if asked else _MIN_ADDED):
        return replace(one, unclear=True)
    if talk.said[before[0]].role != "user" or (_names_topic(own & known) and not talk.leans[at]):
        return None
    heads = [place for place in before if talk.tells[place] and not talk.said[place].head]
    heads = [place for place in heads if _fits(talk.said[place], _MAX_REMARK)]
    worth = {place: (len(_stems(talk.said[place]) & own), len(_stems(talk.said[place]))) for place in heads}
    best = max(worth, key=lambda place: (worth[place][0], not talk.leans[place], worth[place][1]), default=None)
    if best is None or (talk.leans[best] and not worth[best][0]):
        return replace(one, unclear=True)
    return _beside(one, talk.said[best])


def goes_on_from_own(one: Statement) -> bool:
    """Whether words lean rather on what the same speaker said before: "she said yes", "9.4"."""
    return is_bare(one.tokens) or one.tokens[0] in lexicon().persons


def _beside(one: Statement, asked: Statement) -> Statement:
    return replace(one, question=asked.text.strip(_QUOTES))


def _is_short(talk: Talk, at: int) -> bool:
    """Whether a sentence of few words is of a message of few words, or opens a long one."""
    one, begin = talk.said[at], talk.starts[at]
    if one.joined or one.item:
        return False
    message = [talk.said[place] for place in range(begin, len(talk.said)) if talk.starts[place] == begin]
    return sum(len(_stems(each)) for each in message) <= _MAX_SAID or (at == begin and len(_stems(one)) <= _MAX_SHORT)


def _adds(own: set[str], known: set[str], *, least: int) -> bool:
    """Whether words say something new: so many of them, or a figure with what it counts."""
    figures = {key for key in own if key[0].isdigit()}
    return len(own - known) >= least or (figures != own and not figures <= known)


def _names_topic(shared: set[str]) -> bool:
    """Whether words that a reply has from what it answers say of what it speaks; figures alone do not."""
    return len(shared) >= _ON_TOPIC and not all(key[0].isdigit() for key in shared)


def _stems(one: Statement) -> set[str]:
    """What a sentence speaks of, without praise."""
    return {stem(token) for token in one.tokens if has_content(token) and token not in lexicon().praise}


def _last_request(talk: Talk, at: int) -> Statement | None:
    """What the user asked for last before an answer, in words that can be understood alone."""
    one, latest = talk.said[at], None
    for place in range(talk.starts[at] - 1, -1, -1):
        other = talk.said[place]
        if other.old or other.source != one.source or one.line - other.line > LOOK_BACK:
            return None
        if other.role == "user" and talk.tells[place]:
            latest = other.line if latest is None else latest
            if other.line != latest:
                return None  # something else has been said since
        clear = other.role == "user" and talk.tells[place]
        clear = clear and (not talk.leans[place] or len(_stems(other)) >= _MIN_CLEAR)
        if clear and _requests(other) and _fits(other, _MAX_REQUEST):
            return other
    return None


def _requests(one: Statement) -> bool:
    if not any(has_content(token) and token not in lexicon().requests for token in one.tokens):
        return False  # "please continue"
    tokens: Sequence[str] = one.tokens[1:] if one.tokens[:1] in _ASKING else one.tokens
    return (
        one.asks
        or not lexicon().requests.isdisjoint(tokens[:1])
        or (tuple(tokens[:2]) in _WISHING and not _WISHED.isdisjoint(tokens[2:3]))
    )


def _fits(one: Statement, characters: int) -> bool:
    """Whether words may be shown beside their answer: not too many, no small talk, quotations or code, clear alone."""
    cues = labels(one.tokens, lexicon().cues)
    if len(one.text) > characters or "[" in one.text or "meta" in cues or _CODE.search(one.text):
        return False
    if "pleasantry" in cues and not one.asks:
        return False
    return '"): ' not in one.text and not sum(one.text.count(mark) for mark in '"“”') % 2
