"""Waves: freeze windows in their time zones, which asset belongs to which, and what the state keeps of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from dam_sync.api.waves import WaveBook, WaveState, WaveWait
from dam_sync.config.diagnostics import SourceMap
from dam_sync.config.job import JobConfig
from dam_sync.config.waves import FreezeConfig, WaveConfig
from dam_sync.engine.context.waves import WaveRun
from dam_sync.mapping.results import LanguagePreference
from dam_sync.mapping.wave_selection import WaveReading
from dam_sync.model.asset import Asset, AssetId, Entry, Placement, Revision
from dam_sync.model.clock import SystemClock
from dam_sync.model.errors import ConfigError, SafetyStop
from dam_sync.model.outcome import Outcome
from dam_sync.model.parking import OtherCause, SkipReason
from dam_sync.model.schema import Schema
from dam_sync.model.service import Batch, Shard
from dam_sync.store.note_keys import RUNS_OF_WAVE, SIGNED_WAVE, key_of_wave
from dam_sync.store.store import SqlStore
from dam_sync.store.waves import SortedAsset, WaveCounts
from tests.support.state.clock_and_rows import LATER_RUNS, changed
from tests.support.state.shared_engine import SHARED

LEASE, ALL = timedelta(minutes=5), Shard("all")
WAVES = [
    {"name": "press", "select": {"containers": ["/Press"]}},
    {"name": "pilot", "select": {"ids": {"csv": "pilot.csv"}}},
    {"name": "video", "select": {"types": ["VIDEO"]}},
]


def frozen(start: str, end: str, zone: str | None = "Europe/Paris") -> FreezeConfig:
    return FreezeConfig.model_validate({"from": start, "to": end, "zone": zone})


def test_a_freeze_window_is_in_its_time_zone() -> None:
    window = frozen("2026-11-27 18:00", "2026-11-29 06:00")
    assert window.begins == datetime(2026, 11, 27, 17, 0, tzinfo=UTC)
    assert window.shown(window.ends) == "2026-11-29 06:00+01:00 (Europe/Paris)"
    assert frozen("2026-07-01 18:00", "2026-07-02 06:00").begins.hour == 16
    assert frozen("2026-11-27 18:00+03:00", "2026-11-29 06:00+03:00", None).begins.hour == 15


@pytest.mark.parametrize("start", ["2026-03-29 02:30", "2026-10-25 02:30"])
def test_a_time_that_happens_twice_or_never_needs_its_offset(start: str) -> None:
    with pytest.raises(ValidationError, match="happens twice or never in Europe/Paris: write its offset"):
        frozen(start, "2026-12-01 06:00")
    assert frozen(f"{start}+01:00", "2026-12-01 06:00").begins.minute == 30


def waves_in(folder: Path, waves: Any = WAVES) -> WaveReading:
    (folder / "pilot.csv").write_text("id\n7\n8\n", encoding="utf-8")
    return WaveReading(SourceMap("job.yaml", {"waves": waves}), folder)


def asset(name: str, folder: str = "Other", kind: str = "PICTURE") -> Asset:
    placements = frozenset({Placement("folder", path=(folder,))})
    return Asset(AssetId(name), Revision("1"), form_type=kind, placements=placements)


def test_an_asset_belongs_to_the_first_wave_that_selects_it(tmp_path: Path) -> None:
    waves = waves_in(tmp_path).compiled(Schema({}), LanguagePreference(()))
    found = [waves.wave_of(each)[0] for each in (asset("7", "Press"), asset("7"), asset("9", kind="VIDEO"), asset("9"))]
    assert found == ["press", "pilot", "video", ""]
    (tmp_path / "pilot.csv").write_text("id\n7\n", encoding="utf-8")
    assert (
        WaveReading(SourceMap("job.yaml", {"waves": WAVES}), tmp_path)
        .compiled(Schema({}), LanguagePreference(()))
        .digest
        != waves.digest
    )


def test_an_asset_that_was_moved_stays_with_its_wave(tmp_path: Path) -> None:
    """Whatever the waves select now, and whichever of them reads it."""
    selections = waves_in(tmp_path).compiled(Schema({}), LanguagePreference(()))
    moved, runs = SortedAsset("video", "1", linked=True), [WaveRun(name, selections) for name in ("press", "video")]
    found = [run.set_aside(asset("9", "Press"), moved) for run in runs]
    assert found[0] is not None
    assert (found[0].action, found[0].wave, found[1]) == ("skipped", "video", None)


def test_mistakes_of_a_selection_are_reported_with_their_wave(tmp_path: Path) -> None:
    waves = [{"name": "a"}, {"name": "b", "select": {"contaners": ["/Press"]}}]
    with pytest.raises(ConfigError, match=r"waves\[1\].select.contaners: unknown key; did you mean containers\?"):
        waves_in(tmp_path, waves).refuse_faulty()
    waves = [{"name": "a", "select": {"where": "asset.nothing == 1"}}]
    with pytest.raises(ConfigError, match=r"waves\[0\].select.where"):
        waves_in(tmp_path, waves).compiled(Schema({}), LanguagePreference(()))


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqlStore]:
    """Three assets listed by a run of the wave `press`: one of it, one of `video`, one parked in it."""
    opened = await SqlStore.open(tmp_path / "job.db", SystemClock(), storage=SHARED)
    run = (await opened.begin("job", "run")).id
    opened.work_for("press")
    rows = tuple(Entry(AssetId(name), Revision("1")) for name in ("p", "v", "x"))
    await opened.record(run, ALL, Batch(rows, None), ())
    ours, theirs, parked = await opened.claim(run, 9, LEASE)
    await opened.complete(ours, Outcome(action="skipped", wave="press"))
    await opened.complete(theirs, Outcome(action="skipped", cause=SkipReason.NOT_SELECTED, wave="video"))
    await opened.complete(parked, Outcome(action="parked", cause=OtherCause("why"), wave="press"))
    await opened.finish(run, {})
    yield opened
    await opened.close()


async def test_work_of_other_waves_is_neither_claimed_nor_counted(store: SqlStore) -> None:
    assert await store.unpark(None) == 1
    run = (await store.begin("job", "run")).id
    store.work_for("video")
    assert (await store.open_work(run), await store.claim(run, 9, LEASE)) == (0, [])
    await store.finish(run, {})
    store.work_for("press")
    run = (await store.begin("job", "run")).id
    assert [work.asset for work in await store.claim(run, 9, LEASE)] == ["x"]


async def test_what_another_wave_listed_stays_as_it_is(store: SqlStore) -> None:
    run = (await store.begin("job", "run")).id
    store.work_for("video")
    rows = tuple(Entry(AssetId(name), Revision("1")) for name in ("p", "v", "x"))
    await store.record(run, ALL, Batch(rows, None), (), elsewhere=[AssetId("p"), AssetId("x")])
    assert [row.asset for row in await store.parked(limit=9)] == ["x"]
    assert [work.asset for work in await store.claim(run, 9, LEASE)] == ["v"]
    assert (await store.tally(run))["of other waves"] == 2


async def test_an_asset_of_another_wave_is_not_moved_by_name(store: SqlStore) -> None:
    """It would be moved without the plan and the sign-off of its wave."""
    selections: Any = None  # nothing is sorted
    press = WaveRun("press", selections)
    await press.refuse_others(store, {"p", "new"})
    with pytest.raises(ConfigError, match="the asset v is of wave video, not of wave press") as refused:
        await press.refuse_others(store, {"p", "v"})
    assert refused.value.hint == "add `--wave video`"


async def test_a_change_that_another_wave_meets_is_due_in_its_own(store: SqlStore) -> None:
    run = (await store.begin("job", "run")).id
    store.work_for("video")
    assert await store.due_assets("press", "", 9) == []
    assert await store.read_again(run, ["p"]) == 0
    assert await store.due_assets("press", "", 9) == ["p"]
    assert await store.due_assets("video", "", 9) == ["v"]
    assert await store.leave_due(["x", "v"]) == {"x"}
    counts = await store.wave_counts()
    assert counts["press"] == WaveCounts(selected=2, parked=1, open=1)


async def test_changed_waves_sort_what_was_not_moved_again(store: SqlStore) -> None:
    assert (await store.sorted_assets(["p", "v"]))[AssetId("v")] == SortedAsset("video", "1", linked=False)
    await store.unsort_unmoved(["press"])
    assert await store.sorted_assets(["p", "v", "x"]) == {}


async def test_an_asset_that_changed_is_sorted_again(store: SqlStore, tmp_path: Path) -> None:
    wave = WaveRun("video", waves_in(tmp_path).compiled(Schema({}), LanguagePreference(())))
    same, changed = Entry(AssetId("p"), Revision("1")), Entry(AssetId("x"), Revision("2"))
    assert await wave.elsewhere(store, [same, changed], full=False) == {"p"}
    assert (await store.sorted_assets(["p", "x"])).keys() == {"p"}


def state(name: str, *runs: int, waits: tuple[str, ...] = ()) -> WaveState:
    return WaveState(WaveConfig(name=name), runs=runs, waits=tuple(map(WaveWait, waits)))


@pytest.mark.parametrize(
    ("verified", "stage", "command"),
    [
        (None, "to be verified", "verify"),
        ({"run": 0, "clean": True}, "to be verified", "verify"),
        (
            {"run": 1, "clean": False},
            "verified with differences, to be verified again once they are repaired",
            "verify",
        ),
        ({"run": 1, "clean": True}, "to be signed off", "signoff"),
    ],
)
def test_the_stage_of_a_wave_and_its_next_command_agree(verified: Any, stage: str, command: str) -> None:
    moved = WaveState(WaveConfig(name="a"), runs=(1,), verified=verified)
    assert (moved.stage, moved.next) == (f"moved by run 1, {stage}", command)


def test_the_next_wave_is_the_first_that_was_not_moved_or_the_one_moved_longest_ago() -> None:
    chosen = WaveBook((state("a", 1), state("b", waits=("no",)), state("c"))).chosen("")
    assert chosen is not None
    assert chosen.name == "c"
    chosen = WaveBook((state("a", 1, 5), state("b", 2, 4))).chosen("")
    assert chosen is not None
    assert chosen.name == "b"
    with pytest.raises(SafetyStop, match="wave b may not run now: no"):
        WaveBook((state("a", 1), state("b", waits=("no",)))).chosen("b")
    with pytest.raises(ConfigError, match="the job has no waves"):
        WaveBook(()).chosen("a")
    assert WaveBook(()).chosen("") is None


async def test_a_wave_stays_moved_and_signed_off_whatever_number_of_runs_follow(store: SqlStore) -> None:
    await store.set_meta(key_of_wave(RUNS_OF_WAVE, "press"), [1])
    await store.set_meta(key_of_wave(SIGNED_WAVE, "press"), {"run": 1})
    job = JobConfig.model_construct(waves=(WaveConfig(name="press"),))
    before = (await WaveBook.of(job, store, SystemClock().now())).named("press")
    assert (before.runs, before.signed) == ((1,), {"run": 1})
    await changed(store, LATER_RUNS)
    assert (await WaveBook.of(job, store, SystemClock().now())).named("press") == before
