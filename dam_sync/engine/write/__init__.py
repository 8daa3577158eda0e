"""Writes one asset to the target, each call once: values, files, the trash, and what a killed attempt left."""
