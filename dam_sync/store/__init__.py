"""The checkpoint store of a job: what was listed, what became of it, and what was written, in one file."""
