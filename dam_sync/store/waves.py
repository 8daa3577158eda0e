"""Waves: which of them each asset belongs to, as its runs found."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, case, delete, func, select, text, update

from dam_sync.model.asset import AssetId
from dam_sync.store.base import Repository, pieces
from dam_sync.store.statements import PreparedStatement
from dam_sync.store.status_facts import DONE_AGAIN
from dam_sync.store.tables import LINK, PARKED, SEEN, TALLY, WAVE, WAVE_DUE, WORK
from dam_sync.store.upsert import upsert

ELSEWHERE = "of other waves"
"""In the tally of a run: assets that it listed and left alone."""
NOT_DONE = frozenset({"listed", "open", ELSEWHERE, DONE_AGAIN})
"""In the tally of a run: what is not the number of assets by what was done with them."""
WITH_LINK = ("created", "updated", "unchanged")
"""What becomes of an asset that is at the target afterwards."""
_ADDED = upsert(WAVE).values(
    asset=bindparam("of"), wave=bindparam("new_wave"), revision=bindparam("new_revision"), due=bindparam("new_due")
)
_PUT = PreparedStatement(
    _ADDED.on_conflict_do_update(
        index_elements=["asset"],
        set_={name: _ADDED.excluded[name] for name in ("wave", "revision", "due")},
    )
)


@dataclass(frozen=True, slots=True)
class SortedAsset:
    """An asset that was sorted. wave: empty for none; revision: at which it was sorted; linked: it was moved."""

    wave: str
    revision: str
    linked: bool


@dataclass(frozen=True, slots=True)
class WaveCounts:
    """Assets of a wave. moved: at the target; parked: of all; open: to be moved by its next run; left: the mapping
    leaves them out, or they are gone."""

    selected: int = 0
    moved: int = 0
    parked: int = 0
    open: int = 0
    left: int = 0


class WaveRepository(Repository):
    """The waves of assets."""

    def work_for(self, wave: str) -> None:
        """From now on this process takes work of this wave alone; of all waves if it is empty."""
        self._database.wave = wave

    async def sorted_assets(self, assets: Collection[str]) -> dict[AssetId, SortedAsset]:
        """Those of these assets that were sorted."""
        columns = (WAVE.c.asset, WAVE.c.wave, WAVE.c.revision, SEEN.c.source.is_not(None).label("linked"))
        chosen = select(*columns).join(SEEN, SEEN.c.source == WAVE.c.asset, isouter=True)

        def job(c: Connection) -> dict[AssetId, SortedAsset]:
            found: dict[AssetId, SortedAsset] = {}
            for piece in pieces(assets):
                for row in c.execute(chosen.where(WAVE.c.asset.in_(piece))):
                    found[AssetId(row.asset)] = SortedAsset(row.wave, row.revision, bool(row.linked))
            return found

        return await self._read(job) if assets else {}

    async def leave_due(self, assets: Collection[str]) -> frozenset[str]:
        """Those of these assets that belong to another wave than that of the run; they are due in its next run. Safe to
        repeat."""
        wave = self._database.wave

        def job(c: Connection) -> frozenset[str]:
            return frozenset(asset for piece in pieces(assets) for asset in leave_to_others(c, piece, wave))

        return await self._write(job) if wave else frozenset()

    async def unsort(self, assets: Collection[str]) -> None:
        """Let these be sorted again. Safe to repeat."""

        def job(c: Connection) -> None:
            for piece in pieces(assets):
                c.execute(delete(WAVE).where(WAVE.c.asset.in_(piece)))

        if assets:
            await self._write(job)

    async def unsort_unmoved(self, waves: Sequence[str]) -> None:
        """After the waves changed to these: let assets be sorted again that were not moved, and those of a wave that
        is gone. Safe to repeat."""
        moved = select(LINK.c.source)
        stale = WAVE.c.asset.not_in(moved) | WAVE.c.wave.not_in(list(waves))
        await self._write(lambda c: c.execute(delete(WAVE).where(stale)) and None)

    async def due_assets(self, wave: str, after: str, at_most: int) -> list[AssetId]:
        """A page of the assets of a wave that a run of another wave left to it, in the order of their ids."""
        chosen = select(WAVE.c.asset).where(WAVE_DUE, WAVE.c.wave == wave, WAVE.c.asset > after)
        chosen = chosen.order_by(WAVE.c.asset).limit(at_most)
        return await self._read(lambda c: [AssetId(asset) for asset in c.execute(chosen).scalars()])

    async def wave_counts(self) -> dict[str, WaveCounts]:
        """By wave, those of no wave under the empty name."""
        many, moved = func.count(), func.count(SEEN.c.source)
        done: list[Any] = [(text(PARKED), 0), (SEEN.c.source.is_not(None), 0)]
        rolled_back = WORK.c.action.in_(WITH_LINK)  # it has no link any more
        waiting = WAVE.c.due | (WORK.c.state != "settled") | rolled_back
        parked = func.sum(case((text(PARKED), 1), else_=0))
        opened = func.sum(case(*done, (waiting, 1), else_=0))
        left = func.sum(case(*done, (waiting, 0), else_=1))
        chosen = (
            select(WAVE.c.wave, many, moved, parked, opened, left)
            .join(SEEN, SEEN.c.source == WAVE.c.asset, isouter=True)
            .join(WORK, WORK.c.asset == WAVE.c.asset, isouter=True)
            .group_by(WAVE.c.wave)
        )
        rows = await self._read(lambda c: c.execute(chosen).all())
        return {row[0]: WaveCounts(*(int(number or 0) for number in row[1:])) for row in rows}


def put_wave(c: Connection, row: Any, wave: str, *, own: bool) -> None:
    """Keep the wave of a work item. own: its own run completes it, so that nothing is due."""
    _PUT.run(c, of=row.asset, new_wave=wave, new_revision=row.revision, new_due=not own)


def leave_to_others(c: Connection, ids: Sequence[str], wave: str) -> set[str]:
    """Those of these assets that belong to another wave than this one; they are due in its next run."""
    theirs = (WAVE.c.asset.in_(ids), WAVE.c.wave != wave)
    found = set(c.execute(select(WAVE.c.asset).where(*theirs)).scalars()) if wave else set()
    if found:
        c.execute(update(WAVE).where(*theirs).values(due=True))
    return found


def count_elsewhere(c: Connection, run: int, number: int) -> None:
    """Count assets of other waves that a run listed and left alone."""
    row = upsert(TALLY).values(run=run, label=ELSEWHERE, n=number)
    c.execute(row.on_conflict_do_update(index_elements=["run", "label"], set_={"n": TALLY.c.n + number}))


def forget_elsewhere(c: Connection, run: int) -> None:
    """Before a run lists again from the start."""
    c.execute(delete(TALLY).where(TALLY.c.run == run, TALLY.c.label == ELSEWHERE))
