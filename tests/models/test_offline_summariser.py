"""The offline summariser: what it keeps, and that it always keeps within its cap."""

import asyncio
import os
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.models.offline.summarisation.extractive_summariser import OfflineSummariser
from lamina.models.offline.summarisation.statements import statements_of_summary
from lamina.protocols.models import SummaryTask
from lamina.values.codec import encode
from lamina.values.message import Message
from tests.growth import growth, quarters, repeated
from tests.sizes import examples, share

FOUR = (
    "User's Journey & Insights",
    "Current Situation & Context",
    "Ongoing Work & Interests",
    "Preferences & Patterns",
)
MONDAY = datetime(2025, 3, 3, 10, 0, tzinfo=UTC)
SMALL_TALK = (
    "Thanks, that is really great!",
    "Good morning, nice to see you again.",
    "Haha, sounds good to me.",
    "How are you doing?",
    "You're welcome, talk to you later!",
)


class WordCounter:
    name = "words"
    exact = True

    def count(self, text):
        return len(re.findall(r"\w+|[^\w\s]|\n", text))

    def count_many(self, texts):
        return [self.count(text) for text in texts]


COUNTER = WordCounter()
SUMMARISER = OfflineSummariser(COUNTER)


def message(text, role="user", seq=1, name=None, at=MONDAY):
    body = {"role": role, "content": text} | ({"name": name} if name else {})
    return Message(
        id=f"m{seq}",
        session_id="s",
        seq=seq,
        turn=seq,
        role=role,
        body=body,
        created_at=at,
        metadata={},
        model=None,
        tokens=0,
        text=text,
        digest="",
    )


def talk(*lines):
    """Messages from texts; those of the assistant begin with `A:`, of a tool with `T:`."""
    roles = {"A:": "assistant", "T:": "tool"}
    return tuple(
        message(line.removeprefix("A:").removeprefix("T:").strip(), roles.get(line[:2], "user"), seq)
        for seq, line in enumerate(lines, 1)
    )


def task(messages=(), *, cap=200, kind="chunk", **values):
    rest = {"previous": None, "summaries": (), "sections": (), "least": 0} | values
    return SummaryTask(kind=kind, profile="default", messages=tuple(messages), cap=cap, **rest)


def summary(*lines, **values):
    return SUMMARISER.write(task(talk(*lines), **values)).text


def test_keeps_what_matters_word_for_word():
    """Names, decisions, numbers and preferences stay in the speaker's words; small talk goes."""
    text = summary(
        "Hey! Thanks so much for yesterday's help, you are awesome.",
        "A: You're welcome! Happy to help. Let me know if there is anything else.",
        "I moved the launch to 14 May. I'm allergic to peanuts.",
        "A: Sounds great!",
        "We decided to use PostgreSQL 16 for the Heron project.",
        cap=40,
    )
    moved, decided = "I moved the launch to 14 May. I'm allergic to peanuts.", "We decided to use PostgreSQL 16"
    assert text == f"- User: {moved} {decided} for the Heron project."


def test_names_the_speaker():
    """A message's own name stands instead of its role."""
    draft = SUMMARISER.write(task([message("I bought a cello in Cremona.", name="Mara")]))
    assert draft.text == "- Mara: I bought a cello in Cremona."


def test_openers_are_dropped():
    """What only opens a sentence is not kept."""
    assert summary("Well, yeah, I bought a cello in Cremona.") == "- User: I bought a cello in Cremona."
    assert summary("Well, yeah, okay, I bought a cello in Cremona.") == "- User: I bought a cello in Cremona."


def test_marks_alone_are_no_statement():
    """A sentence of nothing but emphasis is left out."""
    assert summary("I bought a cello in Cremona.", "``") == "- User: I bought a cello in Cremona."


def test_relative_dates_get_a_date():
    """A relative day is read by the message's own time."""
    assert "tomorrow [2025-03-04]" in summary("I fly to Lisbon tomorrow with Joost.")


def test_words_with_digits_are_no_repetitions():
    """What differs in the last digit alone is said again as something else."""
    lines = [f"Ticket number{number} went to Ana in Porto." for number in (1, 11, 2, 22)]
    assert summary(*lines, cap=400) == f"- User: {' '.join(lines)}"


def test_open_questions_are_marked():
    """A user's question stays as open when nothing answered it, and goes when something did."""
    answered = ("Which database fits the Heron project?", "A: PostgreSQL fits the Heron project.")
    waiting = "Which licence should the Heron project have?"
    text = summary(*answered, waiting)
    assert "- Open: Which licence should the Heron project have?" in text
    assert "Open: Which database" not in text


def test_an_open_question_closes_when_answered():
    """A question that an earlier summary had as open is no longer, once the answer is there."""
    previous = "- Open: Which licence should the Heron project have?"
    text = summary("The Heron project has the Apache licence.", previous=previous, kind="update")
    assert "Open:" not in text


