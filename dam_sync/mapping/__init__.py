"""Mappings: a YAML file, compiled against two schemas into a pure function from assets to drafts."""
