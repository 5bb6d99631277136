"""The parts of `lamina bench qa`: intervals, probes of a judge, official files, keys, ways, and the command."""

import importlib.util
import json
import random
from dataclasses import replace
from pathlib import Path

import pytest

from lamina import InputError
from lamina.bench.gold import Gold
from lamina.bench.qa import run as running
from lamina.bench.qa.journal import Answered
from lamina.bench.qa.judge_check import probes
from lamina.bench.qa.models import CallLog, ModelChoice
from lamina.bench.qa.official import write_official
from lamina.bench.qa.report import bootstrap
from lamina.bench.qa.ways import check_ways
from lamina.bench.readers import Question, read_all
from lamina.models.llm.prompts import prompts, summary_prompts
from lamina.testing.llm_server import Fault, LlmServer
from tests.bench.qa_brain import CONVERSATION, QUESTIONS, brain, is_reading, write_set
from tests.bench.test_gold_answers import LONGMEMEVAL, beam, written
from tests.bench.test_qa import plan_for, run

# Intervals


def test_an_interval_is_around_the_mean_and_the_same_every_time():
    values = [1.0] * 30 + [0.0] * 70
    found = bootstrap(values)
    assert found is not None
    assert found == bootstrap(values)
    assert found.low < found.mean == 0.3 < found.high
    assert found.high - found.low == pytest.approx(4 * (0.3 * 0.7 / 100) ** 0.5, rel=0.1)


def test_more_questions_make_it_narrower_and_equal_ones_a_point():
    few, many = bootstrap([0.0, 1.0] * 10), bootstrap([0.0, 1.0] * 1000)
    assert few is not None
    assert many is not None
    assert many.high - many.low < (few.high - few.low) / 5
    assert bootstrap([0.5] * 4) == bootstrap([0.5])
    assert bootstrap([]) is None


# Probes of the judge


def question(name, gold, category="names"):
    return Question(
        id=name, category=category, text="?", asked_at=None, after=None, gold=frozenset(), gold_sessions=frozenset(),
        answer=gold,
    )  # fmt: skip


def answered(text, **more):
    return Gold(form="answer", text=text, **more)


def test_the_wrong_answer_is_that_of_another_question_of_the_category():
    """Never one that says the same, nor one that is right for everything that cannot be answered."""
    asked = [
        question("a", answered("Heron")),
        question("b", answered("heron")),
        question("c", answered("a canoe")),
        question("d", answered("in May"), "dates"),
        question("e", Gold(form="unknown", text="You did not say.")),
        question("f", Gold(form="rubric", text="Has versions.", points=("v",), is_reply=False)),
        question("g", Gold(form="unknown", text="Not mentioned.", trap="Otto")),
    ]
    for seed in range(5):
        wrong = {one.question.id: one.answer for one in probes(asked, 50, seed) if not one.is_right}
        assert (wrong["a"], wrong["b"], wrong["g"]) == ("a canoe", "a canoe", "Otto")
        assert wrong["c"] in {"Heron", "heron"}
        assert wrong["d"] in {"Heron", "heron", "a canoe"}
        assert wrong["e"] in {"Heron", "heron", "a canoe"}
    right = {one.question.id for one in probes(asked, 50, 0) if one.is_right}
    assert right == {"a", "b", "c", "d", "e", "g"}


def test_some_questions_are_enough_and_the_same_for_the_same_seed():
    asked = [question(str(number), answered(f"answer {number}")) for number in range(200)]
    few = probes(asked, 20, seed=3)
    assert len(few) == 40
    assert few == probes(asked, 20, seed=3)
    assert few != probes(asked, 20, seed=4)
    assert probes(asked, 0, seed=3) == []
    assert [one.is_right for one in probes(asked[:1], 20, seed=3)] == [True]


# Files for the evaluators of the sets


def given(name, text, way="lamina", seed=0):
    return Answered(question_id=name, way=way, seed=seed, answer=text)


def test_longmemeval_gets_a_row_for_each_answer(tmp_path):
    """As `evaluate_qa.py` reads it: JSON Lines, and the id of a question that cannot be answered has `_abs`."""
    data = read_all(written(tmp_path / "longmemeval_s.json", LONGMEMEVAL))
    failed = Answered(question_id="q7_abs", way="rag", seed=0, error="reader: gone")
    files, notes = write_official(data, [given("q7_abs", "Not said."), failed], tmp_path / "official")
    assert (list(files), notes) == (["LongMemEval, lamina, seed 0"], [])
    lines = Path(files["LongMemEval, lamina, seed 0"]).read_text("utf-8").splitlines()
    assert [json.loads(line) for line in lines] == [{"question_id": "q7_abs", "hypothesis": "Not said."}]