def test_of_contradictions_the_newest_wins():
    """Of two values for the same thing the newer is kept where only one fits; a change keeps both."""
    first, second = "My budget for the kitchen is 4,000 euros.", "My budget for the kitchen is 6,500 euros."
    text = summary(first, "A: Noted.", second, cap=20)
    assert "6,500" in text
    assert "4,000" not in text
    both = summary(first, "A: Noted.", "I changed my kitchen budget from 4,000 to 6,500 euros.", cap=80)
    assert "from 4,000 to 6,500" in both


def test_an_announced_decision_is_found():
    """A bare announcement lifts the sentence that it announces."""
    filler = [f"The weather was number {number} on the list of the radio." for number in range(8)]
    text = summary(*filler, "OK, I changed my mind. PostgreSQL with PostGIS, on the SSD.", *filler[::-1], cap=45)
    assert "PostgreSQL with PostGIS, on the SSD." in text


def test_denials_are_not_duplicates():
    """The opposite of a statement is not taken for its repetition."""
    text = summary("I eat meat on Sundays.", "A: Fine.", "I don't eat meat on Sundays.", cap=100)
    assert "I don't eat meat on Sundays." in text


def test_repetitions_are_kept_once():
    """The same statement said twice, or known already, is written once."""
    said = "I decided to rent the studio in Porto."
    text = summary(said, "A: Good.", said, previous=f"- User: {said}", kind="update")
    assert text.count("studio in Porto") == 1


def test_tools_leave_only_values():
    """Of tool results only what has a value or an error is kept; prompts for the model are not conversation."""
    lines = ("What is the tide in Cascais?", "T: tide_height: 3.2 m at 14:05", "T: all good here")
    text = SUMMARISER.write(task([message("You are a pirate named Bob.", "system"), *talk(*lines)])).text
    assert "3.2 m" in text
    assert "all good" not in text
    assert "pirate" not in text


def test_words_to_keep_survive():
    """Statements with words that must survive come first."""
    lines = [f"I visited the city of number {number} with my brother Iva last May." for number in range(20)]
    lines.insert(9, "The code of the door is painted ochre.")
    assert "ochre" in summary(*lines, cap=60, keep=("ochre",))


def test_sections():
    """A structured summary has every heading in order, each with bullets or a note that there is nothing."""
    text = summary(
        "I prefer short answers and I always drink tea.",
        "A: Noted.",
        "I realized that running helps me with my anxiety.",
        "I'm working on a parser project in Rust.",
        sections=FOUR,
    )
    assert [line for line in text.splitlines() if line.startswith("#")] == [f"## {heading}" for heading in FOUR]
    parts = dict(zip(FOUR, text.split("## ")[1:], strict=True))
    assert "short answers" in parts["Preferences & Patterns"]
    assert "anxiety" in parts["User's Journey & Insights"]
    assert "Rust" in parts["Ongoing Work & Interests"]
    assert "- (nothing yet)" in parts["Current Situation & Context"]


def test_other_headings():
    """Headings that nobody foresaw are filled by their words."""
    text = summary("The garden needs new roses.", "I decided on oak for the kitchen.", sections=("Garden", "Decisions"))
    garden, decisions = text.split("## ")[1:]
    assert "roses" in garden
    assert "oak" in decisions


def test_open_questions_have_a_heading():
    """A question that nothing answered goes under the heading for such, whatever its words."""
    sections = ("Decisions", "Open questions")
    text = summary("I decided on oak for the kitchen.", "Which licence fits the Heron project?", sections=sections)
    decisions, questions = text.split("## ")[1:]
    assert "oak" in decisions
    assert "licence" in questions


def test_goes_on_from_a_structured_summary():
    """Statements stay under the heading they had, and new ones join them."""
    previous = f"## {FOUR[0]}\n- (nothing yet)\n\n## {FOUR[2]}\n* Builds a violin from Bosnian maple.\n"
    text = summary("I prefer tea from Assam.", previous=previous, sections=FOUR, kind="update")
    parts = dict(zip(FOUR, text.split("## ")[1:], strict=True))
    assert "- Builds a violin from Bosnian maple." in parts[FOUR[2]]
    assert "Assam" in parts[FOUR[3]]


def facts(word, count):
    return [f"I bought {word} number {number} in town{number} from {word}er{number}." for number in range(count)]


