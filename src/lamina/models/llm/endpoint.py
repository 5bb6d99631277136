"""One server with the OpenAI API: calls with rate limits, retries, a time limit and recorded costs."""

import asyncio
import importlib
import importlib.util
import json
import logging
import random
import re
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, TypeVar

from lamina.errors import InputError, MissingExtra, ModelError
from lamina.models.llm.llm_options import Llm
from lamina.models.llm.openai_api import (
    WAYS,
    Ask,
    Reply,
    Unreadable,
    Way,
    chat_reply,
    embedding_vectors,
    error_reason,
    response_format,
    response_reply,
)
from lamina.models.llm.pacing import Breaker, Bucket, backoff, retry_after
from lamina.models.token_counters import best_counter
from lamina.profiles import Hosted
from lamina.protocols.models import Ledger, LedgerEntry, TokenCounter
from lamina.values.cost import Purpose

logger = logging.getLogger("lamina.llm")

T = TypeVar("T")
_UNABLE = frozenset((400, 415, 422, 501))  # statuses by which a server says that it cannot do it this way
_NO_PROMPTS = frozenset((404, 405, 501))  # by which it says that it has no such prompt, and will have none
_UNKNOWN_PROMPT = _NO_PROMPTS | {400, 422}
_MAY_PASS = frozenset((408, 409, 425, 429))
_BROKEN = 500  # and above: the server's own fault, which may pass
_SLOW = 0.5  # share of the time that an answer may take, from which on it is worth a warning
_MAX_REASON = 300  # characters of what a server says that an error repeats


class Refused(ModelError):
    """The server refused the request itself; sending it again would not help. `body` is never shown to anyone."""

    down = False

    def __init__(self, message: str, status: int, body: str) -> None:
        super().__init__(message)
        self.status = status
        self.body = body


class _TransientError(ModelError):
    """A call failed in a way that may pass."""

    def __init__(self, message: str, *, wait: float | None = None, down: bool = True) -> None:
        super().__init__(message)
        self.wait = wait  # what the server asks for
        self.down = down  # counts against the server


@dataclass(slots=True)
class _LoopClient:
    """What belongs to one event loop."""

    openai: Any  # the module of the SDK
    client: Any
    slots: asyncio.Semaphore


@dataclass(slots=True)
class _Capabilities:
    """What was found out about a server."""

    way: Way | None = None
    limits: tuple[str, ...] = ("max_tokens", "max_completion_tokens")  # names for the room of an answer, in turn
    temperature: bool = True
    seed: bool = True
    hosted: bool = True
    dimensions: bool = True


