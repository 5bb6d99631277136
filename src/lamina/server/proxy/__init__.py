"""Speaks the OpenAI API to clients, asks the real endpoint, and remembers what is said on the way."""
