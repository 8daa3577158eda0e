"""Lists that are read as a whole, such as folders and vocabularies: bounded, whatever a service returns."""

from __future__ import annotations

import marshal
from collections.abc import Iterable
from typing import Final

from dam_sync.model.errors import ContractBroken
from dam_sync.model.limits import MIB
from dam_sync.model.values import Json

LARGEST_LIST: Final = 256 * MIB
"""Bytes of the rows of one list. 100,000 terms of 200 bytes take 20 MiB, 300,000 folders of 700 bytes 200 MiB."""


class HeldList:
    """Counts the bytes of the rows that are kept in memory of one list."""

    def __init__(self, largest: int = LARGEST_LIST) -> None:
        self._largest = largest
        self._taken = 0

    def take(self, rows: Iterable[Json]) -> None:
        """Some more of its rows. Raises ContractBroken once they are more than any tenant has."""
        self._taken += sum(len(marshal.dumps(row)) for row in rows)
        if self._taken > self._largest:
            raise ContractBroken(
                f"a list has more than {self._largest:,} bytes",
                hint="ask the operator of the service why this list is so long, or does not end",
            )
