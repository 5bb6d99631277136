"""What WhatsApp itself writes into a chat, on iOS and Android: marks of media, deleted and edited messages, notices."""

# ruff: noqa: RUF001 - letters of other languages

import re
from collections.abc import Iterable

# What is left out of an export, and the word for that: on iOS "image omitted", on Android "<Media omitted>".
_OMITTED = {
    "en": (
        (
            "image|photo|video|video note|audio|voice message|sticker|GIF|document|file"
            "|view once (?:photo|video|voice message)|contact card|media"
        ),
        "omitted",
    ),
    "de": (
        (
            "Bild|Foto|Video|Videonachricht|Audio|Audiodatei|Sprachnachricht|Sticker|GIF|Dokument|Datei|Kontaktkarte"
            "|Medien?|Mediendatei(?:en)?"
        ),
        "weggelassen|ausgelassen|ausgeschlossen|nicht enthalten",
    ),
    "es": (
        (
            "imagen|foto|v[ií]deo|nota de v[ií]deo|audio|nota de voz|mensaje de voz|sticker|GIF|documento|archivos?"
            "|tarjeta de contacto|multimedia|medios"
        ),
        "omitid[oa]s?|exclu[ií]d[oa]s?",
    ),
    "fr": (
        (
            "image|photo|vidéo|note vidéo|audio|message vocal|sticker|autocollant|GIF|document|fichiers?"
            "|fiche (?:de )?contact|carte de contact|médias?"
        ),
        "omis(?:es?)?|absente?s?|manquante?s?|retirée?s?|exclue?s?|ignorée?s?",
    ),
    "it": (
        (
            "immagine|foto|video|videomessaggio|audio|messaggio vocale|sticker|adesivo|GIF|documento|file"
            "|scheda (?:del )?contatto|biglietto da visita|media"
        ),
        "omess[oaie]|esclus[oaie]|non inclus[oaie]",
    ),
    "nl": (
        (
            "afbeelding|foto|video|videobericht|audio|spraakbericht|sticker|GIF|document|bestand|contactkaart|visitekaartje"
            "|media"
        ),
        "weggelaten|niet opgenomen|uitgesloten",
    ),
    "pt": (
        (
            "imagem|foto|v[ií]deo|mensagem de v[ií]deo|áudio|mensagem de (?:voz|áudio)|figurinha|sticker|autocolante"
            "|GIF|documento|(?:arquivo|ficheiro)s?(?: de (?:mídia|multimédia))?|mídia|multimédia"
            "|cartão d[eo] cont[ac]c?to"
        ),
        "omitid[oa]s?|ocult(?:ad)?[oa]s?|não (?:revelad|incluíd)[oa]s?",
    ),
    "sv": (
        (
            "bild|foto|video|videomeddelande|ljud|röstmeddelande|klistermärke|dekal|GIF|dokument|fil|kontaktkort|media"
            "|mediefil(?:er)?"
        ),
        "(?:har )?utelämna(?:d|t|de|des|ts)|utesluten|uteslutet|uteslutna",
    ),
    "tr": (
        (
            "görüntü|resim|fotoğraf|video|görüntülü mesaj|ses|sesli mesaj|çıkartma|GIF|belge|dosya|kişi kartı"
            "|medya(?: dosyası)?"
        ),
        "dahil edilmedi|eklenmedi|hariç tutuldu",
    ),
    "id": (
        "gambar|foto|video|pesan video|audio|pesan suara|stiker|GIF|dokumen|file|kartu kontak|media",
        "tidak disertakan|dihilangkan",
    ),
    "ru": (
        (
            "изображение|фото|видео|видеосообщение|аудио|аудиофайл|голосовое сообщение|стикер|GIF|документ|файл"
            "|карточка контакта|медиафайлы?"
        ),
        "отсутству[ею]т|опущен[оаы]?|пропущен[оаы]?",
    ),
}
_ATTACHED = (
    "file attached|Datei angehängt|archivo adjunto|fichier joint|file allegato|bestand bijgevoegd"
    "|(?:arquivo|ficheiro) anexad[ao]|bifogad fil|fil bifogad|dosya ekli|file terlampir|файл добавлен|الملف مرفق"
)
_DELETED = (
    "This message was deleted(?: by [^.]+)?|You deleted this message(?: as admin)?",
    "Diese Nachricht wurde gelöscht|Du hast diese Nachricht gelöscht|Diese Nachricht wurde vom Admin [^.]+ gelöscht",
    "Se eliminó este mensaje|Eliminaste este mensaje|Este mensaje (?:fue eliminado|se eliminó)",
    "Ce message a été supprimé|(?:Vous avez|Tu as) supprimé ce message",
    "Questo messaggio è stato eliminato|Hai eliminato questo messaggio",
    "Dit bericht (?:is|werd) verwijderd|(?:Je|U) (?:hebt|heeft) dit bericht verwijderd",
    "(?:Esta )?mensagem (?:foi )?(?:apagada|eliminada)|(?:Você )?(?:apagou|eliminou) esta mensagem",
    "(?:Det här|Detta) meddelandet? (?:togs bort|raderades|har tagits bort)",
    "Du (?:tog bort|raderade) (?:det här|detta) meddelandet?",
    "Bu mesaj silindi|Bu mesajı (?:sildiniz|sildin)",
    "Pesan ini (?:telah )?dihapus|Anda (?:telah )?menghapus pesan ini",
    "(?:Данное |Это )?сообщение удалено|Вы удалили (?:данное|это) сообщение",
    "(?:لقد )?تم حذف هذه الرسالة|(?:لقد )?حذفتَ? هذه الرسالة",
)
_EDITED = (
    "This message was edited|Diese Nachricht wurde bearbeitet|Se editó este mensaje"
    "|Este mensaje (?:se editó|fue editado)"
    "|Ce message a été modifié|Questo messaggio è stato modificato|Dit bericht is (?:bewerkt|aangepast)"
    "|(?:Esta )?mensagem (?:foi )?editada|(?:Det här|Detta) meddelandet? (?:har )?redigerat?[ds]?e?s?"
    "|Bu mesaj düzenlendi|Pesan ini (?:telah )?diedit|(?:Данное )?сообщение изменено|تم تعديل هذه الرسالة"
)
_ENCRYPTED = (
    r"Messages (?:and calls|you send to this|to this (?:chat|group))\b[^\n]*(?:end-to-end|encrypt)",
    r"Nachrichten (?:und Anrufe|in diesem Chat|an diese[nr]? |, die du)\b[^\n]*Ende-zu-Ende",
    r"(?:Los mensajes y (?:las )?llamadas|Los mensajes (?:que|en) )[^\n]*extremo a extremo",
    r"Les messages (?:et (?:les )?appels|envoyés|que vous|dans cette)\b[^\n]*bout en bout",
    r"I messaggi (?:e le chiamate|che invii|inviati|in questa)\b[^\n]*(?:crittograf|end-to-end)",
    r"(?:De )?berichten (?:en (?:oproepen|gesprekken)|die je|in deze|naar dit)\b[^\n]*(?:end-to-end|versleutel)",
    r"As mensagens (?:e (?:as )?(?:chamadas|ligações)|que|desta|nesta)\b[^\n]*(?:ponta a ponta|ponto a ponto)",
    r"Meddelanden (?:och samtal|du skickar|i den här)\b[^\n]*(?:end-to-end|totalsträck|krypter)",
    r"(?:Bu sohbete gönderdiğiniz )?mesajlar(?:ınız)? ve (?:aramalar|çağrılar)\b[^\n]*uçtan uca",
    r"Pesan dan panggilan\b[^\n]*(?:end-to-end|enkripsi)",
    r"(?:Сообщения и звонки|Сообщения, которые вы)\b[^\n]*(?:сквозн|шифровани)",
    r"الرسائل والمكالمات[^\n]*مشف[^\n]*",
)
_OTHER_NOTICES = (
    r"Your security code with .+ changed",
    r"Deine Sicherheitsnummer (?:für|mit) .+ hat sich geändert|Die Sicherheitsnummer von .+ hat sich geändert",
    r"(?:Cambió tu|Tu) código de seguridad con .+",
    r"Votre code de sécurité avec .+ a changé",
    r"Il (?:tuo )?codice di sicurezza (?:con|di) .+ è cambiato",
    r"(?:Je|Uw) beveiligingscode (?:voor|met) .+ is gewijzigd",
    r"O (?:seu )?código de segurança (?:com|de) .+ mudou",
    r"Din säkerhetskod (?:med|för) .+ (?:har )?ändra(?:des|ts)",
    r".+ ile (?:olan )?güvenlik kodunuz değişti",
    r"Kode keamanan Anda (?:dengan|untuk) .+ (?:telah )?berubah",
    r"(?:Ваш к|К)од безопасности с .+ изменился",
    r"Missed (?:voice|video|group)[^\n]* call\b[^\n]{0,40}",
    r"Verpasster (?:Sprach|Video|Gruppen)[^\n]*anruf\b[^\n]{0,40}",
    r"(?:Llamada|Videollamada)[^\n]{0,20} perdida\b[^\n]{0,40}",
    r"Appel (?:vocal |vidéo |de groupe )?manqué\b[^\n]{0,40}",
    r"(?:Chiamata|Videochiamata)[^\n]{0,20} persa\b[^\n]{0,40}",
    r"Gemiste (?:spraak-?|video-?|groeps-?)?oproep\b[^\n]{0,40}",
    r"(?:Chamada|Ligação) de (?:voz|vídeo)[^\n]{0,20} perdida\b[^\n]{0,40}",
    r"Missat (?:röst|video|grupp)samtal\b[^\n]{0,40}",
    r"Cevapsız (?:sesli|görüntülü|grup) (?:arama|çağrı)\b[^\n]{0,40}",
    r"Panggilan (?:suara|video|grup)[^\n]{0,20} tak terjawab\b[^\n]{0,40}",
    r"Пропущенный (?:аудио|видео|групповой )звонок\b[^\n]{0,40}",
)


