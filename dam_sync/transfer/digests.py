"""Digests computed in the same pass as the copy."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from dam_sync.model.errors import IntegrityError

_KNOWN = frozenset(name for name in hashlib.algorithms_guaranteed if not name.startswith("shake"))


class DigestTracker:
    """Length and digests of a file whose bytes are read from the start, in any number of passes.

    It takes only bytes that continue what it has, so a range read again is not counted twice. Algorithms that
    this host does not support are left out.
    """

    def __init__(self, name: str, size: int | None, published: Mapping[str, str], wanted: Iterable[str]) -> None:
        self._name, self._size = name, size
        self._published = {algorithm.lower(): digest for algorithm, digest in published.items()}
        names = sorted({*self._published, *(algorithm.lower() for algorithm in wanted)})
        self._sums = {name: hashlib.new(name, usedforsecurity=False) for name in names if name in _KNOWN}
        self.position = 0

    @property
    def idle(self) -> bool:
        """Whether there is no digest to compute, so that no byte has to be read only for it."""
        return not self._sums

    @property
    def promised(self) -> dict[str, str]:
        """The published digests that `check` compares with."""
        return {algorithm: digest for algorithm, digest in self._published.items() if algorithm in self._sums}

    @property
    def digests(self) -> dict[str, str]:
        """The digests of the bytes taken so far."""
        return {algorithm: total.hexdigest() for algorithm, total in self._sums.items()}

    def offer(self, start: int, block: bytes | memoryview) -> None:
        """Bytes read at `start`."""
        skip = self.position - start
        if 0 <= skip < len(block):
            fresh = memoryview(block)[skip:]
            for total in self._sums.values():
                total.update(fresh)
            self.position += len(fresh)

    def check(self) -> None:
        """Raises IntegrityError unless length and published digests agree with what was taken."""
        if self._size is not None and self.position != self._size:
            raise IntegrityError(f"{self._name} should have {self._size} bytes but has {self.position}", code="length")
        for algorithm, made in self.digests.items():
            expected = self._published.get(algorithm, made)
            if made != expected.lower():
                text = f"{self._name}: the {algorithm} digest should be {expected} but is {made}"
                raise IntegrityError(text, code="digest", hint="the file may be damaged at the source: open it there")
