"""PostgreSQL: connections, names, word index, notifications and migrations."""
