"""Something is forgotten, or folded by another process, between two steps of a verb: nothing of it comes back."""

import pytest

from lamina import Conflict, InputError
from lamina.protocols.models import FactDraft
from lamina.values.fact import Consolidated
from tests.ship_talk import PROFILE, talk, turn

pytestmark = pytest.mark.anyio


def meanwhile(patch, memory, verb, act, *, after=False):
    """Has something happen just before (or after) a verb of the store is called for the first time."""
    store = memory._parts.store
    real = getattr(store, verb)

    async def called(*args, **options):
        patch.undo()
        if not after:
            await act()
        done = await real(*args, **options)
        if after:
            await act()
        return done

    patch.setattr(store, verb, called)


@pytest.fixture
async def memory(opened):
    """One folded session with a fact in it."""
    memory = await opened(profile=PROFILE.but(facts=True))
    await memory.add({"role": "user", "content": "My name is Ann.", "id": "m1"}, user_id="ann", session_id="s1")
    await talk(memory, turns=6)
    await memory.settle()
    return memory


async def forgotten(memory):
    await memory.forget(message_id="m1")


async def test_a_proposal_of_words_that_are_gone_is_not_kept(memory, monkeypatch):
    """Regenerated from what was forgotten meanwhile, it is refused."""
    meanwhile(monkeypatch, memory, "put_proposal", lambda: forgotten(memory))
    with pytest.raises(Conflict, match="forgotten meanwhile; regenerate again"):
        await memory.regenerate("s1")
    assert await memory.proposals() == []


async def test_facts_that_are_gone_do_not_come_with_a_proposal(memory, monkeypatch):
    """Forgotten between its summaries and its facts, they stay away."""
    proposal = await memory.regenerate("s1")
    meanwhile(monkeypatch, memory, "commit", lambda: forgotten(memory), after=True)
    with pytest.raises(Conflict, match="its facts were left as they are"):
        await memory.accept(proposal.id)
    assert await memory.facts("ann", categories=["identity"]) == []
    assert (await memory.verify()).problems == ()


async def test_an_acceptance_is_not_taken_back_once_the_session_went_on(memory):
    """The summaries from before know nothing of what was folded since."""
    proposal = await memory.regenerate("s1")
    await memory.accept(proposal.id)
    for number in range(6):
        await memory.add(turn(number), user_id="ann", session_id="s1")
    assert (await memory.settle()).folds > 0
    live = await memory.summaries("s1")
    with pytest.raises(Conflict, match="since it was accepted"):
        await memory.roll_back(proposal.id)
    assert await memory.summaries("s1") == live


async def test_what_was_dropped_is_not_regenerated(opened, clock):
    """The error says from where on it can be."""
    memory = await opened(profile=PROFILE.but(keep_message_days=30.0))
    await talk(memory, turns=6)
    await memory.settle()
    clock.advance(hours=24 * 31)
    dropped = (await memory.consolidate()).messages_dropped
    with pytest.raises(InputError, match="words of message 1 were dropped by a retention rule; give a `first` behind"):
        await memory.regenerate("s1")
    assert (await memory.regenerate("s1", first=dropped + 1)).status == "open"


@pytest.mark.parametrize(("gone", "left"), [("crack", "leak"), ("leak", "crack")])
async def test_episodes_that_are_gone_are_not_joined(memory, monkeypatch, gone, left):
    """A consolidation that was overtaken changes nothing, and says so; whichever was to go into the other is left."""
    for title in ("Found the leak", "Found the crack"):
        await memory.add_episode("s1", "breakthrough", title, significance=0.4)
    meanwhile(monkeypatch, memory, "commit_facts", lambda: memory.forget(text=gone, user_id="ann"))
    assert await memory.consolidate("ann") == Consolidated()
    assert [episode.title for episode in await memory.episodes("ann")] == [f"Found the {left}"]


@pytest.mark.parametrize("verb", ["retract", "consolidate"])
async def test_what_was_read_before_a_forgetting_does_not_bring_words_back(opened, path, monkeypatch, verb):
    """Neither a decision on another fact of the message nor a consolidation that began before."""
    memory = await opened(profile=PROFILE.but(facts=True, episodes=True), extractor=Whole())
    said = "Annalena, a welder, and Zanzibarquay: we decided to use Postgres because it is boring."
    await memory.add(said, user_id="ann", session_id="s9")
    await memory.add("We decided to use Redis for the queue.", user_id="ann", session_id="s9")
    await memory.settle()
    facts = {fact.value: fact for fact in await memory.facts("ann")}
    other, fact = facts["Annalena"], facts["Zanzibarquay"]
    assert fact.quote == other.quote == said
    assert any("Zanzibarquay" in one.summary for one in await memory.episodes("ann"))
    for title in ("Found the leak", "Found the crack"):
        await memory.add_episode("s9", "breakthrough", title, significance=0.4)
    meanwhile(monkeypatch, memory, "commit_facts", lambda: memory.forget(fact_id=fact.id))
    if verb == "retract":
        assert (await memory.retract(other.id)).status == "retracted"
    else:
        await memory.consolidate("ann")
    assert (await memory.fact(other.id)).quote == said.replace("Zanzibarquay", "[forgotten]")
    assert (await memory.verify()).ok
    await memory.close()
    assert b"Zanzibarquay" not in path.read_bytes()


class Whole:
    """An extractor that quotes all of a message for each fact."""

    name = "whole"

    async def extract(self, messages):
        return [
            FactDraft(message_id=message.id, category="identity", key=word, value=word, quote=message.text, start=0,
                      end=len(message.text), confidence=0.9, importance=0.5)
            for message in messages
            for word in ("Annalena", "Zanzibarquay")
            if word in message.text
        ]  # fmt: skip


@pytest.mark.parametrize(
    ("verb", "skipped"),
    [
        pytest.param(
            "commit", "summary of a session, which will be written again: it was folded meanwhile", id="folded"
        ),
        pytest.param("commit_facts", None, id="read"),
    ],
)
async def test_an_import_that_a_worker_overtakes(memory, opened, tmp_path, path, monkeypatch, verb, skipped):
    """What another process has made of the messages stands; there is nothing twice."""
    await memory.export(tmp_path / "out.jsonl", user_id="ann")
    await memory.close()
    path.unlink()
    taker, worker = [await opened(profile=PROFILE.but(facts=True)) for _ in range(2)]
    meanwhile(monkeypatch, taker, verb, worker.settle)
    taken = await taker.import_(tmp_path / "out.jsonl")
    assert taken.messages == 13
    assert skipped is None or skipped in taken.skipped
    await taker.settle()
    assert [fact.value for fact in await taker.facts("ann", categories=["identity"])] == ["Ann"]
    assert (await taker.verify()).problems == ()
