"""Decides what has to happen to each asset, and does it exactly once."""
