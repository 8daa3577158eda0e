"""Stages of one asset on its way through a run: `Work` (listed) -> `ReadAsset` -> `DraftedAsset` -> `Written`."""

from __future__ import annotations

from dataclasses import dataclass

from dam_sync.mapping.crosswalk import Drafted
from dam_sync.model.asset import Asset
from dam_sync.model.errors import DamSyncError
from dam_sync.model.link import LinkRow
from dam_sync.model.outcome import Outcome
from dam_sync.store.rows import Work


@dataclass(frozen=True, slots=True)
class ReadAsset:
    """The whole asset, and its link if it was moved before. restores: its target asset is in the trash."""

    work: Work
    asset: Asset
    link: LinkRow | None
    restores: bool = False


@dataclass(frozen=True, slots=True)
class DraftedAsset:
    """Mapped, with terms, containers and file name resolved: ready to be written."""

    work: Work
    asset: Asset
    link: LinkRow | None
    drafted: Drafted
    restores: bool = False


@dataclass(frozen=True, slots=True)
class Concluded:
    """Nothing is left to write but this. hide: the link of a target asset that must not be visible any more; remove:
    that of one which is to be moved to the trash."""

    work: Work
    outcome: Outcome
    asset: Asset | None = None
    hide: LinkRow | None = None
    remove: LinkRow | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """Done at the target; the outcome is to be recorded."""

    work: Work
    outcome: Outcome
    asset: Asset | None


@dataclass(frozen=True, slots=True)
class Failed:
    """An error of this asset; `error_policy.react` says what follows."""

    work: Work
    error: DamSyncError
    asset: Asset | None = None
