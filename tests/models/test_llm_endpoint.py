"""An endpoint by the real client against a real server: ways, faults, tries, bounds, money and secrets."""

import asyncio
import importlib.util
import logging
import threading
import time
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from lamina import InputError, Llm, MissingExtra, ModelError, Price
from lamina.models.llm.endpoint import Endpoint
from lamina.parts import Patience
from lamina.profiles import Hosted
from lamina.settings import load_settings
from lamina.testing import FakeClock
from lamina.testing.llm_server import Answer, Asked, Fault, LlmServer, Said
from tests.models.endpoints import PLAIN, SHAPED, ListLedger, Watch, endpoint_to, llm_for
from tests.waiting import CEILING, until

pytestmark = pytest.mark.anyio

FACTS = '{"facts": []}'
NEVER = Said(text="late", first_seconds=CEILING)  # as long as the server runs


@pytest.fixture
def watch(monkeypatch) -> Watch:
    return Watch().give(monkeypatch)


def facts(asked: Asked) -> Answer:
    return FACTS


# Ways


@pytest.mark.parametrize(
    ("refuses", "ways"),
    [
        pytest.param((), ["json_schema"], id="json-schema"),
        pytest.param(("json_schema",), ["json_schema", "tools"], id="tools"),
        pytest.param(("json_schema", "tools"), ["json_schema", "tools", "json_object"], id="json-object"),
        pytest.param(
            ("json_schema", "tools", "json_object"), ["json_schema", "tools", "json_object", "text"], id="text"
        ),
    ],
)
async def test_the_best_way_is_found_once_and_remembered(refuses, ways):
    """The next question goes that way at once."""
    with LlmServer(facts, refuses=refuses) as server:
        async with endpoint_to(server) as endpoint:
            assert (await endpoint.answer(SHAPED)).text == FACTS
            assert (await endpoint.answer(SHAPED)).text == FACTS
            assert endpoint.way == ways[-1]
        assert [asked.way for asked in server.asked()] == [*ways, ways[-1]]


async def test_what_is_sent_in_each_way():
    """A strict schema; a forced call of the function; JSON mode."""
    with LlmServer(facts, refuses=("json_schema", "tools")) as server:
        async with endpoint_to(server, temperature=0.2, headers={"X-Team": "blue"}) as endpoint:
            await endpoint.answer(SHAPED)
        schema, tools, mode = (asked.body for asked in server.asked())
        assert schema["response_format"]["json_schema"]["strict"] is True
        assert tools["tool_choice"] == {"type": "function", "function": {"name": "facts"}}
        assert mode["response_format"] == {"type": "json_object"}
        assert schema["temperature"] == 0.2
        assert schema["max_tokens"] == SHAPED.room
        assert server.asked()[0].headers["x-team"] == "blue"


async def test_a_request_that_no_way_can_save_is_an_error_and_nothing_is_learnt():
    """Four times 400, then the reason; the next question begins anew."""
    with LlmServer(facts) as server:
        server.then(*[Fault(status=422, body={"detail": "context too long"})] * 4)
        async with endpoint_to(server) as endpoint:
            with pytest.raises(ModelError, match="422: context too long"):
                await endpoint.answer(SHAPED)
            assert endpoint.way is None
            await endpoint.answer(SHAPED)
            assert endpoint.way == "json_schema"


async def test_what_a_server_does_not_know_is_left_out():
    """`max_completion_tokens` for `max_tokens`, and no temperature, where it is refused."""
    with LlmServer(lambda asked: "Hi.", refuses=("max_tokens", "temperature")) as server:
        async with endpoint_to(server, temperature=0.0) as endpoint:
            for _ in range(2):
                assert (await endpoint.answer(PLAIN)).text == "Hi."
        assert len(server.asked()) == 4
        assert set(server.asked()[-1].body) == {"model", "messages", "max_completion_tokens"}


