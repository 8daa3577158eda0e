"""Runs that several processes take part in."""
