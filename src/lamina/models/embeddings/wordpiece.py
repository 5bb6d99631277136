"""WordPiece for BERT uncased: the pieces of a text's words, as numbers of the vocabulary."""

import gzip
import unicodedata
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib import resources

from lamina.language.unicode import normalise

UNKNOWN = "[UNK]"
_MAX_WORD = 100  # characters; a longer word is not looked at
_MAX_CACHED = 1 << 16  # words whose pieces are kept at hand

# Ideographs, each of which is a word: first and last of each block.
_IDEOGRAPHS = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),  # BERT's tokeniser leaves a gap before this one
    (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip

# Accents and controls; not what is unassigned yet, so that a newer Python reads old texts alike.
_DROPPED = {"Mn", "Cc", "Cf", "Co", "Cs"}


class _Characters(dict[int, str]):
    """What each character of a decomposed text becomes, computed when first met."""

    def __missing__(self, code: int) -> str:
        return self.setdefault(code, _simplify(chr(code)))


def _simplify(character: str) -> str:
    """Lower case; between spaces where it is a word of its own; nothing for accents and control characters."""
    category = unicodedata.category(character)
    if character in "\t\n\r" or category[0] == "Z":
        return " "
    if category in _DROPPED or character == "\ufffd":
        return ""
    symbol = category[0] == "P" or (character.isascii() and not character.isalnum())
    if symbol or any(first <= ord(character) <= last for first, last in _IDEOGRAPHS):
        return f" {character} "
    return character.lower()


class WordPiece:
    """Splits words into the longest pieces that `numbers` knows; a word it cannot split is one unknown piece."""

    def __init__(self, numbers: Mapping[str, int]) -> None:
        self.numbers = numbers
        self.unknown = numbers[UNKNOWN]
        self._cached_pieces = lru_cache(_MAX_CACHED)(self._pieces)
        self._characters = _Characters()

    def words(self, text: str) -> list[str]:
        """Lower-case words, punctuation marks and ideographs, without accents."""
        return normalise("NFD", text).translate(self._characters).split()

    def encode(self, text: str) -> list[int]:
        """The numbers of the pieces of a text, in order, without any marks of start and end."""
        found: list[int] = []
        pieces, extend = self._cached_pieces, found.extend
        for word in self.words(text):
            extend(pieces(word) if len(word) <= _MAX_WORD else (self.unknown,))
        return found

    def _pieces(self, word: str) -> tuple[int, ...]:
        whole = self.numbers.get(word)
        if whole is not None:
            return (whole,)
        found = []
        at = 0
        while at < len(word):
            prefix = "##" if at else ""
            for end in range(len(word), at, -1):
                number = self.numbers.get(prefix + word[at:end])
                if number is not None:
                    break
            else:
                return (self.unknown,)
            found.append(number)
            at = end
        return tuple(found)


@cache
def bert_uncased() -> WordPiece:
    """The vocabulary of BERT uncased, which all-MiniLM-L6-v2 shares."""
    packed = resources.files("lamina.models.embeddings").joinpath("uncased.txt.gz").read_bytes()
    return WordPiece({piece: number for number, piece in enumerate(gzip.decompress(packed).decode().splitlines())})
