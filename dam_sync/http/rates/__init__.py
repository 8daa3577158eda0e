"""Limits of calls: fixed, learned, and shared among processes."""
