"""A memory with a small language model: what it invents is not believed, what it misses the offline reader finds."""

import json
import logging
from typing import Any

import pytest

from lamina import FactDraft, Memory
from lamina.models.offline.offline_extractor import OfflineExtractor
from lamina.testing.llm_server import Answer, Asked, Fault, LlmServer, data_of, sensible
from lamina.values.fact import FACT_STATUSES
from tests.models.endpoints import llm_for

USER = "priya"
OFFLINE = OfflineExtractor.name
NOBODY = [
    "the pump on line two broke again this morning",
    "we ordered new seals, they come on Thursday",
    "can you draft a short note to the night shift?",
    "make it friendlier please",
    "ok that works",
    "the second pump makes a strange noise too",
    "I will look at it after lunch",
    "the manual says the bearing lasts 4000 hours",
    "do we have a spare in the store?",
    "thanks, that's all for today",
]


def facts_by(*facts: dict[str, Any]) -> Any:
    """A model that answers every question for facts with these, and everything else sensibly."""

    def brain(asked: Asked) -> Answer:
        return json.dumps({"facts": facts}) if '"facts"' in asked.text else sensible(asked)

    return brain


def john_for_everything(asked: Asked) -> Answer:
    """What a real model of 1.5 B answered: the same name for every sentence, with a true quote."""
    if '"facts"' not in asked.text:
        return sensible(asked)
    lines = [json.loads(line) for line in data_of(asked)]
    return json.dumps(
        {"facts": [{"message": line["message"], "quote": line["text"], "category": "identity", "key": "name",
                    "value": "John", "about": None, "scope": None, "holds": True} for line in lines]}
    )  # fmt: skip


def values(memory: Memory) -> list[tuple[str | None, str, str | None]]:
    return [(fact.key, fact.value, fact.model) for fact in memory.facts(USER)]


def refusals(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.__dict__["reason"] for record in caplog.records if record.getMessage() == "draft_refused"]


def test_an_invented_name_takes_no_ones_place(caplog: pytest.LogCaptureFixture) -> None:
    """Ten sentences that name nobody: the true name stays, nothing new is known, and the log says why."""
    with (
        LlmServer(john_for_everything) as server,
        caplog.at_level(logging.WARNING),
        Memory(":memory:", llm=llm_for(server, use=("facts",)), worker=False) as memory,
    ):
        memory.add("My name is Priya.", user_id=USER)
        memory.settle()
        memory.add(NOBODY, user_id=USER)
        memory.settle()
        assert [fact.value for fact in memory.facts(USER) if fact.key == "name"] == ["Priya"]
        assert not any(fact.value == "John" for fact in memory.facts(USER, statuses=FACT_STATUSES))
    assert refusals(caplog) == ["the quote does not have the words of the value"] * 11
    assert not any("pump" in repr(record.__dict__) for record in caplog.records if record.name.startswith("lamina"))


def test_what_the_model_misses_the_offline_reader_finds() -> None:
    """The union, each fact with who found it; without `with_offline` the model's alone."""
    brain = facts_by({"message": 1, "quote": "I prefer Python", "category": "preference", "key": "language",
                      "value": "Python"})  # fmt: skip
    for with_offline, found in ((True, {"Python": "test-model", "Ghent": OFFLINE}),
                                (False, {"Python": "test-model"})):  # fmt: skip
        with LlmServer(brain) as server:
            llm = llm_for(server, use=("facts",), with_offline=with_offline)
            with Memory(":memory:", llm=llm, worker=False) as memory:
                memory.add("I live in Ghent and I prefer Python.", user_id=USER)
                memory.settle()
                assert {fact.value: fact.model for fact in memory.facts(USER) if fact.key} == found


def test_statements_of_a_model_are_kept_in_the_users_words() -> None:
    """Without a key the value is the quote; a person other than the user is named."""
    brain = facts_by(
        {"message": 1, "quote": "NEVER book me before ten", "category": "instruction", "key": None, "value": ""},
        {"message": 1, "quote": "my sister Ida lives in Oslo", "category": "identity", "key": "location",
         "value": "Oslo", "about": "Ida", "scope": None, "holds": True},
    )  # fmt: skip
    with LlmServer(brain) as server:
        llm = llm_for(server, use=("facts",), with_offline=False)
        with Memory(":memory:", llm=llm, worker=False) as memory:
            memory.add("never book me before ten; my sister Ida lives in Oslo", user_id=USER)
            memory.settle()
            found = {(fact.key, fact.value, fact.about, fact.category) for fact in memory.facts(USER)}
    assert found == {(None, "never book me before ten", None, "instruction"), ("location", "Oslo", "Ida", "identity")}


