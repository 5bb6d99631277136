"""What is known: facts, episodes, how they stand over time, consolidation, the user's profile."""
