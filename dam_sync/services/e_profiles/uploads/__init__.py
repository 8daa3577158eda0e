"""Uploads of service E: files that are sent, and those that it fetches by a link."""