ITEM = '{"message": 1, "quote": "I live in Ghent", "category": "identity", "key": "location", "value": "Ghent"'


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f'```json\n{{"facts": [{ITEM}}}]}}\n```', id="fence"),
        pytest.param(f'{{"facts": [{ITEM},}},]}}', id="trailing-commas"),
        pytest.param(f'{{"facts": [{ITEM}, "mood": "happy", "tags": []}}], "note": "done"}}', id="extra-keys"),
        pytest.param(f'Sure! Here are the facts:\n\n{{"facts": [{ITEM}}}]}}\n\nAnything else?', id="prose"),
        pytest.param(f"{ITEM}}}", id="single-object"),
        pytest.param(f'{{"facts": {ITEM}}}}}', id="object-for-list"),
        pytest.param(f"[{ITEM}}}]", id="bare-list"),
        pytest.param(f'{{"facts": [{ITEM}}}]}}'.replace("I live in Ghent", "i LIVE in ghent."), id="careless-quote"),
        pytest.param(f'{{"facts": [{ITEM}}}]}}'.replace('"message": 1', '"message": "#1"'), id="number-as-text"),
        pytest.param(f'<think>Hm, a town.</think>{{"facts": [{ITEM}}}]}}', id="thoughts"),
    ],
)
def test_the_habits_of_small_models_are_understood(text: str) -> None:
    """At the first attempt."""
    with LlmServer(lambda asked: text) as server:
        llm = llm_for(server, use=("facts",), with_offline=False)
        with Memory(":memory:", llm=llm, worker=False) as memory:
            memory.add("I live in Ghent, near the canal", user_id=USER)
            memory.settle()
            assert values(memory) == [("location", "Ghent", "test-model")]
            assert len(server.asked()) == 1


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param("{'facts': oops", id="garbage"),
        pytest.param(Fault(status=200, body={"choices": []}, ends="half-way"), id="half-way"),
        pytest.param(Fault(ends="hung up"), id="hung-up"),
        pytest.param("I cannot help with personal data.", id="refusal"),
    ],
)
def test_a_model_that_gives_nothing_leaves_all_to_the_offline_reader(answer: Answer) -> None:
    """Nothing is lost, and the fact says who found it."""
    with LlmServer(lambda asked: answer) as server:
        llm = llm_for(server, use=("facts",), retries=0)
        with Memory(":memory:", llm=llm, worker=False) as memory:
            memory.add("I live in Ghent", user_id=USER)
            memory.settle()
            assert values(memory) == [("location", "Ghent", OFFLINE)]


def test_an_extractor_of_ones_own_is_checked_unless_it_is_trusted() -> None:
    """One that looks values up elsewhere says so by `trusted`."""

    class LookUp:
        name = "look-up"
        trusted = False

        async def extract(self, messages: Any) -> list[Any]:
            return [
                FactDraft(message_id=one.id, category="entity", key="customer", value="Acme Ltd", quote="C-17",
                          start=one.text.index("C-17"), end=one.text.index("C-17") + 4, confidence=1.0, importance=0.8)
                for one in messages
            ]  # fmt: skip

    for trusted in (False, True):
        extractor = LookUp()
        extractor.trusted = trusted
        with Memory(":memory:", extractor=extractor, worker=False) as memory:
            memory.add("The invoice of C-17 is late.", user_id=USER)
            memory.settle()
            assert [fact.value for fact in memory.facts(USER)] == (["Acme Ltd"] if trusted else [])


def test_episodes_that_nobody_told_or_that_are_told_twice_are_refused(caplog: pytest.LogCaptureFixture) -> None:
    """One remains of five, with the words of the talk."""
    good = {"message": 2, "kind": "decision_made", "title": "Rewrite the importer", "context": "", "outcome": None,
            "summary": "We decided to rewrite the importer with streaming", "valence": 0.2,
            "significance": 0.7}  # fmt: skip
    bad = [
        good,
        {**good, "kind": "pivot"},
        {**good, "message": 1, "title": "Won the lottery", "summary": "They celebrated with champagne in Paris"},
        {**good, "message": 1, "kind": "breakthrough", "title": "A great insight", "summary": "Everything changed"},
    ]

    def brain(asked: Asked) -> Answer:
        return json.dumps({"episodes": [good, *bad]}) if '"episodes"' in asked.text else sensible(asked)

    with LlmServer(brain) as server, caplog.at_level(logging.WARNING):
        llm = llm_for(server, use=("episodes",), with_offline=False)
        with Memory(":memory:", llm=llm, worker=False) as memory:
            memory.add(
                ["The importer crashes on large files", "We decided to rewrite the importer with streaming"],
                user_id=USER,
            )
            memory.settle()
            assert [(one.kind, one.title) for one in memory.episodes(USER)] == [
                ("decision_made", "Rewrite the importer")
            ]
    assert len(refusals(caplog)) == 4


def test_a_short_answer_is_sent_with_the_question_it_answers() -> None:
    """The question supports the key, and is kept beside the fact."""
    brain = facts_by({"message": 1, "quote": "Berlin, since May", "category": "identity", "key": "location",
                      "value": "Berlin"})  # fmt: skip
    with LlmServer(brain) as server:
        llm = llm_for(server, use=("facts",), with_offline=False)
        with Memory(":memory:", llm=llm, worker=False) as memory:
            memory.add({"role": "assistant", "content": "Nice to meet you. Where do you live?"}, user_id=USER,
                       session_id="s1")  # fmt: skip
            memory.add("Berlin, since May", user_id=USER, session_id="s1")
            memory.settle()
            (line,) = [json.loads(one) for one in data_of(server.asked()[0])]
            (fact,) = memory.facts(USER)
    assert line["asked"] == "Where do you live?"
    assert (fact.key, fact.value, fact.question) == ("location", "Berlin", "Where do you live?")
