"""`lamina bench`: data sets read, told, asked and counted, on tiny files written for these tests."""

import gzip
import json
import multiprocessing
import os
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lamina import Memory
from lamina.bench import measure, plots
from lamina.bench.measure import Bounds
from lamina.bench.readers import read, when
from lamina.bench.recall_run import Plan, replay, stages, standing
from lamina.errors import InputError
from tests.waiting import wait_until

DATA = Path(__file__).parents[1] / "data" / "bench"
PEOPLE, CHAT, PROJECTS = (str(DATA / f"{name}.jsonl") for name in ("people", "chat", "projects"))
QUESTIONS, SESSIONS = (str(DATA / f"haystack_{name}.jsonl") for name in ("questions", "sessions"))
HAYSTACK = f"{QUESTIONS},{SESSIONS}"
SMALL = Plan(budgets=(300, 600))


def run(folder, *files, bounds=None, plan=SMALL, tell=lambda _done, _of: None):
    return measure.measure(files, folder, plan, bounds or Bounds(), tell)


def rows(path):
    return [json.loads(line) for line in Path(path).read_text("utf-8").splitlines()]


# Reading


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        pytest.param("1:56 pm on 8 May, 2023", datetime(2023, 5, 8, 13, 56, tzinfo=UTC), id="LoCoMo"),
        pytest.param("12:48 am on 1 February, 2023", datetime(2023, 2, 1, 0, 48, tzinfo=UTC), id="midnight"),
        pytest.param("2023/04/10 (Mon) 23:07", datetime(2023, 4, 10, 23, 7, tzinfo=UTC), id="LongMemEval"),
        pytest.param("2025-12-15 (Monday)", datetime(2025, 12, 15, tzinfo=UTC), id="RealMem"),
        pytest.param("March-15-2024", datetime(2024, 3, 15, tzinfo=UTC), id="BEAM"),
    ],
)
def test_dates_are_read_as_each_set_writes_them(written, meant):
    assert when(written) == meant


@pytest.mark.parametrize(
    ("named", "kind", "questions"),
    [
        pytest.param(PEOPLE, "LoCoMo", 4, id="people"),
        pytest.param(CHAT, "BEAM", 1, id="chat"),
        pytest.param(PROJECTS, "RealMem", 2, id="projects"),
        pytest.param(HAYSTACK, "LongMemEval", 2, id="haystack"),
        pytest.param(f"{SESSIONS},{QUESTIONS}", "LongMemEval", 2, id="haystack-swapped"),
    ],
)
def test_a_file_is_known_by_its_content(named, kind, questions):
    """Questions without gold, and those that must not be answered, are left out."""
    data = read(named)
    assert (data.format, data.questions()) == (kind, questions)


def test_a_packed_file_is_read_under_any_name(tmp_path):
    packed = tmp_path / "anything"
    packed.write_bytes(gzip.compress(Path(PEOPLE).read_bytes()))
    assert read(str(packed)).conversations == read(PEOPLE).conversations


def test_people_are_users_with_names_and_their_order_is_kept():
    first, *_ = read(PEOPLE).conversations
    said = [message for session in first.sessions for message in session.messages]
    assert [message.id for message in said] == ["p1/D1:1", "p1/D1:2", "p1/D1:3", "p1/D2:1", "p1/D2:2"]
    assert {(message.role, message.name) for message in said} == {("user", "Ines"), ("user", "Otto")}
    assert [message.said_at for message in said] == sorted({message.said_at for message in said})
    assert first.questions[1].gold == {"p1/D1:1", "p1/D1:2"}
    assert first.questions[1].gold_sessions == {"p1/S1"}


def test_a_history_has_the_dates_of_its_question():
    """LongMemEval uses one session in many histories, at other dates."""
    first, second = read(HAYSTACK).conversations
    assert [session.id for session in first.sessions] == ["s_bread", "s_bike"]
    assert first.sessions[1].date == datetime(2023, 5, 2, 10, tzinfo=UTC)
    assert first.questions[0].gold == {"s_bike#0"}
    assert second.questions[0].gold == {"s_tea#1"}
    assert {message.role for message in second.sessions[0].messages} == {"user", "assistant"}
    assert first.questions[0].asked_at == datetime(2023, 5, 28, 6, 47, tzinfo=UTC)


