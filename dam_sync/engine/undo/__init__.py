"""Undoes one run, from its ledger."""
