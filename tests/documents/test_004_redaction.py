"""Document 004, layered memory: what is forgotten is gone, and what the document only had as ideas."""

import itertools
from collections.abc import Callable

import pytest

from lamina import PROFILES, Memory, OptedOut
from lamina.profiles import Batches
from lamina.protocols.models import SummaryTask
from lamina.values.codec import encode
from lamina.values.fact import FACT_STATUSES
from lamina.values.receipt import Receipt
from tests.documents.talks import SESSION, USER, Clock, Finding, Gate, Recorder, Table, Talk, echo, said, spans, values
from tests.growth import growth, quarters, times_longer
from tests.places import Place
from tests.sizes import share
from tests.waiting import wait_until

Opener = Callable[..., Memory]

SECRET = "Zanzibar"


def repeating(task: SummaryTask) -> str:
    """A summary that has the first words it was given."""
    return f"{task.messages[0].text} {echo(task)}" if task.messages else f"{task.summaries[0]} And so on."


def confided(opened: Opener) -> Talk:
    """A talk in which a place was said, repeated and summed up, and summed up again by others."""
    memory = opened("layered", summariser=Recorder(repeating))
    talk = Talk(memory)
    talk.add("user", f"I live in {SECRET}.", metadata={"place": SECRET})
    talk.add("assistant", f"{SECRET} is far away.")
    talk.turns(20, words=4)
    memory.settle()
    memory.accept(memory.regenerate(SESSION, summariser=Recorder(lambda task: f"Anew: {repeating(task)}")).id)
    memory.regenerate(SESSION)
    memory.milestone(SESSION, f"Moved to {SECRET}")
    memory.add_episode(SESSION, "pivot", f"Away to {SECRET}")
    memory.remember(f"The house in {SECRET} is blue", user_id=USER, tags=[SECRET])
    memory.search(SECRET, user_id=USER)
    assert SECRET in talk.context("Where is my house?").text
    return talk


def everything(talk: Talk) -> str:
    """All that a caller can still read of a user, as one text."""
    memory, user_id = talk.memory, talk.user_id
    sessions = [session.id for session in memory.sessions(user_id)]
    known = memory.facts(user_id, statuses=FACT_STATUSES), memory.episodes(user_id), memory.user_profile(user_id)
    held = [(memory.conversation(one), memory.messages(one), memory.summaries(one, live=False)) for one in sessions]
    found = memory.search("house in the place far away", user_id=user_id, top_k=100)
    made = memory.proposals(), memory.receipts(), memory.digest(user_id)
    return repr(encode([known, held, found, made, talk.context("Where is my house?")])).casefold()


@pytest.mark.parametrize(
    "forget",
    [
        pytest.param(lambda memory: memory.forget(text=SECRET.upper(), user_id=USER), id="by-its-words"),
        pytest.param(lambda memory: memory.forget(user_id=USER), id="the-whole-user"),
    ],
)
def test_what_is_forgotten_is_nowhere(opened: Opener, place: Place, forget: Callable[[Memory], Receipt]) -> None:
    """004.10: forgotten by its words or with the whole user, no verb tells it and no byte of the files has it."""
    talk = confided(opened)
    assert SECRET.casefold().encode() in place.every_byte()
    receipt = forget(talk.memory)
    assert (receipt.scrubbed, receipt.dry_run) == (True, False)
    assert (len(receipt.messages), len(receipt.facts), len(receipt.episodes), receipt.milestones) == (
        (2 if talk.memory.sessions(USER) else 42), 2, 1, 1,
    )  # fmt: skip
    assert receipt.summaries
    assert SECRET.casefold() not in everything(talk)
    assert SECRET.casefold().encode() not in place.every_byte(), "while it is open"
    assert talk.memory.verify().ok
    talk.memory.close()
    assert SECRET.casefold().encode() not in place.every_byte(), "once it is closed"


