"""What a run asks of a large state to find deletions: little time and no memory for each asset that is known."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dam_sync.model.asset import Draft
from dam_sync.model.clock import SystemClock
from dam_sync.model.codec import draft_to_json
from dam_sync.store.rows import UNLISTED, Deletion
from dam_sync.store.store import SqlStore
from tests.support.measuring.printed_table import MB, show
from tests.support.virtual.scale.large_move import resident

FEW, ALL = 100_000, 1_000_000
PAGE = 500
MISSING = 10  # one of so many is not listed
SECONDS = 20.0  # of one core for a million known assets, whatever is asked
GROWTH = 20 * MB
DRAFT = json.dumps(draft_to_json(Draft(None, "a.jpg", status="published", fields={"note": "text " * 120})))
LINKS = """
INSERT INTO link (source, target, source_revision, source_fingerprint, draft_fingerprint, filename, evidence, digests,
  versions, draft) VALUES (?, ?, '1', ?, ?, 'a.jpg', 'V4', '{}', '[]', ?)
"""
SEEN = "UPDATE seen SET run = iif(CAST(source AS INTEGER) % ? = 0, 1, 2)"  # some were not listed by the second run
WORK = """
INSERT INTO work (asset, run, listed_run, revision, state, action) VALUES (?, 1, 1, '1', 'settled', 'unchanged')
"""


@pytest.mark.bench
async def test_a_large_state_costs_a_run_little(tmp_path: Path) -> None:
    """`DAM_SYNC_LONG=1` has a million assets."""
    size = ALL if os.environ.get("DAM_SYNC_LONG") == "1" else FEW
    path = tmp_path / "job.db"
    await (await SqlStore.open(path, SystemClock())).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.executemany(LINKS, links(size))
        connection.execute(SEEN, (MISSING,))
        connection.executemany(WORK, ((f"{number:08}",) for number in range(size)))
        connection.commit()
    store, rows = await SqlStore.open(path, SystemClock()), list[tuple[str, float]]()
    before = resident()
    for name, run, missing in (("a delta", None, 0), ("a listing of everything", 2, size // MISSING)):
        began = time.process_time()
        assert await found(store, run) == missing
        rows.append((f"seconds of one core, {name}", time.process_time() - began))
    began = time.process_time()
    assert len(await store.sample_existing(10)) == 10
    rows.append(("seconds of one core, assets that exist", time.process_time() - began))
    rows.append(("MB more than before", (resident() - before) / MB))
    await store.close()
    show(f"deletions among {size:,} known assets, one of {MISSING} not listed", ("", ""), rows)
    assert all(seconds <= SECONDS * max(size, FEW) / ALL for _, seconds in rows[:-1])
    assert rows[-1][1] * MB <= GROWTH


def links(size: int) -> Iterator[tuple[str, str, str, str, str]]:
    """As after a run."""
    for number in range(size):
        yield f"{number:08}", f"t{number:08}", "f" * 40, "d" * 40, DRAFT


async def found(store: SqlStore, run: int | None) -> int:
    """As a run looks for them, and keeps them."""
    after, number, now = "", 0, datetime.now(UTC)
    while page := await store.sightings(after, PAGE, run):
        after, number = page[-1].source, number + len(page)
        await store.keep_deletions([Deletion(each.source, each.target, UNLISTED, now, 1, 2, "") for each in page], ())
    return number
