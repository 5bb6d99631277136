"""Earlier versions of documents: messages whose words are in their metadata, where no search finds them."""

import hashlib

from lamina.forgetting import redact
from lamina.protocols.store import Rewrite
from lamina.values.message import Message

VALUE, EARLIER = "document", "earlier"  # keys in a message's metadata
_SALT_BYTES = 16


def earlier_version(message: Message, salt: bytes) -> Rewrite:
    """What a document said before; `salt` is mixed with the message's id, so that no two messages have the same."""
    known = message.metadata
    was = {EARLIER: {"text": message.text, "value": known[VALUE]}} if VALUE in known else {}
    if EARLIER in known:
        was = {EARLIER: known[EARLIER]}
    own = hashlib.sha256(salt + message.id.encode()).digest()[:_SALT_BYTES]
    return redact.rewrite(message, {"role": message.role, "content": ""}, was, tokens=0, salt=own, whole=True)
