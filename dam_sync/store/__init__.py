"""The state of a job: what was listed, what happened to it, and what was written, in one file."""
