"""Lamina: layered memory for conversations with language models."""

from lamina.blocking import Memory
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
from lamina.memory import AsyncMemory
from lamina.open import Llm, Price
from lamina.parts import Patience
from lamina.profiles import PROFILES, Profile
from lamina.values.message import Limits

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
