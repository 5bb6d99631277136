"""Times that words speak of: dates, phrases relative to a day, and what only looks like one."""

from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lamina.language.dates import EARLIEST, LATEST, Window, period, windows, with_dates

AT = datetime(2023, 5, 17, 10, 30, tzinfo=UTC)  # a Wednesday
MONTH_NAMES = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip


def spelled(text: str, at: datetime = AT) -> list[str]:
    """Windows as `first..last day`, with ~ if vague and nothing at an open end."""
    found = []
    for window in windows(text, at):
        first = "" if window.start == EARLIEST else f"{window.start:%Y-%m-%d}"
        last = "" if window.end == LATEST else f"{window.end - timedelta(days=1):%Y-%m-%d}"
        found.append((first if first == last else f"{first}..{last}") + ("" if window.exact else "~"))
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("on 2023-05-08", "2023-05-08", id="iso"),
        pytest.param("at 2023-05-08T10:15:00Z", "2023-05-08", id="iso-with-time"),
        pytest.param("2023/05/08 (Mon) 21:40", "2023-05-08", id="year-first"),
        pytest.param("2:05 pm on 8 May, 2023", "2023-05-08", id="day-month-year"),
        pytest.param("the 8th of May 2023", "2023-05-08", id="ordinal"),
        pytest.param("May 8th, 2023", "2023-05-08", id="month-day-year"),
        pytest.param("Dec. 5, 2022", "2022-12-05", id="short-month"),
        pytest.param("March-15-2024", "2024-03-15", id="dashes"),
        pytest.param("MAY 8, 2023", "2023-05-08", id="capitals"),
        pytest.param("13/5/2023", "2023-05-13", id="slashes-one-reading"),
        pytest.param("5/8/2023", "2023-05-08~", id="slashes-american"),
        pytest.param("5/18/22", "2022-05-18", id="slashes-short-year"),
        pytest.param("5/18/00", "2000-05-18", id="slashes-year-2000"),
        pytest.param("5/18/98", "1998-05-18", id="slashes-last-century"),
        pytest.param("am 8.5.2023", "2023-05-08", id="dots"),
        pytest.param("8-12 May 2022", "2022-05-08..2022-05-12", id="days-before-month"),
        pytest.param("May 8-12, 2022", "2022-05-08..2022-05-12", id="days-after-month"),
        pytest.param("in May 2022", "2022-05-01..2022-05-31", id="month-year"),
        pytest.param("May '22", "2022-05-01..2022-05-31", id="month-short-year"),
        pytest.param("May '00", "2000-05-01..2000-05-31", id="month-year-2000"),
        pytest.param("summer of '98", "1998-06-01..1998-08-31~", id="season-last-century"),
        pytest.param("in 2022-05", "2022-05-01..2022-05-31", id="iso-month"),
        pytest.param("Monday, 8 May 2023", "2023-05-08", id="weekday-and-year"),
        pytest.param("back in 2022", "2022-01-01..2022-12-31", id="year"),
        pytest.param("Q1 2024", "2024-01-01..2024-03-31", id="quarter"),
        pytest.param("summer of 2021", "2021-06-01..2021-08-31~", id="season-year"),
        pytest.param("Easter 2023", "2023-04-07..2023-04-10", id="easter"),
        pytest.param("Thanksgiving 2022", "2022-11-24", id="thanksgiving"),
    ],
)
def test_absolute(text: str, expected: str) -> None:
    """What names its year means the same whenever it is said."""
    assert spelled(text) == [expected]
    assert spelled(text, datetime(2031, 1, 1, tzinfo=UTC)) == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("May 8", "2023-05-08", id="past-day"),
        pytest.param("June 3", "2023-06-03~", id="coming-day"),
        pytest.param("July 4th", "2022-07-04~", id="last-year's-day"),
        pytest.param("the Fourth of July", "2022-07-04~", id="ordinal-word"),
        pytest.param("Monday, July 4th", "2022-07-04", id="weekday-tells-the-year"),
        pytest.param("Friday, May 8", "2023-05-08", id="weekday-of-none-of-these-years"),
        pytest.param("Feb 29", "2020-02-29~", id="leap-day"),
        pytest.param("in March", "2023-03-01..2023-03-31", id="month"),
        pytest.param("in march", "2023-03-01..2023-03-31", id="month-lower-case"),
        pytest.param("last March", "2023-03-01..2023-03-31", id="last-month-of-name"),
        pytest.param("last May", "2022-05-01..2022-05-31", id="not-the-running-one"),
        pytest.param("this March", "2023-03-01..2023-03-31", id="this-month-of-name"),
        pytest.param("next March", "2024-03-01..2024-03-31", id="next-month-of-name"),
        pytest.param("last summer", "2022-06-01..2022-08-31~", id="season"),
        pytest.param("Valentine's Day", "2023-02-14", id="valentine"),
        pytest.param("Valentine\u2019s day", "2023-02-14", id="typographic-apostrophe"),
        pytest.param("last Christmas", "2022-12-24..2022-12-26", id="christmas"),
        pytest.param("Christmas Eve", "2022-12-24", id="christmas-eve"),
        pytest.param("New Year's Eve", "2022-12-31", id="new-year's-eve"),
        pytest.param("Halloween", "2022-10-31~", id="halloween"),
        pytest.param("Mother's Day", "2023-05-14", id="mother's-day"),
    ],
)
def test_without_year(text: str, expected: str) -> None:
    """What names no year is the last one, or one about to come; vague unless it is the nearest that has begun."""
    assert spelled(text) == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("yesterday", "2023-05-16", id="yesterday"),
        pytest.param("see you tomorrow", "2023-05-18", id="tomorrow"),
        pytest.param("last night", "2023-05-16", id="last-night"),
        pytest.param("this morning", "2023-05-17", id="this-morning"),
        pytest.param("the day before yesterday", "2023-05-15", id="day-before-yesterday"),
        pytest.param("last week", "2023-05-08..2023-05-14", id="last-week"),
        pytest.param("the week before last", "2023-05-01..2023-05-07", id="week-before-last"),
        pytest.param("this week", "2023-05-15..2023-05-21", id="this-week"),
        pytest.param("next month", "2023-06-01..2023-06-30", id="next-month"),
        pytest.param("last year", "2022-01-01..2022-12-31", id="last-year"),
        pytest.param("last weekend", "2023-05-13..2023-05-14", id="last-weekend"),
        pytest.param("last Friday", "2023-05-12", id="last-weekday"),
        pytest.param("last Tuesday", "2023-05-16~", id="last-weekday-two-readings"),
        pytest.param("this Friday", "2023-05-19", id="this-weekday"),
        pytest.param("next Monday", "2023-05-22", id="next-weekday"),
        pytest.param("next Friday", "2023-05-26~", id="next-weekday-two-readings"),
        pytest.param("on Friday", "2023-05-12~", id="weekday"),
        pytest.param("Friday of last week", "2023-05-12", id="weekday-of-week"),
        pytest.param("3 days ago", "2023-05-14", id="days-ago"),
        pytest.param("a couple of days ago", "2023-05-13..2023-05-16~", id="couple-of-days"),
        pytest.param("two weeks ago", "2023-04-29..2023-05-07~", id="weeks-ago"),
        pytest.param("a few weeks ago", "2023-04-07..2023-05-08~", id="few-weeks-ago"),
        pytest.param("3 months ago", "2023-01-28..2023-03-09~", id="months-ago"),
        pytest.param("a year ago", "2022-04-02..2022-07-01~", id="year-ago"),
        pytest.param("half a year ago", "2022-10-22..2022-12-13~", id="half-a-year-ago"),
        pytest.param("three days from now", "2023-05-20", id="from-now"),
        pytest.param("the exam is in two weeks", "2023-05-27..2023-06-04~", id="is-in-weeks"),
        pytest.param("a decade ago", "2012-11-15..2013-11-16~", id="decade"),
        pytest.param("on the 3rd", "2023-05-03~", id="day-of-month"),
        pytest.param("on the 3rd floor", None, id="no-day-of-month"),
        pytest.param("the past two months", "2023-03-17..2023-05-17", id="past-months"),
        pytest.param("the last 3 weeks", "2023-04-26..2023-05-17", id="last-weeks"),
        pytest.param("in the last week", "2023-05-10..2023-05-17~", id="in-the-last-week"),
        pytest.param("recently", "2023-04-26..2023-05-17~", id="recently"),
        pytest.param("the other day", "2023-04-26..2023-05-17~", id="other-day"),
    ],
)
def test_relative(text: str, expected: str | None) -> None:
    """Phrases relative to the day of the text; what has a second reading is vague."""
    assert spelled(text) == ([expected] if expected else [])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("two days before May 8", "2023-05-06", id="days-before"),
        pytest.param("3 days after 2 March 2022", "2022-03-05", id="days-after"),
        pytest.param("the week of May 10", "2023-05-08..2023-05-14", id="week-of"),
        pytest.param("the week before 9 June 2022", "2022-06-02..2022-06-08", id="week-before"),
        pytest.param("the week after 9 June 2022", "2022-06-10..2022-06-16", id="week-after"),
        pytest.param("the Friday before 15 July, 2022", "2022-07-08", id="weekday-before"),
        pytest.param("the weekend before 20 July 2022", "2022-07-16..2022-07-17", id="weekend-before"),
        pytest.param("the first week of May 2022", "2022-05-01..2022-05-07~", id="first-week-of"),
        pytest.param("the last week of August 2022", "2022-08-25..2022-08-31~", id="last-week-of"),
        pytest.param("the last Friday of April", "2023-04-28", id="last-weekday-of"),
        pytest.param("the first day of May 2022", "2022-05-01", id="first-day-of"),
        pytest.param("the last day of April", "2023-04-30", id="last-day-of"),
        pytest.param("early March", "2023-03-01..2023-03-10~", id="early"),
        pytest.param("mid-March 2022", "2022-03-11..2022-03-21~", id="mid"),
        pytest.param("the end of April", "2023-04-21..2023-04-30~", id="end-of"),
        pytest.param("between May 3 and May 8", "2023-05-03..2023-05-08", id="between"),
        pytest.param("between May 3 and 8", "2023-05-03..2023-05-08", id="between-days"),
        pytest.param("between the 3rd of May and the 8th of May", "2023-05-03..2023-05-08", id="between-the"),
        pytest.param("from Monday to Friday", "2023-05-15..2023-05-19~", id="weekdays-of-this-week"),
        pytest.param("from July to October 2022", "2022-07-01..2022-10-31", id="from-to-one-year"),
        pytest.param("from November 2021 to February", "2021-11-01..2022-02-28", id="over-new-year"),
        pytest.param("2022-05-01 - 2022-05-07", "2022-05-01..2022-05-07", id="dash"),
        pytest.param("from 2019 to 2021", "2019-01-01..2021-12-31", id="years"),
        pytest.param("since March", "2023-03-01..2023-05-17", id="since"),
        pytest.param("before May 8, 2023", "..2023-05-07", id="before"),
        pytest.param("after May 8, 2023", "2023-05-09..", id="after"),
        pytest.param("until May 8, 2023", "..2023-05-08", id="until"),
        pytest.param("until March", "..2024-03-31", id="until-is-to-come"),
        pytest.param("until Friday", "..2023-05-19~", id="until-weekday"),
        pytest.param("since June", "2022-06-01..2023-05-17~", id="since-has-begun"),
        pytest.param("by the end of the week", "2023-05-20..2023-05-21~", id="end-of-the-week"),
    ],
)
def test_combined(text: str, expected: str) -> None:
    """Words before a date move, widen, narrow or open it."""
    assert spelled(text) == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("am 8. Mai 2022", "2022-05-08", id="german-date"),
        pytest.param("vor drei Tagen", "2023-05-14", id="german-days-ago"),
        pytest.param("letzte Woche", "2023-05-08..2023-05-14", id="german-last-week"),
        pytest.param("gestern", "2023-05-16", id="german-yesterday"),
        pytest.param("im März", "2023-03-01..2023-03-31", id="german-month"),
        pytest.param("el 8 de mayo de 2022", "2022-05-08", id="spanish-date"),
        pytest.param("hace dos semanas", "2023-04-29..2023-05-07~", id="spanish-weeks-ago"),
        pytest.param("la semana pasada", "2023-05-08..2023-05-14", id="spanish-last-week"),
        pytest.param("mañana", "2023-05-18", id="spanish-tomorrow"),
        pytest.param("pasado mañana", "2023-05-19", id="spanish-day-after-tomorrow"),
    ],
)
def test_other_languages(text: str, expected: str) -> None:
    """The commonest German and Spanish phrases."""
    assert spelled(text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "", "You may go.", "This may help.", "May I ask?", "They march on.", "with April and June", "Aunt May came",
        "31 February 2023", "an essay of 2000 words", "every day", "how many weeks ago", "Mondays are hard",
        "most recently", "Q1: what is it?", "my mother had a good day", "24/7", "1/2/3", "spring cleaning", "I fall",
        "99999999999 days ago", "5000 years ago", "guten Morgen", "por la mañana", "in two weeks", "10.0.20.20",
        "February 30", "2022-05-99", "1/5/8/23", "45/67/23",
    ],
)  # fmt: skip
def test_no_time(text: str) -> None:
    """Verbs, names, numbers and impossible days are no times."""
    assert spelled(text) == []


