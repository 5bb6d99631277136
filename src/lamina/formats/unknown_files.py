"""What a file seems to be that cannot be imported, by its first bytes and its name, and what can be."""

import re
from collections.abc import Mapping
from typing import Any

CAN_BE_IMPORTED = (
    "what can be imported: exports of ChatGPT and Claude.ai (.zip or .json), transcripts of Claude Code and Codex"
    " (.jsonl), chats of WhatsApp (.zip or .txt), mem0, ShareGPT, chat messages and request logs (.json or .jsonl),"
    " and exports of Lamina (.jsonl, a folder or .md)"
)

_UNPACK = "unpack it, and import what is in it"
_OFFICE = {
    ".docx": "a Word document", ".xlsx": "an Excel workbook", ".pptx": "a PowerPoint presentation",
    ".odt": "an OpenDocument text", ".ods": "an OpenDocument spreadsheet", ".epub": "an EPUB book",
    ".jar": "a Java archive", ".apk": "an Android app", ".whl": "a Python package",
}  # fmt: skip
_BYTES: tuple[tuple[bytes, str, str], ...] = (  # what a file begins with, what it is then, what would work
    (b"%PDF-", "a PDF document", ""),
    (b"\x89PNG", "a picture (PNG)", ""),
    (b"\xff\xd8\xff", "a picture (JPEG)", ""),
    (b"GIF8", "a picture (GIF)", ""),
    (b"BM", "a picture (BMP)", ""),
    (b"II*\0", "a picture (TIFF)", ""),
    (b"MM\0*", "a picture (TIFF)", ""),
    (b"\0\0\x01\0", "a picture (icon)", ""),
    (b"ID3", "a recording (MP3)", ""),
    (b"\xff\xfb", "a recording (MP3)", ""),
    (b"OggS", "a recording (Ogg)", ""),
    (b"fLaC", "a recording (FLAC)", ""),
    (b"\x1a\x45\xdf\xa3", "a video (Matroska or WebM)", ""),
    (b"\xd0\xcf\x11\xe0", "a document of an older Microsoft Office", ""),
    (b"\x1f\x8b", "a gzip archive", _UNPACK),
    (b"7z\xbc\xaf", "a 7-Zip archive", _UNPACK),
    (b"Rar!", "a RAR archive", _UNPACK),
    (b"BZh", "a bzip2 archive", _UNPACK),
    (b"\xfd7zXZ", "an xz archive", _UNPACK),
    (b"\x28\xb5\x2f\xfd", "a Zstandard archive", _UNPACK),
    (b"SQLite format 3\0", "a SQLite database", "a memory of Lamina is opened with --db, or copied with `lamina copy`"),
    (b"\xff\xfe", "text in UTF-16", "save it as UTF-8"),
    (b"\xfe\xff", "text in UTF-16", "save it as UTF-8"),
    (b"PAR1", "a Parquet table", ""),
    (b"bplist", "an Apple property list", ""),
    (b"\x7fELF", "a program", ""),
    (b"MZ", "a program", ""),
    (rb"{\rtf", "a document in Rich Text Format", ""),
)
_RIFF = {b"WEBP": "a picture (WebP)", b"WAVE": "a recording (WAV)", b"AVI ": "a video (AVI)"}
_BRANDS = {b"heic": "a picture (HEIC)", b"heix": "a picture (HEIC)", b"mif1": "a picture (HEIC)",
           b"avif": "a picture (AVIF)", b"M4A ": "a recording (M4A)"}  # fmt: skip
