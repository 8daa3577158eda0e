"""Authentication methods."""
