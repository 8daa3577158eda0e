"""The ledger: its share of what a run asks of the processor."""

from __future__ import annotations

import asyncio
import resource
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Connection

from dam_sync.engine.decide.patches import changes_of_draft
from dam_sync.model.asset import Draft, Marker
from dam_sync.model.clock import SystemClock
from dam_sync.model.codec import draft_to_json
from dam_sync.model.ledger import LedgerRow
from dam_sync.model.write_record import WriteRecord, count_call, recording
from dam_sync.store.ledger import append
from dam_sync.store.store import SqlStore
from tests.support.jobs.bulk_jobs import Bulk, write_bulk
from tests.support.measuring.printed_table import show
from tests.support.processes import measured, processes

ASSETS = 500
BUDGET = 0.10
FAST = "limits: {calls_per_second: 1000, concurrency: 16}"


@pytest.mark.bench
def test_the_ledger_keeps_to_its_budget(tmp_path: Path) -> None:
    """What a run writes into its ledger is collected and written again, alone, by the same functions."""
    written = write_bulk(tmp_path, Bulk(ASSETS, folders=4, tagged=1))
    with processes(tmp_path, written, more=FAST, source_options={"languages": ["en"]}) as pair:
        before = processor()
        measured("run", str(pair.job), "--json", "--no-progress")
        run = processor() - before
    rows = asyncio.run(rows_of(next(tmp_path.rglob("*.db"))))
    alone = asyncio.run(written_again(tmp_path / "again.db", rows))
    share = alone / run
    show(
        "Ledger: processor time of a run with it, and of the ledger alone",
        ("", "measured"),
        [
            ("assets", ASSETS),
            ("rows", len(rows)),
            ("ms an asset, run", 1000 * run / ASSETS),
            ("ms an asset, ledger", 1000 * alone / ASSETS),
            ("share, %", 100 * share),
        ],
    )
    assert len(rows) > ASSETS
    assert share <= BUDGET


def processor() -> float:
    """Seconds of the processor that ended child processes took."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


async def rows_of(state: Path) -> list[LedgerRow]:
    store = await SqlStore.open(state, SystemClock())
    try:
        return await store.ledger(0, 100 * ASSETS)
    finally:
        await store.close()


async def written_again(state: Path, rows: list[LedgerRow]) -> float:
    """Seconds of the processor that collecting and writing these rows takes; a run shares commits, so these do."""
    store = await SqlStore.open(state, SystemClock())
    run = (await store.begin("ledger", "run")).id
    before = time.process_time()
    for group in batched(rows, 25):
        made = [replace(collected(row), run=run) for row in group]

        def job(c: Connection, made: list[LedgerRow] = made) -> None:
            for row in made:
                append(c, row)

        await store._write(job)
    seconds = time.process_time() - before
    await store.close()
    return seconds


def collected(row: LedgerRow) -> LedgerRow:
    """The row as a write collects it: its changes are made from a draft, its calls are counted."""
    fields = {name.removeprefix("fields."): str(change[1]) for name, change in row.changes.items() if change}
    draft = Draft(Marker("srckey", row.asset), row.asset, fields=fields)
    changes = changes_of_draft(draft_to_json(draft), "values")
    with recording(WriteRecord(row.target, changes, row.digest, row.size)) as record:
        for call, number in row.calls.items():
            for _ in range(number):
                count_call(call)
    return replace(row, changes=record.changes, calls=record.calls)


def batched(rows: list[LedgerRow], size: int) -> Iterator[list[LedgerRow]]:
    return (rows[first : first + size] for first in range(0, len(rows), size))
