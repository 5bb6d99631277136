"""How large the tests are: `make test` runs a share of the examples and repetitions that `make test-all` runs."""

import os
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, settings

FULL = os.environ.get("TEST_SIZE") == "full"
SHARE = 4  # `make test` runs one in so many

# No limit of time in either: a busy machine is no fault of the code. `test` tries the same examples each time.
_SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much)
settings.register_profile("test-all", deadline=None, suppress_health_check=_SLOW, max_examples=100, print_blob=True)
settings.register_profile(
    "test", settings.get_profile("test-all"), max_examples=100 // SHARE, derandomize=True, database=None
)
settings.load_profile("test-all" if FULL else "test")


def share(number: int) -> int:
    """So many in `make test-all`, a share of them in `make test`, but at least one."""
    return number if FULL else -(-number // SHARE)


def examples(number: int) -> Callable[[Any], Any]:
    """Hypothesis tries so many examples in `make test-all`; without it, a test tries 100."""
    return settings(max_examples=share(number))
