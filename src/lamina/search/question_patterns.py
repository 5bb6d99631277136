"""Patterns of questions: whose words, which time, one thing or many, help, and which facts about oneself."""

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from lamina.language.words import STOP_WORDS, words

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

# A question about an earlier conversation. German, Spanish and French have their commonest forms.
ASKS_BACK = re.compile(
    r"\b(?:did|have|had) (?:we|i|you)(?: and (?:i|you))?\b[^.?!]{0,30}\b(?:discuss(?:ed)?|talk(?:ed)?|say|said|tell|"
    r"told|mention(?:ed)?|decided?|concluded?|agreed?|speak|spoken|chat(?:ted)?|cover(?:ed)?|suggest(?:ed)?|recommend(?:ed)?|"
    r"advi[cs]ed?|give|given|figured? out|settled?)\b"
    r"|\bwe (?:discussed|talked|spoke|decided|agreed|concluded|covered|chatted|figured)\b"
    r"|\byou (?:said|told|suggested|recommended|mentioned|advised|gave)\b|\bremind me\b"
    r"|\b(?:last|previous|earlier|our|past) (?:time|talk|chat|conversation|session|discussion|exchange)s?\b"
    r"|\b(?:haben|hatten) wir\b|\bhast du\b[^.?!]{0,60}\bgesagt\b|\bhablamos\b|\bdijimos\b|\bdijiste\b"
    r"|\b(?:avons|avions)-nous\b|\bon a (?:dit|parl\u00e9|d\u00e9cid\u00e9)\b|\bas-tu dit\b",
    re.IGNORECASE,
)

_SENTENCE = re.compile(
    r"(?<=[.?!])(?<!\b[A-Z]\.)(?<!\bSt\.)(?<!\bDr\.)(?<!\bMr\.)(?<!\bMs\.)(?<!\bMrs\.)(?<!\bvs\.)\s+|\n+"
)


_SHORT = 2  # sentences


def questions_of(text: str) -> str:
    """The sentences with a question mark; else all of a short text, the end of a long one."""
    sentences = [part for part in map(str.strip, _SENTENCE.split(text)) if part]
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


_DID = r"\b(?:was|were|did|had)\b[^.?!]"
_PAST = re.compile(
    r"(?<!\bam )(?<!\bis )(?<!\bare )(?<!\bget )(?<!\bgot )\bused to\b|\bdid\b[^.?!]{1,30}\buse to\b"
    r"|\b(?:previous(?:ly)?|former(?:ly)?|back then|in the past|in those days)\b"
    rf"|{_DID}{{0,60}}\b(?:original(?:ly)?|initial(?:ly)?|at first|earlier|first planned|first set|until then)\b"
    rf"|{_DID}{{2,80}}\bbefore\b(?=\W*$|\W+(?:that|this|now|the change|the move)\b|\W+[A-Z])"
    rf"|{_DID}{{1,40}}\b(?:my|our|his|her|their|['\u2019]s) (?:old|ex)\b"
    r"|\b(?:damals|fr[uü]her|vorher|anteriormente|auparavant)\b",
)
_OVER = re.compile(r"\b(?:did|was|were|had|hatte|war|wurde|fue|era|tuve)\b", re.IGNORECASE)


def tense_of(text: str) -> Literal["present", "past"] | None:
    """Whether what holds now is asked for, or what held before it; None for what happened once."""
    asked = questions_of(text)
    if _PAST.search(asked[:1].lower() + asked[1:]):
        return "past"
    return None if _OVER.search(asked) else "present"


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
_CLAUSE = 600  # characters of one sentence that are looked at
_LISTED = re.compile(r"[,:]\s*(?P<all>[^:?]*?\w,?\s+or\s+[^:?,]+)\??\s*$", re.IGNORECASE)  # which first, A or B?
_OR = re.compile(r"\s*,?\s+or\s+|\s*,\s+", re.IGNORECASE)


def seeks_many(text: str) -> bool:
    """Whether the answer needs several passages."""
    asked = questions_of(text)
    if _MANY.search(asked) is not None:
        return True
    match = _LISTED.search(asked[-_CLAUSE:])
    alternatives = _OR.split(match["all"].strip()) if match else ()
    return sum(bool(part) and part.lower() not in {"not", "no"} for part in alternatives) > 1


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


# Questions about oneself: "where do I live?" asks for what is known under `location`, though no word is the same.

