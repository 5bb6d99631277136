"""How a sentence shows that it cannot be understood without the words before it. Pure."""

import re
from collections.abc import Sequence

from lamina.language.words import WORD, fold
from lamina.models.offline.summarisation.lexicon import labels, lexicon, match_start
from lamina.models.offline.summarisation.statements import Statement
from lamina.models.offline.summarisation.wording import has_content

_BARE_WORDS = 5  # a sentence of no more words, without a verb, only goes on
_FRAGMENT = 4  # words without a verb, after which a sentence is an answer
_HEAD = 4  # words of a noun with what describes it: "the old food market there was"
_NEAR = 6  # words within which an empty "it" is filled: "it is hard to say"
_MIN_ASKED = 2  # content words with which a question tells what was spoken of
_MIN_ADDED = 3  # content words with which a sentence that begins with "but" stands alone
_MIN_TOLD = 5  # content words with which a sentence with "this plan" says enough of the plan
_UNTIL = frozenset(("until", "till", "by", "before", "since"))
_TIMELY = frozenset(("when", "if", "after", "once", "tomorrow", "tonight", "today", "yesterday", "while", "as", "next"))
_ANIMALS = frozenset(("dog", "cat", "puppy", "kitten", "horse", "baby", "character", "book"))
_TITLE = 90  # characters in which the words before a colon say what a sentence is about
_CONJUNCTIONS = frozenset(("and", "or", "but", "so", "plus", "also"))
_JOINING = frozenset(("and", "or", "plus"))
_SOFT = frozenset(("but", "however", "though", "although", "yet"))
_ADDING = frozenset(("also", "anyway", "besides"))
_POINTERS = frozenset(("this", "these", "those", "that"))
_VERBAL = ("ed", "ing")
_PERSONAL = ("ist", "ian", "er", "or", "ess", "'s")  # how words for people end
_ADVERBS = frozenset(("just", "really", "so", "also", "always", "still", "such", "only", "very", "all", "not", "like"))
_SUBJECTED = frozenset(("why", "how", "if", "because", "when", "since", "and", "but", "what", "where"))
_RAISING = frozenset(
    ("supposed", "going", "meant", "likely", "ready", "able", "due", "about", "allowed", "made", "used")
)
_MODALS = frozenset(("will", "would", "won't", "wouldn't", "can", "could", "may", "might", "should"))
_TAKING = frozenset(("take", "help", "mean", "depend"))
_DOES_SO = re.compile(r"\b(?:do|does|did|doing|done) (?:this|that|so|these|those)\b")
_POINTED = re.compile(r" (?:for|about|with|on|of|to|by|from|at) (?:this|that|these|those)[.!…]*\Z")
_PARTICLES = frozenset(("in", "out", "up", "off", "down", "back", "over", "away"))
_WHENS = frozenset(("yesterday", "today", "again", "twice", "once", "already", "too", "and", "so", "as"))
_CLAUSE = re.compile(r"[,;:—\u2013(]|\b(?:and|but|if|when|because)\b")
_PREPOSITIONS = frozenset(("of", "about", "with", "for", "from", "to", "by", "on", "in", "at"))
_PLACING = frozenset(("in", "at", "near", "around", "of"))  # a name behind these is no person's, as a rule
_PLACES = frozenset(("there", "here"))
_OWNED = frozenset(("mine", "ours", "yours", "theirs"))
_LOOKING = frozenset(("look", "looked", "looking", "looks"))
_ONES = frozenset(("one", "ones", "some", "several"))


def leans(one: Statement) -> bool:
    """Whether a sentence cannot be understood without the words before it."""
    tokens = one.tokens
    if _means_what_was_done(one.text) or _means_earlier(tokens) or _ends_in_pointer(one.text) or _only_joins(one):
        return True
    while len(tokens) > 1 and tokens[0] in _CONJUNCTIONS:
        tokens = tokens[1:]
    if not tokens:
        return False
    lex = lexicon()
    if one.asks:
        return match_start(tokens, lex.vague) > 0 or _refers_back(one, tokens) or _points_back(one)
    if match_start(tokens, lex.leaning) and not match_start(tokens, lex.standing):
        return not (_is_filled(tokens, 0) or _tells_which(tokens, 0) or _counts_thing(tokens))
    if _leaves_out_noun(tokens) or _leaves_out_thing(tokens) or _is_placed_there(tokens):
        return True
    return is_bare(tokens) or _refers_back(one, tokens) or _points_back(one)


