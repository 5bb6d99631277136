"""The items of a JSON list in a file, read one by one: a file may be much larger than memory."""

import codecs
import json
from collections.abc import Iterator
from dataclasses import dataclass
from json.decoder import WHITESPACE  # type: ignore[attr-defined]
from pathlib import Path
from typing import Any

from lamina.errors import InputError

_PIECE = 1 << 20  # bytes read at once, at the least
_MAX_ITEM = 1 << 28  # characters of one item
_BEHIND_NUMBER = frozenset(",] \n\r\t")
_NEAR_END = 16  # characters: an error there may only mean that more is to come


@dataclass(slots=True)
class Position:
    """How far a file is read."""

    bytes: int = 0


class ItemReader:
    """Reads the items of the list that a file is; one that is no list is its only item."""

    def __init__(self, path: Path, position: Position) -> None:
        self._path = path
        self._position = position
        self._decoder = json.JSONDecoder()
        self._characters = codecs.getincrementaldecoder("utf-8-sig")()
        self._text = ""
        self._at = 0
        self._ended = False

    def items(self) -> Iterator[Any]:
        """Raises InputError where the file is no JSON, with how many items came before."""
        self._position.bytes = 0
        with self._path.open("rb") as self._file:
            self._more()
            if self._peek() != "[":
                yield self._value(0)
                self._end(1)
                return
            yield from self._list()

    def _list(self) -> Iterator[Any]:
        self._at += 1
        number = 0
        while (sign := self._peek()) != "]":
            if number and sign != ",":
                raise self._broken(number, "a comma is missing")
            self._at += bool(number)
            self._peek()
            yield self._value(number)
            number += 1
        self._at += 1
        self._end(number)

    def _end(self, number: int) -> None:
        if self._peek():
            raise self._broken(number, "something follows the end of the list")

    def _peek(self) -> str:
        """The next sign that is no space; "" at the end."""
        while True:
            self._at = WHITESPACE.match(self._text, self._at).end()
            if self._at < len(self._text) or self._ended:
                return self._text[self._at : self._at + 1]
            self._more()

    def _value(self, number: int) -> Any:
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except RecursionError:
                raise self._broken(number, "it is nested too deep") from None
            except json.JSONDecodeError as error:
                cut = error.msg.startswith("Unterminated string") or error.pos >= len(self._text) - _NEAR_END
                if not cut or self._ended or len(self._text) - self._at > _MAX_ITEM:
                    raise self._broken(number, "" if cut else error.msg) from None
                self._more()
                continue
            except ValueError:  # Python reads no number of more than 4,300 digits
                raise self._broken(number, "a number in it is too long") from None
            is_number = isinstance(value, int | float) and self._text[end : end + 1] not in _BEHIND_NUMBER
            if self._ended or (end < len(self._text) and not is_number):  # else a number may go on
                self._at = end
                return value
            self._more()

    def _more(self) -> None:
        raw = self._file.read(max(_PIECE, len(self._text) - self._at))
        self._ended = not raw
        self._position.bytes += len(raw)
        try:
            self._text = self._text[self._at :] + self._characters.decode(raw, final=self._ended)
        except UnicodeDecodeError as error:
            raise InputError(f"it is not UTF-8 ({error.reason})") from None
        self._at = 0

    def _broken(self, number: int, reason: str) -> InputError:
        ends = self._ended and self._at + _NEAR_END >= len(self._text.rstrip())
        where = "it ends" if ends or self._ended else "it is no JSON"
        before = "nothing came before it" if not number else f"{number:,} came before it"
        why = f" ({reason})" if reason else ""
        return InputError(f"{where} in the middle of item {number + 1:,}{why}; {before}")
