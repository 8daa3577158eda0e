"""Whatever the runs of a test did is rolled back at its end: the target is then as it was before the first of them."""

from __future__ import annotations

import asyncio
import csv
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from dam_sync.api.rollback import RollbackRequest, rollback_job
from dam_sync.model.run_options import RunOptions
from dam_sync.report.rollback import RollbackReport

if TYPE_CHECKING:
    from tests.support.jobs.tenants import Pair

ALL = "100%"
WRITTEN_WHEN = ("changed_at", "imported_at", "revision", "updated_at")  # moments of writing, which no rollback returns
RUNS = "SELECT id FROM run WHERE command IN ('run', 'only') ORDER BY id DESC"
FORGOTTEN = "removed by `state gc`: what was recorded there stays as it is"


Options = Callable[..., RunOptions]


class HasAssets(Protocol):
    """What has assets."""

    @property
    def assets(self) -> Sequence[Mapping[str, Any]]:
        """The ground truth, the trash too."""


class Chosen:
    """Whether the test that runs now is one whose runs are rolled back."""

    now = False


@contextmanager
def undone_afterwards(pair: Pair, options: Options) -> Iterator[Pair]:
    """Roll back every run of the block, the last first, and compare the target with what it was before, but for the
    assets that were listed as not undone."""
    before = assets_of(pair.target) if Chosen.now else {}
    yield pair
    if Chosen.now and (pair.folder / "state" / "job.db").exists():
        listed, notes = undo_every_run(pair, options)
        if not any(FORGOTTEN in note for note in notes):
            assert [*differing(before, assets_of(pair.target), listed)] == []


def undo_every_run(pair: Pair, options: Options) -> tuple[set[str], list[str]]:
    """Ids of the assets of which something stays, and the notes of all rollbacks."""
    with closing(sqlite3.connect(pair.folder / "state" / "job.db")) as connection:
        runs = [number for (number,) in connection.execute(RUNS)]
    listed, notes = set[str](), []
    for run in runs:
        notes += rolled_back(pair, run, options).notes
        listed |= stay(pair.folder / "stays.csv")
    return listed, notes


def rolled_back(pair: Pair, run: int, options: Options) -> RollbackReport:
    """One run is rolled back, whatever others changed since."""
    asked = RollbackRequest(run, False, ALL, pair.folder / "stays.csv")
    given = options(connectors=pair.connectors, accept_changes=True)
    return asyncio.run(rollback_job(pair.job, given, asked))


def stay(path: Path) -> set[str]:
    """Ids at the target of assets of which something stays."""
    with path.open(encoding="utf-8-sig", newline="") as rows:
        return {row["target"] for row in csv.DictReader(rows)} - {""}


def assets_of(service: HasAssets) -> dict[str, Mapping[str, Any]]:
    """What is at a service outside of its trash, by id, without the moments of writing."""
    rows = [row for row in service.assets if row["status"] != "trash"]
    return {row["id"]: {key: value for key, value in row.items() if key not in WRITTEN_WHEN} for row in rows}


def differing(
    before: Mapping[str, Mapping[str, Any]], after: Mapping[str, Mapping[str, Any]], but: Collection[str] = ()
) -> Iterator[str]:
    """Where two such views differ, in other assets than `but`."""
    for asset in sorted((before.keys() | after.keys()) - {*but}):
        here, there = before.get(asset, {}), after.get(asset, {})
        for key in sorted(here.keys() | there.keys()):
            if here.get(key) != there.get(key):
                yield f"{asset} {key}: {there.get(key)!r} instead of {here.get(key)!r}"