def is_vague(one: Statement) -> bool:
    """Whether a question hardly says what it asks for: "Can you recommend some options?"."""
    return one.asks and not any(has_content(token) and token not in lexicon().wishes for token in one.tokens)


def is_slight(one: Statement) -> bool:
    """Whether a question asks for one thing that is not named: "What flavor did you make?"."""
    named = any(word[:1].isupper() or word[:1].isdigit() for word in one.text.split()[1:] if word[:1] != "I")
    return one.asks and not (one.open or named) and sum(map(has_content, one.tokens)) < _MIN_ASKED


def turns_back(one: Statement) -> bool:
    """Whether a sentence takes back, refuses or limits what the one before it said."""
    return match_start(one.tokens, lexicon().contrary) > 0


def adds_on(one: Statement) -> bool:
    """Whether a sentence with a "but" can be understood alone: "But I also play the organ in Delft"."""
    soft = one.tokens[:1] != () and one.tokens[0] in _SOFT
    return soft and not leans(one) and sum(map(has_content, one.tokens)) >= _MIN_ADDED


def is_addition(one: Statement) -> bool:
    """Whether a "but" takes nothing back: "but I also", "but anyway"."""
    return one.tokens[:1] != () and one.tokens[0] in _SOFT and not _ADDING.isdisjoint(one.tokens[1:4])


def is_bare(tokens: Sequence[str]) -> bool:
    """Whether it is a few words without a verb or a person."""
    lex = lexicon()
    if len(tokens) > _BARE_WORDS:
        return False
    return not any(token in lex.verbs or token.endswith(("ed", "ing", "n't")) for token in tokens)


def is_fragment(one: Statement) -> bool:
    """Whether a sentence begins without a verb or a person, as answers and items of lists do."""
    return not (one.old or one.asks or one.question) and not any(
        token in lexicon().verbs or token.endswith("n't") for token in one.tokens[:_FRAGMENT]
    )


def _refers_back(one: Statement, tokens: Sequence[str]) -> bool:
    """A pronoun with nothing before it in the sentence that it could stand for."""
    lex = lexicon()
    at = next((at for at, token in enumerate(tokens) if token in lex.pronouns and not _is_filled(tokens, at)), None)
    if at is None:
        if not lex.pronouns.isdisjoint(tokens):
            return False
        return tokens[-1] in lex.trailing and not _has_noun(tokens, len(tokens))
    if means_nobody(one.text):
        return True
    if tokens[at] in lex.persons or labels(tokens, lex.settled):
        return False
    subject = "'" in tokens[at]  # it's, they're: what it stands for may be the word just before
    thing = tokens[at].startswith("it")
    return not any(
        _may_stand_for(tokens[place], thing=thing)
        and (_could_be_meant(tokens, place) or ((subject or at - place > 1) and has_content(tokens[place])))
        for place in range(at)
    )


def _may_stand_for(word: str, *, thing: bool) -> bool:
    """Whether a pronoun may mean a word: no adverb, and an "it" no person."""
    return not word.endswith("ly") and not (thing and word in lexicon().people and word not in _ANIMALS)


def _means_what_was_done(text: str) -> bool:
    """Whether a "do this" stands for something that no clause before it says."""
    said = _DOES_SO.search(text.lower())
    return said is not None and not _CLAUSE.search(text.lower(), 0, said.start())


def _only_joins(one: Statement) -> bool:
    """Whether it adds a thing without saying what of it: "And some old friends from Ghent."."""
    return one.tokens[:1] != () and one.tokens[0] in _JOINING and not one.asks and lacks_verb(one)


def _ends_in_pointer(text: str) -> bool:
    """Whether a "this" or "that" behind a preposition ends a sentence of one clause: "we can use Seaborn for this"."""
    said = _POINTED.search(text.lower())
    return said is not None and not _CLAUSE.search(text.lower(), 0, said.start())


def _means_earlier(tokens: Sequence[str]) -> bool:
    """Whether a "then" in "until then" has no time before it that it could mean."""
    lex = lexicon()
    at = next((at for at, word in enumerate(tokens) if word == "then" and tokens[at - 1] in _UNTIL and at), None)
    return at is not None and not any(word in lex.periods or word in _TIMELY for word in tokens[:at])


