"""Sentences inside a quotation of several: they are not what the speaker says of themselves. Pure."""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from lamina.models.offline.summarisation.statements import Statement

_INCHES = re.compile(r"(?<=\d)[\"\u201d]")


def join_quotations(statements: Sequence[Statement]) -> list[Statement]:
    """The statements; each inside a quotation goes on from the one before it, as does one that begins a quotation."""
    lines = groupby(statements, key=lambda one: (one.source, one.line))
    return [one for _, line in lines for one in _join_line(list(line))]


def _join_line(said: Sequence[Statement]) -> list[Statement]:
    found = list(said)
    opened: int | None = None
    for at, one in enumerate(said):
        if not _is_uneven(one.text):
            continue
        if opened is None:
            opened = at
            continue
        first = opened if opened and said[opened].text[:1] in '"\u201c' else opened + 1
        found[first : at + 1] = [replace(each, joined=True) for each in found[first : at + 1]]
        opened = None
    return found


def _is_uneven(text: str) -> bool:
    """Whether a quotation begins or ends in a sentence, and does not do both."""
    plain = _INCHES.sub("", text)
    return plain.count('"') % 2 == 1 or plain.count("\u201c") != plain.count("\u201d")
