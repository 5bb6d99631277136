"""What calls of models cost."""

from datetime import date
from typing import Literal

from lamina.frozen import dataclass

Purpose = Literal["summary", "facts", "episodes", "embedding"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What the calls of one model for one purpose came to on one day (UTC)."""

    day: date
    purpose: Purpose
    model: str
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0  # in the currency of the price table; 0 without a price