def test_beam_gets_a_folder_for_each_chat_with_every_question_at_its_place(tmp_path):
    """As `run_evaluation.py` reads it: folders are numbers, and places in lists are those of the rubrics."""
    data = read_all(str(beam(tmp_path / "100K")))
    answers = [given(one.id, f"to {one.id}") for chat in data.conversations for one in chat.questions]
    files, notes = write_official(data, answers, tmp_path / "official")
    folder = Path(files["BEAM, 100K"])
    assert sorted(int(one.name) for one in folder.iterdir()) == [1, 2, 10]
    stored = json.loads((folder / "10" / "lamina-0.json").read_text("utf-8"))
    assert set(stored) == {"abstention", "knowledge_update"}
    (row,) = stored["knowledge_update"]
    assert (row["question"], row["llm_response"]) == ("Which port?", "to 100K/10/knowledge_update/0")
    assert row["rubric"] == ["LLM response should state: 9090"]
    assert notes == []


def test_a_list_of_beam_has_no_hole(tmp_path):
    """The second question of an ability cannot stand at the place of the first."""
    folder = tmp_path / "100K" / "3"
    probe = {"question": "Which?", "answer": "this", "rubric": ["this"], "source_chat_ids": [0]}
    chat = [
        {"batch_number": 1, "turns": [[{"role": "user", "id": 0, "time_anchor": "March-15-2024", "content": "Hi"}]]}
    ]
    written(folder / "chat.json", chat)
    written(folder / "probing_questions" / "probing_questions.json", {"event_ordering": [probe, probe, probe]})
    data = read_all(str(folder))
    answers = [given(f"100K/3/event_ordering/{number}", str(number)) for number in (0, 2)]
    files, notes = write_official(data, answers, tmp_path / "official")
    stored = json.loads((Path(files["BEAM, 100K"]) / "3" / "lamina-0.json").read_text("utf-8"))
    assert [row["llm_response"] for row in stored["event_ordering"]] == ["0"]
    assert notes == [
        "not in BEAM's files: 2 answers; its evaluator counts places, so a list ends before a hole",
    ]


def test_own_files_have_no_evaluator(tmp_path):
    data = read_all(write_set(tmp_path / "set.jsonl"))
    assert write_official(data, [given("p1#0", "Heron")], tmp_path / "official") == ({}, [])
    assert not (tmp_path / "official").exists()


# Keys and models


@pytest.mark.parametrize(
    ("url", "environ", "key"),
    [
        pytest.param(None, {"OPENAI_API_KEY": "sk-openai"}, "sk-openai", id="openai"),
        pytest.param("https://elsewhere/v1", {"OPENAI_API_KEY": "sk-openai"}, None, id="never-elsewhere"),
        pytest.param(
            "https://elsewhere/v1", {"READER_API_KEY": "own", "OPENAI_API_KEY": "sk-openai"}, "own", id="its-own"
        ),
        pytest.param(
            None, {"OPENAI_BASE_URL": "https://gate/v1", "OPENAI_API_KEY": "sk-gate"}, "sk-gate", id="base-url"
        ),
        pytest.param("https://gate/v1", {"JUDGE_API_KEY": "other"}, None, id="not-the-judges"),
    ],
)
def test_a_key_goes_to_its_own_server_only(url, environ, key):
    choice = ModelChoice.of("reader", "some-model", url, environ)
    assert choice.key == key
    assert choice.url == url or environ.get("OPENAI_BASE_URL") or "api.openai.com" in choice.url


def test_openai_without_a_key_is_refused_at_once(tmp_path):
    choice = ModelChoice.of("judge", "some-model", None, {})
    with pytest.raises(
        InputError, match=r"no key for the judge at https://api\.openai\.com/v1; set OPENAI_API_KEY or JUDGE"
    ):
        choice.endpoint(CallLog(tmp_path / "calls.jsonl", "judge"))


def test_the_prompts_of_the_bench_are_versioned_and_are_no_prompts_of_profiles():
    names = {"read", "judge", "judge_unknown", "judge_rubric"}
    assert names <= prompts().keys()
    assert not names & summary_prompts().keys()


# Ways


def test_baselines_are_named_and_kept_in_their_order():
    assert check_ways(("rag", "none", "rag")) == ("lamina", "rag", "none")
    with pytest.raises(InputError, match="no baseline 'zep'; there are history, rag, none, mem0"):
        check_ways(("zep",))


