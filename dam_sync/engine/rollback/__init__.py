"""Undoes what a run wrote."""
