"""Conversations of Claude.ai, Claude Code, Codex and WhatsApp, by files like those that people have."""

# ruff: noqa: RUF001 - letters of other languages

import copy
import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from lamina import InputError, Memory
from lamina.formats import detect, whatsapp
from lamina.formats.json_lines import Conversion
from tests.command_line import LAMINA, plain_environ
from tests.formats.test_foreign import FOLDER, of_type, sample


def said(found: Conversion) -> list[tuple[str, Any]]:
    return [(record["role"], record["content"]) for record in of_type(found, "message")]


def titles(found: Conversion) -> list[str | None]:
    return [record.get("title") for record in of_type(found, "session")]


# Claude.ai


def test_claude_conversations_with_tools_and_attachments() -> None:
    """Names are titles, else the first words; a file's text is the result of opening it; reasoning is left out."""
    found = detect.convert(sample("claude_conversations.json"), "conversations.json")
    assert titles(found) == ["Balcony herb garden", "Name three rivers in Portugal."]
    assert [role for role, _ in said(found)][:10] == [
        "user", "assistant", "user", "assistant", "tool", "assistant", "tool", "assistant", "user", "assistant",
    ]  # fmt: skip
    assert said(found)[2] == ("user", "Here are my notes from last year.\n[file: balcony.jpg]")
    assert said(found)[4] == ("tool", "2024: basil died in June, chives were eaten by snails twice.")
    messages = of_type(found, "message")
    assert messages[0]["created_at"] == "2025-03-02T08:14:05.120311+00:00"
    assert messages[6]["tool_call_id"] == messages[5]["tool_calls"][0]["id"]
    assert found.skipped == {"reasoning": 1, "conversation without a message": 1}


def test_claude_without_content_blocks() -> None:
    """Older exports have the text alone."""
    data = sample("claude_conversations.json")
    for message in data[1]["chat_messages"]:
        del message["content"]
    assert said(detect.convert(data[1:2], "f")) == said(detect.convert(sample("claude_conversations.json")[1:2], "f"))


def test_claude_shows_the_branch_that_was_seen_last() -> None:
    """Messages that name the one before them may be a tree; what was not on the last path is counted."""
    data = sample("claude_conversations.json")[1:2]
    first, answer = data[0]["chat_messages"]
    other = {**answer, "uuid": "m-0103", "content": [{"type": "text", "text": "The Mondego."}]}
    for one in (answer, other):
        one["parent_message_uuid"] = first["uuid"]
    data[0]["chat_messages"].append(other)
    found = detect.convert(copy.deepcopy(data), "f")
    assert said(found)[1:] == [("assistant", "The Mondego.")]
    assert found.skipped == {"on another branch": 1}
    data[0]["current_leaf_message_uuid"] = answer["uuid"]
    assert said(detect.convert(data, "f"))[1:] == [("assistant", "The Douro, the Tagus and the Guadiana.")]


# Claude Code and Codex


def test_claude_code_transcripts() -> None:
    """Blocks of one answer are one message; results find their calls; what the program wrote itself is left out."""
    found = detect.convert(sample("claude_code.jsonl"), "0f6a.jsonl")
    assert titles(found) == ["Fix the Sunday tide table test"]
    assert [role for role, _ in said(found)] == ["user", "assistant", "tool", "tool", "assistant", "user", "assistant"]
    messages = of_type(found, "message")
    assert messages[1]["content"] == "I'll read the test and the module."
    assert [call["function"]["name"] for call in messages[1]["tool_calls"]] == ["Read", "Bash"]
    assert [one["tool_call_id"] for one in messages[2:4]] == [call["id"] for call in messages[1]["tool_calls"]]
    assert (messages[0]["metadata"], messages[1]["model"]) == (
        {"cwd": "/home/mara/harbour"}, "claude-sonnet-4-5-20250929"
    )  # fmt: skip
    assert found.skipped == {"hidden": 2, "message of a subagent": 1, "reasoning": 1}


def test_claude_code_titles() -> None:
    """A name that the user gave is worth most; a summary of another session is not taken; else the first words."""
    lines = sample("claude_code.jsonl")
    lines[-1]["leafUuid"] = "of another file"
    assert titles(detect.convert(lines, "f")) == [
        "The tide table test fails on Sundays. I always use tabs, never spaces. Please fi…"
    ]
    lines.append({"type": "custom-title", "customTitle": "Tides", "sessionId": lines[1]["sessionId"]})
    assert titles(detect.convert(lines, "f")) == ["Tides"]


