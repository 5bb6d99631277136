"""Conversations of a ChatGPT data export."""

from typing import Any

import pytest

from lamina import InputError
from lamina.formats import detect
from lamina.formats.foreign_values import REPAIRED
from tests.formats.test_foreign import of_type, said, sample


def test_chatgpt_takes_the_path_that_was_shown() -> None:
    """The path to the current node is taken; all else is counted with its reason."""
    found = detect.convert(sample("openai_export.json"), "conversations.json")
    assert said(found)[:3] == [
        ("user", "We want to see the lighthouse in Porto on 8 June. Is it open?"),
        ("assistant", "It is open from 10 to 18. Do you come by tram?"),
        ("user", "[image]\nIs this the right tram stop?"),
    ]
    assert found.skipped == {
        "on another branch": 1,
        "of weight 0": 1,
        "hidden": 1,
        "reasoning": 1,
        "conversation without a message": 1,
    }


def test_chatgpt_ids_times_models_and_titles() -> None:
    """Ids are of conversation and node; a message without a time has that of the one before; titles are kept."""
    found = detect.convert(sample("openai_export.json"), "conversations.json")
    messages = {record["id"]: record for record in of_type(found, "message")}
    assert messages["6f1d-lighthouse:n-1"]["created_at"] == "2024-06-01T10:00:01.250000+00:00"
    assert messages["77aa-bread:b-2"]["created_at"] == messages["77aa-bread:b-1"]["created_at"]
    assert messages["77aa-bread:b-2"]["model"] == "gpt-4o-mini"
    assert [record["title"] for record in of_type(found, "session")] == ["Harbour lighthouse trip", "Sourdough"]


def test_chatgpt_keeps_what_is_not_text() -> None:
    """A picture is a mark in the words, and all that was said of it is in the metadata."""
    found = detect.convert(sample("openai_export.json"), "conversations.json")
    (message,) = [record for record in of_type(found, "message") if record["id"].endswith(":n-3")]
    assert message["metadata"]["parts"][0]["asset_pointer"] == "file-service://file-Tram1"
    assert message["metadata"]["attachments"][0]["name"] == "stop.jpg"


def chat(*messages: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    """A ChatGPT export of one conversation without branches."""
    mapping: dict[str, Any] = {"n0": {"id": "n0", "message": None, "parent": None, "children": ["n1"]}}
    for number, message in enumerate(messages, 1):
        children = [f"n{number + 1}"] if number < len(messages) else []
        mapping[f"n{number}"] = {"message": message, "parent": f"n{number - 1}", "children": children}
    return [{"id": "c", "mapping": mapping, "current_node": f"n{len(messages)}", **more}]


def turn(role: str, *parts: Any, **more: Any) -> dict[str, Any]:
    return {"author": {"role": role}, "content": {"content_type": "text", "parts": list(parts)}, **more}


def test_chatgpt_tool_calls() -> None:
    """What is sent to a tool is a call; results find it by name, several may answer it, and others stand alone."""
    found = detect.convert(
        chat(
            turn("user", "draw and look"),
            turn("assistant", "a cat", recipient="dalle.text2im"),
            turn("assistant", '{"q": "cats"}', recipient="browser"),
            turn("tool", "found", author={"role": "tool", "name": "browser"}),
            turn("tool", "found more", author={"role": "tool", "name": "browser"}),
            turn("tool", "drawn", author={"role": "tool", "name": "dalle.text2im"}),
            turn("tool", "a file", author={"role": "tool", "name": "myfiles"}),
        ),
        "conversations.json",
    )
    calls = [call for record in of_type(found, "message") for call in record.get("tool_calls", ())]
    assert [call["function"]["name"] for call in calls] == ["dalle_text2im", "browser"]
    assert [call["function"]["arguments"] for call in calls] == ['{"input": "a cat"}', '{"q": "cats"}']
    drew, looked = (call["id"] for call in calls)
    answers = [record["tool_call_id"] for record in of_type(found, "message") if record["role"] == "tool"]
    assert answers[:3] == [looked, looked, drew]
    assert answers[3] not in {drew, looked}


@pytest.mark.parametrize(
    ("content", "words_in_it"),
    [
        pytest.param({"content_type": "code", "text": "print(1)"}, "print(1)", id="code"),
        pytest.param({"content_type": "tether_quote", "title": "T", "url": "u", "text": "x"}, "T\nu\nx", id="quote"),
        pytest.param({"content_type": "tether_browsing_display", "result": "page"}, "page", id="page"),
        pytest.param({"content_type": "system_error", "text": "no"}, "no", id="error"),
        pytest.param({"content_type": "text", "parts": ["a", None, "", "b"]}, "a\nb", id="parts"),
        pytest.param(
            {"content_type": "multimodal_text", "parts": [{"content_type": "audio_transcription", "text": "hello"}]},
            "hello",
            id="spoken",
        ),
        pytest.param(
            {"content_type": "multimodal_text", "parts": [{"asset_pointer": "sediment://x"}]}, "[image]", id="picture"
        ),
    ],
)
def test_chatgpt_content_types(content: dict[str, Any], words_in_it: str) -> None:
    """Whatever kind of content has words, they are taken."""
    found = detect.convert(chat(turn("assistant", content=content)), "conversations.json")
    assert said(found) == [("assistant", words_in_it)]


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        pytest.param(turn("assistant", ""), "empty", id="empty"),
        pytest.param(turn("user", "x", weight=0), "of weight 0", id="weight"),
        pytest.param(
            turn("system", "x", metadata={"is_visually_hidden_from_conversation": True}), "hidden", id="hidden"
        ),
        pytest.param(turn("critic", "x"), "role 'critic'", id="role"),
        pytest.param(
            turn("tool", content={"content_type": "computer_output"}), "content of type 'computer_output'", id="type"
        ),
    ],
)
def test_chatgpt_counts_what_it_leaves_out(message: dict[str, Any], reason: str) -> None:
    """A message that is no part of what was said is left out, and its reason counted."""
    found = detect.convert(chat(turn("user", "hi"), message), "conversations.json")
    assert said(found) == [("user", "hi")]
    assert found.skipped == {reason: 1}


