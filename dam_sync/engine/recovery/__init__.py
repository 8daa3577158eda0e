"""What a run that was killed left behind, and how the next one continues."""
