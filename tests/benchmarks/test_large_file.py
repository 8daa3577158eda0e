"""Flat: memory does not grow with a file, and a kill in mid-upload costs no more than what was in flight."""

from __future__ import annotations

from pathlib import Path

import pytest

from dam_sync.services.e_profiles import facts
from tests.support.large import kill_and_resume
from tests.support.tables import MB, show

SIZE = 2_000_000_000
MOST_MB = 200


@pytest.mark.bench
def test_a_large_file_survives_a_kill_at_a_flat_cost_of_memory(tmp_path: Path) -> None:
    parts, at_once = len(facts.BOUNDS.split(SIZE)), facts.BOUNDS.at_once
    done = kill_and_resume(tmp_path, SIZE, parts // 2)
    rows = [
        ("bytes", SIZE),
        ("chunks of the file", parts),
        ("chunks sent before the kill", done.before),
        ("chunks sent in all", done.chunks),
        ("most that may be sent", parts + at_once),
        ("peak memory, MB", done.peak / MB),
        ("minutes", done.seconds / 60),
    ]
    show("One large file, killed half-way and resumed", ("", "measured"), rows)
    assert done.peak < MOST_MB * MB
    assert done.chunks <= parts + at_once
    assert done.sessions == 1
    assert done.target == done.source
