"""Numbered guesses about what the documents of a service leave open."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Assumption:
    """A numbered guess about what the documents leave open."""

    number: int
    text: str
    where: str  # section of the wire contract


@dataclass(frozen=True, slots=True)
class AssumedWrite:
    """A write request in an undocumented form. number: of its Assumption; form: the call and what is
    assumed about it; verified_by: how its first use in a run is checked, and what happens if it has no effect."""

    number: int
    form: str
    verified_by: str
