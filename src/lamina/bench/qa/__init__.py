"""Answers measured, not only evidence; loaded by `lamina bench qa` only."""
