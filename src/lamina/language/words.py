"""Words of a text, for matching: the same for every store."""

import re
import unicodedata
from functools import lru_cache

from lamina.language.unicode import normalise

# Scripts written without spaces.
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
# Vowel signs are no word characters to `re`, but words must not break at them.
_SIGNS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0900-\u0963\u0966-\u0dff"
WORD = re.compile(rf"[{UNSPACED}]+|[^\W_{UNSPACED}](?:[^\W{UNSPACED}]|[{_SIGNS}])*(?:['\u2019][^\W_{UNSPACED}]+)*")
_MAX_RUN = 2_000  # characters of an unspaced run that are looked at
_RUN = re.compile(f"[{UNSPACED}]")
_ASCII = str.maketrans({chr(code): " " for code in range(128) if not chr(code).isalnum() and chr(code) != "'"})

STOP_WORDS = frozenset(
    """a about above after again all also am an and any are as at be because been before being but by can could did do
    does doing don down for from further had has have having he her here hers him his how i if in into is it its itself
    just let me more most my no nor not now of off on once only or other our out over own same she should so some such
    than that the their them then there these they this those through to too under until up us very was we were what
    when where which while who whom why will with would you your yours
    i'm i've i'd i'll you're you've it's that's don't didn't can't won't isn't""".split()  # noqa: SIM905 - words read best
)


def words(text: str) -> list[str]:
    """Lower-case words without accents; scripts written without spaces fall into characters."""
    if text.isascii():
        return [word for word in map(_bare, text.lower().translate(_ASCII).split()) if word]
    found: list[str] = []
    for word in WORD.findall(plain(text).replace("_", " ")):
        if is_unspaced(word):
            found.extend(word)
        else:
            found.append(word.replace("\u2019", "'"))
    return found


def _bare(word: str) -> str:
    return word.strip("'") if "'" in word else word


def is_unspaced(word: str) -> bool:
    """Whether the word is of a script written without spaces."""
    return _RUN.match(word) is not None


def terms(text: str) -> list[str]:
    """Stemmed words that carry meaning, in order, with repetitions."""
    if text.isascii():
        return [term for term in map(_TERMS.__getitem__, text.lower().translate(_ASCII).split()) if term]
    return [term for term in map(_TERMS.__getitem__, words(text)) if term]


class _Terms(dict[str, str]):
    """Words to terms, remembered; a stop word is ''. Plain lookups make this several times faster than a call."""

    _MAX_CACHED = 100_000

    def __missing__(self, word: str) -> str:
        if len(self) >= self._MAX_CACHED:
            self.clear()
        bare = _bare(word)
        term = self[word] = "" if bare in STOP_WORDS else stem(bare)
        return term


_TERMS = _Terms()


def query_terms(text: str, limit: int = 32) -> list[str]:
    """The distinct terms of a query; its stop words if it has nothing else."""
    found = list(dict.fromkeys(terms(text))) or list(dict.fromkeys(words(text)))
    return found[:limit]


def plain(text: str) -> str:
    """Without case and accents."""
    if text.isascii():
        return text.lower()
    decomposed = normalise("NFKD", text.casefold())
    return normalise("NFC", "".join(c for c in decomposed if not unicodedata.combining(c)))


_SUFFIXES = (
    ("'s", ""), ("sses", "ss"), ("ies", "y"), ("ied", "y"), ("ingly", ""), ("ings", ""), ("ing", ""), ("edly", ""),
    ("ed", ""), ("es", "e"), ("ly", ""), ("s", ""),
)  # fmt: skip
_IRREGULAR = {"used": "use", "uses": "use", "using": "use"}
_MIN_STEM = 3


@lru_cache(maxsize=32_768)
def stem(word: str) -> str:
    """A lower-case word without its commonest English endings; other words as they are.

    Versions, ids, codes and amounts are no English words: with a digit, only the possessive goes.
    """
    if not word.isascii() or not word[:1].isalpha():
        return word
    if not word.isalpha() and any(map(str.isdigit, word)):
        return word.removesuffix("'s")
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    for suffix, rest in _SUFFIXES:
        if word.endswith(suffix) and not word.endswith(("ss", "us")):
            base = word[: -len(suffix)] + rest
            if len(base) >= _MIN_STEM:
                return _normalise_stem(base)
    return _normalise_stem(word)


def _normalise_stem(base: str) -> str:
    """`plann` and `plan`, `move` and `mov` become one."""
    if len(base) > _MIN_STEM and base[-1] == base[-2] and base[-1] not in "aeiouls":
        return base[:-1]
    if len(base) > _MIN_STEM and base.endswith("e"):
        return base[:-1]
    return base


def overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """How much two sets of terms share: 0 nothing, 1 all of the smaller."""
    if not one or not other:
        return 0.0
    return len(one & other) / min(len(one), len(other))


def surface_words(text: str) -> list[str]:
    """The words in order, as written; unspaced scripts in pairs of characters."""
    if text.isascii():
        return WORD.findall(text)
    found: list[str] = []
    for word in WORD.findall(text):
        if is_unspaced(word):
            found.extend(character_pairs(word))
        else:
            found.append(word)
    return found


def character_pairs(run: str) -> list[str]:
    """The overlapping pairs of characters of a run without spaces."""
    run = run[:_MAX_RUN]
    return [run[at : at + 2] for at in range(len(run) - 1)] or [run]


def fold(text: str) -> str:
    """The text in lower case with plain apostrophes."""
    return text.lower().replace("\u2019", "'")


def tokenise(text: str) -> tuple[str, ...]:
    """The words in order, in lower case with plain apostrophes; unspaced scripts in pairs of characters."""
    return tuple(surface_words(fold(text)))