@pytest.mark.parametrize(
    "forget",
    [
        pytest.param(lambda memory, ids: memory.forget(message_id=ids[:2]), id="messages"),
        pytest.param(lambda memory, ids: memory.forget(session_id=SESSION, first=1, last=2), id="a-span"),
        pytest.param(lambda memory, ids: memory.forget(session_id=SESSION), id="a-session"),
        pytest.param(lambda memory, ids: memory.forget(fact_id=memory.facts(USER)[0].id), id="a-fact"),
    ],
)
def test_what_was_derived_goes_too(opened: Opener, place: Place, forget: Callable[..., Receipt]) -> None:
    """004.10: with messages, a session or a fact go the summaries, facts and index that came of them, and no more."""
    talk = Talk(opened("layered", summariser=Recorder(repeating)))
    talk.add("user", f"Hello, I live in {SECRET}.")
    talk.add("assistant", "That is far away.")
    talk.turns(29, words=4)
    other = Talk(talk.memory, session_id="other")
    other.add("user", "I prefer tea to coffee.")
    talk.memory.settle()
    ids = [message.id for message in talk.memory.messages(SESSION)]
    forget(talk.memory, ids)
    assert SECRET.casefold() not in everything(talk)
    assert SECRET.casefold().encode() not in place.every_byte()
    assert [fact.quote for fact in talk.memory.facts(USER)] == ["I prefer tea to coffee"]
    sessions = [session.id for session in talk.memory.sessions(USER)]
    if SESSION in sessions:
        assert [message.text for message in talk.memory.messages(SESSION, 3)] == [said(n, 4) for n in range(3, 61)]
        assert spans([summary.covers for summary in talk.summaries()]) == [(1, 20), (21, 40), (41, 60)], "rewritten"
    assert "other" in sessions
    assert talk.memory.verify().ok


def test_a_forgotten_fact_leaves_the_rest_of_its_message_and_is_not_learnt_again(opened: Opener, clock: Clock) -> None:
    """004.10: only its own words go; said again it is no fact any more, until it is told by hand."""
    talk = Talk(opened("layered"))
    talk.add("user", f"I am vegetarian. I live in {SECRET}.")
    talk.memory.settle()
    fact = next(one for one in talk.memory.facts(USER) if one.key == "location")
    receipt = talk.memory.forget(fact_id=fact.id)
    assert (len(receipt.redacted), receipt.values_blocked, receipt.mentions_left) == (1, 1, ())
    assert talk.memory.messages(SESSION)[0].text == "I am vegetarian. [forgotten]."
    assert values(talk.memory.facts(USER)) == ["vegetarian"]
    clock.ahead(days=1)
    talk.add("user", f"Did I say it? I live in {SECRET}.")
    talk.memory.settle()
    assert values(talk.memory.facts(USER, statuses=FACT_STATUSES)) == ["vegetarian"]
    talk.memory.remember(SECRET, user_id=USER, category="identity", key="location")
    assert SECRET in values(talk.memory.facts(USER))


def test_a_dry_run_changes_nothing(opened: Opener) -> None:
    """004.10: a dry run tells what would go, and leaves everything; the real one leaves a receipt without words."""
    talk = confided(opened)
    before = everything(talk)
    planned = talk.memory.forget(text=SECRET, user_id=USER, dry_run=True)
    assert planned.dry_run
    assert everything(talk) == before
    done = talk.memory.forget(text=SECRET, user_id=USER)
    assert (done.messages, done.facts, done.summaries) == (planned.messages, planned.facts, planned.summaries)
    (receipt,) = talk.memory.receipts()
    assert receipt.id == done.id
    assert SECRET not in repr(encode(receipt))


def test_opting_out(opened: Opener, place: Place) -> None:
    """004.10: a user who leaves is gone, others are not; without facts and episodes nothing is ever extracted."""
    memory = opened("layered")
    leaving, staying = Talk(memory, session_id="a", user_id="zoelander"), Talk(memory, session_id="b", user_id="sam")
    for talk in (leaving, staying):
        talk.add("user", f"My name is {talk.user_id.capitalize()}quill.")
        talk.turns(10, words=4)
    memory.settle()
    memory.forget(user_id="zoelander")
    assert not memory.sessions("zoelander")
    assert leaving.context(None).text == ""
    assert leaving.context("Who am I?").messages == [{"role": "user", "content": "Who am I?"}]
    assert b"zoelander" not in place.every_byte()
    assert values(memory.facts("sam")) == ["Samquill"]
    assert "Samquill" in staying.context("Who am I?").text
    private = Talk(opened(PROFILES["layered"].but(facts=False, episodes=False), name="private.db"))
    private.add("user", "My name is Alex.")
    private.memory.settle()
    assert not private.memory.facts(USER, statuses=FACT_STATUSES)


