"""What was forgotten cannot be guessed back from what the store keeps."""

import hashlib
import json
import re
from collections.abc import Iterator

import pytest

from tests.http_proxy import SESSION, USER

WORD = "kx{:04}"  # with letters that are in no digest, which could have the digits by chance
CODE = f"My code is {WORD}."
DIGESTS = re.compile(rb"[0-9a-f]{32,64}")


def guesses(code: int) -> Iterator[str]:
    """Every digest that somebody who knows how Lamina works could make of a message, if its words were these."""
    message = {"role": "user", "content": CODE.format(code)}
    for count in range(4):
        yield f"proxy:{digest(json.dumps([SESSION, count, [message]], sort_keys=True))}"
    for text in (
        message["content"],
        WORD.format(code),
        json.dumps(message),
        json.dumps(message, separators=(",", ":")),
    ):
        yield digest(text)
    body = json.dumps(message, separators=(",", ":"))
    yield digest(f"{SESSION}\0{USER}\0\0\0user\0{body}\0{{}}\0")  # what an append was used for


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def guessed(data: bytes) -> set[int]:
    """The codes that somebody finds who has all bytes of the store and tries every one."""
    kept = {found.decode() for found in DIGESTS.findall(data)}
    return {code for code in range(10_000) for guess in guesses(code) if guess.removeprefix("proxy:") in kept}


@pytest.mark.also_postgres
def test_a_code_cannot_be_guessed_back(proxy, place):
    """Neither from the key under which a proxied message was stored once nor from anything else."""
    proxy.client.chat.completions.create(model="m", messages=[{"role": "user", "content": CODE.format(4711)}])
    proxy.settle()
    (message,) = [one for one in proxy.log() if one["role"] == "user"]
    assert guessed(place.every_byte()) == {4711}
    assert proxy.service.post("/v1/forget", json={"message_ids": [message["id"]]}).json()["scrubbed"]
    data = place.every_byte()
    assert WORD.format(4711).encode() not in data
    assert guessed(data) == set()
