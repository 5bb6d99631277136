"""What the servers of the inspector's tests remember."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from lamina import PROFILES, Llm, Memory, Price
from lamina.knowledge.told import Told, facts_of
from lamina.parts import Patience
from lamina.protocols.models import SummaryDraft
from lamina.protocols.store import FactsCommit
from lamina.testing import FakeClock, WordCounter
from lamina.testing.llm_server import LlmServer

USER = "mara"
ENDLESS = "mara-in-one"
TRICKSTER = "<b>mal</b>\u202e"
TRICKY = "s</title><script>1</script>\u2066"
TRICKS = (
    "<script>document.title = 'owned'</script>",
    "<img src=x onerror=\"document.title='owned'\"> My name is <b>Mallory</b>.",
    "</p></article></main><h1 id=injected>broken out</h1>",
    "javascript:alert(1) [click](javascript:alert(1)) data:text/html,<script>1</script>",
    "I live in \u202eotroP\u202c now, and \u2066hidden\u2069 is \u200bnot\u00ad here\ufeff.",
    "{{constructor.constructor('return 1')()}} ${7*7} <%= 7*7 %> &lt;b&gt;",
    "<svg/onload=document.title='owned'><style>*{display:none}</style>",
    "a" * 5000,
    "שלום <iframe src='http://203.0.113.7/'></iframe> مرحبا \u202e\u202e\u202e",
    "My favourite colour is <link rel=stylesheet href=http://203.0.113.7/x.css>.",
)


def fill_hostile(memory: Any) -> None:
    """Say every trick, as every role, under names that are tricks, too."""
    for number, trick in enumerate(TRICKS * 6):
        memory.add(
            [
                {"role": "user", "content": trick, "name": "x<i>y"},
                {"role": "assistant", "content": f"You said: {trick} ({number})"},
            ],
            user_id=TRICKSTER,
            session_id=TRICKY,
        )
    memory.remember("<script>1</script> likes <b>tea</b>", user_id=TRICKSTER, key="<i>drink</i>")
    memory.remember("\u202eeffoc", user_id=TRICKSTER, key="<i>drink</i>")
    memory.settle()


CROWD, CROWDED = "ada", "crowded"
SAID = 1000


def fill_crowded(file: Path) -> None:
    """A session of hundreds of small summaries."""
    said = [{"role": "user" if number % 2 else "assistant", "content": f"Pier {number}."} for number in range(SAID)]
    with Memory(file, profile=PROFILES["default"].but(fold_tokens=12, facts=False), worker=False) as memory:
        memory.add(said, user_id=CROWD, session_id=CROWDED)
        memory.settle()


TRAVELLER = "noor"
TRIPS = {"at home": "+02:00", "on tour": "-07:00", "at work": "+05:30"}


def fill_zones(memory: Any) -> None:
    """What somebody says around midnight, in three zones: by UTC, it was another day."""
    said = {
        "at home": [("2025-07-26T00:30:00", "My name is Noor. I live in Ghent.")],
        "on tour": [
            ("2025-08-20T23:40:00", "I moved to Porto yesterday."),
            ("2025-08-20T23:45:00", "My favourite drink is green tea."),
        ],
        "at work": [("2025-09-03T00:10:00", "I have worked at Acme since March 2023.")],
    }
    for session, messages in said.items():
        spoken = [{"role": "user", "content": text, "created_at": f"{at}{TRIPS[session]}"} for at, text in messages]
        memory.add(spoken, user_id=TRAVELLER, session_id=session)
    memory.settle()


READER = "\u05e8\u05d5\u05ea"  # who writes from right to left
SAID_IN_HEBREW = (
    "\u05d0\u05e0\u05d9 \u05d2\u05e8\u05d4 \u05d1\u05d7\u05d9\u05e4\u05d4. See http://example.com/" + "a" * 300 + "?q=1"
)
SAID_IN_ARABIC = "\u0623\u0633\u0643\u0646 \u0641\u064a \u0639\u0645\u0627\u0646 (3)."


def fill_letters(memory: Any) -> None:
    """What is read from right to left, and words that are longer than a line."""
    memory.add(
        [{"role": "user", "content": SAID_IN_HEBREW}, {"role": "user", "content": SAID_IN_ARABIC}, "x" * 400],
        user_id=READER,
        session_id="letters",
    )
    memory.rename("letters", SAID_IN_ARABIC)
    memory.remember(SAID_IN_ARABIC, user_id=READER, key="\u0645\u0643\u0627\u0646")
    memory.remember("http://example.com/" + "b" * 300, user_id=READER, key="homepage")
    memory.settle()


BUSY = "bea"
TALKS = 500


def fill_sessions(memory: Any) -> None:
    """Many sessions, each a day after the one before; of the titles, one is like no other."""
    for number in range(TALKS):
        at = datetime(2024, 1, 1, 9, tzinfo=UTC) + timedelta(days=number)
        memory.add({"role": "user", "content": "Hello.", "created_at": at}, user_id=BUSY, session_id=f"talk {number}")
        title = "Which boat to buy" if number == 137 else f"Notes on harbour {number}"
        memory.rename(f"talk {number}", title)


TROUBLED = "ines"
TROUBLED_PROFILE = "layered"  # marks values that disagree, instead of taking the newest
FAILING = "tom"
FORGETFUL = "otto"  # of whom something is forgotten
RETRIED, GIVEN_UP, WAITING = "talk to retry", "talk that was given up", "talk that waits"
ACCEPTED, PROPOSED = "test-model 0", "test-model-mini 2"  # sessions that were written anew
PRICE = Price(input=2.5, output=10.0)


class FickleCounter(WordCounter):
    """Counts until it is told to break."""

    broken = False

    def count(self, text: str) -> int:
        if self.broken:
            raise ZeroDivisionError
        return super().count(text)


class FirstSentences:
    """A summariser of which one sees at once that it is another one."""

    name = "first-sentences"

    async def summarise(self, task: Any) -> SummaryDraft:
        said = [f"{message.role}: {message.text.split('. ')[0]}" for message in task.messages]
        return SummaryDraft(text="\n".join([*task.keep, *said[:12]]), topics=("sentences",))


def fill_troubled(file: Path) -> None:
    """What a smooth talk lacks: values that disagree, fade or were taken back, bills, and sessions that fail.

    All in the last seven weeks, by a clock that is set; both models are asked on the third of five days.
    """
    clock = FakeClock(datetime.now(UTC) - timedelta(days=49))
    options: dict[str, Any] = {"profile": TROUBLED_PROFILE, "now": clock, "worker": False}
    with Memory(file, **options) as memory:
        memory.remember("likes mild cheese", user_id=TROUBLED, importance=0.4)
        wrong = memory.remember("vegan", user_id=TROUBLED, key="diet")
        clock.advance(days=40)
        memory.retract(wrong.id)
        assert memory.consolidate(TROUBLED).archived
    with LlmServer() as server:
        for model, towns in (
            ("test-model", ("Porto", "Ghent", "Porto")),
            ("test-model-mini", ("Lyon", "Porto", "Oslo")),
        ):
            llm = Llm(base_url=server.url, model=model, prices={"*": PRICE})
            with Memory(file, llm=llm, **options) as memory:
                for number, town in enumerate(towns):
                    if number:
                        clock.advance(days=1)
                    talk(memory, f"{model} {number}", town, turns=10 + 4 * number)
                    memory.end(f"{model} {number}")
                    memory.settle()
    with Memory(file, **options) as memory:
        talk(memory, "long talk", "Porto", turns=48)
        memory.end("long talk")
        memory.add(
            ["I am allergic to penicillin.", "The code of the door is 4242.", "It is raining today."],
            user_id=FORGETFUL,
            session_id="at the doctor's",
        )
        memory.settle()
        proposal = memory.regenerate(ACCEPTED)
        assert proposal.changes
        memory.accept(proposal.id)
        assert memory.regenerate(PROPOSED, summariser=FirstSentences()).changes
    _fail(file, (RETRIED, GIVEN_UP), Patience(aside_after=1))
    _fail(file, (WAITING,), Patience(backoff_seconds=3600))


def talk(memory: Any, session: str, town: str, turns: int = 14, user: str = TROUBLED) -> None:
    """So many turns about a town, the first with something to know."""
    said = [f"My name is Ines. I live in {town}."]
    said += [f"On day {number} the ship carries {number * 3} crates of tea to {town}." for number in range(1, turns)]
    answers = [f"Day {number} is noted." for number in range(turns)]
    spoken = [
        {"role": role, "content": text}
        for pair in zip(said, answers, strict=True)
        for role, text in zip(("user", "assistant"), pair, strict=True)
    ]
    memory.add(spoken, user_id=user, session_id=session)


MOVED = "ida"


def fill_moved(file: Path) -> None:
    """One who moves in one talk, while another talk goes on: its summary still has the old town."""
    clock = FakeClock(datetime(2025, 5, 1, 9, tzinfo=UTC))
    with Memory(file, now=clock, worker=False) as memory:
        memory.add("I live in Ghent.", user_id=MOVED, session_id="about ships")
        memory.settle()
        clock.advance(days=1)
        memory.add("I moved to Porto.", user_id=MOVED, session_id="about home")
        clock.advance(days=1)
        carried = [f"On day {number} the ship carries {number * 3} crates of tea." for number in range(1, 80)]
        memory.add(carried, user_id=MOVED, session_id="about ships")
        memory.end("about ships")
        memory.settle()


def _fail(file: Path, sessions: tuple[str, ...], patience: Patience) -> None:
    """Sessions that are worked on once, in vain."""
    counter = FickleCounter()
    with Memory(file, profile=TROUBLED_PROFILE, counter=counter, patience=patience, worker=False) as memory:
        for session in sessions:
            talk(memory, session, "Oslo", user=FAILING)
        counter.broken = True
        assert set(memory.settle().failed) >= set(sessions)


OF_MANY = "alex"
MANY = 1200  # more than come at first


def fill_many(memory: Any, user: str = OF_MANY) -> None:
    """A fact for each of many keys, in one go."""
    inside = memory._memory
    begun = datetime(2025, 1, 1, tzinfo=UTC)
    facts = tuple(
        fact
        for number in range(MANY)
        for fact in facts_of(
            Told(
                user_id=user,
                text=f"value {number}",
                type="fact",
                category=None,
                key=f"key {number:04}",
                tags=(),
                importance=None,
                confidence=1.0,
                valid_from=begun,
                valid_until=None,
            ),
            None,
            (),
            now=begun,
            new_id=lambda: inside._parts.new_id("fact"),
            model="",
        )
    )
    commit = FactsCommit(user_id=user, rule=inside._knowledge._reader.rule, put=facts)
    memory._loop.run(inside._parts.store.commit_facts(commit))
