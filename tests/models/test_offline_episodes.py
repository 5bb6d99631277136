"""The moments that mattered, found by cues and a small model."""

import asyncio
import hashlib
import json
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import moments
from lamina.knowledge.episodes import KEY_MOMENT
from lamina.models.offline.episode_extraction import moment_model
from lamina.models.offline.episode_extraction.episode_extractor import (
    MAX_CONTEXT,
    MAX_SIGNIFICANCE,
    MAX_SUMMARY,
    MIN_SIGNIFICANCE,
    OfflineEpisodeExtractor,
    episode_in,
    shorten,
)
from lamina.models.offline.episode_extraction.moment_cues import languages
from lamina.models.offline.episode_extraction.moment_titles import MAX_TITLE
from lamina.protocols.models import EpisodeDraft, EpisodeExtractor
from lamina.values.fact import EPISODE_KINDS
from lamina.values.message import Message
from tests.growth import growth, quarters, repeated


def message(text: str, role: Any = "user", message_id: str = "m1", session_id: str = "s1") -> Message:
    return Message(
        id=message_id,
        session_id=session_id,
        seq=1,
        turn=1,
        role=role,
        body={"role": role, "content": text},
        created_at=datetime(2025, 3, 3, tzinfo=UTC),
        metadata={},
        model=None,
        tokens=0,
        text=text,
        digest="",
    )


def found_in(text: str, role: Any = "user") -> EpisodeDraft:
    found = episode_in(message(text, role), [])
    assert found is not None
    return found


def kind_of(text: str, role: Any = "user") -> str | None:
    found = episode_in(message(text, role), [])
    return found.kind if found else None


# Kinds


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        pytest.param("We decided to use PostgreSQL.", "decision_made", id="decided"),
        pytest.param("I've finally settled on the blue logo for the shop.", "decision_made", id="settled"),
        pytest.param("OK, we're going with SQLite in WAL mode.", "decision_made", id="going-with"),
        pytest.param("Let's go with the second design for the page", "decision_made", id="lets-go-with"),
        pytest.param("I agreed with Tanya to limit outings to twice a week.", "decision_made", id="agreed"),
        pytest.param("I've decided against microservices for now.", "decision_made", id="against"),
        pytest.param("I changed my mind, PostgreSQL with PostGIS it is.", "pivot", id="changed-mind"),
        pytest.param("We switched from Celery to a queue in Postgres.", "pivot", id="switched"),
        pytest.param("Launch moves from 15 May to 26 June.", "pivot", id="date-moves"),
        pytest.param("Change of plans: the harbour comes first.", "pivot", id="change-of-plans"),
        pytest.param("Sorting by station id fixed it.", "problem_solved", id="fixed-it"),
        pytest.param("I tracked down the deadlock in the nightly job.", "problem_solved", id="tracked-down"),
        pytest.param("The login bug is finally fixed on staging.", "problem_solved", id="is-fixed"),
        pytest.param("We got it working after an upgrade of the driver.", "problem_solved", id="got-it-working"),
        pytest.param("We won the regional hackathon last night!", "breakthrough", id="won"),
        pytest.param("I got the job at the paediatric ward.", "breakthrough", id="got-the-job"),
        pytest.param("I've managed to reduce the load time to 400 ms.", "breakthrough", id="managed-to-reduce"),
        pytest.param("I finally realized that the tide table was in local time.", "breakthrough", id="realized"),
        pytest.param("I found a memory leak in the decoder.", "issue_identified", id="found-a-leak"),
        pytest.param("The root cause is a missing datum in the import.", "issue_identified", id="root-cause"),
        pytest.param("Problem: everything here is in NAP.", "issue_identified", id="problem-colon"),
        pytest.param("We lost the production database backup.", "issue_identified", id="lost"),
        pytest.param("I submitted my scholarship application on May 14.", "task_completed", id="submitted"),
        pytest.param("We launched the new website this morning.", "task_completed", id="launched"),
        pytest.param("Deployed to production at 17:00.", "task_completed", id="without-subject"),
        pytest.param("The migration is done and the counts match.", "task_completed", id="is-done"),
        pytest.param("We\u2019ve shipped the first release.", "task_completed", id="typographic-apostrophe"),
    ],
)
def test_kinds(text: str, kind: str) -> None:
    """Each kind of moment is found in plain words."""
    assert kind_of(text) == kind


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("Should we go with Postgres?", id="question"),
        pytest.param("Did I tell you we decided to use Postgres?", id="question-about-it"),
        pytest.param("how do I know the bug is fixed", id="question-without-mark"),
        pytest.param("If we decided to move, the cat would complain.", id="hypothetical"),
        pytest.param("Maybe we switched to Postgres too early.", id="maybe"),
        pytest.param("I want to finish the report by Friday.", id="wish"),
        pytest.param("We will launch the site next week.", id="future"),
        pytest.param("I'm thinking about whether we switched to soon.", id="thinking"),
        pytest.param("We haven't decided on a name.", id="not-decided"),
        pytest.param("I never finished the report.", id="never"),
        pytest.param("I found no leaks in the decoder.", id="found-none"),
        pytest.param('The email said "we decided to cancel the launch".', id="quoted"),
        pytest.param("“We fixed the login bug. It is done.”", id="quoted-sentences"),
        pytest.param("> We decided to use Postgres.", id="block-quote"),
        pytest.param("```\n# we decided to use Postgres\n```", id="code"),
        pytest.param("`we fixed the bug` is the commit message", id="inline-code"),
        pytest.param("They decided to close the pool.", id="others"),
        pytest.param("He said we fixed the bug.", id="reported"),
        pytest.param("I often finished the report late.", id="habit"),
        pytest.param("Since I lost my job at the bank, money is tight.", id="background"),
        pytest.param("Regarding the three gardens we selected in Kyoto, book one.", id="mentioned"),
        pytest.param("Okay, let's go with that one.", id="that-one"),
        pytest.param("Done.", id="says-nothing"),
        pytest.param("I like green tea in the morning.", id="no-moment"),
        pytest.param("", id="empty"),
        pytest.param("🙂🙂", id="emoji"),
        pytest.param("Мы решили переехать.", id="no-such-language"),
    ],
)
def test_leaves_alone(text: str) -> None:
    """Questions, suppositions, wishes, denials, quotes, code and what others did are no moments."""
    assert kind_of(text) is None


