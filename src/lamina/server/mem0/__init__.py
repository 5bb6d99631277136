"""Answers the clients of mem0's hosted platform, over the same memory; see docs/how-to/mem0.md."""
