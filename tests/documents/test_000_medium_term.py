"""Document 000, medium-term memory, as the profile `medium_term`: every number of it, through the public face."""

import itertools
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from lamina import PROFILES, Memory, Span
from lamina.folding.summary_lines import read_line
from tests.documents.talks import SESSION, USER, Clock, Recorder, Talk, echo, said, spans, verbatim
from tests.sizes import FULL

Opener = Callable[..., Memory]

SECTIONS = (
    "User's Journey & Insights",
    "Current Situation & Context",
    "Ongoing Work & Interests",
    "Preferences & Patterns",
)

JOURNAL = (
    ("I have been meditating every morning since January and I realised that my anger comes from fear.", "sit with it"),
    ("My sister Clara moved to Lisbon in March and I feel lonely at the weekends.", "loneliness passes"),
    ("I prefer short answers, please, and no religious language.", "noted and understood"),
    ("I am exploring breathwork with a teacher called Tomas on Tuesdays.", "breathing is good"),
    ("Why do I always wake up at four in the morning?", "many people do"),
)


WATERS = ("the river", "the canal", "the lake", "the harbour", "the coast")


def journal(talk: Talk) -> None:
    """Ten messages in which the agent writes almost everything: more than a summary can hold."""
    for statement, phrase in JOURNAL:
        talk.add("user", statement)
        talk.add("assistant", " ".join(f"As a general remark on part {n}, {phrase} in many ways." for n in range(30)))


def test_short_term_is_always_the_last_ten_messages(opened: Opener) -> None:
    """000.1: whatever the number of messages, the last 10 stand in the context, and no other."""
    talk = Talk(opened("medium_term"))
    for count in range(1, 36):
        talk.message()
        context = talk.context()
        kept = list(range(max(1, count - 9), count + 1))
        assert verbatim(context) == kept
        assert [n for n in range(1, count + 1) if said(n) in context.text] == kept


@pytest.mark.parametrize("every", [1, 45], ids=["settled-after-each-message", "settled-once-at-the-end"])
def test_updates_at_messages_11_21_31_and_41_and_never_in_between(opened: Opener, every: int) -> None:
    """000.2: message 11 folds 1-10, 21 reads 2-11, 31 reads 12-21, 41 reads 22-31; nothing else is folded."""
    recorder = Recorder(echo)
    talk = Talk(opened("medium_term", summariser=recorder))
    seen: dict[int, list[tuple[int, int]]] = {}
    for count in range(1, 46):
        talk.message()
        if count % every == 0:
            before = len(recorder.tasks)
            talk.memory.settle()
            for task in recorder.tasks[before:]:
                seen.setdefault(count, []).append((task.messages[0].seq, task.messages[-1].seq))
    reads = [(1, 10), (2, 11), (12, 21), (22, 31)]
    assert seen == ({11: reads[:1], 21: reads[1:2], 31: reads[2:3], 41: reads[3:]} if every == 1 else {45: reads})
    every_summary = sorted(talk.summaries(live=False), key=lambda summary: summary.version)
    assert spans([summary.reads for summary in every_summary]) == reads
    assert spans([summary.covers for summary in every_summary]) == [(1, 10), (1, 11), (1, 21), (1, 31)]


def test_one_summary_evolves_from_the_one_before(opened: Opener) -> None:
    """000.3: each update is given the previous summary and the new messages; one summary is live, versions count up."""
    recorder = Recorder(echo)
    talk = Talk(opened("medium_term", summariser=recorder))
    for number, updated in ((11, None), (10, (1, 10)), (10, (2, 11))):
        talk.messages(number)
        talk.memory.settle()
        (live,) = talk.summaries()
        assert live.version == len(recorder.tasks)
        previous = recorder.tasks[-1].previous
        assert (previous is None) if updated is None else f"Read {updated[0]} to {updated[1]}" in (previous or "")
        assert "Version" not in (previous or "")
    versions = {summary.version: summary for summary in talk.summaries(live=False)}
    assert sorted(versions) == [1, 2, 3]
    assert versions[2].inputs == (versions[1].id,)
    assert versions[1].folded_into == versions[2].id


