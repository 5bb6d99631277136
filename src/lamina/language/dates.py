"""The only reader of dates: the days that phrases mean, for search, for facts and for summaries.

A phrase has one meaning, given the day on which it was said. `windows` gives it as a stretch of time to search in,
`period` as since when and until when something holds, `with_dates` as a date written behind it.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, tzinfo

from lamina.language import calendar
from lamina.language import date_phrases as phrases
from lamina.language import date_words as words
from lamina.language.calendar import Yearly
from lamina.language.date_phrases import Phrase, Words
from lamina.language.date_scripts import has_script_cue, script_phrases
from lamina.language.words import is_unspaced

EARLIEST = datetime.min.replace(tzinfo=UTC)
LATEST = datetime.max.replace(tzinfo=UTC)
_MAX_PHRASES = 32  # of one text
_WHOLE = {"day", "weekday", "open", "part", "rolling", "vague"}  # has no early or late part
_LATE = 2
_NO_WINDOW = {"for"}  # how long something has been so far is no time to look in
_MAX_LINKS = 2
_MAX_OPERATORS = 4  # before a phrase, e.g. "early on the Friday before last Christmas"

# Words are of these letters, in UTF-8; every other byte parts them.
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789äöüáéíóúñàâãçèêëìîïòôõùû".encode())
_BYTES = bytes(code if code in _LETTERS else ord(" ") for code in range(256))
_NO_CUES = {"q", "/", *words.ORDINAL_ENDINGS}  # read only beside a number
_MORE_CUES = {"q1", "q2", "q3", "q4", *(f"{day}{end}" for day in range(1, 32) for end in words.ORDINAL_ENDINGS)}
_CUES = frozenset(word.encode() for word in phrases.READERS.keys() - _NO_CUES | _MORE_CUES)
_SHORT_DATE = re.compile(r"[0-9]/[0-9]{1,2}/[0-9]{2}")
_TOKEN = re.compile(r"[A-Za-z\u00c0-\u1fff]+|[0-9]+|\S")
_LONG = 400  # characters; of longer texts only the lines with a cue are read
_MAX_DAYS_AWAY = 2_800  # days from today to a date that is written behind its words
_NO_DAY = frozenset(["no", "not", "of", "like", "the", "till", "in"])  # before "today" and the like: an idiom
_JOINED = re.compile(r"[\w'\u2019\"”-]|\s*\[")
_DATED = re.compile(r"\s*\[")
_WITHIN = re.compile(r"[\w'\u2019\"“\u2018-]")


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of time that words speak of: from start up to, but not including, end."""

    start: datetime
    end: datetime
    exact: bool
    """Whether it can mean only this; "recently" or "a few weeks ago" are vague."""


def windows(text: str, at: datetime) -> tuple[Window, ...]:
    """The stretches of time that a text written at a moment speaks of, in order; its days are those of that zone."""
    if not _has_cue(text):
        return ()
    lines = [line for line in text.splitlines() if _has_cue(line)] if len(text) > _LONG else [text]
    spans: dict[tuple[int, int, bool], None] = {}
    for line in lines:
        found = _read(_words(line, at.date()), line)
        spans.update(((one.start, one.end, one.exact), None) for one in found if one.opener not in _NO_WINDOW)
        if len(spans) >= _MAX_PHRASES:
            break
    return tuple(
        Window(_midnight(start, at.tzinfo), _midnight(end, at.tzinfo), exact)
        for start, end, exact in tuple(spans)[:_MAX_PHRASES]
        if max(start, 1) < min(end, calendar.LAST)
    )


def _has_cue(text: str) -> bool:
    """Whether any word may speak of a time; cheap, because every text is asked."""
    listed = text.lower().encode("utf-8", "replace").translate(_BYTES).split()
    if not _CUES.isdisjoint(listed) or ("/" in text and _SHORT_DATE.search(text) is not None):
        return True
    return not text.isascii() and has_script_cue(text)


