"""What users say of themselves, found with the offline grammars."""

import asyncio
import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.facts import FACTS, message, score
from lamina.knowledge.fact_words import CATEGORIES, TYPES
from lamina.language.dates import period
from lamina.models.offline.fact_extraction.fact_extractor import facts_in
from lamina.models.offline.fact_extraction.grammar import grammars
from lamina.models.offline.fact_extraction.read_sentence import MAX_QUOTE
from lamina.models.offline.offline_extractor import OfflineExtractor
from tests.growth import repeated, times_longer
from tests.sizes import examples, share

SAID = datetime(2025, 3, 3, 12, tzinfo=UTC)


def found(text):
    return [(one.category, one.key, one.value, one.holds) for one in facts_in(message(text, SAID))]


def facts(text):
    """Category, key and value of what holds."""
    return [one[:3] for one in found(text) if one[3]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("My name is Ana Petrović.", ("identity", "name", "Ana Petrović"), id="name"),
        pytest.param("I\u2019m Priya, by the way.", ("identity", "name", "Priya"), id="name-after-i-am"),
        pytest.param("most people call me Spud", ("identity", "nickname", "Spud"), id="nickname"),
        pytest.param("I use they/them pronouns.", ("identity", "pronouns", "they/them"), id="pronouns"),
        pytest.param("I'm 34 years old.", ("identity", "age", "34"), id="age"),
        pytest.param("I was born on 2 February 1979.", ("identity", "birthday", "2 February 1979"), id="birthday"),
        pytest.param("I live in Zagreb", ("identity", "location", "Zagreb"), id="location"),
        pytest.param("I'm from Arcadia, California.", ("identity", "hometown", "Arcadia, California"), id="hometown"),
        pytest.param("I work as a midwife so yes.", ("identity", "job", "midwife"), id="job"),
        pytest.param("I work for Arup, structural side.", ("identity", "employer", "Arup"), id="employer"),
        pytest.param("My wife's name is Ngozi.", ("identity", "wife", "Ngozi"), id="wife"),
        pytest.param("my dog Pretzel ate a crayon", ("identity", "dog pretzel", "Pretzel"), id="dog"),
        pytest.param("we have three kids and one bathroom", ("identity", "children", "three kids"), id="children"),
        pytest.param("I'm Norwegian.", ("identity", "nationality", "Norwegian"), id="nationality"),
        pytest.param("I'm allergic to peanuts.", ("constraint", "allergy peanuts", "peanuts"), id="allergy"),
        pytest.param("I don't eat pork.", ("constraint", "eats pork", "no"), id="eats"),
        pytest.param("I have asthma.", ("constraint", "health", "asthma"), id="health"),
        pytest.param("Our budget is 5,000 euros.", ("constraint", "budget", "5,000 euros"), id="budget"),
        pytest.param("I can't meet before 10.", ("constraint", "availability", "can't meet before 10"), id="free"),
        pytest.param("The app must work offline.", ("constraint", None, "The app must work offline"), id="must"),
        pytest.param("I prefer trains to planes.", ("preference", "trains", "prefers trains over planes"), id="over"),
        pytest.param("My favorite tea is oolong.", ("preference", "favourite tea", "oolong"), id="favourite"),
        pytest.param("I can't stand coriander.", ("preference", "coriander", "dislikes coriander"), id="dislike"),
        pytest.param("My editor is Helix.", ("preference", "editor", "Helix"), id="editor"),
        pytest.param("I'm in UTC+2.", ("preference", "time zone", "UTC+2"), id="time-zone"),
        pytest.param("Never use emojis with me.", ("instruction", None, "Never use emojis with me"), id="never"),
        pytest.param("Keep your answers short", ("instruction", None, "Keep your answers short"), id="keep"),
        pytest.param("My goal is to run a marathon.", ("goal", None, "run a marathon"), id="goal"),
        pytest.param("We decided to use PostgreSQL.", ("decision", None, "use PostgreSQL"), id="decision"),
        pytest.param("I deploy by pushing a tag.", ("procedure", None, "deploy by pushing a tag"), id="procedure"),
        pytest.param("I have an MRI on 22 October.", ("commitment", None, "MRI on 22 October"), id="commitment"),
        pytest.param("My startup is called Parcelo.", ("entity", None, "startup Parcelo"), id="entity"),
        pytest.param("I'm on warfarin since May.", ("constraint", "health", "warfarin"), id="medicine"),
        pytest.param("I've got a dodgy shoulder.", ("constraint", "health", "dodgy shoulder"), id="weak-part"),
        pytest.param("My eyesight is poor.", ("constraint", "health", "poor eyesight"), id="state-of-a-part"),
        pytest.param("I'm trying to drink less coffee.", ("goal", None, "drink less coffee"), id="less"),
        pytest.param("I said no to the offer.", ("decision", None, "turned down the offer"), id="refusal"),
        pytest.param("We're going ahead with the extension.", ("decision", None, "the extension"), id="go-ahead"),
        pytest.param("Ich wohne in Hamburg.", ("identity", "location", "Hamburg"), id="german"),
        pytest.param("Soy vegetariano.", ("constraint", "diet", "vegetariano"), id="spanish"),
    ],
)
def test_reads(text, expected):
    """A durable statement in the first person gives one fact with its category, key and value."""
    assert facts(text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("Do I prefer tea?", id="question"),
        pytest.param("how do i say my name is Ana", id="question-without-mark"),
        pytest.param("I live in Oslo, don't I?", id="tag-question"),
        pytest.param("If I lived in Oslo, I'd love skiing.", id="hypothesis"),
        pytest.param("Suppose I live in Texas: which court is it?", id="supposition"),
        pytest.param("Maybe I prefer tea.", id="maybe"),
        pytest.param("I wish I lived in Rome.", id="wish"),
        pytest.param("She said I love cats.", id="reported"),
        pytest.param('The card reads "I love Paris".', id="quotation-marks"),
        pytest.param("“My name is Ana.\nI live in Rome.” Who said it?", id="quotation-over-lines"),
        pytest.param("> I live in Rome.", id="block-quote"),
        pytest.param("```\nI live in Rome.\n```", id="code"),
        pytest.param("Dana: I'm moving to Prague\nMilo: I love Prague", id="talk"),
        pytest.param("[10:02] sven: my timezone is CET\n[10:03] amy: i live in lisbon", id="chat-log"),
        pytest.param("<sven> my timezone is CET\n<amy> i live in lisbon", id="irc"),
        pytest.param("Proofread this?\n\nDear Ms Okafor,\n\nI am a nurse.\n\nKind regards,\nA", id="letter"),
        pytest.param("Does this sound right?\n\nI am a nurse from Leeds.", id="text-below"),
        pytest.param("translate to French: I live in Paris and I love cheese.", id="translation"),
        pytest.param("My brother lives in Ghent and hates dogs.", id="other-person"),
        pytest.param("Yeah right, and I'm a doctor.", id="sarcasm"),
        pytest.param("I live for Fridays.", id="idiom"),
        pytest.param("Let's role-play: I'm a customs officer.", id="role-play"),
        pytest.param("I'm tired.", id="passing-state"),
        pytest.param("I have a bad feeling about this.", id="no-part-of-a-body"),
        pytest.param("I'm on a plane.", id="on-no-medicine"),
        pytest.param("I'm working on the parser now.", id="passing-work"),
        pytest.param("I love it!", id="vague"),
        pytest.param("I want to cancel the order from this morning.", id="errand"),
        pytest.param("Keep this answer under 100 words.", id="task"),
        pytest.param("That's a woman I work with.", id="relative-clause"),
        pytest.param("I live in " + "a very " * 120 + "large house.", id="very-long"),
        pytest.param("", id="empty"),
        pytest.param("Μένω στη Θεσσαλονίκη.", id="unknown-language"),
        pytest.param("🙂🙂", id="emoji"),
    ],
)
def test_leaves_alone(text):
    """Questions, hypotheses, words of others, idioms, tasks and passing states are no facts."""
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("I'm not vegan.", [("constraint", "diet", "vegan", False)], id="not"),
        pytest.param("I no longer work at Acme.", [("identity", "employer", "Acme", False)], id="no-longer"),
        pytest.param("i used to live in Perth", [("identity", "location", "Perth", False)], id="used-to"),
        pytest.param("I don't speak Dutch.", [("identity", "speaks dutch", "Dutch", False)], id="do-not"),
        pytest.param("I quit Deloitte, thank god.", [("identity", "employer", "Deloitte", False)], id="quit"),
        pytest.param("I'm not a nurse, I'm a vet.", [("identity", "job", "vet", True)], id="not-but"),
        pytest.param("My name isn't Jon, it's John.", [("identity", "name", "John", True)], id="it-is"),
        pytest.param("I live in Porto, no wait, Lisbon.", [("identity", "location", "Lisbon", True)], id="no-wait"),
        pytest.param("I switched from VS Code to Zed.", [("preference", "editor", "Zed", True)], id="switched"),
        pytest.param("I'm allergic to nuts, not milk.", [("constraint", "allergy nuts", "nuts", True)], id="not-y"),
    ],
)
def test_negations_and_corrections(text, expected):
    """A negation ends a fact and is never read as its opposite; a correction gives the new value only."""
    assert found(text) == expected


