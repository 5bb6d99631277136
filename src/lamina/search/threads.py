"""One thread for small sums: on a busy machine two make numpy many times slower."""

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> Any:
    return ThreadpoolController().select(user_api="blas")


def one_thread() -> AbstractContextManager[Any]:
    """Inside, numpy's linear algebra uses one thread."""
    limited: AbstractContextManager[Any] = _controller().limit(limits=1)
    return limited
