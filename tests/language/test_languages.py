"""Languages: told by letters and common words, and only when it is clear."""

import pytest

from lamina.language.languages import is_foreign, language_of, script_language, scripts

TEXTS = {
    "en": "The user decided to use PostgreSQL for the invoices as transactions matter and the budget is 4000 euros.",
    "de": "Der Nutzer hat sich entschieden, PostgreSQL für die Rechnungen zu nehmen, und das Budget ist 4000 Euro.",
    "es": "El usuario decidió usar PostgreSQL para las facturas y el presupuesto es de 4000 euros con los impuestos.",
    "fr": "Je suis allé avec les enfants dans la maison et nous avons mangé une tarte pour le dîner avec des amis.",
    "pt": "O usuário decidiu usar PostgreSQL para as faturas e o orçamento é de 4000 euros com os impostos que não.",
    "it": "Ho deciso di usare il database per le fatture che sono nel sistema e anche il budget non è più alto.",
    "nl": "De gebruiker heeft besloten om het systeem te gebruiken voor de facturen en dat is niet duur met korting.",
    "ru": "Пользователь решил использовать базу данных для счетов, потому что важны транзакции и бюджет.",
    "zh": "用户决定使用数据库存储发票因为事务很重要而且预算是四千欧元所以他们会继续",
    "ja": "ユーザーは請求書のためにデータベースを使うことに決めましたなぜならトランザクションが重要だからです",
}


@pytest.mark.parametrize("language", ["en", "de", "es", "fr", "pt", "it", "nl"])
def test_the_language_of_a_sentence(language: str) -> None:
    """A sentence is enough, if it is a plain one."""
    assert language_of(TEXTS[language]) == language


@pytest.mark.parametrize("one", TEXTS)
@pytest.mark.parametrize("other", TEXTS)
def test_texts_of_different_languages_are_foreign_to_each_other(one: str, other: str) -> None:
    """Every pair is told apart, but for Chinese and Japanese, which share their characters."""
    related = {one, other} == {"zh", "ja"}
    assert is_foreign(TEXTS[one], TEXTS[other]) == (one != other and not related)


@pytest.mark.parametrize("text", ["", "Yes.", "def f(x): return x + 1", "12 34 56", "PostgreSQL, Redis, Kafka, Ghent"])
def test_when_in_doubt_nothing_is_foreign(text: str) -> None:
    """Names, numbers, code and short texts tell nothing."""
    assert language_of(text) is None
    assert not is_foreign(text, TEXTS["de"])
    assert not is_foreign(TEXTS["de"], text)


def test_a_language_that_was_spoken_among_others_is_at_home() -> None:
    """One German message among English ones allows a German summary."""
    mixed = "\n".join([TEXTS["en"]] * 3 + [TEXTS["de"]])
    assert not is_foreign(TEXTS["de"], mixed)
    assert not is_foreign(TEXTS["en"], mixed)
    assert is_foreign(TEXTS["fr"], mixed)


def test_scripts_by_share() -> None:
    """Letters count, signs and digits do not."""
    assert scripts("привет hello привет hello 123 !!") == pytest.approx({"CYRILLIC": 12 / 22, "LATIN": 10 / 22})


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("大阪に住んでます", "ja"),
        ("うちのチームはPostgreSQLを使う", "ja"),
        ("我叫李明", "zh"),
        ("저는 부산에 살아요", "ko"),
        ("DB는 AWS에 있어", "ko"),
        ("я из Казани", "ru"),
        ("أنا طبيب", "ar"),
        ("मेरा नाम अनिल है", "hi"),
        ("I live in Oslo", None),
        ("¿Qué tal?", None),
        ("my name is 田中健太, how is that in romaji?", None),
        ("мене звати Олег, я живу в Києві", None),
        ("من در تهران زندگی می\u200cکنم", None),
        ("😂😂", None),
        ("", None),
    ],
)
def test_the_script_tells_the_language_of_short_text(text: str, language: str | None) -> None:
    """Two words are enough; Latin letters, and letters that the language does not have, tell nothing."""
    assert script_language(text) == language
