"""Embedders that run in this process: static vectors from this package, and MiniLM where its weights are installed."""
