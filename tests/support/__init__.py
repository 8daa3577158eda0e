"""What several tests share; `README.md` is the index."""
