"""What follows from a comparison: pure decisions. Nothing here reads the state, the target or the context of a run."""
