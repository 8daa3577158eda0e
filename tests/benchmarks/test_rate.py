"""At the limit, never over it: the documented rate is used, and no call is refused."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support.jobs.bulk_jobs import Bulk, write_bulk
from tests.support.jobs.tenants import Tenant
from tests.support.measuring.printed_table import show
from tests.support.processes import measured, processes

RATE = 50
ASSETS = 400
LEAST = 0.90
UPLOAD = "POST /v2/uploads"
TICK = 0.05


@dataclass
class Sampled:
    """What a tenant's counters showed over time: (timestamp, uploads, all calls)."""

    rows: list[tuple[float, int, int]] = field(default_factory=list)

    def rate(self) -> tuple[int, float]:
        """Calls, and seconds, from the first upload to the last."""
        last = self.rows[-1][1]
        first = next(row for row in self.rows if row[1] > 0)
        end = next(row for row in self.rows if row[1] == last)
        return end[2] - first[2], end[0] - first[0]


@contextmanager
def sampling(tenant: Tenant) -> Iterator[Sampled]:
    sampled, stopped = Sampled(), threading.Event()

    def sample() -> None:
        while not stopped.wait(TICK):
            calls = tenant.calls
            sampled.rows.append((time.monotonic(), calls.get(UPLOAD, 0), sum(calls.values())))

    thread = threading.Thread(target=sample, daemon=True)
    thread.start()
    try:
        yield sampled
    finally:
        stopped.set()
        thread.join()


@pytest.mark.bench
def test_the_rate_is_used_and_never_exceeded(tmp_path: Path) -> None:
    bulk = Bulk(ASSETS, folders=4, tagged=1)
    written = write_bulk(tmp_path, bulk)
    limits = f"limits: {{calls_per_second: {RATE}, concurrency: 16}}"
    one, two = {"languages": ["en"]}, {"rate": RATE}
    tenants = processes(tmp_path, written, more=limits, source_options=one, target_options=two)
    with tenants as pair, sampling(pair.target) as sampled:
        run = measured("run", str(pair.job), "--json", "--no-progress")
        told = pair.target.ask("/_emulator/calls")
        refused = pair.target.refused
    calls, seconds = sampled.rate()
    used = calls / seconds / RATE
    rows = [
        ("assets created", run.report["counts"]["created"]),
        ("calls from the first upload to the last", calls),
        ("seconds", seconds),
        ("calls a second", calls / seconds),
        ("part of the allowed rate", used),
        ("most calls in any one second", told["peak_per_second"]),
        ("refused", sum(refused.values())),
    ]
    show(f"Rate: the target allows {RATE} calls a second", ("", "measured"), rows)
    assert run.report["counts"]["created"] == ASSETS
    assert refused == {}
    assert told["peak_per_second"] <= RATE
    assert used >= LEAST