def means_nobody(text: str) -> bool:
    """Whether there is a "he" or "she", and before it no name and no word for a person."""
    lex = lexicon()
    before = ""
    for word in WORD.findall(text):
        token = fold(word)
        if token in lex.persons:
            return True
        if token in lex.people or (token.endswith(_PERSONAL) and before in lex.determiners):
            return False
        if _is_name(word, token) and before not in _PLACING:
            return False
        before = token
    return False


def names_person(text: str) -> bool:
    """Whether a "he" or "she" after these words may stand for somebody in them."""
    lex = lexicon()
    words = [(word, fold(word)) for word in WORD.findall(text)]
    return any(
        token in lex.people or token in lex.persons or (at and _is_name(word, token))
        for at, (word, token) in enumerate(words)
    )


def _is_name(word: str, token: str) -> bool:
    return word[0].isupper() and has_content(token) and token not in lexicon().periods


def lacks_verb(one: Statement) -> bool:
    """Whether a sentence has no verb and no figure, and names nothing before a colon: "A lovely contrast indeed."."""
    verbs = lexicon().verbs
    if ":" in one.text or any(map(str.isdigit, one.text)):
        return False
    return not any(token in verbs or "'" in token or token.endswith(_VERBAL) for token in one.tokens)


def _is_filled(tokens: Sequence[str], at: int) -> bool:
    """Whether, as in "It's hard to say goodbye", the pronoun stands for what comes after it."""
    lex, after = lexicon(), tokens[at + 1 : at + 1 + _NEAR]
    if not tokens[at].startswith("it") or "like" in after[:2]:  # "it was like waking up"
        return False
    verbs = {*tokens[max(0, at - 1) : at], *after[:1]}
    if tokens[at] not in {"it's", "it'd", "it'll"} and verbs.isdisjoint(lex.copulas):
        return False
    described = [word for word in after[0 if "'" in tokens[at] else 1 :] if word not in _ADVERBS]
    if described and (described[0] in lex.determiners or described[0] in _ONES):
        return False
    if described and (described[0] in _RAISING or (after[0] in _MODALS and described[0] not in lex.copulas | _TAKING)):
        return False
    if any(word in {"to", "that", "when", "if", "how"} for word in described):
        return True
    return any(  # "it was fun painting with them", but not "an interesting ride"
        word.endswith("ing") and has_content(word) and tokens[place - 1] not in lex.determiners
        for place, word in enumerate(tokens[: at + 1 + _NEAR])
        if at < place < len(tokens) - 1
    )


def _points_back(one: Statement) -> bool:
    """Whether "this", "that" or "one" stands for something that the sentence does not name before."""
    tokens = one.tokens
    if ":" in one.text[:_TITLE] or labels(tokens, lexicon().settled):
        return False
    return any(
        _points(tokens, at) and (_is_no_noun_before(tokens, at) or not _has_noun(tokens, at))
        for at, word in enumerate(tokens)
        if word in _POINTERS or word in _ONES or word in _OWNED or word in _PLACES
    )


def _points(tokens: Sequence[str], at: int) -> bool:
    word = tokens[at]
    before, after = tokens[at - 1] if at else "", tokens[at + 1] if at + 1 < len(tokens) else ""
    bare = not after or after in lexicon().closers
    if word in _OWNED:
        return before != "of"
    if word in _PLACES:
        return bare and after != "in" and not any(map(has_content, tokens[: max(0, at - 1)]))
    if word in _ONES:
        return _points_to_one(tokens, at, bare=bare)
    return _points_to_thing(tokens, at, before, after, bare=bare)


def _points_to_one(tokens: Sequence[str], at: int, *, bare: bool) -> bool:
    """Whether a "one" or "several" stands for a thing: "the red one", "looking at one in Hamburg", not "at one"."""
    lex, near = lexicon(), tokens[max(0, at - 2) : at]
    if near[-1:] == ("at",) and not _LOOKING.isdisjoint(near):
        return bare
    chosen = tokens[at] == "one" and "the" in near and not (lex.verbs | lex.copulas).isdisjoint(tokens[at + 1 : at + 2])
    chosen = chosen and lex.selves.isdisjoint(tokens[at + 1 : at + 2])
    return (bare or chosen) and bool(near) and near[-1] not in lex.counted