@pytest.mark.also_postgres
def test_opting_out_lasts(opened: Opener, place: Place) -> None:
    """004.14: what was derived goes, nothing more is derived by anybody, messages stay; opting in reads them again."""
    memory = opened("layered")
    talk, other = Talk(memory, session_id="a", user_id="zoe"), Talk(memory, session_id="b", user_id="sam")
    for one in (talk, other):
        one.add("user", f"My name is {one.user_id.capitalize()}quill. I will call the bank on Friday.")
        one.turns(12, words=6)
    memory.settle()
    assert memory.facts("zoe")
    assert memory.summaries("a")
    receipt = memory.opt_out("zoe")
    assert (len(receipt.messages), bool(receipt.facts), bool(receipt.summaries)) == (0, True, True)
    talk.add("user", "My cat is called Brutusquill.")
    talk.turns(12, words=6)
    assert memory.settle().failed == ()
    assert (memory.facts("zoe", statuses=FACT_STATUSES), memory.summaries("a", live=False)) == ([], [])
    assert (memory.episodes("zoe"), memory.backlog().unembedded) == ([], 0)
    assert len(memory.messages("a")) == 50
    with pytest.raises(OptedOut, match="opt_in"):
        memory.remember("Zoe likes tea.", user_id="zoe")
    context = talk.context("Who am I?")
    assert {item.section for item in context.manifest.items} == {"recent"}
    assert [one for one in context.manifest.warnings if "opted out" in one]
    assert memory.user_profile("zoe").opted_out == memory.opt_outs()[0].since
    assert memory.verify().ok
    assert values(memory.facts("sam"))[0] == "Samquill"
    memory.close()

    again = opened("layered")
    assert [(one.user_id, one.keep_log) for one in again.opt_outs()] == [("zoe", True)]
    assert again.opt_in("zoe") is not None
    assert again.opt_in("zoe") is None
    again.settle()
    assert "Zoequill" in values(again.facts("zoe"))
    assert again.summaries("a")
    assert again.verify().ok


@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_who_opted_out_is_met_anew_in_each_session(opened: Opener, profile: str) -> None:
    """004.14: a context has the conversation itself, and nothing that was said in another one."""
    memory = opened(profile)
    memory.opt_out(USER)
    memory.add("I'm Kim. I live in Porto.", user_id=USER, session_id="first")
    memory.add("My cat is called Miso.", user_id=USER, session_id="second")
    memory.settle()
    context = memory.context("Where do I live, and what is my cat called?", user_id=USER, session_id="second")
    assert "Miso" in context.text
    assert "Porto" not in context.text
    assert "opted out" in context.manifest.warnings[0]


@pytest.mark.also_postgres
def test_opting_out_without_a_log(opened: Opener, place: Place) -> None:
    """004.14: then the messages go, too, and what is added later is not stored; opted in, it can be said again."""
    memory = opened("layered")
    talk = Talk(memory, session_id="a", user_id="zoe")
    talk.add("user", "My name is Zoequill.")
    talk.turns(12, words=6)
    memory.settle()
    memory.opt_out("zoe", keep_log=False)
    added = memory.add("My cat is called Brutusquill.", user_id="zoe", session_id="a")
    assert (added.ids, added.span) == ((), None)
    memory.settle()
    assert memory.sessions("zoe") == []
    assert b"quill" not in place.every_byte().lower()
    assert talk.context("Who am I?").messages == [{"role": "user", "content": "Who am I?"}]
    memory.opt_in("zoe")
    memory.add("My name is Zoequill.", user_id="zoe", session_id="a")
    memory.settle()
    assert values(memory.facts("zoe")) == ["Zoequill"]


def test_a_fold_in_flight_is_not_kept_after_opting_out(opened: Opener) -> None:
    """004.14: a model that answers after the user has opted out wrote for nothing."""
    gate = Gate()
    memory = opened("layered", summariser=gate, worker=True)
    talk = Talk(memory)
    talk.turns(14, words=6)
    wait_until(lambda: gate.started == 1)
    memory.opt_out(USER)
    gate.opened = True
    assert memory.settle().failed == ()
    assert memory.summaries(SESSION, live=False) == []


