"""What a run wrote to an asset or a container, and why parts of it stay when it is rolled back."""

from __future__ import annotations

from dataclasses import dataclass

from dam_sync.model.journal_names import WriteKind
from dam_sync.model.ledger import LedgerRow

UNRECORDED = 1 << 62  # the number of what the ledger does not have: it came after all that the run recorded


@dataclass(frozen=True, slots=True)
class WrittenAsset:
    """What the run wrote to one asset of the target, in the order of writing: no rows for an asset of which an
    interrupted attempt may have changed something without a result. source: the asset of the source; later: the last
    run that wrote to it after that and was not rolled back, 0 if none did; created: whether the run created it. begun:
    whether the run did not complete it; earlier: whether a run before it had begun that."""

    target: str
    source: str
    rows: tuple[LedgerRow, ...]
    later: int = 0
    begun: bool = False
    earlier: bool = False

    @property
    def created(self) -> bool:
        """Whether the run created the asset."""
        return any(row.kind is WriteKind.CREATE for row in self.rows)


@dataclass(frozen=True, slots=True)
class WrittenMembers:
    """Assets that the run added to a container of the target, or removed from it."""

    container: str
    added: tuple[str, ...]
    removed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OpenWrites:
    """What a run was about to change when it was interrupted, and did not record. members: containers with an asset
    each; relations: names of journal entries."""

    members: frozenset[tuple[str, str]]
    relations: frozenset[str]


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why something stays as the run left it. what: what stays; stays: it was meant to, and is no reason to look at
    it."""

    what: str
    reason: str
    stays: bool = False


@dataclass(frozen=True, slots=True)
class EarlierFile:
    """A file as it was uploaded before: `algorithm:value` and bytes, as in the ledger."""

    digest: str
    size: int | None