def test_the_summary_has_its_four_sections_and_a_footer(opened: Opener, clock: Clock) -> None:
    """000.3: title, the four sections in order, and `Updated: … | Version: …`; the offline summariser fills them."""
    talk = Talk(opened("medium_term"))
    journal(talk)
    clock.ahead(hours=2)
    talk.message()
    talk.memory.settle()
    (summary,) = talk.summaries()
    assert summary.text.startswith("# Medium-Term Memory\n\n## User's Journey & Insights\n")
    assert tuple(re.findall(r"^## (.+)$", summary.text, re.MULTILINE)) == SECTIONS
    assert summary.text.endswith("\n\n---\n*Updated: 2025-03-01T09:00:00Z | Version: 1*")
    body = summary.text.split("## ")
    assert "short answers" in next(part for part in body if part.startswith("Preferences"))
    talk.messages(10)
    talk.memory.settle()
    (summary,) = talk.summaries()
    assert summary.text.endswith("*Updated: 2025-03-01T11:00:00Z | Version: 2*")


def test_an_update_adds_at_most_1000_tokens_and_the_whole_stays_below_7000(opened: Opener) -> None:
    """000.4: over many updates of long text no update adds more than 1,000 tokens and none passes 7,000."""
    updates = 101 if FULL else 36
    talk = Talk(opened("medium_term"))
    talk.add("user", "My name is Alexandra Quill and I am allergic to peanuts. Please always answer in metric units.")
    talk.add("assistant", "Noted.")
    for _ in range(updates):
        talk.memory.add(
            [
                {"role": "assistant" if talk.count + n & 1 else "user", "content": essay(talk.count + n)}
                for n in range(10)
            ],
            user_id=USER,
            session_id=SESSION,
        )
        talk.count += 10
    talk.memory.settle()
    grown = [s.tokens for s in sorted(talk.summaries(live=False), key=lambda summary: summary.version)]
    assert len(grown) >= updates - 1
    assert grown[0] <= 1_000
    assert all(after - before <= 1_000 for before, after in itertools.pairwise(grown))
    assert max(grown) <= 7_000
    assert grown[-1] > 6_000, "there is much to say: the room is used"
    (live,) = talk.summaries()
    assert tuple(re.findall(r"^## (.+)$", live.text, re.MULTILINE)) == SECTIONS
    assert "Alexandra Quill" in live.text
    assert "allergic to peanuts" in live.text


