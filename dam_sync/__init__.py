"""Moves digital-asset libraries between services that disagree about everything, and keeps them in step."""

__version__ = "0.1.0"
