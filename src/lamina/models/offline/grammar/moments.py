"""Reads since when something holds, and until when, against the time at which it was said."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from lamina.models.offline.grammar.data import TimeWords
from lamina.models.offline.grammar.tokens import Token

_MONTHS = 12
_WEEK = 7
_FIRST_YEAR, _LAST_YEAR = 1900, 2100
_ISO_PARTS = 3
_DAYS = {"day": 1, "week": 7}
_MONTHS_OF = {"month": 1, "year": 12, "decade": 120}
_MOST = 1_200  # of any unit


def moments(
    tokens: Sequence[Token], at: datetime, times: TimeWords, *, ahead: bool
) -> tuple[datetime | None, datetime | None]:
    """Since when and until when; `ahead` says that any other date is still to come."""
    words = [token.word for token in tokens]
    since = until = None
    for place, word in enumerate(words):
        if word in times.until:
            until = until or _date(words, place + 1, at, times, ahead=True)
        elif word in times.since:
            since = since or _date(words, place + 1, at, times, ahead=False) or _back(words, place + 1, at, times)
        elif word in times.for_ or word in times.in_:
            since, until = _spanned(words, place, at, times, since, until, ahead=ahead)
        elif word in times.on or word in times.next or word in times.days:
            start = place + 1 if word in times.on else place
            found = _date(words, start, at, times, ahead=ahead)
            since, until = (since, until or found) if ahead else (since or found, until)
        elif word in times.last or word in times.ago:
            since = since or _past(words, place, at, times)
    return since, until


def _spanned(
    words: Sequence[str],
    place: int,
    at: datetime,
    times: TimeWords,
    since: datetime | None,
    until: datetime | None,
    *,
    ahead: bool,
) -> tuple[datetime | None, datetime | None]:
    """What "for three years", "in two weeks" and "in 2019" say."""
    found = _counted(words, place + 1, times)
    if found is None:
        date = _date(words, place + 1, at, times, ahead=ahead) if words[place] in times.in_ else None
        return (since, until or date) if ahead else (since or date, until)
    unit, number, after = found
    if after < len(words) and words[after] in times.ago:
        return since or _moved(at, unit, -number), until
    if words[place] in times.for_:
        return (since, until) if ahead else (since or _moved(at, unit, -number), until)
    return since, until or _moved(at, unit, number)


def _back(words: Sequence[str], place: int, at: datetime, times: TimeWords) -> datetime | None:
    found = _counted(words, place, times)
    return _moved(at, found[0], -found[1]) if found else None


def _past(words: Sequence[str], place: int, at: datetime, times: TimeWords) -> datetime | None:
    if words[place] in times.last:
        return _date(words, place, at, times, ahead=False)
    for first in range(max(0, place - 4), place):
        found = _counted(words, first, times)
        if found and found[2] == place:
            return _moved(at, found[0], -found[1])
    return None


def _counted(words: Sequence[str], place: int, times: TimeWords) -> tuple[str, int, int] | None:
    """The unit and the number of "three years", and the place behind."""
    number: int | None = None
    for at in range(place, min(place + 4, len(words))):
        word = words[at]
        if word in times.units:
            return (times.units[word], number, at + 1) if number is not None and number <= _MOST else None
        if word.isascii() and word.isdigit() and len(word) <= 4:  # noqa: PLR2004 - a small number
            number = int(word)
        elif word in times.numbers:
            number = times.numbers[word]
        elif word not in times.of:
            return None
    return None


def _date(words: Sequence[str], place: int, at: datetime, times: TimeWords, *, ahead: bool) -> datetime | None:
    """The date that begins at a place, the nearest one in its direction."""
    while place < len(words) and words[place] in times.of:
        place += 1
    if place >= len(words):
        return None
    word = words[place]
    if word in times.days:
        return _moved(_midnight(at), "day", times.days[word])
    if word in times.end:
        return _end(words, place + 1, at, times)
    if word in times.last or word in times.next or word in times.this:
        return _turned(words, place, at, times)
    if word in times.weekdays:
        return (
            _weekday(times.weekdays[word], at, ahead=ahead)
            if place + 1 >= len(words)
            else (
                _of_calendar(words, place + 1, at, times, ahead=ahead)
                or _weekday(times.weekdays[word], at, ahead=ahead)
            )
        )
    return _of_calendar(words, place, at, times, ahead=ahead)


def _turned(words: Sequence[str], place: int, at: datetime, times: TimeWords) -> datetime | None:
    """What "last March", "next week" and "this year" say."""
    ahead = words[place] not in times.last
    if place + 1 >= len(words):
        return None
    word = words[place + 1]
    if word in times.units:
        number = 0 if words[place] in times.this else 1
        return _moved(_midnight(at), times.units[word], number if ahead else -number)
    if word in times.weekdays:
        return _weekday(times.weekdays[word], at, ahead=ahead)
    return _of_calendar(words, place + 1, at, times, ahead=ahead)


def _end(words: Sequence[str], place: int, at: datetime, times: TimeWords) -> datetime | None:
    while place < len(words) and (words[place] in times.of or words[place] in times.this):
        place += 1
    word = words[place] if place < len(words) else ""
    unit = times.units.get(word)
    if unit == "year":
        return _midnight(at).replace(month=_MONTHS, day=31)
    if unit == "month" or word in times.months:
        first = _of_calendar(words, place, at, times, ahead=True) if unit is None else _midnight(at).replace(day=1)
        after = _moved(first.replace(day=1), "month", 1) if first else None
        return after - timedelta(days=1) if after else None
    if unit == "week":
        return _weekday(_WEEK - 1, at, ahead=True)
    return None


def _of_calendar(words: Sequence[str], place: int, at: datetime, times: TimeWords, *, ahead: bool) -> datetime | None:
    """A date with a month, a year or both, in either order of day and month."""
    day = month = year = None
    for word in words[place : place + 5]:
        if word.count("-") == _ISO_PARTS - 1:
            return _iso(word, at)
        bare = word[:-2] if word[:1].isdigit() and word[-2:].isalpha() else word.rstrip(".")
        if word in times.months and month is None:
            month = times.months[word]
        elif bare.isascii() and bare.isdigit() and len(bare) == 4 and year is None:  # noqa: PLR2004 - a year
            year = int(bare)
        elif bare.isascii() and bare.isdigit() and len(bare) <= 2 and day is None and year is None:  # noqa: PLR2004
            day = int(bare)
        elif word not in times.of and word != ",":
            break
    if month is None and year is None:
        return None
    return _placed(year, month, day, at, ahead=ahead)


def _placed(year: int | None, month: int | None, day: int | None, at: datetime, *, ahead: bool) -> datetime | None:
    if year is not None and not _FIRST_YEAR <= year <= _LAST_YEAR:
        return None
    try:
        found = _midnight(at).replace(year=year or at.year, month=month or 1, day=day or 1)
        if year is None and ahead and found < _midnight(at).replace(day=1):
            return found.replace(year=found.year + 1)
        if year is None and not ahead and found > at:
            return found.replace(year=found.year - 1)
    except ValueError:
        return None
    return found


def _iso(word: str, at: datetime) -> datetime | None:
    try:
        return datetime.fromisoformat(word).replace(tzinfo=at.tzinfo)
    except ValueError:
        return None


def _weekday(weekday: int, at: datetime, *, ahead: bool) -> datetime | None:
    days = (weekday - at.weekday()) % _WEEK or _WEEK
    return _moved(_midnight(at), "day", days if ahead else days - _WEEK if days < _WEEK else -_WEEK)


def _midnight(at: datetime) -> datetime:
    return at.replace(hour=0, minute=0, second=0, microsecond=0)


def _moved(at: datetime, unit: str, number: int) -> datetime | None:
    """So many units later, at midnight; None where there is no such day."""
    day = _midnight(at)
    try:
        if unit in _DAYS:
            return day + timedelta(days=_DAYS[unit] * number)
        months = day.year * _MONTHS + day.month - 1 + _MONTHS_OF[unit] * number
        return day.replace(year=months // _MONTHS, month=months % _MONTHS + 1, day=min(day.day, 28))
    except (OverflowError, ValueError):
        return None
