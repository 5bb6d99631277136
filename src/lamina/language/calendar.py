"""Stretches of the calendar as day numbers: from the first day up to, but not including, the second."""

from collections.abc import Callable, Iterable, Iterator
from datetime import date, timedelta

Days = tuple[int, int]
Yearly = Callable[[int], Days]

FIRST = 0  # FIRST and LAST are open ends, beyond the first and last day of the calendar
LAST = date.max.toordinal() + 2
_WEEK = 7
_SOON = 31  # days: what has no year lies in the past or at most this far ahead
_HALF_YEAR = 183
_YEARS_BACK = 9  # to the last 29 February
_DECEMBER = 12


def day(year: int, month: int, number: int) -> Days:
    """One day; ValueError if there is none."""
    start = date(year, month, number).toordinal()
    return start, start + 1


def months(year: int, month: int, count: int = 1) -> Days:
    """Whole months from the first of one; month 13 is January of the next year."""
    return _first_of(year, month), _first_of(year, month + count)


def _first_of(year: int, month: int) -> int:
    carried, index = divmod(month - 1, 12)
    return date(year + carried, index + 1, 1).toordinal()


def add_months(today: date, count: int) -> int:
    """The same day some months away, or the last of a shorter month."""
    start, end = months(today.year, today.month + count)
    return min(start + today.day - 1, end - 1)


def week_of(number: int) -> int:
    """The Monday of a day's week."""
    return number - (number - 1) % _WEEK


def weekday(number: int) -> int:
    return (number - 1) % _WEEK


def weekday_before(number: int, which: int) -> int:
    """The last such weekday before a day."""
    return number - 1 - (weekday(number - 1) - which) % _WEEK


def weekday_from(number: int, which: int) -> int:
    """The first such weekday, that day included."""
    return number + (which - weekday(number)) % _WEEK


