"""The server for tests, by the official client: whole answers, honest streams, and the ways in which it fails."""

import asyncio
import threading
import time
from typing import Any

import openai
import pytest

from lamina.testing.llm_server import Asked, Fault, LlmServer, Said
from tests.waiting import CEILING, until

pytestmark = pytest.mark.anyio

HI = [{"role": "user", "content": "hi there"}]


def client(server: LlmServer) -> Any:  # so that messages may be plain values
    return openai.AsyncOpenAI(base_url=server.url, api_key="k", max_retries=0, timeout=CEILING)


async def test_chat_models_and_embeddings():
    """The plain answers, with usage; the journal keeps what was asked."""
    with LlmServer(lambda asked: f"You said {asked.texts[-1]}.") as server:
        async with client(server) as ai:
            done = await ai.chat.completions.create(model="m", messages=HI)
            assert done.choices[0].message.content == "You said hi there."
            assert done.usage is not None
            assert (done.usage.prompt_tokens, done.usage.completion_tokens) == (2, 4)
            assert [model.id async for model in ai.models.list()] == ["test-model"]
            vectors = await ai.embeddings.create(model="e", input=["a b", "a b", "c"], encoding_format="float")
            first, second, third = (row.embedding for row in vectors.data)
            assert first == second != third
            assert len(first) == 64
        assert [asked.kind for asked in server.journal] == ["chat", "models", "embeddings"]
        assert server.journal[0].headers["authorization"] == "Bearer k"
        assert server.journal[0].body["messages"] == HI


