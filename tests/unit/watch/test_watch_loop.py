"""The loop around the scheduler: one run after another, stopped, reloaded, restarted, in simulated time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import structlog

from dam_sync.api.watching import SharedRates, load_record
from dam_sync.model.errors import ConfigError, SafetyStop, StopRequested, StoreBusy, Transient
from dam_sync.model.run_options import RunOptions
from dam_sync.report.report import Report, ReportedSide
from dam_sync.watch.notifier import events_of
from dam_sync.watch.scheduler import RunResult, WatchRecord
from dam_sync.watch.watched_job import CLOSED, WatchedJob
from dam_sync.watch.watcher import Watcher, line_of
from tests.support.virtual.clock import EPOCH
from tests.support.virtual.universe import Universe

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
JOB = """\
version: 1
name: {name}
source: {{kind: a_hypermedia, base_url: https://a.example, auth: {{flow: basic, login: x, password: "${{env:A}}"}}}}
target: {{kind: b_documents, base_url: https://b.example, auth: {{flow: basic, login: x, password: "${{env:B}}"}}}}
mapping: mapping.yaml
state: {name}.db
schedule: {schedule}
"""
Run = Callable[[RunOptions], Awaitable[None]]


def write(folder: Path, schedule: str, more: str = "", name: str = "job") -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(JOB.format(name=name, schedule=schedule) + more, encoding="utf-8")
    return path


def report_of(parked: int = 0, exposure: list[dict[str, Any]] | None = None) -> Report:
    side = ReportedSide("x", "tenant", calls={"GET /": 3})
    groups: list[Any] = [{"cause": "InvalidValue", "count": parked}] if parked else []
    counts = {"listed": 2, "created": 1, "removed": 2}
    return Report("run", "job", side, side, "", "", run=1, counts=counts, parked=groups, exposure=exposure or [])


class Scripted(WatchedJob):
    """Its runs do what the test says, and are written down."""

    script: Run
    began: list[datetime]
    memory: list[Any]  # in place of the state, unless empty
    exposure: list[dict[str, Any]]

    async def load(self) -> Any:
        return self.memory[0] if self.memory else await super().load()

    async def store(self, record: Any) -> None:
        if self.memory:
            self.memory[0] = record
        else:
            await super().store(record)

    async def execute(self, options: RunOptions) -> Report:
        self.began.append(options.clock.now())
        await self.script(options)
        return report_of(exposure=self.exposure)


@dataclass
class World:
    """A job in simulated time, in process after process."""

    universe: Universe
    path: Path
    script: Run
    began: list[datetime] = field(default_factory=list)
    told: list[tuple[WatchRecord, list[str]]] = field(default_factory=list)
    memory: list[Any] = field(default_factory=lambda: [None])  # empty: the state of the job
    exposure: list[dict[str, Any]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    def watch(self, span: timedelta, during: Callable[[Scripted], Awaitable[None]] | None = None) -> Scripted:
        """Watch for so long, then stop; the job."""
        return self.universe.do(self._watch(span, during))

    async def _watch(self, span: timedelta, during: Callable[[Scripted], Awaitable[None]] | None) -> Scripted:
        options = self.universe.options()
        job = Scripted(self.path, options, SharedRates(options.clock), asyncio.Semaphore(4), self._told)
        job.script, job.began, job.memory, job.exposure = self.script, self.began, self.memory, self.exposure
        await job.remember()
        watching = asyncio.ensure_future(job.watch())
        if during is not None:
            await during(job)
        await asyncio.sleep(span.total_seconds())
        job.stop()
        await watching
        return job

    def _told(self, job: WatchedJob, before: WatchRecord, report: Any) -> None:
        self.told.append((job.record, events_of(job.record, before)))
        self.lines.append(line_of(job, report))
        assert self.lines[-1].startswith("job: ")

    @property
    def results(self) -> list[RunResult]:
        return [record.result for record, _ in self.told]

    def after(self) -> list[timedelta]:
        """When runs began, from the beginning of the world, in whole seconds."""
        return [timedelta(seconds=round((moment - EPOCH).total_seconds())) for moment in self.began]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    yield
    structlog.reset_defaults()


@pytest.fixture
def universe() -> Iterator[Universe]:
    with Universe(1) as universe:
        yield universe


async def works(options: RunOptions) -> None:
    await options.clock.sleep(60)


def test_assets_that_are_held_back_keep_no_later_run_from_its_time(universe: Universe, tmp_path: Path) -> None:
    world = World(universe, write(tmp_path, "{every: 1h}"), works)
    rule = {"rule": "archived_as_published", "assets": 1, "examples": ["7"], "meaning": "archived at the source"}
    world.exposure = [{**rule, "fate": "set aside"}]
    job = world.watch(3 * HOUR)
    assert set(world.results) == {RunResult.DONE}
    assert (len(world.results), job.exit_code) == (3, 6)
    assert "archived_as_published 1 (7)" in world.lines[-1]
    assert "`dam-sync errors JOB` says what to do" in world.lines[-1]


def test_runs_begin_on_schedule_and_a_restart_catches_up_once(universe: Universe, tmp_path: Path) -> None:
    world = World(universe, write(tmp_path, '{cron: "0 */6 * * *"}'), works)
    world.watch(DAY)  # from 08:00
    assert world.after() == [4 * HOUR, 10 * HOUR, 16 * HOUR, 22 * HOUR]
    universe.clock.jump(DAY.total_seconds())
    world.watch(5 * HOUR)
    assert world.after()[4:] == [2 * DAY, 2 * DAY + 4 * HOUR]
    assert set(world.results) == {RunResult.DONE}


def test_a_failing_job_is_tried_again_after_growing_pauses_and_reported_once(
    universe: Universe, tmp_path: Path
) -> None:
    async def fails(options: RunOptions) -> None:
        if len(world.began) < 5:
            raise Transient("a broken connection")

    world = World(universe, write(tmp_path, "{every: 1d}"), fails)
    world.watch(12 * HOUR)
    gaps = [later - earlier for earlier, later in pairwise(world.after())]
    assert len(gaps) == 4
    for number, gap in enumerate(gaps):
        assert MINUTE * 2**number / 2 <= gap <= MINUTE * 2**number + timedelta(seconds=1)
    assert [events for _, events in world.told] == [["stopped"], [], [], [], ["finished"]]


def test_a_safety_stop_waits_for_a_person(universe: Universe, tmp_path: Path) -> None:
    async def refused(options: RunOptions) -> None:
        if len(world.began) == 1:
            raise SafetyStop("the mapping changed", hint="--accept-changes")

    world = World(universe, write(tmp_path, "{every: 1h}"), refused)
    job = world.watch(DAY)
    assert world.after() == [timedelta()]
    assert job.record.result is RunResult.BLOCKED
    assert job.decision.reason == "waits for you: the mapping changed"
    assert line_of(job, None) == (
        "job: blocked: the mapping changed (hint: --accept-changes); waits for you, and is tried again after SIGHUP"
    )
    assert world.told[0][1] == ["stopped"]

    async def reload(job: Scripted) -> None:  # a restart lets it try again, and so does a reload
        await asyncio.sleep(1)

    world.watch(90 * MINUTE, reload)
    assert world.results[1:] == [RunResult.DONE, RunResult.DONE]


def test_a_reload_reads_the_schedule_again_and_releases_what_waits(universe: Universe, tmp_path: Path) -> None:
    async def refused(options: RunOptions) -> None:
        if len(world.began) == 1:
            raise ConfigError("the mapping names an unknown field")

    async def reload(job: Scripted) -> None:
        await asyncio.sleep(DAY.total_seconds())
        write(tmp_path, "{every: 2h}")
        job.reload()
        await asyncio.sleep(HOUR.total_seconds())
        write(tmp_path, "{evry: 3h}")
        job.reload()
        await asyncio.sleep(1)
        assert "unknown key" in str(job.problem)

    world = World(universe, write(tmp_path, "{every: 1h}"), refused)
    world.watch(2 * HOUR, reload)
    assert world.after() == [timedelta(), DAY, DAY + 2 * HOUR]


def test_a_busy_state_is_waited_for_and_no_error(universe: Universe, tmp_path: Path) -> None:
    async def busy(options: RunOptions) -> None:
        if len(world.began) < 4:
            raise StoreBusy("another process")

    world = World(universe, write(tmp_path, "{every: 1d}"), busy)
    world.watch(HOUR)
    assert world.after() == [timedelta(seconds=30 * number) for number in range(4)]
    assert [events for _, events in world.told] == [[], [], [], ["finished"]]


async def until_stopped(options: RunOptions) -> None:
    while not options.stop_token.reason:
        await options.clock.sleep(1)
    raise options.stop_token.error("run again")


def test_a_stop_ends_the_run_under_way_and_a_restart_resumes_it(universe: Universe, tmp_path: Path) -> None:
    world = World(universe, write(tmp_path, "{every: 7d}"), until_stopped)
    job = world.watch(HOUR)
    assert (world.results, job.record.result) == ([RunResult.INTERRUPTED], RunResult.INTERRUPTED)
    world.script = works
    world.watch(HOUR)
    assert len(world.began) == 2
    assert world.results[1:] == [RunResult.DONE]


def test_hours_end_a_run_and_the_next_hours_resume_it(universe: Universe, tmp_path: Path) -> None:
    hours = 'limits: {hours: "20:00-06:00"}\n'
    world = World(universe, write(tmp_path, "{every: 1h, zone: Europe/Paris}", hours), until_stopped)
    world.watch(2 * DAY)  # from 09:00 of Paris
    assert world.after() == [11 * HOUR, 35 * HOUR]
    record, events = world.told[0]
    assert record.ended is not None
    assert round((record.ended - EPOCH) / HOUR, 2) == 21
    assert (record.error["message"], events) == (CLOSED, [])


def test_a_clock_that_is_set_back_stops_nothing(universe: Universe, tmp_path: Path) -> None:
    world = World(universe, write(tmp_path, "{every: 1h}"), works)
    world.watch(10 * MINUTE)
    later = EPOCH + 900 * DAY
    world.memory[0] = WatchRecord(later).begun(later).ended_with(RunResult.DONE, later + DAY, 0.0).as_json()
    world.watch(70 * MINUTE)
    assert len(world.began) == 2


def test_what_is_remembered_is_in_the_state(universe: Universe, tmp_path: Path) -> None:
    world = World(universe, write(tmp_path, "{every: 1h}"), works, memory=[])
    job = world.watch(10 * MINUTE)
    stored = universe.do(load_record(job.job.config, universe.options()))
    assert WatchRecord.of_json(stored, EPOCH) == job.record


def test_a_state_that_cannot_be_written_stops_no_run(universe: Universe, tmp_path: Path) -> None:
    path = write(tmp_path, "{every: 1h}")
    (tmp_path / "job.db").write_bytes(b"not a state")
    world = World(universe, path, works, memory=[])
    world.watch(150 * MINUTE)
    assert len(world.began) == 3


def test_a_month_of_trouble(universe: Universe, tmp_path: Path) -> None:
    """Outages, restarts, busy states and computers that sleep: whatever happens, the job runs again within a day."""
    world = World(universe, write(tmp_path, "{every: 6h, jitter: 20m, zone: Europe/Paris}"), works)
    trouble = [Transient("outage"), StoreBusy("busy"), StopRequested("the limit of 9 calls is reached"), None, None]

    async def troubled(options: RunOptions) -> None:
        await options.clock.sleep(600 * options.clock.chance())
        error = trouble[int(options.clock.chance() * len(trouble))]
        if error is not None:
            raise error

    world.script = troubled
    while universe.clock.now() < EPOCH + 31 * DAY:
        world.watch(timedelta(hours=72 * universe.clock.chance()))
        universe.clock.jump(universe.clock.chance() * 36_000)
    done = [record.ended for record, _ in world.told if record.result is RunResult.DONE and record.ended]
    assert len(done) > 60
    gaps = [later - earlier for earlier, later in pairwise(done)]
    assert max(gaps) < 2 * DAY
    assert min(later - earlier for earlier, later in pairwise(world.began)) > timedelta(0)


def test_all_job_files_are_checked_before_anything_runs(universe: Universe, tmp_path: Path) -> None:
    good = write(tmp_path, "{every: 1h}")
    paths = [good, write(tmp_path, "{every: 1x}", name="one"), write(tmp_path, "{cron: x}", name="two")]
    with pytest.raises(ConfigError) as caught:
        Watcher(paths, universe.options(), print)
    assert {Path(each.file).name for each in caught.value.diagnostics} == {"one.yaml", "two.yaml"}
    with pytest.raises(ConfigError, match="have the same state"):
        Watcher([good, good], universe.options(), print)
    good.write_text(good.read_text(encoding="utf-8").replace("schedule: {every: 1h}\n", ""), encoding="utf-8")
    with pytest.raises(ConfigError, match="the job job has no schedule"):
        Watcher([good], universe.options(), print)
