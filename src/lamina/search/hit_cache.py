"""Messages that were found lately, as hits without a score: the next question often finds them again."""

from collections import OrderedDict
from collections.abc import Iterable

from lamina.values.hit import Hit

MAX_BYTES = 2 * 2**20  # of one user
_OVERHEAD = 700  # bytes of a hit beside its words
_WIDTH = 2  # bytes of a character, about


def size_of(messages: int, characters: int) -> int:
    """How many bytes the hits of so many messages take at the most."""
    return min(MAX_BYTES, messages * _OVERHEAD + characters * _WIDTH)


class HitCache:
    """The hits that were used last, within a bound."""

    def __init__(self) -> None:
        self._hits: OrderedDict[str, Hit] = OrderedDict()
        self._used = 0

    def __len__(self) -> int:
        return len(self._hits)

    def find(self, ids: Iterable[str]) -> dict[str, Hit]:
        """Those of some messages that are here."""
        found = {key: hit for key in ids if (hit := self._hits.get(key)) is not None}
        for key in found:
            self._hits.move_to_end(key)
        return found

    def add(self, hits: Iterable[Hit]) -> None:
        """Keep some more; those that were not used for the longest time make room."""
        for hit in hits:
            if hit.id not in self._hits:
                self._hits[hit.id] = hit
                self._used += _bytes(hit)
        while self._used > MAX_BYTES:
            _, gone = self._hits.popitem(last=False)
            self._used -= _bytes(gone)


def _bytes(hit: Hit) -> int:
    return _OVERHEAD + len(hit.text) * _WIDTH