def test_several_in_order() -> None:
    """Every phrase counts, in the order of the text, each stretch once."""
    said = "Yesterday I read what you wrote on 8 May 2023; yesterday, not last week.\nIn 2021 I knew nothing."
    assert spelled(said) == ["2023-05-16", "2023-05-08", "2023-05-08..2023-05-14", "2021-01-01..2021-12-31"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "it rained in march and april", ["2023-03-01..2023-03-31", "2023-04-01..2023-04-30"], id="preposition"
        ),
        pytest.param("in March or April 2021", ["2021-03-01..2021-03-31", "2021-04-01..2021-04-30"], id="year"),
        pytest.param("on May 3 and May 5, 2021", ["2021-05-03", "2021-05-05"], id="days"),
        pytest.param("the plan for April to June", ["2023-04-01..2023-06-30"], id="range"),
    ],
)
def test_linked(text: str, expected: list[str]) -> None:
    """Months that could be names are months beside one that is, and a year said once is of both."""
    assert spelled(text) == expected


def test_lines_of_long_texts() -> None:
    """In a long text the lines without a cue do not matter."""
    assert spelled("nothing here\n" * 60 + "we met two days ago\n" + "nor here\n" * 60) == ["2023-05-15"]


@pytest.mark.parametrize("between", ["; ", "\n"])
def test_the_first_of_very_many(between: str) -> None:
    """Of a text full of dates, in one line or in many, the first 32 count."""
    days = [f"2023-{month:02}-{day:02}" for month in (3, 4) for day in range(1, 31)]
    assert spelled(between.join(days)) == days[:32]


