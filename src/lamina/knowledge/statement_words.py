"""How a statement that was cut out of a sentence reads on its own: `wants to run`, `promised Ana the keys`."""

import re
from functools import cache

_WANT = (
    r"(?:want|wants|wanted|(?:['\u2019]d|would)\s+(?:like|love)|hope|hoping|try|trying|aim|aiming|intend|going"
    r"|plan|planning|(?:goal|dream|plan)\s+is)"
)
_USE = "drive|ride|rent|keep|breed|raise|run|manage|operate|use|tend|own|play|co-own"
_BEFORE = {  # what stands before the cut in its sentence -> what to say for it
    r"promised\s+to": "promised to",
    r"(decided|agreed|chose|opted)\s+not\s+to": "{} not to",
    r"(decided|agreed|chose|opted)\s+to": "{} to",
    r"remind\s+me\s+to": "wants to be reminded to",
    r"(?:do\s+not|don['\u2019]t)\s+(?:let\s+me\s+)?forget\s+to": "must not forget to",
    r"promised": "promised",
    r"(?:need|have|has|got)\s+to": "has to",
    rf"{_WANT}\s+to": "wants to",
    r"(?:have|has|['\u2019]ve|got|own|bought)\s+(an|a)": "has {}",
    r"(?:we|i)(?:['\u2019]ll|\s+will|\s+shall)": "will",
    rf"(?:we|i)\s+({_USE})\s+(an|a|the)": "{}s {}",
    rf"(?:we|i)\s+({_USE})": "{}s",
    r"(?:my|our)\s+([\w-]+)\s*(?:['\u2019]s|\s+is)\s+(an|a)": "{} is {}",
}
_OPENING = (
    r"(?:(?:ok(?:ay)?|k|oh(?:\s+dear)?|hm+|um+|btw|by the way|anyway|lol)\b[\s,.:;!\u2013-]+"
    r"|(?:well|right|so|also|one thing)[,.:;!]\s+|right\s+so\s+)+(?:so\s+)?"
)
_AGREEING = r"(?:yeah|yep|yup|yes)\b[\s,.:;!\u2013-]+(?:please\b[\s,.]*(?:(?:and|but)\s+)?)?(?:so\s+)?"
_AM = r"am\b"


@cache
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


def statement_line(value: str, quote: str, *, answers: bool) -> str:
    """A value without a key as a statement; `answers` says that it stands with the question that it answers."""
    at = quote.casefold().find(value.casefold())
    before = quote[:at] if at > 0 else ""
    for cut, words in _BEFORE.items() if before else ():
        if found := _pattern(rf"\b{cut}\s*$").search(before):
            return f"{words.format(*found.groups())} {value}"
    if before and (found := _pattern(_AM).match(value)):
        return f"is{value[found.end() :]}"
    for opening in (_OPENING, _OPENING) if answers else (_OPENING, _AGREEING, _OPENING):
        if (found := _pattern(opening).match(value)) and value[found.end() :].strip():
            value = value[found.end() :]
    return value
