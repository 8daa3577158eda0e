"""JSON of service B to and from the model. Pure functions."""
