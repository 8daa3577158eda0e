"""A large file that is killed on its way and goes on: what both e2e tests and benchmarks look at."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.bulk import Bulk, write_bulk
from tests.support.processes import Measured, processes
from tests.support.tenants import Tenant

CHUNK = "POST /v2/uploads/chunks/upload"
START = "POST /v2/uploads/chunks/start"
POLL = 0.05
PATIENCE = 600.0
RECORDING = 0.3  # seconds for the answers already given to be recorded


@dataclass(frozen=True, slots=True)
class Resumed:
    """What came of it. peak in bytes; chunks: calls that sent one, before the kill and in all."""

    peak: int
    before: int
    chunks: int
    sessions: int
    source: Sequence[str]
    target: Sequence[str]
    seconds: float


def kill_and_resume(
    folder: Path, size: int, kill_at: int, *, more: str = "", faults: Sequence[Mapping[str, Any]] = ()
) -> Resumed:
    """One file of `size` bytes; the run is killed when the target saw `kill_at` chunks, and started again."""
    written = write_bulk(folder, Bulk(1, size=size))
    with processes(folder, written, more=more) as pair:
        pair.target.add_faults(*faults)
        began = time.monotonic()
        command = ("run", str(pair.job), "--json", "--no-progress")
        with Measured(*command) as first:
            until(pair.target, kill_at, first)
            time.sleep(RECORDING)
            assert first.running, "the upload was over before the kill"
            first.kill()
        before = pair.target.calls[CHUNK]
        with Measured(*command) as second:
            second.wait()
        calls = pair.target.calls
        return Resumed(
            peak=max(first.peak, second.peak),
            before=before,
            chunks=calls[CHUNK],
            sessions=calls[START],
            source=digests(pair.source),
            target=digests(pair.target),
            seconds=time.monotonic() - began,
        )


def until(target: Tenant, chunks: int, run: Measured) -> None:
    """Wait until so many chunks were sent."""
    deadline = time.monotonic() + PATIENCE
    while target.calls.get(CHUNK, 0) < chunks:
        assert run.running, "the run ended too early"
        assert time.monotonic() < deadline, "no chunk came"
        time.sleep(POLL)


def digests(tenant: Tenant) -> list[str]:
    """sha256 of every file version there, as the emulator itself has it."""
    return [file["digests"]["sha256"] for asset in tenant.assets for file in asset["versions"]]