@pytest.mark.parametrize(
    ("text", "values"),
    [
        pytest.param("I speak French and Thai.", ["French", "Thai"], id="languages"),
        pytest.param("I love jazz and climbing.", ["likes jazz", "likes climbing"], id="likes"),
        pytest.param("I love jazz but hate camping.", ["likes jazz", "dislikes camping"], id="shared-subject"),
        pytest.param("My sons Arlo and Finn are loud.", ["Arlo", "Finn"], id="sons"),
        pytest.param("I'm Leila, 38, I live in Malmö.", ["Leila", "38", "Malmö"], id="complements"),
        pytest.param("I live in Bern because I work at SBB.", ["Bern", "SBB"], id="because"),
        pytest.param("I'm vegan, what can I cook?", ["vegan"], id="before-a-question"),
        pytest.param("My PIN is 4482. I live in Oslo.", ["Oslo"], id="beside-a-secret"),
    ],
)
def test_several(text, values):
    """Lists and clauses give one fact each, trimmed at the border of the clause."""
    assert [one.value for one in facts_in(message(text))] == values


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("My password is hunter2 and I live in Oslo.", id="password"),
        pytest.param("I prefer the card 4242 4242 4242 4242.", id="card"),
        pytest.param("I use sk-abcdefghijklmnop1234 because I prefer keys.", id="key"),
        pytest.param("My IBAN is DE89 3704 0044 0532 0130 00.", id="iban"),
        pytest.param("I live at postgres://ana:hunter2@db.example.org", id="address-with-password"),
    ],
)
def test_secrets(text):
    """Nothing is made of a sentence with a secret."""
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        pytest.param("I've lived in Utrecht for six years.", (2019, 3, 3), None, id="for-years"),
        pytest.param("I've worked at SBB since 2014.", (2014, 1, 1), None, id="since-year"),
        pytest.param("I moved to Bonn in January 2020.", (2020, 1, 1), None, id="in-month"),
        pytest.param("I moved to Cork three years ago.", (2022, 3, 3), None, id="ago"),
        pytest.param("I'll send Priya the draft by Friday.", None, (2025, 3, 7), id="by-weekday"),
        pytest.param("I promised to pay Tom by 15 November.", None, (2025, 11, 15), id="by-day"),
        pytest.param("My flight is on 4 April.", None, (2025, 4, 4), id="on-day"),
        pytest.param("My goal is to save 900 euros by 2031.", None, (2031, 1, 1), id="by-year"),
        pytest.param("I've worked at SBB since I graduated in 2014.", (2014, 1, 1), None, id="since-something"),
        pytest.param("I live in Bonn.", None, None, id="no-date"),
        pytest.param("I live in Porto until next Friday.", None, (2025, 3, 14), id="until-next-weekday"),
        pytest.param("I've lived in Porto since May.", (2024, 5, 1), None, id="since-month"),
        pytest.param("I've lived in Porto since last month.", (2025, 2, 1), None, id="since-last-month"),
        pytest.param("I started at Bosch on Friday.", (2025, 2, 28), None, id="began-last-friday"),
        pytest.param("I start at Bosch on Friday.", (2025, 3, 7), None, id="begins-next-friday"),
        pytest.param("I'm starting at Bosch in May.", (2025, 5, 1), None, id="begins-in-may"),
    ],
)
def test_dates(text, since, until):
    """Common words of time become dates, counted from when the message was written."""
    (fact,) = facts_in(message(text, SAID))
    assert [moment and (moment.year, moment.month, moment.day) for moment in (fact.since, fact.until)] == [since, until]


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        pytest.param("moved in three years ago", (2022, 3, 3), None, id="in-and-ago"),
        pytest.param("by the end of the week", None, (2025, 3, 9), id="end-of-week"),
        pytest.param("by the end of the tunnel", None, None, id="end-of-something"),
        pytest.param("by 2025-04-05", None, (2025, 4, 5), id="iso"),
        pytest.param("by 2025-02-31", None, None, id="iso-no-such-day"),
        pytest.param("since 31 February", None, None, id="no-such-day"),
        pytest.param("since 1492", None, None, id="long-before"),
        pytest.param("for 900 decades", None, None, id="before-all-time"),
        pytest.param("until next", None, None, id="next-nothing"),
    ],
)
def test_words_of_time(text, since, until):
    """What is no date says nothing, rather than something wrong."""
    found = period(text, SAID, [(0, len(text))], ahead=False)
    assert [moment and (moment.year, moment.month, moment.day) for moment in found] == [since, until]


