"""A state on a server, PostgreSQL, and what all jobs share whose states are in one database."""
