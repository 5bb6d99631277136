"""What form of answer a question wants: one or all of many, and over which talks; and what is left as its subject."""

import re

from lamina.language.words import WORD

_MINE = r"(?:(?:of )?(?:my|our|these|those) )"
_TALKS = (
    r"(?:(?:recent|past|previous|earlier|last|different|many|several) )*(?:conversations?|chats?|discussions?|talks)"
)
_SENT = r"(?:(?:recent|past|previous|earlier|last|different) )*(?:sessions?|messages|requests|questions)"
_ACROSS = (
    rf"\b(?:throughout|across|over|during|in|from|based on) (?:all )?{_MINE}(?:{_TALKS}|{_SENT})\b"
    rf"|\b(?:throughout|across) (?:all )?(?:the )?(?:{_TALKS}|{_SENT})\b"
)
_ORDER = (
    r"\b(?:the |in (?:what|which) )?order (?:in which|of when)\b"
    r"|\bin (?:chronological |what |which |the right )?order\b"
)
_RAISED = r"\b(?:I|we)(?:['\u2019]ve| have| had)? (?:first )?(?:brought up|raised|touched on|went over)\b"
_SUMMARY = (
    r"\b(?:(?:an?|the) )?(?:(?:clear|comprehensive|complete|quick|brief|short|detailed|full|concise|general) )?"
    r"(?:summary|overview|recap|run-?down) of\b|\b(?:summari[sz]e|recap)\b"
)
_MANNER = (
    r"\b(?:can|could|would|will) you (?:please )?(?:list|give me|provide(?: me with)?|outline|go over)\b"
    r"|\b(?:(?:can|could|would|will) you )?(?:please )?walk me through\b"
)
_ONLY = r"\b(?:mention|name|list|give|include) only\b[^.?!]*"
_KINDS = r"\b(?:different |various |several )?(?:aspects|topics|types|kinds|sorts) (?:of|related to|involving)\b"
_TIME = r"\b(?:over time|so far|along the way|in total|altogether)\b"

_FORM = re.compile(
    rf"{_ONLY}|{_MANNER}|{_ACROSS}|{_ORDER}|{_RAISED}|{_SUMMARY}|{_KINDS}|{_TIME}",
    re.IGNORECASE,
)
_LOOKS_BACK = re.compile(
    rf"{_ACROSS}|{_RAISED}"
    r"|\b(?:summary|overview|recap|summari[sz]e)\b[^.?!]*\b(?:how|so far|over time|(?:I|we)(?:['\u2019]ve| have))\b"
    r"|\bhow (?:have|has|did) (?:my|our|I|we)\b[^.?!]*\b(?:evolved?|developed?|progress(?:ed)?|changed?)\b",
    re.IGNORECASE,
)
# What somebody has done by now: where they have been, what they have read.
_BY_NOW = re.compile(
    r"\b(?:what|which|where|who|whom)\b(?: [\w+'\u2019-]+){0,4} (?:has|have)\b|\b(?:what|where|who)['\u2019]ve\b",
    re.IGNORECASE,
)


def asks_by_now(text: str) -> bool:
    """Whether a question asks for all that somebody has done by now, as 'Where has Ida been?' does."""
    return _BY_NOW.search(text) is not None


def looks_back(text: str) -> bool:
    """Whether a question asks for what came up over several talks: its order, its course, a summary."""
    return _LOOKS_BACK.search(text) is not None


def subject_of(text: str) -> str:
    """A question without what it says of the form of its answer: 'list the order in which I brought up'."""
    subject = _FORM.sub(" ", text)
    return subject if WORD.search(subject) else text
