"""Sessions of the OpenAI Agents SDK, driven by its own runner against a server on this machine."""

import asyncio
import json
from typing import Any

import pytest
from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    Session,
    SessionSettings,
    function_tool,
)
from hypothesis import given
from hypothesis import strategies as st
from openai import AsyncOpenAI

from lamina import AsyncMemory, InputError, Memory
from lamina.integrations.openai_agents import LaminaSession
from lamina.testing.llm_server import LlmServer, Said
from tests.sizes import examples

pytestmark = pytest.mark.anyio

QUIET = RunConfig(tracing_disabled=True)
CALL: dict[str, Any] = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_7",
    "name": "weather",
    "arguments": '{"city":"Ghent"}',
}
ITEMS: list[Any] = [
    {"role": "user", "content": "What is the weather in Ghent?"},
    {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Look it up."}],
     "encrypted_content": "gAAA"},
    {**CALL, "status": "completed", "something_new": {"of": ["theirs", None, 1.5]}},
    {"type": "function_call_output", "call_id": "call_7", "output": "rain"},
    {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "model": "m", "metadata": {"a": 1},
     "created_at": 3, "content": [{"type": "output_text", "text": "It rains.", "annotations": [], "logprobs": []}]},
    {"role": "user", "content": [{"type": "input_text", "text": "And this?"},
                                 {"type": "input_image", "image_url": "data:image/png;base64,AA==", "detail": "low"}]},
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "clouds"}},
    {"type": "computer_call_output", "call_id": "c2", "output": {"type": "computer_screenshot", "file_id": "f"}},
    {"type": "item_reference", "id": "msg_9"},
]  # fmt: skip


@pytest.fixture(params=["async", "blocking"])
async def memory(request, place):
    if request.param == "async":
        async with AsyncMemory(place()) as memory:
            yield memory
    else:
        with Memory(place()) as memory:
            yield memory


@pytest.mark.also_postgres
async def test_items_come_back_as_given_and_leave_for_good(memory, place):
    """All of them, the newest few, one popped, and none after clearing; what was popped is nowhere in the files."""
    session = LaminaSession("s1", memory, user_id="ana")
    assert isinstance(session, Session)
    assert await session.get_items() == []
    assert await session.pop_item() is None
    await session.clear_session()
    await session.add_items([])
    await session.add_items(ITEMS[:4])
    await session.add_items(ITEMS[4:])
    assert await session.get_items() == ITEMS
    assert await session.get_items(2) == ITEMS[-2:]
    assert await session.get_items(0) == []
    assert await session.get_items(100) == ITEMS
    assert await session.pop_item() == ITEMS[-1]
    assert await session.pop_item() == ITEMS[-2]
    assert await session.pop_item() == ITEMS[-3]
    assert await session.get_items() == ITEMS[:-3]
    assert b"clouds" not in place.every_byte()
    await session.add_items([{"role": "user", "content": "[forgotten]"}])
    assert await session.get_items(2) == [ITEMS[-4], {"role": "user", "content": "[forgotten]"}]
    await session.clear_session()
    assert await session.get_items() == []
    assert b"weather" not in place.every_byte()
    await session.add_items(ITEMS)
    assert await session.get_items() == ITEMS


@pytest.mark.parametrize("settings", [SessionSettings(limit=2), {"limit": 2}], ids=["settings", "dict"])
async def test_the_settings_of_a_session_limit_what_it_gives(settings):
    """Where no other limit is asked for."""
    async with AsyncMemory(":memory:") as memory:
        session = LaminaSession("s1", memory, session_settings=settings)
        await session.add_items(ITEMS)
        assert await session.get_items() == ITEMS[-2:]
        assert await session.get_items(3) == ITEMS[-3:]
        assert session.session_settings == SessionSettings(limit=2)
        assert await LaminaSession("s1", memory, session_settings={}).get_items() == ITEMS


@pytest.mark.parametrize("settings", [{"most": 2}, {"limit": "many"}, 2])
async def test_settings_that_are_none_are_refused(settings):
    async with AsyncMemory(":memory:") as memory:
        with pytest.raises(InputError, match="session_settings must be SessionSettings or such a dict"):
            LaminaSession("s1", memory, session_settings=settings)


