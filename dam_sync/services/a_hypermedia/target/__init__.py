"""Writing: create, update, replace, attach, relate, remove, find, read-back proofs."""
