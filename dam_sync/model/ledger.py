"""One write, as the ledger has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dam_sync.model.journal_names import kind_of
from dam_sync.model.values import Json


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """One write, made or planned. `at` is RFC 3339 text; seq counts from 1. The other columns are those of
    `LedgerTable`."""

    seq: int
    run: int
    operation: str
    asset: str
    target: str
    detail: Json
    at: str
    changes: Mapping[str, Json] = field(default_factory=dict)
    calls: Mapping[str, int] = field(default_factory=dict)
    digest: str = ""
    size: int | None = None
    version: str = ""
    seconds: float | None = None

    @property
    def kind(self) -> str:
        """What was written: a `WriteKind`, or the first words of what a rollback did."""
        return kind_of(self.operation)
