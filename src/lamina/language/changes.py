"""What a statement says to have changed: what has ended, what has a new value, and whether it speaks of now.

A statement is in the first person. In the patterns of a language, `%old` is what has ended, `%topic` is
what has a new value, `%any` any phrase, `%stop` the end of one.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from lamina.language.words import STOP_WORDS, stem


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeWords:
    """How one language says that something changed."""

    ended: tuple[str, ...]
    swapped: tuple[str, ...]  # like `ended`, where something else is named instead
    departed: tuple[str, ...]  # like `ended`, of who or what is no longer there for what they did
    passed_over: tuple[str, ...]  # like `ended`, of what else might have been taken
    topics: tuple[str, ...]
    implied: tuple[tuple[str, str], ...]  # what is said, and what it is a new value of
    ruled_out: tuple[tuple[str, str], ...]  # what is said to be so now, and the values that then hold no more
    mine: str
    own: str  # how a statement begins that has the user as its subject
    after: str  # words that end a phrase
    after_verbs: str  # those of them that end what follows a verb: "working on weekends"
    people: str  # whose affairs are their own
    adjectives: str  # of people
    now: str
    adds: str
    denies: str  # negations, which say that something ended and nothing else
    plans: str  # nothing has changed yet, unless a plan is what has changed
    hedges: str  # wishes and conditions
    revises: str  # takes back what was said before
    qualifiers: str  # words before a noun that do not tell one thing from another: "my new gym"
    opposites: tuple[str, ...]  # words of which a preference is for one only


_MOVED = (
    "switched|moved|changed|migrated|went|converted|transferred|upgraded|downgraded|shifted|graduated|progressed|"
    "jumped|swapped|gone|ported|promoted|rolled over"
)
_ENDED = (
    "sold|left|quit|stopped|cancelled|canceled|dropped|finished|ended|lost|gave up(?: on)?|gave away|given up|"
    "given away|got rid of|gotten rid of|broke up with|split up with|split from|separated from|divorced|"
    "resigned from|moved out of|moved away from|retired from|unsubscribed from|uninstalled|abandoned|ditched|"
    "threw away|threw out|donated|withdrew from|dropped out of|checked out of|closed|scrapped|terminated|got over|"
    "outgrew|stepped down as|fired|let go of|broke off|called off|parted with|parted ways with|wrecked|totalled|"
    "reached|achieved|completed|accomplished|recovered from|back from|laid off (?:by|from|at)|fired (?:by|from)|"
    "let go by|cured of|rid of|returned from|opted out of|logged out of|discontinued"
)
_GONE = (
    "died|has died|passed away|has passed away|passed on|is dead|ran away|flew away|was put down|was put to sleep|"
    "had to be put down|was stolen|got stolen|broke down for good|is gone|was cancelled|was canceled|got cancelled|"
    "is over|has ended|ended|fell through|was closed|shut down|went missing"
)
_PARTED = "split up|split|broke up|separated|divorced|got divorced|parted ways|are no longer together"
_SET = (
    "changed|updated|raised|lowered|increased|reduced|cut|extended|moved|postponed|rescheduled|shortened|switched|"
    "migrated|converted|transferred|upgraded|set|bumped|pushed back|brought forward|shifted|renamed|doubled|halved|"
    "adjusted|corrected"
)
_ROSE = (
    "(?:has |have |was |were |has been |got |been )?(?:changed|moved|switched|postponed|rescheduled|rebooked|raised|"
    "lowered|increased|reduced|extended|updated|renamed|upgraded|downgraded|brought forward|pushed(?: back| out)?|"
    "shortened|slipped|delayed|set back|shifted|bumped) to|"
    "(?:has |have )?(?:went up|gone up|went down|gone down|rose|risen|fell|fallen|dropped|grew|grown|shrank) to|"
    "(?:is|are|will be) now|(?:is|are) from now on|became|"
    "(?:has |have )?(?:gone over to|switched over to|changed over to|gone into|entered|advanced to|progressed to)"
)
_WAS = (
    "(?:was|were|got|has been|have been) (?:rescheduled|moved|postponed|delayed|changed|rebooked|renamed|replaced|"
    "swapped)"
)
_MINE = "my|our|the"

_ENDING = (
    "leaving|dropping|quitting|cancelling|canceling|selling|closing|ditching|giving up|moving out of|parting with|"
    "replacing|abandoning|finishing"
)
_LEFT = (
    "retired|left|moved away|moved out|moved on|quit|resigned|stepped down|gave up the ghost|closed|closed down|"
    "shut down|went bust|went downhill|broke|broke down|was sold|got sold|gave out|stopped working"
)
_EATS = r"\b(?:eat|eats|eating) (?:\w+ )??"
_MEAT = "meat|chicken|beef|pork|steak|bacon|ham|lamb|turkey|poultry|burgers"
_PERSON = r"(?:(?:dr|mr|mrs|ms|prof)\.? )?[^,;.!?]{2,30}?"

ENGLISH = ChangeWords(
    ended=(
        rf"\b(?:{_ENDED}) %old",
        rf"\b(?:after|by|since) (?:{_ENDING}) %old",
        rf"\b(?:gave|given|giving) (?:{_MINE})? ?(?P<old>[^,;.!?]{{2,30}}?) (?:a rest|a miss|the boot|the push)\b",
        r"\b(?:no longer|not)\b %old(?= any ?more)",
        r"\bno longer %old",
        r"\b(?:let|had|got) (?P<old>[^,;.!?]{2,40}?) (?:lapse|expire|go|removed|taken out|cancelled|disconnected)\b",
        rf"^(?:unfortunately,? |sadly,? )?(?!i |we )(?:{_MINE})? ?(?P<old>[^,;.!?]{{2,40}}?),? (?:{_GONE})\b",
        rf"\b(?:i|user|me|we) and (?P<old>[^,;.!?]{{2,30}}?) (?:have )?(?:{_PARTED})\b",
        rf"^(?P<old>[^,;.!?]{{2,30}}?) and (?:i|me|we) (?:have )?(?:{_PARTED})\b",
        rf"^(?P<old>[^\W\d_][\w-]+, (?:{_MINE}) [^,;.!?]{{2,30}}?), (?:{_GONE})\b",
    ),
    swapped=(
        rf"\b(?:{_MOVED})\b(?: \w+){{0,2}}? from %old",
        r"\b(?:replaced|swapped|traded in|traded|exchanged|substituted|swapped out) %old",
    ),
    departed=(rf"^(?:{_MINE})? ?(?P<old>{_PERSON}) (?:has |have )?(?:{_LEFT})(?=\s*[,;:.]\s|\s+(?:and|so)\b)",),
    passed_over=(
        r"\b(?:instead of|rather than|in place of|in favou?r of dropping) %old",
        r"\bnow prefer [^,;.!?]{2,30}? (?:over|to) %old",
    ),
    topics=(
        rf"\b(?:{_MINE}|a|an) new %topic(?= (?:is|are|was|called|named)\b| ?[,:;=(]|%stop)",
        rf"\b(?:{_SET}) (?:all (?:of )?|both |most of )?(?:{_MINE}) %topic(?= (?:from %any )?(?:to|as)\b)",
        rf"(?:^|[,;.] |\band |\bbut )(?:{_MINE})? ?%topic(?= (?:{_ROSE})\b)",
        rf"\b(?:{_MOVED}) to (?:a |an |the |using )?%topic%stop",
        r"\b(?:moved|transferred|switched|assigned|upgraded|promoted) (?:me|us) (?:in)?to (?:a |an |the )?%topic%stop",
        r"\b(?:moved|migrated|ported|shifted|transferred|switched) %topic(?= (?:from %any )?(?:over )?to\b)",
        rf"\b(?:put|brought|took|turned) (?:{_MINE}) %topic(?= (?:up|down) to\b)",
        r"\b(?:took over|takes over|stepped in|fills in|filled in) as (?:my|our|the) %topic%stop",
        r"\b(?:rewrote|rebuilt|redid|ported) (?:my|our|the) %topic(?= (?:in|with|on|from|to)\b)",
        rf"(?:^|[,;.] |\band |\bbut )(?:{_MINE})? ?%topic(?= (?:{_WAS})\b)",
        r"\b(?:switched|changed) %topic(?= to\b)",
        r"\bi am now (?:in|on|at) (?:a |an |the )?%topic%stop",
        r"(?<=\bis )(?:my|our) (?:new )?%topic(?= now\b)",
    ),
    implied=(
        (r"\bpromoted to\b|\bbecame an? |\bhave become an? ", "job|role|position|work as"),
        (r"\b(?:moved|relocated) to \d", "address|location|live at|live in"),
        (r"\bmarried\b|\bdivorced\b|\bgot engaged\b|\bbroke up\b", "relationship status|engaged to|dating|married to"),
        (r"\bbought (?:a|an|our|my)(?: \w+)? (?:house|flat|apartment|home|condo)\b", "i rent|renting a"),
        (r"\b(?:settled|gone to live|went to live) in (?!my|the|a|an|well|nicely)\w", "location|live in|address"),
        (r"\braise to\b", "salary|income|i earn|i make"),
        (r"\bgave birth\b", "i am pregnant"),
        (r"\btransferred to\b", "school|attend|study at"),
    ),
    ruled_out=(
        (rf"{_EATS}(?:{_MEAT})\b", "vegetarian|a vegetarian|strictly vegetarian|vegan|a vegan|pescatarian|plant-based"),
        (rf"{_EATS}(?:fish|seafood|salmon|tuna)\b", "vegetarian|a vegetarian|strictly vegetarian|vegan|plant-based"),
        (rf"{_EATS}(?:dairy|cheese|eggs|butter|animal products)\b", "vegan|a vegan|strictly vegan|plant-based"),
        (r"\b(?:am |is )?(?:working|employed) again\b", "unemployed|jobless|retired|out of work|between jobs"),
    ),
    mine="my|our",
    own="i|we|now|no longer|currently|recently|just|finally|sadly|unfortunately",
    after=(
        "and|but|then|because|since|as|so|to|for|with|by|when|after|before|last|this|yesterday|today|recently|in|on|at|"
        "any ?more|now|again|ago|until|while|who|which|that|where|two|three|a|an|i|we|from|instead"
    ),
    after_verbs=(
        "and|but|then|because|since|so|when|after|before|last|this|yesterday|today|recently|any ?more|now|again|ago|"
        "until|while|who|which|that|where|i|we|instead"
    ),
    people=(
        "wife|husband|partner|girlfriend|boyfriend|fianc\u00e9e?|spouse|brother|sister|mother|father|mom|mum|dad|son|"
        "daughter|child|kid|baby|parents|kids|children|sons|daughters|brothers|sisters|boss|manager|colleague|coworker|"
        "teammate|friend|roommate|flatmate|neighbou?r|doctor|therapist|dentist|aunt|uncle|cousin|niece|nephew|"
        "grandmother|grandfather|grandma|grandpa|client|landlord|landlady|teacher|ex|team|company"
    ),
    adjectives="older|younger|best|new|old|little|big|elder|eldest|oldest|youngest|twin|half|close|former",
    now=(
        "right now|by now|from now on|as of now|now|these days|nowadays|instead|since then|lately|going forward|"
        "at the moment|henceforth|from today|any ?more|has since|have since|once again|again"
    ),
    adds="also|too|another|as well|additionally|in addition|besides|second|third|both|plus|on top of that|extra",
    denies="no longer|not|n't|never",
    plans="going to|will|plan to|plans to|planning to|hope to|hopes to",
    hedges=(
        "if|would like to|want to|wants to|might|thinking about|thinking of|considering|considers|almost|nearly|could|"
        "should"
    ),
    revises=(
        r"scratch that|strike that|(?:no|actually),? make (?:that|it)|change of plans?|after all(?! \w)|"
        r"correction(?=[:,])|on second thoughts?|i misspoke|"
        "chang(?:ed|ing) (?:my|our) minds?|i was wrong|we were wrong|my mistake|no,? wait|wait,? no|i take that back"
    ),
    qualifiers="new|old|current|former|previous|next|whole|entire|only|usual|regular|weekly|monthly|daily|own|dear",
    opposites=(
        "dark light",
        "window aisle middle",
        "short long brief detailed",
        "formal informal casual",
        "early late",
        "morning afternoon evening",
        "metric imperial",
        "hot cold iced",
        "digital paper printed",
        "online in-person",
        "phone email chat text",
        "quiet loud",
        "hard soft",
        "dry sweet",
        "tabs spaces",
        "remote hybrid office",
        "manual automatic",
        "electric petrol diesel hybrid",
        "northern southern",
        "red white",
    ),
)

LANGUAGES: tuple[ChangeWords, ...] = (ENGLISH,)

_PLAIN = r"[^\s,;:.!?()'\u2019/@-]+"
_WORD = rf"{_PLAIN}(?:[.,'\u2019:/@-]{_PLAIN})*"  # also an address, a time, a number such as 3.9


# What something is for, behind an object: "pay 40 euros for internet", and not "work for a bank".
_PURPOSE = re.compile(r"(?:[^\s,;.!?]+ ){3,7}?for (?:the |my |our )?(?P<what>[a-z]{3,})(?=\s*[,;.!?]|\s*$| now\b)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What a statement says to have changed."""

    ended: tuple[str, ...] = ()  # phrases for what is no longer so: "the Volvo", "learning Spanish"
    endings: tuple[str, ...] = ()  # the words that say so: "sold the Volvo"
    passed_over: frozenset[str] = frozenset()  # those of them that something was done instead of
    swapped: frozenset[str] = frozenset()  # those of them that something else was taken for
    departed: frozenset[str] = frozenset()  # those of them who are no longer there for what they did
    topics: tuple[str, ...] = ()  # what has a new value: "email address", "the Pro plan"
    ruled_out: frozenset[str] = frozenset()  # values that hold no more: "vegetarian", of somebody who now eats meat
    subject: str = ""  # who did what ended it, if not the user: "my sister"
    now: bool = False  # it says how something is now: "now", "these days"
    revises: bool = False  # it takes back what was said before: "scratch that"
    adds: bool = False  # it says that something is so beside what was so: "also", "another"
    only_ends: bool = False  # it says nothing but that something has ended
    only_denies: bool = False  # it says so with a negation only: "no longer"

    def __bool__(self) -> bool:
        return bool(self.ended or self.topics or self.now or self.revises)


