"""Forms of questions: the words and patterns by which a question says what it wants."""

import re
from typing import Literal

ASKING = frozenset(
    """what's who's where's when's how's whose whats many much please hi hello hey thanks thank ok okay yes
    remind reminded tell told telling mention mentioned mentions conversation conversations chat chats chatted
    remember remembered recall recalled previous previously earlier said say says saying discuss discussed discussion
    discussing talk talked talking ask asked asking suggest suggested recommend recommended ever
    between during wondering
    we've we're we'd we'll they're they've he's she's there's here's let's doesn't haven't hasn't hadn't wasn't
    weren't aren't couldn't wouldn't shouldn't i'd you'd you'll
    wer wie wann warum wo que quien cuando donde cuanto cuantos""".split()  # noqa: SIM905 - words read best
)

_SENTENCE = re.compile(
    r"(?<=[.?!])(?<!\b[A-Z]\.)(?<!\bSt\.)(?<!\bDr\.)(?<!\bMr\.)(?<!\bMs\.)(?<!\bMrs\.)(?<!\bvs\.)\s+|\n+"
)


_SHORT = 2  # sentences


def sentences_of(text: str) -> list[str]:
    return [part for part in map(str.strip, _SENTENCE.split(text)) if part]


def questions_of(text: str) -> str:
    """The sentences with a question mark; else all of a short text, the end of a long one."""
    sentences = sentences_of(text)
    if "?" in text:
        return " ".join(part for part in sentences if "?" in part)
    return text if len(sentences) <= _SHORT else sentences[-1]


_SAID = (
    "said|told|mentioned|recommended|suggested|provided|gave|listed|shared|explained|described|advised|proposed|wrote"
    "|showed|sent|asked|promised|quoted|named|pointed|talked|spoke|referred|planned|drafted|compiled|outlined"
)
_SAY = (
    "say|tell|mention|recommend|suggest|provide|give|list|share|explain|describe|advise|propose|write|show|send|ask"
    "|promise|talk|think"
)
_BY_THE_WAY = (
    r"(?:(?:had|have|just|also|previously|earlier|already|first|last|originally|once|even|kindly|'ve|d|ve)\s+)*"
)
_ASSISTANT = re.compile(
    rf"\byou(?:['\u2019](?:ve|d))?\s+{_BY_THE_WAY}(?:{_SAID}|were\s+(?:telling|saying|recommending|suggesting))\b"
    rf"|\b(?:did|had)\s+you\s+{_BY_THE_WAY}(?:{_SAY}|{_SAID}|come up)\b"
    r"|\byour\s+(?:\w+\s+)?(?:answer|recommendation|suggestion|advice|response|reply|explanation|proposal|message)s?\b",
    re.IGNORECASE,
)
_USER = re.compile(
    rf"\bI(?:['\u2019](?:ve|d))?\s+{_BY_THE_WAY}(?:{_SAID})\b|\b(?:did|had|have)\s+I\s+(?:ever\s+)?{_BY_THE_WAY}"
    rf"(?:{_SAY}|{_SAID}|bring up|brought up)\b|\bI\s+brought\s+up\b",
    re.IGNORECASE,
)
_MINE = re.compile(
    r"\b(?:my|mine|myself|I|I['\u2019](?:m|ve|d|ll)|am i)\b"
    r"|(?<!remind )(?<!tell )(?<!give )(?<!show )(?<!help )(?<!let )(?<!send )(?<!ask )(?<!for )\bme\b",
    re.IGNORECASE,
)


def speaker(text: str) -> Literal["user", "assistant"] | None:
    """Whose words are asked for, or else whose life."""
    if _ASSISTANT.search(text):
        return "assistant"
    return "user" if _USER.search(text) or _MINE.search(text) else None


