"""Backends behind the `Store` seam."""
