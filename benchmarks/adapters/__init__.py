"""Clients with which other benchmarks measure Lamina in their own way; docs/how-to/bench-answers.md says how."""