_STRETCH = (
    r"(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|few|couple|several|week|month|year|weekend|night|day"
    r"|evening|summer|winter|spring|fall|autumn|(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april"
    r"|may|june|july|august|september|october|november|december|christmas|thanksgiving|halloween|easter|name|will"
    r"|minute|hours?|century|decade|season|semester)"
)
_FIRST = re.compile(
    r"\b(?:earliest|initial|initially|original|originally|at the start|in the beginning|to begin with|oldest)\b"
    r"|\bfirst\b(?![-\s]+(?:name|aid|class|person|of all|responder|lady|floor|half|quarter|thing in|\d+|two"
    r"|three|four|five|six|ten|few))",
    re.IGNORECASE,
)
_LAST = re.compile(
    r"\b(?:latest|newest|most recent|most recently|currently|current|nowadays|these days|right now|as of now|at present"
    r"|at the moment|by now|until now|than now|to now)\b"
    rf"|(?<!\bI )(?<!\bwe )\b(?:am|is|are|do|does|have|has)\b[^.?!]{{0,60}}(?<!for )\bnow\b"
    rf"|\blast\b(?![-\s]+{_STRETCH}\b)",
    re.IGNORECASE,
)


def order_of(text: str) -> Literal["first", "last"] | None:
    """Whether the first or the last of several is asked for; a question from first to last wants both."""
    asked = questions_of(text)
    first, last = _FIRST.search(asked), _LAST.search(asked)
    if bool(first) == bool(last):
        return None
    return "first" if first else "last"


_VERB = r"(?:did|do|does|was|were|is|are|am|will|have|has|had|can|could|should|would|['\u2019]s)"
_TIME = re.compile(
    rf"(?:^|[.?!,;:]\s*|\b(?:and|or|so)\s+)when(?:\s+and\s+where|\s+exactly)?\s*{_VERB}\b"
    r"|\b(?:know|remember|remind me|tell me|recall|since|until|by|say|exactly|sure)\s+when\b|\bwhen\?"
    r"|\bhow\s+(?:long|often|frequently|recently|soon|late|early|many\s+(?:more\s+)?(?:days|weeks|months|years|hours"
    r"|minutes|nights|times\s+(?:a|per)))\b"
    r"|\b(?:what|which)(?:['\u2019]s|\s+(?:is|was|were|are))?\s+(?:the\s+)?(?:exact\s+)?"
    r"(?:dates?|days?|time|year|month|week|weekday|deadline|duration)\b(?!\s+of\s+(?!the\s+week|year))"
    r"|\bat what (?:time|point)\b|\b(?:since )?wann\b|\bwie lange\b|\bcu[aá]ndo\b|\bcu[aá]nto tiempo\b",
    re.IGNORECASE,
)


def seeks_time(text: str) -> bool:
    """Whether the answer is a time or a length of time."""
    return _TIME.search(questions_of(text)) is not None


_MANY = re.compile(
    r"\b(?:how many|how much (?:more|less|old|earli|lat|fast|long|cheap)\w*|in total|total|altogether|combined|overall"
    r"|list|all|every|each|both|different|various|several|so far|throughout|across|what are|what were|who are"
    r"|who were|compare[ds]?|comparison|versus|vs|between|order (?:of|in which)|in order|chronological\w*|summary"
    r"|summari[sz]e|overview|walk me through|how (?:have|has) \S+(?: \S+){0,6} (?:evolved|changed|developed|progressed)"
    r"|(?:what|which) (?:types|kinds|sorts|things|places)|wie viele|cu[aá]nt[oa]s)\b"
    rf"|\b(?:what|which)\s+(?:\w+\s+){{0,3}}?(?:\w+[^\Ws]s|people|children|men|women)\s+{_VERB}\b",
    re.IGNORECASE,
)


def seeks_many(text: str) -> bool:
    """Whether the answer needs several passages."""
    asked = questions_of(text)
    return _MANY.search(asked) is not None or bool(_alternatives(asked[-_CLAUSE:]))


