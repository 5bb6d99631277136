"""Statements about the user in the third person, rewritten as the user would make them: "User lives in" -> "I live in".

What is rewritten, and into what, is in the `[third_person]` part of each grammar.
"""

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lamina.models.offline.fact_extraction.tokens import fold

Phrase = tuple[str, ...]

_WORD = re.compile(r"\w+(?:['\u2019]\w+)?(?:-\w+)*|[^\w\s]")
_AFTER_LABEL = frozenset((":", "=", "-", "\u2013"))
_ENDS = frozenset(".!?;\n")
_MAX_ADVERBS = 3
_COMMA = ","
_POSSESSIVE = "'s"


@dataclass(frozen=True, slots=True, kw_only=True)
class ThirdPerson:
    """How one language speaks of a third person, and what the first person says instead."""

    subjects: tuple[Phrase, ...] = ()  # who is meant: "the user"; the longest first
    of_user: tuple[Phrase, ...] = ()  # behind a noun that is the user's: "des nutzers"
    first: str = ""  # what stands in the subject's place
    object: str = ""  # what stands in its place where it is no subject
    own: str = ""  # before a noun that is the user's
    own_articles: Mapping[str, str] = field(default_factory=dict)  # by the article of the noun: "der" -> "mein"
    pronouns: frozenset[str] = frozenset()
    contracted: Mapping[str, str] = field(default_factory=dict)  # pronouns with their verb: "he's" -> "I'm"
    words: Mapping[str, str] = field(default_factory=dict)  # "his" -> "my"
    before_nouns: Mapping[str, str] = field(default_factory=dict)  # the same, if another word follows
    verbs: Mapping[str, str] = field(default_factory=dict)
    endings: tuple[tuple[str, str], ...] = ()  # of other verbs; the first that fits
    past: frozenset[str] = frozenset()  # endings of a past tense that is the same in both persons: "ed"
    finite: frozenset[str] = frozenset()  # verbs that are the same in both persons
    known: frozenset[str] = frozenset()  # verbs of the third person that may stand without a subject
    states: frozenset[str] = frozenset()  # words that may stand without subject and verb: "allergic"
    state: str = ""  # what is put before them
    fragments: tuple[str, ...] = ()  # what else may be left out at the beginning of a text: "I am a"
    adverbs: frozenset[str] = frozenset()
    reports: frozenset[str] = frozenset()  # "says", before what the user says of themselves
    that: frozenset[str] = frozenset()
    joins: frozenset[str] = frozenset()  # behind one of these, a verb may take over the subject
    others: frozenset[str] = frozenset()  # somebody else that a pronoun may mean from then on
    attributes: frozenset[str] = frozenset()  # what a user has that no pronoun means: "name"
    topics: frozenset[str] = frozenset()  # labels that name something of the user: "car"
    kinds: frozenset[str] = frozenset()  # the same behind another word: "shoe size"
    labels: Mapping[str, str] = field(default_factory=dict)  # "location" of "Location: Ghent" -> "I live in"
    phrases: Mapping[Phrase, str] = field(default_factory=dict)  # behind the subject: "wants to be called"


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A text in the first person, and where each piece of it stands in the text as it was."""

    text: str
    origins: tuple[tuple[int, int, bool], ...]  # place here, place there, whether the piece is as it was

    def place(self, at: int, *, end: bool = False) -> int:
        """Where a place of this text is in the original; of a piece that was rewritten, its beginning or its end."""
        if not self.origins:
            return at
        index = max(0, bisect_right(self.origins, (at - end, 2**62, True)) - 1)
        here, there, same = self.origins[index]
        if same:
            return there + at - here
        return self.origins[index + 1][1] if end and index + 1 < len(self.origins) else there


def rewrite(text: str, table: ThirdPerson, names: Sequence[str] = ()) -> Rewritten:
    """The text as the user would say it; `names` are what the user is called."""
    rewriting = _Rewriting(text, table, names)
    rewriting.run()
    return _apply(text, rewriting.edits)


def speaks_of_user(text: str, table: ThirdPerson, names: Sequence[str] = ()) -> bool:
    """Whether the text names the user as a third person."""
    rewriting = _Rewriting(text, table, names)
    phrases = (*rewriting.subjects, *table.of_user)
    return any(rewriting.matches(at, phrase) for at in range(len(rewriting.words)) for phrase in phrases) or any(
        rewriting.owner_at(at) for at in range(len(rewriting.words))
    )


def begins_with_verb(text: str, table: ThirdPerson) -> bool:
    """Whether the text begins with a verb of the third person, and leaves out who does it."""
    spoken = (word for match in _WORD.finditer(text) if (word := fold(match.group())) not in table.adverbs)
    return next(spoken, "") in table.known


def _apply(text: str, edits: Sequence[tuple[int, int, str]]) -> Rewritten:
    pieces: list[str] = []
    origins: list[tuple[int, int, bool]] = []
    here = there = 0
    for start, end, new in sorted(edits):
        if start < there:
            continue
        origins.append((here, there, True))
        pieces.append(text[there:start])
        here += start - there
        origins.append((here, start, False))
        pieces.append(new)
        here += len(new)
        there = end
    origins.append((here, there, True))
    pieces.append(text[there:])
    return Rewritten("".join(pieces), tuple(origins))


class _Rewriting:
    """One text on its way."""

    def __init__(self, text: str, table: ThirdPerson, names: Sequence[str]) -> None:
        self._text = text
        self._table = table
        found = list(_WORD.finditer(text))
        self._spans = [match.span() for match in found]
        self.words = [fold(match.group()) for match in found]
        self._first = [at == 0 or self._begins(at) for at in range(len(found))]
        called = tuple(tuple(fold(name).split()) for name in sorted(names, key=len, reverse=True) if name.strip())
        self._names = frozenset(called)
        self.subjects: tuple[Phrase, ...] = (*table.subjects, *called)
        self.edits: list[tuple[int, int, str]] = []
        self._other = False  # somebody else was spoken of
        self._subject = False  # the present clause is about the user

    def _begins(self, at: int) -> bool:
        between = self._text[self._spans[at - 1][1] : self._spans[at][0]]
        return self.words[at - 1] in _ENDS or "\n" in between

    def run(self) -> None:
        at = 0
        while at < len(self.words):
            if self._first[at]:
                self._subject = False
                if after := self._sentence_start(at):
                    at = after
                    continue
            at = self._step(at)

    def _step(self, at: int) -> int:
        """Rewrite what stands here, and go on behind it."""
        table = self._table
        if self.words[at] in table.others:
            self._other = True
        for step in (self._owned, self._of_user, self._named, self._pronoun, self._joined):
            if after := step(at):
                return after
        if not self._other:
            self._word(at)
        return at + 1

    def matches(self, at: int, phrase: Phrase) -> bool:
        return tuple(self.words[at : at + len(phrase)]) == phrase

    def owner_at(self, at: int) -> int:
        """How many words here name the user as an owner: "the user's"."""
        for phrase in self.subjects:
            if self._table.own and self.matches(at, (*phrase[:-1], phrase[-1] + _POSSESSIVE)):
                return len(phrase)
        return 0

    # what may stand at the beginning of a sentence

    def _sentence_start(self, at: int) -> int:
        """A label, a verb or a state without a subject."""
        table, word = self._table, self.words[at]
        if after := self._label(at):
            return after
        if self._asks(at):
            return 0
        verb = self._verb_place(at)
        if verb + 1 < len(self.words) and self.words[verb] in table.known:
            said = [table.first, *self.words[at:verb], self._conjugate(self.words[verb])]
            self._edit(at, verb + 1, " ".join(said).strip())
            self._subject = True
            return verb + 1
        if word in table.states and table.state:
            self._edit(at, at + 1, f"{table.state} {word}")
            return at + 1
        return 0

    def _asks(self, at: int) -> bool:
        rest = self.words[at:]
        return next((word for word in rest if word in _ENDS), "") == "?"

    def _label(self, at: int) -> int:
        """A label with its value: "Location: Ghent", "User location: Ghent"."""
        begin = at
        for phrase in self.subjects:
            if self.matches(at, phrase) or self.matches(at, (*phrase[:-1], phrase[-1] + _POSSESSIVE)):
                begin = at + len(phrase)
                break
        colon = next(
            (place for place in range(begin, min(begin + 4, len(self.words))) if self.words[place] in _AFTER_LABEL), 0
        )
        if not colon or colon + 1 >= len(self.words):
            return 0
        label = " ".join(self.words[begin:colon])
        new = self._table.labels.get(label)
        if new is None and (start := self._table.labels.get(f"{self.words[begin]} *")) and colon > begin + 1:
            new = start.replace("*", " ".join(self.words[begin + 1 : colon]))
        if new is None:
            return 0
        self._edit(at, colon + 1, new)
        return colon + 1

    # what may stand anywhere

    def _owned(self, at: int) -> int:
        length = self.owner_at(at)
        if not length:
            return 0
        after = at + length
        following = self.words[after] if after < len(self.words) else ""
        if following in self._table.states or following in self._table.adverbs:  # "User's allergic to nuts"
            self._edit(at, after, self._table.state)
            self._subject = True
            return after
        self._edit(at, after, self._capital(at, self._table.own))
        self._other = self._other or not self._table.attributes.intersection(self.words[after : after + 2])
        return after

    def _of_user(self, at: int) -> int:
        """A noun with its owner behind it: "Der Hund des Nutzers" -> "Mein Hund"."""
        article = self._table.own_articles.get(self.words[at])
        if article is None:
            return 0
        for noun in range(at + 1, min(at + 4, len(self.words))):
            for phrase in self._table.of_user:
                if self.matches(noun + 1, phrase):
                    self._edit(at, at + 1, self._capital(at, article))
                    start, end = self._spans[noun][1], self._spans[noun + len(phrase)][1]
                    self.edits.append((start, end, ""))
                    self._other = self._other or self.words[noun] not in self._table.attributes
                    return noun + len(phrase) + 1
        return 0

    def _named(self, at: int) -> int:
        for phrase in self.subjects:
            if self.matches(at, phrase):
                after = at + len(phrase)
                if self._is_verb(self._verb_place(after)):
                    return self._take_subject(at, after)
                if not self._first[at] and phrase not in self._names:
                    self._edit(at, after, self._table.object)
                    return after
                return 0
        return 0

    def _pronoun(self, at: int) -> int:
        table, word = self._table, self.words[at]
        if self._other:
            return 0
        if word in table.contracted:
            self._edit(at, at + 1, table.contracted[word])
            self._subject = True
            return at + 1
        if word in table.pronouns and self._is_verb(self._verb_place(at + 1)):
            return self._take_subject(at, at + 1)
        return 0

    def _joined(self, at: int) -> int:
        """A verb that takes over the user as its subject: "lives in Ghent and works at Acme"."""
        if not self._subject or self.words[at] not in {*self._table.joins, _COMMA}:
            return 0
        place = self._verb_place(at + 1)
        if self.words[at] == _COMMA and not self._is_said_of_user(place):
            return 0
        if place < len(self.words) and (
            self.words[place] in self._table.known or self.words[place] in self._table.verbs
        ):
            said = [*self.words[at + 1 : place], self._conjugate(self.words[place])]
            shares_object = self._is_verb(at - 1)  # "studies and teaches physics"
            self._edit(at + 1, place + 1, " ".join(said if shares_object else [self._table.first, *said]).strip())
            return place + 1
        return 0

    def _is_said_of_user(self, place: int) -> bool:
        """Whether a verb behind a comma says one more thing, and is no item of a list: "likes films, plays, books"."""
        behind = self.words[place + 1] if place + 1 < len(self.words) else ""
        return (
            self.words[place : place + 1] != []
            and self.words[place] in self._table.known
            and behind[:1].isalnum()
            and behind not in self._table.joins
        )

    def _word(self, at: int) -> None:
        table, word = self._table, self.words[at]
        following = self.words[at + 1] if at + 1 < len(self.words) else ""
        if "/" in (following, self.words[at - 1]):  # "they/them"
            return
        if word in table.before_nouns and following[:1].isalpha():
            self._edit(at, at + 1, self._capital(at, table.before_nouns[word]))
        elif word in table.words:
            self._edit(at, at + 1, self._capital(at, table.words[word]))

    # subjects and verbs

    def _take_subject(self, at: int, after: int) -> int:
        """Put the first person in the place of a subject, with the verb behind it."""
        if reported := self._report(after):
            self.edits.append((self._spans[at][0], self._spans[reported][0], ""))
            return reported
        table, verb = self._table, self._verb_place(after)
        self._subject = True
        for phrase, new in table.phrases.items():
            if self.matches(after, phrase):
                self._edit(at, after + len(phrase), new)
                return after + len(phrase)
        if not self._is_verb(verb):
            return 0
        if table.first:
            self._edit(at, after, table.first)
        else:  # the verb tells the person
            self.edits.append((self._spans[at][0], self._spans[after][0], ""))
        for between in range(after, verb):
            self._word(between)
        self._edit(verb, verb + 1, self._conjugate(self.words[verb]))
        return verb + 1

    def _report(self, at: int) -> int:
        """Where the words of the user begin, behind "says that"."""
        place = self._verb_place(at)
        if place >= len(self.words) or self.words[place] not in self._table.reports:
            return 0
        place += 1
        while place < len(self.words) and self.words[place] in self._table.that:
            place += 1
        if place < len(self.words) and (
            self.words[place] in self._table.pronouns
            or self.words[place] in self._table.contracted
            or self.words[place] in self._table.before_nouns
            or any(self.matches(place, phrase) for phrase in self.subjects)
        ):
            return place
        return 0

    def _verb_place(self, at: int) -> int:
        for place in range(at, min(at + _MAX_ADVERBS, len(self.words))):
            if self.words[place] not in self._table.adverbs:
                return place
        return at

    def _is_verb(self, at: int) -> bool:
        if at >= len(self.words):
            return False
        table, word = self._table, self.words[at]
        if word in table.verbs or word in table.finite or word in table.known or word in table.reports:
            return True
        ending = next((pair for pair in table.endings if word.endswith(pair[0])), ("", ""))
        return ending[0] != ending[1] or ending[0] in table.past

    def _conjugate(self, word: str) -> str:
        if word in self._table.verbs:
            return self._table.verbs[word]
        if word in self._table.finite:
            return word
        for ending, new in self._table.endings:
            if word.endswith(ending) and len(word) > len(ending) + 1:
                return word[: -len(ending)] + new
        return word

    # edits

    def _edit(self, first: int, after: int, new: str) -> None:
        """Put something in the place of some words."""
        self.edits.append((self._spans[first][0], self._spans[after - 1][1], new))

    def _capital(self, at: int, new: str) -> str:
        return new[:1].upper() + new[1:] if self._first[at] else new