def changes_in(text: str) -> Changes:
    """What a statement in the first person says to have changed."""
    found = [_changes_in(" ".join(text.split()), reader) for reader in _readers()]
    return max(found, key=lambda one: (len(one.ended) + len(one.topics), one.now or one.revises))


def other_subject(text: str) -> str:
    """Whose affairs a statement in the first person tells, if not the user's own: "sister" of "my sister lives in"."""
    found = (reader.other.match(text) for reader in _readers())
    return next((match["who"] for match in found if match), "")


def are_other_things(one: str, other: str) -> bool:
    """Whether two statements are about two things of one kind: "the book club", "the running club"; "for the roof"."""
    purposes = [match["what"] if (match := _PURPOSE.match(text)) else "" for text in (one, other)]
    if all(purposes) and purposes[0] != purposes[1]:
        return True
    return any(_differ_in_kind(reader.thing.match(one), reader.thing.match(other), reader) for reader in _readers())


def _differ_in_kind(one: re.Match[str] | None, other: re.Match[str] | None, reader: "_Reader") -> bool:
    """Whether a noun that both share has another word before it, or another name behind it."""
    if one is None or other is None:
        return False
    first, second = (match["thing"].split() for match in (one, other))
    if first[0].casefold() == second[0].casefold():
        return first[1] != second[1] and first[1].istitle() and second[1].istitle()
    heads = [word.casefold() for word in second]
    for at, word in enumerate(map(str.casefold, first)):
        if at and word in heads[1:] and word not in STOP_WORDS:
            kinds = first[at - 1].casefold(), heads[heads.index(word, 1) - 1]
            plain = not any(kind in STOP_WORDS or reader.qualifier.fullmatch(kind) for kind in kinds)
            return plain and kinds[0] != kinds[1]
    return False


