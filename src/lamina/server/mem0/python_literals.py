"""Objects that come as text in an address: as JSON, or as Python shows them, which mem0's own client does."""

import json
import re
from typing import Any

from lamina.errors import InputError

MAX_OBJECT = 100_000  # characters

_PIECE = re.compile(
    r"""\s*(?:(?P<mark>[\[\]{},:])
    |(?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    |(?P<word>[-+\w.]+))""",
    re.DOTALL | re.VERBOSE,
)
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", "'": "'", '"': '"'}
_WORDS = {"True": "true", "False": "false", "None": "null"}


def as_object(given: dict[str, Any] | str | None, named: str = "filters are") -> dict[str, Any]:
    """An object, or the object that a text has."""
    if given is None or isinstance(given, dict):
        return given or {}
    for read in (json.loads, _from_python):
        try:
            found = read(given)
        except (ValueError, LookupError, RecursionError):
            continue
        if isinstance(found, dict):
            return found
    raise InputError(f'{named} an object, e.g. {{"user_id": "alex"}}')


def _from_python(given: str) -> Any:
    """What Python shows, written as JSON piece by piece, and read; ValueError if it is something else."""
    pieces, at, given = [], 0, given.rstrip()
    while at < len(given):
        piece = _PIECE.match(given, at)
        if piece is None:
            raise ValueError
        at = piece.end()
        if (text := piece["text"]) is not None:
            pieces.append(json.dumps(_ESCAPE.sub(_character, text[1:-1])))
        else:
            word = piece["mark"] or piece["word"]
            pieces.append(_WORDS.get(word, word))
    return json.loads(" ".join(pieces))


def _character(escape: re.Match[str]) -> str:
    *codes, plain = escape.groups()
    code = next((code for code in codes if code is not None), None)
    return _ESCAPED[plain] if code is None else chr(int(code, 16))
