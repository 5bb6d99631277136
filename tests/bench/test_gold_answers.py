"""What is the right answer of a question, in the fields of each set, and the sets as their authors publish them."""

import json
from datetime import UTC, datetime

import pytest

from lamina.bench.gold import UNKNOWN, Gold, read_gold
from lamina.bench.readers import read, read_all
from lamina.errors import InputError


@pytest.mark.parametrize(
    ("row", "gold"),
    [
        pytest.param({"cat": "temporal", "a": 2022}, Gold(form="answer", text="2022"), id="number"),
        pytest.param({"cat": "names", "answer": " Heron "}, Gold(form="answer", text="Heron"), id="own-file"),
        pytest.param(
            {"cat": "adversarial", "adversarial_answer": "a kayak"},
            Gold(form="unknown", text=UNKNOWN, trap="a kayak"),
            id="LoCoMo-adversarial",
        ),
        pytest.param(
            {"cat": "adversarial", "a": "a kayak"}, Gold(form="unknown", text=UNKNOWN, trap="a kayak"), id="trap-as-a"
        ),
        pytest.param(
            {"cat": "multi-session", "abs": True, "answer": "You did not say."},
            Gold(form="unknown", text="You did not say."),
            id="LongMemEval-abstention",
        ),
        pytest.param(
            {"cat": "single-session-preference", "answer": "They would like sea views."},
            Gold(
                form="rubric",
                text="They would like sea views.",
                points=("They would like sea views.",),
                is_reply=False,
            ),
            id="LongMemEval-preference",
        ),
        pytest.param(
            {"cat": "summarization", "ideal_summary": "Two moves.", "rubric": ["first", "second"]},
            Gold(form="rubric", text="Two moves.", points=("first", "second")),
            id="BEAM-summary",
        ),
        pytest.param(
            {"cat": "contradiction_resolution", "ideal_answer": "Both were said.", "rubric": ["both"]},
            Gold(form="rubric", text="Both were said.", points=("both",)),
            id="BEAM-contradiction",
        ),
        pytest.param(
            {"cat": "abstention", "ideal_response": "Not said.", "rubric": ["not said"]},
            Gold(form="rubric", text="Not said.", points=("not said",)),
            id="BEAM-abstention",
        ),
        pytest.param(
            {"cat": "instruction_following", "expected_compliance": "Has versions.", "rubric": ["versions"]},
            Gold(form="rubric", text="Has versions.", points=("versions",), is_reply=False),
            id="BEAM-instruction",
        ),
        pytest.param({"cat": "names", "a": ""}, None, id="empty"),
        pytest.param({"cat": "names"}, None, id="none"),
    ],
)
def test_the_right_answer_is_read_from_the_fields_of_each_set(row, gold):
    assert read_gold(row) == gold


def test_only_an_answer_is_a_reply():
    """What says how a reply should be is not judged as one."""
    assert Gold(form="answer", text="Heron").reply == "Heron"
    assert Gold(form="rubric", text="Has versions.", is_reply=False).reply is None


def written(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2), "utf-8")
    return str(path)


LOCOMO = [
    {
        "sample_id": "conv-9",
        "conversation": {
            "speaker_a": "Ines",
            "speaker_b": "Otto",
            "session_1_date_time": "9:05 am on 3 March, 2024",
            "session_1": [
                {"speaker": "Ines", "dia_id": "D1:1", "text": "Look!", "blip_caption": "a red canoe"},
                {"speaker": "Otto", "dia_id": "D1:2", "text": "Nice."},
            ],
            "session_10_date_time": "9:05 am on 3 May, 2024",
            "session_10": [{"speaker": "Otto", "dia_id": "D10:1", "text": "I passed."}],
            "session_11_date_time": "9:05 am on 4 May, 2024",
        },
        "qa": [
            {"question": "What is red?", "answer": "the canoe", "evidence": ["D1:1; D10:1", "D77:1"], "category": 1},
            {"question": "What did Ines pass?", "adversarial_answer": "an exam", "evidence": ["D10:1"], "category": 5},
        ],
    }
]


def test_locomo_is_read_as_published(tmp_path):
    """Sessions in their order, photos as their captions, evidence that names several turns or none that exist."""
    data = read_all(written(tmp_path / "locomo10.json", LOCOMO))
    (conversation,) = data.conversations
    assert (data.format, data.name) == ("LoCoMo", "locomo10")
    assert [session.id for session in conversation.sessions] == ["conv-9/S1", "conv-9/S10"]
    assert conversation.sessions[0].messages[0].text == "Look! [shares a photo: a red canoe]"
    assert conversation.sessions[1].date == datetime(2024, 5, 3, 9, 5, tzinfo=UTC)
    first, second = conversation.questions
    assert (first.id, first.category) == ("conv-9#0", "multi-hop")
    assert first.gold == {"conv-9/D1:1", "conv-9/D10:1"}
    assert first.answer == Gold(form="answer", text="the canoe")
    assert second.answer is not None
    assert (second.category, second.answer.trap) == ("adversarial", "an exam")


