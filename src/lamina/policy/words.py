"""Words of a text, for matching: the same for every store."""

import re
import unicodedata
from collections.abc import Iterable

_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
_WIDE = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0002fa1f\u3040-\u30ff\u0e00-\u0e7f]")

STOP_WORDS = frozenset(
    """a about above after again all also am an and any are as at be because been before being but by can could did do
    does doing don down for from further had has have having he her here hers him his how i if in into is it its itself
    just let me more most my no nor not now of off on once only or other our out over own same she should so some such
    than that the their them then there these they this those through to too under until up us very was we were what
    when where which while who whom why will with would you your yours
    i'm i've i'd i'll you're you've it's that's don't didn't can't won't isn't""".split()  # noqa: SIM905 - words read best
)


def words(text: str) -> list[str]:
    """Lower-case words; scripts written without spaces fall into characters."""
    if text.isascii():
        return _WORD.findall(text.lower())
    found: list[str] = []
    for word in _WORD.findall(plain(text)):
        if _WIDE.search(word):
            found.extend(_split_wide(word))
        else:
            found.append(word.replace("\u2019", "'"))
    return found


def terms(text: str) -> list[str]:
    """Stemmed words that carry meaning, in order, with repetitions."""
    return [term for term in map(_TERMS.__getitem__, words(text)) if term]


class _Terms(dict[str, str]):
    """Words to terms, remembered; a stop word is ''. Plain lookups make this several times faster than a call."""

    _MOST = 100_000

    def __missing__(self, word: str) -> str:
        if len(self) >= self._MOST:
            self.clear()
        term = self[word] = "" if word in STOP_WORDS else stem(word)
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
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return unicodedata.normalize("NFC", "".join(c for c in decomposed if not unicodedata.combining(c)))


def stem(word: str) -> str:
    """A light English stem: plural, -ing, -ed, -ly; other scripts stay as they are."""
    if not word.isascii() or len(word) < 4 or not word.isalpha():  # noqa: PLR2004
        return word.removesuffix("'s")
    for suffix, put in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:  # noqa: PLR2004
            return _undoubled(word[: -len(suffix)] + put)
    return word


_SUFFIXES = (
    ("ational", "ate"), ("ization", "ize"), ("fulness", "ful"), ("iveness", "ive"), ("ousness", "ous"),
    ("sses", "ss"), ("ies", "y"), ("ying", "y"), ("ing", ""), ("ied", "y"), ("edly", ""), ("ed", ""), ("ly", ""),
    ("ment", ""), ("ches", "ch"), ("shes", "sh"), ("xes", "x"), ("ss", "ss"), ("us", "us"), ("is", "is"), ("s", ""),
)  # fmt: skip


def _undoubled(word: str) -> str:
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":  # noqa: PLR2004
        return word[:-1]
    return word.removesuffix("e") if len(word) > 4 else word  # noqa: PLR2004


def _split_wide(word: str) -> Iterable[str]:
    run = ""
    for character in word:
        if _WIDE.match(character):
            if run:
                yield run
                run = ""
            yield character
        else:
            run += character
    if run:
        yield run


def overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """How much two sets of terms share: 0 nothing, 1 all of the smaller."""
    if not one or not other:
        return 0.0
    return len(one & other) / min(len(one), len(other))
