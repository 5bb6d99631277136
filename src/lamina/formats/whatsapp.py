"""Chats that WhatsApp exports as text, from Android or iOS: one message on a line or more, with the local time."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Literal

from lamina.errors import InputError
from lamina.formats import foreign_values as foreign
from lamina.formats import whatsapp_phrases as phrases
from lamina.formats.foreign_values import content_hash, join_id
from lamina.formats.json_lines import Conversion, Record, message_record

Order = Literal["dmy", "mdy", "ymd"]
Localise = Callable[[datetime], datetime]  # gives a local time its zone

_DATE = r"(?P<a>\d{1,4})(?P<sep>[./-])(?P<b>\d{1,2})(?P=sep)(?P<c>\d{2,4})\.?"
_TIME = (
    r"(?P<hour>\d{1,2})[:.](?P<minute>\d{2})(?:[:.](?P<second>\d{2}))?"
    r"(?:[\s\u202f\u00a0]*(?P<half>[AaPp])\.?[\s\u202f\u00a0]*[Mm]\.?)?"
)
_AT = r",?[\s\u202f\u00a0]+(?:[^\W\d]{1,4}[\s\u202f\u00a0]+)?"
_STAMP = f"{_DATE}{_AT}{_TIME}"
_SECOND = re.sub(r"\(\?P([<=])(\w+)", r"(?P\1\g<2>2", _STAMP)  # the same, its groups under other names
_HEAD = re.compile(rf"(?:\[{_STAMP}\] ?|{_SECOND} [-\u2013] )")
_MARKS = str.maketrans("", "", "\u200e\u200f\ufeff\u202a\u202c")
_OWN_SIGN = ": \u200e"  # on iOS, what WhatsApp writes in place of a message begins with this sign
_CHAT = re.compile(
    r"(?:WhatsApp[- ]Chatt? (?:with|mit|met|med|-) |Chat (?:de )?WhatsApp (?:con|dengan|-) |Discussion WhatsApp avec "
    r"|(?:Conversa|Chat) do WhatsApp com |Чат WhatsApp с (?:контактом )?)(.+)|(?:.*/)?(.+) ile WhatsApp Sohbeti",  # noqa: RUF001
    re.IGNORECASE,
)
_QUOTES = frozenset('"\u201c\u201d\u201e\u00ab\u00bb')  # not in names, but in notices of new names
_NOTICE = "notice of WhatsApp"
_MAX_NAME = 100  # characters of a speaker's name; what is longer is a notice with a colon in it
_MAX_TITLE_NAMES = 3
_MONTHS = 12
_CENTURY = 100


@dataclass(slots=True)
class _Line:
    """A message as it stands in the file."""

    number: int
    date: tuple[int, int, int]
    year_first: bool
    dotted: bool
    clock: tuple[int, int, int]
    half: str
    speaker: str | None  # None: a notice of WhatsApp
    text: list[str] = field(default_factory=list)
    is_own: bool = False  # written by WhatsApp in place of a message


def is_chat(text: str) -> bool:
    """Whether a text begins like an export of WhatsApp."""
    return any(_HEAD.match(line.translate(_MARKS)) for line in text.splitlines()[:5])


def convert(text: str, name: str, me: str | Sequence[str] | None, localise: Localise) -> tuple[Conversion, list[str]]:
    """The chat as a session, with what was assumed; `me` is the speaker who is the user, all others have names.

    `me` may be several names: those that the user has in different chats.
    """
    skipped: Counter[str] = Counter()
    lines = [*_lines(text)]
    said = [line for line in lines if line.speaker is not None]
    skipped[_NOTICE] += len(lines) - len(said)
    own = _own_names(said, [me] if isinstance(me, str) else me or [], name)
    order, guess = _order(lines, name)
    session_id = ""
    seen: Counter[str] = Counter()
    records: list[Record] = []
    for line in said:
        words = _words(line, skipped)
        moment = _moment(line, order, name)
        identity = content_hash(moment.isoformat(), line.speaker, " ".join(line.text))
        session_id = session_id or f"whatsapp-{identity}"
        seen[identity] += 1
        if words is None:
            continue
        body = {"role": "user" if line.speaker in own else "assistant", "content": words, "name": line.speaker}
        message_id = join_id(session_id, f"{identity}-{seen[identity]}")
        records.append(message_record(session_id, message_id, body, localise(moment).isoformat()))
    if not records:
        raise InputError(f"{name} has no message with words in it")
    title = foreign.title(_title(said, own, name), skipped)
    return Conversion(records=[{"type": "session", "id": session_id, **title}, *records], skipped=+skipped), guess


def _lines(text: str) -> Iterator[_Line]:
    current: _Line | None = None
    for number, raw in enumerate(text.splitlines(), 1):
        plain = raw.translate(_MARKS)
        head = _HEAD.match(plain)
        if head is None:
            if current is not None:
                current.text.append(plain)
            continue
        if current is not None:
            yield current
        current = _begin(number, head, plain[head.end() :], is_own=_is_own(raw))
    if current is not None:
        yield current


def _is_own(raw: str) -> bool:
    """Whether a line is WhatsApp's by its sign; places and polls, which people send, have it, too."""
    speaker, sign, words = raw.partition(_OWN_SIGN)
    return bool(sign) and ": " not in speaker[speaker.find("]") :] and "://" not in words and not words.endswith(":")