def period(
    text: str, at: datetime, places: Sequence[tuple[int, int]], *, ahead: bool, coming: bool = False
) -> tuple[datetime | None, datetime | None]:
    """Since when and until when something holds, by the phrases that begin within these places of a text.

    `ahead` says that a time that nothing else fixes is in the future, and is an end; `coming`, that it is in the future
    and a beginning. The first is before the second.
    """
    since = until = 0
    now = at.date().toordinal()
    if _has_cue(text):
        starts = [match.start() for match in _TOKEN.finditer(text)]
        for phrase in _read(_words(text, at.date(), ahead=ahead or coming), text):
            here = starts[phrase.first]
            if phrase.grain != "vague" and any(start <= here < end for start, end in places):
                first, last = _bounds(phrase, now, ahead=ahead)
                since, until = since or first, until or last
    if since and until and since >= until:
        since = 0
    zone = at.tzinfo
    return _midnight(since, zone) if since else None, _midnight(until, zone) if until else None


_LONG_GRAINS = frozenset(("week", "month", "season", "year"))  # a plan for one of these may be done until it ends


def _bounds(phrase: Phrase, now: int, *, ahead: bool) -> tuple[int, int]:
    """The first day and the day of the end, 0 if unknown. Until X is until X begins; if it has begun, until it ends."""
    end = phrase.day if phrase.day > now else phrase.end
    if phrase.opener in {"after", "each"}:
        return 0, 0
    if phrase.opener == "until":
        return 0, end if end > now else phrase.day
    if phrase.grain == "range":
        return phrase.start, phrase.end
    if ahead and not phrase.opener:
        end = phrase.end if phrase.grain in _LONG_GRAINS else end
        return 0, end if end > now else 0
    return phrase.day, 0


def with_dates(text: str, at: datetime) -> str:
    """The text with the date in brackets behind each day that is counted from today and can mean only one."""
    if not _has_cue(text):
        return text
    places = [match.span() for match in _TOKEN.finditer(text)]
    written: set[str] = set()
    pieces, done = [], 0
    now = at.date().toordinal()
    tokens = _words(text, at.date())
    for phrase in _read(tokens, text):
        day = calendar.to_date(phrase.day)
        if day is None or not _counts_from_today(phrase) or abs(phrase.day - now) > _MAX_DAYS_AWAY:
            continue
        first, last = places[phrase.relative][0], places[phrase.past - 1][1]
        joined = _is_joined(text, first, last)
        date_ = f"{'' if phrase.exact else '~'}{day.isoformat()}"
        if joined or tokens.at(phrase.relative - 1) in _NO_DAY or date_ in written:
            continue
        written.add(date_)
        pieces += [text[done:last], f" [{date_}]"]
        done = last
    return "".join(pieces) + text[done:]


def _is_joined(text: str, first: int, last: int) -> bool:
    """Whether the words are part of a longer one or have a date already; where particles follow, only the last."""
    if is_unspaced(text[last - 1]) or "가" <= text[last - 1] <= "힣":
        return _DATED.match(text, last) is not None
    return bool(_JOINED.match(text, last) or (first and _WITHIN.match(text, first - 1)))


def _counts_from_today(phrase: Phrase) -> bool:
    """Whether the phrase is a day counted from today: exactly, or in weeks."""
    return phrase.relative >= 0 and (phrase.exact or phrase.point > 0) and phrase.past > phrase.relative


def _words(text: str, today: date, *, ahead: bool = False) -> Words:
    cased = _TOKEN.findall(text)
    return Words(list(map(str.lower, cased)), cased, today, ahead)


def _read(tokens: Words, text: str) -> list[Phrase]:
    found = _read_words(tokens)
    return found if text.isascii() else _add_scripts(tokens, found, text)


