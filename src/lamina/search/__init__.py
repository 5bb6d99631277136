"""Search: what a question asks for, the index of a user, signals, ranking."""