@pytest.mark.also_postgres
async def test_of_many_who_pop_each_gets_another_item(place):
    """Also if they are in several processes, each with its own session; what is left is None."""
    async with AsyncMemory(place(), embedder="none") as memory:
        items: list[Any] = [{"role": "user", "content": f"Ship {number}"} for number in range(6)]
        await LaminaSession("s1", memory).add_items(items)
        sessions = [LaminaSession("s1", memory) for _ in range(9)]
        popped: list[Any] = [*await asyncio.gather(*(session.pop_item() for session in sessions))]
        assert sorted(item["content"] for item in popped if item) == [item["content"] for item in items]
        assert await sessions[0].get_items() == []


async def test_items_can_be_read_and_popped_while_the_session_is_cleared(place):
    """They are there, or are not."""
    async with AsyncMemory(place(), embedder="none") as memory:
        session = LaminaSession("s1", memory)
        items: list[Any] = [{"role": "user", "content": f"Ship {number}"} for number in range(3)]
        for _ in range(4):
            await session.add_items(items)
            work: list[Any] = [session.get_items(), session.get_items(2), session.clear_session(), session.get_items()]
            work += [session.pop_item(), session.clear_session(), session.get_items(), session.add_items(items[:1])]
            found = await asyncio.gather(*work)
            assert all(item in items for answer in (found[0], found[1], found[3], found[6]) for item in answer)
            await session.clear_session()
            assert await session.get_items() == []


async def test_what_cannot_be_kept_is_refused_whole():
    async with AsyncMemory(":memory:") as memory:
        session = LaminaSession("s1", memory)
        wrong: list[Any] = [ITEMS[0], "hello"]
        with pytest.raises(InputError, match="an item must be a dict"):
            await session.add_items(wrong)
        with pytest.raises(InputError, match="NUL"):
            await session.add_items([ITEMS[0], {"role": "user", "content": "\0"}])
        assert await session.get_items() == []
        with pytest.raises(InputError, match="remembered=True"):
            LaminaSession("s1", memory, budget=100)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(exclude_categories=["Cs", "Cc"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)
keys = st.sampled_from(
    ["type", "id", "call_id", "name", "arguments", "output", "summary", "metadata", "model", "tool_calls", "zz"]
)


@given(items=st.lists(st.dictionaries(keys, json_values, max_size=6), max_size=4))
@examples(60)
def test_any_item_comes_back(items):
    """Whatever JSON it is: what has no role is kept beside a message that stands for it."""
    with Memory(":memory:", worker=False) as memory:
        session = LaminaSession("s1", memory)

        async def there_and_back():
            await session.add_items(items)
            return await session.get_items()

        assert json.dumps(asyncio.run(there_and_back())) == json.dumps(items)


# with the runner


@function_tool
def weather(city: str) -> str:
    """The weather in a city."""
    return f"rain in {city}"


def responded(*output):
    return Said(text="", extra={"output": list(output)})


def message(text, number=1) -> Any:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"id": f"msg_{number}", "type": "message", "role": "assistant", "status": "completed", "content": [part]}


def client(server):
    return AsyncOpenAI(base_url=server.url, api_key="none", max_retries=0)


async def test_a_run_keeps_its_items_and_the_next_one_sees_them(place):
    """With the Responses API: reasoning, a tool call, its output and the answer."""
    with LlmServer() as server:
        async with AsyncMemory(place()) as memory, client(server) as openai:
            agent = Agent(
                name="Guide", tools=[weather], model=OpenAIResponsesModel(model="test-model", openai_client=openai)
            )
            session = LaminaSession("s1", memory, user_id="ana")
            thought = {"type": "reasoning", "id": "rs_1", "summary": []}
            server.then(responded(thought, CALL), responded(message("It rains in Ghent.")))
            result = await Runner.run(agent, "How is Ghent?", session=session, run_config=QUIET)
            assert result.final_output == "It rains in Ghent."
            kept: list[Any] = [*await session.get_items()]
            assert [item.get("type", item.get("role")) for item in kept] == [
                "user", "reasoning", "function_call", "function_call_output", "message",
            ]  # fmt: skip
            assert kept[3]["output"] == "rain in Ghent"
            server.then(responded(message("As I said: rain.", 2)))
            await Runner.run(agent, "Sure?", session=session, run_config=QUIET)
            sent = server.asked("responses")[-1].body["input"]
            assert sent == [*kept, {"role": "user", "content": "Sure?"}]
            assert len(await session.get_items()) == 7
            await memory.settle()
            hits = await memory.search("rain in Ghent", user_id="ana", role="tool")
            assert [hit.text for hit in hits] == ["rain in Ghent"]