@pytest.mark.parametrize("sections", [(), FOUR])
def test_old_and_new_share_the_room(sections):
    """When the old summary alone would fill the cap, old and new statements both keep a fair part."""
    previous = "\n".join(f"- User: {fact}" for fact in facts("lamp", 60))
    text = summary(*facts("chair", 60), previous=previous, cap=400, kind="update", sections=sections)
    assert COUNTER.count(text) <= 400
    body = [line for line in text.splitlines() if line.startswith("- ")]
    total = sum(map(COUNTER.count, body))
    assert sum(COUNTER.count(line) for line in body if "lamp" in line) >= 0.4 * total
    assert sum(COUNTER.count(line) for line in body if "chair" in line) >= 0.35 * total


def test_prose_of_a_language_model_is_read_back():
    """An earlier summary in prose is taken apart into its sentences."""
    text = summary(
        "I sold the boat.", previous="Ana is a nurse. She lives in Ljubljana with two cats.", kind="update", cap=100
    )
    assert "She lives in Ljubljana with two cats." in text
    assert "I sold the boat." in text


@pytest.mark.parametrize("sections", [(), FOUR])
def test_fifty_folds_keep_early_facts(sections):
    """Names and decisions from the beginning survive fifty rounds of other talk."""
    early = ("My name is Ana Petrović and I'm a nurse in Ljubljana.", "I decided to use PostgreSQL 16 for Heron.")
    text = summary(*early, cap=300, sections=sections)
    for number in range(50):
        lines = [
            *SMALL_TALK,
            f"I walked to market {number} and looked at {number + 3} melons.",
            f"It rained on road {number}.",
        ]
        text = summary(*lines, previous=text, cap=300, kind="update", sections=sections)
    assert all(one in text for one in early)


def test_folding_summaries_is_balanced():
    """Every summary that is folded leaves something."""
    words = ("lamp", "chair", "table", "clock")
    given_ = tuple("\n".join(f"- User: {fact}" for fact in facts(word, 20)) for word in words)
    text = SUMMARISER.write(task(kind="fold", summaries=given_, cap=200)).text
    assert COUNTER.count(text) <= 200
    assert all(text.count(f"bought {word}") >= 2 for word in words)
    assert [text.index(word) for word in words] == sorted(text.index(word) for word in words)


def test_digest_is_one_account_with_the_day_of_each_line():
    """Lines of all sessions, no fewer of the newest than of the oldest; compressing it keeps the days."""
    sessions = [
        f"Session 2025-03-0{day} (ended)\n" + "\n".join(f"- User: {fact}" for fact in facts(f"item{day}", 12))
        for day in (1, 2, 3)
    ]
    text = SUMMARISER.write(task(kind="digest", summaries=tuple(sessions), cap=220)).text
    heading, *lines = text.splitlines()
    assert heading == "## Summary"
    by_day = [
        [line for line in lines if line.startswith(f"- [2025-03-0{day}] User: I bought item")] for day in (1, 2, 3)
    ]
    assert sum(map(len, by_day)) == len(lines)
    assert len(by_day[2]) >= len(by_day[0]) > 0
    short = SUMMARISER.write(task(kind="compress", previous=text, cap=120)).text
    assert COUNTER.count(short) <= 120
    assert set(short.splitlines()) <= set(text.splitlines())
    assert all(f"[2025-03-0{day}]" in short for day in (1, 2, 3))


def test_compress_only_shortens():
    """Compressing says nothing that was not there."""
    previous = "\n".join(f"- User: {fact}" for fact in facts("lamp", 30))
    text = SUMMARISER.write(task(kind="compress", previous=previous, cap=100)).text
    assert 50 < COUNTER.count(text) <= 100
    assert set(text.splitlines()) <= set(previous.splitlines())


def test_small_talk_fills_no_room():
    """A summary may be shorter than its cap when there is nothing more to say."""
    text = summary("I live in Bergen with my cat Solveig.", *SMALL_TALK, cap=500)
    assert "Solveig" in text
    assert "How are you" not in text


def test_topics():
    """Topics are names and recurring words, at most eight, none twice, the speakers not among them."""
    lines = [f"I play the Cello with Joost in Lisbon, cello piece {number}." for number in range(3)]
    topics = SUMMARISER.write(task([message(line, name="Mara") for line in lines])).topics
    assert {"joost", "lisbon", "cello"} <= {topic.lower() for topic in topics}
    assert len(topics) <= 8
    assert len({topic.lower() for topic in topics}) == len(topics)
    assert "mara" not in {topic.lower() for topic in topics}


ODD = (
    "",
    "   \n\n",
    "🙂🙂🙂",
    "```\nx = 1\n```",
    "我喜欢喝茶。我住在北京，在银行工作。你呢？",  # noqa: RUF001
    "أعيش في القاهرة وأحب القهوة. ما اسمك؟",
    "मैं दिल्ली में रहता हूँ। मुझे चाय पसंद है।",
    "word " * 3000,
    "a" * 5000,
    '{"a": [1, 2, {"b": null}]}',
    "- \n- \n* x",
    "\x00\ud83d\u200d",
    "## heading\n- (nothing yet)\nOpen: \nUser: ",
)


