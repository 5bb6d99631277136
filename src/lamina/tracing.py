"""Spans of OpenTelemetry for the verbs of a memory, if its API is installed; without it nothing is done, or loaded.

Names follow the conventions for memory operations of generative AI. No span has content or the id of a user.
"""

import functools
import importlib
import importlib.util
from collections.abc import Callable, Coroutine
from typing import Any, Literal, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
Operation = Literal["create_memory", "update_memory", "upsert_memory", "delete_memory", "search_memory"]
UNSAID = {"record_exception": False, "set_status_on_exception": False}  # their words may have content


@functools.cache
def tracer() -> Any:
    """OpenTelemetry's tracer; None without its API."""
    if importlib.util.find_spec("opentelemetry") is None:
        return None
    return importlib.import_module("opentelemetry.trace").get_tracer("lamina")


def traced(
    operation: Operation,
) -> Callable[[Callable[P, Coroutine[Any, Any, T]]], Callable[P, Coroutine[Any, Any, T]]]:
    """Have each call of a verb be a span."""

    def made(verb: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Coroutine[Any, Any, T]]:
        @functools.wraps(verb)
        async def told(*args: P.args, **kwargs: P.kwargs) -> T:
            found = tracer()
            if found is None:
                return await verb(*args, **kwargs)
            engine: Any = args[0]
            attributes = {
                "gen_ai.operation.name": operation,
                "gen_ai.provider.name": "lamina",
                "gen_ai.memory.store.id": engine.tenant,
                "lamina.verb": verb.__name__,
            }
            name = f"{operation} {engine.tenant}"
            with found.start_as_current_span(name, attributes=attributes, **UNSAID) as span:
                try:
                    return await verb(*args, **kwargs)
                except BaseException as error:
                    failed(span, type(error).__qualname__)
                    raise

        return told

    return made


def failed(span: Any, kind: str) -> None:
    """Mark a span as failed, by what kind of error."""
    trace = importlib.import_module("opentelemetry.trace")
    span.set_attribute("error.type", kind)
    span.set_status(trace.StatusCode.ERROR)
