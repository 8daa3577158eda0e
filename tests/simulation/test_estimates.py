"""What a plan estimates is what the run then takes, in virtual time, whatever sets the pace."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from dam_sync.api.emulation.sandbox import Emulated, write_job, write_suggested_mapping
from dam_sync.api.jobs import plan_job, run_job
from dam_sync.api.plans.duration import RATE_LIMIT, TARGET
from dam_sync.emulators import profile_of
from dam_sync.model.errors import StopRequested
from dam_sync.report.report import Report, count_operations
from dam_sync.services.c_brandlibrary.facts import FIRST_LOOK
from dam_sync.store.note_keys import PACE, spent_key
from tests.conformance.catalogue import SCHEMA, asset
from tests.support.jobs.accepted_exposure import ACCEPTED
from tests.support.libraries.every_feature import OWN_MARKS
from tests.support.virtual.moves import Move, Simulation, options_of
from tests.support.virtual.state_location import ask, job_in, state_for
from tests.support.virtual.universe import Universe

PAIRS = (
    ("a_hypermedia", "e_profiles"),  # 40 calls a second, documented
    ("b_documents", "d_templates"),  # 20, our own
    ("c_brandlibrary", "a_hypermedia"),  # none, 8 at once
    ("d_templates", "b_documents"),  # the source is the slower service
    ("e_profiles", "c_brandlibrary"),  # each new asset is waited for
)
LOOKS = 1  # at what only a plan reports
NOTHING = dict.fromkeys(("listed", "open", "created", "updated", "unchanged", "skipped", "parked"), 0)
ASSETS = 60
HIDDEN = 10  # calls per second
UNLIMITED = {"c_brandlibrary": {"rate": 0}}  # a rate that nobody documents cannot be foreseen


@pytest.mark.parametrize("kinds", PAIRS, ids=[f"{a[0]}-{b[0]}" for a, b in PAIRS])
def test_a_run_takes_what_its_plan_estimated(tmp_path: Path, kinds: tuple[str, str]) -> None:
    plan, run = planned_and_run(tmp_path, kinds, [*map(picture, range(1, ASSETS + 1))])
    assert run.counts["created"] == ASSETS
    assert plan.estimate is not None
    assert plan.estimate.p50 <= run.seconds <= plan.estimate.p90


def test_an_asset_with_two_versions_costs_those_created_with_it_neither_calls_nor_time(tmp_path: Path) -> None:
    """At a target where assets share calls while their files are processed (wire C 6.3, 6.7)."""
    library, grown = [*map(picture, range(1, 101))], (10, 20, 40, 60)
    library = [with_two_versions(row) if row["id"] in map(str, grown) else row for row in library]
    patient = {"first_look": FIRST_LOOK}
    plan, run = planned_and_run(tmp_path, ("a_hypermedia", "c_brandlibrary"), library, patient)
    assert run.operations["version"] == len(grown)
    values = next(call for call in run.target.calls if call.endswith("/custom_field_values"))
    assert run.target.calls[values] == plan.target.calls[values]
    assert plan.target.at_least.keys() <= plan.target.calls.keys()
    assert "up to 100 values" in plan.target.at_least[values]
    assert any("are a lower bound" in note for note in plan.notes)
    assert not run.target.at_least
    assert plan.estimate is not None
    assert plan.estimate.p50 <= run.seconds <= plan.estimate.p90


def test_a_rate_that_was_learned_is_estimated_with(tmp_path: Path) -> None:
    """The first process of a run learns the rate, which nobody documents; the plan of what is left knows it."""
    kinds, library = ("a_hypermedia", "b_documents"), [*map(picture, range(1, 61))]
    with Universe() as universe:
        job = job_between(universe, tmp_path, kinds, ([*SCHEMA, *library], SCHEMA), ({}, {}), {"rate": HIDDEN})
        with pytest.raises(StopRequested):
            universe.live(job, limit=30)
        first = note_of(job, PACE)
        plan, run = universe.do(plan_job(job, universe.options())), universe.do(run_job(job, universe.options()))
        assert run.counts["created"] == len(library)
        assert sorted(one["per_second"] is not None for one in first.values()) == [False, True]
        assert plan.estimate is not None
        assert plan.estimate.bottleneck is not None
        assert (plan.estimate.bottleneck.what, plan.estimate.bottleneck.side) == (RATE_LIMIT, TARGET)
        assert plan.estimate.p50 <= note_of(job, spent_key(1))["own"]["seconds"] <= plan.estimate.p90


def planned_and_run(
    folder: Path,
    kinds: tuple[str, str],
    library: list[dict[str, Any]],
    patient: Mapping[str, Any] = MappingProxyType({}),
) -> tuple[Report, Report]:
    """A plan of a migration of this library, and its run. patient: options of the target."""
    with Universe() as universe:
        job = job_between(universe, folder, kinds, ([*SCHEMA, *library], SCHEMA), ({}, patient))
        return universe.do(plan_job(job, universe.options())), universe.do(run_job(job, universe.options()))


def job_between(
    universe: Universe,
    folder: Path,
    kinds: tuple[str, str],
    libraries: tuple[list[dict[str, Any]], list[dict[str, Any]]],
    options: tuple[Mapping[str, Any], Mapping[str, Any]],
    hidden: Mapping[str, Any] = MappingProxyType({}),
) -> Path:
    """A job between two new tenants. hidden: limits of the target that nobody documents."""
    job, sides = job_in(folder), list[Emulated]()
    mapping = job.with_name("mapping.yaml")
    for kind, records, more in zip(kinds, libraries, options, strict=True):
        limits = {**UNLIMITED.get(kind, {}), **(hidden if kind == kinds[1] else {})}
        tenant = universe.tenant(kind, records, **{**options_of(kind), **limits})
        sides.append(Emulated(kind, tenant.url, {**profile_of(kind).parted, **more}))
    write_job(job, "move", *sides, mapping, policy=ACCEPTED, state=state_for(job))
    universe.do(write_suggested_mapping(job, mapping, profile_of(kinds[1]).prefix + OWN_MARKS, universe.options()))
    return job


def with_two_versions(row: dict[str, Any]) -> dict[str, Any]:
    older, newer = ({"name": row["filename"], "generate": {"size": 900 + n, "seed": n}} for n in range(2))
    return {**row, "versions": [older, newer]}


def picture(number: int) -> dict[str, Any]:
    """One asset with a small file; every second lies in a folder, every fourth has a tag."""
    name = f"picture-{number}.jpg"
    made: dict[str, Any] = asset(
        number,
        filename=name,
        fields={"title": {"texts": {"en": f"Picture {number}", "fr": f"Image {number}"}}},
        versions=[{"name": name, "generate": {"size": 700 + number, "seed": number}}],
        placements=[{"kind": "folder", "path": ["Press"]}] if number % 2 else [],
        tags=["sea"] if number % 4 == 0 else [],
    )
    return made


@pytest.mark.parametrize("full", [False, True], ids=["", "full"])
@pytest.mark.parametrize("taken", [2, 4])
def test_a_plan_of_a_run_that_was_stopped_is_of_what_is_left(tmp_path: Path, taken: int, full: bool) -> None:
    with Simulation(tmp_path, ("a_hypermedia", "e_profiles")).moving() as move:
        with pytest.raises(StopRequested):
            move.universe.live(move.job, limit=taken)
        options = move.universe.options(full=full)
        plan, before = move.universe.do(plan_job(move.job, options)), ledger(move)
        run = move.universe.do(run_job(move.job, options))
        assets = len(move.source.assets)
    left = assets - taken
    again = taken if full else 0  # read again, and as they were
    assert plan.counts == {**NOTHING, "listed": left + again, "created": left, "unchanged": again}
    assert plan.operations == count_operations(ledger(move) - before)
    made = last_process(move)  # the report has those of the process that was stopped, too
    assert plan.source.calls == made["source"]
    assert plan.target.calls.keys() == made["target"].keys()
    assert 0 <= plan.target.total_calls - sum(made["target"].values()) <= LOOKS
    assert f"continues run 1, which was stopped: {taken} of its assets are done" in plan.notes
    assert not [note for note in run.notes if "continues" in note]


def last_process(move: Move) -> dict[str, dict[str, int]]:
    """Calls of the last process of run 1, by service and endpoint."""
    calls: dict[str, dict[str, int]] = note_of(move.job, spent_key(1))["own"]["calls"]
    return calls


def note_of(job: Path, key: str) -> Any:
    """What the state keeps under a key."""
    ((text,),) = ask(job, "SELECT value FROM note WHERE key = ?", key)
    return json.loads(text)


def ledger(move: Move) -> Counter[str]:
    """The steps that were recorded so far."""
    return Counter(name for (name,) in ask(move.job, "SELECT operation FROM ledger"))
