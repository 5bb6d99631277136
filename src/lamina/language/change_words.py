"""Words that say that something changed, for each language that grammars read.

In patterns, `%old` is a phrase for what has ended, `%topic` one for what has a new value, `%any` any phrase, `%stop`
its end.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeWords:
    """How one language says that something changed."""

    ended: tuple[str, ...]
    topics: tuple[str, ...]
    implied: tuple[tuple[str, str], ...]  # what is said, and what it is a new value of
    mine: str
    own: str  # how a statement begins that has the user as its subject
    after: str  # words that end a phrase
    after_verbs: str  # those of them that end what follows a verb: "working on weekends"
    people: str  # whose affairs are their own
    adjectives: str  # of people
    now: str
    adds: str
    denies: str  # negations, which say that something ended and nothing else
    hedges: str  # plans and questions: nothing has changed yet


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
    "set|bumped|pushed back|brought forward|shifted|renamed|doubled|halved|adjusted|corrected"
)
_ROSE = (
    "(?:has |have |was |were |has been |got |been )?(?:changed|moved|switched|postponed|rescheduled|rebooked|raised|"
    "lowered|increased|reduced|extended|updated|renamed|upgraded|downgraded|brought forward|pushed back|shortened) to|"
    "(?:has |have )?(?:went up|gone up|went down|gone down|rose|risen|fell|fallen|dropped|grew|grown|shrank) to|"
    "(?:is|are|will be) now|(?:is|are) from now on|became"
)
_MINE = "my|our|the"

ENGLISH = ChangeWords(
    ended=(
        rf"\b(?:{_MOVED})\b(?: \w+){{0,2}}? from %old",
        r"\b(?:replaced|swapped|traded in|traded|exchanged|substituted|swapped out) %old",
        r"\b(?:instead of|rather than|in place of|in favou?r of dropping) %old",
        rf"\b(?:{_ENDED}) %old",
        r"\b(?:no longer|not)\b %old(?= any ?more)",
        r"\bno longer %old",
        r"\b(?:let|had|got) (?P<old>[^,;.!?]{2,40}?) (?:lapse|expire|go|removed|taken out|cancelled|disconnected)\b",
        rf"^(?:unfortunately,? |sadly,? )?(?!i |we )(?:{_MINE})? ?(?P<old>[^,;.!?]{{2,40}}?),? (?:{_GONE})\b",
        rf"\b(?:i|user|me|we) and (?P<old>[^,;.!?]{{2,30}}?) (?:have )?(?:{_PARTED})\b",
        rf"^(?P<old>[^,;.!?]{{2,30}}?) and (?:i|me|we) (?:have )?(?:{_PARTED})\b",
        rf"^(?P<old>[^\W\d_][\w-]+, (?:{_MINE}) [^,;.!?]{{2,30}}?), (?:{_GONE})\b",
    ),
    topics=(
        rf"\b(?:{_MINE}|a|an) new %topic(?= (?:is|are|was|called|named)\b| ?[,:;=(]|%stop)",
        rf"\b(?:{_SET}) (?:{_MINE}) %topic(?= (?:from %any )?(?:to|as)\b)",
        rf"(?:^|[,;.] |\band |\bbut )(?:{_MINE})? ?%topic(?= (?:{_ROSE})\b)",
        rf"\b(?:{_MOVED}) to (?:a |an |the |using )?%topic%stop",
        r"\b(?:switched|changed) %topic(?= to\b)",
        r"\bi am now (?:in|on|at) (?:a |an |the )?%topic%stop",
        r"(?<=\bis )(?:my|our) (?:new )?%topic(?= now\b)",
    ),
    implied=(
        (r"\bpromoted to\b|\bbecame an? |\bhave become an? ", "job|role|position|work as"),
        (r"\b(?:moved|relocated) to \d", "address|location|live at|live in"),
        (r"\bmarried\b|\bdivorced\b|\bgot engaged\b|\bbroke up\b", "relationship status|engaged to|dating|married to"),
        (r"\bbought (?:a|an|our|my)(?: \w+)? (?:house|flat|apartment|home|condo)\b", "i rent|renting a"),
        (r"\braise to\b", "salary|income|i earn|i make"),
        (r"\bgave birth\b", "i am pregnant"),
        (r"\btransferred to\b", "school|attend|study at"),
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
        "at the moment|henceforth|from today|any ?more|has since|have since"
    ),
    adds="also|too|another|as well|additionally|in addition|besides|second|third|both|plus|on top of that|extra",
    denies="no longer|not|n't|never",
    hedges=(
        "if|would like to|want to|wants to|plan to|plans to|planning to|going to|might|thinking about|thinking of|"
        "considering|considers|hope to|hopes to|will|almost|nearly|could|should"
    ),
)

LANGUAGES: tuple[ChangeWords, ...] = (ENGLISH,)