def _add_scripts(tokens: Words, found: list[Phrase], text: str) -> list[Phrase]:
    """The phrases with those of other scripts, which come before what was read of the same words."""
    readings = tuple(script_phrases(text, tokens.today))
    starts = [match.start() for match in _TOKEN.finditer(text)] if readings else []
    for start, end, phrase, opener in readings[:_MAX_PHRASES]:
        first, past = bisect_right(starts, start) - 1, bisect_left(starts, end)
        phrase = phrase._replace(first=first, past=past, relative=first if phrase.relative >= 0 else -1)  # noqa: PLW2901
        if opener:
            phrase = (_since if opener == "since" else _until)(tokens, phrase, first)  # noqa: PLW2901
        elif tokens.ahead:
            phrase = _resolve_direction(tokens, phrase, ahead=True)  # noqa: PLW2901
        found = [*(one for one in found if one.past <= first or past <= one.first), phrase]
    return sorted(found, key=lambda phrase: phrase.first)


def _read_words(tokens: Words) -> list[Phrase]:
    found: list[Phrase] = []
    past = -1
    readers = phrases.READERS
    for index in [index for index, word in enumerate(tokens.low) if word in readers]:
        if index < past:
            continue
        try:
            phrase = readers[tokens.low[index]](tokens, index)
            if phrase is None:
                continue
            phrase = _extend(tokens, phrase, past)
            if tokens.ahead and not phrase.opener:
                phrase = _resolve_direction(tokens, phrase, ahead=True)
        except (ValueError, OverflowError):  # 31 February, year 0
            continue
        past = phrase.past
        _add(tokens, found, phrase)
        if len(found) > _MAX_PHRASES:
            break
    return found


def _resolve_direction(tokens: Words, phrase: Phrase, *, ahead: bool) -> Phrase:
    """The phrase as the next one to come or the last that has begun, if it does not say which it is."""
    now = tokens.today.toordinal()
    start, end = phrase.start, phrase.end
    if phrase.yearly is not None:
        start, end = calendar.next_or_last(phrase.yearly, tokens.today, ahead=ahead)
    elif phrase.cycle == "week":
        wanted = calendar.weekday(start)
        start = calendar.weekday_from(now + 1, wanted) if ahead else calendar.weekday_before(now + 1, wanted)
        end = start + 1
    elif phrase.cycle == "month":
        days = [one for one, _ in calendar.monthly(tokens.today, date.fromordinal(start).day) if (one > now) == ahead]
        start = days[0] if ahead else days[-1]
        end = start + 1
    else:
        return phrase
    point = end - 1 if phrase.point and phrase.grain == "part" else 0
    return phrase._replace(start=start, end=end, point=point, cycle="")


def _midnight(number: int, zone: tzinfo | None) -> datetime:
    if number <= calendar.FIRST + 1:
        return EARLIEST
    if number >= calendar.LAST - 1:
        return LATEST
    day = date.fromordinal(number)
    return datetime(day.year, day.month, day.day, tzinfo=zone)


def _add(tokens: Words, found: list[Phrase], phrase: Phrase) -> None:
    """Adds the phrase: in place of what it took in, and as the end of a range that the last one began."""
    while found and found[-1].past > phrase.first:
        found.pop()
    if found and _is_range(tokens, found[-1], phrase):
        phrase = _range(found.pop(), phrase)
    elif found and tokens.at(found[-1].past) in words.AND and found[-1].past + 1 == phrase.first:
        found[-1] = _of_year(found[-1], phrase)
    found.append(phrase)


def _of_year(one: Phrase, other: Phrase) -> Phrase:
    """`March or April 2026`: the year is named once."""
    if one.yearly is None or other.yearly is not None or one.grain != other.grain:
        return one
    days = next(_around(one.yearly, other.start, (0,)), (one.start, one.end))
    return one._replace(start=days[0], end=days[1], exact=other.exact, yearly=None)


def _is_range(tokens: Words, one: Phrase, other: Phrase) -> bool:
    """`between X and Y`, `from X to Y`, `X - Y`."""
    link = tokens.at(one.past)
    if other.first - one.past not in {1, 2} or tokens.at(other.first - 1) not in words.THE | {link}:
        return False
    opener = tokens.at(one.first - 1)
    if opener in words.THE or opener in words.WHICH:
        opener = tokens.at(one.first - 2)
    if link in words.AND:
        return opener in words.BETWEEN
    return link in words.TO


