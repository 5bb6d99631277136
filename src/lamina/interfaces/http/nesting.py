"""How deep the lists and objects of a JSON text go, found in one pass while it arrives."""

import numpy as np

_QUOTE, _BACKSLASH = ord('"'), ord("\\")
_STEPS = np.zeros(256, dtype=np.int8)
_STEPS[list(b"[{")] = 1
_STEPS[list(b"]}")] = -1


class Nesting:
    """Takes a text in parts. The time for each part depends on its length alone, whatever is in it."""

    def __init__(self) -> None:
        self.deepest = 0
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
