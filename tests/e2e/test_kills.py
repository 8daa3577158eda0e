"""A kill at any moment, and the same command again: nothing missing, nothing twice, no recorded step repeated."""

from __future__ import annotations

import random
import sqlite3
import time
from collections import Counter

from tests.e2e.conftest import ASSETS
from tests.e2e.test_migration import digests
from tests.support.jobs.tenants import Pair, duplicates


def test_ten_kills_leave_no_trace(tenants: Pair) -> None:
    rng = random.Random(20)
    kills = 0
    for _ in range(10):
        process = tenants.start("run", str(tenants.job), "--no-progress")
        time.sleep(rng.uniform(0.1, 1.0))
        if process.poll() is None:
            process.kill()
            kills += 1
        process.wait()
    tenants.cli("run", str(tenants.job), "--no-progress")
    target = tenants.target.assets
    assert kills >= 3, "the host was too quick for this test to mean anything"
    assert len(target) == ASSETS
    assert duplicates(target) == []
    assert digests(target) == digests(tenants.source.assets)
    assert tenants.json("verify", str(tenants.job), "--level", "fields")["verdict"]["clean"]
    assert repeated_steps(tenants) == []


def test_the_report_of_a_resumed_run_has_every_loss(tenants: Pair) -> None:
    planned = tenants.json("plan", str(tenants.job))["losses"]
    process = tenants.start_until(
        lambda: len(tenants.target.assets) >= ASSETS // 3, "run", str(tenants.job), "--no-progress"
    )
    process.kill()
    process.wait()
    assert tenants.json("status", str(tenants.job))["runs"][0]["result"] == "interrupted"
    shown = tenants.cli("status", str(tenants.job))
    assert "running" not in shown.stdout
    assert "next: dam-sync run" in shown.stderr
    report = tenants.json("run", str(tenants.job))
    assert report["resumed"]
    assert report["losses"] == planned
    assert planned


def repeated_steps(tenants: Pair) -> list[tuple[str, str]]:
    """Steps that the journal has twice for one asset: a recorded step is never called again."""
    with sqlite3.connect(tenants.folder / "state" / "job.db") as connection:
        rows = connection.execute("SELECT asset, operation FROM ledger").fetchall()
    connection.close()
    return [row for row, number in Counter(rows).items() if number > 1]