def test_a_winter_is_that_of_the_year_before() -> None:
    """In January this winter is the one that began in December."""
    assert spelled("this winter", datetime(2023, 1, 10, tzinfo=UTC)) == ["2022-12-01..2023-02-28~"]


def test_days_are_those_of_the_zone() -> None:
    """Midnight is that of the moment's own zone, also across a change of its offset."""
    berlin = ZoneInfo("Europe/Berlin")
    late = datetime(2023, 3, 26, 23, 30, tzinfo=berlin)
    assert windows("today", late) == (
        Window(datetime(2023, 3, 26, tzinfo=berlin), datetime(2023, 3, 27, tzinfo=berlin), exact=True),
    )


TUESDAY = datetime(2025, 3, 4, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        pytest.param("I live in Porto until next Friday.", None, "2025-03-14", id="next-friday"),
        pytest.param("here since last month", "2025-02-01", None, id="last-month"),
        pytest.param("here since Christmas", "2024-12-24", None, id="christmas"),
        pytest.param("here since May", "2024-05-01", None, id="month-that-has-begun"),
        pytest.param("here until May", None, "2025-05-01", id="month-to-come"),
        pytest.param("here until tomorrow", None, "2025-03-05", id="tomorrow"),
        pytest.param("here until today", None, "2025-03-05", id="has-begun-so-until-it-ends"),
        pytest.param("here until the 3rd", None, "2025-04-03", id="day-of-month"),
        pytest.param("here since the 3rd", "2025-03-03", None, id="since-day-of-month"),
        pytest.param("here from May 2024 to July 2024", "2024-05-01", "2024-08-01", id="range"),
        pytest.param("from Monday to Friday", None, None, id="a-habit"),
        pytest.param("here for two weeks", "2025-02-18", None, id="so-long-already"),
        pytest.param("seit drei Jahren", "2022-03-04", None, id="german-so-long"),
        pytest.param("seit Mai", "2024-05-01", None, id="german-since"),
        pytest.param("bis Freitag", None, "2025-03-07", id="german-until"),
        pytest.param("bis Ende des Monats", None, "2025-03-31", id="german-end-of"),
        pytest.param("desde mayo", "2024-05-01", None, id="spanish-since"),
        pytest.param("desde hace dos años", "2023-03-04", None, id="spanish-so-long"),
        pytest.param("hasta el viernes", None, "2025-03-07", id="spanish-until"),
        pytest.param("recently", None, None, id="vague"),
        pytest.param("after Easter", None, None, id="after"),
    ],
)
def test_periods(text: str, since: str | None, until: str | None) -> None:
    """Since when and until when something holds: what has begun, and what is to come."""
    found = period(text, TUESDAY, [(0, len(text))], ahead=False)
    assert tuple(moment and f"{moment:%Y-%m-%d}" for moment in found) == (since, until)