def _range(one: Phrase, other: Phrase) -> Phrase:
    """From the one to the other; what has no year takes it from the one that has."""
    start, end, exact = one.start, other.end, one.exact and other.exact
    if one.yearly and not other.yearly:
        exact = other.exact
        start = next((days[0] for days in _around(one.yearly, other.start, (0, -1)) if days[0] < end), start)
    elif other.yearly:
        exact = one.exact
        end = next((days[1] for days in _around(other.yearly, start, (0, 1)) if days[1] > start), end)
    elif other.grain == "weekday" and end <= start:
        end += 7
    opener = "each" if one.cycle == "week" else ""  # "from Monday to Friday" is mostly a habit
    return Phrase(one.first, other.past, start, end, exact, grain="range", opener=opener)


def _around(yearly: Yearly, number: int, years: Sequence[int]) -> Iterator[calendar.Days]:
    """What has no year, in the years around a day."""
    day = calendar.to_date(number)
    return calendar.in_years(yearly, [day.year + ahead for ahead in years] if day else ())


def _extend(tokens: Words, phrase: Phrase, past: int) -> Phrase:
    """The phrase with what stands before it: `early`, `the week of`, `three days before`, `since`."""
    for _ in range(_MAX_OPERATORS):
        at = phrase.first - 1
        if tokens.at(at) in words.THE:
            at -= 1
        at = _over_links(tokens, at)
        wider = _open_end(tokens, phrase, at, past) or _narrow(tokens, phrase, at) or _limit(tokens, phrase, at)
        if wider is None:
            break
        phrase = wider
    return phrase


def _over_links(tokens: Words, at: int) -> int:
    """`jusqu'au 3 mai`, `antes del lunes`, `fino a venerdì`: the place of the word that limits, over those between."""
    before = at
    while tokens.at(before) in words.LINKS and at - before < _MAX_LINKS:
        before -= 1
    return before if tokens.at(before) in words.UNTIL | words.BEFORE else at


def _open_end(tokens: Words, phrase: Phrase, at: int, past: int) -> Phrase | None:
    """`before X`, `after X`, `since X`, `until X`; the last only if no range ends with it."""
    word = tokens.at(at)
    if phrase.grain == "open":
        return None
    if word in words.BEFORE or word in words.AFTER:
        return _before_or_after(tokens, phrase, at, after=word in words.AFTER)
    if word in words.SINCE:
        return _since(tokens, phrase, at)
    if word in words.UNTIL and at != past:
        return _until(tokens, phrase, at)
    return None


def _since(tokens: Words, phrase: Phrase, first: int) -> Phrase:
    phrase = _resolve_direction(tokens, phrase, ahead=False)
    now = tokens.today.toordinal() + 1
    end = now if phrase.start < now else calendar.LAST
    return phrase._replace(first=first, end=end, grain="open", opener="since", point=phrase.day)


def _until(tokens: Words, phrase: Phrase, first: int) -> Phrase:
    phrase = _resolve_direction(tokens, phrase, ahead=True)
    return phrase._replace(
        first=first, start=calendar.FIRST, yearly=None, grain="open", opener="until", point=phrase.day
    )


def _limit(tokens: Words, phrase: Phrase, at: int) -> Phrase | None:
    """`by X`, `from X`: an end or a beginning, of which search looks at X alone."""
    if phrase.opener:
        return None
    if tokens.at(at) in words.BY:
        return _resolve_direction(tokens, phrase, ahead=True)._replace(opener="until")
    return phrase._replace(opener="since") if tokens.at(at) in words.FROM else None


def _narrow(tokens: Words, phrase: Phrase, at: int) -> Phrase | None:
    """`early X`, `mid-X`, `the end of X`, `Friday, X`."""
    word = tokens.at(at)
    if word in words.OF:
        return _part_of(tokens, phrase, at)
    if word in {"-", ","}:
        at -= 1
    if tokens.at(at) in words.PARTS and word != "," and phrase.grain not in _WHOLE:
        return _part(phrase, at, words.PARTS[tokens.at(at)])
    if tokens.at(at) in words.WEEKDAYS and phrase.grain == "day":
        return _on_weekday(tokens, phrase._replace(first=at, grain="weekday"), words.WEEKDAYS[tokens.at(at)])
    return None


