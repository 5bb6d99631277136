"""Single phrases of time, read around their head word: a month, a unit, a weekday, a year."""

from collections.abc import Callable, Sequence
from datetime import date
from functools import partial
from typing import NamedTuple

from lamina.language import calendar
from lamina.language import date_words as words
from lamina.language.calendar import Days, Yearly

_MAX_DIGITS = 4
_LAST_DAY = 31
_SUNDAY = 6
_SATURDAY = 5
_RECENT = 21  # days
_SHORT_YEAR = 2
_YEARS_AHEAD = 10


class Phrase(NamedTuple):
    """Words `first` up to `past` of a text, and the days that they mean."""

    first: int
    past: int
    start: int
    end: int
    exact: bool = True
    grain: str = "day"
    yearly: Yearly | None = None  # without a year: its days in any year
    cycle: str = ""  # "week" or "month" if it comes again with each and nothing says which is meant
    point: int = 0  # the day that is meant where the stretch is wider; 0: its first
    relative: int = -1  # the first word of a day counted from today; -1: it is none
    opener: str = ""  # "since", "until" or "for"

    @property
    def day(self) -> int:
        """The day that is meant."""
        return self.point or self.start


class Words(NamedTuple):
    """A text as lower-case words and signs, the same as written, and the day it was written."""

    low: Sequence[str]
    cased: Sequence[str]
    today: date
    ahead: bool = False  # a time that nothing else fixes is in the future

    def at(self, index: int) -> str:
        """The word there, '' beyond the ends."""
        return self.low[index] if 0 <= index < len(self.low) else ""

    def number(self, index: int) -> int | None:
        word = self.at(index)
        if word.isdigit() and word.isascii():
            return int(word) if len(word) <= _MAX_DIGITS else None
        return words.NUMBERS.get(word)

    def numeral(self, index: int, max_value: int = _LAST_DAY) -> int | None:
        """A number in digits from 1 to `max_value`."""
        word = self.at(index)
        if word.isdigit() and word.isascii() and len(word) <= len(str(max_value)):
            return int(word) if 1 <= int(word) <= max_value else None
        return None

    def short_year(self, index: int) -> int | None:
        """`22` as 2022, `98` as 1998: of the two centuries the later, if that is at most ten years ahead."""
        word = self.at(index)
        if len(word) != _SHORT_YEAR or not (word.isdigit() and word.isascii()):
            return None
        return 2000 + int(word) if 2000 + int(word) <= self.today.year + _YEARS_AHEAD else 1900 + int(word)


def month(text: Words, index: int) -> Phrase | None:
    """`8 May 2023`, `May 8-12`, `May of 2023`, `last March`, `in March`."""
    number = words.MONTHS[text.low[index]]
    first, low, high = _day_before(text, index)
    past = index + 1
    if not low:
        low, high, past = _day_after(text, index)
    year, past = _year_after(text, past)
    before = text.at(first - 1)
    if year is None and not _is_month(text, index, before, dated=bool(low)):
        return None

    def yearly(of: int) -> Days:
        if not low:
            return calendar.months(of, number)
        return calendar.day(of, number, low)[0], calendar.day(of, number, high)[1]

    grain = "month" if not low else "day"
    return _resolve_year(text, Phrase(first, past, 0, 0, grain=grain), yearly, year)


def _day_before(text: Words, index: int) -> tuple[int, int, int]:
    """Where the phrase begins, and its first and last day of the month; 0 if no day stands before it."""
    at = index - 1
    if text.at(at) in {"of", "de"} or (text.at(at) == "-" == text.at(index + 1)):
        at -= 1
    elif text.at(at) == ".":
        at -= 1
        if text.low[index] not in words.DOTTED_MONTHS and text.at(at - 1) not in words.GERMAN_THE:
            return index, 0, 0
    if text.at(at) in words.ORDINAL_ENDINGS:
        at -= 1
    day = text.numeral(at) or (max(words.ORDINALS.get(text.at(at), 0), 0) if at < index - 1 else 0)
    if not day or text.at(at - 1) in {":", "$", "/"}:
        return index, 0, 0
    other = text.numeral(at - 2) if text.at(at - 1) in words.TO else None
    if other and other < day:
        return at - 2, other, day
    return at, day, day


