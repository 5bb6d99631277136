"""Words as they are written, and what overlap and importance are counted in."""

from lamina.language.words import WORD, unspaced

_LONGEST_RUN = 2_000  # characters of an unspaced run that are looked at


def words(text: str) -> list[str]:
    """The words in order, as written; unspaced scripts in pairs of characters."""
    if text.isascii():
        return WORD.findall(text)
    found: list[str] = []
    for word in WORD.findall(text):
        if unspaced(word):
            found.extend(pairs(word))
        else:
            found.append(word)
    return found


def pairs(run: str) -> list[str]:
    """The overlapping pairs of characters of a run without spaces."""
    run = run[:_LONGEST_RUN]
    return [run[at : at + 2] for at in range(len(run) - 1)] or [run]


def folded(text: str) -> str:
    """The text in lower case with plain apostrophes."""
    return text.lower().replace("\u2019", "'")


def tokens_of(text: str) -> tuple[str, ...]:
    """The folded words in order."""
    return tuple(words(folded(text)))