LONGMEMEVAL = [
    {
        "question_id": "q7_abs",
        "question_type": "multi-session",
        "question": "Which tea?",
        "answer": "You did not say.",
        "question_date": "2023/05/28 (Sun) 06:47",
        "haystack_dates": ["2023/05/21 (Sun) 02:21", "2023/05/20 (Sat) 02:21"],
        "haystack_session_ids": ["late", "early"],
        "haystack_sessions": [
            [{"role": "user", "content": "Hello."}],
            [{"role": "user", "content": "Tea?", "has_answer": True}, {"role": "assistant", "content": "Oolong."}],
        ],
        "answer_session_ids": ["early"],
    }
]


def test_longmemeval_is_read_as_published(tmp_path):
    """Sessions by their dates; a question that cannot be answered has no evidence, and an answer to compare with."""
    name = written(tmp_path / "longmemeval_s.json", LONGMEMEVAL)
    (conversation,) = read_all(name).conversations
    assert [session.id for session in conversation.sessions] == ["early", "late"]
    (question,) = conversation.questions
    assert question.id == "q7_abs"
    assert not question.gold
    assert question.answer == Gold(form="unknown", text="You did not say.")
    assert read(name).conversations == ()


CHAT = [
    {
        "batch_number": 1,
        "turns": [
            [
                {"role": "user", "id": 0, "time_anchor": "March-15-2024", "content": "Port 8081, please. ->-> 1,1"},
                {"role": "assistant", "id": 1, "content": "Noted."},
            ]
        ],
    },
    {
        "batch_number": 2,
        "turns": [[{"role": "user", "id": 2, "time_anchor": "April-05-2024", "content": "Now 9090. ->-> 2,3"}]],
    },
]
PROBES = {
    "abstention": [{"question": "Which pump?", "ideal_response": "Not said.", "rubric": ["not said"]}],
    "knowledge_update": [
        {
            "question": "Which port?",
            "answer": "9090",
            "source_chat_ids": {"original_info": [0], "updated_info": [2]},
            "rubric": ["LLM response should state: 9090"],
        }
    ],
}


def beam(folder):
    for number in ("1", "10", "2"):
        written(folder / number / "chat.json", CHAT)
        written(folder / number / "probing_questions" / "probing_questions.json", PROBES)
    return folder


def test_beam_is_read_as_published(tmp_path):
    """A folder of chats, or one of them; the marks of the plan behind messages are no part of them."""
    folder = beam(tmp_path / "100K")
    data = read_all(str(folder))
    assert (data.format, data.name) == ("BEAM", "beam_100K")
    assert [one.id for one in data.conversations] == ["100K/1", "100K/2", "100K/10"]
    first = data.conversations[0]
    texts = [message.text for session in first.sessions for message in session.messages]
    assert texts == ["Port 8081, please.", "Noted.", "Now 9090."]
    assert first.sessions[0].messages[1].said_at.date() == datetime(2024, 3, 15, tzinfo=UTC).date()
    unknown, update = first.questions
    assert unknown.id == "100K/1/abstention/0"
    assert not unknown.gold
    assert update.gold == {"100K/1/0", "100K/1/2"}
    assert update.gold_sessions == {"100K/1/B1", "100K/1/B2"}
    assert update.answer == Gold(form="rubric", text="9090", points=("LLM response should state: 9090",))
    assert read_all(str(folder / "2")).conversations == (data.conversations[1],)


def test_the_chat_that_beam_asks_about_is_the_shortened_one(tmp_path):
    folder = beam(tmp_path / "100K")
    written(folder / "1" / "chat_trunecated.json", CHAT[:1])
    assert len(read_all(str(folder / "1")).conversations[0].sessions) == 1


@pytest.mark.parametrize(
    ("files", "complaint"),
    [
        pytest.param({}, "has no chat of BEAM", id="empty"),
        pytest.param(
            {"1/probing_questions/probing_questions.json": PROBES},
            "has questions and no chat.json or chat_trunecated.json",
            id="no-chat",
        ),
        pytest.param(
            {"1/probing_questions/probing_questions.json": PROBES, "1/chat.json": [{"plan-1": []}]},
            "10M has another form",
            id="10M",
        ),
        pytest.param(
            {"1/probing_questions/probing_questions.json": {"abstention": [{"text": "?"}]}, "1/chat.json": CHAT},
            "cannot be read as a chat of BEAM: KeyError",
            id="field",
        ),
    ],
)
def test_a_folder_that_is_not_beam_is_refused(files, complaint, tmp_path):
    for name, value in files.items():
        written(tmp_path / "set" / name, value)
    (tmp_path / "set").mkdir(exist_ok=True)
    with pytest.raises(InputError, match=complaint):
        read_all(str(tmp_path / "set"))


def test_a_published_file_with_a_hole_names_the_row(tmp_path):
    entry = {name: value for name, value in LONGMEMEVAL[0].items() if name != "question_type"}
    with pytest.raises(InputError, match="row 1: has no 'question_type'"):
        read_all(written(tmp_path / "holes.json", [entry]))