def _day_after(text: Words, index: int) -> tuple[int, int, int]:
    """The first and last day of the month and where the phrase ends; 0 if no day follows."""
    at = index + 1
    sign = text.at(at)
    short = sign == "." and text.low[index] in words.UNSURE_MONTHS and text.low[index] != "may"
    if sign == "the" or (sign == "-" == text.at(at + 2)) or short:
        at += 1
    day = text.numeral(at) or max(words.ORDINALS.get(text.at(at), 0), 0)
    if not day or (text.at(at + 1) == ":" and text.numeral(at + 2, 59)):
        return 0, 0, index + 1
    at += 2 if text.at(at + 1) in words.ORDINAL_ENDINGS else 1
    until = at + 1
    linked = text.at(at) in words.TO or (text.at(at) in words.AND and text.at(index - 1) in words.BETWEEN)
    other = text.numeral(until)
    if linked and other and other > day and text.at(until + 1) not in words.MONTHS and text.at(until + 1) != ":":
        return day, other, until + (2 if text.at(until + 1) in words.ORDINAL_ENDINGS else 1)
    return day, day, at


def _year_after(text: Words, at: int) -> tuple[int | None, int]:
    skip = at + 1 if text.at(at) in {",", "of", "de", "-", "/", "del"} else at
    if text.at(skip) in words.YEARS:
        return words.YEARS[text.at(skip)], skip + 1
    short = text.short_year(skip + 1) if text.at(skip) in {"'", "\u2019"} else None
    return (None, at) if short is None else (short, skip + 2)


def _is_month(text: Words, index: int, before: str, *, dated: bool) -> bool:
    """Whether the word is meant as a month, and is no verb and no name."""
    word = text.low[index]
    capital = text.cased[index].istitle()
    if before == "-" and text.at(index - 2) in words.PARTS:
        return True
    if before in words.OF_TIME and (capital or word not in words.VERBS or before in words.BEFORE_VERBS):
        return True
    if dated:
        return word not in words.VERBS or capital or before in {"on", "the"}
    if word not in words.UNSURE_MONTHS:
        return True
    if text.at(index - 2) in words.MONTHS and (before in words.TO or before in words.AND):
        # "April to June" and "in April and June", but not "with April and June"
        return before in words.TO or text.at(index - 3) in words.OF_TIME
    ahead = text.at(index + 1) in words.TO and text.at(index + 2) in words.MONTHS
    return capital and (before in words.OWN or ahead)


def _resolve_year(text: Words, phrase: Phrase, yearly: Yearly, year: int | None) -> Phrase:
    """The phrase with its days: of its year, of `last`, `this` or `next`, or of the nearest."""
    if year is not None:
        start, end = yearly(year)
        return phrase._replace(start=start, end=end)
    which = words.WHICH.get(text.at(phrase.first - 1))
    if which is not None:
        start, end = calendar.relative(yearly, which, text.today)
        return phrase._replace(first=phrase.first - 1, start=start, end=end)
    (start, end), sure = calendar.nearest(yearly, text.today)
    return phrase._replace(start=start, end=end, exact=sure, yearly=yearly)


def year(text: Words, index: int) -> Phrase | None:
    """`2023-05-08`, `2023/05/08`, `5/8/2023`, `8.5.2023`, `2023-05`, `in 2023`."""
    number = words.YEARS[text.low[index]]
    sign = text.at(index + 1)
    if sign in {"-", "/", "."} and text.numeral(index + 2, 12):
        if text.at(index + 3) == sign and text.numeral(index + 4):
            start, end = calendar.day(number, int(text.low[index + 2]), int(text.low[index + 4]))
            return Phrase(index, index + 5, start, end)
        if sign == "-" and len(text.low[index + 2]) == _SHORT_YEAR and text.at(index + 3) != sign:
            return Phrase(index, index + 3, *calendar.months(number, int(text.low[index + 2])), grain="month")
    back = text.at(index - 1)
    if back in {"/", ".", "-"} and text.at(index - 3) == back:
        return _numeric(text, index - 4, number, index + 1)
    is_time = back in words.OF_TIME or back == "year" or back in words.PARTS
    linked = (back in words.AND or back in words.TO) and text.at(index - 3) in words.OF_TIME
    if sign in words.THINGS or back in words.WHICH or not (is_time or linked):
        return None
    return Phrase(index, index + 1, *calendar.months(number, 1, 12), grain="year")


def slash(text: Words, index: int) -> Phrase | None:
    """`5/8/23`."""
    short = text.short_year(index + 3)
    if short is None or text.at(index + 2) != "/" or "/" in {text.at(index - 2), text.at(index + 4)}:
        return None
    return _numeric(text, index - 1, short, index + 4)