def test_long_results_are_cut() -> None:
    """The end of what a tool gave is left out and counted."""
    lines = sample("claude_code.jsonl")
    lines[8]["message"]["content"][0]["content"] = "x" * 50_000
    found = detect.convert(lines, "f")
    assert said(found)[2][1].endswith("x\n[… 30,000 more characters]")
    assert found.skipped["end of a tool result or file with more than 20,000 characters"] == 1


def test_codex_rollouts() -> None:
    """What was said and done; the environment that the program tells, reasoning and events are left out."""
    found = detect.convert(sample("codex_rollout.jsonl"), "rollout.jsonl")
    assert titles(found) == ["Rename the ferry timetable module to sailings."]
    assert [role for role, _ in said(found)] == ["user", "assistant", "tool", "assistant"]
    assert of_type(found, "message")[3]["model"] == "gpt-5-codex"
    assert found.skipped == {"hidden": 1, "reasoning": 1}
    bare = [{"id": "old", "timestamp": "2025-06-01T00:00:00Z", "instructions": None}]
    bare += [line["payload"] for line in sample("codex_rollout.jsonl") if line["type"] == "response_item"]
    assert said(detect.convert(bare, "rollout.jsonl")) == said(found)


# WhatsApp


def chat(name: str, me: str | None = "Mara") -> tuple[Conversion, list[str]]:
    text = (FOLDER / name).read_text("utf-8")
    return whatsapp.convert(text, name, me, lambda moment: moment.replace(tzinfo=UTC))


def test_whatsapp_of_android() -> None:
    """Messages over several lines, media, deleted and edited ones, notices; the user's words are the user's."""
    found, notes = chat("whatsapp_android.txt")
    assert said(found) == [
        ("user", "Are you coming to the harbour on Sunday?"),
        ("assistant", "Yes! I bring:\n- the blue tent\n- coffee: the strong one"),
        ("user", "I moved to Malmö in September, so I take the train."),
        ("assistant", "[media] The pier at dawn"),
        ("user", "Lovely"),
    ]
    messages = of_type(found, "message")
    assert [one["name"] for one in messages[:2]] == ["Mara Lindqvist", "Tomas"]
    assert messages[-1]["created_at"] == "2024-10-13T09:20:00+00:00"
    assert titles(found) == ["WhatsApp: Tomas"]
    assert found.skipped == {"notice of WhatsApp": 2, "media": 1, "deleted": 1}
    assert notes == []


def test_whatsapp_of_ios() -> None:
    """Twelve hours, the month first, signs that do not show, numbers as names."""
    found, notes = chat("whatsapp_ios.txt", "mara lindqvist")
    assert said(found) == [
        ("user", "Hi all, my dog is called Bosun."),
        ("assistant", "Bosun!\nSuch a good name"),
        ("assistant", "Who feeds him in March?"),
        ("user", "My brother Nils does."),
    ]
    assert [one["created_at"][:16] for one in of_type(found, "message")] == [
        "2025-02-03T19:05", "2025-02-03T19:06", "2025-02-03T23:59", "2025-02-14T00:00",
    ]  # fmt: skip
    assert [one["name"] for one in of_type(found, "message")][1:3] == ["Ines", "+46 70 123 45 67"]
    assert notes == []


@pytest.mark.parametrize(
    ("lines", "days", "is_said"),
    [
        pytest.param(["13/02/24, 9:00 - A: x", "01/03/24, 9:00 - A: y"], ["02-13", "03-01"], False, id="day-over-12"),
        pytest.param(["02/13/24, 9:00 - A: x", "03/01/24, 9:00 - A: y"], ["02-13", "03-01"], False, id="month-first"),
        pytest.param(["10/01/24, 9:00 - A: x", "02/02/24, 9:00 - A: y"], ["01-10", "02-02"], True, id="only-rising"),
        pytest.param(["01/02/24, 9:00 - A: x"], ["02-01"], True, id="24-hours"),
        pytest.param(["1/2/24, 9:00 PM - A: x"], ["01-02"], True, id="12-hours"),
        pytest.param(["2024-02-01 09:00 - A: x"], ["02-01"], False, id="year-first"),
        pytest.param(["[01.02.24, 09:00:01] A: x"], ["02-01"], True, id="dots"),
        pytest.param(["[13.2.2024 klo 9.00.01] A: x"], ["02-13"], False, id="finnish"),
        pytest.param(["13/2/24, 9:00 p. m. - A: x"], ["02-13"], False, id="spanish"),
    ],
)
def test_whatsapp_dates_are_read_over_the_whole_file(lines: list[str], days: list[str], is_said: bool) -> None:
    """Where no date settles the order, the file says which was assumed."""
    found, notes = whatsapp.convert("\n".join(lines), "chat.txt", None, lambda moment: moment.replace(tzinfo=UTC))
    assert [one["created_at"][5:10] for one in of_type(found, "message")] == days
    assert bool(notes) == is_said


