"""`run --plan` does exactly what the file says, and refuses it, naming what changed, once anything did."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dam_sync.api.job_status import job_status
from dam_sync.api.jobs import plan_job, run_job
from dam_sync.api.plans.plan_file import read_header, read_rows
from dam_sync.model.asset import AssetId, Patch
from dam_sync.model.errors import ConfigError, SafetyStop, StopRequested
from dam_sync.model.service import Service
from dam_sync.report.report import Report
from dam_sync.services import discover
from tests.support.pairs import ids, pairs
from tests.support.sample.rotation import OfToday
from tests.support.virtual.fuse import AFTER, CALL, COMMIT, Fuse, Point
from tests.support.virtual.lying_listings import EMPTY, Lie, planted
from tests.support.virtual.moves import Move, Simulation
from tests.support.virtual.universe import LAGS

PAIR = ("a_hypermedia", "e_profiles")
SHARED = ("term", "container")
KILLS = 8  # points of each pair at which a planned run is killed
WAVE = "asset.filename.startsWith('photo') || asset.filename.startsWith('twin')"
WAVES = [{"name": "first", "select": {"where": WAVE}}, {"name": "rest"}]
SAME = "the run did exactly what its plan lists, operation by operation"


def planned(move: Move, **options: Any) -> tuple[Report, Path]:
    file = move.job.with_name("plan.json")
    return move.universe.do(plan_job(move.job, move.universe.options(output=file, **options))), file


def followed(move: Move, file: Path, **options: Any) -> Report:
    report: Report = move.universe.do(run_job(move.job, move.universe.options(plan=file, **options)))
    return report


async def put_into(asset: AssetId, folder: str, service: Service) -> None:
    """A change of the source that moves no date."""
    found = [each async for each in service.containers() if each.path[-1] == folder]
    await service.update(asset, Patch(placements_add=frozenset(found)))


async def acted(move: Move, role: str, act: Callable[[Service], Awaitable[object]]) -> None:
    """Somebody does something at one service, and its index catches up."""
    async with move.service(role) as service:
        await service.schema()
        await act(service)
    await move.universe.clock.sleep(LAGS)


@pytest.mark.parametrize("kinds", pairs(1), ids=ids(pairs(1)))
def test_a_plan_is_run_operation_by_operation(tmp_path: Path, kinds: tuple[str, str]) -> None:
    with Simulation(tmp_path, kinds).moving() as move:
        plan, file = planned(move)
        run = followed(move, file)
    data = json.loads(file.read_text(encoding="utf-8"))
    assert Counter(row["operation"] for row in data["operations"]) == Counter(run.operations)
    assert {row["asset"]: row["action"] for row in data["assets"] if row["action"] == "created"}.keys()
    assert all(row["reason"] for row in data["assets"])
    assert (run.digest, run.accounts) == (plan.digest, plan.accounts)
    assert run.origin.hashes == plan.origin.hashes
    assert SAME in run.notes
    assert data["report"]["headline"]["text"]


def test_a_plan_names_new_terms_in_the_language_of_the_target(tmp_path: Path) -> None:
    kinds = ("a_hypermedia", "a_hypermedia")
    with Simulation(tmp_path, kinds, options={"locales": "fr,en"}).moving() as move:
        _, file = planned(move)
        run = followed(move, file)
    assert run.counts["created"] == run.counts["listed"]
    assert SAME in run.notes


def refused(move: Move, file: Path, told: str) -> None:
    """The run is refused, nothing is written, and a run without the plan is not held up by it."""
    with pytest.raises(SafetyStop, match="the plan is out of date") as stopped:
        followed(move, file)
    assert told in stopped.value.message
    assert stopped.value.exit_code == 6
    assert move.target.assets == []
    run = move.universe.do(run_job(move.job, move.universe.options()))
    assert run.counts["parked"] == 0


def test_changed_assets_are_named(tmp_path: Path) -> None:
    with Simulation(tmp_path, PAIR).moving() as move:
        _, file = planned(move)
        move.change()
        refused(move, file, "changed in the source (")


def test_an_asset_that_was_moved_and_changed_since_is_not_called_a_new_one(tmp_path: Path) -> None:
    with Simulation(tmp_path, PAIR).moving() as move:
        move.universe.do(run_job(move.job, move.universe.options()))
        _, file = planned(move)
        move.change()
        with pytest.raises(SafetyStop, match=r"the plan is out of date: \d+ assets? changed in the source") as stopped:
            followed(move, file)
        assert "added" not in stopped.value.message


def test_a_change_that_no_listing_shows_stops_the_run_at_its_asset(tmp_path: Path) -> None:
    with Simulation(tmp_path, PAIR).moving() as move:
        _, file = planned(move)
        changed = AssetId(move.source.assets[2]["id"])
        move.universe.do(acted(move, "source", partial(put_into, changed, "Archive")))
        with pytest.raises(SafetyStop, match=f"asset {changed} is not as it was planned"):
            followed(move, file)
        with pytest.raises(SafetyStop, match=f"asset {changed} is not as it was planned"):
            move.universe.do(run_job(move.job, move.universe.options()))
        assert move.universe.do(job_status(move.job))["stopped"]["follows a plan"], "so that a new one is suggested"
        _, file = planned(move)
        run = followed(move, file)
        assert SAME in run.notes
        assert len(move.target.assets) == len(move.source.assets)


def test_assets_that_were_added_or_left_the_source_are_named(tmp_path: Path) -> None:
    with Simulation(tmp_path, PAIR).moving() as move:
        _, file = planned(move)
        row = next(row for row in move.source.assets if not row["relations"])
        move.universe.do(acted(move, "source", lambda service: service.remove(AssetId(row["id"]))))
        refused(move, file, f"({row['id']})")


def test_another_mapping_is_refused(tmp_path: Path) -> None:
    with Simulation(tmp_path, PAIR).moving() as move:
        _, file = planned(move)
        mapping = move.job.with_name("mapping.yaml")
        text = mapping.read_text(encoding="utf-8")
        mapping.write_text(re.sub("^unmapped: .*$", "unmapped: ignore", text, flags=re.MULTILINE), encoding="utf-8")
        refused(move, file, "the mapping changed")


def test_another_option_of_a_service_is_refused(tmp_path: Path) -> None:
    with Simulation(tmp_path, PAIR).moving() as move:
        _, file = planned(move)
        text = move.job.read_text(encoding="utf-8")
        assert "version_policy: file_only" in text
        move.job.write_text(text.replace("version_policy: file_only", "version_policy: none"), encoding="utf-8")
        refused(move, file, "the options of the target changed (version_policy)")


def test_another_run_makes_it_stale(tmp_path: Path) -> None:
    with Simulation(tmp_path, PAIR).moving() as move:
        _, file = planned(move)
        move.universe.do(run_job(move.job, move.universe.options()))
        with pytest.raises(SafetyStop, match="the job ran since: run 1"):
            followed(move, file)


def test_a_run_that_was_killed_before_it_stored_its_plan_does_not_make_it_stale(
    tmp_path: Path, of_today: OfToday
) -> None:
    simulation, killed = Simulation(tmp_path, PAIR), 0
    with simulation.moving() as move:
        _, file = planned(move)
        commits = move.universe.live(move.job, plan=file).counts[COMMIT]
    for number in of_today(range(1, commits)):
        with simulation.moving() as move:
            plan, file = planned(move)
            move.universe.live(move.job, Fuse(Point(COMMIT, AFTER, number)), plan=file)
            if move.universe.do(job_status(move.job, move.universe.clock))["now"].get("listed"):
                break
            assert move.target.assets == []
            killed += 1
            run = followed(move, file)
        assert (run.digest, run.accounts) == (plan.digest, plan.accounts)
        assert SAME in run.notes
    assert killed > 1


def test_a_run_without_a_plan_that_was_killed_once_it_had_listed_makes_it_stale(tmp_path: Path) -> None:
    with Simulation(tmp_path, PAIR).moving() as move:
        _, file = planned(move)
        move.universe.live(move.job, Fuse(until=lambda: bool(move.target.assets)))
        with pytest.raises(SafetyStop, match="the job ran since: run 1"):
            followed(move, file)


def test_a_container_that_the_target_got_since_refuses_the_plan(tmp_path: Path) -> None:
    with Simulation(tmp_path, PAIR).moving() as move:
        plan, file = planned(move)
        kind = plan.containers[0]
        name = kind.roots[0].name
        move.universe.do(acted(move, "target", lambda service: service.ensure_container(kind.name, (name,))))
        refused(move, file, f"the target has the container {kind.name}:/{name} by now")


def test_a_plan_that_was_edited_cut_off_or_is_none_is_refused(tmp_path: Path) -> None:
    with Simulation(tmp_path, PAIR).moving() as move:
        _, file = planned(move)
        text = file.read_text(encoding="utf-8")
        for wrong in (text.replace("created", "updated", 1), text[:-200], "{}", "", "no json", text + "x"):
            file.write_text(wrong, encoding="utf-8")
            with pytest.raises(ConfigError, match="cannot be used"):
                followed(move, file)
        file.unlink()
        with pytest.raises(ConfigError, match="cannot be read"):
            followed(move, file)
        assert move.target.assets == []


EDITS: dict[str, Callable[[dict[str, Any]], object]] = {
    "no list of assets": lambda plan: plan["options"].pop("only"),
    "a number for a list": lambda plan: plan["options"].update(only=5),
    "a list in a list": lambda plan: plan["options"].update(only=[[1]]),
    "a text for a limit": lambda plan: plan["options"].update(limit="1"),
    "a list for options": lambda plan: plan.update(options=[]),
    "no sides": lambda plan: plan.update(sides=None),
    "a number for a side": lambda plan: plan["sides"].update(source=5),
    "a list for schemas": lambda plan: plan.update(schemas=[1]),
    "a number for fields": lambda plan: plan["schemas"]["source"].update(fields=5),
    "no state": lambda plan: plan.update(state=None),
    "another key": lambda plan: plan.update(more=1),
}


def signed(lines: list[str]) -> str:
    """With the digest of these lines, as anybody can compute it."""
    text = "".join(lines)
    return f'{text}"digest": "{hashlib.sha256(text.encode()).hexdigest()}"}}\n'


@pytest.mark.usefixtures("collected")
def test_a_plan_that_was_edited_with_a_new_digest_is_read_with_care(tmp_path: Path) -> None:
    with Simulation(tmp_path, PAIR).moving() as move:
        _, file = planned(move)
        first, *others = file.read_text(encoding="utf-8").splitlines(keepends=True)[:-1]
        for edit in EDITS.values():
            plan = json.loads(first.removeprefix('{"plan": ').rstrip().removesuffix(","))
            edit(plan)
            file.write_text(signed([f'{{"plan": {json.dumps(plan)},\n', *others]), encoding="utf-8")
            with pytest.raises(ConfigError, match="first line is not what `plan` writes"):
                followed(move, file)
        file.write_text(signed(['{"plan": ' + "[" * 100_000 + "]" * 100_000 + ",\n", *others]), encoding="utf-8")
        with pytest.raises(ConfigError, match="not JSON"):
            followed(move, file)
        for text in ('{"asset": ["1"]}\n', "5\n", '{"asset": "1", "revision": null, "action": "", "digest": ""}\n'):
            file.write_text(signed([first, '"assets": [\n', text, "],\n"]), encoding="utf-8")
            with pytest.raises(ConfigError, match="a line of it is not what `plan` writes"):
                list(read_rows(file))
        assert move.target.assets == []


def test_a_plan_is_a_file_that_ends(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (Path("/dev/zero"), tmp_path / "pipe"):
        with pytest.raises(ConfigError, match="is a device or a pipe"):
            read_header(path)


def test_options_that_contradict_the_plan_are_refused(tmp_path: Path) -> None:
    with Simulation(tmp_path, PAIR).moving() as move:
        _, file = planned(move)
        with pytest.raises(ConfigError, match="leave out --full"):
            followed(move, file, full=True)
        _, file = planned(move, sample="50%")
        with pytest.raises(ConfigError, match="plan of a sample"):
            followed(move, file)


def test_the_plan_of_the_first_assets_moves_these(tmp_path: Path) -> None:
    with Simulation(tmp_path, PAIR).moving() as move:
        plan, file = planned(move, limit=2)
        assert plan.counts["created"] == plan.scope.covered == 2
        assert plan.scope.statement.startswith("the first 2 of")
        for _ in range(2):
            with pytest.raises(StopRequested) as stopped:
                followed(move, file)
            assert stopped.value.exit_code == 8
            assert len(move.target.assets) == 2
        run = move.universe.do(run_job(move.job, move.universe.options()))
        assert run.counts["created"] == len(move.source.assets)


def test_the_plan_of_further_assets_moves_these(tmp_path: Path) -> None:
    """Assets that the run moved before its plan was made do not count."""
    with Simulation(tmp_path, PAIR).moving() as move:
        with pytest.raises(StopRequested):
            move.universe.live(move.job, limit=2)
        plan, file = planned(move, limit=2)
        assert plan.counts["created"] == plan.scope.covered == 2
        for _ in range(2):
            with pytest.raises(StopRequested):
                followed(move, file)
            assert len(move.target.assets) == 4


@pytest.mark.parametrize("full", [True, False], ids=["planned full", "planned"])
@pytest.mark.parametrize("killed", [False, True], ids=["stopped", "killed"])
def test_a_plan_says_what_is_done_though_the_listing_was_begun_again(tmp_path: Path, full: bool, killed: bool) -> None:
    with Simulation(tmp_path, PAIR).moving() as move:
        with pytest.raises(StopRequested):
            move.universe.live(move.job, limit=2)
        if killed:
            move.universe.live(move.job, Fuse(until=lambda: len(move.target.assets) > 3), full=True)
        else:
            with pytest.raises(StopRequested):
                move.universe.live(move.job, full=True, limit=1)
        status, assets = move.universe.do(job_status(move.job, move.universe.clock)), len(move.source.assets)
        done = status["now"]["created"]
        assert 2 <= done <= len(move.target.assets)
        assert killed or done == len(move.target.assets)
        assert status["now"]["open"] == assets - done
        plan, file = planned(move, full=full)
        assert f"continues run 1, which was stopped: {done} of its assets are done" in plan.notes
        assert plan.counts["created"] == plan.operations["create"] == assets - done
        assert plan.headline is not None
        assert f"{assets - done} assets will be created" in plan.headline.text
        rows = Counter(row["action"] for row in json.loads(file.read_text(encoding="utf-8"))["assets"])
        assert rows == {"created": assets - done, "unchanged": done}
        run = followed(move, file)
        assert SAME in run.notes
        assert run.counts["created"] == assets == len(move.target.assets)


def status_of(move: Move) -> dict[str, Any]:
    found: dict[str, Any] = move.universe.do(job_status(move.job, move.universe.clock))
    return found


def test_a_plan_of_one_asset_is_refused_until_the_stopped_run_is_finished(tmp_path: Path) -> None:
    """`--only` within a run that was stopped: its work is that of the run; afterwards what is done is told as done."""
    with Simulation(tmp_path, PAIR).moving() as move:
        for options in ({"limit": 2}, {"full": True, "limit": 1}):
            with pytest.raises(StopRequested):
                move.universe.live(move.job, **options)
        asset = frozenset({AssetId(move.source.assets[0]["id"])})
        with pytest.raises(SafetyStop, match="run 1 is not finished, so --only cannot be used"):
            planned(move, only=asset)
        assert status_of(move)["now"]["created"] == len(move.target.assets)
        move.universe.live(move.job)
        plan, file = planned(move, only=asset, full=True)
        rows = json.loads(file.read_text(encoding="utf-8"))["assets"]
        assert Counter(row["action"] for row in rows) == {"unchanged": 1}
        assert (plan.counts["created"], plan.counts["unchanged"]) == (0, 1)


def test_a_full_run_that_was_refused_changes_nothing_that_plan_and_status_report(tmp_path: Path) -> None:
    """The source looks empty to a `--full` that continues a stopped run; `--accept-changes` of its plan counts what is
    done as done."""
    with Simulation(tmp_path, PAIR).moving() as move:
        with pytest.raises(StopRequested):
            move.universe.live(move.job, limit=3)
        before, done = status_of(move)["now"], len(move.target.assets)
        empty = planted(dict(discover()), PAIR[0], Lie(EMPTY))
        with pytest.raises(SafetyStop):
            move.universe.do(run_job(move.job, replace(move.universe.options(full=True), connectors=empty)))
        after, assets = status_of(move)["now"], len(move.source.assets)
        assert (before["created"], after["created"]) == (done, done)
        assert after["open"] == assets - done
        plan, file = planned(move, accept_changes=True)
        assert plan.counts["created"] == plan.operations["create"] == assets - done
        rows = Counter(row["action"] for row in json.loads(file.read_text(encoding="utf-8"))["assets"])
        assert rows == {"created": assets - done, "unchanged": done}
        run = followed(move, file, accept_changes=True)
        assert SAME in run.notes
        assert run.counts["created"] == assets == len(move.target.assets)


def test_a_plan_of_a_wave_says_what_is_done_though_its_listing_was_begun_again(tmp_path: Path) -> None:
    with Simulation(tmp_path, PAIR).moving() as move:
        with move.job.open("a", encoding="utf-8") as job:
            job.write(f"waves: {json.dumps(WAVES)}\n")
        for options in ({"limit": 1}, {"full": True, "limit": 1}):
            with pytest.raises(StopRequested):
                move.universe.live(move.job, wave="first", **options)
        done = len(move.target.assets)
        plan, file = planned(move, wave="first")
        new = plan.operations["create"]
        assert plan.counts["created"] == new
        rows = Counter(row["action"] for row in json.loads(file.read_text(encoding="utf-8"))["assets"])
        assert (rows["created"], rows["unchanged"]) == (new, done)
        assert status_of(move)["now"]["created"] == done
        followed(move, file, wave="first")
        assert len(move.target.assets) == done + new
        rest, file = planned(move, wave="rest")
        assert rest.counts["created"] == len(move.source.assets) - done - new
        followed(move, file, wave="rest")
        assert len(move.target.assets) == len(move.source.assets)


def test_a_run_that_is_resumed_still_follows_its_plan(tmp_path: Path) -> None:
    with Simulation(tmp_path, PAIR).moving() as move:
        plan, file = planned(move)
        calls = 25
        while not move.target.assets:
            with pytest.raises(StopRequested):
                followed(move, file, max_calls=calls)
            calls += 1
        run = move.universe.do(run_job(move.job, move.universe.options()))
        assert (run.digest, run.accounts) == (plan.digest, plan.accounts)
        assert SAME in run.notes


@pytest.mark.parametrize("kinds", pairs(1), ids=ids(pairs(1)))
def test_a_run_that_was_killed_while_it_created_terms_still_follows_its_plan(
    tmp_path: Path, kinds: tuple[str, str], of_today: OfToday
) -> None:
    simulation = Simulation(tmp_path, kinds)
    with simulation.moving() as move:
        _, file = planned(move)
        calls = move.universe.live(move.job, plan=file).counts[CALL]
    followed_on = 0
    for number in of_today(range(calls // 4, calls, max(1, calls // KILLS))):
        with simulation.moving() as move:
            plan, file = planned(move)
            move.universe.live(move.job, Fuse(Point(CALL, AFTER, number)), plan=file)
            if not move.universe.do(job_status(move.job, move.universe.clock))["now"].get("listed"):
                continue  # before it had read the plan
            run = followed(move, file)
        shared = [{name: each.operations.get(name, 0) for name in SHARED} for each in (plan, run)]
        assert shared[0] == shared[1], number
        assert run.counts["created"] == plan.counts["created"], number
        followed_on += 1
    assert followed_on


def test_a_sample_says_what_it_supports(tmp_path: Path) -> None:
    with Simulation(tmp_path, PAIR).moving() as move:
        plan, _ = planned(move, sample="50%")
        again, _ = planned(move, sample="50%")
        assets = len(move.source.assets)
    assert plan.counts == again.counts
    assert 0 < plan.scope.covered < plan.scope.listed == assets
    created = next(total for total in plan.scope.totals if total.name == "created")
    assert created.low <= assets <= created.high
    assert "95 % confidence" in plan.scope.statement