def without_time(text: str) -> str:
    """A statement without the words that say that it is so now."""
    for reader in _readers():
        text = reader.now.sub(" ", text)
    return " ".join(text.split()).strip(" ,;:.")


def are_opposites(one: str, other: str) -> bool:
    """Whether two stems exclude each other in a preference: "dark", "light"."""
    return any(one in group and other in group for group in _opposites())


@cache
def _opposites() -> tuple[frozenset[str], ...]:
    return tuple(frozenset(map(stem, group.split())) for words in LANGUAGES for group in words.opposites)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reader:
    ended: tuple[re.Pattern[str], ...]
    swapped: tuple[re.Pattern[str], ...]
    departed: tuple[re.Pattern[str], ...]
    passed_over: tuple[re.Pattern[str], ...]
    topics: tuple[re.Pattern[str], ...]
    implied: tuple[tuple[re.Pattern[str], str], ...]
    ruled_out: tuple[tuple[re.Pattern[str], str], ...]
    now: re.Pattern[str]
    adds: re.Pattern[str]
    denies: re.Pattern[str]
    plans: re.Pattern[str]
    hedges: re.Pattern[str]
    revises: re.Pattern[str]
    qualifier: re.Pattern[str]
    thing: re.Pattern[str]  # what a statement begins with, as far as it may reach
    own: re.Pattern[str]
    other: re.Pattern[str]