def test_a_question_in_the_middle_is_asked_before_the_rest_is_told():
    (conversation,) = read(PROJECTS).conversations
    (first, early), (second, late) = stages(conversation)
    assert [name for name, _ in first] == ["Edda/a1"]
    assert [name for name, _ in second] == ["Edda/b2", "Edda/c3"]
    assert ([one.id for one in early], [one.id for one in late]) == (["Edda#1"], ["Edda#2"])


def test_a_limit_chooses_the_same_for_the_same_seed():
    data = read(PEOPLE)
    kept = data.sample(1, seed=3)
    assert kept == data.sample(1, seed=3)
    assert (len(kept.conversations), kept.questions()) == (1, 1)
    assert len({data.sample(1, seed).conversations[0].questions for seed in range(9)}) > 1
    assert data.sample(None, 0) == data


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        pytest.param(None, "there is no file", id="missing"),
        pytest.param("", "cannot be read as a set of questions", id="empty"),
        pytest.param("hello", "cannot be read", id="no-json"),
        pytest.param('{"role": "user"}', "cannot be read as a set of questions", id="other"),
        pytest.param("[1]", "cannot be read as a set of questions", id="list"),
        pytest.param('{"conv_id": "c", "turns": [{"id": 1}], "questions": []}', "row 1: has no 'speaker'", id="field"),
        pytest.param('{"conv_id": "c", "turns": 7, "questions": []}', "row 1", id="type"),
    ],
)
def test_what_cannot_be_read_is_answered_with_what_can(content, complaint, tmp_path):
    path = tmp_path / "given.jsonl"
    if content is not None:
        path.write_text(content, "utf-8")
    with pytest.raises(InputError) as caught:
        read(str(path))
    assert complaint in str(caught.value)
    assert "LoCoMo, BEAM or RealMem" in str(caught.value)
    assert "questions.jsonl.gz,sessions.jsonl.gz" in str(caught.value)


def test_a_date_that_nobody_writes_is_named(tmp_path):
    path = tmp_path / "given.jsonl"
    path.write_text(Path(CHAT).read_text("utf-8").replace("April-05-2024", "the fifth"), "utf-8")
    with pytest.raises(InputError, match="row 1: no date in 'the fifth'"):
        read(str(path))


@pytest.mark.parametrize("half", [QUESTIONS, SESSIONS])
def test_half_of_a_pair_is_not_enough(half):
    with pytest.raises(InputError, match="give both, as questions,sessions"):
        read(half)


def test_a_session_that_is_not_there_is_named(tmp_path):
    fewer = tmp_path / "sessions.jsonl"
    fewer.write_text(Path(SESSIONS).read_text("utf-8").splitlines()[0] + "\n", "utf-8")
    with pytest.raises(InputError, match=r"question h1 has sessions that .* has not, e\.g\. s_bread"):
        read(f"{QUESTIONS},{fewer}")


# Asking


def test_what_is_ranked_and_what_stands_in_contexts_is_found(tmp_path):
    first, _ = read(PEOPLE).conversations
    done = replay(first, Plan(budgets=(20, 600)), tmp_path)
    bought = done.answers[0]
    assert (done.messages, bought.question_id, bought.ranked[0]) == (5, "p1#0", "p1/D1:1")
    assert "p1/D1:1" in bought.contexts[600]
    assert bought.contexts[20] == ()
    assert min(bought.search_ms, *bought.context_ms.values(), done.add_s, done.settle_s) > 0
    assert not list(tmp_path.iterdir())


def test_the_memory_knows_nothing_that_was_said_later(tmp_path):
    (conversation,) = read(PROJECTS).conversations
    early, late = replay(conversation, SMALL, tmp_path).answers
    assert {found.partition(":")[0] for found in early.ranked} <= {"Edda/a1"}
    assert "Edda/c3:0" in late.ranked


