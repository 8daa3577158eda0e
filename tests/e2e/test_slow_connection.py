"""A service that responds to the first calls of a run later than a process trusts its lease without a heartbeat."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from dam_sync.api.emulation.sandbox import Emulated
from dam_sync.emulators.kit.faults import Fault
from dam_sync.store.base import Storage
from tests.conformance.catalogue import SCHEMA, asset
from tests.support.jobs import small_jobs
from tests.support.jobs.any_pair import FASTER, hurried, joined, ran, receiver_of, tenant_of
from tests.support.libraries.every_feature import OWN_MARKS, receiving
from tests.support.state.shared_engine import shared_engine

STILL_S = 2  # of the test's own time
SLOW = f"delay:{(STILL_S + 1) * FASTER}"


def test_a_run_begins_however_long_the_connection_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = [*SCHEMA, asset(1), asset(2)]
    with hurried(), tenant_of("e_profiles", records) as first, receiver_of("b_documents", receiving()) as second:
        source, target = Emulated("e_profiles", first.url), Emulated("b_documents", second.url)
        pair = joined(tmp_path, source, target, (first, second), OWN_MARKS)
        still = timedelta(seconds=STILL_S * FASTER)
        monkeypatch.setattr(small_jobs, "STORAGE", Storage(engine=shared_engine, still=still))
        slow = Fault("POST */automation/login", SLOW, nth=1)
        assert second.served is not None
        second.served.app.faults.lines.append(slow)
        assert ran(pair)["counts"]["created"] == 2
        assert slow.hits == 1
