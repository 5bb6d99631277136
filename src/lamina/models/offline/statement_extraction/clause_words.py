"""What the words of an English clause tell without any weights.

Verbs and nouns that name its type, whoever its subject is: "went with", "prefer", "must", "our goal is". States
that have passed by tomorrow: "I'm in a hurry today". And hearsay: "some guy told me he's from Chile".
"""

import re

_OWNED = r"(?:the|a|an|my|our|their|his|her|this|these|those|all|most|some|both|every|each)"
_NOUNS = r"(?:[\w'\u2019-]+ ){1,3}?"
_SUBJECT = rf"(?:and |but |so |well,? |also,? )?(?:i|we|they|he|she|you|it|everyone|nobody|{_OWNED} {_NOUNS}|{_NOUNS})"
_MANNER = (
    r"(?:really |also |still |always |never |finally |then |both |all |just |eventually |usually |have |has |had )*"
)
_HUMAN = (
    r"me|us|him|them|you|it|my|her|his|their|our|friends?|a friend|some friends|everyone|everybody|family|"
    r"the (?:flow|kids|children|family|boys|girls|twins|others|crowd|guys|dog)|[^\W\d_]+ and [^\W\d_]+ to|"
    r"[^\W\d_]+ to (?:the|a|an|see|visit|buy|get|watch)|[^\W\d_]+ and i"
)
_ASKED = (
    r"to|you|help|some help|your|a hand|advice|some advice|suggestions|ideas|tips|feedback|info|information|it|that|"
    r"this|something|one|more (?:info|information|details|ideas|help|advice|examples|context)|examples?|some|an? (?:"
    r"list|recipe|idea|example|plan|summary|script|name|prompt|story|poem|code|function|way|hand|answer|explanation|table)"
)
_INFERRED = r"be|have been|have|know|see|try|check|consider|look|read|watch|visit|think|say|admit|feel|mean"
_COMPARES = (
    r"(?:feels?|felt|looks?|looked|sounds?|sounded|seems?|seemed|something|anything|more|just|be|is|are|was|were)"
)
_PLURAL = rf"(?:and |but |so )?(?:i |we |they |{_OWNED} {_NOUNS})"
_ONE = rf"(?:and |but |so )?(?:he |she |{_OWNED} {_NOUNS}|[^\W\d_]+ )"
_KEEPING = (
    "keep|stay|remain|support|comply|avoid|respect|follow|maintain|preserve|protect|stick|fit|work (?:on|in|with|for)"
)


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


_AIM = r"(?:goal|objective|aim|target)"
_OWNER = r"(?:the|our|my|his|her|their|[\w-]+['\u2019]s)(?: [\w-]+['\u2019]s)?(?: [\w-]+){0,2}?"
_PURPOSE = r"(?: (?:for|of|this|in|here)(?: [\w'\u2019-]+){1,4}?)?"
_THING = rf"(?:{_OWNED} {_NOUNS}|[^\W\d_]+s )"  # "the form", "guests"
_BOUND = r"(?:must|should|cannot|can not|can['\u2019]t|mustn['\u2019]t)"
_NOT_COMPARED = rf"(?!(?:[\w'\u2019-]+ ){{0,5}}{_COMPARES} like)"

# The first that fits tells the type. `%who` is a subject with what may stand between it and its verb.
_TYPES: tuple[tuple[str, str], ...] = (
    ("decision", r"%who(?:decided (?:to|on|that|against|not)|chose|chosen|selected)\b"),
    ("decision", rf"%who(?:went|gone) with (?!(?:{_HUMAN})\b)"),
    ("goal", rf"{_OWNER} {_AIM}s?{_PURPOSE} (?:is|are)\b"),
    ("goal", r"%who(?:aim|aims) (?:to|for|at)\b"),
    ("goal", rf"%who(?:set|sets) (?:a|the|our|an|my|their) (?:[\w-]+ )?{_AIM} (?:of|to|for)\b"),
    ("constraint", rf"(?:we|i|they|you) need to (?:{_KEEPING})\b"),
    ("constraint", rf"{_THING}needs? to (?!know\b)[a-z]+"),
    ("constraint", rf"(?:you|we|i|they) (?:should|must) (?:never|always|not)\b (?!{_INFERRED})"),
    ("constraint", rf"(?:you|we|they) must (?!{_INFERRED})[a-z]+"),
    ("constraint", rf"{_THING}{_BOUND} (?!have|help|wait)[a-z]+"),
    ("preference", r"%whoprefers?\b"),
    ("preference", rf"%who(?:wants?|needs?) (?!(?:{_ASKED})\b)"),
    ("preference", rf"{_NOT_COMPARED}(?:{_PLURAL}{_MANNER}like|{_ONE}{_MANNER}likes) (?!it|that|this|how|to)[\w-]+"),
)
_PATTERNS = tuple((name, _pattern(text.replace("%who", f"{_SUBJECT} ?{_MANNER}"))) for name, text in _TYPES)
_OPEN = _pattern(
    r"\b(?:if|maybe|perhaps|whether|might|would|could|haven['\u2019]t|hasn['\u2019]t|didn['\u2019]t|don['\u2019]t|"
    r"doesn['\u2019]t|not decided|not sure|once|unless)\b|\?"
)
_NO_NEED = _pattern(r"(?:there is |there's )?no (?:need|want)\b")
_WISHED = _pattern(r"i (?:\w+ )?(?:need|want) (?:a|an|the|some|this)\b")


