"""Forgetting by text: it is found as it is shown and in every form that it decodes to, and nothing else is."""

from pathlib import Path
from typing import Any

import pytest

from lamina import InputError, Memory
from lamina.forgetting import redact
from tests.growth import growth, quarters
from tests.places import Place

USER = "ann"


def call(arguments: str) -> dict[str, Any]:
    function = {"name": "look", "arguments": arguments}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": function}],
    }


def parts(*texts: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text} for text in texts]}


def picture(url: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}


def user(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, **more}


FOUND = [
    pytest.param(parts("My card is 4242", "1111 2222."), "4242 1111", b"1111 2222", id="across-parts"),
    pytest.param(parts("The word is zanzi", "barquay."), "Zanzibarquay", b"barquay", id="one-word-in-two-parts"),
    pytest.param(call('{"who": "Ren\\u00e9e Zweig"}'), "Ren\u00e9e Zweig", b"Zweig", id="escaped-arguments"),
    pytest.param(call('{"who": "Ren\\u00c9e Zw'), "ren\u00e9e zw", b"e Zw", id="arguments-cut-off"),
    pytest.param(call('{"a": "{\\"b\\": \\"Ren\\\\u00e9e\\"}"}'), "Ren\u00e9e", b"u00e9", id="arguments-in-arguments"),
    pytest.param(call('{"a": "\\ud83e\\udd89 Zweig"}'), "\U0001f989 zweig", b"Zweig", id="escaped-pair"),
    pytest.param(call('{"a": "zanzi\\nbarquay"}'), "zanzi barquay", b"barquay", id="escaped-line"),
    pytest.param(user('It said: {"name": "Ren\\u00e9e"}.'), "Ren\u00e9e", b"u00e9", id="escaped-in-a-text"),
    pytest.param(user("x y", metadata={"pin": 471147}), "471147", b"471147", id="number-in-metadata"),
    pytest.param(user("x y", metadata={"at": [{"n": -4712.75471}]}), "-4712.75471", b"4712.75471", id="nested-number"),
    pytest.param(
        user("x y", metadata={"raw": '{"pin": "\\u0034\\u003711"}'}), "4711", b"u003711", id="json-in-metadata"
    ),
    pytest.param(user("x y", own={"type": "Zanzibarquay"}), "zanzibarquay", b"barquay", id="type-of-a-field-of-theirs"),
    pytest.param(user("x y", own={"role": "Zanzibarquay"}), "zanzibarquay", b"barquay", id="role-in-a-field-of-theirs"),
    pytest.param(user("x y", own={"Zanzibarquay": 1}), "zanzibarquay", b"barquay", id="name-of-a-field-of-theirs"),
    pytest.param(user("Zan\u00adzi\u00adbarquay"), "zanzibarquay", b"barquay", id="soft-hyphen"),
    pytest.param(user("Zan\u200bzi\u2060barquay\ufe0f"), "zanzibarquay", b"barquay", id="zero-width"),
    pytest.param(user("Zanzibarquay"), "zan\u00adzi\u200bbarquay", b"barquay", id="unseen-in-what-is-asked"),
    pytest.param(user("\u0130zmirli"), "izmirli", b"zmirli", id="dotted-capital-i"),
    pytest.param(user("IZMIRLI"), "\u0131zm\u0131rl\u0131", b"ZMIRLI", id="dotless-i"),
    pytest.param(user("STRASSE 9"), "stra\u00dfe 9", b"STRASSE", id="sharp-s"),
    pytest.param(user("\ufb03x office"), "ffix", b"office", id="ligature"),
    pytest.param(user("call 555\u201112345678\u20139"), "555-12345678-9", b"12345678", id="dashes"),
    pytest.param(user("O\u2019Brienson"), "o'brienson", b"Brienson", id="apostrophe"),
    pytest.param(picture("https://x.test/?q=S%C3%A3o%20Zweig"), "S\u00e3o Zweig", b"Zweig", id="picture-address"),
    pytest.param(picture("https://x.test/?q=Zan+zibar"), "zan zibar", b"zibar", id="address-with-plus"),
]


@pytest.mark.parametrize(("message", "text", "left"), FOUND)
def test_a_text_is_found_however_it_is_written(tmp_path: Path, message: Any, text: str, left: bytes) -> None:
    """The message is emptied, and the file has no byte of it."""
    path = tmp_path / "f.db"
    with Memory(path, worker=False) as memory:
        memory.add([{**message, "id": "m1"}, {"role": "user", "content": "Hello there.", "id": "m2"}], user_id=USER)
        assert left in path.read_bytes() + Path(f"{path}-wal").read_bytes()
        receipt = memory.forget(text=text, user_id=USER)
        assert receipt.messages == ("m1",)
        assert memory.message("m2").text == "Hello there."
        assert memory.verify().ok
    assert not any(left in file.read_bytes() for file in tmp_path.iterdir())


