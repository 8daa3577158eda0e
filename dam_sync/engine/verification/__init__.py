"""Reads both services back and states what a comparison of them supports."""