@pytest.mark.parametrize(
    ("text", "until"),
    [
        ("on Friday", "2025-03-07"),
        ("on 4 August", "2025-08-04"),
        ("in two weeks", "2025-03-18"),
        ("today", "2025-03-05"),
        ("in May 2026", "2026-06-01"),
        ("in 2026", "2027-01-01"),
    ],
)
def test_what_is_to_come(text: str, until: str) -> None:
    """Of a promise or a goal, what says nothing else is the next one, and ends it."""
    since, end = period(text, TUESDAY, [(0, len(text))], ahead=True)
    assert since is None
    assert end is not None
    assert f"{end:%Y-%m-%d}" == until


FRAGMENTS = (
    "may", "May", "march", "8", "31", "0", "2023", "0000", "9999", "/", "-", ".", ",", ":", "'", "th", "of", "the", "a",
    "last", "next", "this", "past", "few", "couple", "two", "week", "weekend", "month", "years", "day", "ago", "before",
    "after", "since", "until", "between", "and", "from", "to", "early", "mid", "end", "first", "Friday", "on", "in",
    "summer", "Christmas", "Eve", "new", "year", "s", "yesterday", "tomorrow", "recently", "Q", "1", "Feb", "30", "vor",
    "hace", "pasada", "mañana", "by", "for", "seit", "bis", "desde", "hasta", "is", "rd", "decade", "Ende", "des",
    "Monats", "\n", "🎉", "猫",
)  # fmt: skip
MOMENTS = st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=14)), timezone(timedelta(hours=-12))]))


