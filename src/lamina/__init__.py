"""Lamina: layered memory for conversations with language models."""

from importlib.metadata import version as _version

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

__version__ = _version("lamina")

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
