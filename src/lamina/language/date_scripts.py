"""Phrases of time in languages that have a script of their own, by the tables of `date_tables`.

Kinds of forms: `day` so many days from today, `either` the same before or after today, `week` a weekday of a week,
`next` a weekday that is last, this or next, `coming` the first one to come or the last, `weekday` alone, `date` a day
or month of a year, `monthday` a day of the next month, `span` a unit of the calendar, `end` its last days, `ago` and
`later` a number of units from today.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from functools import cache

from lamina.language import calendar
from lamina.language.calendar import Days
from lamina.language.date_phrases import Phrase
from lamina.language.date_tables import TABLES, DateTable
from lamina.language.languages import script_language

_LIST = re.compile(r"(?<!\?P)<(days|weekdays|weeks|spans|ends|numbers|number|units|months|amounts)>")
_LATE = 2
_DECEMBER = 12
_MAX_NUMBER = 400
_NEAR = 16  # characters around a phrase in which a word may say that it begins or ends something
_WEEK = 7
Reading = tuple[int, int, Phrase, str]  # where it stands in the text, what it means, since or until or nothing


def has_script_cue(text: str) -> bool:
    """Whether a phrase of time in another script is in the text; no work for text in Latin letters."""
    return any(form.search(text) for language in _languages(text) for _, form in _forms(language))


def script_phrases(text: str, today: date) -> Iterator[Reading]:
    """The phrases of a text in order; `first` and `past` of each are not yet set."""
    done = 0
    for start, end, kind, match, table in sorted(_matches(text), key=lambda one: (one[0], -one[1])):
        if start < done:
            continue
        try:
            phrase = _KINDS[kind](match, table, today)
        except (ValueError, OverflowError):  # 31 February, year 0
            continue
        done = end
        yield start, end, phrase, _opener(text, start, end, table)


def _languages(text: str) -> tuple[str, ...]:
    """The languages that a text may be in; a date in Chinese characters alone may be Japanese."""
    language = script_language(text) or ""
    if language == "zh":
        return "zh", "ja"
    return (language,) if language in TABLES else ()


def _matches(text: str) -> Iterator[tuple[int, int, str, re.Match[str], DateTable]]:
    for language in _languages(text):
        for kind, form in _forms(language):
            for match in form.finditer(text):
                yield match.start(), match.end(), kind, match, TABLES[language]


@cache
def _forms(language: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((kind, _compile(source, TABLES[language])) for kind, source in TABLES[language].forms)


def _compile(source: str, table: DateTable) -> re.Pattern[str]:
    """The form with its lists written out."""

    def put(match: re.Match[str]) -> str:
        name = match[1]
        listed: Mapping[str, object] = getattr(table, "numbers" if name == "number" else name)
        words = "|".join(re.escape(word) for word in sorted(listed, key=len, reverse=True)) or "(?!)"
        if name == "numbers":
            return f"(?:{words})"
        digits = r"\d{1,3}|" if name == "number" else ""
        return f"(?P<{name}>{digits}{words})"

    return re.compile(_LIST.sub(put, source), re.IGNORECASE)


def _opener(text: str, start: int, end: int, table: DateTable) -> str:
    """What the words around a phrase say: that something ends or begins then."""
    left, right = text[max(start - _NEAR, 0) : start], text[end : end + _NEAR]
    for name, (before, behind) in (("until", table.until), ("since", table.since)):
        if (before and re.search(rf"(?:{before})\Z", left)) or (behind and re.match(behind, right)):
            return name
    return ""


def _day(match: re.Match[str], table: DateTable, today: date) -> Phrase:
    start = today.toordinal() + table.days[match["days"].lower()]
    return Phrase(0, 0, start, start + 1, relative=0)


def _either(match: re.Match[str], table: DateTable, today: date) -> Phrase:
    ahead = table.days[match["days"]]
    behind = bool(re.search(table.past, match.string[match.end() :]))
    start = today.toordinal() + (-ahead if behind else ahead)
    return Phrase(0, 0, start, start + 1, exact=ahead == 0, relative=0 if ahead == 0 else -1)


def _week(match: re.Match[str], table: DateTable, today: date) -> Phrase:
    monday = calendar.week_of(today.toordinal()) + _WEEK * table.weeks[match["weeks"].lower()]
    start = monday + table.weekdays[match["weekdays"].lower()]
    return Phrase(0, 0, start, start + 1, grain="weekday", relative=0)


def _next(match: re.Match[str], table: DateTable, today: date) -> Phrase:
    """As in English: "next Friday" is sure where this week's is over."""
    phrase = _week(match, table, today)
    which, wanted = table.weeks[match["weeks"].lower()], table.weekdays[match["weekdays"].lower()]
    here = calendar.weekday(today.toordinal())
    if which < 0:
        start = calendar.weekday_before(today.toordinal(), wanted)
        phrase = phrase._replace(start=start, end=start + 1)
    sure = wanted <= here if which > 0 else wanted >= here
    return phrase._replace(exact=sure, relative=0 if sure else -1)


