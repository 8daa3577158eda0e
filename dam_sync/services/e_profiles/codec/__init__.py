"""JSON of service E to and from the model. Pure functions."""
