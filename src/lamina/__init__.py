"""Lamina: layered memory for conversations with language models."""

from lamina.engine.parts import Patience
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
from lamina.policy.messages import Limits
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
    "Limits",
    "Memory",
    "MissingExtra",
    "ModelError",
    "NotALaminaFile",
    "NotFound",
    "Options",
    "Patience",
    "Profile",
    "SchemaTooNew",
    "StoreBusy",
    "StoreError",
    "StoreFull",
    "StoreReadOnly",
    "__version__",
]