@pytest.mark.parametrize(
    ("role", "text", "kind"),
    [
        pytest.param("assistant", "Done, the migration ran without errors.", "task_completed", id="done"),
        pytest.param("assistant", "All 4 tests pass, in 11.73 s.", "task_completed", id="tests-pass"),
        pytest.param("assistant", "I've fixed the import in the loader.", "problem_solved", id="fixed"),
        pytest.param("assistant", "We decided to use PostgreSQL.", None, id="no-decisions"),
        pytest.param("assistant", "I found a memory leak in the decoder.", None, id="no-issues"),
        pytest.param("assistant", "Well done on finishing the course.", None, id="praise"),
        pytest.param("assistant", "- Fixed costs: rent and insurance", None, id="no-items"),
        pytest.param("tool", "Done, the migration ran without errors.", None, id="tool"),
        pytest.param("system", "We decided to use PostgreSQL.", None, id="system"),
    ],
)
def test_roles(role: str, text: str, kind: str | None) -> None:
    """Of an assistant only confirmations count, of others nothing."""
    assert kind_of(text, role) == kind


def test_an_assistant_counts_less() -> None:
    """The same words weigh less from an assistant."""
    text = "The login bug is fixed on staging."
    assert found_in(text, "assistant").significance < found_in(text).significance


# What a moment says


