"""History and retriever for LangChain, in its own chains."""

from datetime import datetime
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import RunnableLambda

from lamina import InputError, Memory
from lamina.integrations.langchain import LaminaChatMessageHistory, LaminaRetriever

SAID: list[BaseMessage] = [
    SystemMessage("Be brief."),
    HumanMessage("What is the weather in Ghent?", id="h1", name="ana"),
    AIMessage(
        "",
        id="run-1",
        tool_calls=[{"name": "weather", "args": {"city": "Ghent"}, "id": "c1", "type": "tool_call"}],
        usage_metadata={"input_tokens": 5, "output_tokens": 2, "total_tokens": 7},
        response_metadata={"finish_reason": "tool_calls"},
    ),
    ToolMessage("rain", tool_call_id="c1", artifact={"mm": 3}, status="success"),
    AIMessage([{"type": "text", "text": "It rains."}, {"type": "thinking", "thinking": "hm", "signature": "x"}]),
    HumanMessage([{"type": "text", "text": "And here?"}, {"type": "image_url", "image_url": {"url": "data:,"}}]),
    AIMessageChunk(content="Ca"),
    ChatMessage(content="A note.", role="narrator"),
    ChatMessage(content="Another.", role="assistant"),
    FunctionMessage(content="3", name="add"),
    RemoveMessage("h1"),
]


@pytest.mark.also_postgres
def test_messages_come_back_as_given_until_they_are_cleared(memory, place):
    history = LaminaChatMessageHistory("s1", memory, user_id="ana")
    assert history.messages == []
    history.clear()
    history.add_messages([])
    history.add_messages(SAID[:3])
    history.add_messages(SAID[3:])
    assert history.messages == SAID
    history.add_user_message("The kingfisher flew.")
    history.add_ai_message("Noted.")
    assert [message.content for message in history.messages[-2:]] == ["The kingfisher flew.", "Noted."]
    memory.settle()
    assert [hit.text for hit in memory.search("rain", user_id="ana", role="tool")] == ["rain"]
    history.clear()
    assert history.messages == []
    assert b"kingfisher" not in place.every_byte()


@pytest.mark.anyio
async def test_the_awaited_forms_do_the_same(memory):
    history = LaminaChatMessageHistory("s1", memory)
    await history.aadd_messages(SAID)
    assert await history.aget_messages() == SAID
    await history.aclear()
    assert await history.aget_messages() == []


def test_what_was_forgotten_is_left_out_and_what_came_otherwise_is_in():
    with Memory(":memory:") as memory:
        history = LaminaChatMessageHistory("s1", memory)
        history.add_messages([HumanMessage("My card is 4242."), AIMessage("Noted.")])
        memory.add({"role": "user", "content": "Hello from elsewhere"}, session_id="s1")
        memory.forget(text="4242")
        assert history.messages == [AIMessage("Noted."), HumanMessage("Hello from elsewhere")]


def test_what_is_no_json_is_refused_whole():
    with Memory(":memory:") as memory:
        history = LaminaChatMessageHistory("s1", memory)
        with pytest.raises(InputError, match="cannot be written as JSON"):
            history.add_messages([HumanMessage("a"), ToolMessage("b", tool_call_id="c", artifact=object())])
        assert history.messages == []


def test_a_chain_with_history_and_recall(memory):
    """What was said in another session reaches the prompt as a document, what was said here as messages."""
    memory.add("The boathouse key hangs behind the clock.", user_id="ana", session_id="before")
    memory.settle()
    history = LaminaChatMessageHistory("s1", memory, user_id="ana")
    history.add_messages([HumanMessage("Hello"), AIMessage("Good day.")])
    retriever = LaminaRetriever(memory=memory, user_id="ana", top_k=1, filters={"kinds": ["message"], "role": "user"})
    prompt = ChatPromptTemplate([("system", "Known: {known}"), MessagesPlaceholder("said"), ("human", "{question}")])
    seen: list[list[BaseMessage]] = []

    def look(value: Any) -> Any:
        seen.append(value.to_messages())
        return value

    chain: Any = (
        {
            "known": retriever | (lambda documents: documents[0].page_content),
            "said": lambda _: history.messages,
            "question": lambda question: question,
        }
        | prompt
        | RunnableLambda(look)
        | FakeListChatModel(responses=["Behind the clock."])
    )
    assert chain.invoke("Where is the key of the boathouse?").content == "Behind the clock."
    assert [message.content for message in seen[0]] == [
        "Known: The boathouse key hangs behind the clock.",
        "Hello",
        "Good day.",
        "Where is the key of the boathouse?",
    ]


