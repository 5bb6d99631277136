"""The memory for LlamaIndex, in one of its chat engines."""

import sys

import pytest
from llama_index.core.base.llms.types import ChatMessage, ImageBlock, MessageRole, TextBlock, ToolCallBlock
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import MockLLM
from llama_index.core.memory import BaseMemory
from llama_index.core.schema import QueryBundle

from lamina import InputError, Memory
from lamina.integrations.llamaindex import LaminaMemory

SAID = [
    ChatMessage(role=MessageRole.USER, content="What is the weather in Ghent?"),
    ChatMessage(
        role=MessageRole.ASSISTANT,
        blocks=[
            TextBlock(text="Let me see."),
            ToolCallBlock(tool_call_id="c1", tool_name="weather", tool_kwargs={"city": "Ghent"}),
        ],
    ),
    ChatMessage(role=MessageRole.TOOL, content="rain", additional_kwargs={"tool_call_id": "c1", "more": [1, None]}),
    ChatMessage(role=MessageRole.CHATBOT, content="It rains."),
    ChatMessage(role=MessageRole.TOOL, content="of nobody's call"),
    ChatMessage(role=MessageRole.FUNCTION, content="3", additional_kwargs={"name": "add"}),
    ChatMessage(
        role=MessageRole.USER, blocks=[TextBlock(text="And this?"), ImageBlock(url="https://example.org/a.png")]
    ),
    ChatMessage(role=MessageRole.ASSISTANT, content=""),
]


@pytest.mark.also_postgres
def test_messages_come_back_as_put_until_they_are_reset(memory, place):
    kept = LaminaMemory.from_defaults(memory=memory, session_id="s1", user_id="ana")
    assert isinstance(kept, BaseMemory)
    assert kept.class_name() == "LaminaMemory"
    kept.put_messages([])
    assert kept.get_all() == []
    assert kept.get("Anything?") == []
    kept.reset()
    kept.put_messages(SAID[:2])
    for message in SAID[2:]:
        kept.put(message)
    assert kept.get_all() == SAID
    assert kept.get() == SAID
    memory.settle()
    assert [hit.text for hit in memory.search("rain", user_id="ana", role="tool")] == ["rain"]
    kept.reset()
    assert kept.get_all() == []
    assert b"weather" not in place.every_byte()


def test_setting_appends_what_is_new_and_forgets_what_is_not_there(memory):
    kept = LaminaMemory.from_defaults(memory=memory, session_id="s1", chat_history=SAID[:2])
    before = [message.id for message in memory.messages("s1")]
    kept.set(SAID)
    assert kept.get_all() == SAID
    assert [message.id for message in memory.messages("s1")][:2] == before
    kept.set(SAID[3:4])
    assert kept.get_all() == SAID[3:4]
    assert before[0] not in [message.id for message in memory.messages("s1")]
    kept.set([])
    assert kept.get_all() == []


def test_what_is_remembered_fits_the_budget_and_has_what_was_asked_for(place):
    with Memory(place(), profile="project") as memory:
        kept = LaminaMemory.from_defaults(memory=memory, session_id="s1", user_id="ana", budget=400)
        memory.add("The boathouse key hangs behind the clock.", user_id="ana", session_id="before")
        for number in range(30):
            kept.put(ChatMessage(role=MessageRole.USER, content=f"Remark {number} about the long harbour wall."))
        memory.settle()
        question = "Where is the key of the boathouse?"
        found = kept.get(question)
        (system,) = [message for message in found if message.role is MessageRole.SYSTEM]
        assert "behind the clock" in str(system.content)
        said = [message.content for message in found if message.role is MessageRole.USER]
        assert said[-1] == "Remark 29 about the long harbour wall."
        assert len(said) < 30
        kept.put(ChatMessage(role=MessageRole.USER, content=question))
        assert [message.content for message in kept.get(question)].count(question) == 1
        assert kept.get(question)[-1].content == question