def test_a_moment_in_full() -> None:
    """Title, summary, context and outcome come from the words."""
    before = [
        message("Thanks. Which database should hold the tides?", message_id="m1"),
        message("SQLite or PostgreSQL.", "assistant", "m2"),
    ]
    said = message("OK. We decided to use PostgreSQL 16. Because several jobs write at once.", message_id="m3")
    assert episode_in(said, before) == EpisodeDraft(
        message_id="m3",
        kind="decision_made",
        title="Decided to use PostgreSQL 16",
        summary="We decided to use PostgreSQL 16. Because several jobs write at once.",
        context="Which database should hold the tides?",
        outcome="use PostgreSQL 16",
        valence=0.1,
        significance=0.81,
    )


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        pytest.param("I decided to delay my start, but I'm unsure.", "delay my start", id="decided"),
        pytest.param("I agreed with Tanya to limit outings.", "limit outings", id="agreed"),
        pytest.param("I've decided against microservices.", "I've decided against microservices", id="against"),
        pytest.param("Decision then: SQLite, in WAL mode.", "Decision then: SQLite, in WAL mode", id="colon"),
        pytest.param("They came, and sorting by id fixed it.", "sorting by id fixed it", id="solved"),
        pytest.param("We launched the new site, so be kind.", "We launched the new site", id="completed"),
        pytest.param("I found a memory leak in the decoder.", None, id="issue"),
        pytest.param("We switched from Celery to Postgres.", None, id="pivot"),
    ],
)
def test_outcome(text: str, outcome: str | None) -> None:
    """A decision, solution or completed task has the clause that says what came out."""
    assert found_in(text).outcome == outcome


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        pytest.param(
            "I decided to delay my studies, but I'm unsure, can you help me weigh it?",
            "I decided to delay my studies, but I'm unsure",
            id="a-request-behind-it",
        ),
        pytest.param(
            "OK: changed my mind. PostgreSQL with PostGIS. Reasons: several writers.",
            "OK: changed my mind. PostgreSQL with PostGIS. Reasons: several writers.",
            id="a-bare-cue-with-what-follows",
        ),
        pytest.param(
            "The second floor in Lombok. Signed on Friday.",
            "The second floor in Lombok. Signed on Friday.",
            id="a-bare-cue-with-what-came-before",
        ),
    ],
)
def test_summary(text: str, summary: str) -> None:
    """The summary is the sentence without what it asks, with its neighbours where it says little alone."""
    assert found_in(text).summary == summary


PLAIN = Path(__file__).parents[2] / "benchmarks" / "labels" / "moments" / "plain.jsonl"


def test_plain_words_are_understood() -> None:
    """Of moments told in plain chat, at least four in five are found with their kind; of other chat, hardly any."""
    rows = [json.loads(line) for line in PLAIN.read_text("utf-8").splitlines()]
    right, wrong = 0, 0
    for row in rows:
        before = [message(row["before"], "assistant", "m0")] if row.get("before") else []
        found = episode_in(message(row["text"]), before)
        right += found is not None and found.kind == row["kind"]
        wrong += found is not None and row["kind"] is None
    assert right >= 0.8 * sum(row["kind"] is not None for row in rows)
    assert wrong <= 0.05 * sum(row["kind"] is None for row in rows)


def test_the_model_is_the_one_that_was_trained() -> None:
    """The file of the model has the hash that the module names."""
    file = resources.files("lamina.models.offline.episode_extraction").joinpath(moment_model.FILE)
    assert hashlib.sha256(file.read_bytes()).hexdigest() == moment_model.SHA256


@pytest.mark.parametrize(
    ("text", "title"),
    [
        pytest.param("I've finally fixed the login bug on staging!", "Fixed the login bug on staging", id="no-i"),
        pytest.param("ok so we're switching to Laucke, first drop on the 3rd", "Switching to Laucke", id="no-opener"),
        pytest.param("Change of plan: we switched from AWS to Hetzner.", "Switched from AWS to Hetzner", id="label"),
        pytest.param("told him no. no field season this summer", "Told him no, no field season this summer", id="no"),
        pytest.param(
            "We decided to move the whole archive of old photographs to the cellar because of the light.",
            "Decided to move the whole archive",
            id="cut-where-a-part-ends",
        ),
        pytest.param("ok monorepo it is", "Monorepo it is", id="one-word-and-its-cue"),
        pytest.param(
            "My doctor gave me a talking-to last week and I've decided to give up sugar.",
            "Decided to give up sugar",
            id="the-clause-that-tells-it",
        ),
        pytest.param("My husband and I decided to sell the boat.", "Decided to sell the boat", id="and-i"),
        pytest.param("ugh loss is nan after epoch 3", "Loss is nan after epoch 3", id="no-sigh"),
        pytest.param("*We* decided to use `uv` for the builds.", "Decided to use `uv` for the builds", id="marks"),
    ],
)
def test_titles(text: str, title: str) -> None:
    """A title is a short phrase in the words of the user, without "I", openers and half clauses."""
    assert found_in(text).title == title


