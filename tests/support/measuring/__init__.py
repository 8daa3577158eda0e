"""Calls, processor seconds and memory, measured and printed."""