def _part(phrase: Phrase, first: int, which: int) -> Phrase:
    """The early, middle or late part; the end of a stretch is its last day."""
    start, end = calendar.part((phrase.start, phrase.end), which)
    whole = phrase.yearly
    yearly = None if whole is None else (lambda year: calendar.part(whole(year), which))
    point = end - 1 if which == _LATE else 0
    return phrase._replace(first=first, start=start, end=end, exact=False, grain="part", yearly=yearly, point=point)


def _on_weekday(tokens: Words, phrase: Phrase, wanted: int) -> Phrase:
    """`Friday, May 8` is of the year in which that was a Friday."""
    if phrase.yearly is not None:
        for start, end in _around(phrase.yearly, tokens.today.toordinal(), (0, -1, 1)):
            if calendar.weekday(start) == wanted:
                return phrase._replace(start=start, end=end, exact=True, yearly=None)
    return phrase


def _before_or_after(tokens: Words, phrase: Phrase, at: int, *, after: bool) -> Phrase | None:
    """`two days before X`, `the week after X`, `the Friday before X`; else all that is before or after X."""
    word = tokens.at(at - 1)
    sign = 1 if after else -1
    edge = phrase.end if after else phrase.start
    if word in words.WEEKDAYS or words.UNITS.get(word) == "weekend":
        wanted = words.WEEKDAYS.get(word, 5)
        start = calendar.weekday_from(edge, wanted) if after else calendar.weekday_before(edge, wanted)
        long = 1 if word in words.WEEKDAYS else 2
        return Phrase(at - 1, phrase.past, start, start + long, exact=phrase.exact)
    kind = words.UNITS.get(word)
    if kind is None or kind == "night":
        span = (edge, calendar.LAST) if after else (calendar.FIRST, edge)
        opener = "after" if after else "until"
        return phrase._replace(
            first=at, start=span[0], end=span[1], yearly=None, grain="open", opener=opener, point=phrase.day
        )
    first, counted = phrases.count(tokens, at - 2)
    day = calendar.to_date(edge - 1 if after else edge)
    if day is None:
        return None
    if counted:
        low, high = sorted((sign * counted[0], sign * counted[1]))
        start, end = calendar.around(day.toordinal(), day, kind, low, high)
        return Phrase(first, phrase.past, start, end, exact=phrase.exact and kind == "day" and low == high)
    start, end = calendar.rolling(day, kind, sign)
    start, end = (start + 1, end) if after else (start, end - 1)
    return Phrase(at - 1, phrase.past, start, end, exact=phrase.exact)


def _part_of(tokens: Words, phrase: Phrase, at: int) -> Phrase | None:
    """`the first week of X`, `the week of X`, `the end of X`, `Friday of X`."""
    word = tokens.at(at - 1)
    kind = words.UNITS.get(word)
    days = phrase.start, phrase.end
    if word in (words.PARTS_OF if tokens.at(at) in {"of", "de"} else words.PARTS) and phrase.grain not in _WHOLE:
        return _part(phrase, at - 1, words.PARTS_OF[word])
    count = words.ORDINALS.get(tokens.at(at - 2), 0)
    if word in words.WEEKDAYS and (count or phrase.grain == "week"):
        start, end = calendar.nth(days, count or 1, "weekday", words.WEEKDAYS[word])
        return Phrase(at - 2 if count else at - 1, phrase.past, start, end, exact=phrase.exact)
    if kind in {"day", "week", "weekend"} and count and phrase.grain in {"month", "season", "year"}:
        start, end = calendar.nth(days, count, kind)
        return Phrase(at - 2, phrase.past, start, end, exact=phrase.exact and kind == "day")
    if kind in {"week", "weekend"} and phrase.grain in {"day", "weekday"}:
        monday = calendar.week_of(phrase.start)
        start = monday + 5 if kind == "weekend" else monday
        return Phrase(at - 1, phrase.past, start, monday + 7, exact=phrase.exact)
    return phrase._replace(first=at - 1) if word in words.SAME_OF else None