def _numeric(text: Words, index: int, of: int, past: int) -> Phrase | None:
    one, other = text.numeral(index), text.numeral(index + 2)
    if not one or not other:
        return None
    days_first = text.at(index + 1) == "." or one > 12  # noqa: PLR2004 - months of a year
    number, day = (other, one) if days_first else (one, other)
    sure = days_first or other > 12 or one == other  # noqa: PLR2004
    return Phrase(index, past, *calendar.day(of, number, day), exact=sure)


def day_name(text: Words, index: int) -> Phrase | None:
    """`yesterday`, `today`, `tomorrow`."""
    word = text.low[index]
    for phrase, days in words.FAR_DAYS.items():
        first = index - len(phrase) + 1
        if word == phrase[-1] and first >= 0 and tuple(text.low[first : index + 1]) == phrase:
            start = text.today.toordinal() + days
            return Phrase(first, index + 1, start, start + 1, relative=first)
    if word in {"morgen", "mañana"} and text.at(index - 1) in words.MORNINGS:
        return None
    if word in words.HERE and not _is_french(text, index):
        return None
    past = index + 3 if (word, text.at(index + 2)) == ("aujourd", "hui") else index + 1
    start = text.today.toordinal() + words.DAYS[word]
    return Phrase(index, past, start, start + 1, relative=index)


def _is_french(text: Words, index: int) -> bool:
    """Whether "hier" is the French "yesterday"."""
    return any(word in words.FRENCH for word in (*text.low[:index], *text.low[index + 1 :]))


def vague(text: Words, index: int) -> Phrase | None:
    """`recently`, `lately`; but `most recently` is the last one, however long ago."""
    return None if text.at(index - 1) in {"most", "how"} else _recent(text, index, index + 1)


def _recent(text: Words, first: int, past: int) -> Phrase:
    now = text.today.toordinal()
    return Phrase(first, past, now - _RECENT, now + 1, exact=False, grain="vague")


def weekday(text: Words, index: int) -> Phrase | None:
    """`last Friday`, `this Friday`, `next Friday`, `on Friday`."""
    word = text.low[index]
    wanted = words.WEEKDAYS[word]
    now = text.today.toordinal()
    today = calendar.weekday(now)
    before = text.at(index - 1)
    week = words.WHICH.get(text.at(index - 2)) if words.UNITS.get(before) == "week" else None
    if week is not None:  # "nächste Woche Dienstag"
        start = calendar.week_of(now) + 7 * week + wanted
        return Phrase(index - 2, index + 1, start, start + 1, grain="weekday", relative=index - 2)
    which, first, past = words.WHICH.get(before), index - 1, index + 1
    if (text.at(past), text.at(past + 1)) == ("-", "feira"):
        past += 2
    if which is None:
        first = index
        which, past = which_after(text, past)
    listed = before in words.TO and text.at(index - 2) in words.WEEKDAYS
    named = before in words.ON or word in words.SURE_WEEKDAYS or word in words.ON_DAYS.get(before, ())
    if which is None and not named and not listed:
        return None
    if which is None:
        start = calendar.weekday_before(now + 1, wanted)
        return Phrase(index, past, start, start + 1, exact=False, grain="weekday", cycle="week")
    if which < 0:
        start, sure = calendar.weekday_before(now, wanted), wanted >= today
    elif which == 0:
        start, sure = calendar.week_of(now) + wanted, wanted >= today
    else:
        start, sure = calendar.week_of(now) + 7 + wanted, wanted <= today
    return Phrase(first, past, start, start + 1, exact=sure, grain="weekday", relative=first if sure else -1)


def which_after(text: Words, past: int) -> tuple[int | None, int]:
    """`pasado`, `prochain`, `que viene` behind a day, week or month: which one is meant, and where the phrase ends."""
    which = words.WHICH_AFTER.get(text.at(past))
    if which is not None:
        return which, past + 1
    return (1, past + 2) if (text.at(past), text.at(past + 1)) in words.COMES else (None, past)


def day_of_month(text: Words, index: int) -> Phrase | None:
    """`on the 3rd`, `until the 3rd`: the nearest one, if no month is named."""
    number = text.numeral(index - 1)
    if not number or text.at(index - 2) != "the" or text.at(index - 3) not in words.ON:
        return None
    if text.at(index + 1) in words.OF or text.at(index + 1) in words.MONTHS or text.at(index + 1).isalpha():
        return None
    now = text.today.toordinal()
    near = [start for start, _ in calendar.monthly(text.today, number)]
    start = min(near, key=lambda day: (abs(day - now), day))
    return Phrase(index - 2, index + 1, start, start + 1, exact=False, cycle="month")


