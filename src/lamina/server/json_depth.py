"""How deep a JSON text goes, how many values it has, and whether it has halves of characters.

All of it is found in one pass while the text arrives.
"""

import re

import numpy as np

_QUOTE, _BACKSLASH = ord('"'), ord("\\")
_STEPS = np.zeros(256, dtype=np.int8)
_STEPS[list(b"[{")] = 1
_STEPS[list(b"]}")] = -1
_BEGINS = np.zeros(256, dtype=np.int8)  # signs before which, or after which, there is one value more
_BEGINS[list(b"[{,")] = 1
_ESCAPE = 6  # bytes, as in \\ud83d
_KEPT = 3 * _ESCAPE  # one that may not be whole, what may follow, and what is before it
_LONE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    rb"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)


class Nesting:
    """Takes a text in parts. The time for each part depends on its length alone, whatever is in it."""

    def __init__(self) -> None:
        self.deepest = 0
        self.values = 1  # at the most
        self._depth = 0
        self._in_string = 0
        self._escaping = False

    def feed(self, part: bytes) -> None:
        text = np.frombuffer(b"\\" + part if self._escaping else part, dtype=np.uint8)
        if not text.size:
            return
        places = np.arange(text.size)
        before = np.maximum.accumulate(np.where(text == _BACKSLASH, -1, places))  # the last that is no backslash
        backslashes = places - before
        escaped = np.concatenate(([0], backslashes[:-1])) % 2 == 1
        self._escaping = bool(backslashes[-1] % 2)
        in_string = (np.cumsum((text == _QUOTE) & ~escaped) + self._in_string) % 2
        self._in_string = int(in_string[-1])
        depth = np.cumsum(np.where(in_string, 0, _STEPS[text]), dtype=np.int64) + self._depth
        self._depth = int(depth[-1])
        self.deepest = max(self.deepest, int(depth.max()))
        self.values += int(np.where(in_string, 0, _BEGINS[text]).sum())


class Surrogates:
    """Looks for escaped halves of characters, which are no valid Unicode and could not be written again."""

    def __init__(self) -> None:
        self.lone = False
        self._rest = b""  # what may go on in the next part, with the escape before it

    def feed(self, part: bytes, *, last: bool = False) -> None:
        text = (self._rest + part).replace(rb"\\", b"  ")  # two backslashes are one that is just a sign
        first = _ESCAPE if len(self._rest) == _KEPT else 0  # those before were looked at
        end = len(text) if last else len(text) - _ESCAPE
        self.lone = self.lone or any(found.start() >= first and found.end() <= end for found in _LONE.finditer(text))
        self._rest = text[-_KEPT:]