@pytest.mark.parametrize(
    ("text", "me", "words"),
    [
        pytest.param("1/2/24, 9:00 - A: x\n1/2/24, 9:00 - B: y", None, "chat of 'A', 'B'; say which .*--me", id="who"),
        pytest.param(
            "1/2/24, 9:00 - A: x\n1/2/24, 9:00 - B: y", "C", "no speaker 'C'; there are 'A', 'B'", id="nobody"
        ),
        pytest.param("1/2/24, 9:00 - Al: x\n1/2/24, 9:00 - Ab: y", "a", "more than one speaker 'a'", id="unclear"),
        pytest.param("13/2/24, 9:00 - A: x\n2/13/24, 9:00 - A: y", None, "in two orders: .*line 1.*line 2", id="mix"),
        pytest.param("31/2/24, 9:00 - A: x", None, "line 1 has no valid time", id="day"),
        pytest.param("1/2/24, 9:00 - A: <Media omitted>", None, "no message with words", id="media-only"),
        pytest.param("1/2/24, 9:00 - You created the group", None, "no message that anybody sent", id="notices"),
    ],
)
def test_whatsapp_that_cannot_be_read(text: str, me: str | None, words: str) -> None:
    """The error says what would work."""
    with pytest.raises(InputError, match=words):
        whatsapp.convert(text, "chat.txt", me, datetime.astimezone)


def test_a_person_may_have_several_names(tmp_path: Path) -> None:
    """As in chats that were exported from different phones; in each the name that is there counts."""
    home, work = tmp_path / "Home.txt", tmp_path / "Work.txt"
    home.write_text("13/2/24, 9:00 - Kim: I moved to Ghent.\n13/2/24, 9:01 - Jonas: Great", "utf-8")
    work.write_text("13/2/24, 9:00 - Kim Berg: I drive a Kia.\n13/2/24, 9:01 - Kimberly: Nice", "utf-8")
    with Memory(tmp_path / "a.db", worker=False) as memory:
        done = memory.import_([home, work], user_id="kim", me=["Kim", "Kim Berg"], zone="UTC")
        assert done.problems == ()
        told = [one for session in memory.sessions() for one in memory.messages(session.id) if one.role == "user"]
        assert {one.name for one in told} == {"Kim", "Kim Berg"}
        with pytest.raises(InputError, match="me must be a list of words"):
            memory.import_(home, me=[1])  # type: ignore[list-item]
    words = [LAMINA, "import", "Home.txt", "Work.txt", "--user", "kim", "--me", "Kim", "--me", "Kim Berg"]
    ran = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False, env=plain_environ())
    assert (ran.returncode, ran.stderr.count("error")) == (0, 0), ran.stdout
    with pytest.raises(InputError, match="no speaker 'Kim' or 'Bo'; there are 'A', 'B'"):
        whatsapp.convert("1/2/24, 9:00 - A: x\n1/2/24, 9:00 - B: y", "f", ["Kim", "Bo"], datetime.astimezone)


def test_a_longer_whatsapp_export_has_the_same_ids() -> None:
    """What was imported before is known again; equal messages of the same minute are each their own."""
    lines = ["13/2/24, 9:00 - A: ok", "13/2/24, 9:00 - A: ok", "13/2/24, 9:01 - A: later"]
    short, long = (
        [record["id"] for record in whatsapp.convert("\n".join(some), "f", None, datetime.astimezone)[0].records]
        for some in (lines[:2], lines)
    )
    assert (long[:3], len(set(long))) == (short, 4)


