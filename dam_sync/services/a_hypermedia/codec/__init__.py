"""Service JSON to and from the neutral model; pure functions."""
