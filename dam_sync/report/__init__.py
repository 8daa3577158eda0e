"""Reports and progress for people: plain data in, text out."""
