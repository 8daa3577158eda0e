"""HTTP, known to services only."""