@pytest.mark.parametrize(
    ("given", "title"),
    [
        pytest.param(" Two\nlines ", "Two lines", id="one-line"),
        pytest.param("x" * 300, "x" * 199 + "\u2026", id="shortened"),
        pytest.param("lone \ud83d", "lone \ufffd", id="repaired"),
        pytest.param(" ", "hi", id="blank"),
        pytest.param(None, "hi", id="none"),
        pytest.param(7, "hi", id="no-text"),
    ],
)
def test_chatgpt_titles_fit(given: Any, title: str) -> None:
    """A title is one line that can be stored; a conversation without one has the first words of the user."""
    found = detect.convert(chat(turn("user", "hi"), title=given), "f")
    assert [record.get("title") for record in of_type(found, "session")] == [title]


def test_what_was_spoken_is_its_text() -> None:
    """A recording beside its transcription is no word of the message; marks of citations are none either."""
    sound = {"content_type": "audio_asset_pointer", "asset_pointer": "sediment://f"}
    film = {"content_type": "real_time_user_audio_video_asset_pointer", "audio_asset_pointer": sound}
    heard = {"content_type": "audio_transcription", "text": "I drive to Porto.", "direction": "in"}
    cited = "It is open. \ue200cite\ue202turn0search1\ue202turn0search2\ue201"
    found = detect.convert(chat(turn("user", heard, film), turn("assistant", cited), turn("user", sound)), "f")
    assert said(found) == [("user", "I drive to Porto."), ("assistant", "It is open."), ("user", "[audio]")]
    assert of_type(found, "message")[0]["metadata"]["parts"] == [film]


def test_chatgpt_without_a_current_node() -> None:
    """The path to the newest leaf is taken where none is said to be current."""
    (conversation,) = chat(turn("user", "hi", create_time=1), turn("assistant", "old", create_time=2))
    conversation["current_node"] = None
    conversation["mapping"]["other"] = {"message": turn("assistant", "new", create_time=3), "parent": "n1"}
    assert said(detect.convert([conversation], "f"))[-1] == ("assistant", "new")


def test_a_longer_conversation_keeps_its_ids() -> None:
    """An export made later has the old messages under the same ids, word for word."""
    early = chat(turn("user", "hi"), create_time=1)
    late = chat(turn("user", "hi"), turn("assistant", "hello"), create_time=1)
    before = of_type(detect.convert(early, "f"), "message")
    assert of_type(detect.convert(late, "g"), "message")[:1] == before


def test_half_characters_are_mended() -> None:
    """Halves of characters and NUL, which exports do have, are replaced and counted."""
    found = detect.convert(chat(turn("user", "a\ud83d b\0 \ud83d\ude00")), "f")
    assert said(found) == [("user", "a\ufffd b\ufffd \U0001f600")]
    assert found.skipped == {REPAIRED: 1}


@pytest.mark.parametrize(
    ("data", "error"),
    [
        pytest.param([{"mapping": 3}], "f, conversation 1 has no mapping of messages", id="mapping"),
        pytest.param([{"mapping": {}}, 3], "f, conversation 2 must be an object, not a number", id="conversation"),
        pytest.param([{"mapping": {"a": []}}], "f, conversation 1, node 'a' must be an object", id="node"),
        pytest.param(
            [{"mapping": {"a": {"parent": "b"}, "b": {"parent": "a"}}}],
            "f, conversation 1, node 'a' comes before itself",
            id="circle",
        ),
        pytest.param(
            chat(turn("user", "x", create_time="soon")),
            "f, conversation 1 (c), node 'n1': create_time is 'soon'; a time is seconds since 1970",
            id="time",
        ),
        pytest.param(chat(turn("user", "x", create_time=-1)), "create_time is -1", id="before-1970"),
        pytest.param(chat(turn("user", "x", create_time=1e300)), "create_time is 1e+300", id="far-future"),
        pytest.param(chat(turn("user", 3)), "a part must be text or an object, not a number", id="part"),
        pytest.param(chat(turn("user", content={"parts": "x"})), "node 'n1': parts must be a list", id="parts"),
    ],
)
def test_chatgpt_errors(data: Any, error: str) -> None:
    """An error names the conversation, the node and what is wrong."""
    with pytest.raises(InputError) as raised:
        detect.convert(data, "f")
    assert error in str(raised.value)