def _points_to_thing(tokens: Sequence[str], at: int, before: str, after: str, *, bare: bool) -> bool:
    """Whether a "this" or "that" stands for what was said before."""
    lex, word = lexicon(), tokens[at]
    few = sum(map(has_content, tokens)) < _MIN_TOLD
    if word == "that":
        subject = before in _SUBJECTED and after in lex.verbs | lex.copulas
        return (
            bare
            or subject
            or after == "other"
            or (before == "like" and not has_content(after))
            or (few and before in _PREPOSITIONS and has_content(after))
        )
    if after in lex.periods or (word == "those" and after in {"who", "that", "with", "of"}):
        return False
    if not has_content(after):
        return True
    named = _tells_which(tokens, at) or before in lex.introductions
    return not named and (few or word == "these" or before in _PREPOSITIONS)


def _is_no_noun_before(tokens: Sequence[str], at: int) -> bool:
    """Whether a "this" is not the noun before it: "the direction this is headed", "a doll like this"."""
    after = tokens[at + 1] if at + 1 < len(tokens) else ""
    if tokens[at] in _POINTERS and tokens[at - 1] == "like" and at:
        return not has_content(after)
    if tokens[at] == "one":
        return tokens[0] == "the" and tokens[:at] == tokens[max(0, at - 2) : at]  # "the existing one has a bug"
    return tokens[at] == "this" and at > 1 and tokens[at - 2] in lexicon().determiners and after in lexicon().copulas


def _tells_which(tokens: Sequence[str], at: int) -> bool:
    """Whether a "this" is told apart by what follows: "this book I read", "this show called Heron"."""
    if tokens[at] not in _POINTERS or not has_content("".join(tokens[at + 1 : at + 2])):
        return False
    return any(word in lexicon().selves or word in {"called", "named"} for word in tokens[at + 2 : at + 5])


def _counts_thing(tokens: Sequence[str]) -> bool:
    """Whether a "the first" says of what: "the first customer is Umbra", but not "the first one"."""
    return tokens[0] == "the" and tokens[2:3] != () and has_content(tokens[2]) and tokens[2] not in lexicon().verbs


def _is_placed_there(tokens: Sequence[str]) -> bool:
    """Whether a "there" says where the subject is: "the old market there was", but not "in the yard there was"."""
    lex, at = lexicon(), tokens.index("there") if "there" in tokens[:_HEAD] else 0
    subject = at > 1 and tokens[0] in lex.determiners and has_content(tokens[at - 1])
    return subject and not lex.copulas.isdisjoint(tokens[at + 1 : at + 2])


def _leaves_out_noun(tokens: Sequence[str]) -> bool:
    """Whether a sentence ends in a number of things that it does not name: "my dad had nine"."""
    last = tokens[-1]
    return (last.isdigit() or last in lexicon().numbers) and tokens[-2:-1] != () and tokens[-2] in lexicon().takers


def _leaves_out_thing(tokens: Sequence[str]) -> bool:
    """Whether a sentence begins with what was done without to what: "handed in to the clerk", "tripped twice"."""
    lex, first = lexicon(), tokens[0]
    if not (first.endswith("ed") or first in lex.done) or first in lex.stop or first in lex.complete:
        return False
    particle = tokens[1:2] != () and tokens[1] in _PARTICLES
    rest = tokens[2:] if particle else tokens[1:]
    if rest[:1] == ("to",) and not particle and first not in lex.done:
        return False  # "wanted to see Oban"
    timed = rest[1:2] != () and rest[0] in _POINTERS | {"last"} and rest[1] in lex.periods
    return timed or not rest or rest[0] in _PREPOSITIONS - {"of"} or rest[0] in _WHENS or rest[0].endswith("ly")


def _has_noun(tokens: Sequence[str], end: int) -> bool:
    stop, determiners = lexicon().stop, lexicon().determiners
    return any(
        _could_be_meant(tokens, at) or (at > 0 and tokens[at] not in stop and tokens[at - 1] in determiners)
        for at in range(end)
    )


def _could_be_meant(tokens: Sequence[str], at: int) -> bool:
    """Whether a word may be what a later pronoun stands for: a noun by its article, a name, a subject."""
    if not has_content(tokens[at]):
        return False
    return at == 0 or any(before in lexicon().determiners for before in tokens[max(0, at - 3) : at])
