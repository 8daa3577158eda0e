"""A state in a file: SQLite."""