async def test_more_room_than_a_server_has_is_not_asked_for_again():
    """Then an answer may be as long as the server lets it."""

    def strict(asked: Asked) -> Answer:
        limit = asked.body.get("max_tokens") or asked.body.get("max_completion_tokens")
        return "Hi." if limit is None else Fault(status=400, body={"error": f"max_tokens is too large: {limit}"})

    with LlmServer(strict) as server:
        async with endpoint_to(server) as endpoint:
            assert (await endpoint.answer(PLAIN)).text == "Hi."
        assert len(server.asked()) == 3


async def test_room_to_think():
    with LlmServer(lambda asked: "Hi.") as server:
        async with endpoint_to(server, thinking_tokens=1000) as endpoint:
            await endpoint.answer(PLAIN)
        assert server.asked()[0].body["max_tokens"] == PLAIN.room + 1000


# Faults


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(Fault(status=500), id="500"),
        pytest.param(Fault(status=503, body="<html>busy</html>"), id="503-text"),
        pytest.param(Fault(status=502, body='{"error": "upstream"}'), id="502-string"),
        pytest.param(Fault(status=408), id="408"),
        pytest.param(Fault.busy(), id="429"),
        pytest.param(Fault(ends="hung up"), id="hung-up"),
        pytest.param(Fault(status=200, body={"choices": [1] * 50}, ends="half-way"), id="half-way"),
        pytest.param(Fault(status=200, body='{"choices": [{"mess'), id="malformed"),
        pytest.param(Fault(status=200, body="Hello."), id="no-json"),
        pytest.param(Fault(status=200, body={"result": "Hello."}), id="wrong-shape"),
        pytest.param(Fault(status=200, body=[]), id="a-list"),
        pytest.param(Fault(status=200, body={"choices": []}), id="no-choices"),
        pytest.param(Fault(status=200, body="[" * 50_000), id="deep"),
        pytest.param(Fault(status=200, body={"error": {"message": "model is loading"}}), id="error-in-200"),
    ],
)
async def test_what_may_pass_is_tried_again(fault):
    """Two failures of any kind, then the answer."""
    with LlmServer(lambda asked: "Hi.").then(fault, fault) as server:
        async with endpoint_to(server) as endpoint:
            assert (await endpoint.answer(PLAIN)).text == "Hi."
        assert len(server.asked()) == 3


async def test_tries_are_counted_and_spaced(watch):
    """Three more, each after twice the wait, spread by half; then an error that says how often."""
    with LlmServer(lambda asked: Fault(status=500)) as server:
        async with endpoint_to(server, backoff_seconds=0.08) as endpoint:
            with pytest.raises(ModelError, match=r"500: told to fail with 500 \(tried 4 times\)"):
                await endpoint.answer(PLAIN)
        assert len(server.asked()) == 4
        assert len(watch.pauses) == 3
        for pause, most in zip(watch.pauses, (0.08, 0.16, 0.32), strict=True):
            assert most / 2 <= pause <= most


async def test_the_pause_before_another_try_is_real():
    """The server is left alone for that long."""
    with LlmServer(lambda asked: "Hi.").then(Fault.busy("0.05")) as server:
        async with endpoint_to(server) as endpoint:
            await endpoint.answer(PLAIN)
        first, second = (asked.at for asked in server.asked())
        assert second - first >= 0.045


async def test_the_server_says_how_long_to_wait(watch):
    """`Retry-After` counts more than the usual wait, in seconds or as a date."""
    with LlmServer(lambda asked: "Hi.").then(Fault.busy("0.3"), Fault.busy("Thu, 01 Jan 1970 00:00:00 GMT")) as server:
        async with endpoint_to(server, backoff_seconds=5.0) as endpoint:
            await endpoint.answer(PLAIN)
        assert watch.pauses == [0.3, 0.0]
        assert len(server.asked()) == 3


async def test_a_wait_that_is_too_long_is_an_error_at_once(watch):
    """Nobody is held up for an hour."""
    with LlmServer(lambda asked: Fault.busy("3600")) as server:
        async with endpoint_to(server) as endpoint:
            with pytest.raises(ModelError, match="asks to wait 3600 s"):
                await endpoint.answer(PLAIN)
        assert watch.pauses == []
        assert len(server.asked()) == 1


