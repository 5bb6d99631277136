"""A span of OpenTelemetry for each request, below the caller's own if they sent one."""

import importlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from lamina.tracing import NO_DETAILS, mark_failed, tracer

_FAULT = 500


class Spanned:
    """What is told of a request when it is answered."""

    operation = "other"
    status = _FAULT


@contextmanager
def spanned(method: str, headers: Mapping[str, str]) -> Iterator[Spanned]:
    """Have a request be a span; without OpenTelemetry's API nothing."""
    told = Spanned()
    found = tracer()
    if found is None:
        yield told
        return
    trace: Any = importlib.import_module("opentelemetry.trace")
    above = importlib.import_module("opentelemetry.propagate").extract(headers)
    with found.start_as_current_span(method, context=above, kind=trace.SpanKind.SERVER, **NO_DETAILS) as span:
        try:
            yield told
        finally:
            span.update_name(f"{method} {told.operation}")
            span.set_attribute("http.request.method", method)
            span.set_attribute("http.response.status_code", told.status)
            span.set_attribute("lamina.operation", told.operation)
            if told.status >= _FAULT:
                mark_failed(span, str(told.status))