class Pauses(threading.Event):
    """A server's pauses, each of which ends when the test lets it, not after its seconds."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: list[float | None] = []
        self.over = threading.Semaphore(0)

    def wait(self, timeout: float | None = None) -> bool:
        self.seconds.append(timeout)
        self.over.acquire(timeout=CEILING)
        return self.is_set()


async def test_a_stream_comes_piece_by_piece_with_its_timing_and_usage():
    """The first piece waits as told, so does each other; the usage comes last, if it is asked for."""
    answer = Said(text="one two three", pieces=["one", " two", " three"], first_seconds=0.06, gap_seconds=0.04)
    with LlmServer(lambda asked: answer) as server:
        server.stopping = pauses = Pauses()
        async with client(server) as ai:
            pieces, usage = [], None
            stream = await ai.chat.completions.create(
                model="m", messages=HI, stream=True, stream_options={"include_usage": True}
            )
            await until(lambda: pauses.seconds == [0.06])
            pauses.over.release()
            async for chunk in stream:
                usage = chunk.usage or usage
                if chunk.choices and chunk.choices[0].delta.content:
                    pieces.append(chunk.choices[0].delta.content)
                    await until(lambda: pauses.seconds == [0.06, 0.04, 0.04][: len(pieces) + 1])
                    pauses.over.release()
                if chunk.choices and chunk.choices[0].finish_reason:
                    assert chunk.choices[0].finish_reason == "stop"
            assert pieces == ["one", " two", " three"]
            assert usage is not None
            assert usage.completion_tokens == 3


async def test_a_pause_takes_its_time():
    """An answer waits as long as it was told to, or until the server stops."""
    with LlmServer(lambda asked: Said(text="one", first_seconds=0.06)) as server:
        async with client(server) as ai:
            began = time.monotonic()
            await ai.chat.completions.create(model="m", messages=HI)
            assert time.monotonic() - began >= 0.05


async def collect(stream: Any, pieces: list[str]) -> None:
    async for chunk in stream:
        pieces += [choice.delta.content for choice in chunk.choices if choice.delta.content]


async def test_a_stream_may_break_off_half_way():
    """Then the client sees an error, after the pieces that came."""
    with LlmServer(lambda asked: Said(text="one two three four", hang_up_after=2)) as server:
        async with client(server) as ai:
            stream = await ai.chat.completions.create(model="m", messages=HI, stream=True)
            pieces: list[str] = []
            with pytest.raises(Exception, match=r"(?i)closed|peer|incomplete|connection"):
                await collect(stream, pieces)
            assert "".join(pieces).split() == ["one", "two"]


async def test_a_caller_who_leaves_a_stream_is_noted():
    """The server stops sending, and goes on serving others."""
    with LlmServer(lambda asked: Said(text="word " * 100_000, gap_seconds=0.005)) as server:
        async with client(server) as ai:
            stream = await ai.chat.completions.create(model="m", messages=HI, stream=True)
            async for _ in stream:
                break
            await stream.close()
            server.brain = lambda asked: "next"
            done = await ai.chat.completions.create(model="m", messages=HI)
            assert done.choices[0].message.content == "next"
            await until(lambda: server.hung_up)
            assert len(server.hung_up) == 1


TOOL = {"type": "function", "function": {"name": "facts", "parameters": {"type": "object"}}}


async def test_tools_whole_and_streamed():
    """With tools the answer is what the function is called with."""
    with LlmServer(lambda asked: '{"a": [1, 2]}') as server:
        async with client(server) as ai:
            done = await ai.chat.completions.create(model="m", messages=HI, tools=[TOOL])
            (call,) = done.choices[0].message.tool_calls or []
            assert call.function.arguments == '{"a": [1, 2]}'
            assert done.choices[0].finish_reason == "tool_calls"
            stream = await ai.chat.completions.create(model="m", messages=HI, tools=[TOOL], stream=True)
            parts, names = "", []
            async for chunk in stream:
                for one in chunk.choices[0].delta.tool_calls or [] if chunk.choices else []:
                    parts += one.function.arguments or ""
                    names += [one.function.name] if one.function.name else []
            assert (parts, names) == ('{"a": [1, 2]}', ["facts"])


async def test_responses_whole_and_streamed():
    """With a hosted prompt and an input; as a stream, every event that the client's own types know."""
    with LlmServer(lambda asked: "A new summary.") as server:
        async with client(server) as ai:
            whole = await ai.responses.create(prompt={"id": "pmpt_1", "version": "3"}, input="text")
            assert whole.output_text == "A new summary."
            assert server.asked("responses")[0].body["prompt"] == {"id": "pmpt_1", "version": "3"}
            kinds, text = [], ""
            async for event in await ai.responses.create(prompt={"id": "pmpt_1"}, input="text", stream=True):
                kinds.append(event.type)
                if event.type == "response.output_text.delta":
                    text += event.delta
                if event.type == "response.completed":
                    assert event.response.output_text == "A new summary."
            assert text == "A new summary."
            assert (kinds[0], kinds[-1]) == ("response.created", "response.completed")


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        pytest.param(Fault(status=503, body="overloaded"), openai.InternalServerError, id="text"),
        pytest.param(Fault.busy("7"), openai.RateLimitError, id="busy"),
        pytest.param(Fault(ends="hung up"), openai.APIConnectionError, id="hung-up"),
        pytest.param(
            Fault(status=200, body={"choices": []}, ends="half-way"), openai.APIConnectionError, id="half-way"
        ),
    ],
)
async def test_faults_come_as_told_and_once(fault, error):
    """The one after is answered."""
    with LlmServer(lambda asked: "fine").then(fault) as server:
        async with client(server) as ai:
            with pytest.raises(error) as caught:
                await ai.chat.completions.create(model="m", messages=HI)
            if isinstance(caught.value, openai.RateLimitError):
                assert caught.value.response.headers["retry-after"] == "7"
            done = await ai.chat.completions.create(model="m", messages=HI)
            assert done.choices[0].message.content == "fine"


async def test_a_server_that_wants_a_key():
    with LlmServer(key="right") as server:
        async with client(server) as ai:
            with pytest.raises(openai.AuthenticationError):
                await ai.models.list()


async def test_it_can_be_stopped_while_it_answers():
    """Slow answers end with it, and a stopped one has no address."""
    with LlmServer(lambda asked: Said(text="late", first_seconds=CEILING)) as server:
        ai = client(server)
        call = asyncio.create_task(ai.chat.completions.create(model="m", messages=HI))
        await until(lambda: server.journal)
    with pytest.raises(openai.APIConnectionError):
        await call
    await ai.close()
    with pytest.raises(RuntimeError, match="not running"):
        _ = server.url
    assert Asked(at=0, method="GET", path="/v1/other/", headers={}, body={}).kind == "other"
