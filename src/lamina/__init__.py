"""Lamina: layered memory for conversations with language models."""

from lamina.engine.parts import Patience
from lamina.errors import (
    BadRecords,
    BudgetTooSmall,
    ConfigError,
    Conflict,
    DoesNotFit,
    InputError,
    LaminaError,
    MissingExtra,
    ModelError,
    NotALaminaFile,
    NotFound,
    SchemaTooNew,
    Stale,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreReadOnly,
)
from lamina.policy.messages import Limits
from lamina.profiles import PROFILES, Profile
from lamina.sync import Memory
from lamina.wiring import AsyncMemory, Llm, Options, Price

__version__ = "0.1.0"

__all__ = [
    "PROFILES",
    "AsyncMemory",
    "BadRecords",
    "BudgetTooSmall",
    "ConfigError",
    "Conflict",
    "DoesNotFit",
    "InputError",
    "LaminaError",
    "Limits",
    "Llm",
    "Memory",
    "MissingExtra",
    "ModelError",
    "NotALaminaFile",
    "NotFound",
    "Options",
    "Patience",
    "Price",
    "Profile",
    "SchemaTooNew",
    "Stale",
    "StoreBusy",
    "StoreError",
    "StoreFull",
    "StoreReadOnly",
    "__version__",
]
