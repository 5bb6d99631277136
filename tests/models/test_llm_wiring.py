"""A memory put together with language models: by one value, by hand, in any loop."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from lamina import PROFILES, AsyncMemory, InputError, Llm, Memory, MissingExtra, Price
from lamina.errors import StoreBusy
from lamina.models.llm.endpoint import Endpoint
from lamina.models.llm.llm_summariser import LlmSummariser
from lamina.testing.llm_server import LlmServer, Said, data_of, sensible
from tests.models.endpoints import ListLedger, llm_for

PROFILE = PROFILES["project"].but(max_recent_messages=4, chunk_size=4)
SAID = [f"Remark {number} about the harbour wall and its crack." for number in range(1, 7)]


@pytest.mark.anyio
async def test_an_awaited_memory_uses_and_closes_the_connections_of_its_loop():
    with LlmServer() as server:
        llm = llm_for(server)
        for _ in range(2):
            async with AsyncMemory(":memory:", profile=PROFILE, llm=llm, tenant="team") as memory:
                await memory.add(SAID, session_id="s1")
                await memory.settle()
                assert (await memory.summaries("s1"))[0].recipe.model == "test-model"
                assert {cost.model for cost in await memory.costs()} == {"test-model"}


@pytest.mark.anyio
async def test_a_budget_holds_over_restarts(place):
    """What was spent is in the store, by day."""
    with LlmServer(lambda asked: Said(text=sensible(asked), usage=(600_000, 0))) as server:
        llm = llm_for(server, prices={"*": Price(input=1.0)}, budget_per_day=1.0, use=("summaries",))
        recipes = []
        for number in range(4):
            async with AsyncMemory(place("costs.db"), profile=PROFILE, llm=llm) as memory:
                await memory.add(SAID, session_id=f"s{number}")
                await memory.settle()
                recipes += [one.recipe for one in await memory.summaries(f"s{number}")]
                (cost,) = await memory.costs()
                assert await memory.costs("2100-01-01") == []
        assert (cost.purpose, cost.model, cost.calls, cost.cost) == ("summary", "test-model", 2, 1.2)
        assert [recipe.model for recipe in recipes[:2]] == ["test-model", "test-model"]
        assert "budget of this day" in str(recipes[-1].fallback)


@pytest.mark.anyio
async def test_a_cost_that_cannot_be_kept_is_in_the_log(monkeypatch, caplog):
    """What was called is paid for: its answer is used, and it is not called again."""

    async def busy(entry):
        raise StoreBusy("the database is locked")

    with LlmServer() as server:
        async with AsyncMemory(":memory:", profile=PROFILE, llm=llm_for(server), worker=False) as memory:
            monkeypatch.setattr(memory._parts.store, "add_cost", busy)
            await memory.add(SAID, session_id="s1")
            await memory.settle()
            assert (await memory.summaries("s1"))[0].recipe.model == "test-model"
            assert await memory.costs() == []
        told = [record for record in caplog.records if record.message == "cost_not_kept"]
        assert len(told) == len(server.asked())
        assert told[0].reason == "the database is locked"


def test_a_model_made_by_hand():
    """Its connections are closed with the memory, and it can be used in the next."""
    with LlmServer() as server:
        summariser = LlmSummariser(Endpoint(llm_for(server)))
        for _ in range(2):
            with Memory(":memory:", profile=PROFILE, summariser=summariser, worker=False) as memory:
                memory.add(SAID, session_id="s1")
                memory.settle()
                assert memory.summaries("s1")[0].recipe.model == "test-model"
        assert {asked.way for asked in server.asked()} == {"text"}


def test_without_a_name_the_model_is_the_profiles():
    """003: MEMORY_SUMMARIZER_MODEL; a name of one's own wins."""
    with LlmServer(lambda asked: "They said alpha.", refuses=("hosted",)) as server:
        for model, used in ((None, "gpt-5.1-nano"), ("mine", "mine")):
            with Memory(":memory:", profile="chunked", llm=llm_for(server, model=model), worker=False) as memory:
                for number in range(40):
                    memory.add(
                        {"role": "assistant" if number % 2 else "user", "content": "alpha " * 160}, session_id="s1"
                    )
                memory.settle()
                assert memory.summaries("s1")[0].recipe.model == used
                assert server.asked()[-1].body["model"] == used


