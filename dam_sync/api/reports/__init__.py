"""Reports: how they are put together from a state, kept, and read back."""