@pytest.mark.parametrize("status", [401, 403, 404, 413])
async def test_what_cannot_pass_is_not_tried_again(status):
    with LlmServer(lambda asked: Fault(status=status)) as server:
        async with endpoint_to(server) as endpoint:
            with pytest.raises(ModelError, match=str(status)):
                await endpoint.answer(SHAPED)
        assert len(server.asked()) == 1


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        pytest.param({"read_seconds": 0.1, "retries": 1}, r"in time .*read_seconds 0.1\) \(tried 2", id="read"),
        pytest.param({"total_seconds": 0.3}, r"no answer within 0.3 s; .*total_seconds.*llm_seconds", id="total"),
    ],
)
async def test_nothing_waits_for_ever(bounds, message):
    """A server that is silent as long as it runs: each read and the whole have their time, and the error names it."""
    with LlmServer(lambda asked: NEVER) as server:
        async with endpoint_to(server, **bounds) as endpoint:
            with pytest.raises(ModelError, match=message):
                await endpoint.answer(PLAIN)


async def test_a_slow_answer_is_taken_and_the_log_says_what_to_change(watch, caplog):
    """More than half of the time that it may take; a quicker one is not worth a word."""

    def brain(asked: Asked) -> str:
        watch.seconds += 301.0 if "slow" in asked.text else 299.0
        return "Here you are."

    with LlmServer(brain) as server:
        async with endpoint_to(server, total_seconds=600.0) as endpoint:
            for text in ("quick", "slow"):
                ask = replace(PLAIN, messages=(("user", text),))
                assert (await endpoint.answer(ask)).text == "Here you are."
    (slow,) = [record for record in caplog.records if record.getMessage() == "llm_slow"]
    assert (slow.seconds, slow.limit, slow.setting) == (301.0, 600.0, "llm_seconds")


def test_the_default_times_fit_a_small_model_on_one_core():
    """An answer of 275 seconds, and two corrections of it."""
    assert Llm(model="m").total_seconds > 2 * 275
    assert Patience().model_seconds > 3 * 275
    settings = load_settings({"LAMINA_LLM_MODEL": "m"})
    llm = settings.llm()
    assert llm is not None
    assert (llm.total_seconds, settings.patience().model_seconds) == (600.0, 900.0)


async def test_nobody_listens():
    """A server that is not there."""
    with LlmServer() as server:
        llm = llm_for(server, retries=1)
    endpoint = Endpoint(llm)
    with pytest.raises(ModelError, match="no connection"):
        await endpoint.answer(PLAIN)
    await endpoint.close()


# Bounds


async def test_the_breaker_opens_tries_once_and_closes(watch):
    """After three failures in a row nothing is sent; after a while one call goes out and all may again."""
    with LlmServer(lambda asked: Fault(status=500)) as server:
        async with endpoint_to(server, retries=0, breaker_failures=3, breaker_seconds=30.0) as endpoint:
            for _ in range(3):
                with pytest.raises(ModelError, match="500"):
                    await endpoint.answer(PLAIN)
            for _ in range(5):
                watch.seconds += 5
                with pytest.raises(ModelError, match="has failed too often"):
                    await endpoint.answer(PLAIN)
            assert len(server.asked()) == 3
            server.brain = lambda asked: "Hi."
            watch.seconds += 5
            assert (await endpoint.answer(PLAIN)).text == "Hi."
            assert (await endpoint.answer(PLAIN)).text == "Hi."
        assert len(server.asked()) == 5


async def test_a_refused_or_busy_server_is_not_down():
    """400 and 429 are answers: the breaker stays closed."""
    with LlmServer(lambda asked: Fault(status=400 if len(server.journal) % 2 else 429)) as server:
        async with endpoint_to(server, retries=0, breaker_failures=1) as endpoint:
            for _ in range(4):
                with pytest.raises(ModelError, match=r"400|429"):
                    await endpoint.answer(PLAIN)
        assert len(server.asked()) == 4


