"""Schemas, mappings, and drafts by them."""
