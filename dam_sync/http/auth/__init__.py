"""Credentials on requests, and how they are renewed."""