PLACEHOLDERS = {
    "en": ("image omitted|video omitted|audio omitted|sticker omitted|GIF omitted|document omitted|Contact card omitted"
           "|<Media omitted>|<attached: 00000012-PHOTO.jpg>|IMG-1.jpg (file attached)"
           "|plan.pdf • 3 pages document omitted"),
    "de": ("Bild weggelassen|Video weggelassen|Audio weggelassen|Sticker weggelassen|GIF weggelassen"
           "|Dokument weggelassen|Kontaktkarte weggelassen|<Medien ausgeschlossen>|<Anhang: 00000012-PHOTO.jpg>"
           "|PTT-1.opus (Datei angehängt)|plan.pdf • 3 Seiten Dokument weggelassen"),
    "es": ("imagen omitida|video omitido|audio omitido|sticker omitido|GIF omitido|documento omitido"
           "|Tarjeta de contacto omitida|<Multimedia omitido>|Multimedia omitido|<adjunto: 00000012-PHOTO.jpg>"
           "|VID-1.mp4 (archivo adjunto)"),
    "fr": ("image absente|vidéo absente|audio omis|sticker omis|GIF retiré|document manquant|fiche contact manquante"
           "|<Médias omis>|Média omis|<pièce jointe : 00000012-PHOTO.jpg>|IMG-1.jpg (fichier joint)"),
    "it": ("immagine omessa|video omesso|audio omesso|sticker non incluso|GIF esclusa|documento omesso"
           "|Scheda contatto omessa|<Media omessi>|<allegato: 00000012-PHOTO.jpg>|IMG-1.jpg (file allegato)"),
    "nl": ("afbeelding weggelaten|video weggelaten|audio weggelaten|sticker weggelaten|GIF weggelaten"
           "|document weggelaten|Contactkaart weggelaten|<Media weggelaten>|<bijgevoegd: 00000012-PHOTO.jpg>"
           "|IMG-1.jpg (bestand bijgevoegd)"),
    "pt": ("imagem ocultada|vídeo omitido|áudio ocultado|figurinha omitida|GIF omitido|documento omitido"
           "|Cartão do contato omitido|<Mídia oculta>|<Ficheiro não revelado>|<anexado: 00000012-PHOTO.jpg>"
           "|IMG-1.jpg (arquivo anexado)|IMG-1.jpg (ficheiro anexado)"),
    "sv": "bild utelämnad|ljud utelämnat|<Media utelämnat>|<bifogad: 00000012-PHOTO.jpg>|IMG-1.jpg (bifogad fil)",
    "tr": ("görüntü dahil edilmedi|video dahil edilmedi|ses dahil edilmedi|Çıkartma dahil edilmedi|GIF dahil edilmedi"
           "|belge dahil edilmedi|Kişi kartı dahil edilmedi|<Medya dahil edilmedi>|IMG-1.jpg (dosya ekli)"),
    "id": ("gambar tidak disertakan|video tidak disertakan|audio tidak disertakan|stiker tidak disertakan"
           "|dokumen tidak disertakan|<Media tidak disertakan>|IMG-1.jpg (file terlampir)"),
    "ru": "изображение отсутствует|видео отсутствует|документ отсутствует|<Без медиафайлов>|IMG-1.jpg (файл добавлен)",
    "ar": "<تم استبعاد الوسائط>|IMG-1.jpg (الملف مرفق)",
    "hi": "<मीडिया के बिना>",
    "other": "null",
}  # fmt: skip
NOTICES = {
    "en": "Messages and calls are end-to-end encrypted. Only people in this chat can read them.",
    "de": "Nachrichten und Anrufe sind Ende-zu-Ende-verschlüsselt. Niemand außerhalb kann sie lesen.",
    "es": "Los mensajes y las llamadas están cifrados de extremo a extremo.",
    "fr": "Les messages et les appels sont chiffrés de bout en bout.",
    "it": "I messaggi e le chiamate sono crittografati end-to-end.",
    "nl": "Berichten en oproepen worden end-to-end versleuteld.",
    "pt": "As mensagens e as chamadas são protegidas com a criptografia de ponta a ponta.",
    "sv": "Meddelanden och samtal är end-to-end-krypterade.",
    "tr": "Mesajlar ve aramalar uçtan uca şifrelidir. Bu sohbetin dışında hiç kimse okuyamaz.",
    "id": "Pesan dan panggilan terenkripsi secara end-to-end. Tidak seorang pun di luar chat ini dapat membacanya.",
    "ru": "Сообщения и звонки защищены сквозным шифрованием.",
    "ar": "الرسائل والمكالمات مشفرة تمامًا بين الطرفين.",
    "call-tr": "Cevapsız sesli arama",
    "call-id": "Panggilan suara tak terjawab",
    "call-ru": "Пропущенный аудиозвонок",
    "code": "Votre code de sécurité avec Léa a changé.",
    "call": "Verpasster Sprachanruf",
}
DELETED = (
    "This message was deleted.|Diese Nachricht wurde gelöscht.|Eliminaste este mensaje.|Ce message a été supprimé"
    "|Questo messaggio è stato eliminato|Dit bericht is verwijderd|Mensagem apagada|Du tog bort det här meddelandet"
    "|Bu mesaj silindi|Pesan ini telah dihapus|Данное сообщение удалено|تم حذف هذه الرسالة"
)


