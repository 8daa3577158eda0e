"""Uploads of service B: files, and the batches that they are in."""
