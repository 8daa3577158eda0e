"""Vocabularies, folders and collections of service B."""
