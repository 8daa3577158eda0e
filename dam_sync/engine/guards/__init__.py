"""When to stop rather than go on, by subject: what changed since the last run, what a side shows, what goes missing."""
