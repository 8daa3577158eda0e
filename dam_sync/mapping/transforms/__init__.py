"""The steps of a pipe, one class each."""
