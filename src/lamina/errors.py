"""Everything Lamina raises, in one tree.

LaminaError
├── InputError            what was given cannot be stored or used; says what would work
│   ├── BudgetTooSmall    the newest turn does not fit; `.smallest` is the budget that works
│   ├── DoesNotFit        it could be used, but not with what is stored
│   ├── ConfigError       settings are wrong; `.problems` lists all of them at once
│   └── BadRecords        records to import are wrong; `.faults` says where and why, nothing was imported
├── NotFound              no such session, message or summary
├── Conflict              an id is taken by other content, or a session belongs to another user
│   ├── OptedOut          the user has opted out: nothing is derived or remembered
│   └── Stale             it is not as it was when it was read; nothing was changed
├── StoreError            the store cannot do it
│   ├── StoreBusy         other writers held the file for too long
│   ├── StoreFull         no space left
│   ├── StoreReadOnly     the file or its folder cannot be written
│   ├── NotALaminaFile    the file is something else
│   └── SchemaTooNew      the file was written by a newer Lamina
├── ModelError            a model did not answer usefully
└── MissingExtra          an optional package is not installed
"""

from collections.abc import Sequence

FORKED = "{} was opened before this process was forked, and cannot be shared; open it here, after the fork"
INHERITED = (
    "{} was in use when this process was forked, and is not safe in it; start the process before a memory is opened, or"
    " by `spawn`"
)
PICKLED = "a memory cannot be sent to another process; send the path, and open it there"


class LaminaError(Exception):
    """Base of all errors raised on purpose."""


class InputError(LaminaError, ValueError):
    """What was given cannot be stored or used; the text says what would work."""


class BudgetTooSmall(InputError):
    """The newest turn alone is larger than the budget; `smallest` is the least that works."""

    def __init__(self, budget: int, smallest: int) -> None:
        super().__init__(
            f"a budget of {budget} tokens cannot hold the newest turn; the smallest that works here is {smallest}"
        )
        self.budget = budget
        self.smallest = smallest


class DoesNotFit(InputError):
    """What was given could be used, but not with what is stored, such as a turn that a session does not have."""


class ConfigError(InputError):
    """Settings are wrong; `problems` has every one of them."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("settings are wrong:\n" + "\n".join(f"  - {problem}" for problem in problems))
        self.problems = tuple(problems)


class BadRecords(InputError):
    """Records to import are wrong, and nothing was imported; `faults` has where and why, the first hundred of them."""

    def __init__(self, faults: Sequence[tuple[str, str]], count: int) -> None:
        several = "; ".join(why for _, why in faults[:5])
        super().__init__(f"{count} of the records cannot be imported, and nothing was: {several}")
        self.faults = tuple(faults)
        self.count = count


class NotFound(LaminaError, LookupError):
    """No such session, message or summary."""


class Conflict(LaminaError):
    """An id is taken by other content, or a session belongs to another user."""


class OptedOut(Conflict):
    """The user has opted out, so nothing is derived from what they say, or remembered for them."""

    def __init__(self, user_id: str) -> None:
        super().__init__(f"user {user_id!r} has opted out, so nothing is remembered; opt_in({user_id!r}) ends that")
        self.user_id = user_id


class Stale(Conflict):
    """It is not as it was when it was read, and nothing was changed; read it again."""


class StoreError(LaminaError):
    """The store cannot do it; nothing was changed."""


class StoreBusy(StoreError):
    """Other writers held the store for longer than the time-out; trying again is safe."""


class StoreFull(StoreError):
    """There is no space left; nothing was changed."""


class StoreReadOnly(StoreError):
    """The store cannot be written; nothing was changed."""


class NotALaminaFile(StoreError):
    """The file is not a Lamina store."""


class SchemaTooNew(StoreError):
    """The file was written by a newer Lamina; upgrade to open it."""


class ModelError(LaminaError):
    """A model did not answer usefully; `lasting` if asking it again soon would not help."""

    def __init__(self, message: str = "", *, lasting: bool = False) -> None:
        super().__init__(message)
        self.lasting = lasting


class MissingExtra(LaminaError, ImportError):
    """An optional package is not installed; the text says how to get it."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed; get it with: pip install 'lamina[{extra}]'")