_TEXTS: tuple[tuple[re.Pattern[str], str, str], ...] = (
    (
        re.compile(r"<!doctype html|<html", re.IGNORECASE),
        "a web page",
        "ChatGPT's export has the same conversations with their times in conversations.json, in the .zip",
    ),
    (re.compile(r"<svg|<\?xml[^<]*<svg", re.IGNORECASE), "a picture (SVG)", ""),
    (re.compile(r"<\?xml|<[a-z]+[\s>]", re.IGNORECASE), "XML", ""),
    (re.compile(r"BEGIN:VCARD"), "a contact card", ""),
    (re.compile(r"BEGIN:VCALENDAR"), "a calendar", ""),
    (re.compile(r"From \S+@|(?:Received|Return-Path|Delivered-To|MIME-Version): "), "an e-mail", ""),
)
_AS_CHAT = 'write it as chat messages: a list of {"role": "user", "content": "…", "created_at": "…"}'
_JSON: tuple[tuple[frozenset[str], str], ...] = (  # fields of the first object, and whose export it is then
    (frozenset({"name", "type", "id", "messages"}), "a chat of Telegram"),
    (frozenset({"personal_information", "chats"}), "an export of Telegram"),
    (frozenset({"type", "ts", "text"}), "a channel of Slack"),
    (frozenset({"header", "title", "time", "products"}), "an activity log of Google (Gemini)"),
    (frozenset({"participants", "messages", "thread_path"}), "a chat of Messenger or Instagram"),
    (frozenset({"guild", "channel", "messages"}), "a channel of Discord"),
)
DAMAGED = ("JSON that is cut or damaged", "download or copy it again")
PLAIN = ("plain text", "")
_TABLES = (".csv", ".tsv")
_SEPARATORS = (",", ";", "\t")
_BOX, _BRAND = slice(4, 8), slice(8, 12)  # where MP4 and its relatives name themselves
_CONTROL = re.compile(r"[\0-\x08\x0e-\x1f]")
_MAX_ODD = 0.1  # of the characters of a text


def binary_kind(start: bytes, name: str) -> tuple[str, str] | None:
    """What a file is that has no text to read, and what would work, if anything; None for text."""
    suffix = _suffix(name)
    if start.startswith(b"PK\x03\x04"):
        return _OFFICE.get(suffix, "a zip archive"), "" if suffix in _OFFICE else "give it a name that ends in .zip"
    if start.startswith(b"RIFF"):
        return _RIFF.get(start[_BRAND], "a recording or video"), ""
    if start[_BOX] == b"ftyp":
        return _BRANDS.get(start[_BRAND], "a video (MP4)"), ""
    for mark, kind, advice in _BYTES:
        if start.startswith(mark) and (len(mark) > len("BM") or _is_odd(start)):
            return kind, advice
    return ("a file without text", "") if _is_odd(start) else None


def text_kind(start: str, name: str) -> tuple[str, str]:
    """What a text seems to be that is none of the formats, and what would work, if anything."""
    text = start.lstrip("\ufeff \r\n\t")
    for pattern, kind, advice in _TEXTS:
        if pattern.match(text):
            return kind, advice
    if _suffix(name) in _TABLES or _is_table(text):
        return "a table (CSV)", ""
    if text.startswith(("{", "[")):
        return DAMAGED
    return PLAIN


def json_kind(first: Mapping[str, Any]) -> tuple[str, str] | None:
    """Which other tool's export JSON is, by its first object, and what would work; None if it is none that is known."""
    messages = first.get("messages")
    if isinstance(messages, list) and messages and isinstance(messages[0], dict) and "role" in messages[0]:
        return None
    found = next((kind for fields, kind in _JSON if fields <= first.keys()), None)
    return None if found is None else (found, _AS_CHAT)


def describe(name: str, kind: tuple[str, str]) -> str:
    """What is said of a file that is nothing to import."""
    what, advice = kind
    return f"{name} seems to be {what}{f': {advice}' if advice else ''}; {CAN_BE_IMPORTED}"


def _suffix(name: str) -> str:
    stem, dot, end = name.rpartition(".")
    return f"{dot}{end}".lower() if stem else ""


def _is_odd(start: bytes) -> bool:
    """Whether bytes are no text, in whatever encoding."""
    text = start.decode("utf-8", "replace")
    odd = len(_CONTROL.findall(text)) + text.rstrip("\ufffd").count("\ufffd")  # the last character may be cut
    return b"\0" in start or odd > _MAX_ODD * len(text)


def _is_table(text: str) -> bool:
    """Whether the first lines have the same number of separators."""
    lines = text.splitlines()[:5]
    counts = [{line.count(sign) for line in lines} for sign in _SEPARATORS]
    return len(lines) > 1 and any(len(one) == 1 and max(one) > 1 for one in counts)
