"""Forgetting: what is meant is found, redacted, erased and certified."""
