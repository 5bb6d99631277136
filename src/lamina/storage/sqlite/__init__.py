"""SQLite: connection, word index, wiping and migrations."""