_DO = r"(?:do|did|am|are|was|were|can|could|have|should)"

_WHICH = r"(?: that| which| where| at which| in which| for which)?"
_I_HAVE = r"(?:i(?:'ve| have)?|have i|did i)(?: ever)?"

# Ways to ask, and the keys of the facts that answer, as the extractors name them; `dog` also stands for `dog Rex`.
_ASKED: Mapping[str, tuple[str, ...]] = {
    r"who (?:am|was) i|my (?:full |first |last |given |family |real )?names?|(?:what )?(?:am i|i am|i'm) called"
    r"|(?:what )?do (?:\w+ ){1,2}call me|wer bin ich|wie hei(?:ß|ss)e ich|mein name|qui[eé]n soy|c[oó]mo me llamo": (
        "name", "full name", "nickname",
    ),
    rf"where {_DO} (?:i|we) (?:come )?from|where {_DO} (?:i|we) (?:grow up|raised|born)|my (?:home ?town|birthplace)"
    r"|woher komme ich|de d[oó]nde soy": ("hometown", "nationality", "birthplace"),
    rf"where(?:abouts)? {_DO} (?:i|we)(?: (?:lived?|living|based|staying|located|reside|at home))?"
    r"|where(?:'s| is| are) my (?:home|house|flat|apartment|place)"
    rf"|(?:city|town|country|village|place|state|region) {_DO} (?:i|we) (?:live|living|based|reside|in)(?: in)?"
    r"|my (?:home |postal |current )?(?:address|city|residence|location)"
    rf"|(?:places|cities|towns|countries|villages){_WHICH} {_I_HAVE} (?:lived?|stayed|resided|been living)(?: in| at)?"
    r"|wo wohnen? (?:ich|wir)|wo lebe ich|d[oó]nde vivo": ("location", "address", "city"),
    r"what do i do for (?:a living|work|money)|(?:what )?(?:kind of |sort of )?(?:work|job) do i (?:do|have)"
    r"|what do i work as|(?:how|what) do i earn my (?:living|money)|what am i by (?:profession|trade)"
    r"|my (?:current )?(?:job|job title|profession|occupation|trade|career|work)"
    r"|was arbeite ich|mein beruf|a qu[eé] me dedico": ("job", "occupation", "profession", "employer"),
    rf"(?:who|whom|where|which company|what company|which firm) {_DO} i work(?:ing|ed)?(?: for| at)?"
    r"|employ(?:s|ed)? me"
    rf"|(?:places|companies|firms|employers|jobs){_WHICH} {_I_HAVE} (?:worked?|had|been employed)(?: at| for| in)?"
    r"|my (?:current |old |former |previous |past )?(?:employers?|workplaces?|firms?)"
    r"|wo arbeite ich|d[oó]nde trabajo": ("employer", "job", "company"),
    r"how old am i|my age|wie alt bin ich|cu[aá]ntos a[nñ]os tengo": ("age", "birthday"),
    r"when was i born|when(?:'s| is) my birthday|my (?:birth ?day|birth ?date|date of birth)|when do i turn \w+"
    r"|wann habe ich geburtstag|cu[aá]ndo es mi cumplea[nñ]os": ("birthday", "age"),
    r"my (?:mother tongue|first language|native (?:language|tongue))": ("native language",),
    rf"(?:which|what) languages? {_DO} i (?:speak|know|fluent in)": ("speaks", "native language"),
    r"(?:programming|coding) languages? (?:do|can) i (?:use|like|prefer|know|work (?:in|with))"
    r"|what do i (?:code|program) in|my (?:favou?rite |preferred )?programming language": (
        "language", "programming language",
    ),
    r"(?:am i|are we) (?:married|single|divorced|widowed|engaged)"
    r"|who (?:am|was) i (?:married to|dating|seeing|engaged to|with)|who (?:do|did) i date"
    r"|my (?:spouse|partner|better half|significant other)|who do i live with|my (?:marital|relationship) status": (
        "wife", "husband", "partner", "girlfriend", "boyfriend", "fiancé", "fiancée", "relationship status",
    ),
    r"(?:have|how many|my) (?:\w+ )?(?:kids|children)(?: do i have)?": ("son", "daughter", "children"),
    r"(?:have|my) (?:\w+ )?(?:siblings|brothers|sisters)(?: or (?:sisters|brothers))?": ("brother", "sister"),
    r"my parents": ("mother", "father"),
    r"(?:have|own|keep|my) (?:\w+ )?(?:pets?|animals?)(?: called| named)?": ("dog", "cat", "pet"),
    r"allergic(?: to)?|allerg(?:y|ies)(?: do i have)?|can't i eat|mustn't i eat": ("allergy",),
    r"what (?:do|can|may|don't|can't) i (?:not )?eat|my diet|dietary \w+|am i (?:a )?(?:vegan|vegetarian)"
    r"|do i eat meat": ("diet", "eats"),
    r"(?:illness|disease|(?:medical|health) (?:conditions?|problems?|issues?)|chronic \w+)(?: do i have)?"
    r"|am i (?:ill|sick|healthy|diabetic|asthmatic)": ("health", "disability"),
    r"what (?:do|did) i study|my (?:major|studies|field of study|degree)": ("field of study", "degree"),
    r"where (?:do|did) i (?:study|go to (?:school|university|college))"
    r"|(?:school|university|college) (?:do|did) i (?:go to|attend)|my (?:school|university|college)": ("school",),
    r"my pronouns|refer to me": ("pronouns",),
    r"my (?:religion|faith)|(?:religion|faith) (?:am|do) i\b": ("religion",),
    r"my (?:nationality|citizenship)|passport (?:do|am) i (?:hold|have)|am i a citizen of": ("nationality",),
    r"my (?:boss|manager|supervisor)|do i report to": ("boss", "manager"),
    r"my time ?zone|time ?zone am i in": ("time zone",),
    r"my hobb(?:y|ies)": ("hobby", "hobbies"),
}  # fmt: skip
_WAYS = tuple((re.compile(rf"\b(?:{ways})(?!\w)"), keys) for ways, keys in _ASKED.items())
_NAMED = re.compile(r"\b(?:names? of my (?P<of>[\w -]+)|my (?P<my>[\w -]+?)(?:(?:'s|s') names?| called| named))(?!\w)")
_WHOSE = {"mum": "mother", "mom": "mother", "dad": "father", "grandpa": "grandfather", "grandma": "grandmother"}
_MORE = frozenset(("currently", "now", "actually", "again", "name", "called", "know", "exactly", "nowadays"))
_LISTING = frozenset(("list", "all", "every", "ever", "before"))
_ADDS_NOTHING = STOP_WORDS | ASKING | _MORE | _LISTING
_OTHERS = frozenset(("he", "him", "his", "she", "her", "hers", "they", "them", "their", "theirs", "your", "yours"))
_MAX_LENGTH = 160  # characters
_MIN_NAME = 2  # characters
_THEY = (("does i", "do i"), ("is i", "am i"), ("has i", "have i"), ("the user", "i"))


