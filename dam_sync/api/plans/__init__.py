"""Plans: their file, what their report has besides that of a run, and runs that follow them."""
