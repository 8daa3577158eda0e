"""How many responses were changed is reported at the end."""

from __future__ import annotations

from tests.simulation.conftest import pytest_terminal_summary

__all__ = ["pytest_terminal_summary"]