@given(
    st.one_of(st.text(max_size=60), st.lists(st.sampled_from(FRAGMENTS), max_size=14).map(" ".join)),
    MOMENTS,
)
@example("last week tomorrow", datetime.min.replace(tzinfo=UTC))
@example("the month before last week", datetime.min.replace(tzinfo=UTC))
@example("next year in two days from now after Christmas", datetime.max.replace(tzinfo=UTC))
@example("\ud800 yesterday", AT)
def test_any_text_at_any_time(text: str, at: datetime) -> None:
    """Nothing raises, every stretch has a length, and the same text means the same again."""
    found = windows(text, at)
    assert all(window.start < window.end for window in found)
    assert windows(text, at) == found


@given(
    st.dates(date(1900, 1, 1), date(2100, 12, 31)),
    st.sampled_from(["%Y-%m-%d", "%Y/%m/%d", "{day} {month} %Y", "{month} {day}, %Y", "{day}. {month} %Y", "%d.%m.%Y"]),
    MOMENTS,
)
def test_written_dates_are_found(day: date, form: str, at: datetime) -> None:
    """A written date is its day, exactly, whenever it is read."""
    written = day.strftime(form.format(day=day.day, month=MONTH_NAMES[day.month - 1]))
    (window,) = windows(f"We met am {written} or so.", at)
    midnight = datetime(day.year, day.month, day.day, tzinfo=at.tzinfo)
    assert window == Window(midnight, midnight + timedelta(days=1), exact=True)