@cache
def _readers() -> tuple[_Reader, ...]:
    return tuple(_reader(words) for words in LANGUAGES)


def _reader(words: ChangeWords) -> _Reader:
    stop = rf"(?=\s*[,;:.!?()](?:\s|$)|\s+(?:{words.after})\b|\s*$)"
    phrase = rf"{_WORD}(?:\s+{_WORD}){{0,6}}?"
    verb_stop = rf"(?=\s*[,;:.!?()](?:\s|$)|\s+(?:{words.after_verbs})\b|\s*$)"
    old = rf"(?P<old>\w+ing\b(?:\s+{_WORD}){{0,5}}?(?={verb_stop})|{phrase}(?={stop}))"
    slots = {"%old": old, "%topic": rf"(?P<topic>{phrase})", "%any": phrase, "%stop": stop}

    def pattern(text: str) -> re.Pattern[str]:
        for name, slot in slots.items():
            text = text.replace(name, slot)
        return re.compile(text, re.IGNORECASE)

    def any_of(text: str) -> re.Pattern[str]:
        return re.compile(rf"\b(?:{text})\b", re.IGNORECASE)

    return _Reader(
        ended=tuple(map(pattern, words.ended)),
        swapped=tuple(map(pattern, words.swapped)),
        departed=tuple(map(pattern, words.departed)),
        passed_over=tuple(map(pattern, words.passed_over)),
        topics=tuple(map(pattern, words.topics)),
        implied=tuple((pattern(said), topic) for said, topic in words.implied),
        ruled_out=tuple((pattern(said), values) for said, values in words.ruled_out),
        now=any_of(words.now),
        adds=any_of(words.adds),
        denies=any_of(words.denies),
        plans=any_of(words.plans),
        hedges=any_of(words.hedges),
        revises=any_of(words.revises),
        qualifier=any_of(words.qualifiers),
        thing=re.compile(
            rf"(?:{words.mine}|the)\s+(?P<thing>[^\W\d_][\w-]*(?:\s+[^\W\d_][\w-]*){{1,3}})", re.IGNORECASE
        ),
        own=re.compile(rf"(?:{words.own})\b|$", re.IGNORECASE),
        other=re.compile(
            rf"(?:{words.mine}) (?:(?:{words.adjectives}) ){{0,2}}(?P<who>{words.people})(?:\b|'s )", re.IGNORECASE
        ),
    )