def test_what_stands_below_a_rule_was_pasted():
    """A line of dashes parts the writer's own words from others'."""
    assert facts("I live in Bonn.\n\n---\n\nI live in Rome.") == [("identity", "location", "Bonn")]


def test_reasons():
    """A decision keeps the words behind `because`."""
    (fact,) = facts_in(message("We chose hazel over hawthorn because it copes with wind."))
    assert fact.reason == "it copes with wind"


def test_only_users_are_heard():
    """Only user messages are read, each fact names its message."""
    said = [message("I live in Rome.", role="assistant"), message("I live in Rome.", role="tool")]
    own = message("I live in Bonn.", name="own")
    drafts = asyncio.run(OfflineExtractor().extract([*said, own]))
    assert [(draft.message_id, draft.quote) for draft in drafts] == [("own", "I live in Bonn")]


def _holds_together(text):
    drafts = facts_in(message(text))
    for draft in drafts:
        assert text[draft.start : draft.end] == draft.quote
        assert 0 < len(draft.quote) <= MAX_QUOTE
        assert draft.category in CATEGORIES
        assert draft.value
        assert "{" not in draft.value.replace("{", "", text.count("{"))
        assert draft.key is None or draft.key == draft.key.lower()
        assert 0.5 <= draft.confidence <= 0.95
        assert 0 <= draft.importance <= 1
    assert drafts == facts_in(message(text))
    return drafts


