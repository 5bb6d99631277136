"""`lamina bench qa`: a reader and a judge behind a real server, right, wrong, slow, broken and gone."""

import json
import signal
import subprocess
import threading
from dataclasses import replace

import pytest

from lamina import InputError, ModelError, Price
from lamina.bench.qa import run as running
from lamina.bench.qa.models import ModelChoice
from lamina.bench.qa.prepare import Stopped, prepare
from lamina.bench.qa.report import text
from lamina.bench.qa.ways import Setting
from lamina.bench.recall_run import Plan
from lamina.models.token_counters import best_counter
from lamina.testing.llm_server import Fault, LlmServer, Said
from tests.bench import qa_brain
from tests.bench.qa_brain import CONVERSATION, QUESTIONS, UNKNOWN, brain, is_judging, is_reading, question_of, write_set
from tests.command_line import LAMINA, plain_environ
from tests.waiting import CEILING, wait_until

NEVER = Said(text="late", first_seconds=CEILING)


def plan_for(server, **changes):
    models = {
        role: ModelChoice(role=role, model=f"{role}-model", url=server.url, key=None, retries=0)
        for role in ("reader", "judge")
    }
    return running.QaPlan(**{**models, "plan": Plan(), "budget": 400, **changes})


def run(path, folder, plan, tell=lambda _done, _of: None):
    (report,) = running.run(running.load([path], plan), folder, plan, tell)
    return report


def rows(folder, name="answers"):
    return [json.loads(line) for line in (folder / "set" / f"{name}.jsonl").read_text("utf-8").splitlines()]


@pytest.fixture
def small(tmp_path):
    return write_set(tmp_path / "set.jsonl")


def by_way(report):
    return {one.way: one for one in report.ways}


def asked(server, wanted):
    return [one for one in server.asked() if wanted(one)]


# Right and wrong


def test_what_is_in_the_context_is_answered_and_found_right(small, tmp_path):
    """Lamina and the history have everything, and nothing is known without a memory."""
    told = []
    with LlmServer(brain()) as server:
        report = run(small, tmp_path / "out", plan_for(server), lambda *far: told.append(far))
        assert len(asked(server, is_reading)) == 16
    ways = by_way(report)
    assert list(ways) == ["lamina", "history", "rag", "none"]
    assert [ways[name].score.mean for name in ("lamina", "history", "none")] == [1, 1, 0]
    assert [ways[name].evidence for name in ("history", "none")] == [1, 0]
    assert ways["none"].tokens == 0
    assert ways["history"].tokens > 0
    assert min(ways["lamina"].add_ms, ways["lamina"].context_ms, ways["lamina"].answer_s) > 0
    assert (ways["none"].lead.mean, ways["none"].lead.low) == (1, 1)
    assert ways["lamina"].by_category == {"names": (2, 1.0), "plans": (2, 1.0)}
    assert told[0] == (0, 16)
    assert told[-1] == (16, 16)
    assert (report.judge.wrong, report.judge.accepted) == (4, 0)
    assert (report.judge.right, report.judge.rejected) == (4, 0)


def test_each_answer_is_on_disk_with_its_verdict_and_context(small, tmp_path):
    with LlmServer(brain()) as server:
        run(small, tmp_path / "out", plan_for(server, baselines=("history",)))
    first = next(one for one in rows(tmp_path / "out") if (one["question_id"], one["way"]) == ("p1#0", "lamina"))
    assert (first["answer"], first["score"], first["error"]) == ("Heron", 1, None)
    contexts = {(one["question_id"], one["way"]): one for one in rows(tmp_path / "out", "contexts")}
    assert "Heron" in contexts["p1#0", "lamina"]["text"]
    assert contexts["p1#0", "history"]["text"] is None
    assert {one["is_right"] for one in rows(tmp_path / "out", "judge_check")} == {True, False}
    stored = json.loads((tmp_path / "out" / "set" / "scores.json").read_text("utf-8"))
    assert stored["ways"][0]["score"]["mean"] == 1
    prompts = {path.name for path in (tmp_path / "out" / "set" / "prompts").iterdir()}
    assert prompts == {"read@1.md", "judge@1.md", "judge_unknown@1.md", "judge_rubric@1.md"}