@pytest.mark.anyio
async def test_documents_tell_where_they_are_from(memory):
    memory.add(
        {"id": "m1", "role": "user", "content": "I live in Ghent.", "name": "Ana"}, user_id="ana", session_id="s1"
    )
    memory.settle()
    retriever = LaminaRetriever(memory=memory, user_id="ana")
    documents = retriever.invoke("Where do I live?")
    (message,) = [document for document in documents if document.metadata["kind"] == "message"]
    assert (message.id, message.page_content) == ("m1", "I live in Ghent.")
    assert 0 < message.metadata["score"] <= 1
    assert datetime.fromisoformat(message.metadata["created_at"]) == memory.message("m1").created_at
    told = {key: message.metadata[key] for key in ("user_id", "session_id", "message_ids", "role", "name")}
    assert told == {"user_id": "ana", "session_id": "s1", "message_ids": ["m1"], "role": "user", "name": "Ana"}
    assert await retriever.ainvoke("Where do I live?") == documents
    assert LaminaRetriever(memory=memory, user_id="bo").invoke("Where do I live?") == []
    picky = LaminaRetriever(memory=memory, user_id="ana", min_score=0.3)
    assert [document.metadata["score"] > 0.5 for document in picky.invoke("Where do I live?")][:1] == [True]
    assert picky.invoke("Who won the match yesterday?") == []
    bees = memory.remember("She keeps bees", user_id="ana")
    (fact,) = LaminaRetriever(memory=memory, user_id="ana", filters={"kinds": ["fact"]}).invoke("bees")
    assert (fact.id, fact.page_content, fact.metadata["kind"]) == (bees.id, "She keeps bees", "fact")


@pytest.fixture
def told(memory):
    for number, colour in enumerate(("blue", "green", "red", "white")):
        memory.add(f"The boat {number} in the harbour is {colour}.", user_id="ana", session_id=f"s{number}")
    memory.add("The harbour of Bo has one boat.", user_id="bo", session_id="b")
    memory.settle()
    return LaminaRetriever(memory=memory, user_id="ana", filters={"kinds": ["message"]})


@pytest.mark.anyio
@pytest.mark.parametrize("awaited", [False, True])
async def test_arguments_of_a_call_go_before_those_of_the_retriever(told, awaited):
    """For that call, in a chain, too; the retriever stays as it is."""

    async def found(**given):
        asked = "Which boat is in the harbour?"
        documents = await told.ainvoke(asked, **given) if awaited else told.invoke(asked, **given)
        return [document.metadata["session_id"] for document in documents]

    assert len(await found()) == 4
    assert [len(await found(top_k=number)) for number in (1, 3)] == [1, 3]
    assert await found(user_id="bo", top_k=1) == ["b"]
    assert await found(session_id="s2") == ["s2"]
    assert await found(filters={"session_id": "s1"}) == ["s1"]
    assert await found(filters={"kinds": ["fact"], "types": ["goal"]}) == []
    bound = told.bind(top_k=2)
    assert len(await bound.ainvoke("boat") if awaited else bound.invoke("boat")) == 2
    with pytest.raises(InputError, match=r"a search has no \['k'\]; there are user_id, top_k, filters, project_id"):
        await found(k=1)
    with pytest.raises(InputError, match="top_k must be"):
        await found(top_k=0)
    assert len(await found()) == 4


def test_a_retriever_refuses_what_it_does_not_know(memory):
    for wrong in ({"k": 1}, {"search_kwargs": {"k": 1}}):
        with pytest.raises(ValueError, match="Extra inputs are not permitted"):
            LaminaRetriever(memory=memory, **wrong)
    with pytest.raises(InputError, match="a search has no"):
        LaminaRetriever(memory=memory, filters={"colour": "red"}).invoke("boat")
