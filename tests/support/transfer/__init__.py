"""The bytes of files: sources of them, and servers that take them, that fail as scripted."""