def test_wrong_answers_count_as_wrong(small, tmp_path):
    with LlmServer(brain(read=lambda _: "A blue bicycle.")) as server:
        report = run(small, tmp_path / "out", plan_for(server, baselines=()))
    assert by_way(report)["lamina"].score.mean == 0


def test_an_empty_answer_is_wrong_without_a_judge(small, tmp_path):
    with LlmServer(brain(read=lambda _: Said(text="", finish="length"))) as server:
        report = run(small, tmp_path / "out", plan_for(server, baselines=(), check_judge=0))
        assert not asked(server, is_judging)
    (way,) = report.ways
    assert (way.score.mean, way.cut_answers) == (0, 4)
    assert any("cut at 300 tokens: 4 answers" in note for note in report.notes)


def test_a_judge_that_accepts_everything_is_found_out(small, tmp_path):
    """All answers are right to it: its scores say nothing, and the line below them says so."""
    lax = brain(read=lambda _: "A blue bicycle.", judge=lambda _: '{"reason": "fine", "correct": true}')
    with LlmServer(lax) as server:
        report = run(small, tmp_path / "out", plan_for(server, baselines=()))
    assert by_way(report)["lamina"].score.mean == 1
    assert report.judge.accepted == 1
    assert "accepts 100.0 % of 4 wrong answers, rejects 0.0 % of 4 right answers" in text(report)


def test_a_judge_that_rejects_everything_is_found_out(small, tmp_path):
    with LlmServer(brain(judge=lambda _: '{"reason": "no", "correct": "no"}')) as server:
        report = run(small, tmp_path / "out", plan_for(server, baselines=()))
    assert (report.judge.accepted, report.judge.rejected) == (0, 1)


def test_a_verdict_that_is_no_json_is_asked_for_again(small, tmp_path):
    """As often as any structured answer; what never comes counts as a failure, not as wrong."""
    once = threading.Event()

    def slovenly(asked_):
        if once.is_set():
            return qa_brain.judging(asked_)
        once.set()
        return "I think it is right."

    with LlmServer(brain(judge=slovenly)) as server:
        report = run(small, tmp_path / "a", plan_for(server, baselines=(), check_judge=0))
        assert len(asked(server, is_judging)) == 5
        assert len([one for one in server.asked() if len(one.texts) == 3]) == 1
    assert by_way(report)["lamina"].score.mean == 1
    with LlmServer(brain(judge=lambda _: "It is right.")) as server:
        report = run(small, tmp_path / "b", plan_for(server, baselines=(), check_judge=0))
    (way,) = report.ways
    assert (way.score, way.failed) == (None, 4)
    assert "judge: judge-model gave no fit answer" in way.failures[0]