_MAX_PARTS = 6
_CLAUSE = 600  # characters of one sentence that are looked at
_JOINED = re.compile(
    r",?\s+and\s+(?=(?:what|when|where|how|who|which|why|(?:did|do|does|was|were|have|has)\s+(?:i|you|he|she|we|they))\b)"
    r"|,?\s+and then\s+|;\s+",
    re.IGNORECASE,
)
_LISTED = re.compile(r"[,:]\s*(?P<all>[^:?]*?\w,?\s+or\s+[^:?,]+)\??\s*$", re.IGNORECASE)
_OR = re.compile(r"\s*,?\s+or\s+|\s*,\s+", re.IGNORECASE)
_BETWEEN = re.compile(
    r"\bbetween\s+(?P<one>[^?]+?)\s+and\s+(?P<other>(?:the|my|when|i|a|an|his|her|our|your)\s[^?]+)", re.IGNORECASE
)
_VERSUS = re.compile(r"^(?P<one>[^?]+?),?\s+(?:compared (?:to|with)|versus|vs\.?)\s+(?P<other>[^?]+)", re.IGNORECASE)


def parts_of(text: str) -> tuple[str, ...]:
    """The several questions of a text, or else the alternatives that one compares; () if it is one question."""
    sentences = sentences_of(text)
    asked = [part for part in sentences if part.endswith("?")]
    pieces = asked if len(asked) > 1 else sentences
    if len(pieces) > 1:
        return tuple(dict.fromkeys(pieces[-_MAX_PARTS:]))
    whole = pieces[0][-_CLAUSE:] if pieces else ""
    found = _alternatives(whole) or _compared(whole)
    if not found:
        found = tuple(part.strip(" ?") for part in _JOINED.split(whole) if part.strip(" ?"))
    return found if len(found) > 1 else ()


def _alternatives(text: str) -> tuple[str, ...]:
    """A and B of `which came first, A or B?`."""
    match = _LISTED.search(text)
    if not match:
        return ()
    found = tuple(part for part in _OR.split(match["all"].strip()) if part and part.lower() not in {"not", "no"})
    return found[:_MAX_PARTS] if len(found) > 1 else ()


def _compared(text: str) -> tuple[str, ...]:
    """`between A and B`, `A compared to B`."""
    match = _BETWEEN.search(text) or _VERSUS.search(text)
    return (match["one"], match["other"].rstrip("? ")) if match else ()


_OPENS = re.compile(
    r"^\W*(?:(?:ok|okay|yes|no|sure|thanks|hm+|right|great)\b\W*)?(?:and|but|or|also|then|what about|how about"
    r"|what else|anything else|which one|that one|this one|the (?:other|first|second|third|last|latter|former) one"
    r"|what if|how so|how come|why not|same|und|y|was ist mit|qu[eé] tal)\b",
    re.IGNORECASE,
)
_WHY = re.compile(r"^\W*(?:why|so|how|really|where|who|when|what)\b", re.IGNORECASE)
_POINTS = re.compile(
    r"\b(?:it|its|that|this|those|these|they|them|their|he|she|him|his|her|one|ones|there)\b", re.IGNORECASE
)
_FEW = 3


def follows_up(text: str, content: int, names: int) -> bool:
    """Whether a question with so many content terms and names leans on what was said before."""
    if not text.strip():
        return False
    if content + names == 0:
        return True
    if _OPENS.search(text):
        return content + names <= _FEW
    return names == 0 and content <= 1 and (_POINTS.search(text) is not None or bool(_WHY.match(text) and content == 0))


_HELP = re.compile(
    r"\A\s*(?:(?:can|could|would|will) you\b|(?:please|help|suggest|recommend|show|explain|give|write|create|plan)\b)"
    r"|\btell me (?:how|about)\b|\b(?:how (?:do|can|should|would|could|to)|what (?:should|would|could|can)"
    r"|any (?:tips|advice|ideas|suggestions|recommendations)|should i|do you (?:have|think|recommend)"
    r"|i'?m (?:looking|trying|thinking|planning)|i want|i need|suggest|recommend)\b",
    re.IGNORECASE,
)
_OF_BEFORE = re.compile(
    r"\b(?:did|was|were|had|have (?:i|we|you)|has|ago|previous|earlier|said|told|mentioned|last|yesterday|remind"
    r"|remember)\b",
    re.IGNORECASE,
)


def seeks_help(form: str) -> bool:
    """Whether it asks for help now, so that what the user always wants matters, and not for what was."""
    return _HELP.search(form) is not None and _OF_BEFORE.search(form) is None
