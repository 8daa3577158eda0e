"""A file in chunks, killed in mid-upload: the next run continues with the same session, and the bytes are right."""

from __future__ import annotations

from pathlib import Path

from dam_sync.services.e_profiles import facts
from tests.support.jobs.killed_transfer import CHUNK, kill_and_resume

SIZE = 60_000_000
OPTIONS = "version_policy: file_only, index_lag: 5"  # what a killed run sent is looked for so long


def test_a_killed_upload_goes_on_where_it_was(tmp_path: Path) -> None:
    parts = len(facts.BOUNDS.split(SIZE))
    slow = {"match": CHUNK, "nth": 3, "do": "delay:20"}
    done = kill_and_resume(tmp_path, SIZE, 3, options=OPTIONS, more="limits: {concurrency: 1}", faults=[slow])
    assert done.before == 3
    assert done.chunks <= parts + 1, "a chunk whose tag was recorded was sent again"
    assert done.sessions == 1
    assert len(done.target) == 1
    assert done.target == done.source
