"""Runs whose assets are written by worker processes: the same result, also after any of the processes is killed."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.e2e.conftest import ASSETS
from tests.e2e.test_migration import digests
from tests.support.postgres import OwnServer, execute
from tests.support.tenants import Pair, alone, duplicates


@pytest.fixture(scope="module")
def server() -> Iterator[OwnServer]:
    """A server of its own."""
    made = OwnServer(Path(tempfile.mkdtemp(prefix="dam-sync-pg-")) / "data")
    yield made
    made.stop()


@pytest.fixture
def shared(tenants: Pair, server: OwnServer) -> Iterator[Pair]:
    """The job, with its state on the server."""
    text = tenants.job.read_text(encoding="utf-8")
    tenants.job.write_text(text.replace(f"state: {tenants.folder}/state/job.db", f"state: {server.url}"))
    yield replace(tenants, command=alone)
    execute(server.state, 'DROP SCHEMA IF EXISTS "dam_sync_test" CASCADE')


def test_a_run_with_workers_moves_what_one_process_would(shared: Pair) -> None:
    job = str(shared.job)
    planned = shared.json("plan", job)
    for tenant in (shared.source, shared.target):
        tenant.forget_calls()
    report = shared.json("run", job, "--workers", "2")
    assert report["counts"]["created"] == planned["counts"]["created"] == ASSETS
    assert report["digest"] == planned["digest"]
    target = shared.target.assets
    assert len(target) == ASSETS
    assert duplicates(target) == []
    assert digests(target) == digests(shared.source.assets)
    for side, tenant in (("source", shared.source), ("target", shared.target)):
        assert report[side]["calls"] == {call: number for call, number in tenant.calls.items() if number}
    assert shared.json("run", job, "--workers", "2")["counts"]["created"] == 0
