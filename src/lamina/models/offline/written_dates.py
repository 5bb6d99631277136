"""Writes the date behind words such as "tomorrow", only where there is one reading."""

import re
from datetime import datetime, timedelta

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_COUNTING = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_NUMBERS = {word: number for number, word in enumerate(_COUNTING, 1)} | {"a": 1, "an": 1}
_OFFSETS = {"today": 0, "tonight": 0, "yesterday": -1, "tomorrow": 1}
_MOST = 400  # days or weeks; further away nothing is sure

_QUICK = re.compile(
    r"today|tonight|yesterday|tomorrow|\bago\b|\bin\b|(?:last|next|this)\s+(?:mon|tue|wed|thu|fri|sat|sun)",
    re.IGNORECASE,
)
_COUNT = rf"(?P<{{}}>\d{{{{1,3}}}}|(?i:{'|'.join(_NUMBERS)}))"
_PHRASE = re.compile(
    r"(?<![\w'\u2019\"“\u2018-])(?:"
    r"(?P<day>[Tt]oday|[Tt]onight|[Yy]esterday|[Tt]omorrow)"
    rf"|(?P<which>[Ll]ast|[Nn]ext|[Tt]his)\s+(?P<weekday>(?i:{'|'.join(_WEEKDAYS)}))"
    rf"|{_COUNT.format('back')}\s+(?P<back_unit>days?|weeks?)\s+ago"
    rf"|(?P<lead>(?:is|are|'s|\u2019s|be|due|starts?|leaving|happens?|happening)\s+)in\s+{_COUNT.format('ahead')}\s+"
    r"(?P<ahead_unit>days?|weeks?)"
    r")(?![\w'\u2019\"”]|\s*\[|-)",
)
_NOT_A_DAY = re.compile(r"(?:\bno|\bnot|\bof|\blike|\bthe|\btill|\bin)\s+\Z", re.IGNORECASE)


def dated(text: str, at: datetime) -> str:
    """The text with the absolute date in brackets after each relative day that can mean only one."""
    if not _QUICK.search(text):
        return text
    seen: set[str] = set()

    def written(match: re.Match[str]) -> str:
        date = _date(match, at)
        if date is None or date in seen or _NOT_A_DAY.search(text, 0, match.start()):
            return match.group()
        seen.add(date)
        return f"{match.group()} [{date}]"

    return _PHRASE.sub(written, text)


def _date(match: re.Match[str], at: datetime) -> str | None:
    days: int | None
    mark = ""
    if match["day"]:
        days = _OFFSETS[match["day"].lower()]
    elif match["which"]:
        days = _to_weekday(match["which"].lower(), _WEEKDAYS.index(match["weekday"].lower()), at.weekday())
    else:
        sign, count, unit = (
            (-1, match["back"], match["back_unit"])
            if match["back"]
            else (
                1,
                match["ahead"],
                match["ahead_unit"],
            )
        )
        number = int(count) if count.isdigit() else _NUMBERS[count.lower()]
        days = sign * number * (7 if unit.startswith("week") else 1) if number <= _MOST else None
        mark = "~" if unit.startswith("week") else ""
    if days is None:
        return None
    try:
        return f"{mark}{(at + timedelta(days=days)).date().isoformat()}"
    except OverflowError:
        return None


def _to_weekday(which: str, weekday: int, today: int) -> int | None:
    """Days to that weekday, if the nearest one and the one of the calendar week are the same."""
    if which == "this":
        return weekday - today if weekday >= today else None
    if which == "last":
        return weekday - today - 7 if weekday >= today else None
    return weekday - today + 7 if weekday <= today else None
