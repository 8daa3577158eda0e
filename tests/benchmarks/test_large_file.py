"""Flat: memory does not grow with a file, and a kill in mid-upload costs no more than what was in flight."""

from __future__ import annotations

from pathlib import Path

import pytest

from dam_sync.services import discover
from dam_sync.services.e_profiles import facts
from tests.support.jobs.killed_transfer import kill_and_resume, kill_and_resume_at
from tests.support.measuring.printed_table import MB, show
from tests.support.pairs import KINDS

SIZE = 2_000_000_000
MOST_MB = 200
ANYWHERE = 640_000_000
ASIDE = {"c_brandlibrary": 3}  # calls of a session that bring no bytes: its start, the question where to go on, its end
PART = {
    "a_hypermedia": "PUT /api/dam/files/{id}",
    "b_documents": "POST /api/v1/upload/{batch}/{index}",
    "c_brandlibrary": "storage",
    "d_templates": "storage",
    "e_profiles": "POST /v2/uploads/chunks/upload",
}


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


@pytest.mark.bench
@pytest.mark.parametrize("target", KINDS)
def test_a_large_file_goes_on_at_every_service(tmp_path: Path, target: str) -> None:
    """Parts of D have 100 MiB, more than all the memory there is for file bytes."""
    source = "a_hypermedia" if target != "a_hypermedia" else "e_profiles"
    bounds = discover()[target].capabilities.limits.parts
    assert bounds is not None
    parts = len(bounds.split(ANYWHERE))
    done = kill_and_resume_at(tmp_path, source, target, ANYWHERE, parts // 2, PART[target])
    rows = [
        ("bytes of the largest part", min(bounds.preferred, ANYWHERE)),
        ("parts of the file", parts),
        ("calls that bring parts before the kill", done.before),
        ("calls that bring parts in all", done.chunks),
        ("peak memory, MB", done.peak / MB),
        ("seconds", done.seconds),
    ]
    show(f"A file of {ANYWHERE:,} bytes to {target}, killed half-way and resumed", ("", "measured"), rows)
    assert done.peak < MOST_MB * MB
    assert done.chunks <= parts + bounds.at_once + ASIDE.get(target, 0)
    assert done.target == done.source
