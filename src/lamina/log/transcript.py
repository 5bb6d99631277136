"""Messages as lines of a transcript."""

import re

from lamina.values.message import Message

_BREAK = re.compile(r"(\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029])")


def indent(text: str) -> str:
    """Indent later lines, so that none of them can pass for a heading or for what somebody else said."""
    return text if _BREAK.search(text) is None else _BREAK.sub(r"\1    ", text)


def speaker(message: Message) -> str:
    return message.name or message.role.capitalize()


def line(message: Message) -> str:
    """`User: what they said`."""
    return indent(f"{speaker(message)}: {message.text}")