def season(text: Words, index: int) -> Phrase | None:
    """`last summer`, `summer of 2021`, `in the fall`."""
    word = text.low[index]
    first = words.SEASONS[word]
    found, past = _year_after(text, index + 1)
    before = text.at(index - 1)
    is_time = before in words.WHICH or (before == "the" and text.at(index - 2) in {"in", "during", "since", "over"})
    if found is None and not (is_time or (before in words.OF_TIME and word not in words.UNSURE_SEASONS)):
        return None
    phrase = Phrase(index, past, 0, 0, grain="season")
    if found is None and words.WHICH.get(before) == 0 and first == 12 and text.today.month <= 2:  # noqa: PLR2004
        found = text.today.year - 1
    return _resolve_year(text, phrase, calendar.season(first), found)._replace(exact=False)


def holiday(text: Words, index: int) -> Phrase | None:
    """`Valentine's Day`, `last Christmas`, `Christmas Eve 2022`."""
    name = words.SAME_HOLIDAY.get(text.low[index], text.low[index])
    past = _after_possessive(text, index + 1)
    follows = text.at(past)
    if name in {"mother", "father"} and (follows != "day" or past == index + 1):
        return None
    if follows == "day" or (follows == "eve" and name == "christmas"):
        name = f"{name} {follows}" if name == "christmas" else name
        past += 1
    return _holiday(text, name, index, past)


def _after_possessive(text: Words, index: int) -> int:
    while text.at(index) in {"'", "\u2019", "s"}:
        index += 1
    return index


def _holiday(text: Words, name: str, first: int, past: int) -> Phrase:
    found, past = _year_after(text, past)
    return _resolve_year(text, Phrase(first, past, 0, 0), calendar.HOLIDAYS[name], found)


def quarter(text: Words, index: int) -> Phrase | None:
    """`Q1 2024`, `Q3`."""
    number = text.numeral(index + 1, 4)
    if not number:
        return None
    found, past = _year_after(text, index + 2)
    if found is None and text.at(index - 1) not in words.OF_TIME:
        return None  # the first question
    yearly = partial(calendar.months, month=3 * number - 2, count=3)
    return _resolve_year(text, Phrase(index, past, 0, 0, grain="season"), yearly, found)


def unit(text: Words, index: int) -> Phrase | None:
    """`3 days ago`, `the past two weeks`, `last month`, `this weekend`, `New Year's Eve`, `the other day`."""
    kind = words.UNITS[text.low[index]]
    before = text.at(index - 1)
    if kind == "night":
        return _night(text, index, before)
    if kind == "day" and before == "other" and text.at(index - 2) == "the":
        return _recent(text, index - 2, index + 1)
    if kind == "year" and before == "new":
        return _new_year(text, index)
    first, counted = count(text, index - 1)
    if counted and kind == "decade":
        kind, counted = "year", (10 * counted[0], 10 * counted[1])
    if counted and kind != "weekend":
        return _quantity(text, Phrase(first, index + 1, *counted), kind)
    return _relative_unit(text, index, kind) if kind not in {"day", "decade"} else None


def _relative_unit(text: Words, index: int, kind: str) -> Phrase | None:
    """`last month`, `the past month`, `the week before last`, `la semana pasada`."""
    before, after = text.at(index - 1), text.at(index + 1)
    if after == "before" and text.at(index + 2) == "last":
        return Phrase(index, index + 3, *calendar.calendar(text.today, kind, -2), grain=kind)
    which, first, past = words.WHICH.get(before), index - 1, index + 1
    if which is None:
        which, past = which_after(text, index + 1)
        first = first if which is None else index
    if which is None and _part_of_running(text, index):
        return Phrase(index, past, *calendar.calendar(text.today, kind, 0), grain=kind)
    if which is None or after == "of":
        return None
    the = text.at(index - 2) == "the"
    if which < 0 and the and (before == "past" or text.at(index - 3) in words.ROLLING) and kind != "weekend":
        return Phrase(index - 2, past, *calendar.rolling(text.today, kind, -1), exact=False, grain=kind)
    sure = kind != "weekend" or which <= 0
    return Phrase(first, past, *calendar.calendar(text.today, kind, which), exact=sure, grain=kind)


def _part_of_running(text: Words, index: int) -> bool:
    """`the end of the week`, `Ende des Monats`, `a fin de mes`."""
    at = index - 1
    article = text.at(at) in words.THE
    at -= article
    of = text.at(at) in {"of", "de", "del"}
    return (article or of) and text.at(at - of) in words.PARTS_OF and (of or text.at(at) in words.PARTS)


