"""Decisions: pure functions of their arguments, without I/O, clock or chance."""
