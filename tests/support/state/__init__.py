"""The state: clocks, rows, databases, journals and credentials."""
