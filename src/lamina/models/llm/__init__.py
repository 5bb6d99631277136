"""Models behind an OpenAI-compatible endpoint: summaries, facts, episodes and vectors over HTTP."""
