"""The one place where Unicode is normalised, in linear time for any text."""

import re
import unicodedata
from functools import cache
from typing import Literal

_MAX_RUN = 30  # marks on one letter, as in Unicode's stream-safe text; no language needs more
# Do not combine by themselves, but are taken apart into marks that do.
_SPLIT_INTO_MARKS = (0x0F73, 0x0F75, 0x0F81)
# Quicker to look for than marks: none of them is Latin, a sign, Chinese, Japanese or Korean.
_MAYBE_A_RUN = re.compile("[^\\x00-\u02ff\u2100-\u2cee\u309b-\ua66e\uac00-\ud7ff]{31}")
_LAST_MARK = 0x1FFFF
# Default_Ignorable_Code_Point: signs that nobody sees.
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)

# Signs that are written for each other: apostrophes, quotes, dashes.
_ALIKE = str.maketrans(
    {"\u2212": "-", **dict.fromkeys("\u2018\u2019\u201b\u02bc\u00b4", "'"),
     **dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb", '"'), **dict.fromkeys(map(chr, range(0x2010, 0x2016)), "-")}
)  # fmt: skip


def normalise(form: Literal["NFC", "NFD", "NFKC", "NFKD"], text: str) -> str:
    """A text in a form of Unicode. Of a run of combining marks, no more than 30 are kept: sorting them is slow."""
    if text.isascii():
        return text
    if _MAYBE_A_RUN.search(text):
        text = _long_runs().sub(r"\1", text)
    return unicodedata.normalize(form, text)


def without_unseen(text: str) -> str:
    """A text without the signs that do not show: joiners, selectors, fillers, marks of direction, tags."""
    return text if text.isascii() else _UNSEEN.sub("", text)


def plain_marks(text: str) -> str:
    """A text with straight apostrophes and quotes, and hyphens for dashes; every character keeps its place."""
    return text if text.isascii() else text.translate(_ALIKE)


@cache
def _long_runs() -> re.Pattern[str]:
    """Matches the excess of a long run of combining marks; built at the first text that may have one."""
    marks = [code for code in range(0x300, _LAST_MARK + 1) if unicodedata.combining(chr(code))]
    ranges: list[list[int]] = []
    for code in sorted([*marks, *_SPLIT_INTO_MARKS]):
        if ranges and code == ranges[-1][1] + 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    signs = "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)
    return re.compile(f"([{signs}]{{{_MAX_RUN}}})[{signs}]+")
