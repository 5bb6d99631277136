"""Lamina: layered memory for conversations with language models."""

from lamina.errors import (
    BudgetTooSmall,
    ConfigError,
    Conflict,
    InputError,
    LaminaError,
    MissingExtra,
    ModelError,
    NotALaminaFile,
    NotFound,
    SchemaTooNew,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreReadOnly,
)
from lamina.profiles import PROFILES, Profile
from lamina.sync import Memory
from lamina.wiring import AsyncMemory, Options

__version__ = "0.1.0"

__all__ = [
    "PROFILES",
    "AsyncMemory",
    "BudgetTooSmall",
    "ConfigError",
    "Conflict",
    "InputError",
    "LaminaError",
    "Memory",
    "MissingExtra",
    "ModelError",
    "NotALaminaFile",
    "NotFound",
    "Options",
    "Profile",
    "SchemaTooNew",
    "StoreBusy",
    "StoreError",
    "StoreFull",
    "StoreReadOnly",
    "__version__",
]