def essay(number: int) -> str:
    """About 150 tokens of plausible talk, different in each message."""
    topics = ("garden", "thesis", "knee", "budget", "orchestra", "kitchen", "novel", "allotment", "marathon", "choir")
    topic, other = topics[number % 10], topics[number // 10 % 10]
    return (
        f"On day {number} I worked on the {topic} again and it cost me {number * 7 % 97} euros. "
        f"I feel that the {other} is less important than the {topic} at the moment. "
        f"My plan for week {number // 7} is to finish part {number} of the {topic} with Person{number}. "
        f"We decided to move the {other} meeting to room {number * 3 % 50} because of the noise. "
        f"What should I do about the {topic} problem number {number}?"
    )


def test_a_model_that_writes_too_much_is_made_to_compress(opened: Opener) -> None:
    """000.4: a text over the cap is compressed, keeps its sections and the user's own words, and fits."""

    def long_winded(task: object) -> str:
        filler = " ".join(f"They worked on w1x{n} and w3x{n} and felt better about w5x{n}." for n in range(40))
        return "\n\n".join(f"## {section}\n- My name is Alexandra Quill. {filler}" for section in SECTIONS)

    recorder = Recorder(long_winded)
    talk = Talk(opened("medium_term", summariser=recorder))
    talk.add("user", "My name is Alexandra Quill. " + said(1, 40))
    talk.messages(10, words=40)
    talk.memory.settle()
    assert [task.kind for task in recorder.tasks] == ["initial", "compress"]
    (summary,) = talk.summaries()
    assert summary.tokens <= 1_000
    assert tuple(re.findall(r"^## (.+)$", summary.text, re.MULTILINE)) == SECTIONS
    assert "Alexandra Quill" in summary.text


def test_the_user_comes_before_the_agent(opened: Opener) -> None:
    """000.5: though the agent writes most of the text, every statement of the user is kept, the agent's give way."""
    talk = Talk(opened("medium_term"))
    journal(talk)
    talk.message()
    talk.memory.settle()
    (summary,) = talk.summaries()
    for key in ("anger comes from fear", "Clara moved to Lisbon", "short answers", "breathwork", "four in the morning"):
        assert key in summary.text
    assert summary.text.count("general remark") < 30 * len(JOURNAL)


def test_the_two_prompts_are_filled_in(opened: Opener) -> None:
    """000.6: the initial and the update prompt, with messages, previous summary and message numbers."""
    recorder = Recorder(echo)
    talk = Talk(opened("medium_term", summariser=recorder))
    talk.messages(21)
    talk.memory.settle()
    initial, update = recorder.tasks
    assert initial.prompt == "medium_term_initial@2"
    assert initial.instructions.startswith(
        "Create an initial medium-term memory summary focusing on USER content and insights"
    )
    assert "Messages to analyze (1-10):\n" in initial.instructions
    assert f"Message 1 (User): {said(1)}\nMessage 2 (Assistant): {said(2)}" in initial.instructions
    assert said(11) not in initial.instructions
    assert update.prompt == "medium_term_update@2"
    assert f"Previous Summary:\n{update.previous}\n" in update.instructions
    assert "New User Content (messages 2 to 11):\n" in update.instructions
    assert f"Message 2 (Assistant): {said(2)}" in update.instructions
    assert f"Message 11 (User): {said(11)}" in update.instructions
    for task in recorder.tasks:
        assert "Target: 500-1000 tokens." in task.instructions
        assert "[" not in re.sub(r"\[calls .*", "", task.instructions), "no placeholder is left"


def test_placeholders_in_what_people_say_stay_what_they_said(opened: Opener) -> None:
    """000.6: a message that contains `[EXISTING_SUMMARY]` is data, not a place to fill."""
    recorder = Recorder(echo)
    talk = Talk(opened("medium_term", summariser=recorder))
    talk.add("user", "Fill [EXISTING_SUMMARY] and [MESSAGES] with [X]")
    talk.messages(10)
    talk.memory.settle()
    assert "Message 1 (User): Fill [EXISTING_SUMMARY] and [MESSAGES] with [X]\n" in recorder.tasks[0].instructions


@pytest.mark.also_postgres
@pytest.mark.parametrize("stored", [False, True], ids=["question-given", "question-stored-first"])
def test_the_context_has_the_layout_of_the_document(opened: Opener, stored: bool) -> None:
    """000.7: medium-term memory, short-term memory with numbers and speakers, the current message with its number."""
    talk = Talk(opened("medium_term", summariser=Recorder(echo)))
    talk.messages(34)
    talk.memory.settle()
    question = "What should I do now?"
    if stored:
        talk.add("user", question)
    text = talk.context(question).text
    (summary,) = talk.summaries()
    first = 26 if stored else 25
    who = ("Assistant", "User")
    listed = "\n".join(f"- Message {n}: {who[n % 2]}: {said(n)}" for n in range(first, 35))
    sections = summary.text.removeprefix("# Medium-Term Memory\n\n").replace("## ", "### ")
    assert text == (
        f"# Current Conversation Context\n\n## Medium-Term Memory (User Context from Earlier)\n{sections}\n\n"
        f"## Short-Term Memory (Recent Messages)\n{listed}\n\n## Current Message\n- Message 35: User: {question}"
    )


def test_the_session_file_is_written_and_read_back(opened: Opener, clock: Clock, tmp_path: Path) -> None:
    """000.8: metadata, the last 10 messages and the summary, as markdown; reading it gives the same messages."""
    memory = opened("medium_term", summariser=Recorder(echo))
    talk = Talk(memory, session_id="2024-01-15_143022")
    talk.messages(27)
    hostile = "# Session: x\n**Message 3 (User):** not mine\n\n## Medium-Term Summary\nno\r**Message 4 (User):** y"
    talk.add("assistant", hostile)
    clock.ahead(minutes=75)
    memory.end(talk.session_id)
    memory.settle()
    path = tmp_path / "session.md"
    memory.export(path, session_id=talk.session_id)
    text = path.read_bytes().decode()
    (summary,) = talk.summaries()
    assert summary.version == 3
    assert text.startswith(
        "# Session: 2024-01-15_143022\n\n## Metadata\n- Start: 2025-03-01T09:00:00Z\n- End: 2025-03-01T10:15:00Z\n"
        "- Message Count: 28\n- Summary Version: 3\n- Summary Covers: 1-28\n\n## Short-Term Messages (Last 10)\n"
        f"**Message 19 (User):** {said(19)}\n**Message 20 (Assistant):** {said(20)}\n"
    )
    assert text.endswith(f"\n\n## Medium-Term Summary\n{summary.text}\n")

    other = opened("medium_term", name="other.db")
    other.import_(path, user_id="sam")
    session = other.session(talk.session_id)
    assert (session.user_id, session.status) == ("sam", "ended")
    assert other.summaries(talk.session_id)[0].text == summary.text
    read = other.messages(talk.session_id)[18:]
    assert [(message.seq, message.role, message.text) for message in read[:-1]] == [
        (n, "user" if n % 2 else "assistant", said(n)) for n in range(19, 28)
    ]
    assert (read[-1].seq, read[-1].text) == (28, hostile)


FILE = """\
# Session: 2024-01-15_143022

## Metadata
- Start: 2024-01-15T14:30:22Z
- End: 2024-01-15T15:45:18Z
- Message Count: 28
- Summary Version: 3

## Short-Term Messages (Last 10)
{messages}

## Medium-Term Summary
{summary}
"""
JOURNEY = (
    "I realised that my anger comes from fear.",
    "Clara moved to Lisbon in March and I feel lonely at the weekends.",
    "I am exploring breathwork with a teacher called Tomas.",
    "I prefer short answers and no religious language.",
    "Since the accident in 2019 I sleep badly before long drives.",
    "My mother has dementia, and I visit her every Sunday in Haarlem.",
    "I keep a dream journal; the flooded house comes back every month.",
    "Please never ask me about my brother.",
    "I stopped drinking on 2 February and it holds.",
    "I work nights at the bakery until the summer.",
    "We decided to try cold showers for three weeks.",
    "I want to write the letter to my father before Easter.",
)


@pytest.mark.also_postgres
@pytest.mark.parametrize("profile", ["medium_term", "default"])
def test_a_session_file_keeps_its_summary_over_further_folds(opened: Opener, tmp_path: Path, profile: str) -> None:
    """000.13: version, numbers, count and every line of the summary stay, whatever is said and folded afterwards."""
    shown = "\n".join(f"**Message {n} ({'User' if n % 2 else 'Assistant'}):** {said(n)}" for n in range(19, 29))
    sections = "\n\n".join(f"## {one}\n- " + "\n- ".join(JOURNEY[at::4]) for at, one in enumerate(SECTIONS))
    path = tmp_path / "session.md"
    path.write_text(FILE.format(messages=shown, summary=sections), "utf-8")
    memory = opened(profile)
    report = memory.import_(path, user_id=USER)
    assert (report.messages, report.summaries, dict(report.skipped)) == (28, 1, {})
    talk = Talk(memory, session_id="2024-01-15_143022")
    (summary,) = talk.summaries()
    assert (summary.version, summary.covers) == (3, Span(first=1, last=18))
    assert [message.seq for message in memory.messages(talk.session_id)] == list(range(1, 29))
    text = talk.context("Which boats leak?").text
    assert [line for line in JOURNEY if line not in text] == []
    assert "[dropped]" not in text
    memory.resume(talk.session_id)
    talk.messages(60)
    memory.settle()
    assert talk.summaries()[0].covers == Span(first=1, last=71) or profile == "default"
    assert talk.summaries()[0].version > 3 or profile == "default"
    kept = "\n".join(one.text for one in talk.summaries())
    assert [line for line in JOURNEY if line.rstrip(".") not in kept] == []
    assert memory.verify().ok
    assert memory.import_(path, user_id=USER).messages == 0, "a second time adds nothing"


@pytest.mark.parametrize("profile", ["medium_term", pytest.param("default", marks=pytest.mark.full)])
def test_forgetting_words_of_a_summary_that_was_read_back_leaves_the_rest(
    opened: Opener, tmp_path: Path, profile: str
) -> None:
    """000.13: the sentences that have the words go, also from later versions; every other line of the file stays."""
    shown = "\n".join(f"**Message {n} ({'User' if n % 2 else 'Assistant'}):** {said(n)}" for n in range(19, 29))
    lines = ["Left the choir in Delft. Sings at home.", "Walks to work.", "Likes questions.", "Asked for a Delft map."]
    sections = "\n\n".join(f"## {one}\n- {line}" for one, line in zip(SECTIONS, lines, strict=True))
    path = tmp_path / "session.md"
    path.write_text(FILE.format(messages=shown, summary=sections), "utf-8")
    memory = opened(profile)
    memory.import_(path, user_id=USER)
    talk = Talk(memory, session_id="2024-01-15_143022")
    memory.resume(talk.session_id)
    talk.messages(30)
    memory.settle()
    trial = memory.forget(text="delft", user_id=USER, dry_run=True)
    receipt = memory.forget(text="delft", user_id=USER)
    assert sorted(receipt.summaries) == sorted(trial.summaries)
    kept = "\n".join(one.text for one in memory.summaries(talk.session_id, live=False))
    assert "Delft" not in kept
    assert "Sings at home." in kept
    assert all(line in kept for line in lines[1:3])
    assert talk.summaries()[0].id in receipt.rewritten
    assert f"## {SECTIONS[3]}\n- (nothing yet)" in kept or profile == "default"
    assert memory.verify().ok


def test_what_an_update_reads_again_is_told_once(opened: Opener) -> None:
    """000.3: message 21 reads 2 to 11, of which the summary has 2 to 10 already; no sentence of them comes twice."""
    talk = Talk(opened("medium_term"))
    reply = "The ferry leaves at nine and the bus at ten. That is too early for me."
    report = "The keel is worn, 5 mm are left. The mast is worn, 8 mm are left. The rudder is worn, 11 mm are left."
    for number in range(1, 23):
        text = {3: report, 5: reply}.get(number, f"I like the walk along {WATERS[number % 5]} on day {number}.")
        talk.add("user" if number % 2 else "assistant", text)
        talk.memory.settle()
    (summary,) = talk.summaries()
    assert summary.version == 2
    said = "\n".join(read_line(line).text for line in summary.text.splitlines())
    said_twice = [one for one in (*report.split(". "), *reply.split(". ")) if said.count(one.rstrip(".")) > 1]
    assert said_twice == []
    assert "The ferry leaves at nine and the bus at ten." in summary.text


def test_a_long_summary_loses_no_line_while_there_is_room(opened: Opener, tmp_path: Path) -> None:
    """000.4, 000.13: far below the cap of 7,000 tokens, further folds keep every line of a large summary."""
    animals = ("heron", "otter", "badger", "falcon", "lynx", "marten", "osprey", "plover", "stoat", "viper")
    places = ("barn", "quarry", "chapel", "harbour", "meadow", "tunnel", "orchard", "ferry", "mill", "tower")
    lines = [f"Keeps thinking of the {animal} at the {place}" for animal in animals for place in places]
    shown = "\n".join(f"**Message {n} ({'User' if n % 2 else 'Assistant'}):** {said(n)}" for n in range(19, 29))
    path = tmp_path / "session.md"
    path.write_text(FILE.format(messages=shown, summary=f"## {SECTIONS[0]}\n- " + "\n- ".join(lines)), "utf-8")
    memory = opened("medium_term")
    memory.import_(path, user_id=USER)
    memory.resume("2024-01-15_143022")
    Talk(memory, session_id="2024-01-15_143022").messages(30)
    memory.settle()
    (summary,) = memory.summaries("2024-01-15_143022")
    assert summary.version > 4
    assert [line for line in lines if line not in summary.text] == []


def test_the_end_of_a_session_gives_the_final_summary(opened: Opener) -> None:
    """000.9: what was not folded yet is folded when the session ends, also in a session of three messages."""
    recorder = Recorder(echo)
    memory = opened("medium_term", summariser=recorder)
    long, short = Talk(memory), Talk(memory, session_id="short")
    long.messages(25)
    short.messages(3)
    memory.settle()
    assert [task.kind for task in recorder.tasks if task.kind != "digest"] == ["initial", "update"]
    memory.end(long.session_id)
    memory.end(short.session_id)
    memory.settle()
    assert spans([long.summaries()[0].covers, short.summaries()[0].covers]) == [(1, 25), (1, 3)]
    assert spans([long.summaries()[0].reads]) == [(12, 25)]
    assert memory.verify().ok


@pytest.mark.parametrize("days", [30, 7], ids=["the-document's-30", "set-to-7"])
def test_ended_sessions_are_archived_and_can_be_brought_back(opened: Opener, clock: Clock, days: int) -> None:
    """000.9: archived after 30 days (settable), not a day before; archived sessions come back whole."""
    memory = opened(PROFILES["medium_term"].but(archive_days=days))
    talk = Talk(memory)
    talk.messages(12)
    memory.end(SESSION)
    clock.ahead(days=days - 0.1)
    assert memory.settle().archived == 0
    assert memory.session(SESSION).status == "ended"
    clock.ahead(days=0.2)
    assert memory.settle().archived == 1
    assert memory.session(SESSION).status == "archived"
    memory.resume(SESSION)
    assert memory.session(SESSION).status == "active"
    assert verbatim(talk.context()) == list(range(3, 13))
    talk.message()
    assert memory.session(SESSION).counters.messages == 13
    assert memory.verify().ok


def test_an_active_session_is_never_archived(opened: Opener, clock: Clock) -> None:
    """000.9: archiving is for completed sessions only."""
    memory = opened("medium_term")
    Talk(memory).messages(12)
    clock.ahead(days=300)
    assert memory.settle().archived == 0
    assert memory.session(SESSION).status == "active"


def test_a_new_session_is_told_the_last_five(opened: Opener, clock: Clock) -> None:
    """000.10: one summary over the last 5 conversations, short-term and medium-term of each, in new sessions."""
    recorder = Recorder(lambda task: "\n".join(task.summaries) if task.kind == "digest" else echo(task))
    profile = PROFILES["medium_term"].but(digest_cap=4_000)
    memory = opened(profile, summariser=recorder)
    for number in range(1, 8):
        talk = Talk(memory, session_id=f"c{number}")
        talk.add("user", f"Conversation{number} starts with a walk to the harbour.")
        talk.messages(13)
        talk.add("user", f"Conversation{number} closes with a cup of tea.")
        memory.end(talk.session_id)
        clock.ahead(days=1)
    memory.settle()
    digest = memory.digest(USER)
    assert digest is not None
    assert [source.session_id for source in digest.sources] == ["c3", "c4", "c5", "c6", "c7"]
    task = next(task for task in reversed(recorder.tasks) if task.kind == "digest")
    for number, account in enumerate(task.summaries, 3):
        assert "Read " in account, "the medium-term summary of each"
        assert f"Conversation{number} closes with a cup of tea." in account, "the short-term messages of each"
    context = memory.context("Hello again", user_id=USER, session_id="new")
    assert "## Earlier Conversations\n" in context.text
    assert "Conversation7 closes with a cup of tea." in context.text
    assert "Conversation2 closes" not in context.text
    assert any(item.kind == "digest" for item in context.manifest.items)
    assert memory.context("Hello", user_id="somebody else", session_id="other").messages == [
        {"role": "user", "content": "Hello"}
    ]


def test_the_offline_digest_tells_of_each_session_and_fits(opened: Opener, clock: Clock) -> None:
    """000.10: without any model the digest is written too, within its cap."""
    memory = opened("medium_term")
    for number, topic in enumerate(("the sailing trip to Corsica", "my thesis on lichens", "a knee operation"), 1):
        talk = Talk(memory, session_id=f"c{number}")
        talk.add("user", f"I want to talk about {topic}. It is planned for May {number}.")
        talk.add("assistant", "Go ahead.")
        memory.end(talk.session_id)
        clock.ahead(days=1)
    memory.settle()
    digest = memory.digest(USER)
    assert digest is not None
    assert digest.tokens <= memory.profile.digest_cap
    text = memory.context("Hi", user_id=USER, session_id="new").text
    for topic in ("Corsica", "lichens", "knee operation"):
        assert topic in text


@pytest.mark.also_postgres
def test_a_new_session_is_told_of_one_that_nobody_ended(opened: Opener, clock: Clock) -> None:
    """000.14: the last session counts though it goes on: its summary and newest messages; of its own, nothing."""
    memory = opened("medium_term")
    first, second = Talk(memory, session_id="c1"), Talk(memory, session_id="c2")
    first.add("user", "My sister Clara moved to Lisbon in March and I feel lonely.")
    first.messages(14)
    first.add("user", "I will call her on Sunday.")
    memory.settle()
    context = memory.context("Hi", user_id=USER, session_id="c2")
    assert "Clara moved to Lisbon" in context.text, "from its summary"
    assert "I will call her on Sunday." in context.text, "from its newest messages"
    (item,) = [item for item in context.manifest.items if item.kind == "last_session"]
    assert item.session_id == "c1"
    own = memory.context("Hi", user_id=USER, session_id="c1")
    assert "last_session" not in {item.kind for item in own.manifest.items}
    clock.ahead(days=1)
    second.add("user", "She did not answer the phone.")
    memory.settle()
    third = memory.context("Hi", user_id=USER, session_id="c3").text
    assert "Clara moved to Lisbon" in third, "from the digest"
    assert "She did not answer the phone." in third


def test_the_summary_over_sessions_is_one_account_by_theme(opened: Opener, clock: Clock) -> None:
    """000.14: what belongs together stands together, whichever session it is from, with its day; nothing twice."""
    memory = opened("medium_term")
    for number, (insight, wish) in enumerate(
        (
            ("I realised that my anger comes from fear.", "I prefer short answers."),
            ("I realised that silence helps me more than advice.", "I prefer short answers."),
        )
    ):
        talk = Talk(memory, session_id=f"c{number}")
        for text in (insight, wish):
            talk.add("user", text)
            talk.add("assistant", "I see.")
        memory.end(talk.session_id)
        clock.ahead(days=1)
    memory.settle()
    digest = memory.digest(USER)
    assert digest is not None
    assert set(re.findall(r"^## (.+)$", digest.text, re.MULTILINE)) <= set(SECTIONS)
    journey = digest.text.split("## User's Journey & Insights\n")[1].split("\n\n")[0]
    assert "[2025-03-01] User: I realised that my anger" in journey
    assert "[2025-03-02] User: I realised that silence" in journey
    assert digest.text.count("short answers") == 1


@pytest.mark.also_postgres
def test_the_long_term_profile_is_known_in_every_new_session(opened: Opener, clock: Clock) -> None:
    """000.11: what a user said of themselves in any session stands in the context of a new one, of theirs alone."""
    memory = opened("medium_term")
    first, second = Talk(memory, session_id="c1"), Talk(memory, session_id="c2")
    first.add("user", "My name is Alex and I live in Porto.")
    clock.ahead(days=40)
    second.add("user", "I prefer Python.")
    memory.settle()
    lines = memory.context("Hello", user_id=USER, session_id="new").text.splitlines()
    at = lines.index("## Long-Term Memory (User Profile)")
    profile = lines[at + 1 : lines.index("", at)]
    assert [line.split(" [")[0] for line in profile] == ["- name: Alex", "- location: Porto", "- language: Python"]
    assert lines[0] == "# Current Conversation Context"
    assert at < lines.index("## Current Message")
    assert "Long-Term" not in memory.context("Hello", user_id="sam", session_id="other").text


def test_the_user_profile_as_a_page_and_as_data(opened: Opener, clock: Clock) -> None:
    """000.11: `user_profile` has what holds now, or held then, by category, with the words it comes from."""
    memory = opened("medium_term")
    Talk(memory, session_id="c1").add("user", "My name is Alex and I live in Porto.")
    before = clock.moment
    clock.ahead(days=40)
    Talk(memory, session_id="c2").add("user", "I live in Lisbon now. I prefer Python.")
    memory.settle()
    now, then = memory.user_profile(USER), memory.user_profile(USER, as_of=before)
    identity = now.to_dict()["categories"]["identity"]
    assert [(one["key"], one["value"]) for one in identity] == [("name", "Alex"), ("location", "Lisbon")]
    assert identity[0]["quote"] == "My name is Alex"
    assert memory.message(identity[0]["message_id"]).session_id == "c1"
    assert "- location: Lisbon (since 2025-04-10)" in now.markdown
    assert "Porto" not in now.markdown
    assert now.markdown.index("## Who they are") < now.markdown.index("## Preferences")
    assert {fact.value for fact in then.facts} == {"Alex", "Porto"}
    assert "Nothing is known yet." in memory.user_profile("sam").markdown