class Endpoint:
    """A server with one model; may be used from any event loop, and again after `close`."""

    def __init__(
        self,
        llm: Llm,
        *,
        tenant: str = "default",
        counter: TokenCounter | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        require_sdk()
        if llm.model is None:
            raise InputError("an llm needs a model, e.g. Llm(base_url=..., model='gpt-5-nano')")
        self.llm = llm
        self.model = llm.model
        self.ledger: Ledger | None = llm.ledger  # None: costs are not counted
        self._tenant = tenant
        self._counter = counter
        self._now = now
        self._capabilities = _Capabilities()
        self._breaker = Breaker(llm.breaker_failures, llm.breaker_seconds)
        self._requests = Bucket(llm.requests_per_minute)
        self._tokens = Bucket(llm.tokens_per_minute)
        self._loop_clients: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _LoopClient] = (
            weakref.WeakKeyDictionary()
        )
        self._random = random.Random()  # noqa: S311 - spreads calls, keeps no secret

    def __repr__(self) -> str:
        return f"Endpoint({self.llm.hidden(self.llm.base_url)!r}, model={self.model!r})"

    @cached_property
    def counter(self) -> TokenCounter:
        return self._counter or best_counter()

    @property
    def way(self) -> Way | None:
        """How this server gives structured answers; None until it was found out."""
        return self._capabilities.way

    async def close(self) -> None:
        """Close the connections of the running event loop."""
        current = self._loop_clients.pop(asyncio.get_running_loop(), None)
        if current is not None:
            await current.client.close()

    # questions

    async def answer(self, ask: Ask) -> Reply:
        """The model's answer; a structured one in the best way that the server can do."""
        if ask.schema is None:
            return await self._chat(ask, "text")
        refusal: Refused | None = None
        for way in WAYS[WAYS.index(self._capabilities.way or WAYS[0]) :]:
            try:
                reply = await self._chat(ask, way)
            except Refused as error:
                if error.status not in _UNABLE:
                    raise
                refusal = error
                continue
            if self._capabilities.way != way:
                self._capabilities.way = way
                logger.info("llm_way_found", extra={"model": self.model, "way": way})
            return reply
        raise refusal or ModelError("the server gives no structured answers")

    async def answer_hosted(self, prompt: Hosted, text: str, purpose: Purpose) -> Reply | None:
        """The answer to a prompt that the server keeps; None where it knows no such prompt."""
        if not self._capabilities.hosted:
            return None
        kept = {"id": prompt.id} | ({} if prompt.version is None else {"version": prompt.version})
        body = {"prompt": kept, "input": text, "store": False}
        try:
            expected = self.counter.count(text)
            reply = await self._call("/responses", body, expected, response_reply)
        except Refused as error:
            if error.status not in _UNKNOWN_PROMPT:
                raise
            self._capabilities.hosted = error.status not in _NO_PROMPTS
            logger.warning("hosted_prompt_refused", extra={"prompt": prompt.id, "reason": str(error)})
            return None
        return await self._charge(reply, purpose, text, expected)

    async def vectors(self, texts: Sequence[str]) -> list[list[float]]:
        """The vectors of some texts, in their order."""
        body: dict[str, Any] = {"model": self.model, "input": list(texts), "encoding_format": "float"}
        sized = self.llm.dimensions is not None and self._capabilities.dimensions
        counted = sum(self.counter.count_many(texts))

        def read(found: Any) -> tuple[list[list[float]], int | None]:
            return embedding_vectors(found, len(texts))

        try:
            asked = body | ({"dimensions": self.llm.dimensions} if sized else {})
            rows, tokens = await self._call("/embeddings", asked, counted, read)
        except Refused as error:
            if not sized or error.status not in _UNABLE:
                raise
            rows, tokens = await self._call("/embeddings", body, counted, read)
            self._capabilities.dimensions = False  # many servers know one size only, and refuse to be asked for it
        await self._record_cost("embedding", counted if tokens is None else tokens, 0)
        return rows

    async def _chat(self, ask: Ask, way: Way) -> Reply:
        expected = self.counter.count(ask.text) + ask.room
        while True:
            try:
                reply = await self._call("/chat/completions", self._body(ask, way), expected, chat_reply)
                return await self._charge(reply, ask.purpose, ask.text, expected)
            except Refused as error:
                if not self._adapt(error):
                    raise

    def _body(self, ask: Ask, way: Way) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": role, "content": text} for role, text in ask.messages],
        }
        if self._capabilities.limits:
            body[self._capabilities.limits[0]] = ask.room + self.llm.thinking_tokens
        if self.llm.temperature is not None and self._capabilities.temperature:
            body["temperature"] = self.llm.temperature
        if ask.seed is not None and self._capabilities.seed:
            body["seed"] = ask.seed
        return body | (response_format(ask.schema, way) if ask.schema else {})

    def _adapt(self, error: Refused) -> bool:
        """Whether something was changed about how this server is asked, so that it may be asked again."""
        if self._capabilities.limits and re.search(r"max(?:_completion|_output)?[_ ]tokens", error.body):
            self._capabilities.limits = self._capabilities.limits[
                1:
            ]  # it has another name there, or what was asked is too much
        elif "temperature" in error.body and self.llm.temperature is not None and self._capabilities.temperature:
            self._capabilities.temperature = False
        elif re.search(r"\bseed\b", error.body) and self._capabilities.seed:
            self._capabilities.seed = False
        else:
            return False
        return True

    # money

    async def _charge(self, reply: Reply, purpose: Purpose, given: str, expected: int) -> Reply:
        read = self.counter.count(given) if reply.tokens_in is None else reply.tokens_in
        written = self.counter.count(reply.text) if reply.tokens_out is None else reply.tokens_out
        self._tokens.take(read + written - expected, time.monotonic())
        await self._record_cost(purpose, read, written)
        return reply

    async def _record_cost(self, purpose: Purpose, read: int, written: int) -> None:
        if self.ledger is not None:
            entry = LedgerEntry(
                at=self._now(),
                tenant=self._tenant,
                purpose=purpose,
                model=self.model,
                tokens_in=read,
                tokens_out=written,
                cost=self.llm.cost(self.model, read, written),
            )
            await self.ledger.add(entry)

    async def _check_budget(self) -> None:
        day = self._now().astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        limits = (("day", day, self.llm.budget_per_day), ("month", day.replace(day=1), self.llm.budget_per_month))
        for name, since, limit in limits:
            if limit is None or self.ledger is None:
                continue
            if await self.ledger.cost_since(self._tenant, since) >= limit:
                raise ModelError(f"the budget of this {name}, {limit:g}, is spent", lasting=True)

    # calls

    async def _call(self, path: str, body: Mapping[str, Any], tokens: int, read: Callable[[Any], T]) -> T:
        """What `read` makes of the server's answer to a request, tried as often as is allowed."""
        await self._check_budget()
        started, limit = time.monotonic(), self.llm.total_seconds
        try:
            async with asyncio.timeout(limit), (await self._loop_client()).slots:
                found = await self._retry(path, body, tokens, read)
        except TimeoutError:
            raise ModelError(
                f"{self.model}: no answer within {limit:g} s; if it is slow, raise its total_seconds (llm_seconds)"
            ) from None
        seconds = time.monotonic() - started
        if seconds > _SLOW * limit:
            extra = {"model": self.model, "seconds": round(seconds, 1), "limit": limit, "setting": "llm_seconds"}
            logger.warning("llm_slow", extra=extra)
        return found

    async def _retry(self, path: str, body: Mapping[str, Any], tokens: int, read: Callable[[Any], T]) -> T:
        deadline = time.monotonic() + self.llm.total_seconds
        attempt = 0
        while True:
            await self._wait_for_rate(tokens, deadline)
            try:
                return await self._send(path, body, read)
            except _TransientError as error:
                if attempt >= self.llm.retries:
                    raise ModelError(f"{error} (tried {attempt + 1} times)") from error
                wait = error.wait
                if wait is None:
                    wait = backoff(attempt, self.llm.backoff_seconds, self._random.random())
                if time.monotonic() + wait > deadline:
                    raise ModelError(f"{error}; it asks to wait {wait:.0f} s") from error
                attempt += 1
                logger.info("llm_retried", extra={"model": self.model, "attempt": attempt, "reason": str(error)})
                await asyncio.sleep(wait)

    async def _wait_for_rate(self, tokens: int, deadline: float) -> None:
        """Wait until the rates allow another call."""
        now = time.monotonic()
        wait = max(self._requests.take(1, now), self._tokens.take(tokens, now))
        if now + wait > deadline:
            self._requests.take(-1, now)
            self._tokens.take(-tokens, now)
            raise ModelError(f"the rate limit would make this call wait {wait:.0f} s")
        if wait:
            await asyncio.sleep(wait)

    async def _send(self, path: str, body: Mapping[str, Any], read: Callable[[Any], T]) -> T:
        """Send one request, unless the breaker is open, and record its outcome."""
        left = self._breaker.refusal(time.monotonic())
        if left is not None:
            raise ModelError(f"{self.model} has failed too often; it is asked again in {left:.0f} s")
        try:
            found = await self._post(path, body, read)
        except (Refused, _TransientError) as error:
            if error.down:
                self._breaker.record_failure(time.monotonic())
            else:
                self._breaker.record_success()
            raise
        except BaseException:
            self._breaker.release()
            raise
        self._breaker.record_success()
        return found

    async def _post(self, path: str, body: Mapping[str, Any], read: Callable[[Any], T]) -> T:
        current = await self._loop_client()  # another one, if someone else has closed the last
        openai = current.openai
        try:
            response = await current.client.post(path, cast_to=importlib.import_module("httpx2").Response, body=body)
            text = response.text
        except openai.APIStatusError as error:
            raise self._status_error(error.response, body) from None
        except openai.APITimeoutError:
            raise _TransientError(f"the server did not answer in time ({self._time_limits()})") from None
        except openai.OpenAIError as error:
            reason = error.__cause__ or error
            detail = self._error_text(f"{type(reason).__name__}: {reason}", body)
            raise _TransientError(f"no connection: {detail}") from None
        try:
            return read(json.loads(text))
        except Unreadable as error:
            detail = f": {self._error_text(text, body)}" if '"error"' in text else ""
            raise _TransientError(f"{error}{detail}") from None
        except (ValueError, RecursionError):
            raise _TransientError("the answer is no JSON") from None

    def _time_limits(self) -> str:
        """The settings of an `Llm` by which a request ends, for its error."""
        read = self.llm.read_seconds or self.llm.total_seconds
        return f"connect_seconds {self.llm.connect_seconds:g}, read_seconds {read:g}"

    def _status_error(self, response: Any, body: Mapping[str, Any]) -> ModelError:
        status, text = int(response.status_code), str(response.text)
        reason = f"the server answers {status}: {self._error_text(text, body)}"
        if status in _UNABLE or (status < _BROKEN and status not in _MAY_PASS):
            return Refused(reason, status, text)
        headers = {name.lower(): value for name, value in response.headers.items()}
        return _TransientError(reason, wait=retry_after(headers, time.time()), down=status >= _BROKEN)

    def _error_text(self, text: str, body: Mapping[str, Any]) -> str:
        """What a server says of a failure: without keys, and without what people have said."""
        given = json.dumps(body.get("messages", body.get("input", "")), ensure_ascii=False)
        shown = self.llm.hidden(error_reason(text, given))
        return shown if len(shown) <= _MAX_REASON else f"{shown[:_MAX_REASON]}…"

    async def _loop_client(self) -> _LoopClient:
        loop = asyncio.get_running_loop()
        if loop not in self._loop_clients:
            openai = await asyncio.to_thread(importlib.import_module, "openai")  # takes a second: not on the event loop
            if loop not in self._loop_clients:
                slots = asyncio.Semaphore(self.llm.concurrency)
                self._loop_clients[loop] = _LoopClient(openai=openai, client=self._client(openai), slots=slots)
        return self._loop_clients[loop]

    def _client(self, openai: Any) -> Any:
        llm = self.llm
        return openai.AsyncOpenAI(
            base_url=llm.base_url,
            api_key=llm.key or "none",
            default_headers=dict(llm.headers),
            max_retries=0,  # tries are ours to count
            timeout=openai.Timeout(llm.read_seconds or llm.total_seconds, connect=llm.connect_seconds),
        )


def require_sdk() -> None:
    """Raises MissingExtra where the client is not installed."""
    if importlib.util.find_spec("openai") is None:
        raise MissingExtra("openai", "openai")
