"""Phrase books: languages that are read by patterns over characters."""

# ruff: noqa: RUF001 - marks of these scripts
import tomllib
from importlib import resources

import pytest

from benchmarks.facts import message
from lamina.errors import ConfigError
from lamina.models.offline.fact_extraction.fact_extractor import facts_in
from lamina.models.offline.fact_extraction.phrase_book import phrase_book, phrase_books

FOLDER = resources.files("lamina.models.offline.fact_extraction")


def facts(text: str) -> list[str]:
    return [f"{draft.key or draft.category} = {draft.value}" for draft in facts_in(message(text))]


def test_every_book_loads():
    """One for each language that its script tells and that has a file."""
    assert list(phrase_books()) == ["ar", "hi", "ja", "ko", "ru", "zh"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("楽天で働いています。千葉在住です", ["employer = 楽天", "location = 千葉"]),
        ("甲殻類のアレルギーがある。豚肉は食べません", ["allergy 甲殻類 = 甲殻類", "eats 豚肉 = no"]),
        ("ラーメンとカレーが好き", ["ラーメン = likes ラーメン", "カレー = likes カレー"]),
        ("私はコーヒーより紅茶が好き", ["紅茶 = prefers 紅茶 over コーヒー"]),
        ("金曜日までにレポートを提出しないと", ["commitment = 金曜日までにレポートを提出しないと"]),
        ("今後は英語で答えてください", ["instruction = 英語で答えてください"]),
        ("目前在字节跳动做算法工程师", ["job = 算法工程师", "employer = 字节跳动"]),
        ("我不吃辣，也不吃香菜", ["eats 辣 = no", "eats 香菜 = no"]),
        ("平时喜欢看书、听音乐和跑步", ["看书 = likes 看书", "听音乐 = likes 听音乐", "跑步 = likes 跑步"]),
        ("我老公叫陈伟", ["husband = 陈伟"]),
        ("以后请用繁体中文回答", ["instruction = 用繁体中文回答"]),
        ("截止日期是11月30日", ["deadline = 11月30日"]),
        ("제 이름은 박지훈입니다. 대전에 살아요", ["name = 박지훈", "location = 대전"]),
        ("저는 돼지고기를 안 먹어요", ["eats 돼지고기 = no"]),
        ("Меня зовут Игорь, мне 29 лет", ["name = Игорь", "age = 29"]),
        ("у меня аллергия на мёд и цитрусовые", ["allergy мёд = мёд", "allergy цитрусовые = цитрусовые"]),
        ("أنا طبيب وأعيش في عمّان", ["job = طبيب", "location = عمّان"]),
        ("मैं दिल्ली में रहती हूँ और मैं एक डॉक्टर हूँ", ["location = दिल्ली", "job = डॉक्टर"]),
    ],
)
def test_what_is_said_is_found(text, found):
    """The value is in the user's words; the key is the one of every language."""
    assert facts(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "友達は沖縄に住んでいます",
        "息子が卵アレルギーです",
        "以前は楽天で働いていました",
        "京都に住みたいなあ",
        "私は看護師ではありません",
        "お酒飲めますか?",
        "「私は東京に住んでいます」を英語にして",
        "彼は大阪に住んでいて、エンジニアです",
        "犬の散歩が大変",
        "我妈对青霉素过敏",
        "我女儿五岁了，对鸡蛋过敏",
        "她叫小红，住在苏州，是护士",
        "我住院了",
        "我是认真的人",
        "我叫了外卖",
        "“我住在上海”用英语怎么说",
        "写一个故事，主角叫李雷，住在北京，是个侦探",
        "如果我住在上海就好了",
        "你住在北京吗?",
        "친구는 부산에 살아요",
        "서울에 살고 싶어요",
        "서울에 살았어요",
        "мой брат живёт в Москве",
        "у моего сына аллергия на молоко",
        "раньше жил в Омске",
        "люблю тебя",
        "أختي تسكن في جدة",
        "كنت أسكن في دمشق",
        "أنا من محبي القراءة",
        "मेरा भाई मुंबई में रहता है",
        "मैं पहले लखनऊ में रहता था",
        "मैं ठीक हूँ",
    ],
)
def test_near_misses_are_no_facts(text):
    """Of others, of former times, asked, wished, quoted, made up."""
    assert facts(text) == []


def test_quotes_are_pieces_of_the_message():
    """Each is the clause that says it."""
    text = "你好！我叫王晓东，今年45岁。"
    found = facts_in(message(text))
    assert [draft.quote for draft in found] == ["我叫王晓东", "今年45岁"]
    assert all(text[draft.start : draft.end] == draft.quote for draft in found)


@pytest.mark.parametrize(
    ("say", "problem"),
    [("{x:cheese}", "no 'cheese'"), ("<cheese>", "no 'cheese'"), ("(", "missing \\)")],
)
def test_wrong_patterns_say_what_is_wrong(say, problem):
    """An error names the pattern and the problem."""
    data = tomllib.loads(FOLDER.joinpath("phrases_zh.toml").read_text("utf-8"))
    with pytest.raises(ConfigError, match=problem):
        phrase_book({**data, "phrases": [{"category": "identity", "key": "name", "value": "{x}", "say": [say]}]})