UNANSWERABLE: dict[str, object] = {
    "qid": "p1#9", "cat": "adversarial", "q": "What is the dog of Otto called?", "adversarial_answer": "Heron",
    "gold": [], "gold_sess": [],
}  # fmt: skip
RUBRIC: dict[str, object] = {
    "qid": "p1#8", "cat": "summary", "q": "What do they own?", "rubric": ["a red canoe", "Heron", "a sail"],
    "answer": "A red canoe called Heron.", "gold": ["1"], "gold_sess": ["S1"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("question", "answer", "score"),
    [
        pytest.param(UNANSWERABLE, UNKNOWN, 1, id="not-known"),
        pytest.param(UNANSWERABLE, "It is called Heron.", 0, id="trap"),
        pytest.param(RUBRIC, "They own a red canoe.", 1 / 3, id="one-point-of-three"),
        pytest.param(RUBRIC, "They own a red canoe called Heron with a sail, or a sail alone: a sail.", 1, id="all"),
    ],
)
def test_each_form_of_right_answer_has_its_own_judgement(question, answer, score, tmp_path):
    path = write_set(tmp_path / "set.jsonl", {**CONVERSATION, "questions": [question]})
    with LlmServer(brain(read=lambda _: answer)) as server:
        report = run(path, tmp_path / "out", plan_for(server, baselines=()))
    assert by_way(report)["lamina"].score.mean == pytest.approx(score)
    probes = rows(tmp_path / "out", "judge_check")
    if question is UNANSWERABLE:
        assert {(one["is_right"], one["answer"]) for one in probes} == {(True, UNKNOWN), (False, "Heron")}


def test_questions_without_an_answer_are_left_out_and_counted(small, tmp_path):
    bare = {**QUESTIONS[0], "qid": "p1#7", "answer": ""}
    path = write_set(tmp_path / "set.jsonl", {**CONVERSATION, "questions": [*QUESTIONS, bare]})
    with LlmServer(brain()) as server:
        report = run(path, tmp_path / "out", plan_for(server, baselines=()))
    assert (report.questions, report.without_answer) == (4, 1)
    assert "left out: 1 question" in text(report)


# What is sent


def test_seeds_and_temperature_are_sent_and_scores_are_means_over_seeds(small, tmp_path):
    """A question that is right with one of two seeds counts half."""

    def moody(asked_):
        return qa_brain.reading(asked_) if asked_.body["seed"] == 0 else "A blue bicycle."

    with LlmServer(brain(read=moody)) as server:
        report = run(small, tmp_path / "out", plan_for(server, baselines=(), seeds=2))
        reading = asked(server, is_reading)
    assert sorted(one.body["seed"] for one in reading) == [0] * 4 + [1] * 4
    assert {one.body["temperature"] for one in reading} == {0}
    (way,) = report.ways
    assert (way.questions, way.score.mean, way.score.low, way.score.high) == (4, 0.5, 0.5, 0.5)


def test_a_server_that_takes_no_seed_is_asked_without(small, tmp_path):
    with LlmServer(brain(), refuses=("seed", "temperature")) as server:
        report = run(small, tmp_path / "out", plan_for(server, baselines=()))
    assert by_way(report)["lamina"].score.mean == 1


def test_the_history_is_cut_at_its_oldest_end_and_that_is_said(small, tmp_path):
    """A window with room for the last sentence or two."""
    with LlmServer(brain()) as server:
        plan = plan_for(server, baselines=("history",), answer_tokens=20, window=330)
        report = run(small, tmp_path / "out", plan)
        prompts = [one.text for one in asked(server, is_reading) if "<memory>" not in one.text]
    history = by_way(report)["history"]
    assert history.cut_contexts == 4
    assert 0 < history.evidence < 1
    assert any("history: cut to a window of 330 tokens (--window): 4 contexts" in note for note in report.notes)
    counter = best_counter()
    assert max(map(counter.count, prompts)) + 20 <= 330 + 10  # the lines around the data have a hash of any size


def test_the_estimate_is_no_less_than_what_is_sent(small, tmp_path):
    counter = best_counter()
    with LlmServer(brain()) as server:
        plan = plan_for(server, seeds=2)
        found = running.estimates(running.load([small], plan), plan)
        assert not server.journal
        run(small, tmp_path / "out", plan)
        sent = {
            role: [counter.count(one.text) for one in asked(server, wanted)]
            for role, wanted in (("reader", is_reading), ("judge", is_judging))
        }
    for role, sizes in sent.items():
        rows_ = [one for one in found if one.role == role]
        assert sum(one.calls for one in rows_) == len(sizes)
        assert sum(sizes) <= sum(one.tokens_in for one in rows_) <= 4 * sum(sizes)


def test_calls_tokens_and_money_are_counted(small, tmp_path):
    with LlmServer(brain()) as server:
        plan = plan_for(server, baselines=(), check_judge=0)
        priced = replace(plan, reader=replace(plan.reader, price=Price(input=1.0, output=2.0)))
        report = run(small, tmp_path / "out", priced)
    reader, judge = report.calls
    assert (reader.role, reader.calls, judge.role, judge.calls) == ("reader", 5, "judge", 5)  # with the first word
    assert reader.cost == pytest.approx((reader.tokens_in + 2 * reader.tokens_out) / 1e6, abs=1e-6)
    assert judge.cost == 0


# Faults


def test_an_answer_that_breaks_off_is_asked_for_again(small, tmp_path):
    """The connection ends in the middle of two answers, and is busy once: nobody notices."""
    with LlmServer(brain()) as server:
        plan = plan_for(server, baselines=())
        patient = replace(plan, reader=replace(plan.reader, retries=3), judge=replace(plan.judge, retries=3))
        server.then("ready", "ready", Fault(ends="half-way", status=200), Fault(ends="hung up"), Fault.busy("0"))
        report = run(small, tmp_path / "out", patient)
    assert (by_way(report)["lamina"].score.mean, report.failed) == (1, 0)


def test_what_fails_counts_nowhere_and_is_tried_again_by_resume(small, tmp_path):
    """A reader that cannot take the whole history: the other ways have their scores."""
    broken = threading.Event()
    broken.set()

    def narrow(asked_):
        is_long = "Great, does it leak?" in asked_.text and "<memory>" not in asked_.text
        if broken.is_set() and is_long:
            return Fault(status=400, body={"error": {"message": "this model takes 90 tokens at most"}})
        return qa_brain.reading(asked_)

    with LlmServer(brain(read=narrow)) as server:
        plan = plan_for(server, baselines=("history",))
        report = run(small, tmp_path / "out", plan)
        ways = by_way(report)
        assert (ways["lamina"].score.mean, ways["lamina"].failed) == (1, 0)
        assert (ways["history"].score, ways["history"].failed) == (None, 4)
        assert "history: reader: the server answers 400: this model takes 90 tokens at most" in text(report)
        broken.clear()
        server.journal.clear()
        report = run(small, tmp_path / "out", replace(plan, resume=True))
        assert len(asked(server, is_reading)) == 4
    assert (by_way(report)["history"].score.mean, report.failed) == (1, 0)


def test_what_was_answered_and_not_judged_is_not_answered_again(small, tmp_path):
    lazy = threading.Event()
    lazy.set()

    def judge(asked_):
        return Fault(status=500) if lazy.is_set() else qa_brain.judging(asked_)

    with LlmServer(brain(judge=judge)) as server:
        plan = plan_for(server, baselines=(), check_judge=0)
        server.then("ready", "ready")
        report = run(small, tmp_path / "out", plan)
        assert report.failed == 4
        lazy.clear()
        server.journal.clear()
        report = run(small, tmp_path / "out", replace(plan, resume=True))
        assert not asked(server, is_reading)
    assert (by_way(report)["lamina"].score.mean, report.failed) == (1, 0)


def test_a_server_that_is_gone_ends_the_run_and_keeps_what_was_answered(small, tmp_path):
    """Three answers, then nothing but errors: the run says so, and goes on where it was."""
    left = iter(range(3))

    def dying(asked_):
        return Fault(status=500) if next(left, None) is None else qa_brain.reading(asked_)

    with LlmServer(brain(read=dying)) as server:
        plan = plan_for(server, seeds=2, check_judge=0)
        with pytest.raises(ModelError, match="the reader failed 10 times in a row, first with: the server answers 500"):
            run(small, tmp_path / "out", plan)
    kept = {(one["question_id"], one["way"], one["seed"]) for one in rows(tmp_path / "out") if one["answer"]}
    assert len(kept) == 3
    with LlmServer(brain()) as server:
        again = plan_for(server, seeds=2, check_judge=0, resume=True)
        (tmp_path / "out" / "set" / "run.json").write_text(
            json.dumps(again.settings(running.load([small], again)[0].data)), "utf-8"
        )
        report = run(small, tmp_path / "out", again)
        assert len(asked(server, is_reading)) == 32 - 3
    assert report.failed == 0


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        pytest.param(Fault(ends="hung up"), "reader-model at http://.* does not answer: no connection", id="hung-up"),
        pytest.param(Fault(status=401), "answers 401.*; set its key in READER_API_KEY", id="key"),
        pytest.param(
            Fault(status=404, body={"error": {"message": "no model reader-model"}}),
            "answers 404: no model reader-model; check the model's name",
            id="model",
        ),
        pytest.param(NEVER, r"no answer within 0\.2 s", id="slow"),
        pytest.param(Fault(status=200, body="<html>"), "the answer is no JSON", id="no-api"),
    ],
)
def test_a_reader_that_cannot_be_asked_is_said_before_anything_is_done(answer, complaint, small, tmp_path):
    with LlmServer(brain()).then(answer) as server:
        plan = plan_for(server)
        hasty = replace(plan, reader=replace(plan.reader, seconds=0.2 if answer is NEVER else 600.0))
        with pytest.raises(InputError, match=complaint):
            run(small, tmp_path / "out", hasty)
        assert len(server.journal) == 1
    assert rows(tmp_path / "out") == []


