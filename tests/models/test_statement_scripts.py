"""Statements in languages that have a script of their own."""

import json
import tomllib
from importlib import resources

import pytest

from benchmarks.facts import FACTS, message
from benchmarks.notes import ACTIVE, Note, meets
from lamina.language.languages import SCRIPT_LANGUAGES
from lamina.models.offline.offline_extractor import drafts_in
from lamina.models.offline.statement_extraction.clauses import clauses_of

CUES = resources.files("lamina.models.offline.statement_extraction")


def shares(name: str, least: float) -> tuple[float, float]:
    """Of the memories of a labelled file, the share that is noted; of its sure notes, the share that is found."""
    right, found = [], []
    for row in map(json.loads, (FACTS / f"{name}.jsonl").read_text("utf-8").splitlines()):
        text = row["text"]
        places = [(text.index(one["quote"]), one) for one in row["notes"]]
        notes = [
            Note(start=start, end=start + len(one["quote"]), type=one["type"], sure=one["sure"])
            for start, one in places
        ]
        drafts = [draft for draft in drafts_in(message(text)) if draft.confidence >= least]
        right += [any(meets(note, draft) for note in notes) for draft in drafts]
        found += [any(meets(note, draft) for draft in drafts) for note in notes if note.sure]
    return sum(right) / len(right), sum(found) / len(found)


@pytest.mark.parametrize("half", ["", "-unseen"])
@pytest.mark.parametrize("language", SCRIPT_LANGUAGES)
def test_labelled_notes(language, half):
    """Of what a person would note most is found, and what is found was worth noting; a good part is sure."""
    assert shares(f"{language}{half}", ACTIVE)[0] >= 0.9
    precision, recall = shares(f"{language}{half}", 0.0)
    assert precision >= 0.85
    assert recall >= 0.7


@pytest.mark.parametrize("language", SCRIPT_LANGUAGES)
def test_every_language_has_every_class(language):
    """The model knows classes, not words: a class means the same in each language."""
    tables = [tomllib.loads(CUES.joinpath(f"cues_{one}.toml").read_text("utf-8")) for one in ("en", language)]
    assert tables[0]["cues"].keys() == tables[1]["cues"].keys()
    assert all(any(entry.strip() for entry in listed.split(",")) for listed in tables[1]["cues"].values())


@pytest.mark.parametrize(
    ("text", "language", "clauses"),
    [
        ("最近ランニング始めた、膝が痛い", "ja", ["最近ランニング始めた", "膝が痛い"]),
        ("以前在银行上班,现在是自由摄影师", "zh", ["以前在银行上班", "现在是自由摄影师"]),
        ("저는 법대 2학년이고 지금 기숙사에 살아요", "ko", ["저는 법대 2학년이고", "지금 기숙사에 살아요"]),
        ("бюджет до 50 тысяч рублей, только не китайский бренд", "ru", None),
        ("الميزانية لا تتجاوز 500 دولار", "ar", None),
        ("हर सोमवार सुबह 9 बजे हमारी मीटिंग होती है", "hi", None),
        ("I use Python, and my sister lives in Oslo", "en", None),
    ],
)
def test_the_script_tells_which_cues_are_read(text, language, clauses):
    """Also in short texts; a comma, or the ending of a verb, ends a clause."""
    found = clauses_of(text)
    assert {clause.language for clause in found} == {language}
    if clauses is not None:
        assert [text[clause.start : clause.end] for clause in found] == clauses