@given(st.text(max_size=400))
def test_any_text(text):
    """Every quote stands in the message where the fact says; the same text gives the same facts."""
    _holds_together(text)


_SENTENCES = st.sampled_from(
    ["I live in Oslo", "I\u2019m vegan", "my name is Ana", "I love jazz and tea", "Ich heiße Jo", "me llamo Eva"]
)
_NOISE = st.sampled_from(
    [
        "",
        "🎉",
        "e\u0301",
        "\u202b\u05e9\u05dc\u05d5\u05dd\u202c",
        "İstanbul",
        "ﬁne",
        "“",
        '"',
        "'",
        "\u2019",
        "> ",
        "```",
        "- ",
        "\n",
        "\t",
        "[x]",
        "?",
    ]
)


@given(st.lists(st.tuples(_NOISE, _SENTENCES, _NOISE, st.sampled_from([". ", "! ", "\n", ", ", " "])), max_size=8))
def test_sentences_in_noise(parts):
    """Marks of other scripts, quotation marks and emoji around sentences never shift a quote."""
    _holds_together("".join("".join(part) for part in parts))


_GRAMMAR_WORDS = st.sampled_from(
    sorted(
        {
            word
            for grammar in grammars()
            for index in grammar.templates.values()
            for pattern, _ in index.entries
            for word in re.findall(r"[^\W_]+|\$", pattern.source)
        }
        | set(",.!?:;'-$&+")
        | {"Ana", "Oslo", "42", "and", "the", "not", "never"}
    )
)