def _changes_in(text: str, reader: _Reader) -> Changes:
    revises = reader.revises.search(text) is not None
    is_plan = reader.plans.search(text) is not None and not revises
    if is_plan or reader.hedges.search(text) or text.endswith("?"):
        return Changes()
    groups = {
        name: [match for one in patterns for match in one.finditer(text)]
        for name, patterns in (
            ("ended", reader.ended),
            ("swapped", reader.swapped),
            ("departed", reader.departed),
            ("passed_over", reader.passed_over),
        )
    }
    ended = [match for found in groups.values() for match in found]
    topics = [match["topic"] for one in reader.topics for match in one.finditer(text)]
    topics += [topic for one, implied in reader.implied if one.search(text) for topic in implied.split("|")]
    is_now = reader.now.search(text) is not None
    excluded = (
        values for one, values in reader.ruled_out if is_now and not reader.denies.search(text) and one.search(text)
    )
    start = min((match.start() for match in ended if match.start("old") != match.start()), default=0)
    subject = text[:start].strip()
    return Changes(
        ended=tuple(dict.fromkeys(match["old"] for match in ended)),
        endings=tuple(match[0] for match in ended),
        swapped=_olds(groups["swapped"]),
        departed=_olds(groups["departed"]),
        passed_over=_olds(groups["passed_over"]),
        topics=tuple(dict.fromkeys(topics)),
        subject="" if reader.own.match(subject) else subject,
        ruled_out=frozenset(value for values in excluded for value in values.split("|")),
        now=is_now,
        revises=revises,
        adds=reader.adds.search(text) is not None,
        only_ends=len(ended) == 1 and not text[ended[0].end() :].strip(" .!") and not topics,
        only_denies=bool(ended) and all(reader.denies.match(match[0]) for match in ended),
    )


def _olds(matches: Iterable[re.Match[str]]) -> frozenset[str]:
    return frozenset(match["old"] for match in matches)
