"""Answers the clients of mem0's hosted platform, over the same memory; see docs/mem0.md."""