async def test_calls_wait_for_their_turn(watch):
    """120 a minute, all used up but one: the next ones come half a second apart."""
    with LlmServer(lambda asked: "Hi.") as server:
        async with endpoint_to(server, requests_per_minute=120) as endpoint:
            endpoint._requests.take(119, watch.seconds)
            await asyncio.gather(*(endpoint.answer(PLAIN) for _ in range(3)))
            assert watch.pauses == pytest.approx([0.5, 1.0])
            for _ in range(4):
                endpoint._requests.take(120, watch.seconds)
            with pytest.raises(ModelError, match="rate limit would make this call wait"):
                await endpoint.answer(PLAIN)
        assert len(server.asked()) == 3


async def test_tokens_that_were_not_used_are_given_back():
    """An answer is expected to be as long as it may be; afterwards what it was counts."""
    with LlmServer(lambda asked: Said(text="Hi.", usage=(10, 2))) as server:
        async with endpoint_to(server, tokens_per_minute=1_000) as endpoint:
            await endpoint.answer(replace(PLAIN, room=900))
            assert endpoint._tokens.take(980, time.monotonic()) == 0.0


async def test_tokens_a_minute_count_too(watch):
    with LlmServer(lambda asked: "Hi.") as server:
        async with endpoint_to(server, tokens_per_minute=10_000) as endpoint:
            endpoint._tokens.take(10_000, watch.seconds)
            await endpoint.answer(PLAIN)
            expected = endpoint.counter.count(PLAIN.text) + PLAIN.room
            assert watch.pauses == pytest.approx([expected * 60 / 10_000])
            for _ in range(4):
                endpoint._tokens.take(10_000, watch.seconds)
            with pytest.raises(ModelError, match="rate limit"):
                await endpoint.answer(PLAIN)


async def test_only_so_many_at_the_same_time():
    """Two at once: of six calls each is answered together with one other, never with two."""
    inside: list[Asked] = []
    most = 0
    pair = threading.Barrier(2)

    def brain(asked: Asked) -> Answer:
        nonlocal most
        inside.append(asked)
        most = max(most, len(inside))
        pair.wait(CEILING)
        time.sleep(0.02)  # for a third one to come, if it could
        inside.remove(asked)
        return "Hi."

    with LlmServer(brain) as server:
        async with endpoint_to(server, concurrency=2) as endpoint:
            await asyncio.gather(*(endpoint.answer(PLAIN) for _ in range(6)))
        assert len(server.asked()) == 6
    assert most == 2


async def test_a_call_may_be_cancelled_at_any_time(watch):
    """Slots and the breaker's trial are free again."""
    with LlmServer(lambda asked: NEVER).then(Fault(status=500)) as server:
        async with endpoint_to(server, concurrency=1, breaker_failures=1, breaker_seconds=30.0, retries=0) as endpoint:
            with pytest.raises(ModelError):
                await endpoint.answer(PLAIN)
            watch.seconds += 31
            for _ in range(3):
                before = len(server.asked())
                call = asyncio.create_task(endpoint.answer(PLAIN))
                await until(lambda: len(server.asked()) > before)  # noqa: B023 - awaited here
                call.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await call
            server.brain = lambda asked: "Hi."
            assert (await endpoint.answer(PLAIN)).text == "Hi."


def test_an_endpoint_serves_any_number_of_loops():
    """Each has its own connections; after `close` it may be used again."""
    with LlmServer(lambda asked: "Hi.") as server:
        endpoint = Endpoint(llm_for(server))

        async def once() -> str:
            try:
                return (await endpoint.answer(PLAIN)).text
            finally:
                await endpoint.close()

        assert [asyncio.run(once()) for _ in range(3)] == ["Hi."] * 3


async def test_who_closes_an_endpoint_disturbs_no_other_for_long():
    """Memories may share one: a call in flight is sent again on a new connection."""
    with LlmServer(lambda asked: "Hi.") as server:
        async with endpoint_to(server) as endpoint:
            await endpoint.answer(PLAIN)
            server.then(NEVER)
            call = asyncio.create_task(endpoint.answer(PLAIN))
            await until(lambda: len(server.asked()) == 2)
            await endpoint.close()
            assert (await call).text == "Hi."
        assert len(server.asked()) == 3


