"""What a resumed run says of the creates that the stopped one had begun."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import structlog.testing

from dam_sync.api.running import snapshots
from dam_sync.engine.run.execute import _announce_interrupted
from dam_sync.model.run_options import Progress, RunOptions
from dam_sync.model.waits import INDEX
from dam_sync.report.progress import line
from tests.support.run_double import run_double
from tests.support.stepped_clock import SteppedClock


async def test_they_are_announced_once_and_the_wait_for_them_is_shown_once() -> None:
    progress, clock = Progress(), SteppedClock()
    shown = snapshots(RunOptions(progress=progress, clock=clock))

    async def interrupted() -> int:
        return 2

    context: Any = run_double(
        run=SimpleNamespace(resumed=True),
        store=SimpleNamespace(interrupted_creates=interrupted),
        target=SimpleNamespace(limits=SimpleNamespace(lag=timedelta(seconds=150))),
        clock=clock,
        progress=progress,
    )
    with structlog.testing.capture_logs() as logs:
        await _announce_interrupted(context.target, context.state, context.clock)
    assert [entry["event"] for entry in logs] == ["creates.looked_for"]
    assert line(shown()) == "starting · calls: source 0, target 0", "nothing is waited for yet"
    progress.waits.begin(INDEX, "target", 0.0, 150.0)  # as the connector does
    await clock.advance(6.0)
    assert line(shown()) == (
        "starting · target: waiting for its search index since 6 s, at most 2 min 30 s · calls: source 0, target 0"
    )
