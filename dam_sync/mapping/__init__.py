"""Mappings: a file for people, compiled against two schemas into a pure function from assets to drafts."""
