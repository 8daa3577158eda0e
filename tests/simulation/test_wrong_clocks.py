"""A clock that is wrong, ours or that of a service, shows no asset before its release and ends no period of grace."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from dam_sync.api.jobs import plan_job, run_job
from dam_sync.api.rollback import RollbackRequest, rollback_job
from dam_sync.emulators import emulated_kinds
from dam_sync.model.asset import Patch, Rights
from dam_sync.model.errors import WrongClock
from dam_sync.model.service import Service
from dam_sync.model.service_time import MOST_OFF
from tests.support.pairs import EVERYTHING
from tests.support.sample.rotation import today
from tests.support.virtual.clock import VirtualClock
from tests.support.virtual.removals import ASSETS, Removals, removing

KINDS = {kind[0]: kind for kind in emulated_kinds()}
RELEASE, GRACE = timedelta(days=300), "300d"
CLOCKS = 50 if EVERYTHING else 3


class WrongClockOf:
    """The clock of a computer that is ahead of the world by `off`, from the `after`-th time on that it is read."""

    def __init__(self, clock: VirtualClock, off: timedelta, after: int = 0) -> None:
        self._clock, self._off, self._after = clock, off, after
        self.monotonic, self.sleep, self.chance, self.token = clock.monotonic, clock.sleep, clock.chance, clock.token

    def now(self) -> datetime:
        """See `Clock.now`."""
        self._after -= 1
        return self._clock.now() + (self._off if self._after < 0 else timedelta(0))


def offs() -> list[timedelta]:
    """Ahead and behind, from minutes to years; the years first, because they open most."""
    rng = random.Random(f"{today()}")
    seconds = [400 * 86_400.0, -400 * 86_400.0, *(10 ** rng.uniform(2.6, 8.4) for _ in range(CLOCKS))]
    return [timedelta(seconds=each * rng.choice((1, 1, -1)) if n > 1 else each) for n, each in enumerate(seconds)][
        :CLOCKS
    ]


@contextmanager
def waiting(folder: Path, letters: str = "eb") -> Iterator[Removals]:
    """One asset that is closed until it is released, and two that are removed once their grace ends."""
    with removing(
        folder, (KINDS[letters[0]], KINDS[letters[1]]), deletes="trash", max_deletes="50%", grace=GRACE
    ) as job:
        sources = list(job.links())
        job.remove(sources[:2])
        later = job.universe.clock.now().replace(microsecond=0) + RELEASE

        async def held_back(service: Service, each: Any) -> None:
            asset = await service.fetch(each)
            await service.update(each, Patch(rights=Rights(release_at=later, groups=asset.rights.groups)))

        job._each("source", sources[2:3], held_back)
        exposure = {"unreleased_as_released": "close", "expiry_dropped": "accept", "groups_widened": "accept"}
        job.policy(deletes="trash", max_deletes="50%", grace=GRACE, exposure=exposure)
        job.run(full=True)
        assert len(job.living()) == ASSETS
        yield job


def shown(job: Removals) -> Any:
    """Everything at the target by which somebody may see an asset, and whether it is in the trash."""
    return {row["id"]: (row["status"], row.get("rights")) for row in job.target.assets}


def tried(job: Removals, clock: WrongClockOf, act: Callable[..., Any] = run_job, **options: Any) -> str:
    """What a command by this clock says: nothing if it completes."""
    try:
        job.universe.do(act(job.job, replace(job.options(**options), clock=clock)))
    except WrongClock as stop:
        return f"{stop}: {stop.hint} ({stop.exit_code})"
    return ""


def test_no_clock_of_this_computer_opens_or_removes_an_asset(tmp_path: Path) -> None:
    with waiting(tmp_path) as job:
        before, ledger = shown(job), job.ledger()
        for off in offs():
            told = tried(job, WrongClockOf(job.universe.clock, off), full=True)
            word = "ahead of" if off > timedelta(0) else "behind"
            assert re.search(rf"the clock of this computer is .* {word} those of both services: set the clock", told), (
                off
            )
            assert tried(job, WrongClockOf(job.universe.clock, off), act=plan_job)
            assert not tried(job, WrongClockOf(job.universe.clock, off), full=True, accept_changes=True)
            assert shown(job) == before, off
        assert job.ledger() == ledger
        job.wait(RELEASE.total_seconds() + 86_400)
        job.run(full=True)
        assert len(job.living()) == ASSETS - 2
        assert shown(job) != before


def test_a_clock_that_is_set_during_a_run_opens_and_removes_nothing(tmp_path: Path) -> None:
    with waiting(tmp_path) as job:
        before = shown(job)
        for number, off in enumerate(offs()):
            tried(job, WrongClockOf(job.universe.clock, off, after=7 * number + 5), full=True)
            assert shown(job) == before, off
        job.run(full=True)
        assert shown(job) == before


@pytest.mark.parametrize("role", ["source", "target"])
def test_a_service_with_a_wrong_clock_is_named_and_opens_nothing(tmp_path: Path, role: str) -> None:
    with waiting(tmp_path) as job:
        before = shown(job)
        side = job.source if role == "source" else job.target
        other = "target" if role == "source" else "source"
        side.app.world.advance(RELEASE.total_seconds() + 86_400)
        told = tried(job, WrongClockOf(job.universe.clock, timedelta(0)), full=True)
        assert re.search(rf"the clock of the {role} is 30\d days, .* ahead of ours, .* {other} agrees with", told)
        assert f"ask the operator of the {role} to set that clock" in told
        assert not tried(job, WrongClockOf(job.universe.clock, timedelta(0)), full=True, accept_changes=True)
        assert {key: status for key, (status, _) in shown(job).items()} == {
            k: status for k, (status, _) in before.items()
        }


def test_a_rollback_by_a_wrong_clock_is_refused(tmp_path: Path) -> None:
    with waiting(tmp_path) as job:
        before = shown(job)
        clock = WrongClockOf(job.universe.clock, timedelta(days=400))

        async def back(path: Path, options: Any) -> Any:
            return await rollback_job(path, options, RollbackRequest(1))

        assert "the clock of this computer" in tried(job, clock, act=back)
        assert shown(job) == before


def test_clocks_within_the_bound_stop_nothing(tmp_path: Path) -> None:
    with waiting(tmp_path) as job:
        for off in (MOST_OFF, -MOST_OFF):
            assert not tried(job, WrongClockOf(job.universe.clock, off), full=True)
