"""Guards that stop a run, by subject: what changed since the last run, what a service returns, what goes missing."""
