"""Writing: create, update, versions, relations, lookup by marker."""