def read_lines(*lines: str) -> Conversion:
    text = "\n".join(["13/2/24, 9:00 - A: Hello.", *(f"13/2/24, 9:01 - {line}" for line in lines)])
    return whatsapp.convert(text, "chat.txt", "A", lambda moment: moment.replace(tzinfo=UTC))[0]


@pytest.mark.parametrize("language", PLACEHOLDERS)
def test_placeholders_of_media_are_no_words(language: str) -> None:
    """On iOS and Android, in each language; they are counted, and a caption is kept."""
    marks = PLACEHOLDERS[language].split("|")
    found = read_lines(*(f"B: {mark}" for mark in marks), f"B: {marks[0]}\nThe pier at dawn")
    assert said(found) == [("user", "Hello."), ("assistant", "[media] The pier at dawn")]
    assert found.skipped == {"media": len(marks)}


@pytest.mark.parametrize("language", NOTICES)
def test_notices_are_no_words(language: str) -> None:
    """Whether a name stands before them, as on iOS, or none."""
    found = read_lines(NOTICES[language], f"B: {NOTICES[language]}", "B: Hi")
    assert (said(found)[1:], found.skipped) == ([("assistant", "Hi")], {"notice of WhatsApp": 2})


def test_deleted_messages_are_no_words() -> None:
    """In each language."""
    found = read_lines(*(f"B: {text}" for text in DELETED.split("|")), "B: Hi")
    assert (len(said(found)), found.skipped) == (2, {"deleted": 12})


def test_what_whatsapp_marks_as_its_own_is_no_word_in_any_language() -> None:
    """On iOS a sign that does not show begins it; a place and a poll, which people send, have it, too."""
    texts = [
        "obraz pominięto",
        "Anna utworzyła grupę",
        "Standort: https://maps.example/1",
        "POLL:\nWhen?\nOPTION: May",
    ]
    lines = [f"[13.02.24, 09:00:0{number}] B: \u200e{text}" for number, text in enumerate(texts)]
    found, _ = whatsapp.convert(
        "\n".join(["[13.02.24, 09:00:00] A: Hello.", *lines]),
        "chat.txt",
        "A",
        lambda moment: moment.replace(tzinfo=UTC),
    )
    assert [text for _, text in said(found)] == ["Hello.", texts[2], texts[3]]
    assert found.skipped == {"notice of WhatsApp": 2}


@pytest.mark.parametrize(
    "text",
    ["I omitted the image", "Signal is end-to-end encrypted too", "<3", '<div class="x">', "<sigh>", "see a.txt (mine)",
     "Das Video wurde im Film weggelassen", "Die Nachricht wurde gelöscht", "Un documento perdido", "null and void",
     "Video eklenmedi mi?", "Kahve dahil edilmedi", "Пропущенный звонок"],
)  # fmt: skip
def test_words_that_are_like_placeholders_are_kept(text: str) -> None:
    """Only what stands alone on its line, as WhatsApp writes it, is left out."""
    assert said(read_lines(f"B: {text}"))[1:] == [("assistant", text)]


@pytest.mark.parametrize(
    "name",
    ["WhatsApp Chat with Tomas.txt", "WhatsApp Chat mit Tomas.txt", "Chat de WhatsApp con Tomas.txt",
     "Discussion WhatsApp avec Tomas.txt", "Chat WhatsApp con Tomas.txt", "WhatsApp-chat met Tomas.txt",
     "Conversa do WhatsApp com Tomas.txt", "WhatsApp Chat - Tomas.zip/_chat.txt",
     "Tomas ile WhatsApp Sohbeti.txt", "Chat WhatsApp dengan Tomas.txt", "Чат WhatsApp с Tomas.txt"],
)  # fmt: skip
def test_a_chat_is_called_as_its_file(name: str) -> None:
    """In each language."""
    found, _ = whatsapp.convert("13/2/24, 9:00 - A: Hello.", name, None, lambda moment: moment.replace(tzinfo=UTC))
    assert titles(found) == ["WhatsApp: Tomas"]


def test_formats_are_told_by_their_content() -> None:
    """A transcript's first line may be a summary, a snapshot or a message."""
    lines = sample("claude_code.jsonl")
    for first in (lines[0], lines[1], lines[-1]):
        assert detect.detect([first], "f") == "claude_code"
    assert detect.detect(sample("codex_rollout.jsonl"), "f") == "codex"
    assert detect.detect(sample("claude_conversations.json"), "f") == "claude"
    assert detect.detect([json.loads('{"type": "summary", "id": "s"}')], "f") == "lamina"
