"""A span of OpenTelemetry for each request, below the caller's own if they sent one."""

import importlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from lamina.tracing import NO_DETAILS, mark_failed, tracer

_FAULT = 500


class RequestSpan:
    """What is known of a request once it is answered."""

    operation = "other"
    status = _FAULT


@contextmanager
def request_span(method: str, headers: Mapping[str, str]) -> Iterator[RequestSpan]:
    """A span for a request; without OpenTelemetry's API none."""
    request = RequestSpan()
    found = tracer()
    if found is None:
        yield request
        return
    trace: Any = importlib.import_module("opentelemetry.trace")
    above = importlib.import_module("opentelemetry.propagate").extract(headers)
    with found.start_as_current_span(method, context=above, kind=trace.SpanKind.SERVER, **NO_DETAILS) as span:
        try:
            yield request
        finally:
            span.update_name(f"{method} {request.operation}")
            span.set_attribute("http.request.method", method)
            span.set_attribute("http.response.status_code", request.status)
            span.set_attribute("lamina.operation", request.operation)
            if request.status >= _FAULT:
                mark_failed(span, str(request.status))
