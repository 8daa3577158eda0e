"""Writing: create, update, replace, attach, remove, find, read-back proofs."""