def part(days: Days, which: int) -> Days:
    """The early, middle or late third."""
    start, end = days
    third = max(1, (end - start) // 3)
    return ((start, start + third), (start + third, max(end - third, start + third + 1)), (end - third, end))[which]


def nth(days: Days, count: int, unit: str, which: int = 0) -> Days:
    """The nth day, week, weekend or weekday of a stretch; -1 is the last."""
    start, end = days
    if unit == "day":
        found = (end - 1 if count < 0 else start + count - 1), 1
    elif unit == "week":
        found = (end - _WEEK if count < 0 else start + _WEEK * (count - 1)), _WEEK
    else:
        wanted = 5 if unit == "weekend" else which
        first = weekday_before(end, wanted) if count < 0 else weekday_from(start, wanted) + _WEEK * (count - 1)
        found = first, 2 if unit == "weekend" else 1
    return found[0], found[0] + found[1]


def nearest(yearly: Yearly, today: date) -> tuple[Days, bool]:
    """The last one, or one that is about to come; sure if it is the nearest that has begun."""
    now = today.toordinal()
    for days in in_years(yearly, range(today.year + 1, today.year - _YEARS_BACK, -1)):
        if days[0] <= now + _SOON:
            return days, 0 <= now - days[0] <= _HALF_YEAR
    raise ValueError("no such day in these years")


def relative(yearly: Yearly, which: int, today: date) -> Days:
    """The last (-1), this year's (0) or the next (1)."""
    now = today.toordinal()
    if which == 0:
        return yearly(today.year)
    if which < 0:
        past = (d for d in in_years(yearly, range(today.year, today.year - _YEARS_BACK, -1)) if d[1] <= now)
        return next(past, (0, 0))
    ahead = (d for d in in_years(yearly, range(today.year - 1, today.year + _YEARS_BACK)) if d[0] > now)
    return next(ahead, (0, 0))


def next_or_last(yearly: Yearly, today: date, *, ahead: bool) -> Days:
    """The first that is not over, or the last that has begun."""
    now = today.toordinal()
    years = (
        range(today.year - 1, today.year + _YEARS_BACK) if ahead else range(today.year, today.year - _YEARS_BACK, -1)
    )
    for days in in_years(yearly, years):
        if (days[1] > now) if ahead else (days[0] <= now):
            return days
    raise ValueError("no such day in these years")


def in_years(yearly: Yearly, years: Iterable[int]) -> Iterator[Days]:
    """A yearly stretch in each of these years that has it."""
    for year in years:
        try:
            days = yearly(year)
        except (ValueError, OverflowError):
            continue
        yield days


def season(first: int) -> Yearly:
    """Three months of the northern year; a winter is named for the year in which it began."""
    return lambda year: months(year, first, 3)


def _nth_weekday(year: int, month: int, which: int, count: int) -> Days:
    return nth(months(year, month), count, "weekday", which)


def _easter(year: int) -> Days:
    """Easter Sunday, by the anonymous Gregorian method."""
    golden, century, short = year % 19, year // 100, year % 100
    epact = (19 * golden + century - century // 4 - (century - (century + 8) // 25 + 1) // 3 + 15) % 30
    sunday = (32 + 2 * (century % 4) + 2 * (short // 4) - epact - short % 4) % 7
    shift = (golden + 11 * epact + 22 * sunday) // 451
    month, number = divmod(epact + sunday - 7 * shift + 114, 31)
    return day(year, month, number + 1)


HOLIDAYS: dict[str, Yearly] = {
    "valentine": lambda year: day(year, 2, 14),
    "christmas": lambda year: (date(year, 12, 24).toordinal(), date(year, 12, 24).toordinal() + 3),
    "christmas day": lambda year: day(year, 12, 25),
    "christmas eve": lambda year: day(year, 12, 24),
    "new year eve": lambda year: day(year, 12, 31),
    "new year day": lambda year: day(year, 1, 1),
    "new year": lambda year: (date(year, 1, 1).toordinal() - 1, date(year, 1, 1).toordinal() + 1),
    "halloween": lambda year: day(year, 10, 31),
    "thanksgiving": lambda year: _nth_weekday(year, 11, 3, 4),
    "easter": lambda year: (_easter(year)[0] - 2, _easter(year)[0] + 2),
    "mother": lambda year: _nth_weekday(year, 5, 6, 2),
    "father": lambda year: _nth_weekday(year, 6, 6, 3),
}


def around(anchor: int, today: date, unit: str, low: int, high: int) -> Days:
    """From `low` to `high` units after a day: days are exact, longer units are taken more loosely the further away."""
    far = max(abs(low), abs(high))
    if unit == "day":
        slack = 1 if low != high else 0
        start, end = anchor + low - slack, anchor + high + slack
    elif unit == "week":
        slack = 4 + far // 4
        start, end = anchor + _WEEK * low - slack, anchor + _WEEK * high + slack
    else:
        size = _DECEMBER if unit == "year" else 1
        slack = (45 if far == 1 else _HALF_YEAR) if unit == "year" else min(14 + 2 * far, 45)
        start, end = add_months(today, size * low) - slack, add_months(today, size * high) + slack
    return start, end + 1


def add_units(today: date, unit: str, count: int) -> int:
    """The day so many units later, or earlier if negative."""
    if unit in {"day", "week"}:
        return today.toordinal() + count * (_WEEK if unit == "week" else 1)
    return add_months(today, count * (_DECEMBER if unit == "year" else 1))


def monthly(today: date, number: int) -> list[Days]:
    """That day of the last, this and the next months, as many as have it."""
    found = []
    for ahead in range(-2, 3):
        start, end = months(today.year, today.month + ahead)
        if start + number <= end:
            found.append((start + number - 1, start + number))
    return found


def rolling(today: date, unit: str, count: int) -> Days:
    """The last (or, if positive, the next) so many units, today included."""
    now, other = today.toordinal(), add_units(today, unit, count)
    return min(now, other), max(now, other) + 1


def calendar(today: date, unit: str, which: int) -> Days:
    """The last, this or the next week, weekend, month or year of the calendar."""
    if unit == "year":
        return months(today.year + which, 1, _DECEMBER)
    if unit == "month":
        return months(today.year, today.month + which)
    monday = week_of(today.toordinal()) + _WEEK * which
    return (monday + 5, monday + _WEEK) if unit == "weekend" else (monday, monday + _WEEK)


def to_date(number: int) -> date | None:
    return date.min + timedelta(days=number - 1) if 0 < number <= LAST - 2 else None