def test_a_title_may_need_what_was_said_before() -> None:
    """Where the words say only that something is done, the title says what it was."""
    before = [
        message("The queue worker stops every night.", message_id="m1"),
        message("Try a restart with a new id.", "assistant", "m2"),
    ]
    found = episode_in(message("that did it, works now", message_id="m3"), before)
    assert found is not None
    assert (found.kind, found.title) == ("problem_solved", "Solved: the queue worker stops every night")
    assert found.context == "The queue worker stops every night."


def test_what_was_told_is_not_told_again() -> None:
    """A moment that the user repeats in the next message is one moment."""
    first = message("The checkout server crashed, no orders since nine.", message_id="m1")
    again = message("as I said, the checkout server crashed and no orders come", message_id="m2")
    other = message("The payment service crashed as well now.", message_id="m3")
    assert episode_in(first, []) is not None
    assert episode_in(again, [first]) is None
    assert episode_in(other, [first, again]) is not None


def test_the_strongest_of_a_message() -> None:
    """A message has one moment at the most, the most significant."""
    found = found_in("I updated the docs for the team. We finally decided to launch in June! I found a typo in it.")
    assert (found.kind, found.title) == ("decision_made", "Decided to launch in June")


@pytest.mark.parametrize(
    ("less", "more"),
    [
        pytest.param("ok, the blue logo then", "We decided on the blue logo.", id="surer-words"),
        pytest.param("We chose the blue logo.", "We chose the blue logo because it prints well.", id="a-reason"),
        pytest.param("We chose the blue logo.", "We chose 2 of the blue logos.", id="a-number"),
        pytest.param("We chose the blue logo.", "We chose the blue logo!", id="an-exclamation"),
        pytest.param("We chose the blue logo.", "We chose the blue logo, a crucial step.", id="importance"),
        pytest.param("I updated the shop page today.", "We launched the shop page today.", id="a-greater-thing"),
    ],
)
def test_significance(less: str, more: str) -> None:
    """Sure words, reasons, numbers, exclamations and importance make a moment more significant."""
    assert found_in(less).significance < found_in(more).significance


def test_a_reasoned_decision_is_a_key_moment() -> None:
    """A plain decision is none, one with its reason is."""
    assert found_in("We decided to use Postgres.").significance < KEY_MOMENT
    assert found_in("We decided to use Postgres because many jobs write.").significance >= KEY_MOMENT


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        pytest.param("We won the regional hackathon, I'm so happy and proud!", 0.8, 1.0, id="good"),
        pytest.param("I found a terrible bug, a disaster for the launch.", -1.0, -0.8, id="bad"),
        pytest.param("We decided to use the blue logo.", 0.0, 0.2, id="neutral"),
        pytest.param("We decided to move, and I'm not happy with it.", -0.3, 0.0, id="denied-good"),
        pytest.param("We decided to move, and it's not bad at all.", 0.2, 0.5, id="denied-bad"),
        pytest.param("ran the tests. 14 fail again, fucking garbage", -1.0, -0.6, id="curse"),
        pytest.param("server crashed during the demo. great", -0.8, -0.2, id="meant-the-other-way"),
        pytest.param("finally fixed the damn printer", 0.3, 1.0, id="good-with-a-curse"),
        pytest.param("lost my wallet on the tram \U0001f62d", -1.0, -0.5, id="emoji"),
    ],
)
def test_valence(text: str, low: float, high: float) -> None:
    """Good and bad words move the valence, turned by negations."""
    assert low <= found_in(text).valence <= high


