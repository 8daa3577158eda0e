"""Uploads: one PUT, or presigned parts."""
