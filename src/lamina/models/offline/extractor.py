"""Finds what users say of themselves, word for word, with patterns: few and sure rather than many."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lamina.models.offline.sentences import Sentence, sentences
from lamina.models.offline.statements import is_question
from lamina.models.offline.words import tokens_of
from lamina.ports import FactDraft
from lamina.types import Message

LONGEST_QUOTE = 240
_SHORTEST_QUOTE = 2  # words
_MOST_CHARACTERS = 20_000  # of a message; what comes behind is pasted rather than said


@dataclass(frozen=True, slots=True)
class _Rule:
    category: str
    pattern: re.Pattern[str]
    confidence: float
    importance: float


def _rule(category: str, pattern: str, confidence: float, importance: float) -> _Rule:
    return _Rule(category, re.compile(pattern, re.IGNORECASE), confidence, importance)


# Where a clause may begin, so that "a woman I work with" is not taken for "I work with".
_CLAUSE = (
    r"(?:^|[,;:\u2013—-] ?|\b(?:and|but|because|since|so|also|though|when|then|now|yesterday|recently|currently|"
    r"actually|hi|hey|hello|well|that)\s+)"
)
_I = rf"{_CLAUSE}i"
_WE = rf"{_CLAUSE}(?:i|we)"
_I_AM = rf"{_I}(?:'m| am)"
_I_HAVE = rf"{_I}(?:'ve| have)"
_NAME = r"(?-i:[A-Z][\w'-]+)"
_PERSON = (
    r"\bmy (?:\w+ )?(?:wife|husband|partner|girlfriend|boyfriend|fianc[eé]e?|son|daughter|mother|mom|mum|father|dad|"
    r"sister|brother|dog|cat|boss|manager|grandmother|grandfather|grandma|grandpa)"
)
_AILMENT = r"(?:allergy|intolerance|asthma|diabetes|dyslexia|adhd|epilepsy|disability)"
_DIET = r"(?:allergic|intolerant|vegetarian|vegan|diabetic|celiac|coeliac|colou?r[- ]blind|pregnant)"
_REPLIES = r"(?:answers?|repl(?:y|ies)|respon[ds]\w*|explanations?)"
_TASKS = rf"(?:me|my|{_REPLIES}|use|write|format|explain|show|give|include|add|keep|speak|call)"
_TRADE = (
    r"(?:\w+(?:er|or|ist|ian|ant|ent|man|woman|ess|eer|ect|yst)|nurse|coach|chef|cook|dad|mom|mum|parent|judge|pilot|"
    r"vet|ceo|cto)"
)
_NO_TRADE = r"(?!(?:bit|little|lot|big fan|huge fan|fan|few|mess|wreck|beginner|member|customer|user|supporter)\b)"
_TO_DO = (
    r"(?:become|learn|move|start|open|write|build|buy|retire|run a|launch|lose|study|finish|improve|visit|travel|"
    r"get (?:a|into|better|my))"
)
_FAMILY = r"(?:kids?|children|sons?|daughters?|dogs?|cats?|siblings?|sisters?|brothers?|pets?)"
_TURN = (
    r"(?:moved (?:to|from|in with)|got (?:married|engaged|divorced|promoted|hired|laid off|a (?:new )?job)|grew up|"
    r"quit my|lost my job|bought (?:a|my first) (?:house|home|flat|apartment|car)|switched (?:to|from)|retired)"
)
_ONGOING = (
    r"(?:lived|worked|played|studied|been (?:married|living|working (?:as|at|for)|teaching|vegan|vegetarian|sober))"
)

# The first rule that matches names the category.
_RULES = (
    _rule(
        "identity",
        rf"\bmy (?:full |first |last )?name(?:'s| is)\b|^(?:you can |please )?call me {_NAME}",
        0.95,
        0.95,
    ),
    _rule("identity", rf"^(?:hi|hey|hello)?[,!]? ?i'?(?:m| am) {_NAME}(?: {_NAME})?(?:[.,!]|$)", 0.85, 0.9),
    _rule(
        "identity",
        r"\bmy (?:pronouns|birthday|nationality|native language|email|time ?zone)\b.*\b(?:is|are)\b",
        0.9,
        0.8,
    ),
    _rule("constraint", rf"{_I_AM} (?:\w+ )?{_DIET}\b", 0.95, 0.95),
    _rule("constraint", rf"{_I_HAVE} (?:a |an )?(?:\w+ )?{_AILMENT}\b", 0.9, 0.9),
    _rule(
        "constraint",
        rf"{_I} (?:can'?t|cannot|don't|do not|never) (?:eat|drink|drive|fly|work (?:on|after|before))\b",
        0.8,
        0.75,
    ),
    _rule("constraint", rf"\b(?:my|our) (?:\w+ )?(?:budget|deadline|limit) is\b|{_I} only have [$€£]?\d", 0.85, 0.8),
    _rule("constraint", rf"{_WE} (?:have to|must|need to) (?:finish|submit|deliver|ship|hand in) .*\bby\b", 0.75, 0.7),
    _rule(
        "instruction",
        rf"^(?:please,? )?(?:always|never|from now on,?|in (?:the )?future,?) (?!give up).*\b{_TASKS}\b",
        0.85,
        0.8,
    ),
    _rule("instruction", rf"^(?:please )?(?:keep|make) (?:your |the |all )?{_REPLIES} \w+", 0.85, 0.8),
    _rule("instruction", rf"\b(?:please|always) (?:answer|reply|respond) (?:to me )?(?:only )?in {_NAME}", 0.8, 0.75),
    _rule(
        "decision",
        rf"{_WE}(?:'ve| have)? (?:finally |just )?(?:decided|chose|agreed (?:to|on)|settled on|opted)\b",
        0.85,
        0.75,
    ),
    _rule(
        "decision",
        rf"{_WE}(?:'ll| will|'re going to) (?:go|stick) with\b|\bi(?:'ve)? made up my mind\b",
        0.8,
        0.7,
    ),
    _rule(
        "preference",
        rf"{_WE} (?:\w+ly |much |still |also )?(?:prefer|dislike|hate|love|enjoy|adore|avoid) \w+",
        0.85,
        0.65,
    ),
    _rule(
        "preference",
        rf"\bmy (?:all[- ]time )?(?:favou?rite|preferred)\b.*\b(?:is|are)\b|{_I} can'?t stand \w+",
        0.85,
        0.65,
    ),
    _rule(
        "preference",
        rf"{_I} (?:don't|do not|really|also) like \w+|{_I} like \w+|{_I_AM} (?:a )?(?:big |huge )?fan of\b",
        0.75,
        0.6,
    ),
    _rule(
        "goal", r"\bmy (?:\w+ )?(?:goal|dream|ambition|aim|objective|target|resolution) (?:is|for \w+ is)\b", 0.85, 0.75
    ),
    _rule("goal", rf"{_I_AM} (?:training|saving(?: up)?|preparing|studying) (?:for|to)\b", 0.75, 0.65),
    _rule("goal", rf"{_I} (?:want|plan|intend|hope|aim) to {_TO_DO}\b", 0.75, 0.65),
    _rule("identity", rf"{_I_AM} (?:originally )?from {_NAME}|{_I_AM} \d{{1,3}} ?(?:years old\b|[.,!]|$)", 0.9, 0.85),
    _rule("identity", rf"{_I} (?:live|reside) (?:in|near|with)\b|{_I_AM} based in\b|{_I} was born\b", 0.9, 0.85),
    _rule("identity", rf"{_I_AM} (?:married|divorced|engaged|retired|bilingual|deaf|blind|left-handed)\b", 0.85, 0.75),
    _rule("identity", rf"{_I_AM} (?:currently |also )?(?:an?|the) {_NO_TRADE}(?:[\w-]+ ){{0,3}}{_TRADE}\b", 0.85, 0.85),
    _rule(
        "biography",
        rf"{_I} (?:work|worked|teach|taught|study|studied|graduated|volunteer) (?:as|at|for|in|from)\b",
        0.85,
        0.7,
    ),
    _rule(
        "biography",
        rf"{_PERSON}(?:'s)? (?:name is|is (?:called|named|an? )|was born|works|lives)\b|{_PERSON},? {_NAME}",
        0.8,
        0.7,
    ),
    _rule(
        "biography",
        rf"{_WE}(?: have|'ve got| have got| adopted) (?:an? |two |three |four |\d+ )(?:\w+ )?{_FAMILY}\b",
        0.85,
        0.7,
    ),
    _rule("biography", rf"{_WE} (?:just |recently |finally )?{_TURN}\b", 0.8, 0.7),
    _rule("biography", rf"{_I_HAVE} {_ONGOING}\b.*\b(?:for|since|in)\b", 0.8, 0.65),
)

# Nothing with one of these is sure: questions to oneself, wishes, the words of others.
_UNSURE = re.compile(
    r"\b(?:if (?:i|we|you)|would|could|might|(?:i|we|you|it) may|maybe|perhaps|possibly|probably|suppose|imagine|"
    r"pretend|let's say|hypothetically|what if|as if|wish|unless|whether|i guess|not sure|i think i|i feel like|"
    r"should i|act as|role ?play|supposedly|according to|translate|example|quote|sentence|for instance|"
    r"(?:he|she|they|who|people|someone|everyone|you|it|mom|dad) (?:said|says|told|claims?|thinks?|asked|wrote)|"
    r"(?:said|says|told|claims?) (?:that )?i|i(?:'d| had) (?:love|like|prefer|hate|rather))\b",
    re.IGNORECASE,
)
_DENIED = re.compile(r"\b(?:not true|isn't true|didn't say|never said|just kidding|jk|joking)\b", re.IGNORECASE)
_PASSING = re.compile(
    r"\bi(?:'m| am) (?:so |very |really |a bit |pretty |feeling |just |still |currently )*"
    r"(?:tired|hungry|bored|busy|sorry|happy|sad|glad|ok|okay|fine|good|confused|stuck|excited|ready|back|here|done|"
    r"working on|trying|looking|going|wondering|sure|afraid|late|sick|not)\b"
    r"|\b(?:right now|at the moment|today|tonight|this (?:morning|afternoon|evening)|yesterday|later)\b",
    re.IGNORECASE,
)
_SECRET = re.compile(
    r"(?:\d[ -]?){13,19}\b|\b\d{3}-\d{2}-\d{4}\b"
    r"|\b(?:password|passwort|passcode|pass ?phrase|pin(?: code)?|cvv|secret|api[ _-]?key|access[ _-]?key|private key|"
    r"token|credentials?|iban|ssn|social security)\b"
    r"|\b(?:sk|pk|ghp|gho|xox[bap]|akia|eyj)[-_a-z0-9]{12,}"
    r"|\b(?=[a-z0-9+/_-]{0,80}\d)(?=[a-z0-9+/_-]{0,80}[a-z])[a-z0-9+/_-]{28,}",
    re.IGNORECASE,
)
_VAGUE = re.compile(r"\b(?:it|its|it's|this|that|that's|them|those|these|you|your|how|here|when)\b", re.IGNORECASE)
_LABELLED = re.compile(r"[A-Z][\w -]{0,40}: ")  # the line of a speaker in a pasted talk
_QUOTED = re.compile(r"^[\"“'\u2018«>]|[\"“][^\"”]*\b(?:I|my)\b[^\"”]*[\"”]")
_DESPITE_TIME = frozenset(("identity", "decision", "biography", "constraint"))


class OfflineExtractor:
    """Finds durable things users state of themselves in the first person; when in doubt, nothing."""

    name = "offline-verbatim-1"

    async def extract(self, messages: Sequence[Message]) -> Sequence[FactDraft]:
        return [draft for message in messages if message.role == "user" for draft in facts_in(message)]


def facts_in(message: Message) -> list[FactDraft]:
    """The facts of one message in order; every quote is a piece of its text."""
    found = []
    for sentence in sentences(message.text[:_MOST_CHARACTERS], longest=LONGEST_QUOTE * 4):
        rule = _matched(sentence)
        if rule:
            found.append(
                FactDraft(
                    message_id=message.id,
                    category=rule.category,
                    quote=sentence.text,
                    start=sentence.start,
                    end=sentence.end,
                    confidence=rule.confidence,
                    importance=rule.importance,
                )
            )
    return found


def _matched(sentence: Sentence) -> _Rule | None:
    text = sentence.text.replace("\u2019", "'")
    if sentence.kind in {"code", "quote", "heading"} or len(text) > LONGEST_QUOTE or not _plain(text):
        return None
    for rule in _RULES:
        if rule.pattern.search(text):
            return rule if _lasts(rule, text) else None
    return None


def _plain(text: str) -> bool:
    """Whether it is a statement of the writer's own, sure and not secret."""
    tokens = tokens_of(text)
    if len(tokens) < _SHORTEST_QUOTE or "?" in text or is_question(text, tokens):
        return False
    if _LABELLED.match(text) or text.count('"') % 2:
        return False
    return not any(pattern.search(text) for pattern in (_UNSURE, _DENIED, _SECRET, _QUOTED))


def _lasts(rule: _Rule, text: str) -> bool:
    """Whether the fact holds beyond the moment, and says of what."""
    if rule.category == "preference" and _VAGUE.search(text):
        return False
    passing = _PASSING.search(text)
    if passing is None:
        return True
    return rule.category in _DESPITE_TIME and not passing.group().lower().startswith("i")
