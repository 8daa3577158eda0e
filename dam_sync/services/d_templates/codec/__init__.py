"""Service JSON to and from our model; pure functions."""