@examples(400)
@given(st.lists(st.one_of(_GRAMMAR_WORDS, _SENTENCES), max_size=24).map(" ".join))
def test_words_of_the_grammar_in_any_order(text):
    """No order of the grammar's own words breaks the reading."""
    _holds_together(text)


@given(_NOISE.filter(lambda noise: noise in {"", "🎉", "\n", "\t", "ﬁne", "İstanbul"}))
def test_facts_survive_noise(noise):
    """A statement is found behind an emoji, a line break or a word whose lower case is longer."""
    assert ("identity", "location", "Oslo") in facts(f"{noise}. I live in Oslo.")


@pytest.mark.parametrize(
    "piece",
    [
        pytest.param("I live in ", id="starts"),
        pytest.param("a" * 50, id="one-word"),
        pytest.param("I, and my, ", id="joins"),
        pytest.param("\"I' “", id="quotation-marks"),
        pytest.param("my wife , ", id="relations"),
        pytest.param("[<`*_", id="brackets"),
        pytest.param("1234 ", id="numbers"),
        pytest.param("A: b\n", id="labels"),
        pytest.param("I want to be not no never ", id="no-end"),
        pytest.param("I love a and b, c, ", id="list"),
        pytest.param("12月3日", id="dates-without-spaces"),
        pytest.param("私は来週", id="subjects-without-spaces"),
    ],
)
def test_hostile_text_takes_no_time(piece):
    """Two hundred thousand characters of anything are read in the time of a hundred messages."""
    hostile = message(repeated(piece)(share(200_000)))
    usual = [message(text) for text in USUAL]
    most = 100 / len(usual)
    assert times_longer(lambda: facts_in(hostile), lambda: [facts_in(one) for one in usual], most=most) <= most


USUAL = (
    "Thanks, that helped! I live in Oslo and I work as a nurse.",
    "Can you shorten it? I think it is too long.",
)


def test_speed():
    """Ordinary messages are read at thousands a second: in the time in which they are cut into words 300 times."""
    usual = [message(text) for text in USUAL]

    def read():
        for one in usual * 50:
            facts_in(one)

    def cut():
        for text in USUAL * 50:
            re.findall(r"\w+|[^\w\s]", text.lower())

    assert times_longer(read, cut, most=300) <= 300


@pytest.mark.parametrize("text", (FACTS / "not_so.txt").read_text("utf-8").splitlines())
def test_what_is_not_so(text):
    """What was, what is denied, hypothetical, asked, quoted, invented or said of another is not what is."""
    assert [one for one in facts_in(message(text)) if one.holds and one.about is None] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("moved to Turku last autumn", ("location", "Turku"), id="no-subject"),
        pytest.param("can't stand coriander", ("coriander", "dislikes coriander"), id="no-subject-not"),
        pytest.param("been living in Seoul since March", ("location", "Seoul"), id="been"),
        pytest.param("Being a nurse, I never sleep.", ("job", "nurse"), id="being"),
        pytest.param("As a vegan, I struggle in Lyon.", ("diet", "vegan"), id="as-a"),
        pytest.param("My wife and I live in Porto.", ("location", "Porto"), id="two-of-us"),
        pytest.param("I now live in Graz.", ("location", "Graz"), id="now"),
        pytest.param("Hi,\n\nI'm a nurse. Could you help?\n\nThanks", ("job", "nurse"), id="like-a-letter"),
        pytest.param("I love opera, which seats?", ("opera", "likes opera"), id="short-question"),
        pytest.param("I love opera, anything on tonight?", ("opera", "likes opera"), id="question-without-a-verb"),
        pytest.param("I love opera, thoughts?", ("opera", "likes opera"), id="question-of-one-word"),
        pytest.param("I love opera, can you tell?", ("opera", "likes opera"), id="question-that-is-no-tag"),
        pytest.param("Write me a short note for the neighbours. I'm a nurse.", ("job", "nurse"), id="after-a-request"),
        pytest.param("I live in leeds", ("location", "leeds"), id="lower-case"),
        pytest.param("I'm sixty-three.", ("age", "sixty-three"), id="number-in-words"),
        pytest.param("I'm allergic to kiwi, and my doctor told me to rest.", ("allergy kiwi", "kiwi"), id="told-me"),
        pytest.param("Not sure it matters but I'm allergic to kiwi.", ("allergy kiwi", "kiwi"), id="not-sure"),
        pytest.param("It might help to know that I'm deaf.", ("disability", "deaf"), id="help-to-know"),
        pytest.param(
            "hey so i live in utrecht i work as a nurse and i have two kids and my husband is called piet and we want "
            "to go camping somewhere in france in july",
            ("job", "nurse"),
            id="run-on",
        ),
    ],
)
def test_plain_chat(text, expected):
    """People leave out subjects, capitals and full stops, and say other things in the same breath."""
    assert expected in [(key, value) for _, key, value, holds in found(text) if holds]