def test_a_chat_engine_sees_what_is_remembered(memory):
    """Its model says what it was given: the fact of another session, and the question once."""
    memory.add("I'm Ana. I am allergic to nuts.", user_id="ana", session_id="before")
    memory.settle()
    kept = LaminaMemory.from_defaults(memory=memory, session_id="s1", user_id="ana")
    engine = SimpleChatEngine.from_defaults(llm=MockLLM(), memory=kept)
    answer = str(engine.chat("What may I eat?"))
    assert "nuts" in answer
    assert answer.count("What may I eat?") == 1
    assert [message.role.value for message in kept.get_all()] == ["user", "assistant"]
    engine.reset()
    assert kept.get_all() == []
    assert "nltk" not in sys.modules  # which would look for its data in the network


@pytest.mark.anyio
async def test_the_awaited_forms_do_the_same(memory):
    kept = LaminaMemory.from_defaults(memory=memory, session_id="s1")
    await kept.aput(SAID[0])
    await kept.aput_messages(SAID[1:3])
    assert await kept.aget_all() == SAID[:3]
    assert await kept.aget() == SAID[:3]
    await kept.aset(SAID[:1])
    assert await kept.aget_all() == SAID[:1]
    await kept.areset()
    assert await kept.aget_all() == []


def test_messages_from_elsewhere_are_given_and_nothing_is_kept_without_a_memory():
    with Memory(":memory:") as memory:
        call = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
        chat = [
            {"role": "user", "content": [{"type": "text", "text": "Hello"}]},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "rain"},
        ]
        memory.add(chat, session_id="s1")
        called = ToolCallBlock(tool_call_id="c1", tool_name="weather", tool_kwargs="{}")
        assert LaminaMemory.from_defaults(memory=memory, session_id="s1").get_all() == [
            ChatMessage(role=MessageRole.USER, content="Hello"),
            ChatMessage(role=MessageRole.ASSISTANT, blocks=[called]),
            ChatMessage(role=MessageRole.TOOL, content="rain", additional_kwargs={"tool_call_id": "c1"}),
        ]
    with pytest.raises(InputError, match="give the Memory"):
        LaminaMemory.from_defaults(session_id="s1")


@pytest.mark.anyio
async def test_any_kind_of_input_is_asked_with(memory):
    memory.add("The boathouse key hangs behind the clock.", user_id="ana", session_id="before")
    memory.settle()
    kept = LaminaMemory.from_defaults(memory=memory, session_id="s1", user_id="ana")
    question = "Where is the key of the boathouse?"
    found = kept.get(question)
    assert "behind the clock" in str(found)
    assert kept.get(QueryBundle(question)) == found
    assert kept.get(ChatMessage(role=MessageRole.USER, content=question)) == found
    assert await kept.aget(QueryBundle(question)) == found  # type: ignore[arg-type]
    with pytest.raises(InputError, match="a QueryBundle or a ChatMessage, not int"):
        kept.get(7)  # type: ignore[arg-type]


def test_tokens_that_are_used_already_count(memory):
    """As the chat engines tell it of their own prompts."""
    kept = LaminaMemory.from_defaults(memory=memory, session_id="s1", budget=400)
    kept.put_messages([ChatMessage(role=MessageRole.USER, content=f"Ship {n} left Porto.") for n in range(60)])
    every, some = kept.get(), kept.get(initial_token_count=300)
    assert 0 < len(some) < len(every)
    assert some[-1] == every[-1]
    for wrong in (400, -1, "many"):
        with pytest.raises(InputError, match="below the budget of 400"):
            kept.get(initial_token_count=wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"not \['token_limit'\]"):
        kept.get(token_limit=5)
    with pytest.raises(InputError, match=r"has no \['token_limit'\]; there are session_id, user_id, budget"):
        LaminaMemory.from_defaults(memory=memory, session_id="s1", token_limit=5)