@pytest.mark.parametrize(
    ("before", "context"),
    [
        pytest.param([], "", id="nothing-before"),
        pytest.param(["u:Hi!", "a:The queue is slow today."], "", id="nothing-informative"),
        pytest.param(["u:Thanks! The nightly queue is slow.", "a:Why?"], "The nightly queue is slow.", id="the-topic"),
        pytest.param(
            ["u:First topic about harbours.", "u:Second topic about tides."], "Second topic about tides.", id="last"
        ),
        pytest.param(["u:The nightly queue is slow.", "a:1", "a:2", "a:3", "a:4"], "", id="too-long-ago"),
    ],
)
def test_context(before: list[str], context: str) -> None:
    """The context is what the user had last spoken of, within four messages."""
    roles = {"u": "user", "a": "assistant"}
    said = [message(text[2:], roles[text[0]], f"m{at}") for at, text in enumerate(before)]
    (found,) = asyncio.run(OfflineEpisodeExtractor().extract_episodes([message("We decided to use Postgres.")], said))
    assert found.context == context


def test_context_stays_in_its_session() -> None:
    """What was said in another session is no context."""
    other = message("The nightly queue is slow.", session_id="s2")
    found = episode_in(message("We decided to use Postgres."), [other])
    assert found is not None
    assert found.context == ""


@pytest.mark.parametrize(
    ("text", "most", "expected"),
    [
        pytest.param("short", 10, "short", id="short"),
        pytest.param("The first of the long clauses, then another", 40, "The first of the long clauses", id="clause"),
        pytest.param("one two three four", 12, "one two…", id="word"),
        pytest.param("x" * 50, 10, "x" * 9 + "…", id="one-long-word"),
    ],
)
def test_shortened(text: str, most: int, expected: str) -> None:
    """A long text is cut at a clause, else at a word, else anywhere, and never exceeds its length."""
    assert shorten(text, most) == expected
    assert len(expected) <= most


# Properties

_PIECES = st.sampled_from(
    [
        "We decided to use Postgres", "I fixed the bug", "changed my mind", "We launched the site", "Done", "if", "?",
        "I found a leak in the decoder", "because it is fast", "can you help me", ". ", ", ", "!", "\n", '"', "“", "- ",
        "```\n", "not", "42",
    ]
)  # fmt: skip
_TEXTS = st.one_of(st.text(max_size=200), st.lists(_PIECES, max_size=16).map(" ".join))
_SAID = st.lists(st.tuples(st.sampled_from(["user", "assistant", "tool"]), _TEXTS), max_size=10)


@given(_SAID, st.lists(st.integers(1, 4), min_size=10, max_size=10))
def test_batches_do_not_matter(said: list[tuple[str, str]], sizes: list[int]) -> None:
    """The same messages give the same moments, however they are cut into batches."""
    messages = [message(text, role, f"m{at}") for at, (role, text) in enumerate(said)]
    episode_extractor: EpisodeExtractor = OfflineEpisodeExtractor()
    whole = list(asyncio.run(episode_extractor.extract_episodes(messages, [])))
    pieces: list[EpisodeDraft] = []
    start = 0
    for size in sizes:
        batch = messages[start : start + size]
        pieces.extend(asyncio.run(episode_extractor.extract_episodes(batch, messages[max(0, start - 4) : start])))
        start += size
    assert pieces == whole


@given(_TEXTS, st.sampled_from(["user", "assistant"]))
def test_bounds(text: str, role: str) -> None:
    """Whatever is said, a moment keeps its bounds and uses only words that were said."""
    found = episode_in(message(text, role), [message(text)])
    if found is None:
        return
    assert found.kind in EPISODE_KINDS
    assert 0 < len(found.title) <= MAX_TITLE
    assert 0 < len(found.summary) <= MAX_SUMMARY
    assert len(found.context) <= MAX_CONTEXT
    assert found.outcome is None or 0 < len(found.outcome) <= MAX_CONTEXT
    assert -1 <= found.valence <= 1
    assert MIN_SIGNIFICANCE <= found.significance <= MAX_SIGNIFICANCE
    assert set(found.summary.split()) <= set(text.split()) | {part.rstrip(",;:-\u2013—") for part in text.split()}