@pytest.mark.parametrize(
    ("text", "ended"),
    [
        pytest.param("I used to be a Mormon", ("religion", "Mormon"), id="used-to-be"),
        pytest.param("I stopped being vegetarian", ("diet", "vegetarian"), id="stopped-being"),
        pytest.param("my dog Rex died last week", ("dog rex", "Rex"), id="died"),
        pytest.param("I broke up with my girlfriend Anna", ("girlfriend", "Anna"), id="broke-up"),
        pytest.param("I haven't lived in Kyiv since 2014", ("location", "Kyiv"), id="not-since"),
    ],
)
def test_what_has_ended(text, ended):
    """What is said to have ended is told as such, so that an earlier fact can end."""
    assert [(key, value) for _, key, value, holds in found(text) if not holds] == [ended]


def test_trigger_words():
    """Plain sentences with decided, prefer, must, goal and the like give a memory of the right type; idle ones none."""
    cases = [json.loads(line) for line in (FACTS / "trigger_words.jsonl").read_text("utf-8").splitlines()]
    types = [{TYPES[one.category] for one in facts_in(message(case["text"]))} for case in cases]
    plain = [case["type"] in found for case, found in zip(cases, types, strict=True) if case["type"]]
    assert sum(plain) / len(plain) >= 0.9
    assert [case["text"] for case, found in zip(cases, types, strict=True) if not case["type"] and found] == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("The API must respond in under 200 ms.", "The API must respond in under 200 ms", id="must"),
        pytest.param("our site has to pass WCAG AA", "our site has to pass WCAG AA", id="has-to"),
        pytest.param("Every page must load in two seconds", "Every page must load in two seconds", id="every"),
        pytest.param(
            "every money column is numeric(12,2), no exceptions", "every money column is numeric(12,2)", id="rule"
        ),
        pytest.param("no more than two meetings a day", "no more than two meetings a day", id="limit"),
        pytest.param("the team prefers async updates", "the team prefers async updates", id="group"),
    ],
)
def test_subjects_are_kept(text, value):
    """A fact without a key says what it is about, so that it can be read alone."""
    assert value in [one.value for one in facts_in(message(text))]


@pytest.mark.parametrize(
    ("name", "precision", "recall"),
    [
        pytest.param("seen", 0.97, 0.95, id="seen"),
        pytest.param("unseen", 0.93, 0.82, id="unseen"),
        pytest.param("ja", 0.95, 0.9, id="ja"),
        pytest.param("ja-unseen", 0.93, 0.8, id="ja-unseen"),
        pytest.param("zh", 0.95, 0.9, id="zh"),
        pytest.param("zh-unseen", 0.9, 0.8, id="zh-unseen"),
        pytest.param("ko", 0.9, 0.9, id="ko"),
        pytest.param("ko-unseen", 0.9, 0.7, id="ko-unseen"),
        pytest.param("ru", 0.9, 0.9, id="ru"),
        pytest.param("ru-unseen", 0.8, 0.7, id="ru-unseen"),
        pytest.param("ar", 0.9, 0.9, id="ar"),
        pytest.param("ar-unseen", 0.9, 0.7, id="ar-unseen"),
        pytest.param("hi", 0.9, 0.8, id="hi"),
        pytest.param("hi-unseen", 0.8, 0.7, id="hi-unseen"),
    ],
)
def test_labelled(name, precision, recall):
    """On labelled messages the facts found are right, and most are found."""
    result = score(Path(FACTS) / f"{name}.jsonl")
    assert result.precision() >= precision
    assert result.recall() >= recall
