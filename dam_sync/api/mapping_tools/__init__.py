"""The commands of `map`, and the samples of a source that they work with."""
