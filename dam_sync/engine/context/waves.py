"""A run of one wave: which assets are its own. An asset that was moved stays with its wave; any other belongs to the
first wave that selects it, and is sorted when it is read."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from dam_sync.mapping.selection import TAKEN
from dam_sync.mapping.wave_selection import WaveSelections
from dam_sync.model.asset import Asset, AssetId, Entry
from dam_sync.model.errors import ConfigError
from dam_sync.model.parking import ParkReason, SkipReason
from dam_sync.store.note_keys import RUNS_OF_WAVE, key_of_wave

if TYPE_CHECKING:  # a job file is checked without a database layer
    from dam_sync.model.outcome import Outcome
    from dam_sync.store.rows import Work
    from dam_sync.store.store import SqlStore
    from dam_sync.store.waves import SortedAsset

PAGE = 500
NO_WAVE = "in no wave"


@dataclass(slots=True)
class WaveRun:
    """The wave of a run. own: assets in hand that were found to be its own."""

    name: str
    selections: WaveSelections
    own: set[AssetId] = field(default_factory=set)

    def note_key(self, key: str) -> str:
        """Where this wave keeps what other jobs keep under this key."""
        return key_of_wave(key, self.name)

    async def elsewhere(self, store: SqlStore, entries: Sequence[Entry], *, full: bool) -> frozenset[AssetId]:
        """Those of these entries that belong to other waves, or to none, and stay as they are. One that was not moved
        and changed since is sorted again; in a full run also one in no wave."""
        known = await store.sorted_assets([entry.id for entry in entries])
        found = {entry.id for entry in entries if self._is_of_others(entry, known.get(entry.id), full=full)}
        others = {asset for asset, row in known.items() if row.wave != self.name}
        await store.unsort(sorted(others - found))
        return frozenset(found)

    def _is_of_others(self, entry: Entry, known: SortedAsset | None, *, full: bool) -> bool:
        if known is None or known.wave == self.name:
            return False
        if known.linked or entry.deleted:
            return True
        return bool(entry.revision) and entry.revision == known.revision and (bool(known.wave) or not full)

    def set_aside(self, asset: Asset, known: SortedAsset | None) -> Outcome | None:
        """What becomes of an asset that is not of this wave; None for one that is."""
        from dam_sync.model.outcome import Outcome

        moved = known.wave if known is not None and known.linked else ""
        name, verdict = (moved, TAKEN) if moved else self.selections.wave_of(asset)
        if verdict.fault:
            message = f"wave {name}, select.where: {verdict.fault}"
            kind = ParkReason.WAVE
            return Outcome(action="parked", cause=kind, message=message, hint=kind.to_do, operation="mapping")
        if name == self.name:
            self.own.add(asset.id)
            return None
        where = f"of wave {name}" if name else NO_WAVE
        reason = SkipReason.NOT_SELECTED
        return Outcome(action="skipped", cause=reason, message=f"{reason}: {where}", wave=name)

    def stamped(self, work: Work, outcome: Outcome) -> Outcome:
        """The outcome with the wave of the asset, if it was sorted."""
        if work.asset not in self.own:
            return outcome
        self.own.discard(work.asset)
        return replace(outcome, wave=self.name)

    async def read_due(self, store: SqlStore, run: int) -> None:
        """Make work of what runs of other waves left to this one. Safe to repeat."""
        after = ""
        while page := await store.due_assets(self.name, after, PAGE):
            after = page[-1]
            await store.read_again(run, page)

    async def refuse_others(self, store: SqlStore, only: Collection[str]) -> None:
        """Raises ConfigError for a requested asset of another wave."""
        for asset, row in (await store.sorted_assets(only)).items():
            if row.wave != self.name:
                where = f"of wave {row.wave}" if row.wave else NO_WAVE
                hint = f"add `--wave {row.wave}`" if row.wave else "`waves` in the job file says what each selects"
                raise ConfigError(f"the asset {asset} is {where}, not of wave {self.name}", hint=hint)

    async def note_run(self, store: SqlStore, run: int) -> None:
        """Remember that this run was one of the wave. Safe to repeat."""
        key = self.note_key(RUNS_OF_WAVE)
        known = await store.get_meta(key) or []
        if run not in known:
            await store.set_meta(key, [*known, run])

    async def own_of(self, store: SqlStore, assets: Sequence[AssetId]) -> frozenset[AssetId]:
        """Those of these assets that were sorted into this wave."""
        known: Mapping[AssetId, SortedAsset] = await store.sorted_assets(assets)
        return frozenset(asset for asset, row in known.items() if row.wave == self.name)
