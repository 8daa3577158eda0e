"""Assets, values and schemas to fill a library with."""