def test_what_is_wrong_is_said_before_a_file_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "chat.db"
    wrong: Any = "gpt-5"
    with pytest.raises(InputError, match="llm must be an Llm"):
        Memory(path, llm=wrong)
    with pytest.raises(InputError, match="needs a model"):
        Memory(":memory:", llm=Llm(base_url="http://localhost:1/v1"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"lamina\[openai\]"):
        Memory(path, llm=Llm(model="m"))
    with pytest.raises(MissingExtra, match=r"lamina\[openai\]"):
        Memory(path, embedder=Llm(model="m"))
    assert not path.exists()


def test_regenerating_with_a_model_and_a_prompt_of_ones_own():
    """What was written offline is written anew by the model, with that prompt; facts are read again too."""
    with LlmServer() as server:
        with Memory(":memory:", profile=PROFILE, worker=False) as memory:
            memory.add(["My name is Alex.", *SAID], user_id="alex", session_id="s1")
            memory.settle()
            summariser = LlmSummariser(Endpoint(llm_for(server)))
            proposal = memory.regenerate("s1", summariser=summariser, prompts={"chunk": "In [CAP] words: [MESSAGES]"})
            memory.accept(proposal.id)
            (summary,) = memory.summaries("s1")
            assert (summary.recipe.model, summary.recipe.prompt) == ("test-model", "chunk@0")
            with pytest.raises(InputError, match="no prompts"):
                memory.regenerate("s1", prompts={"guard": "Obey."})
            memory._loop.run(summariser.endpoint.close())  # type: ignore[union-attr]
        assert server.asked()[0].texts[1].startswith("In 200 words: <data ")


def test_a_large_session_is_read_again_in_batches():
    """Each within the time that a model has."""
    with LlmServer() as server:
        llm = llm_for(server, use=("facts",))
        with Memory(":memory:", profile=PROFILE, llm=llm, worker=False) as memory:
            memory.add([f"My name is Alex. {text}" for text in SAID * 10], user_id="alex", session_id="s1")
            memory.settle()
            assert memory.regenerate("s1").changes == ()
        assert [len(data_of(asked)) for asked in server.asked()] == [10] * 12


def test_a_digest_by_the_model():
    """The last sessions for a new one; where the model fails, offline at once."""
    with LlmServer() as server, Memory(":memory:", profile="default", llm=llm_for(server), worker=False) as memory:
        for session in ("s1", "s2"):
            memory.add(SAID, user_id="alex", session_id=session)
            memory.end(session)
        memory.settle()
        digest = memory.digest("alex")
        assert digest is not None
        assert (digest.recipe.model, digest.recipe.prompt) == ("test-model", "digest@2")
        server.brain = lambda asked: "I'm sorry, I can't."
        memory.add(SAID, user_id="alex", session_id="s3")
        memory.end("s3")
        memory.settle()
        digest = memory.digest("alex")
        assert digest is not None
        assert digest.recipe.model == "offline-1"


def test_a_ledger_of_ones_own_is_shared_by_all_memories():
    """And the budget is each tenant's own."""
    with LlmServer(lambda asked: Said(text=sensible(asked), usage=(2_000_000, 0))) as server:
        prices = {"*": Price(input=1.0)}
        llm = llm_for(server, prices=prices, budget_per_month=1.0, use=("summaries",), ledger=ListLedger())
        written = []
        for tenant in ("a", "a", "b"):
            with Memory(":memory:", profile=PROFILE, llm=llm, tenant=tenant, worker=False) as memory:
                memory.add(SAID, session_id="s1")
                memory.settle()
                written.append(memory.summaries("s1")[0].recipe.model)
                assert memory.costs() == []
        assert written == ["test-model", "offline-1", "test-model"]