def _begin(number: int, head: re.Match[str], rest: str, *, is_own: bool) -> _Line:
    found = {key: head[key] or head[f"{key}2"] for key in ("a", "b", "c", "sep", "hour", "minute", "second", "half")}
    speaker, colon, words = rest.partition(": ") if ": " in rest else rest.partition(":\n")
    if rest.endswith(":") and not colon:
        speaker, colon, words = rest[:-1], ":", ""
    is_notice = not colon or len(speaker) > _MAX_NAME or bool(_QUOTES & {*speaker}) or phrases.is_notice(words)
    return _Line(
        number=number,
        date=(int(found["a"]), int(found["b"]), int(found["c"])),
        year_first=len(found["a"]) > len("31"),
        dotted=found["sep"] == ".",
        clock=(int(found["hour"]), int(found["minute"]), int(found["second"] or 0)),
        half=(found["half"] or "").lower(),
        speaker=None if is_notice else speaker.removeprefix("~").strip(),
        text=[rest if is_notice else words],
        is_own=is_own,
    )


def _own_names(said: Sequence[_Line], me: Sequence[str], name: str) -> list[str]:
    """The speakers who are the user: one, or those whose whole names were given."""
    speakers = [speaker for speaker, _ in Counter(str(line.speaker) for line in said).most_common()]
    if not speakers:
        raise InputError(f"{name} has no message that anybody sent")
    listed = ", ".join(repr(one) for one in speakers[:20]) + (" …" if len(speakers) > 20 else "")  # noqa: PLR2004
    if not me:
        if len(speakers) == 1:
            return speakers
        raise InputError(
            f"{name} is a WhatsApp chat of {listed}; say which of them is the user: --me NAME "
            "(in Python and HTTP me=NAME)"
        )
    wanted = [given.strip().casefold() for given in me]
    if exact := [one for one in speakers if one.casefold() in wanted]:
        return exact
    near = [one for one in speakers if one.casefold().startswith(tuple(filter(None, wanted)))]
    if len(near) != 1:
        given = " or ".join(map(repr, me))
        raise InputError(f"{name} has {'no' if not near else 'more than one'} speaker {given}; there are {listed}")
    return near


def _order(lines: Sequence[_Line], name: str) -> tuple[Order, list[str]]:
    """In which order the dates are written, by all of them together."""
    if any(line.year_first for line in lines):
        return "ymd", []
    day_first = next((line for line in lines if line.date[0] > _MONTHS), None)
    month_first = next((line for line in lines if line.date[1] > _MONTHS), None)
    if day_first and month_first:
        raise InputError(
            f"{name} has dates in two orders: day first on line {day_first.number}, month first on line "
            f"{month_first.number}; export the chat again, or mend the dates"
        )
    if day_first or month_first:
        return ("dmy" if day_first else "mdy"), []
    back = {order: _steps_back(lines, order) for order in _ORDERS}
    if back["dmy"] != back["mdy"]:
        order: Order = "dmy" if back["dmy"] < back["mdy"] else "mdy"
    else:
        order = "mdy" if any(line.half for line in lines) and not any(line.dotted for line in lines) else "dmy"
    words = "day before month" if order == "dmy" else "month before day"
    return order, [f"dates are read with the {words}, which no date in the file settles"]


_ORDERS: tuple[Order, Order] = ("dmy", "mdy")


def _steps_back(lines: Sequence[_Line], order: Order) -> int:
    """How often a message would be earlier than the one before it."""
    days = [_day(line, order) for line in lines]
    return sum(later < earlier for earlier, later in pairwise(days))


def _day(line: _Line, order: Order) -> tuple[int, int, int]:
    a, b, c = line.date
    year, month, day = {"dmy": (c, b, a), "mdy": (c, a, b), "ymd": (a, b, c)}[order]
    return (year + 2000 if year < _CENTURY else year), month, day


def _moment(line: _Line, order: Order, name: str) -> datetime:
    hour, minute, second = line.clock
    if line.half:
        hour = hour % 12 + (12 if line.half == "p" else 0)
    try:
        return datetime(*_day(line, order), hour, minute, second)  # noqa: DTZ001 - local, as it was written
    except ValueError as error:
        raise InputError(f"{name}, line {line.number} has no valid time: {error}") from None


def _words(line: _Line, skipped: Counter[str]) -> str | None:
    """What was said; None if it was a picture, a recording or nothing."""
    text = foreign.clean_text(phrases.without_edit_mark("\n".join(line.text).strip()), skipped)
    if phrases.is_deleted(text):
        skipped["deleted"] += 1
        return None
    left, has_media = phrases.without_media(text)
    if left and line.is_own and not has_media and "\n" not in left:
        skipped[_NOTICE] += 1
        return None
    if left:
        return f"[media] {left}" if has_media else text
    skipped["media" if has_media else "empty"] += 1
    return None


def _title(said: Sequence[_Line], own: Sequence[str], name: str) -> str:
    found = _CHAT.search(name.rsplit("/", 1)[0] if name.endswith("/_chat.txt") else name)
    if found:
        return "WhatsApp: " + re.sub(r"\.(?:txt|zip)$", "", found[1] or found[2], flags=re.IGNORECASE)
    others = [*dict.fromkeys(str(line.speaker) for line in said if line.speaker not in own)]
    more = "" if len(others) <= _MAX_TITLE_NAMES else f" and {len(others) - _MAX_TITLE_NAMES} more"
    return "WhatsApp: " + (", ".join(others[:_MAX_TITLE_NAMES]) or own[0]) + more