@pytest.mark.parametrize("cap", [0, 1, 2, 5, 20, 60])
@pytest.mark.parametrize("sections", [(), FOUR])
def test_odd_texts_and_tiny_caps(cap, sections):
    """Nothing crashes it, and the cap always holds."""
    for text in ODD:
        for values in ({}, {"previous": text, "kind": "update"}, {"summaries": (text, text), "kind": "digest"}):
            draft = SUMMARISER.write(task([message(text)], cap=cap, sections=sections, **values))
            assert COUNTER.count(draft.text) <= cap


def test_nothing_to_read():
    """A task without any words gives an empty text, or headings with nothing under them."""
    assert SUMMARISER.write(task()).text == ""
    assert SUMMARISER.write(task(sections=("One",))).text == "## One\n- (nothing yet)"


@pytest.mark.parametrize("text", ["我喜欢喝茶。我住在北京的一条小街上。", "मैं दिल्ली में रहता हूँ।", "Я живу в Москве."])
def test_other_languages(text):
    """Text without English cues is kept too."""
    assert text.split("。")[0] in summary(text)


def test_a_cut_is_at_a_word():
    """When not even one statement fits, whole words of the best are kept."""
    assert (
        summary("I bought a wonderful cello in Cremona from the maker Giuseppe.", cap=7)
        == "- User: I bought a wonderful"
    )


_LINES = st.lists(
    st.one_of(st.text(max_size=80), st.sampled_from([*SMALL_TALK, *facts("lamp", 9), "Why?", "A: No.", "T: 5 errors"])),
    max_size=12,
)


@examples(60)
@given(
    lines=_LINES, old=_LINES, folded=_LINES, cap=st.integers(0, 120), sections=st.sampled_from([(), FOUR, ("A", "B")])
)
def test_cap_and_determinism(lines, old, folded, cap, sections):
    """For any input the cap holds, topics are few, and a second run gives the same."""
    given_ = task(talk(*lines), cap=cap, previous="\n".join(old), summaries=tuple(folded), sections=sections, least=30)
    draft = SUMMARISER.write(given_)
    assert COUNTER.count(draft.text) <= cap
    assert len(draft.topics) <= 8
    assert draft == SUMMARISER.write(given_)


@examples(60)
@given(_LINES)
def test_lines_are_verbatim(lines):
    """Every kept sentence of a message is in that message, but for emphasis, white space and dates."""
    messages = talk(*lines)
    flat = [" ".join(re.sub(r"\*\*|__|`{1,3}", "", one.text).split()) for one in messages]
    for statement in statements_of_summary(SUMMARISER.write(task(messages)).text, 0):
        plain = re.sub(r" \[~?\d{4}-\d\d-\d\d\]", "", statement.text)
        assert any(plain in text for text in flat)


def a_draft():
    lines = [*facts("lamp", 9), *SMALL_TALK, "A: Lisbon and Porto and Faro are in Portugal."]
    given_ = task(talk(*lines), cap=120, sections=FOUR, previous="Ana met Joost in Rome. Iva ran.")
    return repr(encode(SUMMARISER.write(given_)))


PROGRAM = "from tests.models.test_offline_summariser import a_draft; print(a_draft())"


def test_processes_agree():
    """Another process with another hash seed writes the same bytes."""
    for seed in range(1, 1 + share(3)):
        environment = {**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": os.pathsep.join(["src", "."])}
        run = subprocess.run(
            [sys.executable, "-X", "utf8", "-c", PROGRAM], env=environment, capture_output=True, check=True
        )
        assert run.stdout.decode().strip() == a_draft()


@pytest.mark.parametrize("unit", ["a", "word ", "I bought 3 lamps. ", "我", "?!", "\n- x", "(", "a, "])
def test_a_megabyte_is_no_trouble(unit):
    """The time to read a message, or a summary, grows no faster than its length, up to a megabyte."""
    sizes = [*quarters(50_000), 1_000_000]
    assert growth(lambda text: SUMMARISER.write(task([message(text)], cap=100)), repeated(unit), sizes) < 2
    assert (
        growth(lambda text: SUMMARISER.write(task(previous=text, kind="compress", cap=100)), repeated(unit), sizes) < 2
    )


def test_does_not_block_the_loop():
    """The asynchronous verb writes the same as the blocking one."""
    given_ = task(talk("I live in Bergen."))
    assert asyncio.run(SUMMARISER.summarise(given_)) == SUMMARISER.write(given_)


def test_time_of_a_message_counts():
    """The same words on another day get another date."""
    later = message("I sold the boat yesterday.", at=MONDAY + timedelta(days=7))
    assert "[2025-03-09]" in SUMMARISER.write(task([later])).text
