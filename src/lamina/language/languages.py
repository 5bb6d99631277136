"""Which language a text is in, as far as its letters and commonest words tell."""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping

from lamina.language.words import WORD

COMMON_WORDS: Mapping[str, frozenset[str]] = {
    language: frozenset(words.split())
    for language, words in {
        "en": "the and of to is in that it was for with you are this have not they be but from at by were had what",
        "de": "der die das und ist nicht ich ein eine mit zu den von auf für sich auch dem wir sie hat wird sind wie",
        "es": "el los las y que es en una por con para su como más pero sus está son muy del lo al yo hay tiene",
        "fr": "le les et est une des que pour pas dans ce qui sur avec il elle nous vous mais au sont ne plus du je",
        "it": "il che è di una per non con sono gli della del ma anche come più nel questo si ha dei alla lo io",
        "pt": "o os que é em uma para com não por mais como mas ao está são dos das ele ela seu sua foi tem eu",
        "nl": "de het een en van is dat niet op te met voor zijn ik er maar om ook aan die heeft wij naar bij",
    }.items()
}
_SPEAKERS: Mapping[str, tuple[str, ...]] = {
    word: tuple(language for language, common in COMMON_WORDS.items() if word in common)
    for word in frozenset[str]().union(*COMMON_WORDS.values())
}
_MIN_WORDS = 12  # of a text, to tell its language
_MIN_LETTERS = 20
_MIN_SHARE = 0.06  # of the words are common ones of the language
_MIN_LEAD = 1.5  # times as many as of the next language
_MIN_PRESENCE = (
    0.15  # share of the letters, or of the words that the main language has, that makes one at home in a text
)
_MIN_MAIN_SHARE = 0.6  # of the letters, for a script to be the main one
_HAN = frozenset(("CJK", "HIRAGANA", "KATAKANA"))
# The letters of each language that is written in a script of its own.
_LETTERS: Mapping[str, str] = {
    "ja": "\u3041-\u3096\u30a1-\u30fa",
    "zh": "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff",
    "ko": "\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3",
    "ru": "\u0400-\u04ff",
    "ar": "\u0620-\u064a\u066e-\u06d3",
    "hi": "\u0904-\u0939\u0958-\u0961",
}
SCRIPT_LANGUAGES = tuple(_LETTERS)
_OTHER_SCRIPT = re.compile(f"[{''.join(_LETTERS.values())}]")
_LETTER = re.compile("|".join(f"([{letters}])" for letters in _LETTERS.values()))
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]")
# Letters of other languages of these scripts: Ukrainian, Belarusian, Serbian, Kazakh; Persian, Urdu; Marathi.
_NOT = re.compile("[ґєіїўђјљњћџәғқңөұүһ]|[پچژگکیٹڈڑےۓۀ]|[ळ]", re.IGNORECASE)
_KANA_SHARE = 0.1  # of the letters of a text in Chinese characters make it Japanese
_LETTERS_A_CHARACTER = {"ja": 3, "zh": 3, "ko": 2}  # as long in Latin letters as one of theirs


def scripts(text: str) -> dict[str, float]:
    """The scripts of a text by their share of its letters; Chinese characters and kana are one."""
    found = Counter[str]()
    for letter, times in Counter(text).items():
        if letter.isalpha():
            name = unicodedata.name(letter, "?").split(maxsplit=1)[0].split("-")[0]
            found["CJK" if name in _HAN else name] += times
    letters = sum(found.values())
    return {script: times / letters for script, times in found.items()} if letters >= _MIN_LETTERS else {}


def languages(text: str) -> dict[str, float]:
    """For each known language, the share of the words that are common ones of it."""
    words = Counter(WORD.findall(text.casefold()))
    number = words.total()
    if number < _MIN_WORDS:
        return {}
    hits = Counter[str]()
    for word in words.keys() & _SPEAKERS.keys():
        for language in _SPEAKERS[word]:
            hits[language] += words[word]
    return {language: count / number for language, count in hits.items()}


def language_of(text: str) -> str | None:
    """The one language that a text is clearly in."""
    ranked = sorted(languages(text).items(), key=lambda one: -one[1])
    if not ranked or ranked[0][1] < _MIN_SHARE:
        return None
    if len(ranked) > 1 and ranked[0][1] < _MIN_LEAD * ranked[1][1]:
        return None
    return ranked[0][0]


def script_language(text: str) -> str | None:
    """The language that the script of a text tells, however short it is; None if it is mostly in Latin letters."""
    if text.isascii() or _OTHER_SCRIPT.search(text) is None:
        return None
    found = Counter(SCRIPT_LANGUAGES[match.lastindex - 1] for match in _LETTER.finditer(text) if match.lastindex)
    if found["ja"] >= _KANA_SHARE * (found["ja"] + found["zh"]):
        found["ja"] += found.pop("zh", 0)
    language, letters = max(found.items(), key=lambda one: one[1] * _LETTERS_A_CHARACTER.get(one[0], 1))
    if letters * _LETTERS_A_CHARACTER.get(language, 1) < len(_LATIN.findall(text)) or _NOT.search(text):
        return None
    return language


def is_foreign(text: str, given: str) -> bool:
    """Whether a text is in a script or language that what was given hardly has; False where it is unsure."""
    own, known = scripts(text), scripts(given)
    main = max(own, key=lambda script: own[script], default=None)
    if main is not None and known and own[main] >= _MIN_MAIN_SHARE and known.get(main, 0.0) < _MIN_PRESENCE:
        return True
    language, spoken = language_of(text), languages(given)
    if language is None or not spoken or max(spoken.values()) < _MIN_SHARE:
        return False
    if spoken.get(language, 0.0) * _MIN_LEAD >= max(spoken.values()):
        return False
    return not any(language_of(line) == language for line in given.splitlines())