def test_retrieval_has_the_nearest_messages_that_fit_in_their_order(tmp_path):
    """Twenty messages, of which the budget holds some: the one with the answer, and no more tokens than allowed."""
    chance = random.Random(1)
    filler = ["The weather in Bergen is grey again.", "I cooked rice with peas.", "My bus was late this morning."]
    turns = [
        {"id": str(number), "sess": "S1", "date": "2024-03-03", "speaker": "Ines", "text": chance.choice(filler)}
        for number in range(20)
    ]
    turns[7]["text"] = "I bought the red canoe at the harbour auction."
    path = write_set(tmp_path / "set.jsonl", {**CONVERSATION, "turns": turns, "questions": [QUESTIONS[1]]})
    with LlmServer(brain()) as server:
        report = run(path, tmp_path / "out", plan_for(server, baselines=("rag",), budget=120))
        (prompt,) = [one.text for one in server.asked() if is_reading(one) and "<memory>" not in one.text]
    assert "red canoe" in prompt
    rag = report.ways[1]
    assert 60 < rag.tokens <= 120
    assert 1 < prompt.count("] Ines:") < 12


@pytest.mark.skipif(importlib.util.find_spec("mem0") is None, reason="mem0ai is not installed")
@pytest.mark.filterwarnings("ignore")  # of the package and what it imports
def test_mem0_answers_with_what_its_own_model_keeps(tmp_path):
    """It asks the reader's model for memories, a call for each session; its texts are given to the same reader."""

    def keep(asked):
        kept = [{"id": "0", "text": "Ines named it Heron, the red canoe"}]
        return json.dumps({"memory": kept if "Heron" in asked.text else []})

    plain = brain()
    path = write_set(tmp_path / "set.jsonl")
    with LlmServer(lambda asked: keep(asked) if asked.way == "json_object" else plain(asked)) as server:
        report = run(path, tmp_path / "out", plan_for(server, baselines=("mem0",)))
    mem0 = report.ways[1]
    assert (mem0.way, mem0.failed, mem0.evidence) == ("mem0", 0, None)
    assert mem0.score is not None
    assert mem0.score.mean == 0.5
    assert any(note.startswith("mem0: its own calls") for note in report.notes)


@pytest.mark.skipif(importlib.util.find_spec("mem0") is None, reason="mem0ai is not installed")
@pytest.mark.filterwarnings("ignore")  # of the package and what it imports
def test_mem0_that_cannot_ask_its_model_fails_alone(tmp_path):
    """Its answers count nowhere, the reason is in the report, and the other ways have their scores."""
    plain = brain()
    broken = Fault(status=400, body={"error": {"message": "no such format"}})
    with LlmServer(lambda asked: broken if asked.way == "json_object" else plain(asked)) as server:
        report = run(write_set(tmp_path / "set.jsonl"), tmp_path / "out", plan_for(server, baselines=("mem0",)))
    lamina, mem0 = report.ways
    assert lamina.score is not None
    assert (lamina.score.mean, lamina.failed, mem0.score, mem0.failed) == (1, 0, None, 4)
    assert mem0.failures[0].startswith("mem0 could not add a session: LLM extraction failed")