@pytest.mark.parametrize(
    "piece",
    [
        "We decided to go. ",
        "a. ",
        "a,",
        "“",
        '"',
        "«",
        "`a",
        "(",
        "?!",
        "- a\n",
        "```\n",
        "we have just now ",
        "猫",
        "x",
        "\n",
    ],
)
def test_hostile_input_takes_no_longer_than_other(piece: str) -> None:
    """The time to read anything grows no faster than its length."""
    languages()
    text = repeated(piece)
    assert growth(lambda said: episode_in(said, [said]), lambda size: message(text(size)), quarters(200_000)) < 2


def test_every_language_knows_all_kinds() -> None:
    """Every file of cues beside the module is read, has all kinds, and only classes that English has."""
    known = {language.code: language for language in languages()}
    assert set(known) == {"de", "en"}
    assert all(set(language.tones) == set(EPISODE_KINDS) for language in known.values())
    names = {code: {cue.name for cues in one.signs.values() for cue in cues} for code, one in known.items()}
    assert names["de"] <= names["en"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        pytest.param("der server ist seit zehn minuten down, niemand kann sich einloggen", "issue_identified", id="i"),
        pytest.param("wir haben uns für das blaue sofa entschieden", "decision_made", id="d"),
        pytest.param("habe gestern die arbeit abgegeben, 84 seiten", "task_completed", id="t"),
        pytest.param("planänderung, wir fahren doch lieber mit dem zug", "pivot", id="p"),
        pytest.param("läuft wieder, es lag am dns cache", "problem_solved", id="s"),
        pytest.param("ich habe die prüfung bestanden!!", "breakthrough", id="b"),
        pytest.param("wie weiß ich, ob das problem gelöst ist?", None, id="question"),
        pytest.param("noch nicht fertig, vielleicht morgen", None, id="not-yet"),
        pytest.param("wenn wir uns für mongo entschieden hätten, wäre es langsam", None, id="supposed"),
        pytest.param("meine schwester wohnt in leipzig", None, id="no-moment"),
    ],
)
def test_german(text: str, kind: str | None) -> None:
    """The same model judges German by its own cues."""
    assert kind_of(text) == kind


_TALKS = Path(moments.__file__).parent / "labels" / "talks"


@pytest.mark.parametrize(
    "name", ["a1-billing", "a7-paper", "b1-gameport", "b6-thesis", "b7-app", "c1-jobhunt", "c3-sre"]
)
def test_a_long_project_talk_has_key_moments(name: str) -> None:
    """In a talk of some ninety messages there are key moments, and not all moments are key."""
    rows = list(moments.talk(_TALKS / f"{name}.jsonl"))
    found = [one for row in rows if (one := episode_in(row.message, row.before))]
    assert 1 <= sum(one.significance >= KEY_MOMENT for one in found) < len(found)


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        pytest.param("grey it is. the red one shows every scratch", "decision_made", id="it-is"),
        pytest.param("ok that settles it, no glass roof on the shed", "decision_made", id="settles"),
        pytest.param("I've put my name down for the welding class.", "decision_made", id="name-down"),
        pytest.param("We voted, 31 to 12, so Saturday it is.", "decision_made", id="voted"),
        pytest.param("forget the mural, we're doing tiles instead", "pivot", id="forget"),
        pytest.param("We moved the whole fair from the park to the gym.", "pivot", id="moved"),
        pytest.param("deployed the page and now everything is down, ugh", "issue_identified", id="done-but-failed"),
    ],
)
def test_moments_in_plain_words(said: str, kind: str) -> None:
    """A decision or a change of direction is heard without the word for it."""
    assert found_in(said).kind == kind
