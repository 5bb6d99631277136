"""Models that need nothing but this package: extractive, deterministic, quick."""
