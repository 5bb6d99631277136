"""Spans of OpenTelemetry for the verbs of a memory, if its API is installed; without it nothing is done, or loaded.

Names follow the conventions for memory operations of generative AI. No span has content or the id of a user.
"""

import functools
import importlib
import importlib.util
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Literal

Operation = Literal["create_memory", "update_memory", "upsert_memory", "delete_memory", "search_memory"]
NO_DETAILS = {"record_exception": False, "set_status_on_exception": False}  # texts of errors may have content
_NOTHING = nullcontext()


@functools.cache
def tracer() -> Any:
    """OpenTelemetry's tracer; None without its API."""
    if importlib.util.find_spec("opentelemetry") is None:
        return None
    return importlib.import_module("opentelemetry.trace").get_tracer("lamina")


def span(operation: Operation, verb: str, tenant: str) -> AbstractContextManager[None]:
    """A span around the call of a verb. It is entered by the verb itself, which saves a frame on each call."""
    found = tracer()
    return _NOTHING if found is None else _span(found, operation, verb, tenant)


@contextmanager
def _span(found: Any, operation: Operation, verb: str, tenant: str) -> Iterator[None]:
    attributes = {
        "gen_ai.operation.name": operation,
        "gen_ai.provider.name": "lamina",
        "gen_ai.memory.store.id": tenant,
        "lamina.verb": verb,
    }
    with found.start_as_current_span(f"{operation} {tenant}", attributes=attributes, **NO_DETAILS) as current:
        try:
            yield
        except BaseException as error:
            mark_failed(current, type(error).__qualname__)
            raise


def mark_failed(span: Any, kind: str) -> None:
    """Mark a span as failed, by what kind of error."""
    trace = importlib.import_module("opentelemetry.trace")
    span.set_attribute("error.type", kind)
    span.set_status(trace.StatusCode.ERROR)