# Money


async def test_every_call_is_written_down():
    """Tokens as the server counts them, else counted here; the price of the model, else of all."""
    with LlmServer(lambda asked: Said(text="one two", usage=(100, 10))) as server:
        prices, ledger = {"test-model": Price(input=2.0, output=10.0), "*": Price(input=99.0)}, ListLedger()
        async with endpoint_to(server, prices=prices, ledger=ledger) as endpoint:
            await endpoint.answer(PLAIN)
            server.brain = lambda asked: Said(text="one two", usage="missing")
            await endpoint.answer(PLAIN)
            await endpoint.vectors(["some words", "more"])
            first, second, third = ledger.entries
    assert (first.tokens_in, first.tokens_out, first.purpose, first.tenant) == (100, 10, "summary", "default")
    assert first.cost == pytest.approx((100 * 2 + 10 * 10) / 1e6)
    assert (second.tokens_in, second.tokens_out) == (endpoint.counter.count("Be brief.\nSay something."), 2)
    assert (third.purpose, third.tokens_in, third.tokens_out) == ("embedding", 3, 0)


@pytest.mark.parametrize(("name", "later"), [("day", {"days": 1}), ("month", {"days": 31})])
async def test_a_budget_ends_the_calls_of_its_tenant_for_a_while(name, later):
    """Spent is spent until the next day or month; other tenants have their own."""
    clock = FakeClock(datetime(2025, 1, 6, 9, tzinfo=UTC))
    with LlmServer(lambda asked: Said(text="Hi.", usage=(500_000, 0))) as server:
        ledger = ListLedger()
        llm = llm_for(server, prices={"*": Price(input=1.0)}, ledger=ledger, **{f"budget_per_{name}": 1.0})
        ours, theirs = (Endpoint(llm, tenant=tenant, now=clock) for tenant in ("ours", "theirs"))
        await ours.answer(PLAIN)
        await ours.answer(PLAIN)
        with pytest.raises(ModelError, match=f"the budget of this {name}, 1, is spent") as caught:
            await ours.answer(PLAIN)
        assert caught.value.lasting
        await theirs.answer(PLAIN)
        clock.advance(**later)
        await ours.answer(PLAIN)
        assert len(server.asked()) == 4
        assert [(entry.tenant, entry.cost) for entry in ledger.entries] == [
            ("ours", 0.5),
            ("ours", 0.5),
            ("theirs", 0.5),
            ("ours", 0.5),
        ]
        await ours.close()
        await theirs.close()


# Hosted prompts


async def test_a_hosted_prompt_is_called_by_id_and_version():
    """Through the Responses API, with nothing but the prompt and its input."""
    with LlmServer(lambda asked: "New summary.") as server:
        async with endpoint_to(server) as endpoint:
            reply = await endpoint.answer_hosted(Hosted(id="pmpt_1", version="4"), "the input", "summary")
            assert reply is not None
            assert reply.text == "New summary."
            await endpoint.answer_hosted(Hosted(id="pmpt_1"), "the input", "summary")
        first, second = server.asked("responses")
        assert first.body == {"prompt": {"id": "pmpt_1", "version": "4"}, "input": "the input", "store": False}
        assert second.body["prompt"] == {"id": "pmpt_1"}


@pytest.mark.parametrize("refused", ["responses", "hosted"])
async def test_a_server_without_hosted_prompts_is_asked_once(refused, caplog):
    with LlmServer(refuses=(refused,)) as server, caplog.at_level(logging.INFO):
        async with endpoint_to(server) as endpoint:
            assert await endpoint.answer_hosted(Hosted(id="pmpt_1"), "x", "summary") is None
            assert await endpoint.answer_hosted(Hosted(id="pmpt_1"), "x", "summary") is None
        assert len(server.asked("responses")) == 1
        assert [record.message for record in caplog.records if record.name == "lamina.llm"] == ["hosted_prompt_refused"]