def _coming(match: re.Match[str], table: DateTable, today: date) -> Phrase:
    now, wanted = today.toordinal(), table.weekdays[match["weekdays"]]
    ahead = table.weeks[match["weeks"]] > 0
    start = calendar.weekday_from(now + 1, wanted) if ahead else calendar.weekday_before(now, wanted)
    return Phrase(0, 0, start, start + 1, grain="weekday", relative=0)


def _weekday(match: re.Match[str], table: DateTable, today: date) -> Phrase:
    start = calendar.weekday_before(today.toordinal() + 1, table.weekdays[match["weekdays"].lower()])
    return Phrase(0, 0, start, start + 1, exact=False, grain="weekday", cycle="week")


def _date(match: re.Match[str], table: DateTable, today: date) -> Phrase:
    groups = match.groupdict()
    month = groups.get("month") or groups.get("months") or ""
    number = table.months.get(month.lower()) or _number(month, table)
    day = int(groups.get("day") or 0)
    if not 1 <= number <= _DECEMBER:
        raise ValueError("no such month")

    def yearly(of: int) -> Days:
        return calendar.day(of, number, day) if day else calendar.months(of, number)

    grain = "day" if day else "month"
    if groups.get("year"):
        return Phrase(0, 0, *yearly(int(groups["year"] or 0)), grain=grain)
    (start, end), sure = calendar.nearest(yearly, today)
    return Phrase(0, 0, start, end, exact=sure, grain=grain, yearly=yearly)


def _monthday(match: re.Match[str], _table: DateTable, today: date) -> Phrase:
    start, end = calendar.months(today.year, today.month + 1)
    day = start + int(match["day"]) - 1
    if not start <= day < end:
        raise ValueError("no such day in the month")
    return Phrase(0, 0, day, day + 1, relative=0)


def _span(match: re.Match[str], table: DateTable, today: date) -> Phrase:
    unit, which = table.spans[match["spans"].lower()]
    return Phrase(0, 0, *calendar.calendar(today, unit, which), grain=unit)


def _end(match: re.Match[str], table: DateTable, today: date) -> Phrase:
    unit, which = table.ends[match["ends"].lower()]
    start, end = calendar.part(calendar.calendar(today, unit, which), _LATE)
    return Phrase(0, 0, start, end, exact=False, grain="part", point=end - 1)


def _ago(match: re.Match[str], table: DateTable, today: date) -> Phrase:
    return _away(match, table, today, -1)


def _later(match: re.Match[str], table: DateTable, today: date) -> Phrase:
    return _away(match, table, today, 1)


def _away(match: re.Match[str], table: DateTable, today: date, sign: int) -> Phrase:
    groups = match.groupdict()
    if groups.get("amounts"):
        unit, count = table.amounts[match["amounts"].lower()]
    else:
        unit = table.units[match["units"].lower()]
        count = _number(groups.get("number") or "1", table)
    start, end = calendar.around(today.toordinal(), today, unit, sign * count, sign * count)
    point = calendar.add_units(today, unit, sign * count)
    near = unit in {"day", "week"}
    return Phrase(0, 0, start, end, exact=unit == "day", point=point, relative=0 if near else -1)


def _number(word: str, table: DateTable) -> int:
    number = int(word) if word.isdigit() else table.numbers.get(word.lower(), 0)
    if not 0 < number <= _MAX_NUMBER:
        raise ValueError("no number of days")
    return number


_KINDS: Mapping[str, Callable[[re.Match[str], DateTable, date], Phrase]] = {
    "day": _day, "either": _either, "week": _week, "next": _next, "coming": _coming, "weekday": _weekday,
    "date": _date, "monthday": _monthday, "span": _span, "end": _end, "ago": _ago, "later": _later,
}  # fmt: skip
