"""The vocabulary that all other packages share; standard library only."""