async def test_a_hosted_prompt_that_a_key_may_not_use_is_an_error():
    """The server has it: our own prompt does not take its place."""
    with LlmServer().then(Fault(status=403, body={"error": "not with this key"})) as server:
        async with endpoint_to(server) as endpoint:
            with pytest.raises(ModelError, match="403: not with this key"):
                await endpoint.answer_hosted(Hosted(id="pmpt_1"), "x", "summary")


# Secrets


SECRET = "sk-very-secret-4242"


async def test_keys_are_in_no_error_log_or_repr(caplog):
    """Even where the server repeats them."""
    with LlmServer(key="another") as server, caplog.at_level(logging.DEBUG):
        headers = {"X-Gateway": "gateway-secret-99"}
        async with endpoint_to(server, api_key=SECRET, headers=headers) as endpoint:
            server.then(
                Fault(status=500, body=f"bad key {SECRET} with gateway-secret-99"),
                Fault(status=400, body={"error": {"message": f"Bearer {SECRET}; sk-another-key-123456"}}),
            )
            with pytest.raises(ModelError) as caught:
                await endpoint.answer(PLAIN)
            with pytest.raises(ModelError, match="Incorrect API key provided: \\*\\*\\*") as other:
                await endpoint.answer(PLAIN)
        assert server.asked()[0].headers["authorization"] == f"Bearer {SECRET}"
    ours = [record.getMessage() + repr(record.__dict__) for record in caplog.records if record.name == "lamina.llm"]
    for text in (str(caught.value), str(other.value), repr(endpoint), repr(endpoint.llm), repr(caught.value), *ours):
        assert "secret" not in text
        assert "sk-" not in text


@pytest.mark.parametrize(
    "body",
    [
        {
            "detail": [
                {"loc": ["body"], "msg": "Field required", "input": {"messages": "My dog Rex bit the postman today"}}
            ]
        },
        {"error": {"message": "cannot parse: My dog Rex bit the postman today"}},
        "bad request: ... 'My dog Rex bit the postman today' ...",
    ],
    ids=["fields", "message", "text"],
)
async def test_what_people_said_is_in_no_error(body):
    """Servers like to repeat what they were sent."""
    ask = replace(PLAIN, messages=(("user", "They say: My dog Rex  bit the postman\ntoday."),))
    with LlmServer(lambda asked: Fault(status=400, body=body)) as server:
        async with endpoint_to(server) as endpoint:
            with pytest.raises(ModelError, match="400: ") as caught:
                await endpoint.answer(ask)
    assert "Rex" not in str(caught.value)


def test_the_key_of_the_environment_goes_to_openai_only(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-mine")
    assert Llm(model="m").key == "sk-mine"
    assert Llm(base_url="http://localhost:8080/v1", model="m").key is None
    assert Llm(base_url="https://api.openai.com.evil.example/v1", model="m").key is None
    assert Llm(base_url="http://localhost:8080/v1", model="m", api_key="own").key == "own"


# Mistakes


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"base_url": "localhost:8080"}, "base_url must be like https://host/v1"),
        ({"base_url": "ftp://user:pw@host"}, r"not 'ftp://\*\*\*@host'"),
        ({"use": ("summaries", "poems")}, r"cannot be used for \['poems'\]"),
        ({"concurrency": 0}, "concurrency must be above 0"),
        ({"requests_per_minute": 0}, "requests_per_minute must be above 0, or None"),
        ({"budget_per_day": 1.0}, "a budget needs prices"),
    ],
)
def test_wrong_values_say_what_would_work(values, message):
    with pytest.raises(InputError, match=message):
        Llm(model="m", **values)


def test_a_missing_extra_or_model_is_said_in_clear_words(monkeypatch):
    with pytest.raises(InputError, match="needs a model"):
        Endpoint(Llm())
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"pip install 'lamina\[openai\]'"):
        Endpoint(Llm(model="m"))
