"""Lamina as the memory of other frameworks: one module each, over the public verbs, with the framework as an extra."""
