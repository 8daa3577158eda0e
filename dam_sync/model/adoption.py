"""What an adoption counts, and how it matched assets: as types, whose values are what its report shows."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class MatchedBy(StrEnum):
    """By what an asset of the source and one of the target were matched."""

    MARKER = "marker"
    WAY_BACK = "marker of the other direction"
    FIELD = "field"
    FILE = "file"
    DECISION = "decision"


class AdoptionCount(StrEnum):
    """Counts of its report besides links and assets without one."""

    LINKED_BEFORE = "linked before"
    AMBIGUOUS = "ambiguous"
    HELD_BACK = "held back"


def links_key(by: MatchedBy, *, dry_run: bool) -> str:
    """The key under which links are counted that were saved, or that a dry run found."""
    return f"{'would be linked' if dry_run else 'linked'} by {by}"


def links_found(counts: Mapping[str, int], *, dry_run: bool) -> int:
    """How many links of either sort there are."""
    return sum(counts.get(links_key(by, dry_run=dry_run), 0) for by in MatchedBy)