def is_plain_trigger(clause: str) -> bool:
    """Whether the words alone are enough to keep a clause: what somebody asks for at the moment is no lasting wish."""
    return _WISHED.match(" ".join(clause.split())) is None


def trigger_type(clause: str) -> str | None:
    """The type that the words of an English clause name, if any do."""
    said = " ".join(clause.split())
    if _OPEN.search(said) or _NO_NEED.match(said):
        return None
    return next((name for name, pattern in _PATTERNS if pattern.match(said)), None)


_SAYS = r"(?:says?|said|tells?|told|mentioned|mentions|claims?|claimed|reckons?|thinks?|thought|heard|reckoned|swears?)"
_NOBODY_KNOWN = (
    r"(?:some ?(?:one|body)|any ?(?:one|body)|people|folks|every ?(?:one|body)|"
    r"(?:some|a|this|that|one) (?:random )?"
    r"(?:guy|man|woman|person|lady|girl|boy|kid|dude|bloke|stranger|colleague of a friend)s?)"
)
_HEARSAY = (
    _pattern(rf"(?:[\w'\u2019]+,? ){{0,2}}?{_NOBODY_KNOWN} (?:[\w'\u2019]+ ){{0,4}}?{_SAYS}\b.*\b(?:he|she|they)\b"),
    _pattern(
        r"(?:and |but |so )?(?:rumou?r has it|rumou?rs say|word is|the word is|i(?:['\u2019]ve)? heard a rumou?r)\b"
    ),
    _pattern(rf"(?:let['\u2019]s |just )?(?:suppose|imagine|say|pretend|assume|what if)\b.*\b{_SAYS}\b"),
)


def is_hearsay(clause: str) -> bool:
    """Whether it is what unknown people say, or what somebody might say."""
    said = " ".join(clause.split())
    return any(pattern.match(said) for pattern in _HEARSAY)


_I_AM = r"(?:sorry,? )?(?:i['\u2019]?m|i am|we['\u2019]?re|we are|i feel|we feel|feeling) "
_THIS_DAY = (
    r"(?:today|tonight|this (?:morning|afternoon|evening)|until (?:noon|\d{1,2}(?::\d\d)?(?: ?[ap]m)?|one|two|three|"
    r"four|five|six|seven|eight|nine|ten))"
)
_MOOD = (
    r"(?:(?:a bit|a little|really|so|very|too|quite|just|pretty) )*(?:in a (?:hurry|rush|bad mood|good mood|meeting|"
    r"call)|busy|tired|hungry|thirsty|late|exhausted|stressed|bored|cold|hot|on the (?:train|bus|phone|road|way)|"
    r"at the \w+)"
)
_DOING = (
    r"(?:(?:just|still|now|currently) )?(?:typing|testing|debugging|tearing up|staring|sitting|lying|crying|laughing|"
    r"shaking|yawning|blushing|smiling|scrolling|going to (?:bed|sleep)|off to (?:bed|sleep)|"
    r"heading (?:to bed|out|off|home))"
)
_STATES = (
    _pattern(rf"{_I_AM}(?![\w-]+ing\b)[^,;]{{2,40}}? {_THIS_DAY}[\s.!]*$"),
    _pattern(rf"{_I_AM}(?:(?:working|dialling in|calling) from [\w ]{{2,20}}|running late) {_THIS_DAY}[\s.!]*$"),
    _pattern(rf"{_I_AM}{_DOING}\b(?! (?:for|as)\b)[^,;]*$"),
    _pattern(rf"{_I_AM}{_MOOD} (?:right now|at the moment|just now|now)[\s.!]*$"),
)
_LASTING = re.compile(
    r"\b(?:appointment|interview|exam|deadline|flight|surgery|operation|birthday|meds?|\w*teen|\w*ty|\d+|pregnant|due|off|"
    r"closed|open|seeing|moved|allergic|in [A-Z])\b"
)


def has_passed_soon(clause: str) -> bool:
    """Whether a clause only says how somebody is at the moment."""
    said = " ".join(clause.split())
    return any(state.match(said) for state in _STATES) and _LASTING.search(said.partition(" until ")[0]) is None