@given(st.integers(0, 4000), st.datetimes(datetime(1950, 1, 1), datetime(2090, 1, 1), timezones=st.just(UTC)))
def test_days_ago(count: int, at: datetime) -> None:
    """So many days ago is one day."""
    (window,) = windows(f"{count} days ago", at)
    assert window.start.date() == at.date() - timedelta(days=count)
    assert window.exact


SPOKEN = st.lists(st.sampled_from(FRAGMENTS), max_size=10).map(" ".join)
PHRASES = (
    "next Friday", "last Friday", "Friday", "tomorrow", "yesterday", "today", "last month", "next month", "Christmas",
    "May", "29 February", "the 31st", "3 days ago", "two weeks ago", "a decade ago", "the end of the week",
    "last summer", "2019", "2031", "May 8", "8. Mai", "nächsten Freitag", "el viernes", "Ende des Monats",
    "hace dos semanas",
)  # fmt: skip
YEARS = st.datetimes(datetime(1950, 1, 1), datetime(2090, 1, 1), timezones=st.just(UTC))


@given(SPOKEN, MOMENTS, st.booleans())
@example("until today", datetime.max.replace(tzinfo=UTC), False)
def test_periods_of_any_text(text: str, at: datetime, ahead: bool) -> None:
    """Nothing raises, and what begins and ends begins first."""
    since, until = period(text, at, [(0, len(text))], ahead=ahead)
    assert since is None or until is None or since < until
    assert with_dates(text, at).replace(" ", "").startswith(text.replace(" ", "")[:1])


