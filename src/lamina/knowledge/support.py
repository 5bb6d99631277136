"""Whether the words of a message support what a model made of them: key, value, and whose it is.

A quote that is in the message proves only that something was said. A draft is refused unless its quote has the words
of its value, its sentence says what the key names, of whom the draft says it, and means it. What the offline reader
found as well needs no further proof.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property

from lamina.knowledge import support_cues as cues
from lamina.knowledge.fact_words import normalise_value, plain_text, slot_of
from lamina.language.dates import windows
from lamina.language.numbers import numbers_in, times_in
from lamina.language.sentences import Sentence, sentences
from lamina.language.words import STOP_WORDS, is_unspaced, plain, stem, terms, words
from lamina.protocols.models import FactDraft
from lamina.values.message import Message

_MIN_SHARE = 0.75  # of the terms of a value that its quote must have
_MIN_PREFIX, _PREFIX_SHARE = 4, 0.6  # of two words that are forms of one: teach, teacher
_MIN_FUZZY, _FUZZY = 6, 0.85  # letters, and likeness, of a word that was only misspelt
_NEAR = 1_000  # characters around a quote in which its sentence is looked for
_FRAGMENT = 4  # words of a clause that goes on with the one before
_PERSONAL = frozenset(("identity", "preference", "relation", "health"))
_LASTING = _PERSONAL | {"constraint", "entity", "decision"}
_FILLERS = frozenset(
    map(
        stem,
        """user users year years old age month monthly week weekly day daily approximately around roughly per each
        every currently people person time likes dislikes loves hates prefers enjoys avoids
        wants needs uses has is""".split(),  # noqa: SIM905 - words read best
    )
)
_DISLIKE = re.compile(r"\b(?:dislike|hate|loathe)", re.IGNORECASE)
_DATE = re.compile(r"\b(\d{4})-(\d{2})(?:-(\d{2}))?\b")
_QUOTATION = re.compile(
    r'"[^"\n]{12,}"|\u201c[^\u201d\n]{12,}\u201d|\u00ab[^\u00bb\n]{12,}\u00bb|\u300c[^\u300d\n]{6,}\u300d'
)


def objection(
    draft: FactDraft, message: Message, offline: Sequence[FactDraft] = (), *, replaces: bool = False
) -> str | None:
    """Why a draft must not be believed, or None. `offline`: what the offline reader found in the same message.

    `replaces`: it would take the place of another value; then nothing may be left to guess.
    """
    if any(_agrees(draft, one) for one in offline):
        return None
    if _is_pasted(draft, message):
        return "the words are quoted from someone else"
    said = _Said(draft, message)
    if not said.has_value(strict=replaces):
        return "the quote does not have the words of the value"
    if draft.about is not None and not said.has_about():
        return "the words do not say that it is about this person"
    if any(_contradicts(draft, one) for one in offline):
        return "the offline reader found another value in the same words"
    return None if draft.key is None else said.doubt(replaces=replaces)


def is_same(one: FactDraft, other: FactDraft) -> bool:
    """Whether two drafts say the same of the same words: the same key, or the same value."""
    if one.message_id != other.message_id or one.start >= other.end or other.start >= one.end:
        return False
    if one.holds != other.holds or normalise_value(one.about or "") != normalise_value(other.about or ""):
        return False
    return _slot(one) == _slot(other) or _same_value(one, other)


def _agrees(draft: FactDraft, offline: FactDraft) -> bool:
    """Whether the offline reader found the same; under another key only where any words may have that key."""
    family = _family(draft.key)
    known = family == _family(offline.key) or (family != "name" and family not in cues.KEY_CUES)
    return known and is_same(draft, offline) and _same_value(draft, offline)


def _slot(draft: FactDraft) -> str:
    return slot_of(draft.key, draft.value, draft.about, draft.scope)


def _same_value(one: FactDraft, other: FactDraft) -> bool:
    return normalise_value(one.value) == normalise_value(other.value)


def _contradicts(draft: FactDraft, offline: FactDraft) -> bool:
    """Whether the offline reader found another value of a key that has only one."""
    if _family(draft.key) not in cues.SINGLE or not is_same(draft, offline) or _slot(draft) != _slot(offline):
        return False
    own, other = normalise_value(draft.value), normalise_value(offline.value)
    return own in plain_text(draft.quote) and own not in other and other not in own


def _family(key: str | None) -> str:
    plain_key = normalise_value(key or "")
    return cues.ALSO_KNOWN_AS.get(plain_key, plain_key)


def _is_pasted(draft: FactDraft, message: Message) -> bool:
    """Whether the whole quote stands between quotation marks, or in a quoted or fenced block, of a longer message."""
    text = message.text
    near = _sentence_at(text, draft.start)
    if near is not None and near.kind in {"quote", "code"}:
        return True
    start = max(0, draft.start - _NEAR)
    marked = _QUOTATION.finditer(text, start, min(len(text), draft.end + _NEAR))
    return any(
        found.start() <= draft.start and draft.end <= found.end() and found.end() - found.start() < len(text.strip())
        for found in marked
    )


def _sentence_at(text: str, place: int) -> Sentence | None:
    """The sentence of a text that has a place."""
    first = max(0, place - _NEAR)
    first = first and text.rfind("\n", 0, first) + 1
    near = sentences(text[first : place + _NEAR])
    found = [one for one in near if first + one.start <= place < first + one.end]
    if not found:
        return None
    one = found[0]
    return Sentence(one.text, first + one.start, first + one.end, one.kind)


@dataclass(frozen=True)
class _Said:
    """A draft beside the words that it was made of."""

    draft: FactDraft
    message: Message

    # where it stands

    @cached_property
    def place(self) -> int:
        """Where the value, or the first of its words, stands in the quote."""
        quote, value = self.draft.quote.casefold(), self.draft.value.strip().casefold()
        at = quote.find(value)
        if at >= 0:
            return at
        own = set(terms(self.draft.value))
        for found in re.finditer(r"[^\W_]+", quote):
            if stem(plain(found.group())) in own:
                return found.start()
        return 0

    @cached_property
    def sentence(self) -> tuple[str, int]:
        """The sentence in which the value stands, and where it stands there."""
        place = self.draft.start + self.place
        found = _sentence_at(self.message.text, place)
        if found is None:
            return self.draft.quote, self.place
        text = self.message.text[found.start : max(found.end, self.draft.end)] if self._runs_on(found) else found.text
        return text.replace("\u2019", "'"), place - found.start

    def _runs_on(self, found: Sentence) -> bool:
        return found.end < self.draft.end and "\n" not in self.message.text[found.start : self.draft.end]

    @cached_property
    def clause(self) -> tuple[str, int]:
        """The clause in which the value stands, with the one before where it only goes on with that."""
        text, place = self.sentence
        cuts = [found.span() for found in cues.CLAUSE.finditer(text)]
        start = max((end for _, end in cuts if end <= place), default=0)
        end = min((begin for begin, _ in cuts if begin > place), default=len(text))
        while start and self._goes_on(text[start:end]):
            earlier = [
                (begin, stop) for begin, stop in cuts if stop <= start and text[begin:stop].strip() in {",", "\u3001"}
            ]
            if not earlier or earlier[-1][1] != start:
                break
            start = max((stop for _, stop in cuts if stop <= earlier[-1][0]), default=0)
        return text[start:end], place - start

    @staticmethod
    def _goes_on(clause: str) -> bool:
        short = len(clause.split()) <= _FRAGMENT
        return short and not cues.FIRST_PERSON.search(clause) and not cues.CONTRAST.match(clause.strip())

    # what it has

    def has_value(self, *, strict: bool) -> bool:
        """Whether the quote has the words of the value, or says it in another known form."""
        value, quote = self.draft.value, self.draft.quote
        if plain_text(value) in plain_text(quote):
            return True
        bare = normalise_value(value)
        if self.draft.key is not None and bare in cues.NOTHING | cues.YES:
            return self._answers(bare)
        if any(map(is_unspaced, value)):
            return "".join(words(value)) in "".join(words(quote))
        return self._shares_words(strict=strict)

    def _answers(self, value: str) -> bool:
        """Whether the clause says yes or no to what the key asks."""
        known = {stem(word) for word in words(self.sentence[0])}
        asked = [term for term in terms(self.draft.key or "") if term not in _FILLERS]
        heard = any(_is_form(term, one) for term in asked for one in known)
        return heard and bool(_negations(self.sentence[0])) == (value in cues.NOTHING)

    def _shares_words(self, *, strict: bool) -> bool:
        draft = self.draft
        rest = _DATE.sub(" ", draft.value)
        if rest != draft.value and not self._has_dates():
            return False
        given = numbers_in(draft.quote) | times_in(draft.quote)
        if not numbers_in(rest) <= given | numbers_in(draft.quote.replace(",", "")):
            return False
        said = {stem(word) for word in words(draft.quote)}
        carry = (word for word in dict.fromkeys(words(rest)) if word not in STOP_WORDS and not numbers_in(word))
        own = [stem(word) for word in carry if stem(word) not in _FILLERS]
        loose = not strict and _family(draft.key) != "name"
        found = [one for one in own if one in said or (loose and any(_is_form(one, other) for other in said))]
        return len(found) >= (1.0 if strict else _MIN_SHARE) * len(own) and bool(own or rest != draft.value or given)

    def _has_dates(self) -> bool:
        """Whether the quote speaks of the days that the value has in figures."""
        spoken = windows(self.draft.quote, self.message.created_at)
        days = [(one.start.year, one.start.month, one.start.day) for one in spoken]
        for year, month, day in _DATE.findall(self.draft.value):
            wanted = (int(year), int(month), int(day)) if day else (int(year), int(month))
            if not any(one[: len(wanted)] == wanted for one in days):
                return False
        return True

    def has_about(self) -> bool:
        """Whether the message names the person, and the value is not said of the speaker."""
        about = [term for term in words(self.draft.about or "") if term not in {"my", "the", "user", "s"}]
        known = set(words(f"{self.message.name or ''} {self.message.text}"))
        if not about or not any(word in known or f"{word}'s" in known for word in about):
            return False
        if self.message.name is not None and set(about) & set(words(self.message.name)):
            return True
        text, place = self.sentence
        before = text[:place]
        speaker = max((found.start() for found in cues.SPEAKER.finditer(before)), default=-1)
        named = max((before.casefold().rfind(word) for word in about), default=-1)
        return speaker < 0 or max(named, self._last_other(before)) > speaker or bool(cues.OTHER.search(text[place:]))

    @staticmethod
    def _last_other(text: str) -> int:
        return max((found.start() for found in cues.OTHER.finditer(text)), default=-1)

    # doubts

    def doubt(self, *, replaces: bool) -> str | None:
        """Why the sentence does not say this of this person."""
        return self.doubt_of_key() or self.doubt_of_subject(replaces=replaces) or self.doubt_of_meaning()

    def doubt_of_key(self) -> str | None:
        """Why the sentence does not say what the key names."""
        family = _family(self.draft.key)
        if family == "name":
            return None if self._says_name() else "the words do not say that it is a name"
        cue = cues.KEY_CUES.get(family)
        if self.draft.about is not None and family in {"age", "job", "nationality"}:
            cue = None if cues.OTHER_IS.search(self.sentence[0]) else cue
        text = f"{self.draft.question or ''} {self.sentence[0]}"
        if cue is not None and not cue.search(text) and not set(terms(family)) & set(terms(text)):
            return f"the words do not say that it is the {family}"
        return None

    def _says_name(self) -> bool:
        text, place = self.sentence
        clause = self.clause[0]
        value = re.escape(self.draft.value.strip())
        if self.draft.about is not None:
            about = re.escape(self.draft.about)
            said = cues.NAME_SAID.search(text) or cues.NAMED_SO.search(text)
            return bool(said or re.search(rf"\b{about},? {value}\b", text, re.IGNORECASE))
        if cues.NAME_SAID.search(f"{self.draft.question or ''} {clause}"):
            owner = cues.OTHER.search(text[:place]) or re.search(r"\w's name\b", text[:place])
            return owner is None
        said = re.search(cues.AS_NAME.format(name=f"(?P<name>{value})"), text, re.IGNORECASE)
        if said is None:
            return bool(re.search(cues.NAME_HERE.format(name=value), text, re.IGNORECASE | re.MULTILINE))
        name = said["name"]
        if name[:1].isupper() and not name.isupper():
            return name.casefold() not in cues.NO_NAMES
        return self.draft.value[:1].isupper() and cues.may_be_name(name.casefold())

    def doubt_of_subject(self, *, replaces: bool) -> str | None:
        """Why it is not said of the user."""
        draft = self.draft
        if draft.about is not None or self.message.name is not None:
            return None
        text, place = self.sentence
        other = self._other_subject(text, place)
        if other is not None and not self._is_of_key(other):
            return "it is said of someone else"
        if draft.category not in _PERSONAL or cues.FIRST_PERSON.search(text):
            return None
        if cues.THING.match(text) and not cues.REQUEST.search(text) and _family(draft.key) != "name":
            return "it is not said of the user"
        return "the words do not say that it is so for the user" if replaces and draft.question is None else None

    def _other_subject(self, text: str, place: int) -> str | None:
        """The person whom the value is said of, if that is not the user: the last one named before it."""
        before = text[:place]
        speaker = max((found.start() for found in cues.SPEAKER.finditer(before)), default=-1)
        others = [found for found in cues.OTHER.finditer(before) if found.start() > speaker]
        if others:
            return others[-1].group()
        if speaker < 0 and (thing := self._own_thing(text, place)):
            return thing
        named = cues.NAMED.match(text)
        if named is not None and speaker < 0 and named.start("who") <= place and not self._is_value(named["who"]):
            return named["who"]
        return None

    def _own_thing(self, text: str, place: int) -> str | None:
        """What of the user's the value is said of, where the key is one of persons: our nanny is from Manila."""
        family = _family(self.draft.key)
        found = cues.OWN_THING.match(text)
        if found is None or family not in cues.OF_PERSON or found.end("thing") > place:
            return None
        own = set(words(found["thing"]))
        return None if own & (cues.OF_PERSON[family] | set(words(family))) else found["thing"]

    def _is_value(self, name: str) -> bool:
        return name.casefold() in self.draft.value.casefold()

    def _is_of_key(self, other: str) -> bool:
        """Whether the key itself speaks of that person: wife, sister's birthday."""
        draft = self.draft
        own = {stem(word) for word in words(f"{draft.key or ''} {draft.scope or ''}")}
        if draft.category in {"relation", "entity"} and draft.key not in cues.KEY_CUES:
            return True
        return any(_is_form(stem(word), one) for word in words(other) for one in own)

    def doubt_of_meaning(self) -> str | None:
        """Why the user does not say that it is so now."""
        clause, place = self.clause
        before, after = clause[:place], clause[place:]
        if not self.draft.holds:
            text = self.sentence[0]
            return None if cues.ENDED.search(text) or _negations(text) else "nothing says that it ended"
        if self._is_denied(before, after):
            return "the words say the opposite"
        if self.draft.category not in _LASTING:
            return None
        if self._is_asked(clause):
            return "it is asked, not said"
        if self._is_thought(before):
            return "it is not said to be so, only thought of"
        return "it is said of the past" if self._is_past(before, after) else None

    def _is_thought(self, before: str) -> bool:
        if _family(self.draft.key) in cues.OF_PERSON and cues.INTENDED.search(before):
            return not cues.NAME_SAID.search(before)
        return cues.UNREAL.search(before) is not None and not cues.WISHES.search(before)

    def _is_past(self, before: str, after: str) -> bool:
        past = cues.PAST.search(before) or cues.PAST.search(after)
        return past is not None and _family(self.draft.key) not in {"hometown", "native language", "nationality"}

    def _is_denied(self, before: str, after: str) -> bool:
        draft = self.draft
        bare = normalise_value(draft.value)
        if bare in cues.NOTHING | cues.YES or cues.NEGATION.search(draft.value):
            return False
        if cues.AVOIDS.search(f"{draft.key} {draft.value}"):
            disliked = _DISLIKE.search(f"{draft.key} {draft.value}") and not draft.value.casefold().startswith("no ")
            heard = cues.DISLIKED.search(before + after) or cues.NEGATION.search(before)
            return cues.DENIED_DISLIKE.search(before) is not None or bool(disliked and not heard)
        left = re.search(
            rf"{cues.LEFT.pattern.pattern}(?:\W+(?!for\b|to\b|für\b|por\b|pour\b)\w+){{0,2}}\W*\Z",
            before,
            re.IGNORECASE,
        )
        behind = re.match(r"\W*\w*\W*(?:any ?more|no longer|nicht mehr)\b", after[len(draft.value) :], re.IGNORECASE)
        return bool(left or behind or _negations(before))

    def _is_asked(self, clause: str) -> bool:
        if not self.sentence[0].rstrip("\"' )").endswith(("?", "\uff1f")):
            return False
        if cues.REQUEST.search(self.sentence[0]) and self.draft.category in {"preference", "constraint"}:
            return False
        opening = cues.QUESTION.match(clause.strip())
        return opening is not None or not cues.FIRST_PERSON.search(clause)


def _negations(text: str) -> list[str]:
    """The words of a text that deny what follows."""
    return [
        found.group()
        for found in cues.NEGATION.finditer(text)
        if not cues.NO_NEGATION.match(text[found.end() :].lstrip())
    ]


def _is_form(one: str, other: str) -> bool:
    """Whether two stems are forms of one word, or one is the other misspelt."""
    if one == other:
        return True
    long = max(len(one), len(other))
    common = next(
        (at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), min(len(one), len(other))
    )
    if common >= _MIN_PREFIX and common >= _PREFIX_SHARE * long:
        return True
    alike = min(len(one), len(other)) >= _MIN_FUZZY and abs(len(one) - len(other)) <= 2  # noqa: PLR2004
    return alike and SequenceMatcher(None, one, other).ratio() >= _FUZZY