def test_predictions_scores_and_plots_are_left_in_the_folder(tmp_path):
    seen = []
    report = run(tmp_path, PEOPLE, HAYSTACK, PROJECTS, tell=lambda *far: seen.append(far))
    people, haystack, projects = report.sets
    assert (people.name, haystack.name, projects.name) == ("people", "haystack", "projects")
    assert seen[-1] == (8, 8)
    assert seen == sorted(seen)
    predicted = rows(tmp_path / "people" / "predictions.jsonl")
    assert [row["qid"] for row in predicted] == ["p1#0", "p1#1", "p1#2", "p2#0"]
    assert set(predicted[0]["contexts"]) == {"300", "600"}
    assert people.scores.questions == {"all": 4, "multi-hop": 1, "single-hop": 2, "temporal": 1}
    assert people.scores.measures["single-hop"]["R@5"] == 1
    assert people.scores.measures["all"]["C600f"] > 0
    assert {"SAll@5", "C300s"} <= projects.scores.measures["all"].keys()
    assert "R@5" not in projects.scores.measures["all"]
    assert {"add_ms_a_message", "search_p95_ms", "context_600_p50_ms"} <= people.timing.keys()
    stored = json.loads((tmp_path / "people" / "scores.json").read_text("utf-8"))
    assert stored["scores"]["measures"]["all"] == people.scores.measures["all"]
    assert len(report.plots) == 4
    assert all(Path(plot).read_bytes().startswith(b"\x89PNG") for plot in report.plots)


def test_a_run_that_was_stopped_goes_on_where_it_was(tmp_path):
    """What was answered is kept and not asked again; a row that was cut off is."""

    def stop(done, _of):
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, PEOPLE, tell=stop)
    predictions = tmp_path / "people" / "predictions.jsonl"
    before = rows(predictions)
    assert [row["qid"] for row in before] == ["p1#0", "p1#1", "p1#2"]
    with predictions.open("a") as file:
        file.write('{"qid": "p2#0", "ran')
    told = []
    resumed = run(tmp_path, PEOPLE, bounds=Bounds(resume=True), tell=lambda done, _of: told.append(done))
    assert told[0] == 3
    after = rows(predictions)
    assert after[:3] == before
    assert [row["qid"] for row in after[3:]] == ["p2#0"]
    whole = run(tmp_path / "other", PEOPLE).sets[0].scores
    assert resumed.sets[0].scores == whole


def test_resuming_a_run_with_other_settings_is_refused(tmp_path):
    run(tmp_path, CHAT)
    with pytest.raises(InputError, match=r"is of a run with budgets \[300, 600\]; give the same, or another --out"):
        run(tmp_path, CHAT, plan=Plan(budgets=(700,)), bounds=Bounds(resume=True))


def test_without_resume_a_run_begins_anew(tmp_path):
    run(tmp_path, CHAT)
    run(tmp_path, CHAT)
    assert len(rows(tmp_path / "chat" / "predictions.jsonl")) == 1


def test_two_processes_find_what_one_finds(tmp_path):
    alone = run(tmp_path / "one", PEOPLE).sets[0]
    both = run(tmp_path / "two", PEOPLE, bounds=Bounds(jobs=2)).sets[0]
    assert both.scores == alone.scores
    ranked = [{row["qid"]: row["ranked"] for row in rows(one.predictions)} for one in (alone, both)]
    assert ranked[0] == ranked[1]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        pytest.param({"plan": Plan(budgets=(0,))}, "above 0", id="budget"),
        pytest.param({"plan": Plan(profile="huge")}, "no profile 'huge'", id="profile"),
        pytest.param({"plan": Plan(embedder="no such")}, "embedder", id="embedder"),
        pytest.param({"bounds": Bounds(limit=0)}, "limit must be at least 1", id="limit"),
        pytest.param({"bounds": Bounds(jobs=0)}, "jobs must be at least 1", id="jobs"),
    ],
)
def test_what_cannot_work_is_said_before_anything_is_run(change, complaint, tmp_path):
    with pytest.raises(InputError, match=complaint):
        run(tmp_path, CHAT, **change)
    assert not list(tmp_path.iterdir())


