"""Which part of the library a run compares."""

from __future__ import annotations

from dataclasses import dataclass
from zlib import crc32


@dataclass(frozen=True, slots=True)
class Rotation:
    """The part of the library that one run compares: `part` of `parts`, counted from 0."""

    part: int
    parts: int

    def is_due(self, asset: str) -> bool:
        """Whether this run compares the asset; always in the same part, as long as their number stays the same."""
        return crc32(asset.encode()) % self.parts == self.part
