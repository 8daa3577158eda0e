"""Decides what has to happen to each asset and makes it happen, once."""