def test_a_set_without_gold_is_refused(tmp_path):
    (tmp_path / "bare.jsonl").write_text('{"conv_id": "c", "turns": [], "questions": []}\n', "utf-8")
    with pytest.raises(InputError, match="bare has no question with gold messages or sessions"):
        run(tmp_path / "out", str(tmp_path / "bare.jsonl"))


def test_files_of_one_name_are_refused(tmp_path):
    with pytest.raises(InputError, match="two files have one name"):
        run(tmp_path, CHAT, CHAT)


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(InputError, match="--out names another folder"):
        run(tmp_path / "taken", CHAT)


def test_without_matplotlib_there_are_numbers_and_a_hint(cli, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = cli("bench", "recall", CHAT, "--out", "kept")
    assert (done.code, done.err) == (
        0,
        "no plots: matplotlib is not installed; get it with: pip install 'lamina[bench]'",
    )
    assert "chat (BEAM): 1 questions" in done.stdout
    assert not list(Path("kept").rglob("*.png"))


def test_interrupted_processes_end_at_once():
    """Also with work in hand that takes an hour."""
    before = set(multiprocessing.active_children())

    def interrupted():
        with measure._processes(1) as pool:
            wait_until(pool.submit(time.sleep, 3600).running)
            assert set(multiprocessing.active_children()) > before
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    wait_until(lambda: set(multiprocessing.active_children()) <= before)


def test_a_question_without_a_category_of_its_own_is_drawn(tmp_path):
    scores = run(tmp_path, CHAT).sets[0].scores
    bare = replace(scores, questions={"all": 1}, measures={"all": scores.measures["all"]})
    assert plots.category_plot(bare, tmp_path / "bare.png").exists()


# The command


def test_the_command_prints_a_table_or_json(cli):
    shown = cli("bench", "recall", PEOPLE, "--budgets", "600,300", "--limit", "2", "--seed", "1")
    assert shown.code == 0, shown.stderr
    assert "people (LoCoMo): " in shown.stdout
    assert "R@10" in shown.stdout
    assert "C300a" in shown.stdout
    assert Path("lamina-bench/people/predictions.jsonl").exists()
    told = json.loads(cli("bench", "recall", CHAT, HAYSTACK, "--out", "kept", "--json").stdout)
    assert [one["name"] for one in told["sets"]] == ["chat", "haystack"]
    assert told["sets"][0]["scores"]["questions"] == {"all": 1, "knowledge_update": 1}
    assert Path("kept/recall.png").exists()


def test_an_unknown_file_gets_an_error_that_says_what_works(cli):
    done = cli("bench", "recall", "nothing.jsonl")
    assert done.code == 2
    assert "error: there is no file nothing.jsonl; there must be a file of LoCoMo, BEAM or RealMem" in done.err
    assert "Traceback" not in done.err


def test_budgets_are_numbers(cli):
    done = cli("bench", "recall", CHAT, "--budgets", "many")
    assert done.code == 2
    assert "budgets are whole numbers" in done.err


def test_an_interrupted_command_says_how_to_go_on(cli, monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(measure, "measure", stopped)
    done = cli("bench", "recall", CHAT)
    assert done.code == 130
    assert "--resume continues from there" in done.err


def test_other_commands_do_not_load_it():
    """The bench package and matplotlib cost nothing until they are used."""
    probe = "import sys, lamina.cli.main; print(*[m for m in sys.modules if 'bench' in m or 'matplotlib' in m])"
    with os.popen(f'{sys.executable} -c "{probe}"') as process:
        assert process.read().split() == ["lamina.cli.bench_commands"]


def test_a_message_that_a_fact_shows_without_its_full_stop_is_in_the_context():
    """What was said stands in the context word for word, though not as a passage; another message does not."""
    told = {"m1": "Always answer with metric units when I ask about distances.", "m2": "We sailed to Arran on Sunday."}
    with Memory(":memory:", worker=False) as memory:
        memory.add([{"id": key, "role": "user", "content": text} for key, text in told.items()], user_id="ines")
        memory.settle()
        context = memory.context("How far is it to the harbour?", user_id="ines", session_id="new", budget=600)
    assert told["m1"] not in context.text
    assert "m1" in standing(context, told)
    assert "m1" not in standing(context, {**told, "m1": "Always answer with metric units when I ask about ships."})