@pytest.mark.also_postgres
def test_no_byte_of_it_is_left_anywhere(place: Place) -> None:
    """Neither in a file nor in a database."""
    with Memory(place(), worker=False) as memory:
        memory.add(call('{"who": "Ren\\u00e9e Zweigart"}'), user_id=USER)
        memory.add(user("Zan\u00adzibarquay"), user_id=USER)
        assert len(memory.forget(text="Ren\u00e9e Zweigart", user_id=USER).messages) == 1
        assert len(memory.forget(text="zanzibarquay", user_id=USER).messages) == 1
    left = place.every_byte()
    assert b"zweigart" not in left
    assert b"zibarquay" not in left


@pytest.mark.parametrize("text", ["user", "content", "role", "text", "type", "image_url", "function", "arguments"])
def test_how_a_message_is_written_down_is_not_what_it_says(tmp_path: Path, text: str) -> None:
    """The words of the format are in every message, and are nobody's."""
    with Memory(tmp_path / "f.db", worker=False) as memory:
        memory.add([user("Hello."), parts("One.", "Two."), picture("https://x.test"), call('{"n": 1}')], user_id=USER)
        assert memory.forget(text=text, user_id=USER).empty


@pytest.mark.parametrize("text", ["\u00ad\u00ad\u00ad", " \u200b.\u200b ", "a\u2060"])
def test_a_text_that_shows_nothing_is_refused(tmp_path: Path, text: str) -> None:
    """It would be in every message."""
    with Memory(tmp_path / "f.db", worker=False) as memory:
        memory.add(user("Hello."), user_id=USER)
        with pytest.raises(InputError, match="at least 2 characters"):
            memory.forget(text=text, user_id=USER)
        assert memory.forget(user_id=USER, dry_run=True).messages


@pytest.mark.parametrize("piece", ["\\\\", "%25", "\\u00e9", "\u00ad\u0301", '\\"'])
def test_signs_to_decode_without_end_take_no_longer_than_their_length(piece: str) -> None:
    """Neither is a message decoded for ever, nor are marks sorted."""
    assert growth(lambda text: redact.has(text, "zanzibar"), lambda size: piece * size, quarters(100_000)) <= 2.0


def test_titles_lose_the_words(tmp_path: Path) -> None:
    """Of a text only its words, of a message that it tells of all. An older export does not bring them back."""
    with Memory(tmp_path / "a.db") as memory:
        memory.add(user("I live in Zanzibarquay.", id="m1"), user_id=USER, session_id="s1")
        memory.add("Zanzibarquay is far from tea.", user_id=USER, session_id="s2")
        memory.add("Tea is good.", user_id=USER, session_id="s3")
        memory.settle()
        for session_id, title in (("s1", "Life in Zanzibarquay"), ("s2", "Tea near ZANZIBARQUAY!"), ("s3", "Tea")):
            memory.rename(session_id, title)
        memory.export(tmp_path / "before.jsonl")
        planned = memory.forget(text="zanzibarquay", session_id="s2", dry_run=True)
        assert (planned.titles, memory.session("s2").title) == (1, "Tea near ZANZIBARQUAY!")
        assert memory.forget(text="zanzibarquay", session_id="s2").titles == 1
        assert memory.session("s2").title == "Tea near [forgotten]!"
        assert memory.forget(message_id="m1").titles == 1
        memory.import_(tmp_path / "before.jsonl")
        assert [one.title for one in memory.sessions(USER)] == ["[forgotten]", "Tea near [forgotten]!", "Tea"]
    files = b"".join(file.read_bytes() for file in tmp_path.glob("a.db*"))
    assert b"zanzibarquay" not in files.lower()


def test_a_title_that_tells_a_forgotten_fact_goes(tmp_path: Path) -> None:
    """Others of the user stay."""
    with Memory(tmp_path / "a.db") as memory:
        memory.add("I live in Zanzibarquay.", user_id=USER, session_id="s1")
        memory.add("Tea is good.", user_id=USER, session_id="s2")
        memory.settle()
        memory.rename("s1", "Greetings")
        memory.rename("s2", "Tea in Zanzibarquay")
        assert memory.forget(fact_id=memory.facts(USER)[0].id).titles == 1
        assert [one.title for one in memory.sessions(USER)] == ["Greetings", "[forgotten]"]