def _night(text: Words, index: int, before: str) -> Phrase | None:
    now = text.today.toordinal()
    if before == "last" and text.low[index] in {"night", "evening"}:
        return Phrase(index - 1, index + 1, now - 1, now)
    if words.WHICH.get(before) == 0:
        return Phrase(index - 1, index + 1, now, now + 1)
    return None


def _new_year(text: Words, index: int) -> Phrase | None:
    past = _after_possessive(text, index + 1)
    follows = text.at(past)
    if follows in {"eve", "day"}:
        return _holiday(text, f"new year {follows}", index - 1, past + 1)
    return _holiday(text, "new year", index - 1, past) if past > index + 1 else None


def count(text: Words, index: int) -> tuple[int, Days | None]:
    """Where a number of things begins that ends here, and from how many to how many it means."""
    at = index - 1 if text.at(index) == "of" and text.at(index - 1) == "couple" else index
    fuzzy = words.FUZZY.get(text.at(at))
    if fuzzy:
        return (at - 1 if text.at(at - 1) in {"a", "ein", "een"} else at), fuzzy
    number = text.number(at)
    return at, (number, number) if number is not None else None


def _quantity(text: Words, phrase: Phrase, kind: str) -> Phrase | None:
    """A number of units, with what makes it a time: `ago`, `last`, `from now`, `is in`, `for`."""
    low, high = phrase.start, phrase.end
    sure = low == high
    after, before = text.at(phrase.past), text.at(phrase.first - 1)
    from_now = after == "from" and text.at(phrase.past + 1) in {"now", "today"}
    ago_words, in_words = _ago_words(text, phrase.first), _in_words(text, phrase)
    ago, coming = after in words.AGO or ago_words > 0, in_words > 0
    if before == "half" and kind == "year" and (ago or from_now):
        kind, low, high = "month", 6, 6
    if ago or from_now or (coming and not after.startswith("of")):
        sign = -1 if ago else 1
        start, end = calendar.around(text.today.toordinal(), text.today, kind, *sorted((sign * low, sign * high)))
        first = phrase.first - (ago_words or (0 if ago or from_now else in_words))
        return Phrase(
            first,
            phrase.past + (2 if from_now else after in words.AGO),
            start,
            end,
            exact=sure and kind == "day",
            point=calendar.add_units(text.today, kind, sign * ((low + high) // 2)),
            relative=first if sure and kind in {"day", "week"} else -1,
        )
    if before in words.FOR and not text.ahead:
        start = calendar.add_units(text.today, kind, -((low + high) // 2))
        return Phrase(phrase.first - 1, phrase.past, start, text.today.toordinal() + 1, exact=False, opener="for")
    which = words.WHICH.get(before)
    if not which or before in {"pasado", "pasada"} or (low, high) == (1, 1):
        return None
    start, end = calendar.rolling(text.today, kind, which * high)
    return Phrase(phrase.first - 1, phrase.past, start, end, exact=sure, grain="rolling")


def _ago_words(text: Words, first: int) -> int:
    """How many words before a number of units say that it is past: `vor`, `hace`, `il y a`."""
    if tuple(text.low[max(first - 3, 0) : first]) == ("il", "y", "a"):
        return 3
    return int(text.at(first - 1) in words.AGO_BEFORE)


def _in_words(text: Words, phrase: Phrase) -> int:
    """How many words before a number of units say that it is to come: `dans`, `daqui a`; `in` if it can mean a time."""
    before, lead = text.at(phrase.first - 1), text.at(phrase.first - 2)
    if f"{lead} {before}" in words.COMING:
        return 2
    dutch = before == "over" and text.at(phrase.past - 1) in words.DUTCH_UNITS
    weak = before in words.IN and (text.ahead or lead in words.LEADS)
    return int(before in words.COMING or dutch or weak)


READERS: dict[str, Callable[[Words, int], Phrase | None]] = {
    **dict.fromkeys(words.MONTHS, month),
    **dict.fromkeys(words.YEARS, year),
    **dict.fromkeys(words.DAYS, day_name),
    **dict.fromkeys(words.VAGUE, vague),
    **dict.fromkeys(words.WEEKDAYS, weekday),
    **dict.fromkeys(words.SEASONS, season),
    **dict.fromkeys(words.HOLIDAYS, holiday),
    **dict.fromkeys(words.UNITS, unit),
    **dict.fromkeys(words.ORDINAL_ENDINGS, day_of_month),
    "q": quarter,
    "/": slash,
}