def test_mem0_that_is_not_installed_is_said_before_anything_is_asked(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with LlmServer(brain()) as server, pytest.raises(InputError, match="mem0 is not installed; get it with: pip"):
        run(write_set(tmp_path / "set.jsonl"), tmp_path / "out", plan_for(server, baselines=("mem0",)))


# The command


@pytest.fixture
def server():
    with LlmServer(brain()) as listening:
        yield listening


def test_the_command_prints_tables(cli, server):
    path = write_set(Path("set.jsonl"))
    shown = cli("bench", "qa", path, "--reader", "r", "--judge", "j", "--reader-url", server.url, "--budget", "400")
    assert shown.code == 0, shown.stderr
    assert f"set (LoCoMo): 4 questions, 1 conversation, 5 messages reader r at {server.url}" in shown.out
    lines = shown.stdout.splitlines()
    header, lamina, history = lines[(first := lines.index("") + 1) : first + 3]
    assert header.split()[:4] == ["questions", "score", "95", "%"]
    assert lamina.split()[:6] == ["lamina", "4", "100.0", "100.0", "to", "100.0"]
    assert history.split()[0] == "history"
    assert "score by category questions lamina history rag none" in shown.out
    assert "judge: accepts 0.0 % of 4 wrong answers, rejects 0.0 % of 4 right answers" in shown.out
    assert "reader: 17 calls of r" in shown.out
    assert Path("lamina-bench-qa/set/scores.json").exists()


def test_a_trial_asks_nothing_and_needs_no_key(cli, server):
    path = write_set(Path("set.jsonl"))
    words = ("bench", "qa", path, "--reader", "r", "--judge", "j", "--dry-run", "--reader-price", "0.25,2")
    shown = cli(*words)
    assert shown.code == 0, shown.stderr
    assert "set reader history 4" in shown.out
    assert "at most; a call that fails is tried again" in shown.out
    told = json.loads(cli(*words, "--json", "--no-baseline").stdout)
    assert [(one["role"], one["way"], one["calls"]) for one in told] == [("reader", "lamina", 4), ("judge", "all", 12)]
    assert told[0]["cost"] == pytest.approx((0.25 * told[0]["tokens_in"] + 2 * told[0]["tokens_out"]) / 1e6)
    assert not server.journal
    assert not Path("lamina-bench-qa").exists()


def test_a_key_is_in_no_output_and_no_file(cli, monkeypatch):
    monkeypatch.setenv("READER_API_KEY", "sk-never-to-be-seen")
    with LlmServer(brain(), key="sk-never-to-be-seen") as locked:
        path = write_set(Path("set.jsonl"))
        words = ("bench", "qa", path, "--reader", "r", "--judge", "j", "--reader-url", locked.url, "--no-baseline")
        refused = cli(*words)
        monkeypatch.setenv("JUDGE_API_KEY", "sk-never-to-be-seen")
        done = cli(*words)
    assert refused.code == 2
    assert "the judge, j at" in refused.err
    assert "set its key in JUDGE_API_KEY" in refused.err
    assert done.code == 0, done.stderr
    written_files = [one.read_text("utf-8") for one in Path("lamina-bench-qa").rglob("*") if one.is_file()]
    assert "never-to-be-seen" not in "".join([refused.stderr, done.stdout, done.stderr, *written_files])


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        pytest.param(("--budget", "0"), "--budget must be at least 1, not 0", id="budget"),
        pytest.param(("--seeds", "0"), "--seeds must be at least 1, not 0", id="seeds"),
        pytest.param(("--limit", "0"), "--limit must be at least 1, not 0", id="limit"),
        pytest.param(("--window", "90"), "no room for a question, its prompt and its answer", id="window"),
        pytest.param(("--concurrency", "0"), "--concurrency must be above 0, not 0", id="concurrency"),
        pytest.param(("--retries", "-1"), "--retries must be at least 0, not -1", id="retries"),
        pytest.param(("--reader-price", "cheap"), "e.g. 0.25,2, not 'cheap'", id="price"),
        pytest.param(("--baseline", "zep"), "no baseline 'zep'", id="baseline"),
        pytest.param(("--baseline", "rag", "--no-baseline"), "not both", id="both"),
        pytest.param(("--reader-url", "nonsense"), "must be like https://host/v1, not 'nonsense'", id="url"),
        pytest.param(("--profile", "huge"), "no profile 'huge'", id="profile"),
    ],
)
def test_what_cannot_work_is_one_line(words, complaint, cli, server):
    path = write_set(Path("set.jsonl"))
    done = cli("bench", "qa", path, "--reader", "r", "--judge", "j", "--reader-url", server.url, *words)
    assert done.code == 2
    assert complaint in done.err
    assert len(done.stderr.splitlines()) == 1


def test_a_file_without_answers_says_which_fields_are_missing(cli, server):
    bare = [{**one, "answer": None} for one in QUESTIONS]
    path = write_set(Path("bare.jsonl"), {**CONVERSATION, "questions": bare})
    done = cli("bench", "qa", path, "--reader", "r", "--judge", "j", "--reader-url", server.url)
    assert done.code == 2
    assert "bare has no question with an answer; each needs one in `answer` (or `a`)" in done.err


def test_a_run_with_failures_ends_with_one(cli):
    with LlmServer(brain(judge=lambda _: "I cannot say.")) as server:
        path = write_set(Path("set.jsonl"))
        words = ("--no-baseline", "--check-judge", "0", "--retries", "0")
        done = cli("bench", "qa", path, "--reader", "r", "--judge", "j", "--reader-url", server.url, *words)
    assert done.code == 1
    assert "note: lamina: failed, and counted nowhere: 4 answers; --resume tries again" in done.out


def test_an_interrupted_command_says_how_to_go_on(cli, server, monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "run", stopped)
    done = cli("bench", "qa", write_set(Path("set.jsonl")), "--reader", "r", "--judge", "j", "--reader-url", server.url)
    assert done.code == 130
    assert "--resume continues from there" in done.err


def test_two_sets_in_one_run_have_a_report_each(tmp_path):
    one, other = write_set(tmp_path / "one.jsonl"), write_set(tmp_path / "other.jsonl")
    told = []
    with LlmServer(brain()) as server:
        plan = replace(plan_for(server, baselines=()), check_judge=0)
        loaded = running.load([one, other], plan)
        reports = running.run(loaded, tmp_path / "out", plan, lambda *far: told.append(far))
    assert [report.name for report in reports] == ["one", "other"]
    assert told[-1] == (8, 8)
    with pytest.raises(InputError, match="two files have one name"):
        running.load([one, one], plan)
