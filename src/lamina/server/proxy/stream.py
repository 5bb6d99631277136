"""Server-sent events in the bytes of a stream, however they are cut."""

_ENDS = (b"\r\n\r\n", b"\n\n", b"\r\r")


class Events:
    """Gives the data of each event once all of it has come."""

    def __init__(self) -> None:
        self._rest = b""

    def take(self, piece: bytes) -> list[str]:
        self._rest += piece
        found: list[str] = []
        while True:
            ends = [(place, len(end)) for end in _ENDS if (place := self._rest.find(end)) >= 0]
            if not ends:
                return found
            place, length = min(ends)
            event, self._rest = self._rest[:place], self._rest[place + length :]
            if (data := _data(event)) is not None:
                found.append(data)


def _data(event: bytes) -> str | None:
    lines = [line[5:].removeprefix(b" ") for line in event.splitlines() if line.startswith(b"data:")]
    return b"\n".join(lines).decode("utf-8", "replace") if lines else None
