"""Profiles: named configurations of one memory. docs/documents.md says which document each follows."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from lamina.errors import InputError
from lamina.profiles.assistant import ASSISTANT
from lamina.profiles.chunked import CHUNKED
from lamina.profiles.default import DEFAULT
from lamina.profiles.layered import LAYERED
from lamina.profiles.medium_term import MEDIUM_TERM
from lamina.profiles.profile import (
    KNOBS,
    Batches,
    FanOut,
    Hosted,
    IntoLong,
    Merge,
    Overflow,
    PastWindow,
    Periodic,
    Profile,
    Schedule,
    Step,
    Stepped,
    Threshold,
    Upkeep,
    Window,
)
from lamina.profiles.project import PROJECT

__all__ = [
    "ASSISTANT",
    "CHUNKED",
    "DEFAULT",
    "KNOBS",
    "LAYERED",
    "MEDIUM_TERM",
    "PROFILES",
    "PROJECT",
    "Batches",
    "FanOut",
    "Hosted",
    "IntoLong",
    "Merge",
    "Overflow",
    "PastWindow",
    "Periodic",
    "Profile",
    "Schedule",
    "Step",
    "Stepped",
    "Threshold",
    "Upkeep",
    "Window",
    "as_profile",
    "profile_from",
    "profile_kept",
    "profile_named",
    "profile_values",
]

PROFILES: Mapping[str, Profile] = {
    profile.name: profile for profile in (DEFAULT, MEDIUM_TERM, PROJECT, ASSISTANT, CHUNKED, LAYERED)
}


def profile_named(name: str) -> Profile:
    """The profile of that name, or an error that lists all names."""
    try:
        return PROFILES[name]
    except KeyError:
        raise InputError(f"no profile {name!r}; there are {sorted(PROFILES)}") from None


def as_profile(profile: Any) -> Profile:
    """A profile, from itself or its name."""
    if isinstance(profile, Profile):
        return profile
    if isinstance(profile, str):
        return profile_named(profile)
    raise InputError(f"profile must be a name or a Profile, not {type(profile).__name__}")


def profile_values(profile: Profile) -> dict[str, Any]:
    """Every value of a profile, as plain data to show or store."""
    values = asdict(profile)
    for part in ("schedule", "upkeep"):
        held = getattr(profile, part)
        if held is not None:
            values[part] = {"rule": type(held).__name__, **values[part]}
    return values


_RULES: Mapping[str, type[Any]] = {
    rule.__name__: rule
    for rule in (Stepped, Overflow, Periodic, Threshold, Batches, PastWindow, Merge, IntoLong, FanOut)
}


def profile_kept(text: str) -> Profile:
    """The profile that is kept with data: its values as JSON, or, by early versions, its name."""
    return PROFILES[text] if text in PROFILES else profile_from(json.loads(text))


def profile_from(values: Mapping[str, Any]) -> Profile:
    """The profile that `profile_values` described."""
    plain = dict(values)
    for part in ("schedule", "upkeep"):
        if plain.get(part) is not None:
            rule = dict(plain[part])
            plain[part] = _RULES[rule.pop("rule")](**rule)
    plain["window"] = Window(**plain["window"])
    plain["steps"] = tuple(Step(**step) for step in plain["steps"])
    for name in ("sections", "first_sections", "domains", "categories", "never_archived", "recalled_kinds"):
        if name in plain:
            plain[name] = tuple(plain[name])
    plain["hosted"] = None if plain.get("hosted") is None else Hosted(**plain["hosted"])
    return Profile(**plain)