async def remarks(session):
    for number in range(30):
        told = f"Remark {number} about the long harbour wall and its stones."
        told = "The key of the boathouse hangs behind the clock." if number == 2 else told
        await session.add_items([{"role": "user", "content": told}, message("Noted.", number)])


async def test_a_run_sees_what_is_remembered(place):
    """Facts of other sessions and the newest turns within the budget; nothing of it is stored again."""
    with LlmServer(lambda _: "Noted.") as server:
        async with AsyncMemory(place()) as memory, client(server) as openai:
            await memory.add("I'm Ana. I am allergic to nuts.", user_id="ana", session_id="before")
            agent = Agent(name="Guide", model=OpenAIChatCompletionsModel(model="test-model", openai_client=openai))
            session = LaminaSession("s1", memory, user_id="ana", remembered=True, budget=400)
            await remarks(session)
            await memory.settle()
            before = len(await session.get_items(1000))
            await Runner.run(agent, "What may I eat?", session=session, run_config=QUIET)
            sent = server.asked("chat")[-1]
            first = sent.body["messages"][0]
            assert first["role"] == "developer"
            assert "nuts" in first["content"]
            assert "Remark 29" in sent.text
            assert "boathouse" not in sent.text
            after: list[Any] = [*await session.get_items(1000)]
            assert [item["role"] for item in after[before:]] == ["user", "assistant"]


async def test_a_run_sees_what_is_recalled_for_its_input(place):
    """With `recall` as the callback; neither what it puts in nor the history is stored again."""
    with LlmServer(lambda _: "Behind the clock.") as server:
        async with AsyncMemory(place(), profile="project") as memory, client(server) as openai:
            agent = Agent(name="Guide", model=OpenAIChatCompletionsModel(model="test-model", openai_client=openai))
            session = LaminaSession("s1", memory, user_id="ana", remembered=True, budget=400)
            await remarks(session)
            await memory.settle()
            before = len(await session.get_items(1000))
            recalling = RunConfig(tracing_disabled=True, session_input_callback=session.recall)
            question = "Where is the key of the boathouse?"
            await Runner.run(agent, question, session=session, run_config=recalling)
            sent = server.asked("chat")[-1]
            assert any("behind the clock" in text for text in sent.texts[:-1])
            assert sent.texts.count(question) == 1
            after: list[Any] = [*await session.get_items(1000)]
            assert [item["role"] for item in after[before:]] == ["user", "assistant"]


async def test_calls_and_outputs_stay_together_in_what_is_remembered():
    async with AsyncMemory(":memory:") as memory:
        session = LaminaSession("s1", memory, remembered=True)
        await session.add_items(ITEMS[:4])
        assert await session.get_items() == [
            ITEMS[0],
            {key: CALL[key] for key in ("type", "call_id", "name", "arguments")},
            ITEMS[3],
        ]


async def test_messages_from_elsewhere_are_items_too():
    async with AsyncMemory(":memory:") as memory:
        call = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
        chat = [
            {"role": "user", "content": "Hello", "metadata": {"from": "the web"}},
            {"role": "assistant", "content": "Let me see.", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "rain"},
        ]
        await memory.add(chat, session_id="s1")
        session = LaminaSession("s1", memory)
        called = {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": "{}"}
        output = {"type": "function_call_output", "call_id": "c1", "output": "rain"}
        whole: list[Any] = [
            {"role": "user", "content": "Hello"},
            {"role": "assistant", "content": "Let me see."},
            called,
            output,
        ]
        assert await session.get_items() == whole
        assert await session.get_items(2) == [called, output]
        assert await session.pop_item() == output