def _any(patterns: Iterable[str], before: str = "", after: str = "") -> re.Pattern[str]:
    return re.compile(f"{before}(?:{'|'.join(patterns)}){after}", re.IGNORECASE)


_MEDIA = _any(
    (
        *(rf"<?(?:[^\n]+ • [^\n]*?)?(?:{nouns}) (?:{gone})>?" for nouns, gone in _OMITTED.values()),
        rf"[^\n]+\.\w{{2,5}} \((?:{_ATTACHED})\)",
        r"<[^<>:\n=]{3,25}:\s?[^<>\n]+\.\w{2,5}>",  # <attached: 00000012-PHOTO.jpg>, in any language
        r"<[^<>a-z\n=/]*[^\W\d_a-z][^<>a-z\n=/]*>",  # <…> in another script
        r"null",  # what could be seen once
    )
)
_FILE_AT_END = re.compile(r"\s*<[^<>:\n=]{3,25}:\s?\d{4,}[^<>\n]*\.\w{2,5}>$")
_GONE = _any(_DELETED, after=r"\.?")
_EDIT_MARK = re.compile(rf"\s*<(?:{_EDITED})\.?>$", re.IGNORECASE)
_OWN_WORDS = _any((*_ENCRYPTED, *_OTHER_NOTICES))


def without_edit_mark(text: str) -> str:
    return _EDIT_MARK.sub("", text)


def is_deleted(text: str) -> bool:
    return _GONE.fullmatch(text) is not None


def is_notice(text: str) -> bool:
    """Whether a text with a speaker is a notice all the same: of encryption, of a security code, of a missed call."""
    return _OWN_WORDS.match(text) is not None


def without_media(text: str) -> tuple[str, bool]:
    """What was said beside a picture, a recording or a file, and whether there was one."""
    lines = text.split("\n")
    kept = "\n".join(line for line in lines if not _MEDIA.fullmatch(line.strip()))
    said = _FILE_AT_END.sub("", kept)
    return said.strip(), said != text
