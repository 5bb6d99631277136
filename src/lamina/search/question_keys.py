"""Questions about oneself: "where do I live?" asks for what is known under `location`, though no word is the same."""

import re
from collections.abc import Mapping, Sequence

from lamina.language.words import STOP_WORDS, words
from lamina.search.question_forms import ASKING, questions_of

_DO = r"(?:do|did|am|are|was|were|can|could|have|should)"

# Ways to ask, and the keys of the facts that answer, as the extractors name them; `dog` also stands for `dog Rex`.
_ASKED: Mapping[str, tuple[str, ...]] = {
    r"who (?:am|was) i|my (?:full |first |last |given |family |real )?names?|(?:what )?(?:am i|i am|i'm) called"
    r"|(?:what )?do (?:\w+ ){1,2}call me|wer bin ich|wie hei(?:ß|ss)e ich|mein name|qui[eé]n soy|c[oó]mo me llamo": (
        "name", "full name", "nickname",
    ),
    rf"where {_DO} (?:i|we) (?:come )?from|where {_DO} (?:i|we) (?:grow up|raised|born)|my (?:home ?town|birthplace)"
    r"|woher komme ich|de d[oó]nde soy": ("hometown", "nationality", "birthplace"),
    rf"where(?:abouts)? {_DO} (?:i|we)(?: (?:live|living|based|staying|located|reside|at home))?"
    r"|where(?:'s| is| are) my (?:home|house|flat|apartment|place)"
    rf"|(?:city|town|country|village|place|state|region) {_DO} (?:i|we) (?:live|living|based|reside|in)(?: in)?"
    r"|my (?:home |postal |current )?(?:address|city|residence|location)"
    r"|wo wohnen? (?:ich|wir)|wo lebe ich|d[oó]nde vivo": ("location", "address", "city"),
    r"what do i do for (?:a living|work|money)|(?:what )?(?:kind of |sort of )?(?:work|job) do i (?:do|have)"
    r"|what do i work as|(?:how|what) do i earn my (?:living|money)|what am i by (?:profession|trade)"
    r"|my (?:current )?(?:job|job title|profession|occupation|trade|career|work)"
    r"|was arbeite ich|mein beruf|a qu[eé] me dedico": ("job", "occupation", "profession", "employer"),
    rf"(?:who|whom|where|which company|what company|which firm) {_DO} i work(?:ing)?(?: for| at)?|employs? me"
    r"|my (?:current )?(?:employer|workplace|firm)|wo arbeite ich|d[oó]nde trabajo": ("employer", "job", "company"),
    r"how old am i|my age|wie alt bin ich|cu[aá]ntos a[nñ]os tengo": ("age", "birthday"),
    r"when was i born|when(?:'s| is) my birthday|my (?:birth ?day|birth ?date|date of birth)|when do i turn \w+"
    r"|wann habe ich geburtstag|cu[aá]ndo es mi cumplea[nñ]os": ("birthday", "age"),
    r"my (?:mother tongue|first language|native (?:language|tongue))": ("native language",),
    rf"(?:which|what) languages? {_DO} i (?:speak|know|fluent in)": ("speaks", "native language"),
    r"(?:programming|coding) languages? (?:do|can) i (?:use|like|prefer|know|work (?:in|with))"
    r"|what do i (?:code|program) in|my (?:favou?rite |preferred )?programming language": (
        "language", "programming language",
    ),
    r"(?:am i|are we) (?:married|single|divorced|widowed|engaged)|who am i (?:married to|dating|engaged to|with)"
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
_SAID_SO = (
    STOP_WORDS | ASKING | {"currently", "now", "actually", "again", "name", "called", "know", "exactly", "nowadays"}
)
_OTHERS = frozenset(("he", "him", "his", "she", "her", "hers", "they", "them", "their", "theirs", "your", "yours"))
_LONGEST = 160  # characters
_NAME = 2  # characters of a name at the least
_THEY = (("does i", "do i"), ("is i", "am i"), ("has i", "have i"), ("the user", "i"))


def sought(text: str, own: Sequence[str] = ()) -> tuple[str, ...]:
    """The keys of facts that a question about oneself asks for, or about the user by one of their `own` names.

    () if it asks for anything more: "where do I live?" does not, "where do I live when I am in Rome?" does.
    """
    asked = questions_of(text[-2 * _LONGEST :]).lower().replace("\u2019", "'")
    if len(asked) > _LONGEST or not _OTHERS.isdisjoint(words(asked)):
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
            if all(word.removesuffix("'s") in _SAID_SO or word in _SAID_SO for word in words(rest)):
                return keys
    return ()


def _in_first_person(asked: str, own: Sequence[str]) -> str:
    """What is asked about someone by name, as they would ask it."""
    for name in (*map(str.lower, own), "the user"):
        if name in asked and len(name) >= _NAME and name not in _SAID_SO:
            said = re.escape(name)
            asked = re.sub(rf"\b{said}\b", "i", re.sub(rf"\b{said}'s\b", "my", asked))
    for theirs, ours in _THEY:
        asked = asked.replace(theirs, ours)
    return asked
