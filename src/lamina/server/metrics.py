"""Counts of requests, contexts, completions and folds, for Prometheus. No label names a user, a session or a tenant."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric, generate_latest
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from lamina.memory import AsyncMemory
from lamina.values.cost import Cost
from lamina.values.manifest import Context
from lamina.values.report import FoldDone

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_TOKENS = (0, 50, 100, 250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 128_000)


class Metrics:
    """The figures of one process."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._latency = Histogram(
            "lamina_request_seconds", "Time to answer.", ["operation"], registry=self._registry, buckets=_SECONDS
        )
        self._answers = Counter("lamina_answers", "Answers.", ["operation", "status"], registry=self._registry)
        self._errors = Counter("lamina_errors", "Answers of 500 and above.", ["operation"], registry=self._registry)
        self._tokens = Histogram(
            "lamina_context_tokens", "Tokens of contexts.", ["section"], registry=self._registry, buckets=_TOKENS
        )
        self._added = Histogram(
            "lamina_proxy_memory_tokens", "Tokens of memory in requests.", registry=self._registry, buckets=_TOKENS
        )
        self._replies = Counter("lamina_proxy_replies", "Replies by how they ended.", ["end"], registry=self._registry)
        self._faults = Counter(
            "lamina_proxy_faults", "Requests that memory failed.", ["fault"], registry=self._registry
        )
        self._folds = Histogram(
            "lamina_fold_seconds", "Time to fold.", ["layer"], registry=self._registry, buckets=_SECONDS
        )
        self._folded = Counter(
            "lamina_fold_tokens", "Tokens that folds read and wrote.", ["layer", "side"], registry=self._registry
        )
        self._fallbacks = Counter(
            "lamina_fold_fallbacks", "Folds that the offline summariser wrote.", registry=self._registry
        )

    def count_request(self, operation: str, status: int, seconds: float) -> None:
        self._latency.labels(operation).observe(seconds)
        self._answers.labels(operation, str(status)).inc()
        if status >= 500:  # noqa: PLR2004 - ours, not the caller's
            self._errors.labels(operation).inc()

    def count_context(self, context: Context) -> None:
        for section, tokens in context.manifest.sections.items():
            self._tokens.labels(section).observe(tokens)

    def count_completion(self, tokens: int, end: str, faults: Sequence[str]) -> None:
        self._added.observe(tokens)
        self._replies.labels(end).inc()
        for fault in faults:
            self.count_fault(fault)

    def count_fault(self, fault: str) -> None:
        self._faults.labels(fault).inc()

    def count_fold(self, done: FoldDone) -> None:
        layer = str(done.layer)
        self._folds.labels(layer).observe(done.seconds)
        self._folded.labels(layer, "read").inc(done.tokens_before)
        self._folded.labels(layer, "written").inc(done.tokens_after)
        self._fallbacks.inc(int(done.fallback))

    async def render(self, engines: Sequence[AsyncMemory], *, whole: bool = True) -> bytes:
        """Figures as text: what these tenants have to do now and what they cost; `whole`: those of the process, too."""
        now = CollectorRegistry()
        states = Gauge("lamina_backlog_sessions", "Sessions by state.", ["state"], registry=now)
        lag = Gauge("lamina_lag_seconds", "How long the oldest due session waits.", registry=now)
        backlogs = [await engine.backlog() for engine in engines]
        for state in ("pending", "leased", "waiting", "aside"):
            states.labels(state).set(sum(getattr(backlog, state) for backlog in backlogs))
        oldest = min((backlog.oldest for backlog in backlogs if backlog.oldest), default=None)
        lag.set(0 if oldest is None else max(0.0, (datetime.now(UTC) - oldest).total_seconds()))
        now.register(_Bill([cost for engine in engines for cost in await engine.costs()]))
        return (generate_latest(self._registry) if whole else b"") + generate_latest(now)


class _Bill(Collector):
    """What language models have cost, as the stores have it."""

    def __init__(self, costs: Sequence[Cost]) -> None:
        self._sums: dict[tuple[str, str], list[float]] = {}
        for one in costs:
            sums = self._sums.setdefault((one.purpose, one.model), [0.0] * 4)
            for place, number in enumerate((one.calls, one.tokens_in, one.tokens_out, one.cost)):
                sums[place] += number

    def collect(self) -> Iterator[Metric]:
        labels = ["purpose", "model"]
        calls = CounterMetricFamily("lamina_llm_calls", "Calls of language models.", labels=labels)
        tokens = CounterMetricFamily("lamina_llm_tokens", "Tokens read and written.", labels=[*labels, "side"])
        money = CounterMetricFamily("lamina_llm_cost", "What they cost, in the prices' currency.", labels=labels)
        for (purpose, model), (number, read, written, cost) in sorted(self._sums.items()):
            calls.add_metric([purpose, model], number)
            tokens.add_metric([purpose, model, "read"], read)
            tokens.add_metric([purpose, model, "written"], written)
            money.add_metric([purpose, model], cost)
        return iter((calls, tokens, money))
