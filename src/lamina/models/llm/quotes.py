"""Where a quote stands in a text, also where the model that gave it was careless with spaces, case or marks."""

import unicodedata

_ALIKE = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032`\u00b4", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"),
    }
)
_EDGES = " \t\r\n.,;:!?…\"'"
_SHORTEST = 2  # characters of a quote that was found by likeness only


def place_of(quote: str, text: str) -> tuple[int, int] | None:
    """Start and end of a quote in a text; None if nobody said it."""
    if not quote.strip():
        return None
    start = text.find(quote)
    if start >= 0:
        return start, start + len(quote)
    plain, places = _plain(text)
    for wanted in (_plain(quote)[0].strip(), _plain(quote)[0].strip(_EDGES)):
        at = plain.find(wanted) if len(wanted) >= _SHORTEST else -1
        if at >= 0:
            return places[at], places[at + len(wanted) - 1] + 1
    return None


def _plain(text: str) -> tuple[str, list[int]]:
    """A text made comparable, and where each of its characters stands in the original."""
    letters: list[str] = []
    places: list[int] = []
    for place, letter in enumerate(text):
        for one in unicodedata.normalize("NFKC", letter.translate(_ALIKE)).casefold():
            blank = one.isspace()
            if blank and letters and letters[-1] == " ":
                continue
            letters.append(" " if blank else one)
            places.append(place)
    return "".join(letters), places
