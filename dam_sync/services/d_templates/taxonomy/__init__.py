"""Vocabularies and collections."""
