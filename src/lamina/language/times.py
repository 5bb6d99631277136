"""Times as people give them."""

from datetime import UTC, date, datetime
from typing import Any

from lamina.errors import InputError


def moment(value: Any, name: str) -> datetime:
    """A time with its zone, from a datetime, a date, or ISO 8601 text; a day without a time begins at midnight, UTC."""
    given = value
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise InputError(f"{name} {given!r:.80} is no time; e.g. 2025-03-14 or 2025-03-14T09:30:00+01:00") from None
        if value.tzinfo is None and "T" not in given and " " not in given.strip():
            value = value.replace(tzinfo=UTC)
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    if not isinstance(value, datetime):
        raise InputError(f"{name} must be a datetime, a date or ISO 8601 text, not {type(given).__name__}")
    if value.tzinfo is None or value.utcoffset() is None:
        raise InputError(f"{name} {value.isoformat()} has no time zone; e.g. {value.replace(tzinfo=UTC).isoformat()}")
    return value


def day_of(at: datetime) -> date:
    """The day in UTC, by which costs are counted."""
    return at.astimezone(UTC).date()