def fact_keys(text: str, own: Sequence[str] = ()) -> tuple[str, ...]:
    """The keys of facts that a question about oneself asks for, or about the user by one of their `own` names.

    () if it asks for anything more: "where do I live?" does not, "where do I live when I am in Rome?" does.
    """
    asked = questions_of(text[-2 * _MAX_LENGTH :]).lower().replace("\u2019", "'")
    if len(asked) > _MAX_LENGTH or not _OTHERS.isdisjoint(words(asked)):
        return ()
    asked = _in_first_person(asked, own)
    if named := _NAMED.search(asked):
        whose = (named["of"] or named["my"]).strip()
        return (_WHOSE.get(whose, whose), *_keys_of(f"my {whose}"))
    return _keys_of(asked)


def _keys_of(asked: str) -> tuple[str, ...]:
    for way, keys in _WAYS:
        if match := way.search(asked):
            rest = f"{asked[: match.start()]} {asked[match.end() :]}"
            if all(word.removesuffix("'s") in _ADDS_NOTHING or word in _ADDS_NOTHING for word in words(rest)):
                return keys
    return ()


def _in_first_person(asked: str, own: Sequence[str]) -> str:
    """What is asked about someone by name, as they would ask it."""
    for name in (*map(str.lower, own), "the user"):
        if name in asked and len(name) >= _MIN_NAME and name not in _ADDS_NOTHING:
            escaped = re.escape(name)
            asked = re.sub(rf"\b{escaped}\b", "i", re.sub(rf"\b{escaped}'s\b", "my", asked))
    for theirs, ours in _THEY:
        asked = asked.replace(theirs, ours)
    return asked
