"""`Llm`: an endpoint, and how it may be used."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from lamina.errors import InputError
from lamina.protocols.models import Ledger

OPENAI = "https://api.openai.com/v1"
USES = ("summaries", "facts", "episodes")
_SECRETS = re.compile(r"\b(?:sk|pk|key|token)-[\w-]{8,}|(?<=[Bb]earer )\S+|(?<=://)[^/@\s]+(?=@)")
_SHORTEST_SECRET = 4
_MAY_BE_NONE = (
    "read_seconds", "requests_per_minute", "tokens_per_minute", "dimensions", "budget_per_day", "budget_per_month",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a million tokens cost."""

    input: float
    output: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Llm:
    """A language model behind an OpenAI-compatible endpoint, and the bounds within which it is used."""

    base_url: str = OPENAI
    model: str | None = None  # None: the one that the profile asks for
    api_key: str | None = field(default=None, repr=False)  # None: OPENAI_API_KEY, for OpenAI's own address only
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    use: tuple[str, ...] = USES
    with_offline: bool = True  # keep, too, the facts and episodes that only the offline models find
    temperature: float | None = None  # None: the server's own
    thinking_tokens: int = 0  # room for a model that thinks before it writes
    dimensions: int | None = None  # of its vectors, where it is an embedder; None: it is asked once
    # time
    connect_seconds: float = 10.0
    read_seconds: float | None = None  # between two pieces of an answer; None: as long as for all of it
    total_seconds: float = 600.0  # for one answer with all its tries; on one core a small model may need 275
    retries: int = 3  # of a call that failed in a way that may pass
    backoff_seconds: float = 0.5  # before the first of them; doubles
    # rate
    concurrency: int = 4
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    breaker_failures: int = 5  # in a row, after which nothing is asked for a while
    breaker_seconds: float = 30.0
    # money
    prices: Mapping[str, Price] = field(default_factory=dict)  # by model; "*" for all others
    budget_per_day: float | None = None
    budget_per_month: float | None = None
    ledger: Ledger | None = field(default=None, repr=False, compare=False)  # None: the memory's own store

    def __post_init__(self) -> None:
        parts = urlsplit(self.base_url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise InputError(f"base_url must be like https://host/v1, not {self.hidden(self.base_url)!r}")
        if unknown := sorted(set(self.use) - set(USES)):
            raise InputError(f"an llm cannot be used for {unknown}; there are {list(USES)}")
        for name in ("connect_seconds", "total_seconds", "concurrency", "breaker_failures"):
            if getattr(self, name) <= 0:
                raise InputError(f"{name} must be above 0, not {getattr(self, name)!r}")
        for name in _MAY_BE_NONE:
            if getattr(self, name) is not None and getattr(self, name) <= 0:
                raise InputError(f"{name} must be above 0, or None, not {getattr(self, name)!r}")
        if (self.budget_per_day or self.budget_per_month) and not self.prices:
            raise InputError("a budget needs prices, e.g. prices={'*': Price(input=0.25, output=2.0)} a million tokens")

    @property
    def key(self) -> str | None:
        """The key to send. The one of the environment goes to OpenAI only, never to another server."""
        if self.api_key is not None:
            return self.api_key
        return os.environ.get("OPENAI_API_KEY") if urlsplit(self.base_url).hostname == "api.openai.com" else None

    def cost(self, model: str, tokens_in: int, tokens_out: int) -> float:
        price = self.prices.get(model, self.prices.get("*", Price(input=0.0)))
        return (tokens_in * price.input + tokens_out * price.output) / 1_000_000

    def hidden(self, text: str) -> str:
        """A text without keys: for errors and logs."""
        secrets = [secret for secret in (self.key, *self.headers.values()) if secret]
        for secret in sorted(secrets, key=len, reverse=True):
            if len(secret) >= _SHORTEST_SECRET:
                text = text.replace(secret, "***")
        return _SECRETS.sub("***", text)
