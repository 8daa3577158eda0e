"""The vocabulary every other part speaks; standard library only."""