@pytest.mark.parametrize("news", [False, True], ids=["adds-nothing", "has-news"])
def test_a_long_summary_that_adds_nothing_is_no_new_version(opened: Opener, news: bool) -> None:
    """004.11: compared by meaning before it is taken: the same again only widens the old one; news make version 2."""

    def long(task: SummaryTask) -> str:
        again = task.previous is not None and news
        return f"They count w1x0 and w2x0{' and now w99x0 too' * again}."

    talk = Talk(opened("layered", summariser=Recorder(lambda task: echo(task) if task.messages else long(task))))
    talk.turns(40, words=4)
    talk.memory.settle()
    (first,) = talk.summaries()
    talk.turns(40, words=4)
    talk.memory.settle()
    (second,) = talk.summaries()
    assert spans([first.covers, second.covers]) == [(1, 80), (1, 160)]
    versions = [summary.version for summary in talk.summaries(live=False) if summary.kind == "long"]
    assert (sorted(versions), second.version) == (([1, 2], 2) if news else ([1], 1))
    assert (second.id == first.id) is not news
    assert len(talk.memory.zoom(second.id)) == 160
    assert len(set(second.inputs)) == (5 if news else 8), "it refers to all it was made from"
    assert talk.memory.verify().ok


def test_summaries_are_checked_against_the_facts(opened: Opener, clock: Clock) -> None:
    """004.11: a summary with a value that no longer holds is reported as stale, one that lacks a value as missing."""
    table = Table(
        [
            Finding(words="I live in Porto", key="location", value="Porto", importance=0.9),
            Finding(words="I live in Lisbon", key="location", value="Lisbon", importance=0.9),
        ]
    )
    recorder = Recorder(lambda task: f"They live in Porto. {echo(task)}")
    talk = Talk(opened("layered", summariser=recorder, extractor=table))
    for text in ("I live in Porto", "I live in Lisbon"):
        talk.add("user", text)
        talk.add("assistant", "Noted.")
        clock.ahead(days=1)
    talk.turns(8, words=4)
    talk.memory.settle()
    (summary,) = talk.summaries()
    porto, lisbon = talk.memory.facts(USER)
    assert not talk.memory.consistency(USER), "Porto still holds"
    talk.memory.promote(lisbon.id)
    found = {(one.kind, one.fact_id, one.summary_id) for one in talk.memory.consistency(USER)}
    assert found == {("stale", porto.id, summary.id), ("missing", lisbon.id, summary.id)}
    both = Recorder(lambda task: f"They moved from Porto to Lisbon. {echo(task)}")
    talk.memory.accept(talk.memory.regenerate(SESSION, summariser=both).id)
    assert not talk.memory.consistency(USER), "rewritten, it tells the change"


def repeated(opened: Opener, number: int, name: str = "chat.db") -> Talk:
    """So many times the same, in other letters, and in the middle one that is like it; nothing is extracted yet."""
    table = Table(
        [
            Finding(words="I prefer tea", category="preference", value="Tea"),
            Finding(words="i PREFER TEA", category="preference", value="tEA"),
            Finding(words="I prefer the tee", category="preference", value="tee"),
        ]
    )
    profile = PROFILES["layered"].but(schedule=Batches(least=9_000, most=9_000))
    talk = Talk(opened(profile, name, extractor=table))
    texts = ["I prefer tea" if at % 2 else "i PREFER TEA" for at in range(number)]
    texts.insert(number // 2, "I prefer the tee")
    talk.memory.add([{"role": "user", "content": text} for text in texts], user_id=USER, session_id=SESSION)
    return talk


def test_five_thousand_repetitions_are_one_fact(opened: Opener) -> None:
    """004.11: exact detection at scale: 5,000 times the same, and one like it, are two facts, as are 50."""
    few, many = repeated(opened, 50, "few.db"), repeated(opened, share(5_000))
    for talk, number in ((few, 50), (many, share(5_000))):
        assert talk.memory.settle().facts == number + 1
        assert sorted(values(talk.memory.facts(USER))) == ["tEA", "tee"]
    context = many.context("Hello")
    assert sum(1 for item in context.manifest.items if item.section == "facts") == 2
    assert times_longer(lambda: many.context("Hello"), lambda: few.context("Hello"), most=10) <= 10


def test_a_repetition_takes_no_longer_after_many(opened: Opener) -> None:
    """Four times as many repetitions are read in about four times the time."""
    names = itertools.count()

    def make(number: int) -> Talk:
        return repeated(opened, number, f"{next(names)}.db")

    assert growth(lambda talk: talk.memory.settle(), make, quarters(1_250, 2), most=3) < 3
