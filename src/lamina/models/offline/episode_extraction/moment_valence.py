"""Whether a moment was good or bad: by its kind, its words, curses and emoji."""

import re
from collections.abc import Sequence

from lamina.models.offline.episode_extraction.moment_clauses import line_of
from lamina.models.offline.episode_extraction.moment_cues import Language
from lamina.values.fact import EpisodeKind

_STEP = 0.2  # of one good or bad word
_CURSE = 0.15
_STRESS = 0.1  # of "!!"
_AGAINST = 0.25  # how much a word counts that goes against the kind: "great", told of an outage
_REACH = 3  # words that a negation reaches
_GOOD_SIGNS = re.compile(r"[😀😁😂😃😄😅😊😍🥰😎🤩🥳🎉🎊🙌👏💪✅🏆❤💚🚀✨🍾🍻😌😮]|(?<!\S)(?::-?\)|:-?D|<3|\^\^)(?!\S)")
_BAD_SIGNS = re.compile(r"[😞😟😠😡🤬😢😭😩😫😤😱😖😣🙃💔🤦🤮🤒😷👎]|(?<!\S)(?::-?\(|:'\(|:-?/|D:|;_;)(?!\S)")
_MANY = re.compile(r"!{2,}")


def read_valence(kind: EpisodeKind, text: str, language: Language) -> float:
    """From -1, bad for who tells it, to 1, good."""
    words = line_of(text).split()
    good, bad = _count(words, text, language)
    own = language.tones[kind]
    if own < 0:  # what is good about an issue is mostly meant the other way
        tone = -_STEP * bad + _STEP * _AGAINST * good - _CURSE * _curses(words, language)
    elif own >= _STEP:
        tone = _STEP * good - _STEP * _AGAINST * bad
    else:
        tone = _STEP * (good - bad) - _CURSE * (_curses(words, language) if not good else 0)
    stress = _STRESS * bool(_MANY.search(text)) * (1 if own + tone >= 0 else -1)
    return round(min(max(own + tone + stress, -1.0), 1.0), 2)


def _count(words: Sequence[str], text: str, language: Language) -> tuple[int, int]:
    """How many good and bad words and emoji there are; a negation shortly before a word turns it."""
    good, bad = len(_GOOD_SIGNS.findall(text)), len(_BAD_SIGNS.findall(text))
    for at, word in enumerate(words):
        sign = (word in language.sets["good"]) - (word in language.sets["bad"])
        if sign:
            denied = any(earlier in language.sets["negations"] for earlier in words[max(0, at - _REACH) : at])
            good, bad = (good + 1, bad) if (sign > 0) != denied else (good, bad + 1)
    return good, bad


def _curses(words: Sequence[str], language: Language) -> int:
    return sum(word in language.sets["curses"] for word in words)
