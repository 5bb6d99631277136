"""Titles of moments: a short phrase in the words of the user, that begins with what was done or what it is about."""

import re
from collections.abc import Sequence

from lamina.language.words import WORD, fold, terms
from lamina.models.offline.episode_extraction.moment_cues import Language

MAX_TITLE = 70
MAX_WORDS = 8
_MIN_WORDS = 2  # before a cut
_NEAR = 4  # words in which "I" or "we" is the subject of the phrase
_EDGE = " ,;:.!-\u2013—*_~…'\"()"
_SPLIT = re.compile(r"[,:;.!?…()—\n]|\s[-\u2013]{1,2}\s")
_EMPHASIS = re.compile(r"[*_]{1,3}(?=\w)|(?<=\w)[*_]{1,3}")


def make_title(clauses: Sequence[str], at: int, language: Language) -> str:
    """A title from the clause at a place, with the next or the one before where it says too little; '' if none does."""
    if at + 1 < len(clauses) and (clauses[at].endswith(":") or _is_subordinate(clauses[at], language)):
        at += 1
    title = _phrase(clauses[at], language)
    for other in (at + 1, at - 1):
        if _is_enough(title) or not 0 <= other < len(clauses):
            continue
        more = _phrase(clauses[other], language)
        pair = (title, more) if other > at else (more, title)
        joined = ", ".join(part for part in pair if part)
        if len(WORD.findall(joined)) <= MAX_WORDS and len(joined) <= MAX_TITLE:
            title = joined
        elif more and not terms(title):
            title = more
    return capitalise(title)


def _is_subordinate(text: str, language: Language) -> bool:
    first = fold(text).split()
    return any(" ".join(first[:size]) in language.sets["title_subordinate"] for size in (1, 2))


def _is_enough(title: str) -> bool:
    return len(set(terms(title))) > 1


def capitalise(title: str) -> str:
    """The title with a capital letter, unless its first word has one of its own ("iOS")."""
    return title[:1].upper() + title[1:] if title.split(" ", 1)[0].islower() else title


def _phrase(text: str, language: Language) -> str:
    """The clause without what leads to it and what trails, of at most eight words."""
    text = " ".join(_EMPHASIS.sub("", text).split()).strip(_EDGE)
    if text.count('"') % 2:
        text = text.replace('"', "")
    words = [(match.start(), match.end(), fold(match.group())) for match in WORD.finditer(text)]
    first = _skip_leading(words, language)
    last = _cut(words, first, len(words), language)
    if first >= last:
        return ""
    start = words[first][0]
    lead = text[:start]
    if lead and lead[-1] in "$€£¥#@~+-" and (len(lead) == 1 or lead[-2] == " "):
        start -= 1
    end = words[last - 1][1]
    end += next((at for at, mark in enumerate(text[end:]) if mark not in "%+#€$£°)"), len(text) - end)
    if text[start:end].count("“") != text[start:end].count("”"):
        text = text.replace("“", " ").replace("”", " ")
    return text[start:end].strip(_EDGE.replace(")", "") if "(" in text[start:end] else _EDGE)


def _skip_leading(words: Sequence[tuple[int, int, str]], language: Language) -> int:
    """The place of the first word that is no interjection, and no "I" or "we" with its helping verb."""
    leads, subjects = language.sets["title_leads"], language.sets["title_subjects"]
    helpers, first = language.sets["title_helpers"], 0
    plain = [word for _, _, word in words]
    while first < len(words):
        for size in (4, 3, 2, 1):
            if " ".join(plain[first : first + size]) in leads and first + size <= len(words):
                first += size
                break
        else:
            break
    near = next((at for at in range(first, min(first + _NEAR, len(words))) if plain[at] in subjects), None)
    if near is not None:
        first = near + 1
        while first < len(words) and plain[first] in helpers:
            first += 1
    return first


def _cut(words: Sequence[tuple[int, int, str]], first: int, last: int, language: Language) -> int:
    """The end of the phrase: at most eight words, cut before a joining word, never behind a word that needs another."""
    subjects = language.sets["title_subjects"]
    last = next((at for at in range(first + _MIN_WORDS, last) if words[at][2] in subjects), last)
    if first < last and (last - first > MAX_WORDS or words[last - 1][1] - words[first][0] > MAX_TITLE):
        last = _best_cut(words, first, language)
    while last > first and words[last - 1][2] in language.sets["title_tails"]:
        if any(
            " ".join(word for _, _, word in words[last - size : last]) in language.sets["title_keep"] for size in (2, 3)
        ):
            break
        last -= 1
    return last


def _best_cut(words: Sequence[tuple[int, int, str]], first: int, language: Language) -> int:
    limit = min(first + MAX_WORDS, len(words))
    while limit > first + 1 and words[limit - 1][1] - words[first][0] > MAX_TITLE:
        limit -= 1
    for name in ("title_joints", "title_prepositions"):
        joints = language.sets[name]
        places = [at for at in range(first + _MIN_WORDS, limit + 1) if at < len(words) and words[at][2] in joints]
        places = [at for at in places if name == "title_prepositions" or at > first + _MIN_WORDS]
        if places:
            return places[-1]
    return limit


def split_clauses(text: str) -> list[tuple[int, str]]:
    """The pieces of a text between its marks, with where each begins."""
    found: list[tuple[int, str]] = []
    start = 0
    for mark in _SPLIT.finditer(text):
        inside = mark.group() in ".,:" and mark.end() < len(text) and not text[mark.end()].isspace()
        if inside:  # 1,500, 10:30, v1.2
            continue
        if text[start : mark.start()].strip():
            found.append((start, text[start : mark.end()].rstrip(",.;")))
        start = mark.end()
    if text[start:].strip():
        found.append((start, text[start:]))
    return found
