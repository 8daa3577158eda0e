"""Files that people write: the job file, source positions, diagnostics."""
