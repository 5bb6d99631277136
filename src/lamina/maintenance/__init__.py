"""Keeping a store whole: verify, repair, copy, count."""
