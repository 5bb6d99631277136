"""Summaries without a language model: the sentences that matter, word for word."""
