"""A user who wants nothing to be derived from what they say."""

import json
from datetime import datetime
from typing import ClassVar

from lamina.frozen import dataclass

PREFIX = "opt_out:"  # of the setting of a user who has opted out


@dataclass(frozen=True, slots=True, kw_only=True)
class OptOut:
    """That nothing is derived from what a user says, since when, and whether their messages are kept."""

    _shown: ClassVar = ("user_id", "since", "keep_log")

    user_id: str
    since: datetime
    keep_log: bool  # messages are stored, word for word; else nothing is


def setting_of(choice: OptOut) -> str:
    """What is stored of it, under `PREFIX` and the user's id."""
    return json.dumps({"since": choice.since.isoformat(), "keep_log": choice.keep_log})


def opt_out_of(key: str, value: str | None) -> OptOut | None:
    """What a stored setting says; None if there is none, or the user has opted in again."""
    if not value:
        return None
    known = json.loads(value)
    since = datetime.fromisoformat(known["since"])
    return OptOut(user_id=key.removeprefix(PREFIX), since=since, keep_log=known["keep_log"])
