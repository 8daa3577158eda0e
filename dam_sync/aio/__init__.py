"""Small helpers for concurrent code; nothing here knows HTTP or services."""