@given(st.sampled_from(PHRASES), st.sampled_from(["", "since ", "until ", "on ", "in "]), YEARS)
def test_all_readers_agree(phrase: str, opener: str, at: datetime) -> None:
    """The day with which a fact begins or ends and the one that a summary writes are in the stretch of search."""
    text = opener + phrase
    found = windows(text, at)
    since, until = period(text, at, [(0, len(text))], ahead=False)
    assert bool(found) == bool(since or until)
    for day in (since, until):
        assert day is None or any(one.start <= day <= one.end for one in found)
    if opener == "until " and until is not None and until <= at:
        assert found[0].end <= at or phrase in {"yesterday", "last Friday"}
    written = with_dates(text, at).partition("[")[2].strip("~]")
    if written:
        day = datetime.fromisoformat(written).replace(tzinfo=UTC)
        assert all(one.start <= day < one.end for one in found)
        assert day in {since, until} or until == day + timedelta(days=1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("nächsten Dienstag", "2023-05-23", id="de-1"),
        pytest.param("nächste Woche Dienstag", "2023-05-23", id="de-2"),
        pytest.param("am 8. Mai 2023", "2023-05-08", id="de-3"),
        pytest.param("vor drei Tagen", "2023-05-14", id="de-4"),
        pytest.param("übermorgen", "2023-05-19", id="de-5"),
        pytest.param("letzte Woche", "2023-05-08..2023-05-14", id="de-6"),
        pytest.param("seit März", "2023-03-01..2023-05-17", id="de-7"),
        pytest.param("bis Freitag", "..2023-05-19~", id="de-8"),
        pytest.param("im Sommer 2022", "2022-06-01..2022-08-31~", id="de-9"),
        pytest.param("Anfang Juni", "2023-06-01..2023-06-10~", id="de-10"),
        pytest.param("nächsten Monat", "2023-06-01..2023-06-30", id="de-11"),
        pytest.param("vorgestern", "2023-05-15", id="de-12"),
        pytest.param("Freitag muss ich weg", "2023-05-12~", id="de-13"),
        pytest.param("Weihnachten 2022", "2022-12-24..2022-12-26", id="de-14"),
        pytest.param("el lunes que viene", "2023-05-22", id="es-1"),
        pytest.param("el 8 de mayo de 2023", "2023-05-08", id="es-2"),
        pytest.param("hace tres días", "2023-05-14", id="es-3"),
        pytest.param("pasado mañana", "2023-05-19", id="es-4"),
        pytest.param("la semana pasada", "2023-05-08..2023-05-14", id="es-5"),
        pytest.param("desde marzo", "2023-03-01..2023-05-17", id="es-6"),
        pytest.param("hasta el viernes", "..2023-05-19~", id="es-7"),
        pytest.param("antes del lunes", "..2023-05-14~", id="es-8"),
        pytest.param("el verano de 2022", "2022-06-01..2022-08-31~", id="es-9"),
        pytest.param("a finales de junio", "2023-06-21..2023-06-30~", id="es-10"),
        pytest.param("el mes que viene", "2023-06-01..2023-06-30", id="es-11"),
        pytest.param("anteayer", "2023-05-15", id="es-12"),
        pytest.param("dentro de dos semanas", "2023-05-27..2023-06-04~", id="es-13"),
        pytest.param("lundi prochain", "2023-05-22", id="fr-1"),
        pytest.param("le 3 mai 2023", "2023-05-03", id="fr-2"),
        pytest.param("le 1er mai 2023", "2023-05-01", id="fr-3"),
        pytest.param("il y a trois jours", "2023-05-14", id="fr-4"),
        pytest.param("après-demain", "2023-05-19", id="fr-5"),
        pytest.param("la semaine dernière", "2023-05-08..2023-05-14", id="fr-6"),
        pytest.param("depuis mars", "2023-03-01..2023-05-17", id="fr-7"),
        pytest.param("jusqu'au 3 mai 2024", "..2024-05-03", id="fr-8"),
        pytest.param("jusqu'à vendredi", "..2023-05-19~", id="fr-9"),
        pytest.param("début juin", "2023-06-01..2023-06-10~", id="fr-10"),
        pytest.param("le mois prochain", "2023-06-01..2023-06-30", id="fr-11"),
        pytest.param("avant-hier", "2023-05-15", id="fr-12"),
        pytest.param("je l'ai vu hier", "2023-05-16", id="fr-13"),
        pytest.param("aujourd'hui", "2023-05-17", id="fr-14"),
        pytest.param("dans deux semaines", "2023-05-27..2023-06-04~", id="fr-15"),
        pytest.param("jeudi je pars", "2023-05-11~", id="fr-16"),
        pytest.param("segunda-feira que vem", "2023-05-22", id="pt-1"),
        pytest.param("3 de maio de 2023", "2023-05-03", id="pt-2"),
        pytest.param("há três dias", "2023-05-14", id="pt-3"),
        pytest.param("dois dias atrás", "2023-05-15", id="pt-4"),
        pytest.param("depois de amanhã", "2023-05-19", id="pt-5"),
        pytest.param("semana passada", "2023-05-08..2023-05-14", id="pt-6"),
        pytest.param("desde março", "2023-03-01..2023-05-17", id="pt-7"),
        pytest.param("até sexta", "..2023-05-19~", id="pt-8"),
        pytest.param("no início de junho", "2023-06-01..2023-06-10~", id="pt-9"),
        pytest.param("mês que vem", "2023-06-01..2023-06-30", id="pt-10"),
        pytest.param("anteontem", "2023-05-15", id="pt-11"),
        pytest.param("na quinta", "2023-05-11~", id="pt-12"),
        pytest.param("daqui a duas semanas", "2023-05-27..2023-06-04~", id="pt-13"),
        pytest.param("em 2015", "2015-01-01..2015-12-31", id="pt-14"),
        pytest.param("lunedì prossimo", "2023-05-22", id="it-1"),
        pytest.param("il 3 maggio 2023", "2023-05-03", id="it-2"),
        pytest.param("tre giorni fa", "2023-05-14", id="it-3"),
        pytest.param("dopodomani", "2023-05-19", id="it-4"),
        pytest.param("la settimana scorsa", "2023-05-08..2023-05-14", id="it-5"),
        pytest.param("dal 2015", "2015-01-01..2023-05-17", id="it-6"),
        pytest.param("fino a venerdì", "..2023-05-19~", id="it-7"),
        pytest.param("il mese prossimo", "2023-06-01..2023-06-30", id="it-8"),
        pytest.param("l'altro ieri", "2023-05-15", id="it-9"),
        pytest.param("ieri", "2023-05-16", id="it-10"),
        pytest.param("giovedì ho la visita", "2023-05-11~", id="it-11"),
        pytest.param("fra due settimane", "2023-05-27..2023-06-04~", id="it-12"),
        pytest.param("tra tre giorni", "2023-05-20", id="it-13"),
        pytest.param("questa settimana", "2023-05-15..2023-05-21", id="it-14"),
        pytest.param("volgende maandag", "2023-05-22", id="nl-1"),
        pytest.param("volgende week dinsdag", "2023-05-23", id="nl-2"),
        pytest.param("3 mei 2023", "2023-05-03", id="nl-3"),
        pytest.param("drie dagen geleden", "2023-05-14", id="nl-4"),
        pytest.param("overmorgen", "2023-05-19", id="nl-5"),
        pytest.param("vorige week", "2023-05-08..2023-05-14", id="nl-6"),
        pytest.param("sinds maart", "2023-03-01..2023-05-17", id="nl-7"),
        pytest.param("tot vrijdag", "..2023-05-19~", id="nl-8"),
        pytest.param("eind juni", "2023-06-21..2023-06-30~", id="nl-9"),
        pytest.param("volgende maand", "2023-06-01..2023-06-30", id="nl-10"),
        pytest.param("eergisteren", "2023-05-15", id="nl-11"),
        pytest.param("over drie weken", "2023-06-03..2023-06-11~", id="nl-12"),
        pytest.param("een paar weken geleden", "2023-04-07..2023-05-08~", id="nl-13"),
        pytest.param("vorig jaar", "2022-01-01..2022-12-31", id="nl-14"),
    ],
)
def test_six_languages(text: str, expected: str) -> None:
    """Dates, days counted from today, weekdays, spans and their limits, in six languages."""
    assert spelled(text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("wir sind hier", id="german-here"),
        pytest.param("buona notte e buon riposo", id="no-time"),
        pytest.param("esta mañana la vi a ella", id="this-morning-is-no-tomorrow"),
        pytest.param("goede morgen", id="dutch-greeting"),
        pytest.param("a rover on Mars", id="planet"),
        pytest.param("we talked for over two weeks of rain", id="english-over"),
        pytest.param("real estate in Leeds", id="english-estate"),
        pytest.param("la segunda opción", id="second"),
    ],
)
def test_words_of_other_languages_that_are_no_times(text: str) -> None:
    """What is a time in one language is none in another."""
    assert spelled(text) == []


@pytest.mark.parametrize(
    ("text", "until"),
    [
        pytest.param("muss ich bis Freitag abgeben", date(2023, 5, 19), id="de"),
        pytest.param("devo consegnare entro venerdì", date(2023, 5, 19), id="it"),
        pytest.param("je dois rendre le dossier jeudi", date(2023, 5, 18), id="fr"),
        pytest.param("ik moet dinsdag betalen", date(2023, 5, 23), id="nl"),
        pytest.param("preciso pagar na quinta", date(2023, 5, 18), id="pt"),
        pytest.param("tengo que pagar el lunes que viene", date(2023, 5, 22), id="es"),
    ],
)
def test_what_is_due_in_other_languages(text: str, until: date) -> None:
    """A weekday of something that is still to be done is the next one."""
    _, end = period(text, AT, [(0, len(text))], ahead=True)
    assert end is not None
    assert end.date() == until
