"""What `status` says."""

from __future__ import annotations

import pytest

from dam_sync.cli.status import about_stopped


@pytest.mark.parametrize(
    ("run", "command", "said"),
    [
        (3, "run", "run 3 stopped: no room"),
        (None, "run", "the run that began at 2026-11-29T01:02:03Z stopped: no room"),
        (4, "rollback 1", "run 4, the rollback of run 1, stopped: no room"),
        (None, "rollback 1", "the rollback of run 1 that began at 2026-11-29T01:02:03Z stopped: no room"),
    ],
)
def test_why_a_run_or_its_rollback_stopped(run: int | None, command: str, said: str) -> None:
    assert about_stopped(run, command, "2026-11-29T01:02:03.004Z", "no room") == said
