"""What a write, or the opening of a file, has of parts that cost calls: nothing, for there is no API."""

from __future__ import annotations

from dam_sync.model.costs import Amounts
from dam_sync.model.writes import Change, Opening
from dam_sync.services.folder.source import Reader


def amounts_of(change: Change, counted: Amounts, reader: Reader) -> Amounts:
    """Raises NotFound for a file that does not exist."""
    if isinstance(change, Opening):
        reader.expect(change.file)
    return counted