def test_a_judge_that_is_not_there_is_named(small, tmp_path):
    with LlmServer(brain()) as server:
        plan = plan_for(server)
        nobody = replace(plan.judge, url="http://127.0.0.1:9/v1")
        with pytest.raises(InputError, match=r"the judge, judge-model at http://.*, does not answer"):
            run(small, tmp_path / "out", replace(plan, judge=nobody))


def test_a_run_that_is_killed_goes_on_where_it_was(small, tmp_path):
    """A process is killed with answers on disk and calls under way; the next one asks for the others only."""
    hold = threading.Event()
    counted = threading.Semaphore(5)

    def holding(asked_):
        if not counted.acquire(blocking=False):
            hold.wait(CEILING)
        return qa_brain.reading(asked_)

    answers = tmp_path / "out" / "set" / "answers.jsonl"
    with LlmServer(brain(read=holding)) as server:
        words = ["bench", "qa", small, "--reader", "r", "--judge", "j", "--reader-url", server.url, "--budget", "400"]
        words += ["--out", str(tmp_path / "out"), "--concurrency", "2"]
        process = subprocess.Popen(
            [LAMINA, *words], env=plain_environ(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            wait_until(lambda: answers.exists() and answers.read_text("utf-8").count('"error": null') == 5)
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
        hold.set()
        with answers.open("a", encoding="utf-8") as file:
            file.write('{"question_id": "p1#3", "wa')  # what a crash leaves behind
        before = {(one["question_id"], one["way"]) for one in map(json.loads, answers.read_text().splitlines()[:-1])}
        server.brain = brain()
        server.journal.clear()
        done = subprocess.run(
            [LAMINA, *words, "--resume", "--json"], env=plain_environ(), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        again = [question_of(one) for one in asked(server, is_reading)]
    assert len(before) == 5
    assert len(again) == 16 - len(before)
    (report,) = json.loads(done.stdout)
    assert [way["failed"] for way in report["ways"]] == [0, 0, 0, 0]
    assert report["ways"][0]["score"]["mean"] == 1
    assert len(rows(tmp_path / "out")) == 16


def test_preparation_ends_when_the_run_is_stopped(small, tmp_path):
    """Its thread asks between two messages or questions whether anybody waits for it."""
    with LlmServer(brain()) as server:
        plan = plan_for(server)
        (conversation,) = running.load([small], plan)[0].data.conversations
        setting = Setting(plan=plan.plan, budget=400, window=4000, counter=best_counter(), mem0_llm={})
        asked_whether = iter((False, False, True))
        with pytest.raises(Stopped):
            prepare(conversation, ("none", "history"), setting, lambda: next(asked_whether))
        assert len(prepare(conversation, ("none",), setting)) == 4


def test_resuming_with_other_models_is_refused(small, tmp_path):
    with LlmServer(brain()) as server:
        plan = plan_for(server, baselines=(), check_judge=0)
        run(small, tmp_path / "out", plan)
        other = replace(plan, reader=replace(plan.reader, model="another"), resume=True)
        with pytest.raises(InputError, match="is of a run with reader 'reader-model at"):
            run(small, tmp_path / "out", other)
